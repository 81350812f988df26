"""A byte-level BPE of our own: learns merges, encodes, and writes Hugging Face's tokenizer.json."""
import collections
import json
import re

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKUP = ["<tool_call>", "</tool_call>"]  # Tokens of their own, but part of an answer's text.
# Digits stand alone, so that numbers are copied one by one. For the ASCII of the corpus, CUTS cuts as PATTERN.
PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CUTS = re.compile(r"[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+", re.ASCII)
ADDED = re.compile("(" + "|".join(re.escape(token) for token in SPECIAL + MARKUP) + ")")


def byte_alphabet():
    """GPT-2's character for each byte: itself where it prints, else one from 256 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spare = iter(range(0x100, 0x200))
    return [chr(byte) if byte in plain else chr(next(spare)) for byte in range(256)]


ALPHABET = byte_alphabet()


class Tokenizer:
    def __init__(self, merges):
        self.merges = merges
        pieces = [*SPECIAL, *MARKUP, *sorted(ALPHABET), *("".join(pair) for pair in merges)]
        self.ids = {piece: number for number, piece in enumerate(pieces)}
        self.pieces = pieces
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.cache = {}

    @classmethod
    def learn(cls, texts, size):
        """Merges of the most frequent pairs until there are `size` tokens."""
        counts = collections.Counter(cut for text in texts for cut in cuts(text))
        words = {word: list(word) for word in counts}
        merges = []
        while len(merges) < size - len(SPECIAL) - len(MARKUP) - len(ALPHABET):
            pairs = collections.Counter()
            for word, pieces in words.items():
                for pair in zip(pieces, pieces[1:]):
                    pairs[pair] += counts[word]
            pair = max(pairs, key=lambda p: (pairs[p], p))
            merges.append(pair)
            words = {word: join(pieces, pair) for word, pieces in words.items()}
        return cls(merges)

    def encode_word(self, word):
        if word not in self.cache:
            pieces = list(word)
            while len(pieces) > 1:
                pair = min(zip(pieces, pieces[1:]), key=lambda p: self.ranks.get(p, len(self.ranks)))
                if pair not in self.ranks:
                    break
                pieces = join(pieces, pair)
            self.cache[word] = [self.ids[piece] for piece in pieces]
        return self.cache[word]

    def encode(self, text):
        ids = []
        for part in ADDED.split(text):
            if part in SPECIAL or part in MARKUP:
                ids.append(self.ids[part])
            else:
                ids.extend(number for cut in cuts(part) for number in self.encode_word(cut))
        return ids

    def decode(self, ids):
        codes = {character: byte for byte, character in enumerate(ALPHABET)}
        data = b""
        for number in ids:
            piece = self.pieces[number]
            data += piece.encode() if piece in SPECIAL + MARKUP else bytes(codes[c] for c in piece)
        return data.decode(errors="replace")

    def to_json(self):
        added = [{"id": self.ids[token], "content": token, "single_word": False, "lstrip": False, "rstrip": False,
                  "normalized": False, "special": token in SPECIAL} for token in SPECIAL + MARKUP]
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
        split = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
        model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                 "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False,
                 "vocab": self.ids,
                 "merges": [" ".join(pair) for pair in self.merges]}
        return json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
                           "normalizer": None,
                           "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
                           "post_processor": None, "decoder": {**byte_level}, "model": model},
                          ensure_ascii=False, indent=1)


def cuts(text):
    """The words of a text, in GPT-2's alphabet."""
    return ["".join(ALPHABET[byte] for byte in cut.encode()) for cut in CUTS.findall(text)]


def join(pieces, pair):
    out = []
    for piece in pieces:
        if out and (out[-1], piece) == pair:
            out[-1] = "".join(pair)
        else:
            out.append(piece)
    return out
