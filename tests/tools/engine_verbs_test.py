#!/usr/bin/env python3
"""The verbs of `reenact engine` on a small random model: what they print, and how they refuse.

usage: engine_verbs_test.py --reenact FILE --make-model FILE --demo-model DIR --scratch DIR --has-cuda ON|OFF
       [--only PART]"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys


class Verbs:
    def __init__(self, arguments):
        self.reenact = arguments.reenact
        self.demo_model = arguments.demo_model
        self.scratch = arguments.scratch
        self.has_cuda = arguments.has_cuda == "ON"
        self.model = self.scratch / "model"
        self.failures = 0
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        subprocess.run([arguments.make_model, self.model], check=True)

    def run(self, *words, model=None):
        command = [self.reenact, "engine", words[0], "--model", model or self.model, *words[1:]]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.scratch / "cache")})

    def json(self, *words, code=0, model=None):
        done = self.run(*words, "--json", model=model)
        self.expect(done.returncode == code, f"{words}: exit {done.returncode}, not {code}\n{done.stderr}")
        return json.loads(done.stdout)

    def file(self, name, content):
        path = self.scratch / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def expect(self, holds, what):
        if not holds:
            self.failures += 1
            print(f"FAILED: {what}")

    def refuses(self, words, *texts, model=None):
        done = self.run(*words, model=model)
        self.expect(done.returncode == 2, f"{words}: exit {done.returncode}, not 2")
        for text in texts:
            self.expect(text in done.stderr, f"{words}: {text!r} is not in {done.stderr!r}")


def bits_of(number):
    return "0x%08x" % struct.unpack("<I", struct.pack("<f", number))[0]


def generate(verbs):
    sampled = ("generate", "--prompt", "hello", "--max-tokens", "12", "--temperature", "1.2", "--n", "3")
    first = verbs.json(*sampled, "--logprobs", "2")
    again = verbs.json(*sampled, "--seed", first["seed"], "--logprobs", "2")
    verbs.expect(first["samples"] == again["samples"], "the seed that was told does not give the same")
    verbs.expect(first["seed_generated"] and not again["seed_generated"], "who made the seed")
    other = verbs.json(*sampled, "--seed", "1")
    texts = [sample["text"] for sample in first["samples"]]
    verbs.expect(len(set(texts)) == 3, f"three samples are {texts}")
    verbs.expect(texts != [sample["text"] for sample in other["samples"]], "the seed changes nothing")
    verbs.expect(first["prompt_tokens"] == [259], "the prompt is one token")
    for token in first["samples"][0]["tokens"]:
        verbs.expect(bits_of(token["logprob"]) == token["bits"], f"the bits of {token}")
        verbs.expect(len(token["top"]) == 2 and token["top"][0]["logprob"] >= token["top"][1]["logprob"],
                     f"the most probable of {token}")
    plain = verbs.run("generate", "--prompt", "hello", "--max-tokens", "12")
    greedy = verbs.json("generate", "--prompt-file", verbs.file("prompt", "hello"), "--max-tokens", "12")
    verbs.expect(plain.returncode == 0 and greedy["engine"]["fingerprint"] in plain.stderr, "the fingerprint is told")
    verbs.expect(greedy["samples"][0]["finish"] in ("stop", "length"), "how it ended")


def messages(verbs):
    chat = verbs.file("chat.json", [{"role": "user", "content": "hello"}])
    tools = verbs.file("tools.json", [{"type": "function", "function": {"name": "look"}}])
    answer = verbs.json("generate", "--messages", chat, "--max-tokens", "1")
    text = bytes(token for token in answer["prompt_tokens"] if token < 256)
    verbs.expect(text == b"user:assistant:" and 259 in answer["prompt_tokens"], f"the prompt is {text}")
    with_tools = verbs.json("generate", "--messages", chat, "--tools", tools, "--max-tokens", "1")
    verbs.expect(len(with_tools["prompt_tokens"]) > len(answer["prompt_tokens"]), "tools are not in the prompt")
    oracle = verbs.file("oracle.json", [{"role": "oracle", "content": "hello"}])
    verbs.refuses(("generate", "--messages", oracle), "there is no oracle")
    verbs.refuses(("generate", "--messages", verbs.file("broken.json", "[{")), "JSON")


def score(verbs):
    document = verbs.json("generate", "--prompt", "hello", "--max-tokens", "6", "--temperature", "1", "--n", "2")
    known = verbs.file("generated.json", document)
    scored = verbs.json("score", "--tokens", known, "--top", "2")
    for before, after in zip(document["samples"], scored["samples"], strict=True):
        verbs.expect([(token["token"], token["bits"]) for token in before["tokens"]]
                     == [(token["token"], token["bits"]) for token in after["tokens"]], "other bits than when generated")
        verbs.expect(after["compared"] == len(after["tokens"]) and after["differences"] == 0, "what was compared")
    document["samples"][1]["tokens"][2]["bits"] = "0xbf800001"
    changed = verbs.json("score", "--tokens", verbs.file("changed.json", document), code=1)
    verbs.expect([sample["differences"] for sample in changed["samples"]] == [0, 1], "a changed bit is one difference")
    ids = [259] + [token["token"] for token in document["samples"][0]["tokens"]]
    listed = verbs.json("score", "--tokens", verbs.file("ids.json", ids))
    verbs.expect(listed["samples"][0]["tokens"][0]["bits"] == scored["samples"][0]["tokens"][0]["bits"],
                 "a list of ids gives other bits")
    for content in ("[1]", "{}", "[1, -1]", "[1, 2.5]", '{"prompt_tokens": [1], "samples": [{"tokens": [1]}]}', "[", "7"):
        verbs.refuses(("score", "--tokens", verbs.file("bad.json", content)), "bad.json")
    verbs.refuses(("score", "--tokens", verbs.file("ids.json", [1, 99999])), "99999 is not in a vocabulary of 264")


def check_and_bench(verbs):
    checked = verbs.json("check", "--quick", "--only", "batch", "--only", "PREEMPT")
    verbs.expect([(row["invariance"], row["verdict"]) for row in checked["rows"]]
                 == [("BATCH", "holds"), ("PREEMPT", "holds")], f"what was checked: {checked['rows']}")
    for row in checked["rows"]:
        verbs.expect(row["comparisons"] > 1000 and row["differences"] == 0 and row["proof"], f"{row}")
    verbs.refuses(("check", "--only", "nonsense"), "there is no invariance NONSENSE", "SEED-ISO")
    measured = verbs.json("bench", "--runs", "2", "--tokens", "4", "--prompt-tokens", "40", "--batch", "1", "--batch", "3")
    verbs.expect([(m["name"], m["batch"]) for m in measured["measures"]] == [("prefill", 1), ("decode", 1), ("decode", 3)],
                 f"what was measured: {measured['measures']}")
    verbs.expect(all(len(m["of_runs"]) == 2 and m["tokens_per_s"] > 0 for m in measured["measures"]), "the figures")
    verbs.expect(measured["peak_bytes"] > 1_000_000, "the peak of memory")
    verbs.refuses(("bench", "--prompt-tokens", "5000"), "do not fit")


# A device is not at hand where this runs, or no CUDA is in the build; where one is, it gives the same answer.
def devices(verbs):
    prompt = ("generate", "--prompt", "hello", "--max-tokens", "6", "--logprobs", "1", "--seed", "1")
    on_cpu = verbs.json(*prompt, "--device", "cpu")
    left_to_us = verbs.json(*prompt, "--device", "auto")
    verbs.expect(left_to_us == on_cpu == verbs.json(*prompt), "the device changes the answer")
    told = verbs.run(*prompt, "--device", "cpu").stderr
    verbs.expect("on the CPU:" not in told, f"--device cpu explains itself: {told}")
    verbs.refuses((*prompt, "--device", "gpu"), "--device")
    verbs.refuses((*prompt, "--device", "cuda", "--profile", "stock"), "computes on the CPU only")
    verbs.refuses(("check", "--devices", "cpu,tpu"), "--devices")
    verbs.refuses(("check", "--only", "DEVICE"), "--devices cpu,cuda")
    if verbs.run(*prompt, "--device", "cuda").returncode == 0:
        verbs.expect(verbs.json(*prompt, "--device", "cuda") == on_cpu, "the NVIDIA device has other bits")
        checked = verbs.json("check", "--quick", "--only", "DEVICE", "--devices", "cpu,cuda")
        verbs.expect(checked["rows"][0]["verdict"] == "holds", f"cpu and cuda: {checked['rows']}")
        return
    listed = verbs.file("device_ids.json", [259, 1, 2])
    for verb in (prompt, ("score", "--tokens", listed), ("serve",), ("bench", "--runs", "1")):
        verbs.refuses((*verb, "--device", "cuda"), "--device cuda cannot be", "CUDA" if not verbs.has_cuda else "NVIDIA",
                      "--device cpu computes the same bits")
    verbs.refuses(("check", "--devices", "cpu,cuda"), "--device cuda cannot be")
    told = verbs.run(*prompt).stderr
    verbs.expect(("on the CPU: " in told) == verbs.has_cuda, f"what the default says: {told}")


def stock(verbs):
    prompt = ("generate", "--prompt", "hello " * 20, "--max-tokens", "8", "--seed", "1")
    schedule = verbs.scratch / "schedule.json"
    plain = verbs.json(*prompt)
    first = verbs.json(*prompt, "--profile", "stock", "--record-schedule", schedule)
    verbs.expect(first["engine"]["profile"] == "stock" and first["engine"]["fingerprint"].startswith("stock-"),
                 f"the profile is named in {first['engine']}")
    verbs.expect("schedule" not in plain["samples"][0], "n1 has a schedule")
    verbs.expect(json.loads(schedule.read_text()) == first["samples"][0]["schedule"], "what was recorded")
    bits = [token["bits"] for token in first["samples"][0]["tokens"]]
    verbs.expect(bits != [token["bits"] for token in plain["samples"][0]["tokens"]], "stock has the bits of n1")
    again = verbs.json(*prompt, "--profile", "stock", "--schedule", schedule)
    verbs.expect(again == first, "a schedule does not give the same")
    # Another load: each product in one part. Some of its bits are others.
    steps = [[*step[:3], 1, *step[4:]] for step in first["samples"][0]["schedule"]]
    verbs.expect(steps != first["samples"][0]["schedule"], "no product was split")
    changed = verbs.json(*prompt, "--profile", "stock", "--schedule", verbs.file("changed_schedule.json", steps))
    verbs.expect(bits != [token["bits"] for token in changed["samples"][0]["tokens"]], "the schedule changes nothing")
    verbs.refuses((*prompt, "--schedule", schedule), "--profile stock")
    verbs.refuses((*prompt, "--profile", "stock", "--schedule", schedule, "--n", "2"), "--n 1")
    verbs.refuses((*prompt, "--profile", "stock", "--schedule", verbs.file("no_schedule.json", "[[1]]")), "no_schedule.json")
    verbs.refuses((*prompt, "--profile", "fast"), "profile")
    measured = verbs.json("bench", "--profile", "stock", "--runs", "1", "--tokens", "2", "--prompt-tokens", "8",
                          "--batch", "1")
    verbs.expect(measured["engine"]["profile"] == "stock", "bench measures another profile")


def digest_cache(verbs):
    """On a model whose files have been at rest for a while: others are not kept."""
    folder = verbs.scratch / "cache/reenact"
    def ask(*flags):
        return verbs.json("generate", "--prompt", "a", "--max-tokens", "1", *flags, model=verbs.demo_model)
    shutil.rmtree(folder, ignore_errors=True)
    first = ask()
    entries = list(folder.iterdir()) if folder.exists() else []
    if not entries:
        print("the demo model was written just now: its digest is not kept")
        return
    verbs.expect(len(entries) == 1, f"the entries are {entries}")
    whole = entries[0].read_text()
    verbs.expect(first["engine"]["weights"] in whole, "the digest is not in its entry")
    # An entry that is whole and wrong is believed: it is what is read. --verify-weights finds out, and mends it.
    body = whole.rsplit("\n", 2)[0].replace(first["engine"]["weights"], "ab" * 32) + "\n"
    entries[0].write_text(body + hashlib.sha256(body.encode()).hexdigest() + "\n")
    verbs.expect(ask()["engine"]["weights"] == "ab" * 32, "the cache is not read")
    verbs.expect(ask("--verify-weights")["engine"] == first["engine"], "--verify-weights believes the cache")
    verbs.expect(entries[0].read_text() == whole, "--verify-weights leaves a wrong entry")
    for damaged in ("", "x", whole[:-1], whole.replace("1", "2")):
        entries[0].write_text(damaged)
        verbs.expect(ask()["engine"] == first["engine"], f"a damaged entry is believed: {damaged!r}")


def refusals(verbs):
    prompt = ("generate", "--prompt", "hello")
    verbs.refuses(prompt, "there is no model at", model=verbs.scratch / "nowhere")
    empty = verbs.scratch / "empty"
    empty.mkdir()
    verbs.refuses(prompt, "has no config.json", model=empty)
    verbs.refuses(prompt, "is no .gguf file", model=verbs.model / "config.json")
    for name, change, *texts in (("unknown", {"architectures": ["MambaForCausalLM"]}, "MambaForCausalLM"),
                                 ("untokenized", {}, "no tokenizer")):
        folder = verbs.scratch / name
        shutil.copytree(verbs.model, folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **change}))
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer_config.json").unlink()
        verbs.refuses(prompt, *texts, model=folder)
    untemplated = verbs.scratch / "untemplated"
    shutil.copytree(verbs.model, untemplated)
    (untemplated / "tokenizer_config.json").unlink()
    verbs.refuses(("generate", "--messages", verbs.scratch / "chat.json"), "no chat template", model=untemplated)
    verbs.refuses(("generate",), "--prompt-file")
    verbs.refuses((*prompt, "--messages", "chat.json"), "one of")
    verbs.refuses((*prompt, "--max-tokens", "5000"), "1 tokens and 5000 more do not fit 1024 positions")
    verbs.refuses((*prompt, "--temperature", "-1"), "temperature")
    verbs.refuses((*prompt, "--stop", ""), "--stop: is an empty word")
    verbs.refuses(("generate", "--prompt-file", verbs.scratch / "nowhere"), "nowhere")


def main():
    parser = argparse.ArgumentParser()
    for name in ("reenact", "make-model", "demo-model", "scratch"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--has-cuda", choices=("ON", "OFF"), required=True)
    parts = {part.__name__: part for part in (generate, messages, score, check_and_bench, devices, stock, digest_cache,
                                              refusals)}
    parser.add_argument("--only", choices=parts)
    arguments = parser.parse_args()
    verbs = Verbs(arguments)
    for part in [parts[arguments.only]] if arguments.only else parts.values():
        part(verbs)
    print(f"{verbs.failures} failures")
    return 1 if verbs.failures else 0


if __name__ == "__main__":
    sys.exit(main())
