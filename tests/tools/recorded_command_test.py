#!/usr/bin/env python3
"""`reenact record -- CMD`, then `reenact replay RUN` with the provider gone: the program reads the clock,
draws random numbers, sleeps, retries and asks twice at once, and does all of that again, offline."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import loopback_provider  # noqa: E402

AGENT = """
import concurrent.futures, datetime, json, os, random, sys, time, urllib.error, urllib.request, uuid

BASE = os.environ["OPENAI_BASE_URL"]

def post(prompt):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]}).encode()
    request = urllib.request.Request(BASE + "/chat/completions", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]

def ask(prompt):
    try:
        return post(prompt)
    except urllib.error.HTTPError as error:
        assert error.code == 500, error
        time.sleep(0.1)
        return post(prompt)

started = time.time()
first = ask("FIRST today is %s, request %s, draw %r" % (datetime.datetime.now(), uuid.uuid4(), random.random()))
time.sleep(0.2)
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    both = list(pool.map(ask, ["left of " + first, "right of " + first]))
knowledge = BASE.split("/openai")[0] + "/kb/search?q=refunds"
with urllib.request.urlopen(knowledge) as answer:
    found = answer.read().decode()
print("result", first, both, found, "in", time.time() - started)
"""

SEARCH = """
import os, urllib.request
print(urllib.request.urlopen(os.environ["OPENAI_BASE_URL"].split("/openai")[0] + "/kb/search?q=refunds").read().decode())
"""


class Provider(loopback_provider.Provider):
    """Fails the first time that it is asked; answers are numbered, so that none can be invented."""

    def do_POST(self):
        body = self.read_json()
        number = self.server.count()
        if number == 1:
            return self.reply({"error": {"message": "overloaded", "type": "server_error"}}, status=500)
        self.reply_chat("%s %d" % (body["messages"][0]["content"].split()[0], number))

    def do_GET(self):
        self.server.paths.append(self.path)
        self.reply({"answer": self.server.count()})


class Command:
    def __init__(self, reenact, folder):
        self.reenact = reenact
        self.folder = folder
        # With a writable home of its own, so that nothing of this machine's is read or written.
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8",
                            "REENACT_STORE": folder + "/store", "OPENAI_API_KEY": "sk-test-0123456789"}

    def run(self, *words, **more):
        return subprocess.run([self.reenact, *words], cwd=self.folder, text=True, capture_output=True,
                              env=dict(self.environment, **more), timeout=60)

    def replay(self, *words):
        """The exit status, and the one outcome."""
        done = self.run("replay", "last", "--json", *words)
        assert done.stdout, done.stderr
        (outcome,) = json.loads(done.stdout)["outcomes"]
        return done.returncode, outcome["replay"]


def record(command, *words, upstream, expected=0):
    url = upstream.url
    done = command.run("record", "--route", "kb=%s/base" % url, *words, OPENAI_BASE_URL=url + "/v1")
    assert done.returncode == expected, done.stderr
    return done


def check_reproduced(command, *flags):
    code, replay = command.replay(*flags)
    told = json.dumps(replay, indent=1)
    assert code == 0 and replay["verdict"] == "reproduced", told
    assert replay["level"] == "R2" and replay["relaxed_by"] == [], told
    assert replay["output_equal"] and replay["calls_served"] == replay["calls_on_tape"] == 5, told
    assert replay["network"]["attempts"] == [] and replay["network"]["refused"] == 0, told


def check_divergence(command, agent, changed):
    changed.write_text(agent.read_text().replace("FIRST today", "FIRST Today"))
    code, replay = command.replay("--", sys.executable, str(changed))
    assert code == 1 and replay["verdict"] == "diverged", json.dumps(replay, indent=1)


def check_left_out(command, agent, changed):
    """A program that stops one call early gets all that it asks for, and is told what it did not: cases/replay.md 32."""
    whole = agent.read_text()
    begin, end = whole.index("with urllib.request.urlopen(knowledge)"), whole.index("print(\"result\"")
    changed.write_text(whole[:begin] + "found = ''\n" + whole[end:])
    code, replay = command.replay("--", sys.executable, str(changed))
    told = json.dumps(replay, indent=1)
    assert code == 1 and replay["verdict"] == "diverged", told
    assert replay["calls_served"] == 4 and replay["calls_on_tape"] == 5, told
    assert any("kb" in json.dumps(divergence) for divergence in replay["divergences"]), told


def check_unreached(command, program, upstream):
    """A clock that cannot be frozen is told when it is recorded, and when it is replayed. What the program
    prints is left out: it is the time, which is another or is not."""
    done = record(command, "--", program, upstream=upstream)
    assert "clock not frozen" in done.stderr, done.stderr
    code, replay = command.replay()
    told = json.dumps(replay, indent=1)
    assert code == 3 and replay["level"] in ("none", "R0", "R1"), told
    assert any("clock not frozen" in reason for reason in replay["relaxed_by"]), told


def served(command, *targets, subjects=("last",)):
    """The answers of `reenact serve SUBJECTS` to requests for `targets`, its exit status, and its report."""
    serve = subprocess.Popen([command.reenact, "serve", *subjects, "--json"], env=command.environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        url = re.search(r"http://127\.0\.0\.1:\d+", serve.stderr.readline()).group()
        answers = []
        for target in targets:
            try:
                with urllib.request.urlopen(url + target) as answer:
                    answers.append((answer.status, answer.read().decode()))
            except urllib.error.HTTPError as miss:
                answers.append((miss.code, miss.read().decode()))
        serve.terminate()
        printed, errors = serve.communicate(timeout=60)
    finally:
        serve.kill()
    assert printed, errors
    return answers, serve.returncode, json.loads(printed)


def check_served(command, recorded):
    """What the one request of a run was answered, to any client that asks it again."""
    answers, code, report = served(command, "/kb/search?q=refunds")
    assert answers == [(200, recorded.strip())] and code == 0, (answers, code, report)
    assert report["calls_served"] == report["calls_on_tape"] == report["requests"] == 1, report
    bundle = command.folder + "/search.reenact"
    exported = command.run("export", "last", "--out", bundle)
    assert exported.returncode == 0, exported.stderr
    answers, code, report = served(command, *2 * ["/kb/search?q=refunds"], subjects=("last", bundle))
    assert answers == 2 * [(200, recorded.strip())] and code == 0, (answers, code, report)
    answers, code, report = served(command, "/kb/search?q=returns")
    assert answers[0][0] == 400 and code == 1 and report["divergences"], (answers, code, report)
    answers, code, report = served(command)
    assert code == 3 and report["requests"] == 0, (code, report)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    parser.add_argument("--static-program", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        command = Command(options.reenact, folder)
        agent = pathlib.Path(folder, "agent.py")
        agent.write_text(AGENT)
        with loopback_provider.ProviderServer(Provider) as upstream:
            upstream.paths = []
            searched = record(command, "--", sys.executable, "-c", SEARCH, upstream=upstream)
            check_served(command, searched.stdout)
            upstream.requests, upstream.paths = 0, []
            recorded = record(command, "--capture-output", "--random", "--", sys.executable, str(agent), upstream=upstream)
            asked = upstream.requests
        assert recorded.stdout.startswith("result FIRST 2 "), recorded.stdout
        assert "reenact replay " in recorded.stderr, recorded.stderr
        assert asked == 5 and upstream.paths == ["/base/search?q=refunds"], (asked, upstream.paths)
        check_reproduced(command)
        check_reproduced(command, "--pace")
        check_divergence(command, agent, pathlib.Path(folder, "changed.py"))
        check_left_out(command, agent, pathlib.Path(folder, "changed.py"))
        check_unreached(command, options.static_program, upstream)
    print("recorded once, reproduced without the provider")


if __name__ == "__main__":
    main()
