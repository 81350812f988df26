#!/usr/bin/env python3
"""A server of MCP over standard input and output, with a tool for each thing that can happen. Its answers hold a
count, so that none can be invented; each start leaves a line in the file that it is given."""

import json
import sys
import time

calls = 0


def say(message):
    sys.stdout.write(message if isinstance(message, str) else json.dumps(message))
    sys.stdout.write("\n")
    sys.stdout.flush()


def text(words, **more):
    return dict({"content": [{"type": "text", "text": words}]}, **more)


def call_tool(message):
    global calls
    calls += 1
    params = message["params"]
    name, arguments = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        for step in (1, 2):
            say({"jsonrpc": "2.0", "method": "notifications/progress",
                 "params": {"progressToken": token, "progress": step, "total": 2}})
    if name == "weather":
        return text("%s: %d degrees, call %d" % (arguments["city"], time.time_ns() % 1000, calls))
    if name == "fail":
        return text("no such city", isError=True)
    if name == "big":
        return text("x" * arguments["size"])
    if name == "ask":
        say({"jsonrpc": "2.0", "id": "s1", "method": "sampling/createMessage", "params": {"maxTokens": 5}})
        answer = json.loads(sys.stdin.readline())
        return text("the client said %s, call %d" % (answer["result"]["text"], calls))
    if name == "mumble":
        for line in ("no JSON at all", "[1, 2]", '{"jsonrpc": "2.0", "id": 99, "result": "late"}', "\u00e9\u2028"):
            say(line)
        return text("after all, call %d" % calls)
    if name == "die":
        say("cannot go on")
        sys.exit(3)
    if name == "slow":
        return None  # Never answered: it will be cancelled.
    raise KeyError(name)


def main():
    with open(sys.argv[1], "a") as starts:
        starts.write("started\n")
    say("server starting")  # No JSON: servers do that.
    for line in sys.stdin:
        try:
            message = json.loads(line)
            if not isinstance(message, dict):
                raise ValueError("no message: batches are gone from the protocol")
        except ValueError:
            say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
            continue
        method = message.get("method")
        if method == "initialize":
            result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": "weather", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": [{"name": "weather", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            try:
                result = call_tool(message)
            except KeyError as unknown:
                say({"jsonrpc": "2.0", "id": message["id"],
                     "error": {"code": -32602, "message": "Unknown tool: %s" % unknown}})
                continue
        else:
            if method == "notifications/initialized":
                say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            continue
        if result is not None:
            say({"jsonrpc": "2.0", "id": message["id"], "result": result})


if __name__ == "__main__":
    main()
