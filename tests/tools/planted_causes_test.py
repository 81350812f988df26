#!/usr/bin/env python3
"""Causes planted in running servers and programs, and the cause that `reenact explain` names: other weights behind one
name, another numerics profile, the answer of a tool, a prompt, two that are only wrong together, and nothing at all. Prints the
table of what was planted and what was named.

usage: planted_causes_test.py --reenact FILE --service FILE --demo-model DIR --scratch DIR"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import time
import urllib.request

import explain_test
import loopback_provider  # explain_test says where it is.

DAMAGED = "It arrived damaged. Please refund it."
# A program of its own: what it says on standard error is not part of an explanation.
CLIENT = """
import json, os, sys, urllib.request
print("the program speaks", file=sys.stderr)
BASE = os.environ["OPENAI_BASE_URL"]
with urllib.request.urlopen(BASE.split("/openai")[0] + "/orders/A-1046") as answer:
    order = answer.read().decode()
with urllib.request.urlopen(BASE.split("/openai")[0] + "/depot/hours") as answer:
    answer.read()  # Asked, and never told to the model.
body = {"model": "refund-1", "temperature": float(os.environ.get("TEMPERATURE", "0")),
        "max_tokens": int(os.environ.get("LIMIT", "24")), "logprobs": True, "top_logprobs": 2,
        "messages": [{"role": "system", "content": "You are the refund desk."},
                     {"role": "user", "content": os.environ["ASKED"] + " " + order}]}
request = urllib.request.Request(BASE + "/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
with urllib.request.urlopen(request) as answer:
    print(json.load(answer)["choices"][0]["message"]["content"])
"""


def coarse_copy(model, folder):
    """The same model with two bits of each mantissa: what a quantised deployment behind the same name is."""
    shutil.copytree(model, folder)
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    for at in range(begin, len(data), 2):  # Little-endian binary16: the low byte is mantissa alone.
        data[at] = 0
    path.write_bytes(data)
    return folder


LONG = "REENACT_LONG" in os.environ


class Depot(loopback_provider.Provider):
    """What nothing depends on."""

    def do_GET(self):
        self.reply({"open": self.server.hours})


class Dice(loopback_provider.Provider):
    """Gives one of two answers, whatever it is asked: the share of the second is the server's."""

    def do_POST(self):
        self.read_json()
        number = self.server.count()
        said, other = ("129", "109") if self.server.dice.random() < self.server.share else ("109", "129")
        top = [{"token": said, "logprob": -0.69}, {"token": other, "logprob": -0.70}]
        self.reply_chat(said, number=number, logprobs={"content": [dict(top[0], top_logprobs=top)]})


class Planted(explain_test.Explanations):
    def __init__(self, arguments):
        super().__init__(arguments)
        self.client.write_text(CLIENT)
        self.stock_url = self.serve("stock")
        self.coarse_url = self.serve_model(coarse_copy(self.model, self.scratch / "coarse"))
        self.table = collections.Counter()
        self.depot = loopback_provider.ProviderServer(Depot)
        self.depot.hours = 8
        self.depot.__enter__()

    def serve_model(self, model):
        port_file = self.scratch / f"{model.name}.port"
        self.servers.append(subprocess.Popen(
            [str(self.reenact), "engine", "serve", "--model", str(model), "--model-name", "refund-1", "--port-file",
             str(port_file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment))
        return f"http://127.0.0.1:{explain_test.wait_for(port_file, self.servers[-1])}/v1"

    def record(self, url, total=12000, asked="Order A-1046:", hours=8, **settings):
        self.orders.total, self.depot.hours = total, hours
        self.run("record", "--route", f"orders={self.orders_url()}/orders", "--route", f"depot={self.depot.url}/depot", "--",
                 sys.executable, self.client, OPENAI_BASE_URL=url, ASKED=asked, **settings)
        return self.json("list")["runs"][-1]["id"]

    def record_refund(self, url, order, message, prompt=None):
        """One customer of the demo's service, on 2 March 2026."""
        port_file = self.scratch / "service.port"
        port_file.unlink(missing_ok=True)
        day = datetime.datetime(2026, 3, 2, 10, tzinfo=datetime.timezone.utc)
        hours = int((day - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 3600)
        words = [self.service, "--port-file", port_file, "--store", self.environment["REENACT_STORE"], "--ledger",
                 self.scratch / "ledger.jsonl", "--provider", url, "--clock-offset-hours", hours]
        if prompt:
            words += ["--prompt", prompt, "--prompt-version", prompt.stem]
        service = subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL, env=self.environment)
        try:
            body = json.dumps({"order_id": order, "message": message}).encode()
            request = urllib.request.Request(f"http://127.0.0.1:{explain_test.wait_for(port_file, service)}/refund", body,
                                             {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.headers["x-reenact-run"]
        finally:
            service.terminate()
            service.wait(20)

    def differ(self, run, against):
        return self.verdict_of_records(run, against) != "no_difference"

    def named(self, run, against, *more):
        """What explain says: the kinds of the causes, or its verdict; with nothing of the program on standard error."""
        head, command = [*more], []
        if "--" in head:
            head, command = head[:head.index("--")], head[head.index("--"):]
        words = ["explain", run, "--against", against, *head, "--json", *command]
        done = subprocess.run([str(self.reenact), *map(str, words)], text=True, capture_output=True, cwd=self.scratch,
                              env=self.environment, timeout=200)
        assert done.returncode in (1, 3), done.stdout + done.stderr
        assert "the program speaks" not in done.stderr, done.stderr
        told = json.loads(done.stdout)
        flips = [one["kind"] for one in told["differences"] if one["flips"]]
        return (" and ".join(flips) or told["verdict"]), told

    def expect(self, planted, cause, run, against, *more):
        named, told = self.named(run, against, *more)
        self.table[planted, named] += 1
        assert named == cause, f"{planted}: {named}, not {cause}\n{json.dumps(told, indent=1)}"
        return told


def other_weights(planted):
    """The name is the same, the weights are not: only the servers differ."""
    found = 0
    for asked in ("Order A-1046:", "Order A-1042:", "Refund please:", "Where is it?", "Hello!"):
        run, against = planted.record(planted.coarse_url, asked=asked), planted.record(planted.url, asked=asked)
        if found == 3 or not planted.differ(run, against):
            continue
        told = planted.expect("other weights", "weights or precision", run, against, "--target", planted.coarse_url,
                              "--reference-target", planted.url)
        assert told["unchanged"]["incident"] == 12 and told["reference_again"]["reference"] == 12, told
        found += 1
    assert found == 3, f"only {found} prompts told the weights apart"


def other_profile(planted):
    """One model, computed by profile n1 and by stock: each steady alone, and they do not agree."""
    found = 0
    for order, message in (("A-1046", DAMAGED), ("A-1084", "It arrived damaged. I want my money back.")):
        run, against = (planted.record_refund(url, order, message) for url in (planted.url, planted.stock_url))
        if not planted.differ(run, against):
            continue
        planted.expect("other profile", "weights or precision", run, against, "--target", planted.url, "--reference-target",
                       planted.stock_url, "--", planted.service, "--ledger", planted.scratch / "replayed.jsonl")
        found += 1
    assert found, "no refund told the profiles apart"
    refused = subprocess.run([str(planted.reenact), "explain", "last", "--against", "last", "--reference-target", planted.url],
                             capture_output=True, text=True, env=planted.environment)
    assert refused.returncode == 2 and "--reference-target needs --target" in refused.stderr, refused


def tool_answer(planted):
    few = planted.record(planted.url, 12000)
    for total in (129900, 6450, 30):
        many = planted.record(planted.url, total)
        if planted.differ(many, few):
            planted.expect("tool answer", "tool answer", many, few, "--target", planted.url)
    assert planted.table["tool answer", "tool answer"] >= 2, planted.table


def prompt(planted):
    well = planted.record_refund(planted.url, "A-1043", DAMAGED)
    for name, text in (("v15", "Today is {{today}}.\nSay goodbye.\n"), ("v16", "Say goodbye.\n"), ("v17", "{{policies}}\n"),
                       ("v18", "Goodbye.\n")):
        changed = planted.scratch / f"{name}.txt"
        changed.write_text(text)
        other = planted.record_refund(planted.url, "A-1043", DAMAGED, changed)
        told = json.loads(planted.run("explain", other, "--against", well, "--json", code=3))
        # Where the prompt changes no decision, what is left is the id of the refund, which is drawn: no incident of ours.
        if not told["incident_action"].startswith("answers Done"):
            planted.expect("prompt", "component", other, well, "--target", planted.url, "--", planted.service, "--ledger",
                           planted.scratch / "replayed.jsonl")
    assert planted.table["prompt", "component"] >= 1, planted.table


def two_causes(planted):
    """Wrong is what the model says of this total, said to the end: it takes both the tool's answer and the room to say it.
    Either one put right repairs it, so that only together they make it."""
    for total, short in ((129900, "6"), (6450, "8"), (30, "5"), (777700, "7"))[:4 if LONG else 2]:
        wrong, right = planted.record(planted.url, total), planted.record(planted.url, LIMIT=short)
        told = json.loads(planted.run("explain", wrong, "--against", right, "--json", code=3))
        if told["incident_action"] == json.loads(planted.run(
                "explain", planted.record(planted.url), "--against", right, "--json", code=3))["incident_action"]:
            continue  # The model says the same of both totals: then there is one cause.
        judge = planted.scratch / "said"
        judge.write_text(told["incident_action"] + "\n")
        told = planted.expect("two causes", "tool answer and request setting", wrong, right, "--target", planted.url,
                              "--wrong", f"cmp -s - {judge}")
        assert told["verdict"] == "causes" and not told["each_is_enough"], json.dumps(told, indent=1)
        assert [one["taken_out"]["incident"] for one in told["differences"] if one["flips"]] == [0, 0], told["differences"]
    assert planted.table["two causes", "tool answer and request setting"] >= 2, planted.table


def accuses_nobody(planted, run, against, *more):
    """That the answer is drawn, or that it cannot be told: either is right, and a cause is wrong."""
    named, told = planted.named(run, against, *more)
    planted.table["nothing", named] += 1
    assert named in ("near_tie", "sampling", "inconclusive") and not told["causes"], json.dumps(told, indent=1)


def nulls(planted):
    """Nothing is planted: the answer is drawn, while what nothing depends on changed. Nobody is accused."""
    found = 0
    for share in (0.5, 0.3, 0.7)[:3 if LONG else 2]:
        with loopback_provider.ProviderServer(Dice) as server:
            server.share, server.dice = share, random.Random(int(share * 10))
            first = planted.record(server.url + "/v1", asked="Hello")
            differing = 0
            for hours in range(9, 30):
                run = planted.record(server.url + "/v1", hours=hours, asked="Hello")
                if planted.differ(run, first):
                    accuses_nobody(planted, run, first, "--target", server.url + "/v1")
                    differing += 1
                if differing == 2:
                    break
            found += differing
    for hours in (9, 10)[:2 if LONG else 1]:
        runs = [planted.record(planted.url, hours=at, TEMPERATURE="1.5") for at in (8, hours)]
        if planted.differ(*runs):
            accuses_nobody(planted, *runs, "--target", planted.url)
    assert found >= (5 if LONG else 3) and planted.table["nothing", "near_tie"] >= 1, planted.table


def main():
    parser = argparse.ArgumentParser()
    for name in ("--reenact", "--service", "--demo-model", "--scratch"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    planted = Planted(parser.parse_args())
    try:
        for plant in (other_weights, other_profile, tool_answer, prompt, two_causes, nulls):
            begin = time.monotonic()
            plant(planted)
            print(f"{plant.__name__}: ok, {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        for server in planted.servers:
            server.terminate()
            server.wait(20)
        for (what, named), count in sorted(planted.table.items()):
            print(f"  planted {what:14} named {named:32} {count}")


if __name__ == "__main__":
    main()
