#!/usr/bin/env python3
"""The recording proxy in front of a provider over TLS, with HTTP/2 and with HTTP/1.1: recorded, and replayed with the
provider gone. Its certificate is of an authority of the test's own, given by --upstream-ca or by SSL_CERT_FILE.

usage: upstream_test.py --reenact FILE --scratch DIR [--node FILE]
Exits with 77 (skipped) without Node."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Upstream:
    def __init__(self, node, folder, version):
        self.process = subprocess.Popen([node, HERE / "upstream.mjs", folder / "ca.pem", folder / "key.pem", version],
                                        stdout=subprocess.PIPE, text=True)
        self.url = f"https://127.0.0.1:{int(self.process.stdout.readline())}/v1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()


class Machine:
    def __init__(self, reenact, folder):
        self.reenact = reenact
        self.folder = folder
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8",
                            "REENACT_STORE": str(folder / "store")}

    def run(self, *words, **more):
        return subprocess.run([self.reenact, *words], cwd=self.folder, text=True, capture_output=True,
                              env={**self.environment, **more}, timeout=60)

    def record(self, url, *flags, **more):
        return self.run("record", "--capture-output", *flags, "--", sys.executable, str(HERE / "upstream_client.py"),
                        OPENAI_BASE_URL=url, **more)

    def facts(self):
        """How the upstream was spoken to, call by call."""
        shown = json.loads(self.run("show", "last", "--json").stdout)
        return [{fact["name"]: fact["value"] for fact in event["facts"]} for event in shown["run"]["events"]]

    def check_replayed(self):
        done = self.run("replay", "last", "--json")
        assert done.stdout, done.stderr
        (outcome,) = json.loads(done.stdout)["outcomes"]
        replay = outcome["replay"]
        told = json.dumps(replay, indent=1)
        assert done.returncode == 0 and replay["verdict"] == "reproduced" and replay["level"] == "R2", told
        assert replay["output_equal"] and replay["calls_served"] == replay["calls_on_tape"] == 5, told
        assert replay["network"]["refused"] == 0, told


def make_certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", folder / "key.pem", "-out", folder / "ca.pem", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)


def check_recorded(done, version):
    assert done.returncode == 0, (done.stdout, done.stderr)
    lines = done.stdout.splitlines()
    assert len(lines[0]) == 64 and lines[1] == "64", done.stdout
    assert "[DONE]" in done.stdout and "\U0001f30d" in done.stdout, done.stdout
    # A stream of HTTP/2 that is reset is a connection of HTTP/1.1 that is.
    (cut,) = [line for line in lines if line.startswith(("['IncompleteRead'", "ConnectionResetError"))]
    assert "\U0001f30d" not in cut, cut
    # Connections are kept: one for all five, and after the stream that was cut perhaps another.
    connections, spoken = lines[-1].split(" connections, ")
    assert int(connections) <= 2 and spoken == ("HTTP/2.0" if version == "2" else "HTTP/1.1"), lines[-1]


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "scratch", "node"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=name != "node")
    options = parser.parse_args()
    if not options.node or not options.node.is_file():
        print("skipped: there is no node (Debian package nodejs)")
        return 77
    folder = options.scratch.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make_certificate(folder)
    machine = Machine(options.reenact.resolve(), folder)
    for version in ("1", "2"):
        with Upstream(options.node, folder, version) as upstream:
            check_recorded(machine.record(upstream.url, "--upstream-ca", "ca.pem"), version)
            facts = machine.facts()
        assert [fact.get("upstream_http") for fact in facts] == 5 * ["2" if version == "2" else None], facts
        assert facts[0]["content_encoding"] == "gzip", facts
        machine.check_replayed()
        print(f"HTTP/{version} over TLS: recorded and reproduced")
    with Upstream(options.node, folder, "2") as upstream:
        check_recorded(machine.record(upstream.url, SSL_CERT_FILE="ca.pem"), "2")
        # The control: who vouches for the certificate matters.
        refused = machine.record(upstream.url)
        assert refused.returncode != 0 and "502" in refused.stderr, refused.stderr
        shown = machine.run("show", "last").stdout
        assert "upstream_tls" in shown, shown
    print("an authority that nobody named is not trusted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
