#!/usr/bin/env python3
"""A replay that is interrupted leaves nothing behind: no program, no socket, and it ends by the signal."""

import argparse
import os
import signal
import subprocess
import tempfile

# Says that it runs, and how to find it and its child, then would go on for ever.
PROGRAM = "sleep 1000 & echo $$ $! && exec sleep 1000"


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def interrupt(options, folder, number):
    runtime = folder + "/runtime%d" % number
    os.mkdir(runtime, 0o700)
    environment = dict(os.environ, XDG_RUNTIME_DIR=runtime, REENACT_STORE=folder + "/store")
    replay = subprocess.Popen([options.reenact, "replay", "last", "--", "sh", "-c", PROGRAM],
                              env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    pids = [int(word) for word in replay.stderr.readline().split()]
    assert len(pids) == 2 and all(is_alive(pid) for pid in pids), pids
    assert os.listdir(runtime), "the socket is not where this test looks for it"
    replay.send_signal(number)
    code = replay.wait(timeout=60)
    assert code == -number, code
    assert not any(is_alive(pid) for pid in pids), "the program is still running"
    assert os.listdir(runtime) == [], os.listdir(runtime)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    parser.add_argument("--make-store", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        subprocess.run([options.make_store, "right", folder + "/store"], check=True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            interrupt(options, folder, number)
    print("interrupted three times, and nothing is left")


if __name__ == "__main__":
    main()
