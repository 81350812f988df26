#!/usr/bin/env python3
"""`reenact explain` and `envelope` on incidents with a planted cause, recorded from running programs: the demo's service
with another draw and another prompt, a client of `engine serve` with another order, seed and clock, and a server that
gives two answers to one request. Nothing is planted in a store.

usage: explain_test.py --reenact FILE --service FILE --demo-model DIR --scratch DIR"""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import loopback_provider  # noqa: E402

CLIENT = """
import json, os, time, urllib.request
BASE = os.environ["OPENAI_BASE_URL"]
with urllib.request.urlopen(BASE.split("/openai")[0] + "/orders/A-1046") as answer:
    order = answer.read().decode()
body = {"model": "refund-1", "temperature": float(os.environ["TEMPERATURE"]), "seed": int(os.environ["SEED"]), "max_tokens": 24,
        "logprobs": True, "top_logprobs": 2,
        "messages": [{"role": "system", "content": "Now is " + str(time.time_ns())[:3]},
                     {"role": "user", "content": "Order A-1046: " + order}]}
request = urllib.request.Request(BASE + "/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
with urllib.request.urlopen(request) as answer:
    print(json.load(answer)["choices"][0]["message"]["content"])
"""

# Another prompt, after which the demo's model does something else.
OTHER_PROMPT = "Today is {{today}}.\nSay goodbye.\n"


class Orders(loopback_provider.Provider):
    """Tells one total, which a test may change; and answers the chats of one request with "109" and "129" in turn."""

    def do_GET(self):
        self.reply({"total_cents": self.server.total, "status": "delivered"})

    def do_POST(self):
        self.read_json()
        said, other = ("109", "129") if self.server.count() % 2 else ("129", "109")
        top = [{"token": said, "logprob": -0.68}, {"token": other, "logprob": -0.70}]
        self.reply_chat(said, logprobs={"content": [dict(top[0], top_logprobs=top)]})


def wait_for(path, process):
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_text().strip()):
        assert process.poll() is None and time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)
    return int(path.read_text())


class Explanations:
    def __init__(self, arguments):
        self.reenact, self.service, self.model = arguments.reenact, arguments.service, arguments.demo_model
        self.scratch = arguments.scratch
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8",
                            "REENACT_STORE": str(self.scratch / "store")}
        self.client = self.scratch / "client.py"
        self.client.write_text(CLIENT)
        self.orders = loopback_provider.ProviderServer(Orders)
        self.orders.total = 12000
        self.orders.__enter__()
        self.servers = []
        self.url = self.serve("n1")

    def serve(self, profile):
        port_file = self.scratch / f"{profile}.port"
        self.servers.append(subprocess.Popen(
            [str(self.reenact), "engine", "serve", "--model", str(self.model), "--profile", profile, "--port-file",
             str(port_file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment))
        return f"http://127.0.0.1:{wait_for(port_file, self.servers[-1])}/v1"

    def orders_url(self):
        return self.orders.url

    def run(self, *words, code=0, **more):
        done = subprocess.run([str(self.reenact), *map(str, words)], text=True, capture_output=True, cwd=self.scratch,
                              env=dict(self.environment, **more), timeout=200)
        assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def json(self, *words, code=0):
        head, _, command = [*map(str, words)], None, []
        if "--" in head:
            head, command = head[:head.index("--")], head[head.index("--"):]
        return json.loads(self.run(*head, "--json", *command, code=code))

    def record_client(self, url=None, seed=1, temperature=0):
        self.run("record", "--route", f"orders={self.orders_url()}/orders", "--", sys.executable, self.client,
                 OPENAI_BASE_URL=url or self.url, SEED=str(seed), TEMPERATURE=str(temperature))
        return self.json("list")["runs"][-1]["id"]

    def record_service(self, day, order="A-1043", prompt=None, url=None):
        """A refund of the demo, as of noon on a day."""
        port_file = self.scratch / "service.port"
        port_file.unlink(missing_ok=True)
        noon = datetime.datetime.fromisoformat(day + "T12:00:00+00:00")
        hours = int((noon - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 3600)
        words = [self.service, "--port-file", port_file, "--store", self.environment["REENACT_STORE"], "--ledger",
                 self.scratch / "ledger.jsonl", "--provider", url or self.url, "--clock-offset-hours", str(hours)]
        if prompt:
            words += ["--prompt", prompt, "--prompt-version", prompt.stem]
        service = subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL, env=self.environment)
        try:
            body = json.dumps({"order_id": order, "message": "It arrived damaged. Please refund it."}).encode()
            port = wait_for(port_file, service)
            with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/refund", body,
                                                               {"content-type": "application/json"}), timeout=60) as answer:
                return answer.headers["x-reenact-run"]
        finally:
            service.terminate()
            service.wait(20)

    def verdict_of_records(self, run, against):
        """What the records alone say."""
        done = subprocess.run([str(self.reenact), "explain", run, "--against", against, "--json"], text=True,
                              capture_output=True, env=self.environment, timeout=60)
        return json.loads(done.stdout)["verdict"]

    def explain(self, run, against, *more, code=1):
        told = self.json("explain", run, "--against", against, *more, code=code)
        return told, json.dumps(told, indent=1)


def names(explanations, run, against, *more, cause):
    """The one cause is named, changed and flips, and nothing else is accused."""
    told, text = explanations.explain(run, against, *more)
    assert told["verdict"] == "cause" and told["causes"] == [cause], text
    (flips,) = [one for one in told["differences"] if one["flips"]]
    assert flips["changed"] == "proved" and flips["put_in"]["reference"] == flips["put_in"]["runs"] > 0, text
    assert told["unchanged"]["incident"] == told["unchanged"]["runs"] == 12, text
    return told


def draw_and_component(explanations):
    """Of the demo's service: the draw that ends in its answer, and another prompt."""
    service = ("--target", explanations.url, "--", explanations.service, "--ledger", explanations.scratch / "replayed.jsonl")
    march, july = explanations.record_service("2026-03-02"), explanations.record_service("2026-07-02")
    # The clock differs by months, and does nothing: the model does not look at it.
    told = names(explanations, july, march, *service, cause="random draw idempotency_key")
    (clock,) = [one for one in told["differences"] if one["kind"] == "clock"]
    assert clock["tried"] and not clock["flips"], clock
    prompt = explanations.scratch / "v15.txt"
    prompt.write_text(OTHER_PROMPT)
    other = explanations.record_service("2026-03-02", prompt=prompt)
    names(explanations, other, march, *service, cause="component prompt_template refund")


def clock(explanations):
    """A client whose request holds the time."""
    explanations.client.write_text(CLIENT.replace("[:3]", ""))
    runs = [explanations.record_client()]
    for _ in range(8):
        runs.append(explanations.record_client())
        if explanations.verdict_of_records(runs[0], runs[-1]) != "no_difference":
            break
    names(explanations, runs[0], runs[-1], "--target", explanations.url, cause="clock")


def tool_answer_and_seed(explanations):
    few = explanations.record_client()
    explanations.orders.total = 129900
    many = explanations.record_client()
    told = names(explanations, many, few, "--target", explanations.url, cause="tool answer GET orders")
    assert {"clock"} < {one["kind"] for one in told["differences"]}, told["differences"]
    text = explanations.run("explain", many, "--against", few, "--target", "local", "--model", explanations.model, code=1)
    assert text.startswith("The cause is tool answer GET orders: it changed, and flips the outcome"), text
    one, two = (explanations.record_client(seed=seed, temperature=2) for seed in (1, 2))
    names(explanations, two, one, "--target", explanations.url, cause="sampling seed")
    assert explanations.explain(two, two, code=0)[0]["verdict"] == "no_difference"


def near_tie(explanations):
    """One request, two answers: what unchanged reruns give, and what the records alone show."""
    first, second = (explanations.record_client(explanations.orders_url() + "/v1") for _ in range(2))
    told, text = explanations.explain(second, first, "--target", explanations.orders_url() + "/v1")
    assert told["verdict"] == "near_tie" and told["causes"] == [] and "consistent with load" in told["sentence"], text
    told, text = explanations.explain(second, first, code=3)
    assert "near-tie" in told["inconclusive_because"] and told["record"]["token_index"] == 0, text
    assert abs(told["record"]["margin_nats"] - 0.02) < 1e-9, text
    told, text = explanations.explain(second, first, "--target", explanations.orders_url() + "/v1", "--max-requests", "1", code=3)
    assert told["verdict"] == "inconclusive" and told["budget_spent"] and told["tries"] == 1, text
    told, text = explanations.explain(second, first, "--target", "http://127.0.0.1:1/v1", "--max-requests", "2", code=3)
    assert told["verdict"] == "inconclusive" and told["unchanged"]["runs"] == 0, text


class Versions(loopback_provider.Provider):
    """A provider whose fingerprint a test moves; "" tells none. What it says goes with it."""

    def do_POST(self):
        self.read_json()
        version = self.server.version
        head = dict({"id": "c-%d" % self.server.count(), "object": "chat.completion.chunk", "created": 1, "model": "refund-1"},
                    **({"system_fingerprint": version} if version else {}))
        said = {"role": "assistant", "content": "109" if version == "fp_a" else "129"}
        chunks = [dict(head, choices=[{"index": 0, "delta": said}]),
                  dict(head, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])]
        body = "".join("data: %s\n\n" % json.dumps(chunk) for chunk in chunks).encode() + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def served(version):
    server = loopback_provider.ProviderServer(Versions)
    server.version = version
    return server


def epochs(explanations):
    """Who answers changed between the runs: proof of that, and a cause only where the old one is asked too."""
    program = ("--", explanations.service, "--ledger", explanations.scratch / "replayed.jsonl")
    with served("fp_a") as moving, served("fp_a") as old:
        target = ("--target", moving.url + "/v1")
        first, same = (explanations.record_service("2026-03-02", url=moving.url + "/v1") for _ in range(2))
        told, text = explanations.explain(same, first, code=0)
        assert told["verdict"] == "no_difference" and told["epochs"] is None, text
        moving.version = "fp_b"
        moved = explanations.record_service("2026-03-03", url=moving.url + "/v1")
        told, text = explanations.explain(moved, first, *target, *program, code=3)
        assert (told["epochs"]["reference"], told["epochs"]["incident"]) == (0, 1) and told["epochs"]["proof"], text
        assert told["epochs"]["changes"][0]["value"] == "fp_b" and told["causes"] == [], text
        assert "the runs lie in different epochs of" in text and "is proof that another system answered" in text, text
        assert [one["changed"] for one in told["differences"] if one["kind"] == "backend changed"] == ["proved"], text
        told, text = explanations.explain(moved, first, *target, "--reference-target", old.url + "/v1", *program)
        assert told["causes"] == ["backend changed"] and told["epochs"]["proof"], text
        moving.version = ""
        untold = explanations.record_service("2026-03-04", url=moving.url + "/v1")
        told, text = explanations.explain(untold, first, code=3)
        # This answer does not tell who gave it. That fp_a was followed by another is proved all the same.
        assert told["epochs"]["incident"] == 2 and told["epochs"]["proof"], text
        assert [one["changed"] for one in told["differences"] if one["kind"] == "backend changed"] == ["proved"], text


def judged_and_by_time(explanations):
    runs = [run["id"] for run in reversed(explanations.json("list")["runs"])]
    told, text = explanations.explain(runs[0], runs[1], "--wrong", "grep -q 129", "--target",
                                      explanations.orders_url() + "/v1")
    assert told["verdict"] == "near_tie" and told["judged_by"] == "grep -q 129", text
    explanations.run("explain", runs[0], "--against", runs[1], "--wrong", "true", code=2)
    explanations.run("explain", runs[0], "--against", "2001-01-01", code=2)
    when = explanations.json("show", runs[0])["run"]["started"]
    told, text = explanations.explain(runs[0], when, code=3)
    assert told["reference"] != runs[0], text


def envelope(explanations):
    """What load reaches of a call; the schedule that a stock server told gives its answer exactly."""
    model = ("--model", explanations.model)
    explanations.orders.total = 129900
    both = explanations.json("envelope", explanations.record_client(), *model, code=1)
    assert both["recorded_reached"] and len(both["answers"]) > 1, both
    explanations.orders.total = 12000
    steady = explanations.json("envelope", explanations.record_client(), *model)
    assert steady["recorded_reached"] and len(steady["answers"]) == 1 and not steady["has_schedule"], steady
    assert steady["answers"][0]["recorded"] and steady["answers"][0]["n1"], steady
    assert steady["noise_samples"] > 0 and 0 < steady["noise_nats"] < 2, steady
    explanations.client.write_text(CLIENT.replace('"max_tokens": 24', '"max_tokens": 24, "return_token_ids": True'))
    run = explanations.record_client(explanations.serve("stock"))
    told = explanations.json("envelope", run, *model)
    assert told["has_schedule"] and told["schedule_reproduces"], told
    some = explanations.json("envelope", run, *model, "--noise", "100", "--max-runs", "12")
    assert some["runs"] == 12 and some["near_ties"] > 0 and some["not_visited"] > 0, some
    text = explanations.run("envelope", run, *model, "--max-runs", "3")
    assert "its own schedule gives it exactly" in text and "not visited" in text, text
    explanations.run("envelope", run, *model, "--step", "99", code=2)
    # The demo's incident: one digit of the amount is nearer than the noise, and load turns it.
    service = explanations.record_service("2026-03-02", order="A-1046")
    calls = [event["index"] for event in explanations.json("show", service)["run"]["events"] if event["boundary"] == "model"]
    demo = explanations.json("envelope", service, *model, "--step", calls[1], code=1)
    assert demo["n1_is_recorded"] and not demo["recorded_reached"] and "109000" in demo["n1_text"], demo
    assert any("129000" in answer["text"] for answer in demo["answers"]), demo


def main():
    parser = argparse.ArgumentParser()
    for name in ("--reenact", "--service", "--demo-model", "--scratch"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    explanations = Explanations(parser.parse_args())
    try:
        for test in (near_tie, judged_and_by_time, epochs, tool_answer_and_seed, draw_and_component, clock, envelope):
            explanations.client.write_text(CLIENT)
            begin = time.monotonic()
            test(explanations)
            print(f"{test.__name__}: ok, {time.monotonic() - begin:.1f} s")
    finally:
        for server in explanations.servers:
            server.terminate()
            server.wait(20)
        explanations.orders.shutdown()


if __name__ == "__main__":
    main()
