#!/usr/bin/env python3
"""`reenact mcp`: a session of MCP is recorded as it passes, into the run of `reenact record`, and
played back without a server."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent

def initialize(version="2025-11-25"):
    return [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": version}}, {"await": 0},
            {"jsonrpc": "2.0", "method": "notifications/initialized"}]


def call(number, name, arguments=None, token=None):
    params = {"name": name, "arguments": arguments or {}}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


SESSION_OF_ALL = initialize() + [
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"await": 1},
    call(2, "weather", {"city": "Oslo"}, token="p1"), {"await": 2},
    call(3, "weather", {"city": "Oslo"}), {"await": 3},
    call(4, "fail"), {"await": 4}, call(5, "unknown"), {"await": 5}, call(6, "ask"), {"await": 6},
    call(7, "slow"), {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}},
    "this is no message", {"await": None},
    call("eight", "big", {"size": 3_000_000}), {"await": "eight"}]


class Case:
    def __init__(self, reenact, folder):
        self.reenact, self.folder = reenact, folder
        self.starts = folder + "/starts"
        self.server = [sys.executable, str(HERE / "mcp_server.py"), self.starts]
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8",
                            "REENACT_STORE": folder + "/store", "WEATHER_API_KEY": "wk-0123456789abcdef"}

    def run(self, *words, **more):
        return subprocess.run([self.reenact, *words], cwd=self.folder, text=True, capture_output=True,
                              env=dict(self.environment, **more), timeout=60)

    def client(self, script, *before):
        return [sys.executable, str(HERE / "mcp_client.py"), json.dumps(script), *before, *self.server]

    def record(self, script):
        done = self.run("record", "--capture-output", "--", *self.client(script, self.reenact, "mcp", "--"))
        return done, self.show()

    def show(self, run="last"):
        done = self.run("show", run, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def replay(self, *words):
        done = self.run("replay", "last", "--json", *words)
        assert done.stdout, done.stderr
        (outcome,) = json.loads(done.stdout)["outcomes"]
        return done.returncode, outcome["replay"]

    def started(self):
        path = pathlib.Path(self.starts)
        return len(path.read_text().splitlines()) if path.exists() else 0


def check_nothing_changes(case):
    """What the client is told is what it would be told without `reenact mcp` between."""
    script = initialize() + [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"await": 1}, call(2, "fail"), {"await": 2}]
    direct = subprocess.run(case.client(script), text=True, capture_output=True, timeout=60)
    between, _ = case.record(script)
    assert between.stdout == direct.stdout and "status 0" in direct.stdout, (direct.stdout, between.stdout, between.stderr)


def check_session(case):
    done, shown = case.record(SESSION_OF_ALL)
    assert done.returncode == 0, done.stderr
    assert "a line of 3000" in done.stdout and '"p1"' in done.stdout, done.stdout
    events = [event for event in shown["run"]["events"] if event["name"] != "server message"]
    names = [event["name"] for event in events]
    assert names == ["initialize", "notifications/initialized", "tools/list", "weather", "weather", "fail", "unknown", "ask",
                     "answer", "slow", "notifications/cancelled", "malformed", "big"], names
    assert all(event["scope"] == "python3 mcp_server.py" for event in events), events
    facts = {event["name"]: {fact["name"]: fact["value"] for fact in event["facts"]} for event in events}
    assert facts["fail"]["mcp_error"] == "tool" and facts["unknown"]["mcp_error"] == "protocol", facts
    ends = {event["name"]: event["end_state"] for event in events}
    assert ends["slow"] == "abandoned_by_caller" and ends["ask"] == "complete", ends
    before = case.started()
    code, replay = case.replay()
    assert code == 0 and replay["verdict"] == "reproduced" and replay["level"] == "R2", json.dumps(replay, indent=1)
    assert case.started() == before, "a replay started the server"


def check_miss(case):
    script = initialize() + [call(1, "weather", {"city": "Oslo"}), {"await": 1}]
    case.record(script)
    script[3] = call(1, "weather", {"city": "Bergen"})
    changed = case.client(script, case.reenact, "mcp", "--")
    code, replay = case.replay("--", *changed)
    assert code == 1 and "params.arguments.city" in json.dumps(replay), json.dumps(replay, indent=1)
    derived = case.run("list", "--replays", "--json").stdout
    assert "mcp_client" in derived, derived


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        case = Case(os.path.abspath(options.reenact), folder)
        check_nothing_changes(case)
        check_session(case)
        check_miss(case)
        kept = [path for path in pathlib.Path(folder, "store").rglob("*") if path.is_file()]
        assert kept and not any(b"wk-0123456789abcdef" in path.read_bytes() for path in kept), kept
    print("sessions recorded as they were, and played without a server")


if __name__ == "__main__":
    main()
