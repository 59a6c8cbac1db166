"""What loops write into arrays of the caller before the call is given up: all is as it was.

Written programs write elements, slices and all of the caller's arrays in loops, in which they end
early or raise, in a turn that depends on the call. Where a replay is given up there, the
original begins anew and must not find what the replay has written.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from loops.check import compare_on
from whole import how_many

PROGRAMS_WRITTEN = how_many(40, 500)
KINDS = ("dense", "columns", "reversed", "bytes", "singles")


class Writer:
    """Writes `f(a, b, n, k)`: loops over n, which end or raise in turn k or not at all."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def place(self, index: str) -> str:
        return self.random.choice(
            [f"{index} % 9", f"{index} * 2 % 9", f"-1 - {index} % 9", "3", f"7 - {index} % 8"]
        )

    def write(self, index: str) -> str:
        name, other = self.random.choice(["ab", "ba"])
        return self.random.choice(
            [
                f"{name}[{self.place(index)}] += 1",
                f"{name}[{self.place(index)}] = {other}[{self.place(index)}]",
                f"{name}[{index} % 5 : {index} % 5 + 3] = {other}[1:4]",
                f"{name}[::2] += 2",
                f"{name} += 1",
                f"{name}[:] = {other}",
                f"{name}[[1, {self.place(index)}]] = 5",
                f"{name}[{name} > 4] = 0",
                f"{name}[{self.place(index)}] = {name}[{self.place(index)}] * 3 % 64",
            ]
        )

    def end(self, index: str) -> str:
        return self.random.choice(
            [
                f"if {index} == k: break",
                f"if {index} == k: return b",
                f"s = s + 6 // (k - {index})",
                f"s = s + table[{index} + k]",
                f"s = s + int(a[{index} + k])",
                f"if {index} == k: raise KeyError(k)",
                f"if {index} > k: s = s + 1",
            ]
        )

    def loop(self, indent: str, index: str, depth: int) -> list[str]:
        inner = indent + "    "
        turn = [inner + self.write(index) for _ in range(self.random.randint(1, 3))]
        turn.insert(self.random.randint(0, len(turn)), inner + self.end(index))
        if depth < 2 and self.random.random() < 0.3:
            turn += self.loop(inner, "ij"[depth], depth + 1)
        return [f"{indent}for {index} in range(n):", *turn]

    def program(self) -> str:
        lines = ["def f(a, b, n, k):", "    s, table = 0, [1, 2, 3, 4, 5, 6, 7]"]
        if self.random.random() < 0.5:
            lines.append("    " + self.write("n"))
        for _ in range(self.random.randint(1, 2)):
            lines += self.loop("    ", "x", 1)
            if self.random.random() < 0.4:
                lines.append("    " + self.write("n"))
        lines.append(f"    return {self.random.choice(['a', 'a, s', 's', 'a, b, a + b'])}")
        return "\n".join(lines) + "\n"


def arrays(kind: str, seed: int) -> tuple[Any, Any]:
    values = np.random.default_rng(seed).integers(0, 9, (2, 9, 3))
    dtype = {"bytes": np.int8, "singles": np.float32}.get(kind, np.float64)
    one, other = values.astype(dtype)
    if kind == "columns":
        return one[:, 1], other[:, 0]
    if kind == "reversed":
        return one[::-1, 0].copy()[::-1], other[:, 2].copy()
    return one[:, 0].copy(), other[:, 1].copy()


@pytest.mark.parametrize("part", range(4))
def test_a_call_that_is_given_up_has_written_nothing(part: int) -> None:
    lends = 0
    for seed in range(part, PROGRAMS_WRITTEN, 4):
        source = Writer(seed).program()
        scope: dict[str, Any] = {}
        exec(compile(source, f"<program {seed}>", "exec"), scope)
        compiled = dvm.compile(scope["f"])
        kind = KINDS[seed % len(KINDS)]
        for number, (n, k) in enumerate(
            ((3, 99), (4, 99), (5, 2), (4, 1), (5, 0), (6, 4), (6, 99))
        ):
            compare_on(
                scope["f"],
                compiled,
                lambda seed=seed, number=number: [*arrays(kind, seed + number), n, k],
                f"call {number} with n={n}, k={k}, {kind}",
                source,
            )
        lends += sum("\nlend " in path["steps"] for path in _dvm.paths(compiled))
    assert lends > PROGRAMS_WRITTEN // 8  # in some the loop is no step, or writes nothing in place


def shifted(a: Any, at: int, n: int) -> float:
    s = 0.0
    for k in range(n):
        a[at + 8 * k : at + 8 * k + 8] += 1
        s += a[at + 8 * k]
    return s


def smoothed(a: Any, at: int, n: int) -> None:
    for k in range(at, at + n):
        a[k] = 0.5 * (a[k - 1] + a[k + 1])


@pytest.mark.parametrize("function", [shifted, smoothed])
def test_a_few_elements_of_a_large_array_cost_no_copy_of_it(
    function: Callable[..., Any],
) -> None:
    compiled = dvm.compile(function)
    taken = []
    array = np.zeros(1 << 23)
    for number in range(12):
        begin = time.perf_counter()
        compiled(array, 100 + number, 5 + number % 3)
        taken.append(time.perf_counter() - begin)
    whole = min(_copying(array) for _ in range(3))
    assert compiled.stats.hits > 6
    assert min(taken) < whole / 10


def _copying(array: Any) -> float:
    begin = time.perf_counter()
    array.copy()
    return time.perf_counter() - begin


def test_what_another_thread_writes_beside_it_stays() -> None:
    def fill(a: Any, n: int, k: int) -> float:
        for i in range(n):
            a[i] = a[i] * 0.5 + i
            if i == k:
                raise KeyError(k)
        return float(a[0])

    compiled = dvm.compile(fill)
    array, count, over = np.zeros(1 << 15), 0, threading.Event()

    def increment() -> None:
        nonlocal count
        while not over.is_set():
            array[-1] += 1
            count += 1
            time.sleep(1e-4)

    for n in (50, 60):
        compiled(array, n, -1)
    other = threading.Thread(target=increment)
    other.start()
    try:
        for number in range(30):
            if number % 3:
                compiled(array, len(array) - 64, -1)
            else:
                with pytest.raises(KeyError):
                    compiled(array, len(array) - 64, 9000 + number)
    finally:
        over.set()
        other.join()
    assert array[-1] == count
