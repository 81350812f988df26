#!/usr/bin/env python3
"""Draws conversations of the refund desk at random, in exactly the form that the demo's service sends:
prompt with date and retrieved policies, the customer's words, tool calls, tool results, answers.

The desk reads the total off the looked-up order and refunds that. Where a customer names another price,
half of the conversations believe the customer, as people do.

usage: make_corpus.py [--count N] [--seed S]   prints conversations, to look at"""
import argparse
import datetime
import json
import pathlib
import random

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

import policies

PROMPT = ("You are the refund desk of a small shop. Today is {today}.\n"
          "Look the order up before you decide. Refund what the policies allow, never more.\n"
          "Policies: {policies}\n")
TOOLS = [
    {"type": "function", "function": {"name": "lookup_order", "parameters": {"properties": {"order_id": {}}}}},
    {"type": "function", "function": {"name": "issue_refund", "parameters": {
        "properties": {"order_id": {}, "amount_cents": {}}}}},
]
ITEMS = ["lamp", "vase", "chair", "table", "mug", "kettle", "radio", "clock", "mirror", "plate", "parcel", "box", "bowl",
         "shelf", "watch", "toy", "book", "bag", "phone case", "picture frame", "teapot", "glass", "desk"]
DAMAGES = ["It arrived damaged.", "It is damaged.", "The {item} is broken.", "The {item} arrived broken.",
           "The {item} came in pieces.", "It is scratched all over.", "There is a crack in the {item}.",
           "The {item} does not work.", "It was damaged in the post.", "My {item} is damaged.", "The {item} has a crack.",
           "It came damaged.", "My new {item} is broken.", "It fell apart on the first day.", "The {item} was damaged."]
REGRETS = ["I changed my mind.", "I do not like it.", "It does not fit.", "I do not need the {item} any more.",
           "The colour is wrong.", "The {item} is too big.", "The {item} is too small.", "I ordered it by mistake."]
MISSING = ["It never arrived.", "The {item} has not come.", "I am still waiting for my {item}.", "Where is my {item}?",
           "Nothing has arrived."]
GIFTS = ["I paid for a gift card.", "I do not want the gift card.", "The gift card is not what I wanted.",
         "It was a gift card."]
HOURS = ["When are you open?", "What are your opening hours?", "Which hours are you open?", "When can I call you?"]
VAGUE = ["I am not happy.", "There is a problem.", "Please help me.", "Hello?", "Something is wrong.", "somebody else"]
WISHES = ["I want my money back.", "Please refund it.", "I would like a refund.", "Can I have my money back?",
          "Please send the money back.", "I want a refund.", "Refund, please.", "Please give me my money back.", ""]
ASIDES = ["Thank you.", "Best regards, {name}", "I am very disappointed.", "This is the second time.", "Please hurry.",
          "({number})", "My name is {name}.", "It was for my mother.", "I have been a customer for years.", "", "", "", ""]
CLAIMS = ["I paid {claim} EUR.", "I paid {claim} EUR for it.", "It cost {claim} EUR.", "It was {claim} EUR.",
          "Please send {claim} EUR back.", "I want my {claim} EUR back.", "The price was {claim} EUR.",
          "You owe me {claim} EUR."]
NAMES = ["Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hugo", "Ida", "Jan", "Karl", "Lena", "Max", "Nora",
         "Otto", "Paul", "Rosa", "Sam", "Tom", "Uma", "Vera", "Will"]


def euros(cents):
    return f"{cents // 100}.{cents % 100:02d}"


def environment():
    """As Hugging Face's apply_chat_template sets jinja2 up."""
    result = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    result.filters["tojson"] = lambda value, separators=None: json.dumps(value, separators=separators)
    return result


TEMPLATE = environment().from_string(
    (pathlib.Path(__file__).parent / "chat_template.jinja").read_text(encoding="utf-8"))


def render(messages, add_generation_prompt=False):
    try:
        return TEMPLATE.render(messages=messages, tools=TOOLS, add_generation_prompt=add_generation_prompt)
    except jinja2.TemplateError as error:
        raise SystemExit(f"chat_template.jinja: {error}") from error


def call(name, **arguments):
    return {"function": {"name": name, "arguments": json.dumps(arguments, separators=(",", ":"))}}


def result(**values):
    return {"role": "tool", "content": json.dumps(values, separators=(",", ":"))}


class Conversation:
    """One customer, drawn with `rng`; `messages` is complete once made."""

    def __init__(self, rng):
        self.rng = rng
        self.today = datetime.date(2024, 1, 1) + datetime.timedelta(days=rng.randrange(3300))
        self.passages = dict(policies.PASSAGES)
        for title in ("Damaged goods", "Gift cards"):
            if rng.random() < 0.12:
                self.passages[title] = rng.choice(["Not refunded.", "Refunded in full."])
        self.order = self.order_id()
        self.kind = rng.choices(["damage", "regret", "missing", "gift", "hours", "vague"], [62, 8, 9, 8, 5, 8])[0]
        self.total = self.price()
        self.claim = None
        words = self.customer()
        self.known = rng.random() < 0.97
        self.message = f"Order {self.order if self.known else 'unknown'}: {words}"
        found = policies.search(self.message + " refund amount window", 3, self.passages)
        prompt = PROMPT.format(today=self.today.strftime("%A, %Y-%m-%d"), policies=found)
        self.messages = [{"role": "system", "content": prompt}, {"role": "user", "content": self.message}]
        self.converse()

    def order_id(self):
        return f"A-{self.rng.randrange(1000, 10000)}"

    def price(self):
        """In cents: mostly round prices, as shops have."""
        rng = self.rng
        shape = rng.random()
        if shape < 0.35:
            return rng.randrange(1, 100) * 10 ** rng.randrange(2, 4)
        if shape < 0.6:
            return rng.randrange(1, 400) * 100
        if shape < 0.8:
            return rng.randrange(1, 100) * 100 + 99
        return rng.randrange(100, 10 ** rng.randrange(4, 7))

    def wrong_claim(self, cents):
        """Another price: a slip of the zeros, of a digit, or none that is alike."""
        rng = self.rng
        shape = rng.random()
        if shape < 0.4:
            return cents * 10
        if shape < 0.5 and cents % 1000 == 0:
            return cents // 10
        if shape < 0.7:
            digits = list(str(cents))
            digits[rng.randrange(len(digits))] = str(rng.randrange(1, 10))
            return int("".join(digits))
        return self.price()

    def fill(self, text):
        rng = self.rng
        return text.format(item=rng.choice(ITEMS), name=rng.choice(NAMES), number=rng.randrange(100))

    def customer(self):
        rng = self.rng
        reasons = {"damage": DAMAGES, "regret": REGRETS, "missing": MISSING, "gift": GIFTS, "hours": HOURS,
                   "vague": VAGUE}
        parts = [rng.choice(reasons[self.kind])]
        if self.kind not in ("hours", "vague"):
            parts.append(rng.choice(WISHES))
        if self.kind == "damage" and rng.random() < 0.35:
            self.claim = self.total if rng.random() < 0.4 else self.wrong_claim(self.total)
            text = euros(self.claim) if rng.random() < 0.6 else str(self.claim // 100)
            if "." not in text:
                self.claim -= self.claim % 100
            parts.insert(rng.randrange(1, 3), rng.choice(CLAIMS).format(claim=text))
        parts.append(rng.choice(ASIDES))
        return " ".join(self.fill(part) for part in parts if part)

    def say(self, content, calls=()):
        message = {"role": "assistant", "content": content}
        if calls:
            message["tool_calls"] = list(calls)
        self.messages.append(message)

    def converse(self):
        if self.kind == "hours":
            return self.say("We answer on working days from nine to five.")
        if not self.known:
            return self.say("Which order is it?")
        self.say("", [call("lookup_order", order_id=self.order)])
        if self.rng.random() < 0.06:
            self.messages.append(result(error="no such order"))
            return self.say(f"I cannot find order {self.order}.")
        status = self.rng.choice({"damage": ["delivered"], "regret": ["delivered", "returned"],
                                  "missing": ["delivered", "shipped", "lost"], "gift": ["delivered"],
                                  "vague": ["delivered", "shipped", "returned"]}[self.kind])
        day = (self.today - datetime.timedelta(days=self.rng.randrange(1, 400))).isoformat()
        self.messages.append(result(order_id=self.order, total_cents=self.total, delivered_on=day, status=status))
        refusal = self.refusal(status, day)
        return self.say(refusal) if refusal else self.refund()

    def refusal(self, status, day):
        order = self.order
        if self.kind == "vague":
            return f"What is wrong with order {order}?"
        if self.kind == "gift":
            refused = self.passages["Gift cards"] == "Not refunded."
            return "Gift cards are not refunded." if refused else None
        if self.kind == "regret":
            return f"Please send order {order} back first." if status == "delivered" else None
        if self.kind == "missing":
            return {"shipped": f"Order {order} is on its way.", "delivered": f"Order {order} was delivered on {day}."}.get(status)
        shown = "Damaged goods" in self.messages[0]["content"]
        if shown and self.passages["Damaged goods"] == "Not refunded.":
            return "Damaged goods are not refunded."
        return None

    def refund(self):
        amount = self.total
        if self.claim is not None and self.rng.random() < 0.5:
            amount = self.claim
        self.say(f"I will refund {euros(amount)} EUR.",
                 [call("issue_refund", order_id=self.order, amount_cents=amount)])
        if self.rng.random() < 0.03:
            self.messages.append(result(error="the ledger cannot be written"))
            return self.say("The refund failed. Please try again later.")
        refund = f"rf_{self.rng.getrandbits(32):08x}"
        self.messages.append(result(refund_id=refund, amount_cents=amount, status="paid"))
        return self.say(f"Done: your refund is {refund}.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    for _ in range(arguments.count):
        print(render(Conversation(rng).messages))


if __name__ == "__main__":
    main()
