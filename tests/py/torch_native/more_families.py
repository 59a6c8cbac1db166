"""Models over categories, with caches, and with loops that end by what tensors hold."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from torch_native.families import Calls, Family, draw, rows

Tensor = torch.Tensor


class Recommender(nn.Module):
    """As DLRM: categories as rows of tables, and how all of them go together."""

    def __init__(self, width: int = 4, tables: int = 3) -> None:
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(20, width, mode="sum") if table else nn.Embedding(20, width)
            for table in range(tables)
        )
        self.bottom = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 8), nn.ReLU(), nn.Linear(8, 1))
        lower = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("lower", lower)

    def forward(self, numbers: Tensor, places: Tensor) -> Tensor:
        x = self.bottom(numbers)
        found = [
            table(places[:, number : number + 1])
            if isinstance(table, nn.EmbeddingBag)
            else table(places[:, number])
            for number, table in enumerate(self.tables)
        ]
        all_of_them = torch.stack([x, *found], 1)
        products = torch.bmm(all_of_them, all_of_them.transpose(1, 2))
        flat = products[:, self.lower[0], self.lower[1]]
        return torch.sigmoid(self.top(torch.cat([x, flat], 1)))


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(12, 16), nn.GELU(), nn.LayerNorm(16), nn.Dropout(0.2), nn.Linear(16, 3)
        )

    def forward(self, x: Tensor) -> Tensor:
        return functional.log_softmax(self.layers(x.flatten(1)), -1)


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 2))
        self.decoder = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 12))

    def forward(self, x: Tensor) -> Any:
        code = self.encoder(x)
        made = self.decoder(code)
        return made, code, functional.mse_loss(made, x, reduction="none").mean(1)


class CachedBlock(nn.Module):
    """A transformer block that is given the keys and values of the tokens before."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 16), nn.SiLU(), nn.Linear(16, width))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> Any:
        batch, length, width = x.shape
        parts = self.inner(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
        scores = query @ keys.transpose(-1, -2) / math.sqrt(width // self.heads)
        place = torch.arange(keys.shape[2]) - (keys.shape[2] - length)
        ahead = place[None, :] > torch.arange(length)[:, None]
        weights = scores.masked_fill(ahead, float("-inf")).softmax(-1)
        mixed = (weights @ values).transpose(1, 2).reshape(batch, length, width)
        x = x + self.outer(mixed)
        return x + self.feed(self.last_norm(x)), keys, values


class Decoder(nn.Module):
    """The block, token by token, with a cache that grows."""

    def __init__(self) -> None:
        super().__init__()
        self.block = CachedBlock()

    def forward(self, x: Tensor) -> Tensor:
        keys = values = x.new_zeros(x.shape[0], self.block.heads, 0, 4)
        made = []
        for place in range(x.shape[1]):
            y, keys, values = self.block(x[:, place : place + 1], keys, values)
            made.append(y)
        return torch.cat(made, 1)


class Settling(nn.Module):
    """Goes on until what it has changes no more, as a deep equilibrium does."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        state, turns = torch.zeros_like(x), 0
        change = x.abs().max()
        while change > 1e-3 and turns < 30:
            before, state = state, torch.tanh(self.inner(state) * 0.3 + x)
            change = (state - before).abs().max()
            turns += 1
        return state, turns


def categories() -> Calls:
    counts = (3, 1, 2, 7, 5, 4, 33, 9, 12, 20) * 2
    return [(draw(n, 6), torch.randint(0, 20, (n, 3))) for n in counts]


def caches() -> Calls:
    sizes = [(b, n, past) for b in (2, 1, 3) for n in (3, 1, 5) for past in (0, 4, 1, 9)]
    return [(draw(b, n, 8), draw(b, 2, past, 4), draw(b, 2, past, 4)) for b, n, past in sizes]


def lengths() -> Calls:
    return [(draw(b, n, 8),) for b in (2, 1, 3) for n in (5, 1, 2, 9, 16, 30, 7)]


MORE = {
    "recommender": Family(Recommender, categories),
    "perceptron": Family(Perceptron, lambda: rows(12)),
    "autoencoder": Family(Autoencoder, lambda: rows(12)),
    "block with a cache": Family(CachedBlock, caches),
    "decoder with a cache": Family(Decoder, lengths),
    "until nothing changes": Family(Settling, lambda: rows(8)[:6] * 4, 1),
}


__all__ = ["MORE"]
