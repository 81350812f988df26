#!/usr/bin/env python3
"""`reenact eval run` against a provider on loopback: every grader, an eval that is interrupted and goes on, what it
keeps in the store, and what it refuses.

usage: eval_test.py --reenact FILE --demo-model DIR --scratch DIR"""
import argparse
import json
import pathlib
import shutil
import subprocess

from chat_provider import ChatProvider, token

SCHEMA = {"type": "object", "required": ["total"], "properties": {"total": {"type": "integer", "minimum": 1}}}
CASES = [
    {"id": "exact", "prompt": "say 120", "exact": "120"},
    {"id": "regex", "system": "You refund.", "prompt": "say pay 120 EUR", "regex": r"\b120\b"},
    {"id": "schema", "prompt": "say {\"total\": 120}", "json_schema": SCHEMA},
    {"id": "wrong-schema", "prompt": "say {\"total\": 0}", "json_schema": SCHEMA},
    {"id": "command", "prompt": "say 60 + 60", "command": "read line; echo \"$REENACT_CASE read $line\"; test \"$line\" = '60 + 60'"},
    {"id": "flaky", "prompt": "say flaky", "exact": "right"},
    {"id": "judge", "prompt": "say thank you", "judge": "Is it polite?"},
]
JUDGE = "Judge an answer by one criterion."


class Provider(ChatProvider):
    """Says what a prompt tells it to. Every second answer to "flaky" is right; the judge is not sure of itself."""

    def __init__(self):
        self.flaky = self.judged = 0
        super().__init__(self.say)

    def say(self, request, _):
        prompt = request["messages"][-1]["content"]
        if prompt.startswith(JUDGE):
            self.judged += 1
            return {"text": "It is polite. " + ("PASS", "0.8", "PASS", "0.9")[self.judged % 4], "fingerprint": "fp_judge"}
        if prompt == "say flaky":
            self.flaky += 1
            text = "right" if self.flaky % 2 else "wrong"
            return {"text": text, "tokens": [token(text, -0.68, [(text, -0.68), ("other", -0.70)])], "fingerprint": "fp_a"}
        return {"text": prompt[len("say "):], "fingerprint": "fp_a"}


class Evals:
    def __init__(self, arguments):
        self.reenact, self.model, self.scratch = arguments.reenact, arguments.demo_model, arguments.scratch
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.write("cases.jsonl", CASES)

    def write(self, name, cases):
        (self.scratch / name).write_text("".join(json.dumps(case) + "\n" for case in cases))

    def run(self, *words, code=0):
        done = subprocess.run([str(self.reenact), *map(str, words)], text=True, capture_output=True, cwd=self.scratch,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8",
                                   "REENACT_STORE": str(self.scratch / "store")}, timeout=100)
        assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words, code=0):
        return json.loads(self.run(*words, "--json", code=code).stdout)


def grades(evals, url):
    """Each grader, the flaky case and the near-tie told apart, the judge's own noise beside them."""
    ask = ("eval", "run", "cases.jsonl", "--target", url, "--as", "m-1")
    report = evals.json(*ask, "-n", "6", "--out", "all.jsonl", "--junit", "all.xml", "--fail-under", "0.9", code=1)
    told = json.dumps(report, indent=1)
    assert report["mode"] == "B" and report["repeats"] == 6 and report["graded"] == 42, told
    passes = {case["case"]: case["passes"] for case in report["cases"]}
    assert passes == {"exact": 6, "regex": 6, "schema": 6, "wrong-schema": 0, "command": 6, "flaky": 3, "judge": 0}, passes
    assert [case["case"] for case in report["cases"] if case["flaky"]] == ["flaky"], told
    assert [case["case"] for case in report["cases"] if case["near_tie"]][:1] == ["flaky"], told
    assert report["judge_deviation"] > 0.01, report["judge_deviation"]
    assert report["cost"]["requests"] == 42 + 18, report["cost"]
    junit = (evals.scratch / "all.xml").read_text()
    assert "flaky: 3 of 6 answers pass" in junit and 'tests="7" failures="3"' in junit, junit
    samples = [json.loads(line) for line in (evals.scratch / "all.jsonl").read_text().splitlines()[1:]]
    judged = next(sample for sample in samples if sample["case"] == "judge")
    assert len(judged["judge_scores"]) == 3, judged
    command = next(sample for sample in samples if sample["case"] == "command")
    assert command["why"] == "command read 60 + 60" and command["fingerprint"] == "fp_a", command
    run = evals.json("show", report["run"])["run"]
    components = {part["kind"]: part["name"] for part in run["components"]}
    assert components == {"eval_data": "cases", "grader": "cases", "judge_prompt": "cases"}, components
    assert run["service"] == "eval cases" and len(run["events"]) == 60, run
    # Its answers are the report's and compare's: no difference from themselves.
    again = evals.json("eval", "report", "all.jsonl")
    assert again["cases"] == report["cases"], again
    evals.run("compare", "all.jsonl", "all.jsonl")


def goes_on(evals, provider):
    """A spent budget is no verdict; the same command asks for what is missing, and for no more."""
    evals.write("two.jsonl", CASES[:2])
    ask = ("eval", "run", "two.jsonl", "--target", provider.url, "--as", "m-1", "--at-once", "2", "--out", "two.out")
    begun = evals.run(*ask, "--max-requests", "7", code=3)
    assert "the budget is spent: 3 of 10 answers are missing" in begun.stderr, begun.stderr
    # A power cut in the middle of a line.
    with open(evals.scratch / "two.out", "a") as out:
        out.write('{"case":"exact","rep')
    before = len(provider.requests)
    report = evals.json(*ask)
    assert report["graded"] == 10 and len(provider.requests) - before == 3, (report, len(provider.requests) - before)
    evals.run(*ask)
    assert len(provider.requests) - before == 3, "what is there was asked again"
    other = evals.run(*ask, "-n", "6", code=2)
    assert "holds something else than the beginning of this eval" in other.stderr, other.stderr


def is_no_grade(evals, url):
    """What could not be graded is counted apart, never as a fail."""
    evals.write("broken.jsonl", [{"id": "a", "prompt": "say x", "command": "exit 7"},
                                 {"id": "b", "prompt": "say x", "command": "echo slept; sleep 30"},
                                 {"id": "c", "prompt": "say x", "exact": "x"}])
    report = evals.json("eval", "run", "broken.jsonl", "--target", url, "--as", "m-1", "--command-timeout", "1",
                        "--at-once", "16", "--out", "broken.out", "--no-record", code=3)
    assert report["missing"] == {"grader_failed": 10} and report["graded"] == 5, report["missing"]
    assert report["pass_rate"] == 1 and report["run"] is None, report
    why = [json.loads(line).get("why") for line in (evals.scratch / "broken.out").read_text().splitlines()[1:]]
    assert "the command ended with 7: " in why and "the command took longer than 1 s" in why, why


def is_refused(evals, url):
    ask = ("eval", "run", "cases.jsonl", "--target", url, "--out", "no.out")
    assert "mode B needs at least 5" in evals.run(*ask, "--as", "m", "-n", "4", code=2).stderr
    assert "mode A needs a target whose answers are" in evals.run(*ask, "--as", "m", "--mode", "A", code=2).stderr
    assert "which model should be asked?" in evals.run(*ask, code=2).stderr
    evals.write("twice.jsonl", [CASES[0], CASES[0]])
    said = evals.run("eval", "run", "twice.jsonl", "--target", url, "--as", "m", "--out", "no.out", code=2).stderr
    assert 'twice.jsonl: line 2: "exact" is there twice' in said, said
    assert not (evals.scratch / "no.out").exists()


def proves(evals):
    """Mode A: one answer of the local engine is enough, and no verdict mixes it with a distribution."""
    evals.write("local.jsonl", [{"id": "a", "prompt": "Order A-1046", "regex": "."}])
    local = ("eval", "run", "local.jsonl", "--target", "local", "--model", evals.model, "--answer-tokens", "8")
    report = evals.json(*local, "--mode", "A", "--out", "a.out")
    assert report["mode"] == "A" and report["graded"] == 1 and report["pass_rate"] == 1, report
    drawn = evals.json(*local, "--temperature", "1", "--out", "b.out")
    answers = {json.loads(line)["answer"] for line in (evals.scratch / "b.out").read_text().splitlines()[1:]}
    assert drawn["mode"] == "B" and len(answers) > 1, answers
    assert "no verdict covers both" in evals.run("compare", "a.out", "b.out", code=2).stderr
    findings = evals.json("lint")["findings"]
    assert not [found for found in findings if found["rule"] == "bitwise_on_hosted"], findings


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "demo-model", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    evals = Evals(parser.parse_args())
    provider = Provider()
    grades(evals, provider.url)
    goes_on(evals, provider)
    is_no_grade(evals, provider.url)
    is_refused(evals, provider.url)
    proves(evals)
    provider.close()
    print("cases are asked, graded, kept, and asked for again where they are missing")


if __name__ == "__main__":
    main()
