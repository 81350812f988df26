#!/usr/bin/env python3
"""The official client and server of MCP, over standard input and output and over HTTP, recorded as they are and replayed
with no server. They come from npm: tests/mcp_sdk/install. Exit status 77: they are not here."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SKIPPED = 77


def replayed(reenact, environment):
    done = subprocess.run([reenact, "replay", "last", "--json"], env=environment, text=True, capture_output=True, timeout=120)
    assert done.stdout, done.stderr
    (outcome,) = json.loads(done.stdout)["outcomes"]
    told = json.dumps(outcome["replay"], indent=1)
    assert done.returncode == 0 and outcome["replay"]["verdict"] == "reproduced" and outcome["replay"]["level"] == "R2", told
    assert outcome["replay"]["output_equal"] and outcome["replay"]["network"]["refused"] == 0, told


def record(reenact, environment, *words):
    done = subprocess.run([reenact, "record", "--capture-output", *words], env=environment, text=True, capture_output=True,
                          timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("degrees") == 2 and "progress 1" in done.stdout, done.stdout
    assert "no such city" in done.stdout and "unknown" in done.stdout, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    parser.add_argument("--sdk", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if not (options.sdk / "installed").exists():
        print("skipped: run tests/mcp_sdk/install, for the SDK of MCP from npm")
        return SKIPPED
    reenact, node = os.path.abspath(options.reenact), str((options.sdk / "node").resolve())
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        for script in ("client.mjs", "server.mjs"):
            shutil.copy(HERE / script, folder)
        (pathlib.Path(folder) / "node_modules").symlink_to((options.sdk / "node_modules").resolve())
        client, server = folder + "/client.mjs", folder + "/server.mjs"
        environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "REENACT_STORE": folder + "/store"}
        record(reenact, environment, "--", node, client, "stdio", reenact, "mcp", "--", node, server)
        os.rename(server, server + ".gone")
        replayed(reenact, environment)
        os.rename(server + ".gone", server)

        over_http = subprocess.Popen([node, server, "http"], stdout=subprocess.PIPE, text=True, env=environment)
        try:
            port = int(over_http.stdout.readline())
            record(reenact, environment, "--route", "tools=http://127.0.0.1:%d" % port, "--", node, client, "http")
        finally:
            over_http.terminate()
            over_http.wait()
        replayed(reenact, environment)
    print("the official SDK was recorded and replayed, over both transports")
    return 0


if __name__ == "__main__":
    sys.exit(main())
