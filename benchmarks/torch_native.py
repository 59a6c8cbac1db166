"""PyTorch captured by dvm itself, against eager torch and the backend of torch.compile.

    python -m benchmarks.torch_native [--json FILE] [--only NAMES] [--rounds 7] [--no-backend]

Two tables, all of one process, the contenders in turns, medians of rounds, one thread. The first
result: milliseconds that the first call takes beyond an eager one, each round of a new compiled
function (the backend's takes seconds, so it has one round). A call: microseconds of eager torch at
sizes that take no time, and the others' shares of that; `fallbacks` are calls that ran uncompiled.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

import dvm
import dvm.torch

Arguments = tuple[torch.Tensor, ...]
Made = tuple[Callable[..., Any], Arguments]
CALLS = 200  # of one measurement of a call
COLUMNS = "{:18}{:>12}{:>12}{:>12}{:>12}"


class Block(nn.Module):
    """Of a transformer, its norms before the sublayers."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.queries, self.keys = nn.Linear(width, width), nn.Linear(width, width)
        self.values, self.joined = nn.Linear(width, width), nn.Linear(width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        n = self.first(x)
        q, k, v = (
            part(n).view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in (self.queries, self.keys, self.values)
        )
        attended = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.joined(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.wide(self.second(x))


class Encoder(nn.Module):
    """As BERT: words and their places, blocks, a norm."""

    def __init__(self, width: int = 256, layers: int = 4) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(1000, width), nn.Embedding(512, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        places = torch.arange(words.shape[1]).unsqueeze(0)
        x = self.words(words) + self.places(places)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Residual(nn.Module):
    """Two convolutions and what they are added to, as ResNet-18 has it."""

    def __init__(self, given: int, made: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(given, made, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(made, made, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(made) for _ in range(2))
        self.short: nn.Module = nn.Identity()
        if stride > 1:
            conv = nn.Conv2d(given, made, 1, stride, bias=False)
            self.short = nn.Sequential(conv, nn.BatchNorm2d(made))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(self.norms[1](self.second(y)) + self.short(x))


def resnet() -> nn.Module:
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    layers: list[nn.Module] = [*stem, nn.MaxPool2d(3, 2, 1)]
    width = 64
    for made in (64, 128, 256, 512):
        layers += [Residual(width, made, 1 if made == width else 2), Residual(made, made, 1)]
        width = made
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def one_operation(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def ten_operations(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.tanh((x + y) * 2 - x * y + torch.exp(-x) * 0.5 + torch.relu(y) - x)


def of_24_parameters() -> nn.Module:
    return nn.Sequential(*(m for _ in range(12) for m in (nn.Linear(16, 16), nn.ReLU())))


def perceptron() -> nn.Module:
    norm = nn.LayerNorm(8)
    return nn.Sequential(
        nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.GELU(), norm, nn.Linear(8, 2)
    )


FIRST: dict[str, Callable[[], Made]] = {
    "ten operations": lambda: (ten_operations, (torch.randn(16), torch.randn(16))),
    "perceptron": lambda: (perceptron().eval(), (torch.randn(3, 4),)),
    "block": lambda: (Block(16, 4).eval(), (torch.randn(2, 5, 16),)),
    "encoder 4 x 256": lambda: (Encoder().eval(), (torch.randint(0, 1000, (1, 23)),)),
    "resnet 18": lambda: (resnet().eval(), (torch.randn(1, 3, 64, 64),)),
}
CALL: dict[str, Callable[[], Made]] = {
    "one operation": lambda: (one_operation, (torch.randn(16),)),
    "ten operations": lambda: (ten_operations, (torch.randn(16), torch.randn(16))),
    "24 parameters": lambda: (of_24_parameters().eval(), (torch.randn(2, 16),)),
}


def native(function: Callable[..., Any]) -> Any:
    """A function is what is captured; a module is called by one."""
    if isinstance(function, nn.Module):
        return dvm.compile(lambda *args: function(*args))
    return dvm.compile(function)


def backend(function: Callable[..., Any]) -> Any:
    torch._dynamo.reset()
    return torch.compile(function, backend="dvm", dynamic=True)


def seconds(call: Callable[..., Any], args: Arguments, calls: int = 1) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        call(*args)
    return (time.perf_counter() - begin) / calls


def check(name: str, made: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(made, wanted, rtol=1e-3, atol=1e-4, msg=lambda m: f"{name}: {m}")


def first_result(name: str, rounds: int, with_backend: bool) -> dict[str, Any]:
    function, args = FIRST[name]()
    wanted = function(*args)
    function(*args)
    beyond, alone = [], []
    for _ in range(rounds):
        compiled = native(function)
        taken = seconds(compiled, args)
        alone.append(seconds(function, args))
        beyond.append(taken - alone[-1])
        check(name, compiled(*args), wanted)
    row = {"name": name, "eager": statistics.median(alone), "native": statistics.median(beyond)}
    row["fallbacks"] = compiled.stats.fallbacks
    if with_backend:
        row["backend"] = seconds(backend(function), args) - row["eager"]
    return row


def a_call(name: str, rounds: int, with_backend: bool) -> dict[str, Any]:
    function, args = CALL[name]()
    contenders = {"eager": function, "native": native(function)}
    if with_backend:
        contenders["backend"] = backend(function)
    for call in contenders.values():
        seconds(call, args, 5)
        check(name, call(*args), function(*args))
    found: dict[str, list[float]] = {contender: [] for contender in contenders}
    for _ in range(3 * rounds):
        for contender, call in contenders.items():
            found[contender].append(seconds(call, args, CALLS))
    row: dict[str, Any] = {"name": name, "fallbacks": contenders["native"].stats.fallbacks}
    return row | {contender: statistics.median(times) for contender, times in found.items()}


def print_tables(first: list[dict[str, Any]], calls: list[dict[str, Any]]) -> None:
    if first:
        print(COLUMNS.format("first result, ms", "eager", "+ native", "+ backend", "fallbacks"))
    for row in first:
        times = [f"{1e3 * row[c]:.1f}" if c in row else "" for c in ("eager", "native", "backend")]
        print(COLUMNS.format(row["name"], *times, row["fallbacks"]))
    if calls:
        print(COLUMNS.format("a call", "eager us", "native x", "backend x", "fallbacks"))
    for row in calls:
        shares = [f"{row[c] / row['eager']:.2f}" if c in row else "" for c in ("native", "backend")]
        print(COLUMNS.format(row["name"], f"{1e6 * row['eager']:.1f}", *shares, row["fallbacks"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", help="names of rows, with commas between")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-backend", dest="backend", action="store_false")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    only = options.only.split(",") if options.only else [*FIRST, *CALL]
    with torch.no_grad(), dvm.stance("force_capture"):
        first = [first_result(n, options.rounds, options.backend) for n in FIRST if n in only]
        calls = [a_call(n, options.rounds, options.backend) for n in CALL if n in only]
    print_tables(first, calls)
    if options.json:
        options.json.write_text(json.dumps({"first": first, "calls": calls}, indent=1))


if __name__ == "__main__":
    main()
