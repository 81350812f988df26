#!/usr/bin/env python3
"""`reenact mcp`: a session of MCP is recorded as it passes, into the run of `reenact record` or into one of its own,
and played back without a server; what a session over HTTP does, the proxy does with it too."""

import argparse
import http.server
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).parent

HTTP_CLIENT = """
import http.client, json, os, urllib.error, urllib.request

URL = os.environ["OPENAI_BASE_URL"].split("/openai")[0] + "/tools/mcp"
headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

def ask(body):
    try:
        with urllib.request.urlopen(urllib.request.Request(URL, body, headers)) as answer:
            session = answer.headers["mcp-session-id"]
            if session:
                headers["mcp-session-id"] = session
            print(answer.status, answer.headers["content-type"], answer.read().decode())
    except urllib.error.HTTPError as refused:
        print("refused", refused.code, refused.read().decode())
    except http.client.IncompleteRead as cut:
        print("the server died after", cut.partial.decode())

def post(message):
    ask(json.dumps(message).encode())

post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})
post({"jsonrpc": "2.0", "method": "notifications/initialized"})
post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "weather", "arguments": {}}})
post({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "die", "arguments": {}}})
ask(b'{"no message')
ask(None)
post({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "fail", "arguments": {}}})
# Without a session, as in 2026-07-28: what names the protocol and the client comes with each request.
del headers["mcp-session-id"]
told = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": os.getpid()}
headers.update({"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "alone"})
post({"jsonrpc": "2.0", "id": os.getpid(), "method": "tools/call", "params": {"_meta": told, "name": "alone", "arguments": {}}})
headers["mcp-session-id"] = "none"
with urllib.request.urlopen(urllib.request.Request(URL, None, headers, method="DELETE")) as answer:
    print("session ended", answer.status, "mcp-session-id" in headers)
"""


class HttpServer(http.server.BaseHTTPRequestHandler):
    """MCP over streamable HTTP: a session, answers as JSON and as a stream of events."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        try:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        except ValueError:
            parse_error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
            return self.reply(400, "application/json", json.dumps(parse_error))
        answer = {"jsonrpc": "2.0", "id": message.get("id"), "result": {"number": self.server.count()}}
        if message["method"] == "initialize":
            return self.reply(200, "application/json", json.dumps(answer), session=True)
        if self.headers["mcp-session-id"] not in (SESSION, None):
            return self.reply(404, "application/json", "{}")
        if "id" not in message:
            return self.reply(202, "application/json", "")
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1}}
        tool = message["params"]["name"]
        if tool == "fail":
            answer["result"] = {"content": [{"type": "text", "text": "no such city"}], "isError": True}
        if tool == "alone":
            answer = {"jsonrpc": "2.0", "id": 0, "result": {"resultType": "complete", "content": [],
                                                            "structuredContent": [self.server.count(), None]}}
        if tool == "die":  # In the middle of a call, and of a line.
            self.close_connection = True
            return self.reply(200, "text/event-stream", "data: %s\n\ndata: {\"jso" % json.dumps(progress), missing=50)
        self.reply(200, "text/event-stream", "".join("data: %s\n\n" % json.dumps(part) for part in (progress, answer)))

    def do_GET(self):
        """What the server says without being asked: a comment, no message, and a notification."""
        told = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"number": self.server.count()}}
        self.reply(200, "text/event-stream", ": hello\n\ndata: no message\n\nid: 7\ndata: %s\n\n" % json.dumps(told))

    def do_DELETE(self):
        self.reply(200, "application/json", "")

    def reply(self, status, kind, body, session=False, missing=0):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body) + missing))
        if session:
            self.send_header("Mcp-Session-Id", SESSION)
        self.end_headers()
        self.wfile.write(body.encode())

    def count(self):
        return self.server.count()

    def log_message(self, *_):
        pass


SESSION = "session-1868a90c-4f3e-8a4b"
SESSIONS, FILES = 24, 32  # The recorder itself has some 16 open.


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


def check_alone(case):
    """Without a run of `reenact record`; ids and progress tokens are others the second time."""
    def play(number, *words):
        lines = [json.dumps(step) for step in initialize("2026-07-28") + [
            call(number, "weather", {"city": "Oslo"}, token=number)] if "await" not in step]
        return subprocess.run([case.reenact, "mcp", *words, "--", *case.server], input="\n".join(lines) + "\n", text=True,
                              capture_output=True, env=case.environment, timeout=60)

    recorded = play(5)
    assert recorded.returncode == 0 and "degrees" in recorded.stdout, recorded
    run = re.search(r"run (\w{26}) in ", recorded.stderr).group(1)
    before = case.started()
    played = play(6, "--replay", run)
    assert played.returncode == 0 and case.started() == before, played
    swapped = recorded.stdout.replace('"id": 5', '"id": 6').replace('"progressToken": 5', '"progressToken": 6')
    assert sorted(played.stdout.splitlines()) == sorted(swapped.splitlines()), (played.stdout, swapped)
    missed = subprocess.run([case.reenact, "mcp", "--replay", run, "--name", "python3 mcp_server.py"], text=True, capture_output=True,
                            input=json.dumps(call(9, "weather", {"city": "Bergen"})) + "\n", env=case.environment, timeout=60)
    error = json.loads(missed.stdout.splitlines()[-1])
    assert missed.returncode == 1 and error["id"] == 9 and "params.arguments.city" in error["error"]["message"], missed


def check_server_that_dies(case):
    script = initialize() + [call(1, "die"), {"await": 1}]
    done, shown = case.record(script)
    assert "status 3" in done.stdout and "end of the server's output" in done.stdout, done.stdout
    (event,) = [event for event in shown["run"]["events"] if event["name"] == "die"]
    assert event["end_state"] == "reset" and "exit status 3" in event["end_detail"], event
    before = case.started()
    code, replay = case.replay()
    assert replay["calls_served"] == replay["calls_on_tape"], json.dumps(replay, indent=1)
    assert replay["output_equal"], "the client is told of another end: " + json.dumps(replay, indent=1)
    assert case.started() == before


def check_malformed_lines(case):
    """A server that says what is no message in the middle of a call: it passes as it is, and again on replay."""
    script = initialize() + [call(1, "mumble", token="p1"), {"await": 1}, call(2, "weather", {"city": "Oslo"}), {"await": 2},
                             "[]", '{"jsonrpc": "2.0"}', '{"id": 3, "method": ', {"await": None}]
    done, shown = case.record(script)
    for line in ("no JSON at all", "[1, 2]", '"late"', "Parse error"):
        assert line in done.stdout, (line, done.stdout)
    (event,) = [event for event in shown["run"]["events"] if event["name"] == "mumble"]
    assert event["end_state"] == "complete", event
    before = case.started()
    code, replay = case.replay()
    told = json.dumps(replay, indent=1)
    assert code == 0 and replay["verdict"] == "reproduced" and replay["level"] == "R2" and replay["output_equal"], told
    assert case.started() == before


def check_bad_lines(case):
    """Neither what is no UTF-8, nor a line of megabytes, nor an end without one, stops or changes anything."""
    big = json.dumps(call(1, "weather", {"city": "x" * 5_000_000})).encode()
    sent = b"\xff\xfe{\n" + big + b"\n" + b'{"half'
    done = subprocess.run([case.reenact, "mcp", "--", "/bin/cat"], input=sent, capture_output=True, env=case.environment,
                          timeout=60)
    assert done.returncode == 0 and done.stdout == sent, (done.returncode, len(done.stdout), done.stderr)
    shown = case.show(re.search(r"run (\w{26}) in ", done.stderr.decode()).group(1))
    names = sorted(event["name"] for event in shown["run"]["events"])
    assert [name for name in names if name != "server message"] == ["malformed", "malformed", "weather"], names
    missing = case.run("mcp", "--", "/no/such/server")
    assert missing.returncode == 127, missing
    assert case.run("mcp").returncode == 2


def check_many_sessions(case):
    """One after the other, of one run: what has ended holds no descriptor of the recorder's."""
    script = json.dumps(initialize())
    client = [sys.executable, str(HERE / "mcp_client.py"), script, case.reenact, "mcp", "--", *case.server]
    loop = "import subprocess, sys\nfor _ in range(%d): subprocess.run(sys.argv[1:], check=True)" % SESSIONS
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    done = subprocess.run([case.reenact, "record", "--", sys.executable, "-c", loop, *client], cwd=case.folder, text=True,
                          capture_output=True, env=case.environment, preexec_fn=few, timeout=100)
    assert done.returncode == 0, done.stderr
    names = [event["name"] for event in case.show()["run"]["events"]]
    assert names.count("initialize") == SESSIONS, names


def check_http(case):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), HttpServer) as upstream:
        upstream.daemon_threads = True
        numbers = iter(range(1000))
        upstream.count = lambda: next(numbers)
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        agent = pathlib.Path(case.folder, "http_client.py")
        agent.write_text(HTTP_CLIENT)
        done = case.run("record", "--capture-output", "--route", "tools=http://127.0.0.1:%d" % upstream.server_port, "--",
                        sys.executable, str(agent))
        assert done.returncode == 0 and "text/event-stream" in done.stdout, (done.stdout, done.stderr)
        assert "session ended 200 True" in done.stdout, done.stdout
        for told in ("the server died after data: ", "refused 400", "list_changed", '"isError": true', '"resultType": "complete"'):
            assert told in done.stdout, (told, done.stdout)
        upstream.shutdown()
    events = case.show()["run"]["events"]
    assert [event["name"] for event in events][:4] == ["initialize", "notifications/initialized", "weather", "die"], events
    assert "alone" in [event["name"] for event in events], events
    assert events[3]["end_state"] == "truncated" and events[2]["end_state"] == "complete", events
    code, replay = case.replay()
    told = json.dumps(replay, indent=1)
    assert code == 0 and replay["verdict"] == "reproduced" and replay["level"] == "R2" and replay["output_equal"], told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        case = Case(os.path.abspath(options.reenact), folder)
        check_nothing_changes(case)
        check_session(case)
        check_miss(case)
        check_alone(case)
        check_server_that_dies(case)
        check_malformed_lines(case)
        check_bad_lines(case)
        check_many_sessions(case)
        check_http(case)
        kept = [path for path in pathlib.Path(folder, "store").rglob("*") if path.is_file()]
        for secret in (SESSION, "wk-0123456789abcdef"):
            assert kept and not any(secret.encode() in path.read_bytes() for path in kept), secret
    print("sessions recorded as they were, and played without a server")


if __name__ == "__main__":
    main()
