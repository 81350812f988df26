#!/usr/bin/env python3
"""Records, through the SDK, traffic with a provider that nobody here wrote (@copilotkit/aimock), its
chaos mode included, and replays every exchange with the server gone: the journals of what the host
saw must be equal byte for byte, read for read, end for end.

usage: aimock_test.py --reenact FILE --client FILE --aimock DIR --scratch DIR
Exits with 77 (skipped) where the server is not installed: see tests/aimock/install."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from aimock_server import PACKAGE, Aimock

HERE = pathlib.Path(__file__).resolve().parent
# Fixture files that ship with the server, and the words of users that they answer to.
PACKAGED = {
    "example-greeting.json": ["hello", "goodbye"],
    "example-tool-call.json": [],
    "example-multi-turn.json": ["change background to blue"],
    "examples/llm/sequential-responses.json": ["tell me a joke"] * 3,
    "examples/llm/blocks-tool-first.json": ["what's the weather in NYC?"],
    "examples/llm/streaming-physics.json": ["explain gravity"],
}
OWN = ["cut me off", "hang up on me", "speak in tongues", "two tools at once"]
CHAOS = {"drop": "dropRate", "malformed": "malformedRate", "disconnect": "disconnectRate",
         "ratelimit": "rateLimitRate"}


def chat(text, stream, **extra):
    request = {"model": "gpt-4o-2024-08-06", "messages": [{"role": "user", "content": text}],
               "stream": stream, **extra}
    if stream:
        request["stream_options"] = {"include_usage": True}
    return json.dumps(request)


def tool_turns(stream):
    """A conversation of two steps: the request for a tool, and the answer to its result."""
    call = {"id": "call_background", "type": "function",
            "function": {"name": "change_background", "arguments": '{"background": "blue"}'}}
    messages = [{"role": "user", "content": "change background to blue"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_background", "content": "ok"}]
    return json.dumps({"model": "gpt-4o-2024-08-06", "messages": messages, "stream": stream})


class Bench:
    def __init__(self, arguments):
        self.reenact = arguments.reenact
        self.client = arguments.client
        self.scratch = arguments.scratch
        self.store = self.scratch / "store"
        self.runs = []  # (name, run id, requests file, journal)

    def record(self, name, base, requests):
        requests_file = self.scratch / f"{name}.requests"
        requests_file.write_text("\n".join(requests) + "\n")
        journal = self.scratch / f"{name}.journal"
        done = subprocess.run([self.client, "--base", base, "--requests", requests_file, "--journal", journal,
                               "--store", self.store], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            sys.exit(f"{name}: recording failed: {done.stderr}")
        self.runs.append((name, done.stdout.strip(), requests_file, journal))

    def replay(self, run, requests_file, journal):
        return subprocess.run([self.reenact, "--store", self.store, "replay", run, "--", self.client, "--requests",
                               requests_file, "--journal", journal, "--clock-offset-hours", "48"],
                              capture_output=True, text=True, timeout=120)


def record_all(bench, aimock):
    base = f"{aimock.url}/v1"
    for stream in (False, True):
        suffix = "stream" if stream else "whole"
        words = [text for texts in PACKAGED.values() for text in texts] + OWN
        requests = [chat(text, stream) for text in words] + [tool_turns(stream)]
        tools = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
        requests.append(chat("what is it like outside", stream, tools=tools))
        bench.record(f"clean-{suffix}", base, requests)
        for kind, rate in CHAOS.items():
            aimock.chaos({rate: 1.0})
            bench.record(f"{kind}-{suffix}", base, [chat("hello", stream), chat("goodbye", stream)])
            aimock.calm()
        aimock.chaos({rate: 0.25 for rate in CHAOS.values()})
        bench.record(f"mixed-{suffix}", base, [chat("hello", stream, seed=i) for i in range(12)])
        aimock.calm()


def check_coverage(bench):
    """The faults that this is about must really have been recorded."""
    text = "\n".join(journal.read_text() for _, _, _, journal in bench.runs)
    for what, pattern in {"an answer": r"end status=200 code=0 state=1", "HTTP 500": r"status=500",
                          "HTTP 429": r"status=429", "Retry-After": r"retry-after",
                          "a cut stream": r"end status=200 code=(18|56)", "a reset": r"status=0 code=(52|56)",
                          "a retry": r"attempt 0 failed", "an event stream": r"data: ",
                          "malformed JSON in a 200": r"read \{malformed json.*\n  end status=200"}.items():
        if not re.search(pattern, text):
            sys.exit(f"the traffic held no case of: {what}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "client", "aimock", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if not (arguments.aimock / "installed").exists():
        print("skipped: @copilotkit/aimock is not installed; run tests/aimock/install")
        return 77
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    arguments.scratch.mkdir(parents=True)
    os.environ.pop("REENACT_MODE", None)
    bench = Bench(arguments)
    packaged = [arguments.aimock / PACKAGE / "fixtures" / name for name in PACKAGED]
    aimock = Aimock(arguments.aimock, arguments.scratch / "aimock.log", [*packaged, HERE / "fixtures.json"])
    try:
        record_all(bench, aimock)
    finally:
        aimock.stop()
    check_coverage(bench)

    failures = 0
    calls = 0
    for name, run, requests_file, journal in bench.runs:
        again = bench.scratch / f"{name}.replayed"
        done = bench.replay(run, requests_file, again)
        equal = again.exists() and again.read_bytes() == journal.read_bytes()
        calls += journal.read_text().count("call ")
        if done.returncode != 0 or not equal:
            failures += 1
            print(f"{name}: exit {done.returncode}, journals {'equal' if equal else 'DIFFER'}\n{done.stdout}{done.stderr}")
    # A planted fault: another word in one request must not be served.
    name, run, requests_file, _ = bench.runs[0]
    changed = bench.scratch / "changed.requests"
    changed.write_text(requests_file.read_text().replace("hello", "hullo", 1))
    # The input of the run is the file itself, so the changed program never begins the recorded run.
    if bench.replay(run, changed, bench.scratch / "changed.journal").returncode not in (1, 3):
        failures += 1
        print("a changed request was replayed as if it were equal")
    print(f"{len(bench.runs)} runs, {calls} calls recorded and replayed, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
