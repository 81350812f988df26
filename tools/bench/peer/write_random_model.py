#!/usr/bin/python3
"""Writes a GGUF file with the shape of a real model and random weights, for measuring speed.

usage: write_random_model.py SHAPE TYPE OUT.gguf      (needs Debian's python3-numpy)

SHAPE: 0.1b (125 million parameters, Llama), 0.5b (Qwen3 0.6B), 1b (Llama 3.2 1B); tiny (3 million, Llama) for tests
TYPE:  f32, f16, bf16 or q8_0, of every matrix; norms are f32

The vocabulary is made up, but whole: engines that insist on one can load the file. Rows come again every 2,039: what
an engine computes is of no interest here, and a billion draws would take minutes.
"""
import pathlib
import struct
import sys

import numpy as np

ALIGNMENT = 32
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9  # Types of metadata values.
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # Types of tokens.
F32 = 0
TENSOR_TYPES = {"f32": F32, "f16": 1, "q8_0": 8, "bf16": 30}
FILE_TYPES = {"f32": 0, "f16": 1, "q8_0": 7, "bf16": 32}
POOL_ROWS = 2039  # Random rows of a width, made once; matrices take them in turn. A prime: neighbours never line up.

SHAPES = {
    "tiny": dict(architecture="llama", width=256, layers=4, heads=8, kv_heads=4, head_width=32,
                 inner=512, vocabulary=1000, tied=False, rope_base=1e4),
    "0.1b": dict(architecture="llama", width=768, layers=12, heads=12, kv_heads=4, head_width=64,
                 inner=2048, vocabulary=32000, tied=False, rope_base=1e4),
    "0.5b": dict(architecture="qwen3", width=1024, layers=28, heads=16, kv_heads=8, head_width=128,
                 inner=3072, vocabulary=151936, tied=True, rope_base=1e6),
    "1b": dict(architecture="llama", width=2048, layers=16, heads=32, kv_heads=8, head_width=64,
               inner=8192, vocabulary=128256, tied=True, rope_base=5e5),
}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, value):
    """One metadata value; its type follows from Python's."""
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", FLOAT32, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", UINT32, value)
    kind = {str: STRING, float: FLOAT32, int: INT32}[type(value[0])]
    head = text(key) + struct.pack("<IIQ", ARRAY, kind, len(value))
    if kind == STRING:
        return head + b"".join(map(text, value))
    return head + struct.pack(f"<{len(value)}{'f' if kind == FLOAT32 else 'i'}", *value)


def metadata(shape, file_type):
    prefix = shape["architecture"]
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    made_up = shape["vocabulary"] - len(pieces)
    pieces += [f"\u2581w{i}" for i in range(made_up)]
    kinds += [NORMAL] * made_up
    values = {
        "general.architecture": prefix,
        "general.alignment": ALIGNMENT,
        "general.file_type": file_type,
        f"{prefix}.context_length": 4096,
        f"{prefix}.embedding_length": shape["width"],
        f"{prefix}.block_count": shape["layers"],
        f"{prefix}.feed_forward_length": shape["inner"],
        f"{prefix}.attention.head_count": shape["heads"],
        f"{prefix}.attention.head_count_kv": shape["kv_heads"],
        f"{prefix}.attention.key_length": shape["head_width"],
        f"{prefix}.attention.value_length": shape["head_width"],
        f"{prefix}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{prefix}.rope.dimension_count": shape["head_width"],
        f"{prefix}.rope.freq_base": shape["rope_base"],
        f"{prefix}.vocab_size": shape["vocabulary"],
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.scores": [-float(i) for i in range(len(pieces))],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }
    return len(values), b"".join(entry(k, v) for k, v in values.items())


def tensors(shape):
    """(name, rows, columns) of each; one row for a norm."""
    width, inner, head = shape["width"], shape["inner"], shape["head_width"]
    queries, keys = shape["heads"] * head, shape["kv_heads"] * head
    yield "token_embd.weight", shape["vocabulary"], width
    for layer in range(shape["layers"]):
        block = f"blk.{layer}."
        yield block + "attn_norm.weight", 1, width
        yield block + "attn_q.weight", queries, width
        yield block + "attn_k.weight", keys, width
        yield block + "attn_v.weight", keys, width
        yield block + "attn_output.weight", width, queries
        if shape["architecture"] == "qwen3":
            yield block + "attn_q_norm.weight", 1, head
            yield block + "attn_k_norm.weight", 1, head
        yield block + "ffn_norm.weight", 1, width
        yield block + "ffn_gate.weight", inner, width
        yield block + "ffn_up.weight", inner, width
        yield block + "ffn_down.weight", width, inner
    yield "output_norm.weight", 1, width
    if not shape["tied"]:
        yield "output.weight", shape["vocabulary"], width


def size_bytes(rows, columns, kind):
    if rows == 1 or kind == "f32":
        return 4 * rows * columns
    return rows * columns * 34 // 32 if kind == "q8_0" else 2 * rows * columns


def encode(values, kind):
    if kind == "f32":
        return values.tobytes()
    if kind == "f16":
        return values.astype("<f2").tobytes()
    if kind == "bf16":
        bits = values.view("<u4")
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
    groups = values.reshape(-1, 32)
    scale = (np.abs(groups).max(axis=1, keepdims=True) / 127).astype("<f2")
    quants = np.clip(np.rint(groups / scale), -127, 127).astype("i1")
    return np.concatenate([scale.view("u1"), quants.view("u1")], axis=1).tobytes()


class RowPool:
    """Encoded rows of one width."""

    def __init__(self, random, columns, kind):
        deviation = np.float32(columns**-0.5)
        self.rows = memoryview(encode(random.standard_normal((POOL_ROWS, columns), "f4") * deviation, kind))
        self.row_bytes = len(self.rows) // POOL_ROWS
        self.next_row = 0

    def write(self, rows, out):
        while rows > 0:
            count = min(rows, POOL_ROWS - self.next_row)
            out.write(self.rows[self.next_row * self.row_bytes:(self.next_row + count) * self.row_bytes])
            self.next_row = (self.next_row + count) % POOL_ROWS
            rows -= count


def padding(position):
    return b"\0" * (-position % ALIGNMENT)


def write(path, shape, kind):
    random = np.random.default_rng(1)
    pools = {columns: RowPool(random, columns, kind) for columns in {c for _, rows, c in tensors(shape) if rows > 1}}
    count, head = metadata(shape, FILE_TYPES[kind])
    table, offset = [], 0
    for name, rows, columns in tensors(shape):
        dims = [columns] if rows == 1 else [columns, rows]
        of_type = F32 if rows == 1 else TENSOR_TYPES[kind]
        table.append(text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, of_type, offset))
        offset += size_bytes(rows, columns, kind)
        offset += len(padding(offset))
    with open(path, "wb") as out:
        out.write(b"GGUF" + struct.pack("<IQQ", 3, len(table), count) + head + b"".join(table))
        out.write(padding(out.tell()))
        for name, rows, columns in tensors(shape):
            if rows == 1:
                out.write(np.ones(columns, "<f4").tobytes())
            else:
                pools[columns].write(rows, out)
            out.write(padding(out.tell()))


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in SHAPES or sys.argv[2] not in TENSOR_TYPES:
        sys.exit(__doc__)
    unfinished = pathlib.Path(sys.argv[3] + ".part")
    write(unfinished, SHAPES[sys.argv[1]], sys.argv[2])
    unfinished.rename(sys.argv[3])


if __name__ == "__main__":
    main()
