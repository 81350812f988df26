#!/usr/bin/env python3
"""`reenact snapshot`: what a manifest names is known to `asof` as deployed, in YAML as in JSON; a manifest that cannot be
meant is refused with the place, and nothing is recorded.

usage: snapshot_test.py --reenact FILE --scratch DIR"""
import argparse
import datetime
import json
import pathlib
import shutil
import subprocess

YAML = """service: refund-agent
note: deploy of v15
tags: {region: eu}
components:
  - kind: prompt_template
    name: refund
    version: v15
    file: refund.txt
  - {kind: retrieval_index, name: kb, version: "2026-03-01"}
  - {kind: tool_schema, name: lookup_order, version: 3, content: {type: object}}
"""


class Snapshots:
    def __init__(self, arguments):
        self.reenact, self.scratch = arguments.reenact, arguments.scratch
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        # Else the checkout that holds the build would be taken for the one that is deployed.
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8",
                            "GIT_CEILING_DIRECTORIES": str(self.scratch.parent)}

    def run(self, *words, store="store", code=0):
        done = subprocess.run([str(self.reenact), *map(str, words)], text=True, capture_output=True, cwd=self.scratch,
                              env=dict(self.environment, REENACT_STORE=str(self.scratch / store)), timeout=100)
        assert done.returncode == code, f"{words}: exit {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}"
        return done

    def write(self, name, text):
        (self.scratch / name).write_text(text)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def components(snapshots, store, time):
    state = json.loads(snapshots.run("asof", time, "--json", store=store).stdout)
    assert [service["service"] for service in state["services"]] == ["refund-agent"], state
    return {entry["name"]: [version["value"] for version in entry["versions"]] for entry in state["services"][0]["components"]}


def is_known(snapshots):
    snapshots.write("refund.txt", "You approve refunds.\n")
    snapshots.write("deploy.yaml", YAML)
    said = snapshots.run("snapshot", "deploy.yaml")
    assert said.stdout.startswith("recorded 3 components of refund-agent as "), said.stdout
    assert "no git checkout" in said.stderr, said.stderr
    between = now()
    told = components(snapshots, "store", between)
    assert told == {"refund": ["v15"], "kb": ["2026-03-01"], "lookup_order": ["3"]}, told
    text = snapshots.run("asof", between, "--content").stdout
    assert "You approve refunds." in text and '{"type":"object"}' in text and "snapshot" in text, text
    # The next deployment, of one component, leaves the others as they are; and is told by --diff.
    snapshots.write("next.json", json.dumps({"components": [{"kind": "retrieval_index", "name": "kb", "version": "2026-04-01"}]}))
    assert "of which service?" in snapshots.run("snapshot", "next.json", code=2).stderr
    snapshots.run("snapshot", "next.json", "--service", "refund-agent", "--note", "kb of April")
    moved = snapshots.run("asof", "--diff", between, now(), code=1).stdout
    assert "1 difference" in moved and "2026-03-01" in moved and "2026-04-01" in moved, moved


def knows_its_commit(snapshots):
    checkout = snapshots.scratch / "checkout"
    checkout.mkdir()
    (checkout / "deploy.json").write_text(json.dumps({"service": "refund-agent", "components": []}))
    git = ["git", "-C", str(checkout), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(git + words, check=True, capture_output=True)
    commit = subprocess.run(git + ["rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    said = json.loads(snapshots.run("snapshot", "checkout/deploy.json", "--json", store="code").stdout)
    assert said["code"] == commit and said["components"] == 1, said
    assert components(snapshots, "code", now()) == {"refund-agent": [commit]}
    (checkout / "deploy.json").write_text(json.dumps({"service": "refund-agent"}))
    said = json.loads(snapshots.run("snapshot", "checkout/deploy.json", "--json", store="code").stdout)
    assert said["code"] == commit + "-dirty", said


def is_refused(snapshots):
    one = '{"service": "s", "components": [%s]}'
    for text, words in (
            (one % '{"kind": "prompt_template", "name": "p", "file": "gone.txt"}', "gone.txt"),
            (one % '{"kind": "prompt_template", "name": "p", "verison": "v1"}', '"verison" of component 0 is no known key'),
            (one % '{"kind": "prompt_template"}', "component 0 needs a kind and a name"),
            (one % '{"kind": "k", "name": "n", "version": 1.10}', '"version" of component 0 is no text: write it in quotes'),
            (one % '{"kind": "k", "name": "n", "content": "x", "file": "refund.txt"}', "component 0 has content and file"),
            ('{"service": "s", "components": {}}', '"components" is no list'),
            ("[]", "the manifest is no object"),
            ("service: s\ncomponents:\n  - {kind: a, name: b\n", "manifest: "),
            ('{"service": "s"}', "the manifest names no component")):
        snapshots.write("bad.yaml", text)
        said = snapshots.run("snapshot", "bad.yaml", store="none", code=2).stderr
        assert words in said, (text, said)
    assert "nowhere.yaml" in snapshots.run("snapshot", "nowhere.yaml", store="none", code=2).stderr
    assert not (snapshots.scratch / "none").exists()


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    snapshots = Snapshots(parser.parse_args())
    is_known(snapshots)
    knows_its_commit(snapshots)
    is_refused(snapshots)
    print("what a manifest names is known, what it cannot mean is refused")


if __name__ == "__main__":
    main()
