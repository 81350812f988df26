"""The knowledge base of the demo, as tools/demo/knowledge_base.cc ranks and prints it."""
import json
import math
import re

PASSAGES = {
    "Refund window": "Within 30 days of delivery.",
    "Refund amount": "The order total, never more.",
    "Damaged goods": "Refunded in full.",
    "Shipping costs": "Refunded when everything is sent back.",
    "Gift cards": "Not refunded.",
    "Opening hours": "Working days from nine to five.",
}


def words(text):
    return re.findall(r"[0-9a-z]+", text.lower())


def search(query, count, passages):
    """The best passages by shared words, rare words counting more, as JSON."""
    held = [words(f"{title} {text}") for title, text in passages.items()]
    ranked = []
    for number, passage in enumerate(held):
        score = 0.0
        for word in words(query):
            holders = sum(word in other for other in held)
            if word in passage:
                score += passage.count(word) * math.log1p(len(held) / holders) / len(passage)
        if score > 0:
            ranked.append((-score, number))
    chosen = [list(passages.items())[number] for _, number in sorted(ranked)[:count]]
    return json.dumps([{"text": text, "title": title} for title, text in chosen], separators=(",", ":"))
