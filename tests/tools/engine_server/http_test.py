#!/usr/bin/env python3
"""`reenact engine serve` over plain HTTP: limits, shutdown, a client that hangs up, a full queue, and the schedules
of profile stock.

usage: http_test.py --reenact FILE --make-model FILE --scratch DIR"""
import argparse
import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading

from served_model import ServedModel

ENDLESS = {"model": "random", "messages": [{"role": "user", "content": "hello"}], "logit_bias": {"260": -100},
           "max_tokens": 900, "n": 24}
FAILURES = []


def expect(holds, what):
    if not holds:
        FAILURES.append(what)
        print(f"FAILED: {what}")


def post(port, body, path="/v1/chat/completions", headers=()):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    raw = body if isinstance(body, (bytes, str)) else json.dumps(body)
    connection.request("POST", path, raw, {"content-type": "application/json", **dict(headers)})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), text


def limits(model):
    for path, body, status in (("/v1/chat/completions", b"x" * (9 << 20), 413), ("/v1/chat/completions", b"\xff", 400),
                               ("/v1/nothing", b"{}", 404), ("/v1/models", b"{}", 404)):
        try:
            got, _, text = post(model.port, body, path)
        except (BrokenPipeError, ConnectionResetError):  # The server need not read what is too large.
            expect(status == 413, f"{path}: the connection broke")
            continue
        expect(got == status and "error" in json.loads(text), f"{path}: {got} {text[:80]}, not {status}")
    got, _, text = post(model.port, {}, headers={"host": "evil.example:80"})
    expect(got == 403 and "loopback" in json.loads(text)["error"]["message"], f"a foreign host: {got} {text}")
    with socket.create_connection(("127.0.0.1", model.port)) as raw:
        raw.sendall(b"nonsense\r\n\r\n")
        expect(b" 400 " in raw.recv(1000), "nonsense is answered with 400")


def open_stream(port, request):
    """A streamed request, after its first token."""
    body = json.dumps({**request, "stream": True}).encode()
    raw = socket.create_connection(("127.0.0.1", port), timeout=60)
    raw.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
    seen = b""
    while b'"content":"' not in seen.split(b'"content":""')[-1]:
        part = raw.recv(4096)
        if not part:
            break
        seen += part
    return raw, seen


def full_queue_and_hang_up(model):
    first, seen = open_stream(model.port, ENDLESS)
    expect(b"text/event-stream" in seen, f"a stream begins with {seen[:80]}")
    status, headers, text = post(model.port, ENDLESS)
    expect(status == 503 and headers.get("retry-after") == "1", f"a second request: {status} {text[:100]}")
    first.close()
    # Its place is free once the server has noticed.
    for _ in range(200):
        status, _, text = post(model.port, {**ENDLESS, "n": 1, "max_tokens": 2})
        if status == 200:
            break
    expect(status == 200, f"the place of a client that hung up stays taken: {text[:100]}")


def shutdown(model, with_signal):
    stream, _ = open_stream(model.port, ENDLESS)
    rest = []
    reader = threading.Thread(target=lambda: rest.append(b"".join(iter(lambda: stream.recv(65536), b""))))
    reader.start()
    code, said = model.stop(with_signal)
    reader.join(30)
    expect(code == 0, f"the exit code after a signal is {code}: {said}")
    expect(b"shut down" in rest[0] and b"[DONE]" in rest[0], f"the running stream ends with {rest[0][-200:]}")
    return said


SCHEDULED = {"model": "stock", "prompt": "a refund of 1299.00 EUR, please", "max_tokens": 48, "temperature": 0,
             "logprobs": 0, "return_token_ids": True}


def schedules(arguments, model):
    """What a stock server says of each of a crowd is computed again, alone, to the same tokens and bits."""
    answers = [None] * 12

    def ask(index):
        answers[index] = json.loads(post(model.port, SCHEDULED, "/v1/completions")[2])["choices"][0]

    ask(0)  # Its prompt may be kept: what is compared is a second one.
    ask(0)
    alone = json.dumps(answers[0].get("schedule"))
    crowd = [threading.Thread(target=ask, args=[index]) for index in range(len(answers))]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    seen = {json.dumps(answer.get("schedule")) for answer in answers}
    # They may all have shared every round, and have one schedule: but not that of a request that was alone.
    expect("null" not in seen and seen != {alone}, f"the schedules of a crowd: {sorted(seen)}")
    for answer in answers:
        file = arguments.scratch / "schedule.json"
        file.write_text(json.dumps(answer["schedule"]))
        again = subprocess.run(
            [arguments.reenact, "engine", "generate", "--model", arguments.scratch / "stock", "--profile", "stock",
             "--schedule", file, "--prompt", SCHEDULED["prompt"], "--max-tokens", "48", "--logprobs", "0", "--json"],
            stdout=subprocess.PIPE, check=True)
        sample = json.loads(again.stdout)["samples"][0]
        expect([t["token"] for t in sample["tokens"]] == answer["token_ids"], f"other tokens by {answer['schedule']}")
        expect([t["logprob"] for t in sample["tokens"]] == answer["logprobs"]["token_logprobs"],
               f"other logprobs by {answer['schedule']}")
    _, _, streamed = post(model.port, {**SCHEDULED, "stream": True}, "/v1/completions")
    expect(b'"schedule":[[' in streamed, f"no schedule in a stream: {streamed[-300:]}")
    for stream in (False, True):
        _, _, text = post(model.port, {**SCHEDULED, "return_token_ids": False, "stream": stream}, "/v1/completions")
        expect(b"schedule" not in text, f"a schedule that nobody asked for, stream {stream}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "make-model", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    arguments.scratch.mkdir(parents=True)
    model = ServedModel(arguments.reenact, arguments.make_model, arguments.scratch, "random", (), ["--max-requests", "1"])
    limits(model)
    full_queue_and_hang_up(model)
    said = shutdown(model, signal.SIGTERM)
    expect(re.search(r"[1-9][0-9]* hung up", said), f"nobody hung up: {said}")
    other = ServedModel(arguments.reenact, arguments.make_model, arguments.scratch, "random")
    _, _, text = post(other.port, {**SCHEDULED, "model": "random"}, "/v1/completions")
    expect(b"token_ids" in text and b"schedule" not in text, f"profile n1 has a schedule: {text[:200]}")
    shutdown(other, signal.SIGINT)
    stock = ServedModel(arguments.reenact, arguments.make_model, arguments.scratch, "stock", (), ["--profile", "stock"])
    schedules(arguments, stock)
    stock.stop()
    print(f"{len(FAILURES)} failures")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
