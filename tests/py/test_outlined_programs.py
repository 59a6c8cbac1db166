"""Generated programs with calls that cannot be compiled, in loops, `with`, `try` and branches.

DVM_TEST_COUNT=1000 checks that many.
"""

from __future__ import annotations

import linecache
import random
import traceback
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from whole import how_many

PROGRAMS = how_many(20, 500)
NAMES = "abcd"
SIZES = ((3, 4), (3, 4), (2, 5), (0, 3), (5, 4), (3, 4), (4, 6))  # turns, elements

Array = np.ndarray[Any, Any]


class Swallowing:
    """Handles divisions by zero, and says when it was entered and left."""

    def __init__(self, told: list[Any]) -> None:
        self.told = told

    def __enter__(self) -> None:
        self.told.append("in")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self.told.append(kind and kind.__name__)
        return kind is ZeroDivisionError


def expression(draw: random.Random) -> str:
    v, w = draw.choice(NAMES), draw.choice(NAMES)
    return draw.choice(
        [
            f"{v} * 2 + {w}",
            f"np.tanh({v}) - {w}",
            f"{v}.sum() + {w}",
            f"np.abs({v}) / (1 + np.abs({w}))",
            f"{v} - {v}.mean()",
            f"np.where({v} > {w}, {v}, {w})",
            f"{v}[::-1] * {draw.randint(1, 3)}",
            f"np.maximum({v}, {w}) + i",
            f"{v} * t",
            f"sum([{v} * i for i in range({draw.randint(1, 2)})]) + {w}",
        ]
    )


def statement(draw: random.Random, depth: int, in_loop: bool) -> list[str]:
    indent, v = "    " * depth, draw.choice(NAMES)
    plain = [
        f"{v} = {expression(draw)}",
        f"{v} = {expression(draw)}",
        f"t = round(t + round(float({v}.sum()), 3) % 7, 3)",  # no sum decides by its last bits
        f"out.append(crc(bytes({v}.shape)) + i)",
        f"out.append({v} + 1)",
        f"{v}[{draw.randint(0, 2)}] += {draw.randint(1, 3)}",
    ]
    if in_loop:
        plain.append(f"if t % 5 > 3: {draw.choice(['break', 'continue'])}")
    if draw.random() < 0.05:
        plain.append("if t > 40: return a, t")
    kind = draw.randrange(16) if depth < 4 else 16
    if kind == 0:
        head = f"for i in range({draw.choice(['n', '2', 'n - 1'])}):"
        return [indent + head, *block(draw, depth + 1, True)]
    if kind == 1:
        return [f"{indent}with Swallowing(out):", *block(draw, depth + 1, in_loop)]
    if kind == 2:
        tried = [f"{indent}try:", *block(draw, depth + 1, in_loop)]
        tried.append(f"{indent}    x = 1 // (i - {draw.randint(0, 2)})")
        return [*tried, f"{indent}except ZeroDivisionError:", *block(draw, depth + 1, in_loop)]
    if kind == 3:
        branch = [f"{indent}if t % {draw.randint(2, 4)} < 1:", *block(draw, depth + 1, in_loop)]
        return [*branch, f"{indent}else:", *block(draw, depth + 1, in_loop)]
    return [indent + draw.choice(plain)]


def block(draw: random.Random, depth: int, in_loop: bool) -> list[str]:
    return [line for _ in range(draw.randint(1, 4)) for line in statement(draw, depth, in_loop)]


def program(seed: int) -> Callable[..., Any]:
    draw = random.Random(seed)
    lines = ["def f(a, b, n, out):", "    c = a + b", "    d = b - 1", "    t = 0.5", "    i = 0"]
    lines += [*block(draw, 1, False), "    for i in range(n):", *block(draw, 2, True)]
    lines += ["        out.append(crc(b'x', i))", *block(draw, 2, True), *block(draw, 1, False)]
    source = "\n".join([*lines, "    return a, b, c, d, t, i"]) + "\n"
    name = f"<outlined {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope: dict[str, Any] = {"np": np, "crc": zlib.crc32, "Swallowing": Swallowing}
    exec(compile(source, name, "exec"), scope)
    made: Callable[..., Any] = scope["f"]
    return made


def outcome(function: Callable[..., Any], a: Array, b: Array, n: int) -> list[Any]:
    a, b, out = a.copy(), b.copy(), []
    try:
        result = function(a, b, n, out)
    except ZeroDivisionError as error:
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__)]
        result = ("raised", str(error), lines[-1])
    return [result, out, a, b]


def same(x: Any, y: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return type(x) is type(y) and len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, (np.ndarray, np.floating, float)):
        alike = type(x) is type(y) and np.shape(x) == np.shape(y)
        return alike and bool(np.allclose(x, y, rtol=1e-9, atol=1e-12, equal_nan=True))
    return type(x) is type(y) and bool(x == y)


@pytest.mark.parametrize("first", range(0, PROGRAMS, 10))
def test_programs_with_what_cannot_be_compiled_are_as_python_has_them(first: int) -> None:
    hits = 0
    for seed in range(first, first + 10):
        function = program(seed)
        compiled = dvm.compile(function)
        random_numbers = np.random.default_rng(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for n, size in SIZES:
                a, b = np.round(random_numbers.normal(size=(2, size)), 2)
                wanted, got = outcome(function, a, b, n), outcome(compiled, a, b, n)
                assert same(got, wanted), (seed, n, size)
        parts = [part for part in compiled.parts or () if isinstance(part, dvm.Compiled)]
        hits += sum(part.stats.hits for part in parts)
    assert hits > 100
