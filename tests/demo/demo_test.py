#!/usr/bin/env python3
"""The demo's incident, recorded once and replayed many times: two days later by the service's clock,
with the schedule stirred and other requests on the service's socket. Each replay must reach R2 with
nothing live. Then what must not pass: a changed prompt, and a program that goes past the SDK.

usage: demo_test.py --build DIR --scratch DIR [--replays N]"""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import loopback_provider  # noqa: E402

MODEL = pathlib.Path(__file__).resolve().parents[2] / "tools/demo_model/refund-1"
# What a customer of run_demo says; the model pays 1,090.00 for A-1046, which cost 1,299.00.
MESSAGE = "It arrived damaged. Please refund it."


def hours_to_march_2026():
    """From now to the day that the demo plays on; the model's prompt holds the date."""
    day = datetime.datetime(2026, 3, 2, 10, tzinfo=datetime.timezone.utc)
    return int((day - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 3600)


def wait_for(path):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.01)
    sys.exit(f"{path} did not appear")


def outcome(text):
    """The report of the one replay that `reenact replay --json` printed."""
    return json.loads(text)["outcomes"][0]["replay"]


def post(port, order, message, timeout=30):
    body = json.dumps({"order_id": order, "message": message}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/refund", data=body,
                                     headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.headers.get("x-reenact-run"), json.loads(answer.read())


class Demo:
    def __init__(self, build, scratch):
        self.scratch = scratch
        self.store = scratch / "store"
        self.ledger = scratch / "refunds.jsonl"
        self.reenact = build / "tools/reenact/reenact"
        self.service = build / "tools/demo/refund_service"
        self.leaky = build / "tests/demo/leaky_client"

    def record(self):
        """Six refunds at once. Returns the runs as (id, answer)."""
        provider_port, service_port = self.scratch / "provider.port", self.scratch / "service.port"
        servers = [subprocess.Popen([self.reenact, "engine", "serve", "--model", MODEL, "--port-file", provider_port],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
        try:
            servers.append(subprocess.Popen(
                [self.service, "--port-file", service_port, "--store", self.store, "--ledger", self.ledger,
                 "--provider", f"http://127.0.0.1:{wait_for(provider_port)}/v1",
                 "--clock-offset-hours", str(hours_to_march_2026())], stdout=subprocess.DEVNULL))
            port = wait_for(service_port)
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                orders = ["A-1042", "A-1042", "A-1043", "A-1044", "A-1045", "A-1046"]
                asked = [pool.submit(post, port, order, MESSAGE) for order in orders]
                return [one.result() for one in asked]
        finally:
            for server in reversed(servers):
                server.terminate()
                server.wait(20)

    def replay(self, run, *service_arguments, options=()):
        done = subprocess.run([self.reenact, "--store", self.store, "replay", run, "--json", *options, "--",
                               self.service, "--ledger", self.ledger, *service_arguments],
                              capture_output=True, text=True, timeout=60)
        try:
            return done.returncode, outcome(done.stdout), done.stderr
        except json.JSONDecodeError:
            sys.exit(f"replay printed no JSON (exit {done.returncode}): {done.stdout}{done.stderr}")


def disturb(port_file, stop):
    """Other requests on the service's socket while it replays."""
    while not stop.is_set():
        if port_file.exists() and port_file.read_text().strip():
            try:
                post(int(port_file.read_text()), "A-1043", "somebody else", timeout=2)
            except (OSError, urllib.error.URLError, ValueError):
                pass
        stop.wait(0.005)


def replay_many(demo, run, count):
    fingerprints = set()
    refused_runs = 0
    for i in range(count):
        port_file = demo.scratch / "replay.port"
        port_file.unlink(missing_ok=True)
        stop = threading.Event()
        others = threading.Thread(target=disturb, args=(port_file, stop))
        others.start()
        code, report, errors = demo.replay(run, "--clock-offset-hours", str(hours_to_march_2026() + 48), "--jitter-seed", str(i + 1),
                                           "--port-file", port_file)
        stop.set()
        others.join()
        # Runs that others start are refused and named; they are not the incident's divergences.
        if code != 0 or report["level"] != "R2" or report["network"]["refused"] != 0:
            sys.exit(f"replay {i}: exit {code}: {json.dumps(report, indent=1)}\n{errors}")
        fingerprints.add(report["fingerprint"])
        refused_runs += report["refused_runs"]
    if len(fingerprints) != 1:
        sys.exit(f"{count} replays of one incident have {len(fingerprints)} fingerprints")
    if refused_runs == 0:
        sys.exit("no other request reached the service during any replay: the disturbance is missing")
    return refused_runs


def changed_prompt_is_named(demo, run):
    prompt = demo.scratch / "prompt.txt"
    prompt.write_text("You are the refund desk of a small shop. Today is {{today}}!\n"
                      "Look the order up before you decide. Refund what the policies allow, never more.\n"
                      "Policies: {{policies}}\n")
    code, report, _ = demo.replay(run, "--prompt", prompt)
    text = json.dumps(report)
    if code != 1 or "messages[0].content" not in text:
        sys.exit(f"a changed byte of the prompt was not named (exit {code}): {json.dumps(report, indent=1)}")


def overridden_prompt_reaches_the_model(demo, run):
    prompt = "component:refund=You are the refund desk. Today is {{today}}. Be brief. Policies: {{policies}}"
    code, report, _ = demo.replay(run, options=("--override", prompt))
    first = report["divergences"][0]
    if code != 1 or "messages[0].content" not in json.dumps(first) or "Be brief." not in json.dumps(first):
        sys.exit(f"an overridden prompt did not reach the model request (exit {code}): {json.dumps(report, indent=1)}")


def leak_is_counted(demo):
    run = subprocess.run([demo.leaky, demo.store], capture_output=True, text=True, check=True).stdout.strip()
    done = subprocess.run([demo.reenact, "--store", demo.store, "replay", run, "--json", "--", demo.leaky],
                          capture_output=True, text=True, timeout=60)
    report = outcome(done.stdout)
    if not report["network"]["guarded"]:
        print(f"skipped: the kernel does not allow the network guard: {report['network']}")
        return
    if done.returncode != 1 or report["network"]["refused"] != 1 or "connected" in done.stderr:
        sys.exit(f"an outbound connection was not refused and counted once: {done.stdout}{done.stderr}")


class Impatient(loopback_provider.Provider):
    """A model that pays at once, and more than anybody ever paid."""

    def do_POST(self):
        self.read_json()
        call = {"id": "c1", "type": "function", "function": {"name": "issue_refund", "arguments": '{"order_id":"A-1046","amount_cents":1}'}}
        self.reply_chat({"role": "assistant", "content": None, "tool_calls": [call]}, number=self.server.count())


def left_free(demo, run):
    """The model goes on from what it answers: to the recorded refund; and a model that pays another one pays nobody."""
    def rerun(*words, code):
        done = subprocess.run([demo.reenact, "--store", demo.store, "rerun", run, "--free", *map(str, words), "--json"],
                              capture_output=True, text=True, timeout=60)
        if done.returncode != code:
            sys.exit(f"rerun --free {words}: exit {done.returncode}, not {code}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)
    local = ("--target", "local", "--model", MODEL)
    again = rerun(*local, "-n", 2, code=0)
    assert again["same"] == 2 and [one["ended"] for one in again["runs"]] == ["finished"] * 2, again
    assert len(again["conversation"]) == 3 and all(call["agreed"] == 2 for call in again["calls"]), again
    assert '"amount_cents":109000' in again["recorded_actions"][1], again["recorded_actions"]
    assert again["runs"][0]["tools_from_tape"] == 2 and again["cost"]["requests"] == 6, again
    few = rerun(*local, "--max-steps", 1, code=3)
    assert few["runs"][0]["ended"] == "steps_spent" and few["undecided"] == 1, few
    spent = rerun(*local, "--max-requests", 2, code=3)
    assert spent["runs"][0]["ended"] == "budget_spent" and spent["budget_spent"], spent
    with loopback_provider.ProviderServer(Impatient) as provider:
        other = rerun("--target", provider.url + "/v1", "-n", 3, code=1)
    assert other["other"] == 3 and {one["ended"] for one in other["runs"]} == {"tool_not_recorded"}, other
    assert other["runs"][0]["left"]["by"] == "action" and other["cost"]["requests"] == 3, other
    gone = rerun("--target", provider.url + "/v1", code=3)
    assert gone["runs"][0]["ended"] == "unanswered", gone


def driven_from_outside(demo, run):
    """The same incident through the service's own HTTP entry."""
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code, report, errors = demo.replay(run, "--port", str(port),
                                       options=("--drive", f"http://127.0.0.1:{port}/refund"))
    if code != 0 or report["level"] != "R2":
        sys.exit(f"--drive: exit {code}: {json.dumps(report, indent=1)}\n{errors}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--replays", type=int, default=100)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    arguments.scratch.mkdir(parents=True)
    for name in ("REENACT_MODE", "REENACT_STORE", "REENACT_REPLAY_SOCKET"):
        os.environ.pop(name, None)
    demo = Demo(arguments.build, arguments.scratch)
    runs = demo.record()
    wrong = [run for run, answer in runs if '"amount_cents": 109000' in json.dumps(answer)]
    if not wrong:
        sys.exit(f"no refund went wrong: {runs}")
    paid = demo.ledger.read_text()
    began = time.monotonic()
    refused_runs = replay_many(demo, wrong[0], arguments.replays)
    took = time.monotonic() - began
    driven_from_outside(demo, wrong[0])
    left_free(demo, wrong[0])
    changed_prompt_is_named(demo, wrong[0])
    overridden_prompt_reaches_the_model(demo, wrong[0])
    if demo.ledger.read_text() != paid:
        sys.exit("a replay paid money")
    leak_is_counted(demo)
    print(f"{arguments.replays} replays at R2 in {took:.1f} s, {refused_runs} other runs refused, ledger untouched")


if __name__ == "__main__":
    main()
