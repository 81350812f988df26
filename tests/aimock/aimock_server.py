"""@copilotkit/aimock, a provider that nobody here wrote, for the tests that record traffic with it."""
import atexit
import json
import re
import subprocess
import sys
import time
import urllib.request

PACKAGE = "node_modules/@copilotkit/aimock"


class Aimock:
    """The server, on a port of its own choice, answering from `fixtures`, files; those that come with it are in its
    own folder, `fixtures/`."""

    def __init__(self, folder, log, fixtures):
        command = [str(folder / "node"), str(folder / PACKAGE / "dist/cli.js"), "-p", "0"]
        for fixture in fixtures:
            command += ["-f", str(fixture)]
        self.log = log
        with open(log, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        atexit.register(self.process.kill)  # No server outlives a test that failed.
        self.port = self.wait_for_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def wait_for_port(self):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = re.search(rb"127\.0\.0\.1:([1-9][0-9]*)", self.log.read_bytes())
            if found:
                return int(found[1])
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        sys.exit("aimock did not start:\n" + self.log.read_text(errors="replace"))

    def chaos(self, rates):
        request = urllib.request.Request(f"{self.url}/__aimock/chaos", data=json.dumps(rates).encode(), method="POST",
                                         headers={"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            if answer.status != 200:
                sys.exit(f"aimock refused {rates}: {answer.read()!r}")

    def calm(self):
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/__aimock/chaos", method="DELETE"), timeout=10).close()

    def request_count(self):
        """Of requests for an answer, so far."""
        with urllib.request.urlopen(f"{self.url}/__aimock/journal", timeout=10) as answer:
            return len(json.load(answer))

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
