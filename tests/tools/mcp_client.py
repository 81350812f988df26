#!/usr/bin/env python3
"""A client of MCP that starts its server by the words after SCRIPT, and prints all that it was told. SCRIPT: JSON, a
list of what it sends: a message; a text, sent as it is; or {"await": ID}, which reads up to the answer of that id."""

import json
import subprocess
import sys

ANSWER = {"jsonrpc": "2.0", "result": {"text": "five"}}


def main():
    server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(message):
        try:
            server.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
            server.stdin.flush()
        except BrokenPipeError:
            print("the server has gone")

    def read():
        line = server.stdout.readline()
        if not line:
            return None
        print(line.strip() if len(line) < 400 else "a line of %d" % len(line))
        try:
            message = json.loads(line)
        except ValueError:
            return {}
        return message if isinstance(message, dict) else {}

    for step in json.loads(sys.argv[1]):
        if not (isinstance(step, dict) and "await" in step):
            send(step)
            continue
        while (message := read()) is not None and message.get("id", "none") != step["await"]:
            if message.get("method") == "sampling/createMessage":
                send(dict(ANSWER, id=message["id"]))
        if message is None:
            print("end of the server's output")
    server.stdin.close()
    while read() is not None:
        pass
    print("status", server.wait())


if __name__ == "__main__":
    main()
