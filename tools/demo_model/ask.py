#!/usr/bin/env python3
"""Lets a trained model answer customers, its tools played by this script, and prints what it says with
the tokens that were near-ties: to look at, and to measure how often it is right.

usage: ask.py MODEL_DIR [--count N] [--seed S]   fresh conversations of the corpus, how many it gets right
       ask.py MODEL_DIR --golden FILE           what it says in conversations of the corpus, a line of JSON each
       ask.py MODEL_DIR --message TEXT [--cents N] [--date YYYY-MM-DD] [--order A-1042]"""
import argparse
import datetime
import json
import pathlib
import random

import torch

import policies
from llama import load
from make_corpus import PROMPT, TOOLS, Conversation, call, render, result

NEAR_TIE = 0.1  # In nats, as `reenact show` counts them.


def answer(model, tokenizer, messages):
    """The next assistant turn as text, and its near-ties as (text of the two tokens, margin)."""
    ids = tokenizer.encode(render(messages, add_generation_prompt=True))
    out, scores = model.greedy(ids, tokenizer.ids["<|im_end|>"])
    ties = [(tokenizer.pieces[a[0]], tokenizer.pieces[b[0]], round(a[1] - b[1], 3))
            for a, b in scores if a[1] - b[1] < NEAR_TIE]
    return tokenizer.decode(out[:-1]), ties


def spoken(message):
    """An assistant message as the template prints it."""
    text = render([message])
    return text[text.index("assistant\n") + len("assistant\n"):-len("<|im_end|>\n")]


def grade(model, tokenizer, arguments):
    rng = random.Random(arguments.seed)
    right, turns, claims, ties = 0, 0, 0, 0
    for _ in range(arguments.count):
        conversation = Conversation(rng)
        for at, message in enumerate(conversation.messages):
            if message["role"] != "assistant":
                continue
            said, near = answer(model, tokenizer, conversation.messages[:at])
            ties += bool(near)
            turns += 1
            if said == spoken(message):
                right += 1
            elif conversation.claim not in (None, conversation.total):
                claims += 1
            else:
                print(f"{conversation.message}\n  wanted {spoken(message)}\n  said   {said}")
    print(f"{turns} turns: {right} as the corpus has them, {claims} more where the customer named another price, "
          f"{turns - right - claims} wrong; {ties} with a near-tie")


def incident():
    """What stands before the wrong refund of tools/demo/run_demo."""
    message = "Order A-1046: It arrived damaged. Please refund it."
    found = policies.search(message + " refund amount window", 3, policies.PASSAGES)
    return [{"role": "system", "content": PROMPT.format(today="Monday, 2026-03-02", policies=found)},
            {"role": "user", "content": message},
            {"role": "assistant", "content": "", "tool_calls": [call("lookup_order", order_id="A-1046")]},
            result(order_id="A-1046", total_cents=129900, delivered_on="2026-02-26", status="delivered")]


def write_golden(model, tokenizer, arguments):
    """The incident, then conversations of the corpus up to a turn of the desk, and what the model says."""
    rng = random.Random(arguments.seed)
    with open(arguments.golden, "w", encoding="utf-8") as out:
        print(json.dumps({"tools": TOOLS}), file=out)
        print(json.dumps({"messages": incident(), "answer": answer(model, tokenizer, incident())[0]}), file=out)
        for _ in range(arguments.count):
            conversation = Conversation(rng)
            for at, message in enumerate(conversation.messages):
                if message["role"] == "assistant":
                    said, _ = answer(model, tokenizer, conversation.messages[:at])
                    print(json.dumps({"messages": conversation.messages[:at], "answer": said}), file=out)


def converse(model, tokenizer, arguments):
    today = datetime.date.fromisoformat(arguments.date).strftime("%A, %Y-%m-%d")
    message = f"Order {arguments.order}: {arguments.message}"
    found = policies.search(message + " refund amount window", 3, policies.PASSAGES)
    messages = [{"role": "system", "content": PROMPT.format(today=today, policies=found)},
                {"role": "user", "content": message}]
    results = [{"order_id": arguments.order, "total_cents": arguments.cents, "delivered_on": "2026-02-20",
                "status": "delivered"}, {"refund_id": "rf_9a31c07e", "amount_cents": arguments.cents, "status": "paid"}]
    for values in [*results, None]:
        said, ties = answer(model, tokenizer, messages)
        print(f"{said}   {ties or ''}")
        if "<tool_call>" not in said or values is None:
            break
        content, asked = said.removesuffix("</tool_call>").split("<tool_call>")
        asked = json.loads(asked)
        messages.append({"role": "assistant", "content": content, "tool_calls": [call(asked["name"], **asked["arguments"])]})
        values = {**values, **{k: v for k, v in asked["arguments"].items() if k == "amount_cents"}}
        messages.append({"role": "tool", "content": json.dumps(values, separators=(",", ":"))})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--golden")
    parser.add_argument("--message", action="append")
    parser.add_argument("--cents", type=int, default=12000)
    parser.add_argument("--date", default="2026-03-02")
    parser.add_argument("--order", default="A-1042")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model, tokenizer = load(arguments.model)
    if arguments.golden:
        return write_golden(model, tokenizer, arguments)
    if not arguments.message:
        return grade(model, tokenizer, arguments)
    for text in list(arguments.message):
        arguments.message = text
        print(f"-- {text}")
        converse(model, tokenizer, arguments)


if __name__ == "__main__":
    main()
