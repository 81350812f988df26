#!/usr/bin/env python3
"""asof, fingerprints and lint on a month of synthetic production: what was planted is found, and,
with REENACT_LONG=1, a million calls of 30 services are answered in under a second a verb.

usage: month_test.py --reenact FILE --make-month FILE"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

LONG = os.environ.get("REENACT_LONG", "") not in ("", "0")
CALLS, SERVICES = (1_000_000, 30) if LONG else (15_000, 5)
LIMIT_S = 1.0
TIMED_RUNS = 5


def run(options, store, *arguments):
    done = subprocess.run([options.reenact, *arguments, "--store", store, "--json"], capture_output=True, text=True,
                          timeout=3600)
    return json.loads(done.stdout), done.returncode


def timed(options, store, *arguments):
    """The median of several runs, wall clock, of the whole command."""
    seconds = []
    for _ in range(TIMED_RUNS):
        start = time.monotonic()
        subprocess.run([options.reenact, *arguments, "--store", store], capture_output=True, timeout=60)
        seconds.append(time.monotonic() - start)
    return sorted(seconds)[TIMED_RUNS // 2]


def check(holds, what):
    if not holds:
        sys.exit("month_test: " + what)


def service_of(state, name):
    return next(service for service in state["services"] if service["service"] == name)


def check_asof(options, store):
    state, code = run(options, store, "asof", "2026-02-10T12:00:00Z")
    check(code == 0 and len(state["services"]) == SERVICES, f"asof knows {len(state['services'])} services")
    model = service_of(state, "service-01")["models"][0]
    check([value["value"] for value in model["served"]] == ["gpt-4o-2024-08-06"], f"before the alias moved: {model}")
    check(model["after"]["value"] == "gpt-4o-2024-11-20", "asof does not say what the alias came to later")
    prompt = service_of(state, "service-02")["components"][1]
    check(prompt["name"] == "answer" and prompt["versions"][0]["value"] == "v1", f"the prompt of day 8: {prompt}")
    state, code = run(options, store, "asof", "2026-02-28T12:00:00Z", "--service", "service-02")
    prompt = service_of(state, "service-02")["components"][1]
    check(prompt["versions"][0]["value"] == "v2" and prompt["before"]["value"] == "v1", f"the prompt of day 26: {prompt}")
    difference, code = run(options, store, "asof", "--diff", "2026-02-10T12:00:00Z", "2026-02-28T12:00:00Z")
    moved = {(entry["service"], entry["aspect"]) for entry in difference["differences"]}
    check(code == 1 and moved == {("service-01", "served model"), ("service-01", "fingerprints"),
                                  ("service-02", "version")}, f"asof --diff: {moved}")


def check_fingerprints(options, store):
    def changes(service):
        timelines, _ = run(options, store, "fingerprints", "--service", service)
        return [(change["kind"], change["value"]) for change in timelines["endpoints"][0]["changes"]]
    check(("novel", "fp_new") in changes("service-01"), f"service-01: {changes('service-01')}")
    check(("served_model", "gpt-4o-2024-11-20") in changes("service-01"), f"service-01: {changes('service-01')}")
    check([kind for kind, _ in changes("service-03")] == ["mix_shift"], f"service-03: {changes('service-03')}")
    check(changes("service-05") == [], f"nothing moved in service-05, and it is told {changes('service-05')}")


def check_lint(options, store):
    findings, code = run(options, store, "lint")
    rules = {(finding["service"], finding["rule"]) for finding in findings["findings"]}
    check(code == 1 and ("service-04", "components_missing") in rules, f"lint: {code} {sorted(rules)[:9]}")
    check(("service-05", "components_missing") not in rules, "lint accuses service-05")
    check(all((f"service-{n:02}", "floating_alias") in rules for n in range(1, SERVICES + 1)), "aliases")


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "make-month"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    try:
        store = os.path.join(folder, "store")
        start = time.monotonic()
        subprocess.run([options.make_month, store, str(CALLS), str(SERVICES)], check=True)
        made = time.monotonic()
        run(options, store, "asof", "2026-02-10T12:00:00Z")
        derived = time.monotonic()
        check_asof(options, store)
        check_fingerprints(options, store)
        check_lint(options, store)
        if LONG:
            print(f"made in {made - start:.0f} s, derived once in {derived - made:.0f} s; "
                  f"load {os.getloadavg()[0]:.1f}; catalog.db {os.path.getsize(store + '/catalog.db') / 1e6:.0f} MB")
            for arguments in (("asof", "2026-02-20T12:00:00Z"), ("asof", "2026-02-20T12:00:00Z", "--service", "service-07"),
                              ("fingerprints",), ("lint",)):
                seconds = timed(options, store, *arguments)
                print(f"{' '.join(arguments)}: {seconds:.3f} s, median of {TIMED_RUNS}")
                check(seconds < LIMIT_S, f"{arguments[0]} took {seconds:.3f} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
