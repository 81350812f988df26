#!/usr/bin/env python3
"""Credentials in every place that a recorded program can have them: none is to be found in the store, in exports, in
what verbs print, or on standard error, and a replay with other keys still matches. A marker that is no credential is
found by the same search."""

import argparse
import base64
import gzip
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse

HERE = pathlib.Path(__file__).parent
MARKER = "plainmarker7f3a"  # Is stored: what finds it would find the others.


def keys(generation):
    """Of each shape one, and different in each generation: a replay has rotated ones."""
    g = generation
    return {
        "bearer": "opaque%sAuthorizationValue0123" % g,
        "x_api_key": "opaque%sXApiKeyValue01234567" % g,
        "azure": "0123456789abcdef%s0123456789abcd" % g,
        "goog": "AIzaSy%sabcdefghijklmnopqrstuvwxyz01234" % g,
        "cookie": "sid%sCookieValue0123456789" % g,
        "portkey": "opaque%sPortkeyValue012345" % g,
        "helicone": "opaque%sHeliconeValue01234" % g,
        "gateway": "opaque%sGatewayValue012345" % g,
        "amz": "opaque%sSessionTokenValue01" % g,
        "query": "opaque%sQueryKeyValue012345" % g,
        "sas": "opaque%sSasSignature%%2Bab012345" % g,
        "mcp_tool": "opaque%sMcpAuthorization01" % g,
        "openai": "sk-proj-%sabcdefghijklmnopqrstuvwx" % g,
        "anthropic": "sk-ant-api03-%sabcdefghijklmnopqrst" % g,
        "github": "ghp_%sabcdefghijklmnopqrstuvwxyz0123456" % g,
        "slack": "xoxb-123456789012-%sabcdefghijkl" % g,
        "aws": "AKIA%sIOSFODNN7EXAMPL" % g.upper(),
        "huggingface": "hf_%sabcdefghijklmnopqrstuvwxyz0123" % g,
        "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJ%szdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl%s" % (g, g),
        "password": "hunter%sCorrectHorseBattery" % g,
        "environment": "opaque%sEnvironmentToken01" % g,
        "argument": "opaque%sArgumentToken012345" % g,
        "server": "opaque%sServerEnvironment01" % g,
    }


AGENT = """
import base64, gzip, json, os, subprocess, sys, urllib.error, urllib.request

SECRETS = json.loads(os.environ["SECRETS_FOR_TEST_TOKEN"])
BASE = os.environ["OPENAI_BASE_URL"]
PLAIN = BASE.split("/openai")[0] + "/plain"

def ask(url, body, headers, encoding=None):
    data = json.dumps(body).encode()
    if encoding == "gzip":
        data = gzip.compress(data)
        headers = dict(headers, **{"content-encoding": "gzip"})
    request = urllib.request.Request(url, data, dict({"content-type": "application/json"}, **headers))
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, len(answer.read()) > 0
    except urllib.error.HTTPError as error:
        return error.code, len(error.read()) > 0

S = SECRETS
content = "%s; keys: %s %s %s %s %s %s %s" % (sys.argv[2], S["openai"], S["anthropic"], S["github"], S["slack"], S["aws"],
                                              S["huggingface"], S["jwt"])
pem = "-----BEGIN PRIVATE KEY-----\\nMIIE" + S["password"] + "\\n-----END PRIVATE KEY-----"
chat = {"model": "m", "messages": [{"role": "user", "content": content + pem}],
        "tools": [{"type": "mcp", "server_url": "https://x", "authorization": S["mcp_tool"],
                   "headers": {"X-Whatever-Token": S["gateway"]}}]}
headers = {"authorization": "Bearer " + S["bearer"], "cookie": "session=" + S["cookie"],
           "x-portkey-api-key": S["portkey"], "helicone-auth": "Bearer " + S["helicone"],
           "cf-access-client-secret": S["gateway"], "x-amz-security-token": S["amz"]}
print(ask(BASE + "/chat/completions", chat, headers))
print(ask(BASE + "/chat/completions", dict(chat, n=2), headers, "gzip"))
print(ask(BASE + "/chat/completions", dict(chat, stream=True), headers))
print(ask(BASE + "/chat/completions?api_key=" + S["query"], dict(chat, n=3), {"api-key": S["azure"]}))
image = {"type": "image_url", "image_url": {"url": "https://acc.blob/x.png?sv=1&sig=" + S["sas"]}}
print(ask(BASE + "/chat/completions", {"model": "m", "messages": [{"role": "user", "content": [image]}]},
          {"x-api-key": S["x_api_key"], "x-goog-api-key": S["goog"]}))
print(ask(PLAIN + "/login?token=" + S["query"], {"user": "u", "password": S["password"], "note": "x"},
          {"authorization": "Basic " + base64.b64encode(("u:" + S["password"]).encode()).decode()}))
print(ask(PLAIN + "/refuse", {"access_token": S["bearer"]}, {"authorization": "Bearer " + S["bearer"]}))

script = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
          {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
           "params": {"name": "login", "arguments": {"api_key": S["query"], "text": S["openai"]}}}]
server = [os.environ["TEST_REENACT"], "mcp", "--", sys.executable, "-c", os.environ["TEST_MCP_SERVER"]]
done = subprocess.run(server, input="".join(json.dumps(line) + "\\n" for line in script), text=True, capture_output=True,
                      env=dict(os.environ, MCP_SERVER_SECRET=S["server"]))
print(len(done.stdout.splitlines()), "answers of the server", done.stderr)
print("the key is", S["openai"], "and", S["bearer"], file=sys.stderr)
"""

MCP_SERVER = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    result = {"content": [{"type": "text", "text": "used " + os.environ["MCP_SERVER_SECRET"] + " for " + line}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class Provider(http.server.BaseHTTPRequestHandler):
    """Echoes what it was given, as careless services do: in bodies, in errors, in the deltas of a stream."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        data = self.rfile.read(int(self.headers["content-length"]))
        if self.headers["content-encoding"] == "gzip":
            data = gzip.decompress(data)
        body = json.loads(data)
        credential = self.headers["authorization"] or self.headers["api-key"] or self.headers["x-api-key"]
        if self.path.endswith("/refuse"):
            return self.reply(401, {"error": {"message": "Incorrect API key provided: %s." % credential, "type": "auth"}})
        said = "you said %s with %s" % (json.dumps(body)[:3000], credential)
        if body.get("stream"):
            return self.stream(said)
        self.reply(200, {"id": "1", "object": "chat.completion", "model": "m",
                         "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}]})

    def stream(self, said):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for at in range(0, len(said), 9):  # A key lies in several deltas.
            chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": said[at:at + 9]}}]}
            self.wfile.write(("data: %s\n\n" % json.dumps(chunk)).encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def reply(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("set-cookie", "__cf_bm=" + self.server.cookie)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def forms(secret):
    """As they are written, in a URL, and in base64 wherever they begin in it."""
    yield secret
    yield urllib.parse.quote(secret, safe="")
    for offset in range(3):
        whole = base64.b64encode(b"x" * offset + secret.encode()).decode().rstrip("=")
        yield whole[4 if offset else 0:][:-2]


def found(texts, secrets):
    """Where which secret is."""
    hits = []
    for where, text in texts.items():
        for name, secret in secrets.items():
            if any(form and form.encode() in text for form in forms(secret)):
                hits.append("%s in %s" % (name, where))
    return hits


class Case:
    def __init__(self, reenact, folder, upstream, secrets):
        self.reenact, self.folder, self.upstream = reenact, folder, upstream
        self.texts = {}
        self.use(secrets)

    def use(self, secrets):
        self.secrets = secrets
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": self.folder, "LANG": "C.UTF-8", "REENACT_STORE": self.folder + "/store",
            "TEST_REENACT": self.reenact, "TEST_MCP_SERVER": MCP_SERVER, "SECRETS_FOR_TEST_TOKEN": json.dumps(secrets),
            "OPENAI_API_KEY": secrets["openai"], "GITHUB_TOKEN": secrets["github"], "APP_SECRET": secrets["environment"],
            "DATABASE_URL": "postgres://u:%s@db/x" % secrets["password"],
            "OPENAI_BASE_URL": "http://127.0.0.1:%d/v1" % self.upstream.server_port}

    def run(self, name, *words, program_prints=False):
        """What a verb prints is searched; what the program itself prints is the program's."""
        done = subprocess.run([self.reenact, *words], cwd=self.folder, capture_output=True, env=self.environment, timeout=60)
        if not program_prints:
            self.texts[name + " stdout"] = done.stdout
            self.texts[name + " stderr"] = done.stderr
        return done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, \
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider) as upstream:
        upstream.daemon_threads = True
        first, rotated = keys("a1b2"), keys("z9y8")
        upstream.cookie = first["cookie"]
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        case = Case(os.path.abspath(options.reenact), folder, upstream, first)
        agent = pathlib.Path(folder, "agent.py")
        agent.write_text(AGENT)
        command = [sys.executable, str(agent), "--token=" + first["argument"], MARKER]
        done = case.run("record", "record", "--capture-output", "--route",
                        "plain=http://127.0.0.1:%d" % upstream.server_port, "--", *command, program_prints=True)
        assert done.returncode == 0 and b"(401, True)" in done.stdout, (done.stdout, done.stderr)
        run = re.search(rb"reenact replay (\w+)", done.stderr).group(1).decode()
        upstream.shutdown()

        case.run("show", "show", run)
        shown = json.loads(case.run("show json", "show", run, "--json").stdout)
        for event in range(len(shown["run"]["events"])):
            for part in ("request", "response"):
                case.run("event %d %s" % (event, part), "show", run, "--event", str(event), "--raw", part)
        case.run("export", "export", run, "--out", folder + "/run.reenact")
        case.run("jsonl", "export", run, "--format", "jsonl", "--out", folder + "/run.jsonl")
        case.run("doctor", "doctor", run)
        case.run("search", "search", first["openai"])

        case.use(rotated)
        command[2] = "--token=" + rotated["argument"]
        replayed = case.run("replay", "replay", run, "--json", "--", *command)
        (outcome,) = json.loads(replayed.stdout)["outcomes"]
        told = json.dumps(outcome["replay"], indent=1)
        assert outcome["replay"]["calls_served"] == outcome["replay"]["calls_on_tape"] == 9, told
        assert replayed.returncode == 0, told
        command[3] = "another " + MARKER
        missed = case.run("miss", "replay", run, "--json", "--", *command)
        assert missed.returncode == 1, missed.stdout

        for path in pathlib.Path(folder).rglob("*"):
            if path.is_file() and path != agent:
                case.texts[str(path.relative_to(folder))] = path.read_bytes()
        hits = found(case.texts, first) + found(case.texts, rotated)
        assert not hits, "\n".join(hits)
        control = found(case.texts, {"marker": MARKER})
        for where in ("run.jsonl", "event 0 request stdout", "show json stdout"):
            assert any(hit.endswith(where) for hit in control), (where, control)
    print("%d credentials in %d texts: none found" % (2 * len(first), len(case.texts)))


if __name__ == "__main__":
    main()
