#!/usr/bin/env python3
"""Bodies of 64 MiB each way through the recording proxy, with a length and as a stream: every byte arrives, what is kept
is whole or says that it is cut, and the proxy's memory stays within a bound. cases/replay.md 28."""

import argparse
import base64
import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time

MIB = 1 << 20
BODY = 64 * MIB
PIECE = 60_000  # No divisor of anything.


def text_of(seed, size):
    """Text of which a part that is missing or moved is seen."""
    return base64.b64encode(random.Random(seed).randbytes(size * 3 // 4 + 3))[:size]


def pieces(data):
    for at in range(0, len(data), PIECE):
        yield data[at:at + PIECE]


class Stream:
    """One connection, read and written by hand."""

    def __init__(self, connection):
        self.connection = connection
        self.file = connection.makefile("rb", MIB)

    def head(self):
        lines = []
        for line in iter(self.file.readline, b"\r\n"):
            if not line:
                return None
            lines.append(line.decode().rstrip("\r\n"))
        fields = (line.split(": ", 1) for line in lines[1:])
        return lines[0], {name.lower(): value for name, value in fields}

    def body(self, fields):
        if "content-length" in fields:
            return self.file.read(int(fields["content-length"]))
        parts = []
        while True:
            size = int(self.file.readline(), 16)
            parts.append(self.file.read(size))
            assert self.file.readline() == b"\r\n"
            if size == 0:
                return b"".join(parts)

    def send(self, first, fields, body, streams):
        framing = "Transfer-Encoding: chunked" if streams else "Content-Length: %d" % len(body)
        self.connection.sendall(("\r\n".join([first, *fields, framing]) + "\r\n\r\n").encode())
        for piece in pieces(body):
            self.connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if streams else piece)
        if streams:
            self.connection.sendall(b"0\r\n\r\n")


class Upstream(socketserver.BaseRequestHandler):
    def handle(self):
        stream = Stream(self.request)
        while (head := stream.head()) is not None:
            self.server.got = hashlib.sha256(stream.body(head[1])).hexdigest()
            streams = "/stream" in head[0]
            stream.send("HTTP/1.1 200 OK", ["Content-Type: " + ("text/event-stream" if streams else "application/json")],
                        self.server.answer, streams)


class Memory(threading.Thread):
    """The most that a process held until it ended: its pages, and the files of its recorder on the memory file system."""

    def __init__(self, pid, folder):
        super().__init__(daemon=True)
        self.status, self.folder = pathlib.Path("/proc/%d/status" % pid), folder
        self.before = self.resident("VmRSS")
        self.peak = self.files = 0
        self.start()

    def resident(self, field):
        for line in self.status.read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        raise ProcessLookupError(field)  # It is a zombie.

    def run(self):
        try:
            while True:
                self.peak = max(self.peak, self.resident("VmHWM"))
                self.files = max(self.files, sum(entry.stat().st_blocks * 512 for entry in os.scandir(self.folder)))
                time.sleep(0.005)
        except (FileNotFoundError, ProcessLookupError):
            pass


def ask(port, body, streams):
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        stream = Stream(connection)
        fields = ["Host: 127.0.0.1", "Content-Type: application/json", "Connection: close"]
        stream.send("POST /up/%s HTTP/1.1" % ("stream" if streams else "whole"), fields, body, streams)
        first, fields = stream.head()
        assert first == "HTTP/1.1 200 OK", first
        assert ("content-length" in fields) != streams, fields
        return stream.body(fields)


class Case:
    """A proxy, of which one request is asked."""

    def __init__(self, reenact, folder, memory_folder):
        self.reenact, self.memory_folder = reenact, memory_folder
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "REENACT_STORE": folder + "/store",
                            "XDG_RUNTIME_DIR": memory_folder}

    def verb(self, *words):
        return subprocess.run([self.reenact, *words], env=self.environment, capture_output=True, check=True, timeout=120).stdout

    def pass_through(self, upstream, request, streams):
        """The answer, and how much the proxy grew until all was stored."""
        words = [self.reenact, "proxy", "--route", "up=http://127.0.0.1:%d" % upstream.server_address[1]]
        with subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE, text=True) as proxy:
            try:
                port = int(proxy.stdout.readline().rsplit(":", 1)[1])
                memory = Memory(proxy.pid, self.memory_folder + "/reenact")
                answer = ask(port, request, streams)
                proxy.send_signal(signal.SIGTERM)
                # Not waited for yet, so that its peak can be read.
                os.waitid(os.P_PID, proxy.pid, os.WEXITED | os.WNOWAIT)
                memory.join()
                assert proxy.wait() == 0, proxy.returncode
            finally:
                proxy.kill()
        return answer, memory.peak - memory.before, memory.files

    def check_stored(self, sent):
        """Whole, or cut with its mark and the length that it had."""
        (event,) = json.loads(self.verb("show", "last", "--json"))["run"]["events"]
        for part, name, whole in zip(("request", "response"), ("request", "answer"), sent):
            kept = self.verb("show", "last", "--event", "0", "--raw", part)
            body = event[name]
            print("  %s: %d of %d MiB are kept" % (part, len(kept) // MIB, len(whole) // MIB))
            assert whole.startswith(kept), part
            assert body["cut"] == (len(kept) != len(whole)), body
            assert not body["cut"] or body["original_size_bytes"] == len(whole), body


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    parser.add_argument("--bound-mib", type=int, default=768)
    options = parser.parse_args()
    request = b'{"text": "' + text_of(1, BODY) + b'"}'
    line = b"data: " + text_of(2, 1000) + b"\n\n"
    answers = {False: b'{"text": "' + text_of(3, BODY) + b'"}', True: line * (BODY // len(line))}
    upstream = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Upstream)
    upstream.daemon_threads = True
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    if "REENACT_LONG" not in os.environ:
        del answers[False]  # As a stream it takes all that it takes with a length, and more.
    for streams, upstream.answer in answers.items():
        with tempfile.TemporaryDirectory(dir="/tmp") as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as memory_folder:
            case = Case(os.path.abspath(options.reenact), folder, memory_folder)
            answer, pages, files = case.pass_through(upstream, request, streams)
            print("%s: the proxy grew by %d MiB, and held %d MiB in files in memory" %
                  ("stream" if streams else "with a length", pages // MIB, files // MIB))
            assert upstream.got == hashlib.sha256(request).hexdigest(), "the request was changed"
            assert answer == upstream.answer, "the answer was changed"
            assert BODY < pages + files < options.bound_mib * MIB, "it is not bounded, or not measured"
            case.check_stored((request, answer))


if __name__ == "__main__":
    main()
