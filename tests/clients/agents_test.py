#!/usr/bin/env python3
"""Agents that put the date, a uuid and random numbers into their prompts, sleep, back off and use tools in parallel,
recorded, and replayed two days later with the provider gone; and programs whose clock cannot be given back, which are
told so.

usage: agents_test.py --reenact FILE --static-agent FILE --days-later FILE --scratch DIR [--node FILE]"""
import argparse
import datetime
import json
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import loopback_provider  # noqa: E402


class Provider(loopback_provider.Provider):
    """Fails twice, asks for three tools at once, and ends; each answer holds a number, so that none can be invented."""

    def do_POST(self):
        body = self.read_json()
        number = self.server.count()
        last = body["messages"][-1]
        if last["role"] == "user" and last["content"].startswith("LOOK"):
            if number < 3:
                return self.reply({"error": {"message": "not now", "type": "server_error"}}, 500 if number == 1 else 429)
            calls = [{"id": f"call_{number}_{i}", "type": "function", "function": {
                "name": "search", "arguments": json.dumps({"q": query})}} for i, query in enumerate(("a", "b", "c"))]
            return self.reply_chat({"role": "assistant", "content": None, "tool_calls": calls})
        self.reply_chat(f"answer {number}")

    def do_GET(self):
        # The first that was asked for is the last that is answered.
        time.sleep({"a": 0.3, "b": 0.15, "c": 0}[self.path.split("q=")[1][0]])
        self.reply({"path": self.path, "number": self.server.count()})


class Machine:
    def __init__(self, options):
        self.options = options
        self.folder = options.scratch.resolve()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8", "TZ": "UTC",
                            "REENACT_STORE": str(self.folder / "store")}

    def run(self, *words, **more):
        return subprocess.run(words, cwd=self.folder, text=True, capture_output=True,
                              env={**self.environment, **more}, timeout=100)

    def record(self, *command):
        """What the command printed, what `reenact record` said, and how many requests it made."""
        with loopback_provider.ProviderServer(Provider) as provider:
            url = provider.url
            done = self.run(self.options.reenact, "record", "--capture-output", "--random", "--route", f"kb={url}", "--",
                            *command, OPENAI_BASE_URL=url + "/v1")
            assert done.returncode == 0, (done.stdout, done.stderr)
            return done.stdout, done.stderr, provider.requests

    def replay_later(self, *words):
        done = self.run(self.options.reenact, "replay", "last", "--json", *words,
                        LD_PRELOAD=str(self.options.days_later.resolve()))
        assert done.stdout, done.stderr
        (outcome,) = json.loads(done.stdout)["outcomes"]
        return done.returncode, outcome["replay"]


def check_it_is_later(machine):
    """What the replays are taken for is so: a program of that machine reads a date two days away."""
    read = [sys.executable, "-c", "import time; print(time.time())"]
    now = float(machine.run(*read).stdout)
    later = float(machine.run(*read, LD_PRELOAD=str(machine.options.days_later.resolve())).stdout)
    assert abs(later - now - 2 * 86400) < 60, (now, later)


def check_agent(machine, *command, replay_with=()):
    printed, said, requests = machine.record(*command)
    got = json.loads(printed)
    today = datetime.datetime.now(datetime.timezone.utc)
    assert str(today.year) in got["prompt"], got
    assert "not frozen" not in said, said
    # Two failures, three tools, and two answers.
    assert requests == 7, (requests, got)
    numbers = [json.loads(result["content"].split(" found")[0])["number"] for result in got["results"]]
    assert numbers == sorted(numbers, reverse=True), "the tools did not run in parallel: %s" % numbers
    # What is read after one of several answers that overlap depends on which comes first: they come as they did.
    code, replay = machine.replay_later(*replay_with)
    told = json.dumps(replay, indent=1)
    assert code == 0 and replay["verdict"] == "reproduced", told
    assert replay["level"] == "R2" and replay["relaxed_by"] == [] and replay["output_equal"], told
    assert replay["calls_served"] == replay["calls_on_tape"] == 7, told
    assert replay["network"]["guarded"] and replay["network"]["refused"] == 0, told
    source = pathlib.Path(command[-1])
    changed = machine.folder / ("changed" + source.suffix)
    changed.write_text(source.read_text().replace("LOOK today", "LOOK Today"))
    code, replay = machine.replay_later("--", *command[:-1], str(changed))
    assert code == 1 and replay["verdict"] == "diverged", json.dumps(replay, indent=1)
    print(f"{source.name}: 7 calls reproduced two days later")


def check_unreached(machine, name, *command):
    """Its output holds the time, which is another now: that says nothing about the program, and is not held against
    it; nor is the replay called a success."""
    printed, said, requests = machine.record(*command)
    assert "clock not frozen" in said, said
    code, replay = machine.replay_later()
    told = json.dumps(replay, indent=1)
    assert code == 3 and replay["verdict"] == "inconclusive", told
    assert "clock not frozen" in replay["inconclusive_because"] and "statically linked" in told, told
    assert replay["level"] in ("R0", "R1") and not replay["output_equal"], told
    assert replay["calls_served"] == replay["calls_on_tape"] == requests, told
    print(f"{name}: {requests} calls served, level {replay['level']}, inconclusive")


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "static-agent", "days-later", "scratch", "node"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=name != "node")
    options = parser.parse_args()
    options.reenact = options.reenact.resolve()
    machine = Machine(options)
    check_it_is_later(machine)
    check_agent(machine, sys.executable, str(HERE / "agent.py"))
    if options.node and options.node.is_file():
        # Where two answers and a timer are ready at once, Node's order is its own: they must not be.
        check_agent(machine, str(options.node.resolve()), str(HERE / "agent.mjs"), replay_with=("--pace",))
    else:
        print("left out: the agent for Node, for there is none (Debian package nodejs)")
    check_unreached(machine, "a static program", str(options.static_agent.resolve()))
    busybox = shutil.which("busybox")
    if busybox:
        script = 'busybox wget -q -O - "$OPENAI_BASE_URL/../kb/search?q=c"; busybox cat /proc/uptime'
        check_unreached(machine, "busybox", busybox, "sh", "-c", script.replace("/v1/../kb", "/../kb"))
    else:
        print("left out: busybox is not installed (Debian package busybox-static)")


if __name__ == "__main__":
    main()
