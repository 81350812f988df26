"""A Llama in torch: RMSNorm, rotary positions, grouped-query attention, SwiGLU, the head tied to the
embedding. Parameters carry Hugging Face's names."""
import json
import struct

import torch
from torch import nn
from torch.nn import functional as F

import bpe

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 128,
    "intermediate_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
    "max_position_embeddings": 1024, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True,
    "attention_bias": False, "mlp_bias": False, "torch_dtype": "float16",
}


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"]) * self.weight


def rotary_tables(length):
    """cos and sin, [length, head_dim]; each half of a head has the same frequencies."""
    half = torch.arange(0, CONFIG["head_dim"], 2) / CONFIG["head_dim"]
    angles = torch.arange(length)[:, None] * CONFIG["rope_theta"] ** -half
    angles = torch.cat([angles, angles], -1)
    return angles.cos(), angles.sin()


def rotate(x, tables):
    cos, sin = tables
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat([-high, low], -1) * sin


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        size, head = CONFIG["hidden_size"], CONFIG["head_dim"]
        self.heads, self.kv_heads = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"]
        self.q_proj = nn.Linear(size, self.heads * head, bias=False)
        self.k_proj = nn.Linear(size, self.kv_heads * head, bias=False)
        self.v_proj = nn.Linear(size, self.kv_heads * head, bias=False)
        self.o_proj = nn.Linear(self.heads * head, size, bias=False)

    def forward(self, x, tables, mask):
        batch, length, _ = x.shape

        def split(y, heads):
            return y.view(batch, length, heads, -1).transpose(1, 2)

        group = self.heads // self.kv_heads
        q = rotate(split(self.q_proj(x), self.heads), tables)
        k = rotate(split(self.k_proj(x), self.kv_heads), tables)
        v = split(self.v_proj(x), self.kv_heads)
        # The query heads of a group are rows of one product.
        q = q.reshape(batch, self.kv_heads, group * length, -1)
        scores = (q @ k.transpose(-1, -2)).view(batch, self.kv_heads, group, length, length)
        weights = (scores * CONFIG["head_dim"] ** -0.5 + mask).softmax(-1)
        y = weights.view(batch, self.kv_heads, group * length, length) @ v
        y = y.view(batch, self.heads, length, -1).transpose(1, 2).reshape(batch, length, -1)
        return self.o_proj(y)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        size, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
        self.gate_proj = nn.Linear(size, inner, bias=False)
        self.up_proj = nn.Linear(size, inner, bias=False)
        self.down_proj = nn.Linear(inner, size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm = Norm(CONFIG["hidden_size"])
        self.self_attn = Attention()
        self.post_attention_layernorm = Norm(CONFIG["hidden_size"])
        self.mlp = FeedForward()

    def forward(self, x, tables, mask):
        x = x + self.self_attn(self.input_layernorm(x), tables, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    """Hugging Face's `model.` prefix."""

    def __init__(self, vocabulary_size):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary_size, CONFIG["hidden_size"])
        self.layers = nn.ModuleList(Layer() for _ in range(CONFIG["num_hidden_layers"]))
        self.norm = Norm(CONFIG["hidden_size"])


class Llama(nn.Module):
    def __init__(self, vocabulary_size):
        super().__init__()
        self.model = Model(vocabulary_size)
        residual_scale = (2 * CONFIG["num_hidden_layers"]) ** -0.5
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                into_residual = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(weight, std=weight.shape[1] ** -0.5 * (residual_scale if into_residual else 1.0))
        nn.init.normal_(self.model.embed_tokens.weight, std=0.05)

    def hidden(self, ids):
        length = ids.shape[1]
        # exp(-80) is nothing beside 1, and no denormal number: those are slow.
        mask = torch.full((length, length), -80.0).triu(1)
        tables = rotary_tables(length)
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, tables, mask)
        return self.model.norm(x)

    def head(self, hidden):
        return hidden @ self.model.embed_tokens.weight.T

    @torch.no_grad()
    def greedy(self, ids, end, most=120):
        """The tokens after `ids` up to `end`, and the two best logprobs at each."""
        out, scores = [], []
        while len(out) < most:
            logprobs = self.head(self.hidden(torch.tensor([ids + out]))[0, -1]).log_softmax(-1)
            best = logprobs.topk(2)
            out.append(int(best.indices[0]))
            scores.append([(int(i), float(v)) for i, v in zip(best.indices, best.values)])
            if out[-1] == end:
                break
        return out, scores


def load(folder):
    """The model and the tokenizer of a folder that train.py wrote."""
    definition = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer = bpe.Tokenizer([tuple(pair.split(" ")) for pair in definition["model"]["merges"]])
    data = (folder / "model.safetensors").read_bytes()
    size, = struct.unpack("<Q", data[:8])
    model = Llama(len(tokenizer.pieces))
    parameters = dict(model.named_parameters())
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float16)
        parameters[name].data.copy_(values.view(entry["shape"]))
    return model, tokenizer
