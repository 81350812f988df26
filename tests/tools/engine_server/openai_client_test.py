#!/usr/bin/env python3
"""The official client of OpenAI's API against served models: openai_client.mjs.

usage: openai_client_test.py --reenact FILE --make-model FILE --client DIR --scratch DIR
Exits with 77 (skipped) where the client is not installed: see tests/tools/engine_server/install."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

from served_model import ServedModel

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "make-model", "client", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if not (arguments.client / "installed").exists():
        print("skipped: the npm package openai is not installed; run tests/tools/engine_server/install")
        return 77
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    arguments.scratch.mkdir(parents=True)
    # A module is looked for beside the file that imports it.
    shutil.copy(HERE / "openai_client.mjs", arguments.scratch)
    (arguments.scratch / "node_modules").symlink_to((arguments.client / "node_modules").resolve())
    served = [ServedModel(arguments.reenact, arguments.make_model, arguments.scratch, "random"),
              ServedModel(arguments.reenact, arguments.make_model, arguments.scratch, "scripted", ["scripted"])]
    done = subprocess.run([arguments.client / "node", arguments.scratch / "openai_client.mjs",
                           *(model.url for model in served)], timeout=200)
    failed = done.returncode != 0
    said = ""
    for model in served:
        code, text = model.stop()
        said += text
        if code != 0:
            failed = True
            print(f"the server ended with {code}:\n{text}")
    if not re.search(r"[1-9][0-9]* hung up", said):
        failed = True
        print("no server noticed that a client hung up")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
