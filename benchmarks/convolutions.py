"""Convolutions beside PyTorch's (oneDNN): random ones of the kinds in networks, interleaved.

    DVM_NUM_THREADS=1 .venv/bin/python -m benchmarks.convolutions [--cases 120] [--rounds 9]

Each case is `F.conv2d` of float32 in eager torch, and the graph that dvm makes of it; then the same
with a batch norm of constants and a ReLU behind. Times are the least of interleaved calls. Printed
are geometric means of torch's time over dvm's, and the slowest cases.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

import dvm
from dvm import _dvm


@dataclass(frozen=True)
class Case:
    batch: int
    channels: int
    rows: int
    size: int
    window: int
    step: int

    @property
    def padding(self) -> int:
        return self.window // 2

    @property
    def operations(self) -> float:
        positions = ((self.size + 2 * self.padding - self.window) // self.step + 1) ** 2
        sums = self.batch * self.rows * positions
        return 2.0 * sums * self.channels * self.window**2


def drawn(generator: random.Random) -> Case:
    """One of those that ResNets, U-Nets, MobileNets and detectors have, by kind."""
    size = generator.choice([7, 8, 14, 16, 20, 28, 32, 40, 56, 64, 80, 112])
    widths = [16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512]
    most = 64 * 112 // size  # channels: many where images are small
    channels, rows = (generator.choice([w for w in widths if w <= most]) for _ in range(2))
    window, step = generator.choice(
        [(1, 1), (1, 1), (3, 1), (3, 1), (3, 1), (3, 2), (5, 1), (7, 2)]
    )
    if window == 7:
        channels, rows = 3, 64
    return Case(generator.choice([1, 1, 1, 2, 4]), channels, rows, size, window, step)


def graphs(case: Case) -> tuple[dvm.CompiledGraph, dvm.CompiledGraph]:
    c, m, k, p, s = case.channels, case.rows, case.window, case.padding, case.step
    size = f"floordiv(h + {2 * p - k}, {s}) + 1".replace("+ -", "- ")
    out = f"f32[b, {m}, {size}, {size}]"
    head = f"""graph v1 {{
  %0 = input f32[b, {c}, h, h]
  %1 = input f32[{m}, {c * k * k}]
"""
    numbers = f"window = [{k}, {k}], steps = [{s}, {s}], dilations = [1, 1]"
    body = f"broadcast(%1) f32[b, {m}, {c * k * k}]\n"
    convolution = f"{out} {{{numbers}, padding = [{p}, {p}, {p}, {p}]}}\n"
    plain = f"{head}  %2 = {body}  %3 = convolve(%2, %0) {convolution}  return %3\n}}"
    followed = f"""{head}  %2 = input f32[{m}, 1, 1]
  %3 = input f32[{m}, 1, 1]
  %4 = {body}  %5 = convolve(%4, %0) {convolution}  %6 = broadcast(%2) {out}
  %7 = broadcast(%3) {out}
  %8 = mul(%5, %6) {out}
  %9 = add(%8, %7) {out}
  %10 = constant f32[] {{value = 0.0}}
  %11 = broadcast(%10) {out}
  %12 = maximum(%9, %11) {out}
  return %12
}}"""
    return dvm.CompiledGraph(plain), dvm.CompiledGraph(followed)


def least(calls: list[Callable[[], Any]], rounds: int) -> list[float]:
    best = [float("inf")] * len(calls)
    for call in calls:
        call()
    for _ in range(rounds):
        for i, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def measured(case: Case, rounds: int) -> list[float]:
    x = torch.randn(case.batch, case.channels, case.size, case.size)
    weight = torch.randn(case.rows, case.channels, case.window, case.window) / case.window
    scale, shift = torch.rand(case.rows) + 0.5, torch.randn(case.rows)
    zeros, ones = torch.zeros(case.rows), torch.ones(case.rows) - 1e-5
    plain, followed = graphs(case)
    given = [x.numpy(), weight.reshape(case.rows, -1).numpy()]
    behind = [t.reshape(-1, 1, 1).numpy() for t in (scale, shift)]

    def of_torch() -> torch.Tensor:
        return functional.conv2d(x, weight, None, case.step, case.padding)

    def with_more() -> torch.Tensor:
        return torch.relu_(functional.batch_norm(of_torch(), zeros, ones, scale, shift))

    for mine, theirs in ((plain(*given), of_torch()), (followed(*given, *behind), with_more())):
        torch.testing.assert_close(torch.from_numpy(mine[0]), theirs, rtol=1e-3, atol=1e-3)
    return least(
        [of_torch, lambda: plain(*given), with_more, lambda: followed(*given, *behind)], rounds
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(_dvm.thread_count())
    generator = random.Random(1)
    rows = []
    with torch.inference_mode():
        for _ in range(options.cases):
            case = drawn(generator)
            rows.append((case, measured(case, options.rounds)))
    for name, at in (("alone", 0), ("with batch norm and ReLU", 2)):
        ratios = sorted(
            ((times[at] / times[at + 1], case, times[at + 1]) for case, times in rows),
            key=lambda row: row[0],
        )
        mean = statistics.geometric_mean(ratio for ratio, _, _ in ratios)
        behind = sum(ratio < 1 for ratio, _, _ in ratios)
        print(f"{name}: {mean:.2f} of torch's speed, {behind} of {len(rows)} slower")
        for ratio, case, time_taken in ratios[:6]:
            print(f"  {ratio:.2f} {case} {case.operations / time_taken / 1e9:.0f} Gflop/s")


if __name__ == "__main__":
    main()
