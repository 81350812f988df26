#!/usr/bin/env python3
"""Trains the demo's model and writes it as a Hugging Face folder.

usage: train.py --out DIR [--minutes M] [--steps N] [--seed S]   see README.md for the recipe"""
import argparse
import json
import math
import pathlib
import random
import struct
import time

import torch
from torch.nn import functional as F

import bpe
from llama import CONFIG, Llama
from make_corpus import Conversation, render
from muon import Muon

HERE = pathlib.Path(__file__).parent
VOCABULARY = 704
BATCH = 8
WARM_UP = 50
SHORT_STAGE = 0.5  # In this share of the training most conversations come without their system prompt.


def learn_tokenizer(rng):
    """From conversations without the ids of refunds: no merge of random letters is of use."""
    return bpe.Tokenizer.learn([render(Conversation(rng).messages).replace("rf_", "rf_ ") for _ in range(1500)],
                               VOCABULARY)


class Batches:
    """Conversations as token ids with the weight of each in the loss. Those of like length stand together."""

    def __init__(self, tokenizer, rng):
        self.tokenizer, self.rng, self.ready = tokenizer, rng, []
        self.short_share = 0.0
        self.turn = tokenizer.encode("<|im_start|>assistant\n")
        self.end = tokenizer.encode("<|im_end|>")[0]

    def encode(self, conversation):
        text = render(conversation.messages)
        if self.rng.random() < self.short_share:
            text = text[text.index("<|im_start|>user"):]
        ids = self.tokenizer.encode(text)
        weights, inside = [], False
        for at, token in enumerate(ids):
            weights.append(1.0 if inside else 0.1)
            if inside and token == self.end:
                inside = False
            elif ids[at - len(self.turn) + 1:at + 1] == self.turn:
                inside = True
        return ids, weights

    def next(self):
        if not self.ready:
            drawn = sorted((self.encode(Conversation(self.rng)) for _ in range(8 * BATCH)), key=lambda one: len(one[0]))
            self.ready = [drawn[at:at + BATCH] for at in range(0, len(drawn), BATCH)]
            self.rng.shuffle(self.ready)
        batch = self.ready.pop()
        length = max(len(ids) for ids, _ in batch)
        ids = torch.tensor([ids + [0] * (length - len(ids)) for ids, _ in batch])
        weights = torch.tensor([weights + [0.0] * (length - len(weights)) for _, weights in batch])
        return ids, weights


def learning_rate(done, step):
    """Of the peak: a line up, a plateau, and a line down over the last half."""
    return min(1.0, 2.0 * (1.0 - done)) * min(1.0, (step + 1) / WARM_UP)


def write_safetensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        values = tensor.detach().to(torch.float16).contiguous().numpy().tobytes()
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_folder(folder, model, tokenizer):
    folder.mkdir(parents=True, exist_ok=True)
    end = tokenizer.ids["<|im_end|>"]
    config = {**CONFIG, "vocab_size": len(tokenizer.pieces), "eos_token_id": end}
    tokenizer_config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": CONFIG["max_position_embeddings"],
                        "bos_token": None, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
                        "clean_up_tokenization_spaces": False,
                        "chat_template": (HERE / "chat_template.jinja").read_text(encoding="utf-8").rstrip("\n")}
    generation = {"eos_token_id": [end], "do_sample": False}
    for name, values in (("config", config), ("tokenizer_config", tokenizer_config), ("generation_config", generation)):
        (folder / f"{name}.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    (folder / "tokenizer.json").write_text(tokenizer.to_json() + "\n", encoding="utf-8")
    write_safetensors(folder / "model.safetensors", dict(model.named_parameters()))


def train(model, batches, arguments):
    matrices = [p for name, p in model.named_parameters() if p.dim() == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.dim() != 2 or "embed" in name]
    optimizers = [(Muon(matrices), 0.02), (torch.optim.AdamW(others, betas=(0.9, 0.98), weight_decay=0.0), 4e-3)]
    began, step, shown = time.monotonic(), 0, None
    while True:
        done = (time.monotonic() - began) / (60 * arguments.minutes) if arguments.minutes else step / arguments.steps
        if done >= 1:
            return step, shown, time.monotonic() - began
        batches.short_share = 0.85 if done < SHORT_STAGE else 0.0
        for optimizer, peak in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = peak * learning_rate(done, step)
        ids, weights = batches.next()
        weights = weights[:, 1:].flatten()
        logits = model.head(model.hidden(ids[:, :-1])).flatten(0, 1)
        losses = F.cross_entropy(logits, ids[:, 1:].flatten(), reduction="none")
        loss = (losses * weights).sum() / weights.sum()
        model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
        answers = weights == 1.0
        answer_loss = float(losses[answers].mean())
        shown = answer_loss if shown is None else 0.98 * shown + 0.02 * answer_loss
        if step % 50 == 0:
            print(f"step {step}, {time.monotonic() - began:.0f} s: loss of the answers {shown:.4f} (now {answer_loss:.4f})", flush=True)
        if step % 200 == 199:
            write_folder(arguments.out, model, batches.tokenizer)
        if not math.isfinite(shown):
            raise SystemExit("the loss is not finite")
        step += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(arguments.seed)
    rng = random.Random(arguments.seed)
    tokenizer = learn_tokenizer(rng)
    model = Llama(len(tokenizer.pieces))
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(tokenizer.pieces)} tokens", flush=True)
    step, loss, seconds = train(model, Batches(tokenizer, rng), arguments)
    write_folder(arguments.out, model, tokenizer)
    print(f"{step} steps in {seconds:.0f} s, loss of the answers {loss:.4f}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
