#!/usr/bin/env python3
"""Renders thousands of conversations with the chat templates of real models, with our engine and with
others, and wants the same bytes from all, or an error from all. The judge is jinja2, which Hugging Face
renders with; where it is not installed, @huggingface/jinja, on conversations that the two agree on.

Where those two disagree jinja2 is right. Seen with @huggingface/jinja 0.5.11:
- str + list, str + dict and str + None concatenate; in Python they raise.
- trim, string, selectattr and reject raise for operands that jinja2 takes: None, undefined, strings, lists.
- for over a string or an undefined value raises.
- lstrip and rstrip ignore their argument and strip all white space; trim keeps the spaces of Unicode.
- lists and dicts print as JSON, not as Python prints them.
- == between a string and false holds for the empty string.

usage: peer_test.py --render FILE --templates DIR --scratch DIR
Exits with 77 (skipped) where the templates are not installed: see the script install."""
import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DEMO_MODEL = HERE.parents[2] / "tools/demo_model/refund-1/tokenizer_config.json"
RENDERINGS = 6000
SEED = 20260726


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def run_to(path, command):
    with open(path, "wb") as out:
        subprocess.run([str(part) for part in command], stdout=out, check=True)
    return read_lines(path)


def jinja2_python():
    """An interpreter that has jinja2: this one, or Debian's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import jinja2"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def is_plain(variables, result):
    """Whether the two others agree on such conversations."""
    messages = variables["messages"]
    if "error" in result or not messages:
        return False
    contents = [message.get("content") for message in messages]
    return ("documents" not in variables or variables["documents"] is None) and all(
        isinstance(text, str) and text and text == text.strip() and text.isascii() and "think" not in text
        for text in contents) and not any("tool_calls" in message for message in messages)


def differs(expected, actual):
    """An address in a text is no text: our engine refuses to print one."""
    if "text" in expected and " at 0x" in expected["text"]:
        return "text" in actual
    return expected.get("text") != actual.get("text")


def compare(cases, expected, actual, describe):
    found = collections.Counter()
    for (name, _), right, ours in zip(cases, expected, actual, strict=True):
        kind = "refused" if "error" in right else "rendered"
        if differs(right, ours):
            kind = "different"
            if describe and found[kind] < 5:
                print(f"{name}:\n  expected {json.dumps(right)[:2000]}\n  actual   {json.dumps(ours)[:2000]}")
        found[kind] += 1
    return found


def check_constructs(python, scratch):
    """The expected texts of construct_test.cc are jinja2's own."""
    variables = json.loads((HERE / "data/variables.json").read_text(encoding="utf-8"))
    constructs = read_lines(HERE / "data/constructs.jsonl")
    cases = scratch / "constructs.jsonl"
    cases.write_text("".join(json.dumps({"source": c["source"], "variables": variables}) + "\n" for c in constructs))
    results = run_to(scratch / "constructs.jinja2.jsonl", [python, HERE / "render_jinja2.py", cases])
    wrong = [c["source"] for c, result in zip(constructs, results, strict=True) if c.get("text") != result.get("text")]
    for source in wrong:
        print(f"data/constructs.jsonl is not what jinja2 renders: {source!r}")
    print(f"{len(constructs)} constructs as jinja2 renders them, {len(wrong)} not")
    return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--render", required=True)
    parser.add_argument("--templates", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if not (options.templates / "installed").exists():
        skip("no templates; tests/local_engine/chat_template/install fetches them")
    if shutil.which("node") is None:
        skip("node is missing (Debian package nodejs)")
    options.scratch.mkdir(parents=True, exist_ok=True)

    case_file = options.scratch / "cases.jsonl"
    lines = run_to(case_file, ["node", HERE / "render_huggingface.mjs", options.templates, RENDERINGS, SEED,
                               DEMO_MODEL])
    ours = run_to(options.scratch / "ours.jsonl", [options.render, case_file])
    cases, huggingface, name = [], [], None
    for line in lines:
        name = line.get("template", name)
        if "variables" in line:
            cases.append((name, line["variables"]))
            huggingface.append(line)
    python = jinja2_python()
    good = True
    if python is not None:
        judge = "jinja2"
        right = run_to(options.scratch / "jinja2.jsonl", [python, HERE / "render_jinja2.py", case_file])
        good = check_constructs(python, options.scratch)
        print(f"@huggingface/jinja against jinja2: {dict(compare(cases, right, huggingface, False))}")
    else:
        judge = "@huggingface/jinja (python3-jinja2 is missing), plain conversations only"
        plain = [i for i, (_, variables) in enumerate(cases) if is_plain(variables, huggingface[i])]
        cases, right, ours = ([rows[i] for i in plain] for rows in (cases, huggingface, ours))

    found = compare(cases, right, ours, True)
    print(f"{len({name for name, _ in cases})} templates, {len(cases)} conversations against {judge}: {dict(found)}")
    # One byte more in one text is seen.
    planted = next(i for i, result in enumerate(ours) if "text" in result)
    ours[planted] = {"text": ours[planted]["text"] + " "}
    if compare(cases, right, ours, False)["different"] != found["different"] + 1:
        print("a planted difference was not seen")
        good = False
    return 0 if good and found["different"] == 0 and found["rendered"] > len(cases) / 2 else 1


sys.exit(main())
