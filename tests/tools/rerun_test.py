#!/usr/bin/env python3
"""`reenact rerun`, `diagnose` and `engine score --against` on the demo's model: a recorded conversation is asked
again in process and over HTTP, and comes back to the last bit; a server that gives two answers is told apart.

usage: rerun_test.py --reenact FILE --demo-model DIR --scratch DIR"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import loopback_provider  # noqa: E402

CLIENT = """
import json, os, urllib.request
for customer in ("It arrived damaged. Please refund it.", "Where is my parcel?"):
    body = {"model": "refund-1", "temperature": 0, "max_tokens": 24, "logprobs": True, "top_logprobs": 3, "stream": True,
            "messages": [{"role": "user", "content": "Order A-1046: " + customer}]}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        print(answer.read().decode()[-40:])
"""


class TwoAnswers(loopback_provider.Provider):
    """Says "pay 109" and "pay 129" in turn; the two are a near-tie."""

    def do_POST(self):
        self.read_json()
        number = self.server.count()
        said, other = ("109", "129") if number % 2 else ("129", "109")

        def token(text, logprob, top=()):
            return {"token": text, "logprob": logprob, "bytes": list(text.encode()), "top_logprobs": list(top)}
        tokens = [token("pay ", -0.01), token(said, -0.68, [token(said, -0.68), token(other, -0.70)])]
        self.reply_chat("pay " + said, number=number, logprobs={"content": tokens})


class Reruns:
    def __init__(self, arguments):
        self.reenact = arguments.reenact
        self.model = arguments.demo_model
        self.scratch = arguments.scratch
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8",
                            "REENACT_STORE": str(self.scratch / "store")}
        self.client = self.scratch / "client.py"
        self.client.write_text(CLIENT)

    def run(self, *words, code=0, **more):
        done = subprocess.run([str(self.reenact), *map(str, words)], text=True, capture_output=True, cwd=self.scratch,
                              env=dict(self.environment, **more), timeout=100)
        assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words, code=0, **more):
        return json.loads(self.run(*words, "--json", code=code, **more).stdout)

    def record(self, url):
        """Returns the run's id."""
        said = self.run("record", "--", sys.executable, self.client, OPENAI_BASE_URL=url).stderr
        return re.search(r": run (\w{26}) in ", said)[1]

    def serve(self):
        port_file = self.scratch / "port"
        server = subprocess.Popen([str(self.reenact), "engine", "serve", "--model", str(self.model), "--port-file",
                                   str(port_file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=self.environment)
        deadline = time.monotonic() + 30
        while not (port_file.exists() and port_file.read_text().strip()):
            assert server.poll() is None and time.monotonic() < deadline, "the model is not served"
            time.sleep(0.02)
        return server, f"http://127.0.0.1:{port_file.read_text().strip()}/v1"


def reproduces(reruns, run, url):
    """The recorded answers come back with the same bits, in process and over HTTP."""
    local = ("--target", "local", "--model", reruns.model)
    again = reruns.json("rerun", run, *local, "-n", "3", "--at-once", "3")
    told = json.dumps(again, indent=1)
    assert again["verdict"] == "reproduced" and again["level"] == "R4", told
    assert [call["agreed"] for call in again["calls"]] == [3, 3], told
    assert again["target"]["invariant"] and again["target"]["token_ids"] == "shown", told
    assert again["cost"]["requests"] == 6 and again["cost"]["completion_tokens"] > 0, told
    assert len(again["derived"]) == 3, told
    derived = reruns.json("show", again["derived"][0])
    assert derived["run"]["parent"] == run, derived["run"]
    over_http = reruns.json("rerun", run, "--target", url)
    assert over_http["verdict"] == "reproduced" and over_http["level"] == "R4", json.dumps(over_http, indent=1)
    text = reruns.run("rerun", run, *local, "--step", "0").stdout
    assert text.startswith("The model gave the recorded answers again, to the last bit"), text


def diverges(reruns, run, url):
    """Another prompt's answer is no reproduction (planted), and two answers part at their token."""
    spent = reruns.json("rerun", run, "--target", url, "-n", "4", "--max-requests", "3", code=3)
    assert spent["budget_spent"] and spent["cost"]["requests"] == 3, spent["cost"]
    with loopback_provider.ProviderServer(TwoAnswers) as server:
        tells_two_answers_apart(reruns, run, server.url + "/v1")


def tells_two_answers_apart(reruns, run, two):
    reruns.client.write_text(CLIENT.replace(', "Where is my parcel?"', ',').replace('"stream": True', '"stream": False'))
    recorded = reruns.record(two)
    again = reruns.json("rerun", recorded, "--target", two, "-n", "5", code=1)
    (call,) = again["calls"]
    assert call["answered"] == 5 and call["agreed"] == 2 and call["unique"] == 2, call
    parting = next(answer["parting"] for answer in call["answers"] if not answer["equal"])
    assert parting["token_index"] == 1 and parting["near_tie"], parting
    assert parting["recorded"]["text"] == "109" and parting["now"]["text"] == "129", parting
    assert abs(parting["new_margin"] - 0.02) < 1e-9, parting
    text = reruns.run("rerun", recorded, "--target", two, "-n", "2", code=1).stdout
    assert 'token 1 is "129" where "109" was recorded, 0.02 nats apart (a near-tie)' in text, text
    sick = reruns.json("diagnose", "--target", two, "--as", "m", "-n", "6", "--loads", "2", "--lengths", "8", code=1)
    assert sick["near_ties"] == sick["margins_known"] > 0 and not sick["load"]["depends"], json.dumps(sick, indent=1)
    reruns.json("diagnose", "--target", "http://127.0.0.1:1/v1", "--as", "m", "-n", "5", "--loads", "1", "--lengths", "8",
                "--max-requests", "2", code=3)


def diagnoses(reruns):
    """The engine is deterministic alone and under load, and says what that costs."""
    well = reruns.json("diagnose", "--target", "local", "--model", reruns.model, "-n", "5", "--loads", "4", "--lengths", "8,24")
    assert well["deterministic"] and well["enough"] and not well["provider_blind"], json.dumps(well, indent=1)
    assert well["tarr"] == 1 and well["load"]["loaded_unlike"] == 0, well
    assert well["price"]["n1_tokens_per_second"] > 0 and well["price"]["stock_tokens_per_second"] > 0, well["price"]
    few = reruns.json("diagnose", "--target", "local", "--model", reruns.model, "-n", "4", "--loads", "1", "--lengths", "8",
                      "--no-price", code=3)
    assert not few["enough"] and few["sentence"].startswith("No diagnosis"), few["sentence"]


def scores(reruns):
    """A trainer's logprobs: equal bits, a small shift, and a broken one."""
    made = reruns.json("engine", "generate", "--model", reruns.model, "--prompt", "Order A-1046", "--max-tokens", "12")
    tokens = [token["token"] for token in made["samples"][0]["tokens"]]
    logprobs = [token["logprob"] for token in made["samples"][0]["tokens"]]

    def against(shift, code):
        line = {"prompt_tokens": made["prompt_tokens"], "tokens": tokens, "logprobs": [number + shift for number in logprobs]}
        path = reruns.scratch / "trainer.jsonl"
        path.write_text(json.dumps(line) + "\n\n")
        return reruns.json("engine", "score", "--model", reruns.model, "--against", path, code=code)["mismatch"]
    same = against(0, 0)
    assert same["level"] == "bitwise" and same["bitwise_equal"] == same["tokens"] == len(tokens), same
    assert same["k1"] == same["k3"] == same["max_abs"] == 0, same
    shifted = against(-0.001, 0)
    assert shifted["level"] == "healthy" and abs(shifted["max_abs"] - 0.001) < 1e-6, shifted
    assert against(-0.5, 1)["level"] == "broken"
    wrong = reruns.scratch / "wrong.jsonl"
    wrong.write_text('{"prompt_tokens": [1], "tokens": [2, 3], "logprobs": [-1]}\n')
    done = reruns.run("engine", "score", "--model", reruns.model, "--against", wrong, code=2)
    assert "line 1 has lists of different lengths" in done.stderr, done.stderr


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "demo-model", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    reruns = Reruns(parser.parse_args())
    server, url = reruns.serve()
    try:
        run = reruns.record(url)
        reproduces(reruns, run, url)
        diverges(reruns, run, url)
    finally:
        server.terminate()
        server.wait(30)
    diagnoses(reruns)
    scores(reruns)
    print("reruns come back, part where they should, and are measured")


if __name__ == "__main__":
    main()
