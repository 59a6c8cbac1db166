"""Loops that write text: two captures whatever the count, the same text as plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare

COUNTS = (3, 5, 12, 51, 60, 0, 1, 2, 77)


def added(x, n):
    out = ""
    for i in range(n):
        x = x * 0.5
        out += f"{i},"
    return x, out


def joined(x, n):
    lines = []
    for i in range(n):
        x = x * 0.5
        lines.append(str(i))
    return x, "".join(lines)


def reported(x, n):
    lines = []
    for i in range(n):
        x = x * 0.5
        lines.append(f"{i}: {x.max():.2e}")
    lines.append("end")
    return "\n".join(lines)


def made_otherwise(x, n):
    out = "a"
    for i in range(n):
        x = x * 0.5
        out = f"{out}{i}" if i % 2 else out.upper() + "b"
    return x, out, len(out)


def asked(x, n):
    out = "a"
    for i in range(n):
        if out == "a0a1":
            x = x + 1
        out += f"a{i}"[1 - 1 :]
    return x, out


def of_bytes(x, n):
    out = b""
    for i in range(n):
        x = x * 0.5
        out = out + bytes([i])
    return x, out


def nested(x, n):
    out = ""
    for i in range(n):
        for j in range(i):
            out += str(j)
        out += "\n"
        x = x * 0.5
    return x, out


def until_long(x, n):
    out = ""
    while len(out) < n:
        x = x + 1
        out += "xy"
    return x, out


@pytest.mark.parametrize(
    "function",
    [added, joined, reported, made_otherwise, asked, of_bytes, nested, until_long],
    ids=lambda f: f.__name__,
)
def test_texts(function: Any) -> None:
    compiled = dvm.compile(function)
    for n in COUNTS:
        compare(function, compiled, (np.arange(4.0), n))
    assert compiled.stats.captures <= 3
    assert compiled.stats.hits == len(COUNTS) - compiled.stats.captures
    assert compiled.stats.fallbacks == 0


def test_a_list_that_holds_something_else_raises_as_ever() -> None:
    def f(x, n, at):
        parts = []
        for i in range(n):
            x = x * 0.5
            parts.append(i if i == at else str(i))
        return x, ",".join(parts)

    compiled = dvm.compile(f)
    for n, at in ((3, 9), (9, 9), (12, 11), (20, 30), (12, 11), (40, 0)):
        compare(f, compiled, (np.arange(4.0), n, at))
    assert compiled.stats.fallbacks == 0
