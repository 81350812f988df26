#!/usr/bin/env python3
"""Clients that nobody here wrote, recorded once with `reenact record` and replayed with the provider gone: each prints
what it got, streams, tools, errors and its own retries included, and must print the same again.

usage: clients_test.py --reenact FILE --clients DIR --aimock DIR --model DIR --scratch DIR [--only CLIENT]...
Exits with 77 (skipped) where nothing of it is installed: see tests/clients/install and tests/aimock/install."""
import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "aimock"), str(HERE.parent / "tools/engine_server")]

from aimock_server import Aimock  # noqa: E402
from served_model import ServedModel  # noqa: E402

# Variables that lead a client to a provider elsewhere than at its own host, and what follows the host.
BASE_URLS = {"OPENAI_BASE_URL": "/v1", "ANTHROPIC_BASE_URL": "", "GOOGLE_GEMINI_BASE_URL": ""}
KEYS = {name: "sk-of-no-use-0123456789" for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")}
NODE_CLIENTS = ("openai", "anthropic", "ai_sdk", "openai_agents", "langchain", "genai")
PYTHON_CLIENTS = ("urllib_client", "requests_client")
# Our own server makes no errors; it is asked for answers only.
ENGINE_STEPS = ("whole", "stream", "atOnce")


class Failure(Exception):
    pass


def expect(condition, *told):
    if not condition:
        raise Failure("\n".join(str(line) for line in told))


class Client:
    """One client in a folder of its own, with a store of its own."""

    def __init__(self, options, name, upstream):
        self.name = name
        self.reenact = options.reenact.resolve()
        self.folder = options.scratch.resolve() / f"{name}-{upstream}"
        self.folder.mkdir(parents=True)
        for file in HERE.iterdir():
            if file.suffix in (".mjs", ".py"):
                shutil.copy(file, self.folder)
        self.script = name + (".mjs" if name in NODE_CLIENTS else ".py")
        self.interpreter = sys.executable
        if name in NODE_CLIENTS:
            # A module is looked for beside the file that imports it.
            (self.folder / "node_modules").symlink_to((options.clients / "node_modules").resolve())
            self.interpreter = str((options.clients / "node").resolve())
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8",
                            "REENACT_STORE": str(self.folder / "store"), **KEYS}

    def run(self, *words, **more):
        return subprocess.run([self.reenact, *words], cwd=self.folder, text=True, capture_output=True,
                              env={**self.environment, **more}, timeout=150)

    def record(self, url, *steps, **more):
        bases = {name: url + path for name, path in BASE_URLS.items()}
        done = self.run("record", "--capture-output", "--", self.interpreter, self.script, *steps, **bases, **more)
        expect(done.returncode == 0, "recording ended with", done.returncode, done.stdout, done.stderr)
        (self.folder / "recorded.txt").write_text(done.stdout)
        return done.stdout

    def replay(self, *words):
        done = self.run("replay", "last", "--json", *words)
        expect(done.stdout, done.stderr)
        (outcome,) = json.loads(done.stdout)["outcomes"]
        return done.returncode, outcome["replay"], done.stderr

    def check_replayed(self, calls):
        """The program's output is equal, with as many calls and not one more; nothing went out."""
        code, replay, printed = self.replay()
        told = (json.dumps(replay, indent=1), printed)
        expect(code == 0 and replay["verdict"] == "reproduced", *told)
        expect(replay["level"] == "R2" and replay["relaxed_by"] == [], *told)
        expect(replay["output_equal"] and replay["divergences"] == [], *told)
        expect(replay["calls_served"] == replay["calls_on_tape"] == calls, f"{calls} calls were seen", *told)
        expect(replay["network"]["guarded"] and replay["network"]["refused"] == 0, *told)

    def check_change_is_seen(self, step="whole"):
        changed = self.folder / ("changed" + pathlib.Path(self.script).suffix)
        changed.write_text((self.folder / self.script).read_text().replace("say hello", "say hullo"))
        code, replay, _ = self.replay("--", self.interpreter, str(changed), step)
        expect(code == 1 and replay["verdict"] == "diverged", "a changed prompt was not seen", json.dumps(replay, indent=1))


def check_coverage(name, output):
    """What a client is recorded for must have happened to it."""
    lines = dict(line.split(" ", 1) for line in output.splitlines())
    got = {step: json.loads(line) for step, line in lines.items()}
    for step in ("whole", "stream", "tools", "busy"):
        expect("got" in got[step], f"{step}: {lines[step]}")
    expect("Hello, whoever you are." in lines["whole"], lines["whole"])
    expect("on its way" in lines["tools"], lines["tools"])
    expect("Not busy any more." in lines["busy"], lines["busy"])
    expect("Out of order." in lines["broken"] or name == "requests_client", lines["broken"])
    expect("failed" in got["malformed"], lines["malformed"])
    expect("not be sent whole" not in lines.get("cut", ""), lines.get("cut"))


def with_aimock(options, name):
    client = Client(options, name, "aimock")
    aimock = Aimock(options.aimock, client.folder / "aimock.log", [HERE / "fixtures.json"])
    try:
        output = client.record(aimock.url, OPENAI_AGENTS_DISABLE_TRACING="1")
        calls = aimock.request_count()
    finally:
        aimock.stop()
    check_coverage(name, output)
    client.check_replayed(calls)
    client.check_change_is_seen()
    return calls


def with_engine(options, name):
    client = Client(options, name, "engine")
    served = ServedModel(options.reenact, None, client.folder, "model", folder=options.model)
    output = client.record(f"http://127.0.0.1:{served.port}", *ENGINE_STEPS, MODEL="refund-1")
    code, said = served.stop()
    expect(code == 0, said)
    expect(output.count("failed") == 0 and output.count('"got"') == len(ENGINE_STEPS), output)
    client.check_replayed(2 + 3)
    client.check_change_is_seen()
    return 2 + 3


def with_traces(options, name):
    """Traces go to a host of their own, whatever the variables say: on replay that is refused, counted and told, and the
    program gets all the same what it got."""
    client = Client(options, name, "traces")
    aimock = Aimock(options.aimock, client.folder / "aimock.log", [HERE / "fixtures.json"])
    try:
        client.record(aimock.url, "whole", "tools")
        calls = aimock.request_count()
    finally:
        aimock.stop()
    code, replay, _ = client.replay()
    told = json.dumps(replay, indent=1)
    expect(code == 1 and replay["level"] == "R1", told)
    expect(replay["output_equal"] and replay["calls_served"] == replay["calls_on_tape"] == calls, told)
    expect({divergence["kind"] for divergence in replay["divergences"]} == {"network"}, told)
    expect(replay["network"]["refused"] > 0, told)
    return calls


def available(options):
    """Clients that are installed, and what is said about the others."""
    names, missing = [], []
    if (options.clients / "installed").exists():
        names += NODE_CLIENTS
    else:
        missing.append("the npm packages of tests/clients/install are not installed")
    names.append("urllib_client")
    if importlib.util.find_spec("requests"):
        names.append("requests_client")
    else:
        missing.append("the Debian package python3-requests is not installed")
    return [name for name in names if not options.only or name in options.only], missing


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "clients", "aimock", "model", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", choices=NODE_CLIENTS + PYTHON_CLIENTS)
    options = parser.parse_args()
    if not (options.aimock / "installed").exists():
        print("skipped: @copilotkit/aimock is not installed; run tests/aimock/install")
        return 77
    shutil.rmtree(options.scratch, ignore_errors=True)
    names, missing = available(options)
    jobs = [(with_aimock, name) for name in names] + [(with_engine, name) for name in names if name == "openai"]
    jobs += [(with_traces, name) for name in names if name == "openai_agents"]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = [(name, upstream, pool.submit(upstream, options, name)) for upstream, name in jobs]
        for name, upstream, future in futures:
            try:
                print(f"{name} {upstream.__name__}: {future.result()} calls reproduced", flush=True)
            except Failure as failure:
                failures += 1
                print(f"{name} {upstream.__name__}: FAILED\n{failure}", flush=True)
    for reason in missing:
        print("left out:", reason)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
