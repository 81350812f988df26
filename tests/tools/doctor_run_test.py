#!/usr/bin/env python3
"""`reenact doctor RUN`: what a run does not hold is told. A program that reaches past the proxy, looks up a name, starts
a static program and runs a tool of its own is found out; one that does none of it is not."""

import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import loopback_provider  # noqa: E402

AGENT = """
import json, os, socket, subprocess, sys, urllib.request

body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)
with urllib.request.urlopen(request) as answer:
    answer.read()
if len(sys.argv) > 1:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))):
        pass
    try:
        socket.getaddrinfo("nowhere.invalid", 443)
    except socket.gaierror:
        pass
    subprocess.run([sys.argv[2]], stdout=subprocess.DEVNULL)
"""


class Provider(loopback_provider.Provider):
    """Asks for a tool, of which no record will tell."""

    def do_POST(self):
        self.read_json()
        call = {"id": "call_1", "type": "function", "function": {"name": "lookup_order", "arguments": "{}"}}
        self.reply_chat({"role": "assistant", "content": None, "tool_calls": [call]}, finish_reason="tool_calls")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    parser.add_argument("--static-program", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket() as past, \
            loopback_provider.ProviderServer(Provider) as upstream:
        past.bind(("127.0.0.1", 0))
        past.listen()
        environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "REENACT_STORE": folder + "/store",
                       "OPENAI_BASE_URL": upstream.url + "/v1"}
        agent = pathlib.Path(folder, "agent.py")
        agent.write_text(AGENT)

        def examine(*arguments):
            recorded = subprocess.run([options.reenact, "record", "--", sys.executable, str(agent), *arguments],
                                      env=environment, capture_output=True, text=True, timeout=60)
            assert recorded.returncode == 0, recorded.stderr
            done = subprocess.run([options.reenact, "doctor", "last", "--json"], env=environment, capture_output=True,
                                  text=True, timeout=60)
            assert done.stdout, done.stderr
            return done.returncode, {check["name"]: check for check in json.loads(done.stdout)["checks"]}

        code, checks = examine()
        assert code == 0 and checks["connections"]["health"] == checks["programs"]["health"] == "fine", checks
        assert "lookup_order (1)" in checks["tools"]["text"], checks
        assert "ANTHROPIC_BASE_URL" in checks["variables"]["text"], checks
        assert "OPENAI_BASE_URL" not in checks["variables"]["text"], checks

        port = past.getsockname()[1]
        code, checks = examine(str(port), options.static_program)
        text = checks["connections"]["text"]
        assert code == 1 and "127.0.0.1:%d" % port in text and "nowhere.invalid" in text, checks
        assert options.static_program in checks["programs"]["text"], checks
        upstream.shutdown()
    print("what passed by was told")


if __name__ == "__main__":
    main()
