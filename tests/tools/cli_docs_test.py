#!/usr/bin/env python3
"""docs/cli.md is what --help says. `--update` writes it anew."""

import argparse
import difflib
import pathlib
import subprocess
import sys

VERBS = ["record", "proxy", "mcp", "list", "show", "search", "diff",
         "incident open", "incident list", "incident note", "incident close", "incident show",
         "asof", "snapshot", "fingerprints", "lint", "drift baseline", "drift check", "eval run", "eval report", "compare",
         "replay", "fork", "rerun", "diagnose", "explain", "envelope",
         "serve", "fixture add", "fixture run", "fixture update",
         "export", "import", "verify", "sign", "keygen", "redact", "doctor",
         "engine generate", "engine score", "engine serve", "engine check", "engine bench"]


def help_of(reenact, words):
    done = subprocess.run([reenact] + words + ["--help"], capture_output=True, text=True, check=True,
                          env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())


def verbs_in_help(text):
    """The first words of the lines under "Subcommands:"."""
    lines = text.split("Subcommands:\n", 1)[1].splitlines() if "Subcommands:\n" in text else []
    return [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reenact", required=True)
    parser.add_argument("--docs", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    top = help_of(options.reenact, [])
    missing = set(verbs_in_help(top)) ^ {verb.split()[0] for verb in VERBS}
    if missing:
        sys.exit("verbs that this list or --help lacks: %s" % ", ".join(sorted(missing)))
    page = ["# The command line", "", "What `--help` says, verb by verb; "
            "`tests/tools/cli_docs_test.py --update` writes this page.", "",
            "## reenact", "", "```", top, "```"]
    for verb in VERBS:
        text = help_of(options.reenact, verb.split())
        if "Example:" not in text:
            sys.exit("`reenact %s --help` has no example" % verb)
        page += ["", "## reenact " + verb, "", "```", text, "```"]
    wanted = "\n".join(page) + "\n"
    if options.update:
        options.docs.write_text(wanted)
        return
    actual = options.docs.read_text() if options.docs.exists() else ""
    if actual != wanted:
        sys.stdout.writelines(difflib.unified_diff(actual.splitlines(True), wanted.splitlines(True),
                                                   str(options.docs), "--help"))
        sys.exit("%s does not agree with --help; --update writes it anew" % options.docs)


if __name__ == "__main__":
    main()
