"""No cliff: random operations, shapes, layouts and dtypes against the better of NumPy and torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.peers.contenders import Call

import dvm

from ..bench import Bench
from ..figures import Figure, Verdict, by_case, ratios, verdict
from ..operations import OPERATIONS, Draw, Operation, draw, numbers

NAME = "cliffs"
DRAWS = 300
ELEMENTS = (256, 1 << 21)
WORST, LISTED = 0.7, 0.9
PEERS = ("numpy", "torch")


def part_of_columns(rng: np.random.Generator) -> Draw:
    matrix = numbers(rng, (1500, 1200), "f4")
    return Draw(Operation("x[:, :1000].sum()", "x[:, :1000].sum()"), "m", (matrix,))


def one_is_true(rng: np.random.Generator) -> Draw:
    """Anywhere: who stops where it is found has less to read."""
    truth = np.zeros(1 << 21, bool)
    truth[2 * rng.integers(1 << 20)] = True
    return Draw(Operation("x[::2].any()", "x[::2].any()"), "x", (truth,))


Made = Callable[[np.random.Generator], Draw]


def draws(rng: np.random.Generator) -> list[Made]:
    """Return two that were cliffs once, then all operations in turn, each time in another order."""
    found: list[Made] = [part_of_columns, one_is_true]
    while len(found) < DRAWS:
        for i in rng.permutation(len(OPERATIONS)):
            found.append(partial(draw, operation=OPERATIONS[int(i)], elements=ELEMENTS))
    return found[:DRAWS]


def agree(name: str, operation: Operation, expected: Any, result: Any) -> None:
    expected, result = np.asarray(expected), np.asarray(result)
    wide = {"f2": 2e-2, "f4": 2e-3, "f8": 1e-9}.get(expected.dtype.str[1:], 0)
    scale = max(1.0, float(np.max(np.abs(expected), initial=0, where=np.isfinite(expected))))
    np.testing.assert_allclose(
        result, expected, rtol=wide, atol=wide * scale, err_msg=f"{name}: {operation.numpy}"
    )


def why(compiled: Any, arrays: tuple[Any, ...], microseconds: float) -> str:
    """Return what takes the time of a call that is slower than a peer's."""
    stats = compiled.stats
    if compiled.fallback_reasons:
        return f"runs uncompiled: {compiled.fallback_reasons[0]}"
    called = [call["name"] for path in dvm._dvm.paths(compiled) for call in path["opaque_calls"]]
    if called:
        return f"calls {', '.join(sorted(set(called)))}"
    timed = dvm._dvm.timed_call(compiled, *arrays)
    if timed is None or stats.hits == 0:
        return "no path takes it"
    run = timed[1]["run"] / 1e3
    if run < microseconds / 2:
        return f"the call: {microseconds - run:.1f} of {microseconds:.1f} us"
    return f"its Programs: {run:.1f} of {microseconds:.1f} us"


def torch_call(bench: Bench, drawn: Draw) -> tuple[Call, list[Any]] | None:
    """Return torch's call; None where it has no such operation or no such array."""
    if "torch" in bench.left_out or drawn.layout == "x[::-1]":
        return None
    import torch

    function = drawn.operation.torch_function()
    return (function, [torch.from_numpy(a) for a in drawn.arrays]) if function else None


def run(bench: Bench) -> None:
    rng = bench.random(10)
    for i, make in bench.some(list(enumerate(draws(rng))), 8):
        drawn = make(bench.random(100 + i))
        plain = drawn.operation.numpy_function()
        compiled = dvm.compile(drawn.operation.numpy_function())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = plain(*drawn.arrays)
            for _ in range(3):
                agree("dvm", drawn.operation, expected, compiled(*drawn.arrays))
            samples = {
                "dvm": bench.sample(compiled, drawn.arrays),
                "numpy": bench.sample(plain, drawn.arrays),
            }
            if made := torch_call(bench, drawn):
                agree("torch", drawn.operation, expected, made[0](*made[1]))
                samples["torch"] = bench.sample(*made)
            case = f"{i}: {drawn}"
            values = bench.time(NAME, "all", case, samples)
            best = min(values[name] for name in PEERS if name in values)
            if best < LISTED * values["dvm"]:
                bench.note(NAME, case, why(compiled, drawn.arrays, values["dvm"] * 1e6))


def verdicts(figures: list[Figure]) -> list[Verdict]:
    return [
        found
        for (_, threads), cases in by_case(figures).items()
        for found in verdict(
            NAME,
            "over the better of NumPy and torch",
            threads,
            ratios(cases, "dvm", PEERS),
            0,
            WORST,
        )
    ]


def tables(figures: list[Figure], notes: dict[str, str]) -> str:
    """List what is below the bar, the slowest first, and why."""
    lines = []
    for (_, threads), cases in by_case(figures).items():
        below = {case: r for case, r in ratios(cases, "dvm", PEERS).items() if r < LISTED}
        lines.append(f"{threads} threads: {len(below)} of {len(cases)} draws below {LISTED}")
        for case, ratio in sorted(below.items(), key=lambda item: item[1]):
            lines.append(f"  {ratio:5.2f}  {case}  {notes.get(f'{NAME} {case} {threads}', '')}")
    return "\n".join(lines)
