#!/usr/bin/env python3
"""A proxy of the environment, with credentials, between what is recorded and its upstreams: each URL takes the way that
the program's own client would have taken, the way is on record, and the credentials are in no file and no output.
cases/reports.md 34."""

import argparse
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

CREDENTIALS = "u:pw"
BASIC = "dTpwdw=="  # Of these.
MARKER = "plainmarker7f3a"  # Is stored: what finds it would find the others.

AGENT = """
import json, os, sys, urllib.error, urllib.request

BASE = os.environ["OPENAI_BASE_URL"]
PROXY = BASE.split("/openai")[0]

def ask(url):
    request = urllib.request.Request(url, json.dumps({"model": "m", "messages": []}).encode(),
                                     {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())["said"]
    except urllib.error.HTTPError as error:
        return json.loads(error.read())["error"]["code"]

print(ask(BASE + "/chat/completions"))
print(ask(PROXY + "/far/v1/chat/completions"))
print(ask("http://tools.invalid/plainmarker7f3a"))
print(ask(PROXY + "/inner/x"))
print("https goes through", os.environ["HTTPS_PROXY"], file=sys.stderr)
"""


class Provider(http.server.BaseHTTPRequestHandler):
    """Upstream and proxy alike: says which it is, and echoes what a proxy was shown."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.append("%s with %s" % (self.path, self.headers["proxy-authorization"]))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}
        data = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice],
                           "said": self.server.name, "shown": str(self.headers["proxy-authorization"])}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def started(name):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.name, server.asked, server.daemon_threads = name, [], True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Case:
    def __init__(self, reenact, folder, between, upstream):
        self.reenact, self.folder, self.texts = reenact, folder, {}
        proxy = "http://%s@127.0.0.1:%d" % (CREDENTIALS, between.server_port)
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8", "REENACT_STORE": folder + "/store",
            "OPENAI_BASE_URL": "http://127.0.0.1:%d/v1" % upstream.server_port, "HTTPS_PROXY": proxy, "HTTP_PROXY": proxy,
            "NO_PROXY": "127.0.0.1,.straight.invalid"}

    def run(self, name, *words, program_prints=False):
        done = subprocess.run([self.reenact, *words], cwd=self.folder, capture_output=True, env=self.environment, timeout=60)
        if not program_prints:
            self.texts[name] = done.stdout + done.stderr
        return done


def check_recorded(case, between, command):
    done = case.run("record", "record", "--capture-output", "--route", "far=http://models.invalid", "--route",
                    "inner=http://a.straight.invalid", "--", *command,
                    program_prints=True)
    told = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, told
    assert done.stdout.decode().split() == ["provider", "proxy", "proxy", "upstream_name_unknown"], told
    # The program's own environment is as it was, but for what leads to the recording proxy.
    assert case.environment["HTTPS_PROXY"] in done.stderr.decode(), told
    case.texts["notes"] = b"\n".join(line for line in done.stderr.splitlines() if b"https goes through" not in line)
    assert between.asked == ["http://models.invalid/v1/chat/completions with Basic " + BASIC,
                             "http://tools.invalid/plainmarker7f3a with Basic " + BASIC], between.asked
    shown = json.loads(case.run("show json", "show", "last", "--json").stdout)
    ways = [{fact["name"]: fact["value"] for fact in event["facts"]}.get("upstream_proxy")
            for event in shown["run"]["events"]]
    address = "127.0.0.1:%d" % between.server_port
    assert ways == [None, address, address, None], ways
    return re.search(rb"reenact replay (\w+)", done.stderr).group(1).decode()


def check_asked_again(case, between, run):
    """A target takes its way by the same settings."""
    before = len(between.asked)
    done = case.run("rerun", "rerun", run, "--target", "http://models.invalid/v1", "-n", "1", "--json")
    assert len(between.asked) > before and between.asked[-1].endswith("with Basic " + BASIC), done


def check_told(case):
    """What a client reaches by itself, because NO_PROXY says so, is not on record, and doctor says that."""
    code = "import urllib.request; urllib.request.urlopen('http://b.straight.invalid')"
    case.run("record straight", "record", "--", sys.executable, "-c", code, program_prints=True)
    done = case.run("doctor straight", "doctor", "last")
    assert b"b.straight.invalid" in done.stdout, done.stdout


def check_replayed(case):
    done = case.run("replay", "replay", "last", "--json")
    (outcome,) = json.loads(done.stdout)["outcomes"]
    assert done.returncode == 0 and outcome["replay"]["level"] == "R2", json.dumps(outcome, indent=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        between, upstream = started("proxy"), started("provider")
        case = Case(os.path.abspath(options.reenact), folder, between, upstream)
        agent = pathlib.Path(folder, "agent.py")
        agent.write_text(AGENT)
        run = check_recorded(case, between, [sys.executable, str(agent)])
        check_replayed(case)
        check_asked_again(case, between, run)
        check_told(case)
        case.run("show", "show", run)
        case.run("doctor", "doctor", run)
        case.run("doctor alone", "doctor")
        case.run("export", "export", run, "--out", folder + "/run.reenact")
        case.run("jsonl", "export", run, "--format", "jsonl", "--out", folder + "/run.jsonl")
        between.shutdown()
        case.run("replay without it", "replay", run, "--json")
        for path in pathlib.Path(folder).rglob("*"):
            if path.is_file() and path != agent:
                case.texts[str(path.relative_to(folder))] = path.read_bytes()
        for secret in (CREDENTIALS, BASIC.rstrip("="), CREDENTIALS.replace(":", "%3A")):
            hits = [name for name, text in case.texts.items() if secret.encode() in text]
            assert not hits, (secret, hits)
        control = [name for name, text in case.texts.items() if MARKER.encode() in text]
        assert {"run.jsonl", "show json"} <= set(control), control
    print("%d texts: the proxy's credentials are in none" % len(case.texts))


if __name__ == "__main__":
    main()
