#!/usr/bin/env python3
"""`reenact rerun` and `compare` across fingerprint epochs: refused before anything is asked where the store knows, after
it where the answers tell, and told by fingerprint where some answers are of the record's epoch.

usage: epochs_test.py --reenact FILE --scratch DIR"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

from chat_provider import ChatProvider

CLIENT = """
import json, os, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": "Refund A-1046"}]}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
                                 {"content-type": "application/json"})
urllib.request.urlopen(request).read()
"""


class Epochs:
    def __init__(self, arguments):
        self.reenact, self.scratch = arguments.reenact, arguments.scratch
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.fingerprints = ["fp_a"]
        self.provider = ChatProvider(self.say)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8",
                            "REENACT_STORE": str(self.scratch / "store"), "OPENAI_BASE_URL": self.provider.url}
        (self.scratch / "client.py").write_text(CLIENT)

    def say(self, _, index):
        fingerprint = self.fingerprints[index % len(self.fingerprints)]
        return {"text": "paid 120" if fingerprint == "fp_a" else "paid 1200", "fingerprint": fingerprint}

    def run(self, *words, code=0):
        done = subprocess.run([str(self.reenact), *map(str, words)], text=True, capture_output=True, cwd=self.scratch,
                              env=self.environment, timeout=100)
        assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
        return done

    def move_back(self, run, days):
        """Another store, in which the run was recorded so many days ago."""
        self.run("export", run, "--format", "jsonl", "--out", "run.jsonl")
        path = self.scratch / "run.jsonl"
        path.write_text(re.sub(r'"wall_ns":"(\d+)"', lambda found: '"wall_ns":"%d"' % (int(found[1]) - days * 86_400 * 10**9),
                               path.read_text()))
        self.environment["REENACT_STORE"] = str(self.scratch / "old_store")
        self.run("import", "run.jsonl")

    def record(self):
        said = self.run("record", "--", sys.executable, "client.py").stderr
        return re.search(r": run (\w{26}) in ", said)[1]


def reruns(epochs):
    run = epochs.record()
    ask = ("rerun", run, "--target", epochs.provider.url, "-n", "4")
    same = json.loads(epochs.run(*ask, "--json").stdout)
    assert [(one["fingerprint"], one["agreed"], one["known"]) for one in same["strata"]] == [("fp_a", 4, True)], same
    # Some answers are of an epoch that nobody has seen: told apart.
    epochs.fingerprints = ["fp_a", "fp_b"]
    mixed = epochs.run(*ask, code=1).stdout
    assert re.search(r"fp_a +2 of 2 as recorded\n", mixed), mixed
    assert re.search(r"fp_b +0 of 2 as recorded; new: another epoch", mixed), mixed
    # All of them are: refused, unless that is what is asked for. Another target is another on purpose.
    epochs.fingerprints = ["fp_b"]
    said = epochs.run(*ask, code=2).stderr
    assert "all of fingerprints that this endpoint never gave before (fp_b)" in said, said
    epochs.run(*ask, "--across-epochs", code=1)
    epochs.run(*ask, "--as", "other", code=1)
    # The store has seen the new epoch, on another day than the old one: nothing is asked.
    epochs.move_back(run, 3)
    epochs.run(*ask, code=2)
    epochs.record()
    before = len(epochs.provider.requests)
    said = epochs.run(*ask, code=2).stderr
    assert "is gone: novel fp_b at " in said and len(epochs.provider.requests) == before, said
    epochs.run(*ask, "--across-epochs", code=1)


def compares(epochs):
    """Two evals of one endpoint and model whose fingerprints have nothing in common."""
    (epochs.scratch / "cases.jsonl").write_text('{"id": "a", "prompt": "x", "regex": "120"}\n')
    ask = ("eval", "run", "cases.jsonl", "--target", epochs.provider.url, "--as", "m", "--no-record", "--out")
    epochs.run(*ask, "b.jsonl")
    epochs.fingerprints = ["fp_c"]
    epochs.run(*ask, "c.jsonl")
    said = epochs.run("compare", "b.jsonl", "c.jsonl", code=2).stderr
    assert "fingerprint" in said, said
    epochs.run("compare", "b.jsonl", "c.jsonl", "--force")


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    epochs = Epochs(parser.parse_args())
    reruns(epochs)
    compares(epochs)
    epochs.provider.close()
    print("nothing is compared across fingerprint epochs")


if __name__ == "__main__":
    main()
