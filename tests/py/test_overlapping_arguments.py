"""Arguments that overlap, in every way that slices of one buffer can, of which some are written.

Each program runs on views of one buffer, beside the plain one on views of a copy: results, the
whole buffer, and a call with views that lie otherwise, which must not be taken for the first.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import dvm

SIZE = 24
SHAPES = [(SIZE,), (4, 6), (2, 3, 4)]
STATEMENTS = (
    "{a} += {b}",
    "{a}[...] = {b} * 2",
    "{a} *= 2",
    "{a}[0] = {b}[-1]",
    "t = {a} + {b}; {a}[:] = t",
    "{a}[1:] += {b}[:-1]",
    "np.add({a}, {b}, out={b})",
    "{b}.T[...] = {a}.T",
)


def part(rng: random.Random, like: Any = None) -> tuple[tuple[int, ...], tuple[slice, ...]]:
    """A shape of the buffer and slices of it, two elements along each axis."""
    shape = rng.choice(SHAPES) if like is None else like
    key = []
    for size in shape:
        step = rng.choice([1, 1, 1, 2]) if size > 2 else 1
        start = rng.randrange(0, size - step)
        key.append(slice(start, start + step + 1, step))
    return shape, tuple(key)


def program(rng: random.Random) -> tuple[str, Any]:
    lines = []
    for _ in range(rng.randint(1, 3)):
        a, b = rng.sample("pqr", 2)
        lines.append("    " + rng.choice(STATEMENTS).format(a=a, b=b))
    text = "def f(p, q, r):\n" + "\n".join(lines) + "\n    return p * 2 + q, r.sum(), p is q, r\n"
    scope: dict[str, Any] = {"np": np}
    exec(text, scope)
    return text, scope["f"]


def views(buffer: Any, parts: list[Any]) -> list[Any]:
    return [buffer.reshape(shape)[key] for shape, key in parts]


def run(seed: int) -> tuple[int, int]:
    rng = random.Random(seed)
    text, plain = program(rng)
    compiled = dvm.compile(plain)
    shape = rng.choice(SHAPES)
    repeated = hits = 0
    for call in range(4):
        parts = [part(rng, shape) for _ in range(3)]
        if rng.random() < 0.3:
            parts[1] = parts[0]
        for again in range(3):
            one = np.arange(float(SIZE)) + call + again
            two = one.copy()
            before = compiled.stats.hits
            wanted = plain(*views(one, parts))
            given = compiled(*views(two, parts))
            where = f"seed {seed}, call {call}.{again}: {parts}\n{text}"
            assert one.tolist() == two.tolist(), where
            assert str(wanted) == str(given), where
            assert np.shares_memory(given[3], two), where
            repeated += again > 0
            hits += again > 0 and compiled.stats.hits > before
    return repeated, hits


@pytest.mark.parametrize("part_of", range(4))
def test_views_of_one_buffer(part_of: int) -> None:
    repeated = hits = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(part_of, 240, 4):
            more = run(seed)
            repeated, hits = repeated + more[0], hits + more[1]
    assert hits >= 0.9 * repeated, f"{hits} of {repeated} repeated calls were replayed"


def shift_rows(x: Any) -> Any:
    x[1:] = x[:-1]
    return x.sum()


def scale(x: Any) -> Any:
    x *= 2
    return x + 1


def sort_columns(x: Any) -> Any:
    x.sort(0)
    return x * 2


def put(x: Any) -> Any:
    x[[0, 2]] = x[[2, 1]]
    return x.copy()


@pytest.mark.parametrize("program", [shift_rows, scale, sort_columns, put])
@pytest.mark.parametrize("row_stride", [0, 1, 2, 5])
@pytest.mark.parametrize("first", ["ordinary", "itself"])
def test_one_array_that_overlaps_itself(
    program: Callable[[Any], Any], row_stride: int, first: str
) -> None:
    def windows() -> tuple[Any, Any]:
        buffer = np.random.default_rng(3).permutation(np.arange(30.0))
        return buffer, as_strided(buffer, (5, 4), (8 * row_stride, 8))

    compiled = dvm.compile(program)
    for _ in range(3):
        compiled(np.arange(20.0).reshape(5, 4) if first == "ordinary" else windows()[1])
    (one, x), (two, y) = windows(), windows()
    assert np.array_equal(compiled(x), program(y))
    assert one.tolist() == two.tolist()
    assert (compiled.stats.hits > 0) == (first == "ordinary" or row_stride == 5)


def test_neighbours_of_any_length_are_one_path() -> None:
    @dvm.compile
    def difference(a: Any, b: Any) -> None:
        a -= b

    for size in (9, 12, 50, 1000):
        x = np.arange(float(size)) ** 2
        y = x.copy()
        difference(x[1:], x[:-1])
        y[1:] -= y[:-1]
        assert x.tolist() == y.tolist()
    assert (difference.stats.captures, difference.stats.hits) == (1, 3)


def test_columns_and_halves_are_apart() -> None:
    @dvm.compile
    def scaled(a: Any, b: Any) -> Any:
        a *= 2
        return a + b

    for size in (4, 6, 50):
        x = np.arange(float(size * 3)).reshape(size, 3)
        y = x.copy()
        got = scaled(x[:, 0], x[:, 2])
        y[:, 0] *= 2
        assert got.tolist() == (y[:, 0] + y[:, 2]).tolist()
        assert x.tolist() == y.tolist()
    assert (scaled.stats.captures, scaled.stats.hits) == (1, 2)
    for _ in range(2):  # and now they meet
        x, y = np.arange(12.0), np.arange(12.0)
        got = scaled(x[:6], x[3:9])
        y[:6] *= 2
        assert got.tolist() == (y[:6] + y[3:9]).tolist()
        assert x.tolist() == y.tolist()
