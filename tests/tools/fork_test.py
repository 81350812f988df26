#!/usr/bin/env python3
"""`reenact fork`: a recorded program runs again, live from one step on. A provider on loopback counts what
reaches it, so that nothing goes live which should not, and the fork is read, compared, replayed and forked again."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import loopback_provider  # noqa: E402

AGENT = """
import json, os, time, urllib.error, urllib.request

BASE = os.environ["OPENAI_BASE_URL"]
KEY = os.environ["OPENAI_API_KEY"]

def ask(prompt):
    body = json.dumps({"model": "m1", "messages": [{"role": "user", "content": prompt}], "temperature": 0.5})
    request = urllib.request.Request(BASE + "/chat/completions", body.encode(),
                                     {"content-type": "application/json", "authorization": "Bearer " + KEY})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        print("refused", error.code, error.read().decode())
        raise SystemExit(4)

plan = ask("plan")
with urllib.request.urlopen(BASE.split("/openai")[0] + "/kb/search?q=refunds") as answer:
    found = answer.read().decode()
final = ask("answer from " + found)
print(plan, found, final)
if final.startswith("again"):
    print(ask("once more"))
"""

KEY = "sk-test-fork-0123456789abcdef"


class Provider(loopback_provider.Provider):
    """Says who it is and how often it was asked: no answer can be invented, or be another's."""

    def do_POST(self):
        body = self.read_json()
        self.server.asked.append((self.path, body, self.headers["authorization"]))
        self.reply_chat("%s %s %d" % (self.server.mood, body["model"], len(self.server.asked)), model=body["model"])

    def do_GET(self):
        self.server.asked.append((self.path, None, None))
        self.reply({"found": len(self.server.asked)})


class Case:
    def __init__(self, reenact, folder, upstream):
        self.reenact, self.folder, self.upstream = reenact, folder, upstream
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8", "OPENAI_API_KEY": KEY,
                            "REENACT_STORE": folder + "/store"}

    def run(self, *words, **more):
        return subprocess.run([self.reenact, *words], cwd=self.folder, text=True, capture_output=True,
                              env=dict(self.environment, **more), timeout=60)

    def json(self, *words):
        done = self.run("--json", *words)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def fork(self, *words, mood="live", code=0):
        """What the fork printed as JSON, and what reached the provider."""
        self.upstream.asked.clear()
        self.upstream.mood = mood
        status, told = self.json("fork", *words)
        assert status == code, (status, told)
        return told, list(self.upstream.asked)


def check_model_only(case, run):
    told, asked = case.fork(run, "--from", "2", "--live", "model", "--model", "m2", "--set", "temperature=0",
                            "--set", 'messages[0].content=Be "brief".')
    assert told["from_tape"] == 2 and told["live_model"] == 1 and told["live_other"] == 0, told
    assert told["parent"] == run and told["divergences"] == [] and told["network_refused"] == 0, told
    ((path, body, authorization),) = asked
    assert path == "/v1/chat/completions" and authorization == "Bearer " + KEY, asked
    assert body == {"model": "m2", "messages": [{"role": "user", "content": 'Be "brief".'}], "temperature": 0}, body
    code, shown = case.json("show", told["run"])
    assert code == 0 and [event["name"] for event in shown["run"]["events"]] == ["chat", "GET kb", "chat"], shown
    sent = case.run("show", told["run"], "--event", "2", "--raw", "request").stdout
    assert json.loads(sent) == body, sent
    assert "fork of it, from step 2" in case.run("show", told["run"]).stdout
    code, difference = case.json("diff", run, told["run"])
    assert code == 1 and "m2" in json.dumps(difference), difference
    return told["run"]


def check_replayed(case, fork):
    """The tape of a fork has what the program asked, though something else was sent."""
    case.upstream.asked.clear()
    code, told = case.json("replay", fork)
    (outcome,) = told["outcomes"]
    assert code == 0 and outcome["replay"]["verdict"] == "reproduced", json.dumps(outcome, indent=1)
    assert outcome["replay"]["calls_served"] == 3 and case.upstream.asked == [], outcome


def check_forked_again(case, fork):  # cases/replay.md 27
    told, asked = case.fork(fork, "--from", "2", "--live", "model", mood="again")
    assert told["parent"] == fork and told["from_tape"] == 2 and told["live_model"] == 2, told
    assert [body["model"] for _, body, _ in asked] == ["m1", "m1"], asked


def check_tools_too(case, run):
    told, asked = case.fork(run, "--from", "1")
    assert (told["from_tape"], told["live_model"], told["live_other"]) == (1, 1, 1), told
    assert [path for path, _, _ in asked] == ["/base/search?q=refunds", "/v1/chat/completions"], asked


def check_refusals(case, run, agent, sdk_store):
    told, asked = case.fork(run, "--from", "2", "--live", "model", "--set", "tools[0].name=x", code=3)
    assert told["without_effect"] == ["--set tools[0].name=x"] and len(asked) == 1, (told, asked)
    changed = pathlib.Path(case.folder, "changed.py")
    changed.write_text(agent.read_text().replace('ask("plan")', 'ask("another plan")'))
    told, asked = case.fork(run, "--from", "2", "--", sys.executable, str(changed), code=1)
    assert asked == [] and told["refused"] == 1 and "messages[0].content" in told["divergences"][0], (told, asked)
    # A tool call past the step that the tape does not have, where only the model may go live.
    changed.write_text(agent.read_text().replace("q=refunds", "q=returns"))
    told, asked = case.fork(run, "--from", "1", "--live", "model", "--", sys.executable, str(changed), code=1)
    assert asked == [] and told["refused"] == 1, (told, asked)
    for words in (["--from", "4"], ["--from", "2", "--set", "temperature"], ["--from", "2", "--live", "clock"]):
        assert case.run("fork", run, *words).returncode == 2, words
    done = case.run("fork", "last", "--from", "0", REENACT_STORE=sdk_store)
    assert done.returncode == 2 and "SDK" in done.stderr, done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    parser.add_argument("--make-store", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, \
            loopback_provider.ProviderServer(Provider) as upstream:
        upstream.asked, upstream.mood = [], "first"
        case = Case(options.reenact, folder, upstream)
        agent = pathlib.Path(folder, "agent.py")
        agent.write_text(AGENT)
        url = upstream.url
        done = case.run("record", "--route", "kb=%s/base" % url, "--capture-output", "--", sys.executable, str(agent),
                        OPENAI_BASE_URL=url + "/v1")
        assert done.returncode == 0, done.stderr
        run = re.search(r"reenact replay (\w+)", done.stderr).group(1)
        fork = check_model_only(case, run)
        check_replayed(case, fork)
        check_forked_again(case, fork)
        check_tools_too(case, run)
        sdk_store = folder + "/sdk"
        subprocess.run([options.make_store, "right", sdk_store], check=True, stdout=subprocess.DEVNULL)
        check_refusals(case, run, agent, sdk_store)
        upstream.shutdown()
        kept = [path for path in pathlib.Path(folder, "store").rglob("*") if path.is_file()]
        assert kept and not any(KEY.encode() in path.read_bytes() for path in kept), kept
    print("forked live, compared, replayed and forked again")


if __name__ == "__main__":
    main()
