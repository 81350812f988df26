#!/usr/bin/env python3
"""Incidents of an engine that we did not write: node-llama-cpp, from npm, answers one greedy request otherwise among
others than alone. What `explain` and `envelope` say of them, and what they may not say. Exit status 77: it is not here.

usage: peer_incident_test.py --reenact FILE --peer DIR --make-model FILE --scratch DIR"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
INCIDENTS = 2
CLIENT = """
import json, os, urllib.request
for number in range(8):
    body = {"model": "random", "prompt": "%s %d:" % (os.environ["ASKED"], number), "max_tokens": 64, "temperature": 0,
            "logprobs": 2}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/completions", json.dumps(body).encode(),
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        print(json.load(answer)["choices"][0]["text"])
"""


class Peer:
    """The server, and a load on it."""

    def __init__(self, folder, model):
        self.process = subprocess.Popen(["node", str(HERE / "server.mjs"), str(model)], cwd=folder, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}/v1"

    def ask(self, prompt):
        body = json.dumps({"model": "random", "prompt": prompt, "max_tokens": 32}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + "/completions", body), timeout=60) as answer:
            return answer.read()

    def under_load(self, what, others=7):
        """Calls `what` while so many others are asked all the time."""
        stop = threading.Event()

        def keep_asking(number):
            while not stop.is_set():
                self.ask("Another one, of length " + "x" * number)
        with concurrent.futures.ThreadPoolExecutor(others) as pool:
            asked = [pool.submit(keep_asking, number) for number in range(others)]
            try:
                return what()
            finally:
                stop.set()
                for one in asked:
                    one.result()

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)


class Incidents:
    def __init__(self, options, model):
        self.reenact, self.scratch, self.model = options.reenact.resolve(), options.scratch, model
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8",
                            "REENACT_STORE": str(self.scratch / "store")}
        self.client = self.scratch / "client.py"
        self.client.write_text(CLIENT)
        self.peer = Peer(options.peer, model)

    def run(self, *words, codes=(0,), **more):
        done = subprocess.run([str(self.reenact), *map(str, words)], text=True, capture_output=True, cwd=self.scratch,
                              env=dict(self.environment, **more), timeout=200)
        assert done.returncode in codes, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def record(self, asked):
        self.run("record", "--", sys.executable, self.client, OPENAI_BASE_URL=self.peer.url, ASKED=asked)
        return json.loads(self.run("list", "--json"))["runs"][-1]["id"]

    def explain(self, run, against, *more):
        return json.loads(self.run("explain", run, "--against", against, "--json", *more, codes=(0, 1, 3)))

    def find(self):
        """Runs under load whose answer is not the one that was given alone, each with that one."""
        pairs = []
        for number in range(6):
            asked = f"Story {number}"
            alone = self.record(asked)
            loaded = self.peer.under_load(lambda: self.record(asked))
            if self.explain(loaded, alone)["verdict"] != "no_difference":
                pairs.append((loaded, alone))
            if len(pairs) == INCIDENTS:
                break
        return pairs


def accuses_nobody(told):
    """One request, one server: whatever is said, no difference of the runs is a cause."""
    assert told["verdict"] in ("inconclusive", "near_tie", "load") and told["causes"] == [], json.dumps(told, indent=1)
    assert told["record"]["same_request"], told["record"]
    return told


def explained(incidents, run, alone):
    told = accuses_nobody(incidents.explain(run, alone))
    event = told["incident_event"]
    assert told["record"]["token_index"] is not None and told["record"]["margin_nats"] is not None, told["record"]
    asked = accuses_nobody(incidents.explain(run, alone, "--target", incidents.peer.url))
    assert asked["unchanged"]["runs"] == 12 and asked["unchanged"]["incident"] == 0, asked["unchanged"]
    assert "consistent with load" in asked["sentence"], asked["sentence"]
    loaded = accuses_nobody(incidents.peer.under_load(
        lambda: incidents.explain(run, alone, "--target", incidents.peer.url)))
    return told["record"], event, loaded["verdict"]


def enveloped(incidents, run, event):
    """Our own kernels on the same weights: plausible, or not reached; never a schedule of the peer's."""
    words = ("envelope", run, "--step", event, "--model", incidents.model, "--max-runs", "40", "--json")
    told = json.loads(incidents.run(*words, codes=(0, 1, 3)))
    assert not told["has_schedule"] and not told["schedule_reproduces"], told
    reached = told["recorded_reached"]
    assert reached == any(answer["recorded"] for answer in told["answers"]), told
    assert reached or "was not reached" in told["sentence"], told["sentence"]
    return "reached" if reached else "not reached"


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "peer", "make-model", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if not os.environ.get("REENACT_LONG"):
        print("skipped: it takes a minute; tools/check --long runs it")
        return SKIPPED
    if not (options.peer / "installed").exists():
        print("skipped: run tools/bench/peer/install, for node-llama-cpp from npm")
        return SKIPPED
    shutil.rmtree(options.scratch, ignore_errors=True)
    options.scratch.mkdir(parents=True)
    model = options.scratch / "random.gguf"
    made = subprocess.run([str(options.make_model), "tiny", "bf16", str(model)], capture_output=True, text=True)
    if "numpy" in made.stderr:
        print("skipped: the model is written with Debian's python3-numpy")
        return SKIPPED
    assert made.returncode == 0, made.stderr
    incidents = Incidents(options, model)
    try:
        pairs = incidents.find()
        assert pairs, "no load turned an answer: nothing was tested"
        for run, alone in pairs:
            record, event, verdict = explained(incidents, run, alone)
            print(f"{run} #{event}: token {record['token_index']}, {record['margin_nats']:.3g} nats apart; alone consistent with load, "
                  f"under load {verdict}; our engine: {enveloped(incidents, run, event)}", flush=True)
    finally:
        incidents.peer.close()
    print(f"{len(pairs)} incidents of node-llama-cpp, none laid to anybody")
    return 0


if __name__ == "__main__":
    sys.exit(main())
