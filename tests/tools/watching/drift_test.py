#!/usr/bin/env python3
"""`reenact drift` on endpoints whose logits are known, and on the local engine: an endpoint that stays raises no
alarm, though its windows are noisy; one that moves does, and what can be known of the cause is told.

usage: drift_test.py --reenact FILE --make-model FILE --scratch DIR"""
import argparse
import array
import json
import math
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import threading
import time
import urllib.request

from chat_provider import ChatProvider, token

TOKENS = [f"t{i}" for i in range(30)]


class Endpoint(ChatProvider):
    """Logits of its own for each prompt, noise of each answer, and noise that answers of a window share."""

    def __init__(self, seed=1, answers_per_window=12):
        self.random = random.Random(seed)
        self.logits, self.per_window, self.window_noise = {}, answers_per_window, {}
        self.shift, self.fingerprint, self.model, self.prompt_tokens, self.logprobs = 0.0, "fp_a", None, 5, True
        self.guard = threading.Lock()
        super().__init__(self.say)

    def say(self, request, index):
        with self.guard:
            return self.draw(json.dumps(request["messages"]), request, index)

    def draw(self, prompt, request, index):
        draw = self.random.gauss
        base = self.logits.setdefault(prompt, [draw(0, 2) for _ in TOKENS])
        shared = self.window_noise.setdefault((index // self.per_window, prompt), [draw(0, 0.0125) for _ in TOKENS])
        moved = random.Random(len(prompt))
        logits = [logit + noise + draw(0, 0.05) + self.shift * moved.gauss(0, 1) for logit, noise in zip(base, shared)]
        total = math.log(sum(math.exp(logit) for logit in logits))
        top = sorted(((name, logit - total) for name, logit in zip(TOKENS, logits)), key=lambda entry: -entry[1])
        said = {"text": top[0][0], "fingerprint": self.fingerprint, "prompt_tokens": self.prompt_tokens,
                "tokens": [token(*top[0], top[:request.get("top_logprobs", 5)])]}
        if self.model:
            said["model"] = self.model
        if not self.logprobs:
            return {"status": 400, "text": "logprobs are not offered"}
        return said


class Drifts:
    def __init__(self, arguments):
        self.reenact, self.make_model, self.scratch = arguments.reenact, arguments.make_model, arguments.scratch
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8",
                            "REENACT_STORE": str(self.scratch / "store")}

    def run(self, *words, code=0):
        done = subprocess.run([str(self.reenact), *map(str, words)], text=True, capture_output=True, cwd=self.scratch,
                              env=self.environment, timeout=200)
        assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words, code=0):
        return json.loads(self.run(*words, "--json", code=code).stdout)


def stays(drifts, endpoint):
    """A noisy endpoint that stays: no alarm, and every probe is in the store."""
    made = drifts.run("drift", "baseline", "--target", endpoint.url, "--as", "m", "--probes", "4", "-o", "canary.drift")
    assert "budget: 20 windows of 12 probes, 240 requests of one token" in made.stderr, made.stderr
    assert "20 windows, 240 probes" in made.stdout and "p cannot go below 0.05" in made.stdout, made.stdout
    assert "what load and hosts do over a day" in made.stdout, made.stdout
    asked = endpoint.requests[0]
    assert (asked["max_tokens"], asked["top_logprobs"], asked["temperature"]) == (1, 20, 1), asked
    for _ in range(2):
        same = drifts.json("drift", "check", "canary.drift")
        assert same["verdict"] == "no_change" and same["causes"] == [], json.dumps(same, indent=1)
        assert same["cost"]["requests"] == same["probes"] == 36, same["cost"]
    run = drifts.json("show", same["run"])["run"]
    assert run["service"] == "drift check canary" and len(run["events"]) == 36, run
    said = drifts.run("drift", "baseline", "--target", endpoint.url, "--as", "m", "-o", "canary.drift", code=2).stderr
    assert "--append adds windows" in said, said


def moves(drifts, endpoint):
    """The weights behind one and the same fingerprint: the line that users pay for, and the chart."""
    endpoint.shift = 0.2
    text = drifts.run("drift", "check", "canary.drift", "--html", "drift.html", code=1).stdout
    assert text.startswith("changed: logprob shift without fingerprint change; small and without another best token"), text
    assert "│███" in text and "┤" in text and "persistence 3 of 3 windows" in text, text
    page = (drifts.scratch / "drift.html").read_text()
    assert text.splitlines()[0] in page and page.count('class="out"') == 3 and page.count("<circle") == 19, page
    assert ">gate</text>" in page and not re.search(r"<script|<link|src=|href=|url\(|@import", page), page
    few = drifts.json("drift", "check", "canary.drift", "--windows", "2", code=3)
    assert few["persistent"] == 2 and "of 3 windows that a change needs" in few["sentence"], few
    endpoint.shift = 3
    large = drifts.json("drift", "check", "canary.drift", code=1)
    assert "consistent with another model" in large["sentence"], large["sentence"]
    endpoint.shift, endpoint.model = 0, "m-2"
    alias = drifts.json("drift", "check", "canary.drift", code=1)
    assert alias["sentence"] == "the name came to another model, logprobs unchanged", alias["sentence"]
    endpoint.model, endpoint.prompt_tokens = None, 9
    template = drifts.json("drift", "check", "canary.drift", code=1)
    assert template["causes"] == ["prompt_tokens_changed"], template
    endpoint.prompt_tokens = 5


def is_void(drifts, endpoint):
    """Across fingerprint epochs nothing is compared, unless that is what is asked for; --refresh takes it anew."""
    drifts.run("drift", "baseline", "--refresh", "canary.drift")
    endpoint.fingerprint, endpoint.shift = "fp_b", 0.4
    assert "every fingerprint of the baseline is gone (now fp_b): it is void" in \
        drifts.run("drift", "check", "canary.drift", code=2).stderr
    brought = drifts.json("drift", "check", "canary.drift", "--across-epochs", code=1)
    assert brought["sentence"].startswith("novel fingerprint and logprob shift"), brought["sentence"]
    anew = drifts.run("drift", "baseline", "--refresh", "canary.drift")
    assert "canary.drift is taken anew: every fingerprint" in anew.stderr, anew.stderr
    assert drifts.json("drift", "check", "canary.drift")["verdict"] == "no_change"


def is_refused(drifts, endpoint):
    baseline = (drifts.scratch / "canary.drift").read_text()
    scaled = drifts.scratch / "scaled.drift"
    scaled.write_text(baseline.replace('"scaled":false', '"scaled":true').replace('"scaled":true', '"scaled":false', 1))
    assert "raw logprobs are not compared with scaled ones" in drifts.run("drift", "check", scaled, code=2).stderr
    scaled.write_text("{}\n")
    assert "line 1 is not the head of a baseline" in drifts.run("drift", "check", scaled, code=2).stderr
    endpoint.logprobs = False
    blind = drifts.run("drift", "baseline", "--target", endpoint.url, "--as", "m", "-o", "no.drift", "--windows", "1", code=3)
    assert "no baseline: refused HTTP 400" in blind.stderr and not (drifts.scratch / "no.drift").exists(), blind.stderr
    nothing = drifts.run("drift", "check", "canary.drift", "--windows", "3", code=3).stdout
    assert nothing.startswith("inconclusive"), nothing
    endpoint.logprobs = True
    spent = drifts.run("drift", "check", "canary.drift", "--max-requests", "15", code=3)
    assert "a change could not have been told from 1 windows" in spent.stdout, spent.stdout


CLIENT = """
import json, os, sys, urllib.request
for i in range(int(sys.argv[1])):
    body = {"model": "m", "messages": [{"role": "user", "content": ("Where is my parcel?", "Refund it.")[i % 2]}],
            "logprobs": True, "top_logprobs": 10, "max_tokens": 4}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
                                     {"content-type": "application/json"})
    urllib.request.urlopen(request).read()
"""


def is_recorded(drifts):
    """The same from what a service has recorded, without a probe."""
    endpoint = Endpoint(seed=7, answers_per_window=10)
    drifts.environment["OPENAI_BASE_URL"] = endpoint.url
    (drifts.scratch / "client.py").write_text(CLIENT)

    def record(count):
        begin = time.monotonic()
        drifts.run("record", "--service", "shop", "--", sys.executable, "client.py", count)
        return time.monotonic() - begin
    # As slow as the machine is now: at least 20 windows, whatever the program's start took.
    window = f"{max(1, int(record(400) * 1000 / 60))}ms"
    taken = drifts.json("drift", "baseline", "--service", "shop", "--window", window, "-o", "shop.drift")
    assert taken["model"] == "m" and taken["windows"] >= 20 and taken["cost"]["requests"] == 0, taken["windows"]
    assert "no recorded call has logprobs" in drifts.run("drift", "check", "shop.drift", code=3).stderr
    endpoint.shift = 1.0
    record(100)
    moved = drifts.json("drift", "check", "shop.drift", code=1)
    assert moved["causes"] == ["shift_without_fingerprint_change"] and moved["probes"] > 80, moved["sentence"]
    # A fingerprint epoch voids a recorded baseline too; it is taken anew from what is recorded since, and one that
    # stands is left as it is.
    before = (drifts.scratch / "shop.drift").read_text()
    stands = drifts.run("drift", "baseline", "--refresh", "shop.drift")
    assert "shop.drift stands" in stands.stderr and (drifts.scratch / "shop.drift").read_text() == before, stands.stderr
    endpoint.fingerprint = "fp_c"
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
    time.sleep(2)
    asked = len(endpoint.requests) + 100
    record(100)
    recent = ("--since", since)
    assert "every fingerprint of the baseline is gone (now fp_c): it is void" in \
        drifts.run("drift", "check", "shop.drift", *recent, code=2).stderr
    anew = drifts.run("drift", "baseline", "--refresh", "shop.drift", *recent)
    assert "shop.drift is taken anew: every fingerprint" in anew.stderr, anew.stderr
    assert "fp_c" in (drifts.scratch / "shop.drift").read_text() and "fp_a" not in (drifts.scratch / "shop.drift").read_text()
    assert len(endpoint.requests) == asked, "a recorded baseline is not taken by asking"
    endpoint.close()


class Relay(ChatProvider):
    """An engine behind a gateway that names no engine: the fingerprint is a constant."""

    def __init__(self):
        self.upstream = None
        super().__init__(self.pass_on)

    def pass_on(self, request, _):
        asked = urllib.request.Request(self.upstream + "/chat/completions", json.dumps(request).encode(),
                                       {"content-type": "application/json"})
        return dict(json.loads(urllib.request.urlopen(asked).read()), system_fingerprint="fp_gateway")

    @staticmethod
    def body(_request, _index, said):
        return said


def quantised(path):
    """The weights of a model of F32 as Q8_0 would hold them: 8 bits and a scale for each block of 32."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header, begin = json.loads(data[8:8 + size]), 8 + size
    weights = bytearray(data)
    for name, tensor in header.items():
        if name == "__metadata__" or len(tensor["shape"]) < 2:
            continue
        assert tensor["dtype"] == "F32", tensor
        first, end = (begin + offset for offset in tensor["data_offsets"])
        values = array.array("f", data[first:end])
        for at in range(0, len(values), 32):
            block = values[at:at + 32]
            scale = max(map(abs, block)) / 127 or 1
            values[at:at + 32] = array.array("f", [round(value / scale) * scale for value in block])
        weights[first:end] = values.tobytes()
    path.write_bytes(weights)


def of_the_engine(drifts):
    """The real engine: unchanged, it stays to the last bit; of other weights it does not, whatever it is called."""
    models = {name: drifts.scratch / name for name in ("f32", "q8_0", "other")}
    for name, folder in models.items():
        subprocess.run([drifts.make_model, folder, *(["scripted"] if name == "other" else [])], check=True)
    quantised(models["q8_0"] / "model.safetensors")
    relay = Relay()

    def serve(name):
        port_file = drifts.scratch / f"port-{name}"
        port_file.unlink(missing_ok=True)
        server = subprocess.Popen([str(drifts.reenact), "engine", "serve", "--model", models[name], "--model-name", "m",
                                   "--port-file", port_file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=drifts.environment)
        deadline = time.monotonic() + 30
        while not (port_file.exists() and port_file.read_text().strip()):
            assert server.poll() is None and time.monotonic() < deadline, "the model is not served"
            time.sleep(0.02)
        relay.upstream = f"http://127.0.0.1:{port_file.read_text().strip()}/v1"
        return server

    def check(name, code):
        server = serve(name)
        try:
            return drifts.json("drift", "check", "engine.drift", code=code)
        finally:
            server.terminate()
            server.wait(30)
    server = serve("f32")
    taken = drifts.json("drift", "baseline", "--target", relay.url, "--as", "m", "--windows", "5", "--probes", "2",
                        "-o", "engine.drift")
    server.terminate()
    server.wait(30)
    assert taken["null"] == [0, 0, 0, 0], taken["null"]
    same = check("f32", 0)
    assert same["verdict"] == "no_change" and [window["statistic"] for window in same["windows"]] == [0, 0, 0], same
    rounded = check("q8_0", 1)
    assert rounded["causes"] == ["bitwise_change", "shift_without_fingerprint_change"], rounded["causes"]
    assert rounded["sentence"].startswith("logprob shift without fingerprint change"), rounded["sentence"]
    swapped = check("other", 1)
    assert "consistent with another model" in swapped["sentence"], swapped["sentence"]
    assert 0 < rounded["windows"][-1]["statistic"] < swapped["windows"][-1]["statistic"], (rounded, swapped)
    relay.close()
    # Where the engine speaks for itself, its fingerprint voids the baseline at once.
    drifts.run("drift", "baseline", "--target", "local", "--model", models["f32"], "--windows", "2", "--probes", "1",
               "-o", "local.drift")
    said = drifts.run("drift", "check", "local.drift", "--model", models["q8_0"], code=2).stderr
    assert "every fingerprint of the baseline is gone" in said, said


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "make-model", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    drifts = Drifts(parser.parse_args())
    endpoint = Endpoint()
    stays(drifts, endpoint)
    moves(drifts, endpoint)
    is_void(drifts, endpoint)
    is_refused(drifts, endpoint)
    endpoint.close()
    is_recorded(drifts)
    of_the_engine(drifts)
    print("what stays raises no alarm, what moves does")


if __name__ == "__main__":
    main()
