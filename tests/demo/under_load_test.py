#!/usr/bin/env python3
"""The story of tools/demo/run_under_load, told in full and checked line by line: load turns an answer, alone the model
says something else, the envelope holds both, the explanation names the near-tie and the batch, and profile n1 says one
thing however often it is asked.

usage: under_load_test.py --source DIR --build DIR --scratch DIR [--answers N]"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time


def expect(pattern, text):
    found = re.search(pattern, text)
    if not found:
        sys.exit(f"not told: {pattern}\n{text}")
    return found


def resumes(arguments, wrong):
    """An envelope in two parts is the envelope as a whole, and computes nothing twice."""
    kept = arguments.scratch / "envelope.jsonl"
    words = [arguments.build / "tools/reenact/reenact", "envelope", wrong, "--step", "6", "--store", arguments.scratch / "store",
             "--model", arguments.source / "tools/demo_model/refund-1", "--json"]
    whole, part, rest, known = (
        json.loads(subprocess.run([*map(str, words), *more], capture_output=True, text=True, timeout=100).stdout)
        for more in ([], ["--resume", str(kept), "--max-runs", "50"], ["--resume", str(kept)], ["--resume", str(kept)]))
    assert part["runs"] == 50 and part["not_visited"] > 0, part
    assert rest["known_runs"] == 50 and rest["not_visited"] == 0 and rest["answers"] == whole["answers"], rest
    assert known["known_runs"] == known["runs"] == whole["runs"] and known["answers"] == whole["answers"], known
    kept.write_text(kept.read_text()[:-20])  # Cut off, as by a kill.
    again = subprocess.run([*map(str, words), "--resume", str(kept)], capture_output=True, text=True, timeout=100)
    assert json.loads(again.stdout)["known_runs"] == whole["runs"] - 1, again.stdout
    other = [word if word != "6" else "3" for word in map(str, words)]
    refused = subprocess.run([*other, "--resume", str(kept)], capture_output=True, text=True, timeout=100)
    assert refused.returncode == 2 and "another call" in refused.stderr, refused.stderr


def main():
    parser = argparse.ArgumentParser()
    for name in ("source", "build", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--answers", type=int, default=1000)
    arguments = parser.parse_args()
    began = time.monotonic()
    done = subprocess.run(["sh", str(arguments.source / "tools/demo/run_under_load"), str(arguments.build), str(arguments.scratch),
                           str(arguments.answers)], capture_output=True, text=True, timeout=280)
    text = done.stdout
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}\n{text}\n{done.stderr}")
    told = dict(zip(("alone", "asked", "envelope", "why", "n1"), re.split(r"^-- (?:The model is|Which|Why|And in).*$", text,
                                                                        flags=re.MULTILINE)))
    right, wrong = expect(r"refunded (\d+) cents[^$]*?refunded (\d+) cents", told["alone"]).groups()
    assert right != wrong, text
    expect(r"answered differently in 1 of 1 answer", told["asked"])
    expect(r"(?s)Load reaches [2-9]\d* answers.*the recorded one among them", told["envelope"])
    expect(rf'(?s)amount_cents":{right}\b.*', told["envelope"])
    expect(rf'(?s)amount_cents":{wrong}\b.*', told["envelope"])
    expect(r"its own schedule gives it exactly", told["envelope"])
    why = expect(r"A near-tie at token (\d+) flipped with the batch size: alone the answer is the reference's, in a batch of "
                 r"\d+[^.]* the incident's, which its recorded schedule gives again\.", told["why"])
    expect(rf"they part at token {why.group(1)}\b", told["asked"])
    expect(r"12 runs: 0 as the incident, 12 as the reference", told["why"])
    # Whether it is the recorded one or not: it is one.
    expect(rf"(?:0|{arguments.answers}) of {arguments.answers:,} answers agree, 1 different", told["n1"])
    resumes(arguments, (arguments.scratch / "incident_run").read_text().strip())
    print(f"{why.group(0)} {arguments.answers} answers of n1 are one; told in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
