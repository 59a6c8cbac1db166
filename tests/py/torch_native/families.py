"""Small models of many families, as their papers have them, and inputs of many sizes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Calls = list[tuple[Any, ...]]
draw = torch.randn
Tensor = torch.Tensor


class Residual(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(outer) for _ in range(2))
        self.short = nn.Conv2d(inner, outer, 1, stride) if stride != 1 else nn.Identity()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.norms[0](self.first(x)))
        y = self.norms[1](self.second(y))
        y += self.short(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 7, 2, 3),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        self.blocks = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 16, 1))
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.head = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, padding=1)
        self.middle = nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.out = nn.Conv2d(16, 4, 3, padding=1)
        self.mixed = nn.Conv2d(7, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = functional.relu(self.down(x))
        u = self.up(functional.relu(self.middle(functional.max_pool2d(a, 2))))
        if u.shape[-2:] != a.shape[-2:]:
            u = functional.interpolate(u, size=a.shape[-2:], mode="bilinear", align_corners=False)
        y = functional.interpolate(functional.relu(self.out(torch.cat([u, a], 1))), scale_factor=2)
        return self.mixed(torch.cat([y, functional.interpolate(x, scale_factor=2)], 1))


class Variational(nn.Module):
    """An autoencoder that samples between its halves."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 16), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(16, 4), nn.Linear(16, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 12), nn.Sigmoid())

    def forward(self, x: Tensor) -> Any:
        hidden = self.encoder(x)
        mean, spread = self.mean(hidden), self.log_variance(hidden)
        made = self.decoder(mean + torch.randn_like(mean) * torch.exp(0.5 * spread))
        divergence = -0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())
        return made, functional.mse_loss(made, x.sigmoid(), reduction="sum") + divergence


class Mixture(nn.Module):
    """Experts that rows are routed to by what they hold, as in Mixtral."""

    def __init__(self, width: int = 8, experts: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 16), nn.SiLU(), nn.Linear(16, width))
            for _ in range(experts)
        )

    def forward(self, x: Tensor) -> Tensor:
        rows = x.view(-1, x.shape[-1])
        weights, chosen = torch.topk(
            functional.softmax(self.gate(rows), 1, dtype=torch.float), 2, -1
        )
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros(rows.shape, dtype=x.dtype)
        asked = functional.one_hot(chosen, num_classes=len(self.experts)).permute(2, 1, 0)
        for number, expert in enumerate(self.experts):
            place, row = torch.where(asked[number])
            made = expert(rows[None, row].reshape(-1, x.shape[-1])) * weights[row, place, None]
            out.index_add_(0, row, made.to(x.dtype))
        return out.reshape(x.shape)


class Gated(nn.Module):
    """A mixture of experts for several tasks."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(8, 6) for _ in range(3))
        self.gates = nn.ModuleList(nn.Linear(8, 3) for _ in range(2))
        self.heads = nn.ModuleList(nn.Linear(6, 1) for _ in range(2))

    def forward(self, x: Tensor) -> Any:
        made = torch.stack([functional.relu(expert(x)) for expert in self.experts], 1)
        weights = [gate(x).softmax(-1).unsqueeze(-1) for gate in self.gates]
        return [head((w * made).sum(1)) for head, w in zip(self.heads, weights, strict=True)]


class GraphAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(6, 8, bias=False)
        self.source, self.target = nn.Parameter(draw(8)), nn.Parameter(draw(8))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h, (source, target) = self.project(x), (edges[0], edges[1])
        scores = (h * self.source).sum(-1)[source] + (h * self.target).sum(-1)[target]
        scores = functional.leaky_relu(scores, 0.2)
        low = torch.full((x.shape[0],), float("-inf"))
        most = low.scatter_reduce(0, target, scores, "amax", include_self=True)
        weights = torch.exp(scores - most[target])
        total = torch.zeros(x.shape[0]).scatter_add(0, target, weights)
        messages = h.index_select(0, source) * (weights / total[target])[:, None]
        return torch.zeros_like(h).index_add(0, target, messages)


class BeamSearch(nn.Module):
    def __init__(self, words: int = 20) -> None:
        super().__init__()
        self.words = words
        self.embedding = nn.Embedding(words, 8)
        self.cell = nn.GRUCell(8, 8)
        self.out = nn.Linear(8, words)

    def forward(self, state: Tensor, beams: int = 3, steps: int = 5) -> Any:
        batch = state.shape[0]
        state = state.repeat_interleave(beams, 0)
        token = torch.zeros(batch * beams, dtype=torch.long)
        scores = torch.tensor([0.0] + [float("-inf")] * (beams - 1)).repeat(batch)
        found: list[Tensor] = []
        for _ in range(steps):
            state = self.cell(self.embedding(token), state)
            chances = functional.log_softmax(self.out(state), -1)
            scores, places = (scores[:, None] + chances).view(batch, -1).topk(beams, -1)
            token = (places % self.words).view(-1)
            first = torch.arange(batch)[:, None] * beams
            chosen = (places // self.words + first).view(-1)
            state, scores = state[chosen], scores.view(-1)
            found = [each[chosen] for each in found] + [token]
        return torch.stack(found, 1).view(batch, beams, steps), scores


class Scan(nn.Module):
    """A layer of a state space model, as in Mamba."""

    def __init__(self, width: int = 8, states: int = 4) -> None:
        super().__init__()
        self.states = states
        self.inner = nn.Linear(width, 2 * width)
        self.convolution = nn.Conv1d(width, width, 3, padding=2, groups=width)
        self.select, self.step = nn.Linear(width, 1 + 2 * states), nn.Linear(1, width)
        self.decay = nn.Parameter(torch.log(torch.arange(1.0, states + 1).repeat(width, 1)))
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        u, gate = self.inner(x).chunk(2, -1)
        u = functional.silu(self.convolution(u.transpose(1, 2))[:, :, :length].transpose(1, 2))
        step, b, c = torch.split(self.select(u), [1, self.states, self.states], -1)
        step = functional.softplus(self.step(step)).unsqueeze(-1)
        kept, added = torch.exp(-step * torch.exp(self.decay)), step * b.unsqueeze(2)
        state = torch.zeros(batch, width, self.states)
        made = []
        for t in range(length):
            state = kept[:, t] * state + added[:, t] * u[:, t].unsqueeze(-1)
            made.append((state * c[:, t].unsqueeze(1)).sum(-1))
        return self.out((torch.stack(made, 1) + u) * functional.silu(gate))


class EarlyExit(nn.Module):
    """Layers of which the first that is sure answers, as in DeeBERT."""

    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(layers))
        self.heads = nn.ModuleList(nn.Linear(8, 3) for _ in range(layers))

    def forward(self, x: Tensor) -> Any:
        for number, (layer, head) in enumerate(zip(self.layers, self.heads, strict=True)):
            x = torch.tanh(layer(x))
            chances = functional.softmax(head(x.mean(0)), -1)
            if chances.max() > 0.45:
                return chances, number
        return chances, len(self.layers)


@dataclass(eq=False)
class Node:
    value: Tensor
    children: list[Node] = field(default_factory=list)


class TreeLSTM(nn.Module):
    """One of sums over children."""

    def __init__(self) -> None:
        super().__init__()
        self.gates, self.inner = nn.Linear(4, 18), nn.Linear(6, 18, bias=False)
        self.forget, self.forget_inner = nn.Linear(4, 6), nn.Linear(6, 6, bias=False)

    def forward(self, node: Node) -> tuple[Tensor, Tensor]:
        below = [self.forward(child) for child in node.children]
        total = torch.zeros(6)
        for h, _ in below:
            total = total + h
        i, o, u = (self.gates(node.value) + self.inner(total)).chunk(3, -1)
        cell = i.sigmoid() * u.tanh()
        for h, c in below:
            cell = cell + torch.sigmoid(self.forget(node.value) + self.forget_inner(h)) * c
        return o.sigmoid() * cell.tanh(), cell


def tree(chances: random.Random, depth: int = 0) -> Node:
    count = chances.choice([0, 1, 2]) if depth < 3 else 0
    return Node(draw(4), [tree(chances, depth + 1) for _ in range(count)])


class Loop(nn.Module):
    """A recurrent cell, turn by turn."""

    def __init__(self, is_lstm: bool) -> None:
        super().__init__()
        self.is_lstm = is_lstm
        self.cell = nn.Linear(4 + 6, 24) if is_lstm else nn.GRUCell(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        h, c = torch.zeros(x.shape[0], 6), torch.zeros(x.shape[0], 6)
        for t in range(x.shape[1]):
            if self.is_lstm:
                i, f, g, o = self.cell(torch.cat([x[:, t], h], 1)).chunk(4, 1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
            else:
                h = self.cell(x[:, t], h)
        return h


def images() -> Calls:
    sizes = ((32, 32), (40, 24), (17, 33), (64, 48), (25, 25))
    return [(draw(batch, 3, *size),) for size in sizes for batch in (2, 1, 3, 4)]


def sequences(*lengths: int, width: int = 8) -> Calls:
    return [(draw(batch, length, width),) for length in lengths for batch in (2, 1, 3, 4)]


def rows(width: int) -> Calls:
    return [(draw(count, width),) for count in (3, 1, 2, 7, 5, 4, 0, 9, 33, 12)] * 2


def graphs() -> Calls:
    sizes = [(nodes, edges) for nodes in (5, 3, 1, 8, 12) for edges in (7, 1, 20, 3)]
    return [(draw(n, 6), torch.randint(0, n, (2, e))) for n, e in sizes]


@dataclass
class Family:
    """captures: the most that all calls may take."""

    make: Callable[[], nn.Module]
    calls: Callable[[], Calls]
    captures: int = 2


def sure() -> Calls:
    return [(draw(rows, 8) * scale,) for scale in (0.1, 1, 3, 8, 20) for rows in (3, 1, 2, 5)]


FAMILIES = {
    "ResNet": Family(ResNet, images),
    "U-Net": Family(UNet, images),
    "variational autoencoder": Family(Variational, lambda: rows(12)),
    "mixture of experts": Family(Mixture, lambda: sequences(5, 1, 2, 9, 16)),
    "gated mixture of experts": Family(Gated, lambda: rows(8)),
    "graph attention": Family(GraphAttention, graphs),
    "beam search": Family(BeamSearch, lambda: [(draw(b, 8),) for b in (2, 1, 3, 5, 4, 7, 12)] * 3),
    "state space scan": Family(  # of one step: no loop; of that and of one sequence: other strides
        Scan,
        lambda: [(draw(b, n, 8),) for b in (2, 1, 3) for n in (16, 5, 1, 33, 64, 12, 100, 7)],
        4,
    ),
    "early exit": Family(EarlyExit, sure, 5),
    "GRU as a loop": Family(lambda: Loop(False), lambda: sequences(5, 1, 9, 2, 30, width=4)),
    "LSTM as a loop": Family(lambda: Loop(True), lambda: [(draw(3, n, 4),) for n in range(1, 201)]),
    "Tree-LSTM": Family(
        TreeLSTM, lambda: [(tree(random.Random(seed)),) for seed in range(20)] * 2, 4
    ),
}


__all__ = ["FAMILIES", "Calls", "Family", "draw", "rows"]
