#!/usr/bin/env python3
"""A customer's name and address in what a program sends and is told, in a tool, in notes and in a bundle: `reenact
redact` takes them out of every file, no command after it brings them back, `verify` names what was done, and the program
still replays. The same search finds them before."""

import argparse
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import loopback_provider  # noqa: E402

NAME = "Zebulon Quigley"
ADDRESS = "zebulon.quigley@example.org"
POLICY = "# Erased at the customer's request.\ntexts: [%s]\nkeys: [email]\n" % NAME

AGENT = """
import json, os, urllib.request

BASE = os.environ["OPENAI_BASE_URL"]
QUESTION = os.environ.get("QUESTION", "refund me")

def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

messages = []
for turn in range(4):
    messages.append({"role": "user", "content": "%d: I am %s, %s. %s" % (turn, os.environ["NAME"], QUESTION, "again " * 200)})
    answer = post(BASE + "/chat/completions", {"model": "m", "messages": messages})
    messages.append(answer["choices"][0]["message"])
crm = BASE.split("/openai")[0] + "/crm"
found = post(crm + "/find?email=" + os.environ["ADDRESS"], {"email": os.environ["ADDRESS"], "order": 7})
print(len(messages), sorted(found))
"""


class Provider(loopback_provider.Provider):
    def do_POST(self):
        body = self.read_json()
        if "/find" in self.path:
            return self.reply({"email": ADDRESS, "order": body["order"]})
        self.reply_chat("Dear %s, turn %d" % (NAME, self.server.count()))


def traces():
    """What is left of the name and the address in a file, whatever encoding they are in."""
    for text in (NAME, ADDRESS):
        yield from (text, urllib.parse.quote(text), base64.b64encode(text.encode()).decode().rstrip("=")[:-2])
    yield from ("zebulon", "Zebulon")  # As an index for search holds them.


def files_with_traces(folder):
    needles = [trace.encode() for trace in traces()]
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*")
                  if path.is_file() and any(needle in path.read_bytes() for needle in needles))


class Case:
    def __init__(self, reenact, folder):
        self.reenact, self.folder = reenact, folder
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": folder + "/home", "LANG": "C.UTF-8", "NAME": NAME,
                            "ADDRESS": ADDRESS, "REENACT_STORE": folder + "/kept/store", "OPENAI_API_KEY": "sk-none"}
        self.clean = False  # From then on every command is checked.
        self.commands = 0

    def run(self, *words, code=0, **environment):
        done = subprocess.run([self.reenact, *words], cwd=self.folder, text=True, capture_output=True,
                              env=dict(self.environment, **environment), timeout=60)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        self.commands += 1
        if self.clean:
            left = files_with_traces(self.folder + "/kept")
            assert not left, (words, left)
            if "replay" not in words:
                assert NAME not in done.stdout and ADDRESS not in done.stdout, (words, done.stdout)
        return done


def record(case, upstream):
    agent = pathlib.Path(case.folder, "agent.py")
    agent.write_text(AGENT)
    command = [sys.executable, str(agent)]
    recorded = case.run("record", "--route", "crm=" + upstream.url, "--", *command, OPENAI_BASE_URL=upstream.url + "/v1")
    run = re.search(r"reenact replay (\w+)", recorded.stderr).group(1)
    case.run("incident", "open", run, "--title", "wrong refund for " + NAME, "--note", "mail to " + ADDRESS)
    case.run("incident", "note", "last", NAME + " called")
    case.run("search", "refund")
    case.run("export", run, "--out", "kept/told.reenact")
    return run, command


def check_refusals(case):
    for words in (["--text", "short"], ["--key", "a,b"], ["--policy", "absent.yaml"]):
        case.run("redact", *words, code=2)
    for number, text in enumerate(["[]", "texts: x", "pattern: [a]", "texts: [true]", "keys: ['']", "a: [", ""]):
        path = pathlib.Path(case.folder, "bad%d.yaml" % number)
        path.write_text(text)
        assert path.name in case.run("redact", "--policy", path.name, code=2).stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, loopback_provider.ProviderServer(Provider) as upstream:
        os.makedirs(folder + "/kept")
        os.makedirs(folder + "/home")
        case = Case(os.path.abspath(options.reenact), folder)
        run, command = record(case, upstream)
        check_refusals(case)
        pathlib.Path(folder, "policy.yaml").write_text(POLICY)
        words = ["redact", "--policy", "policy.yaml", "--text", ADDRESS, "--bundle", "kept/told.reenact"]

        before = files_with_traces(folder + "/kept")
        assert {"store/catalog.db", "store/incidents.db"} <= set(before), before
        bytes_before = {path: path.read_bytes() for path in pathlib.Path(folder, "kept").rglob("*") if path.is_file()}
        planned = json.loads(case.run(*words, "--dry-run", "--json").stdout)
        assert {path: path.read_bytes() for path in bytes_before} == bytes_before
        done = json.loads(case.run(*words, "--json").stdout)
        case.clean = True
        assert done["records"] == planned["records"] and not done["left"], (planned, done)
        assert done["rewritten"] == 3, done  # The segment, incidents.db, the bundle.
        changed = {(record["file"][-8:], record["record"]) for record in done["records"]}
        assert ("dents.db", "incident") in changed and all(record["run"] == run for record in done["records"]), done

        said = case.run("verify").stdout
        assert "redacted" in said, said
        case.run("verify", "kept/told.reenact")
        assert "nothing to redact" in case.run(*words).stdout
        for look in (["list"], ["show", run], ["search", "refund"], ["incident", "show", "last"], ["doctor", run],
                     ["export", run, "--out", "kept/again.reenact"], ["export", run, "--format", "jsonl", "--out", "kept/x.jsonl"],
                     ["--store", "kept/other", "import", "kept/told.reenact"], ["lint"], ["fingerprints"], ["asof", "0h"]):
            case.run(*look, code=1 if look == ["lint"] else 0)
        replayed = json.loads(case.run("replay", run, "--json", "--", *command).stdout)["outcomes"][0]["replay"]
        assert replayed["calls_served"] == replayed["calls_on_tape"] == 5, replayed
        missed = case.run("replay", run, "--json", "--", *command, code=1, QUESTION="give me more")
        assert NAME not in missed.stdout and ADDRESS not in missed.stdout, missed.stdout
    print("%d commands, and no trace after the redaction" % case.commands)


if __name__ == "__main__":
    main()
