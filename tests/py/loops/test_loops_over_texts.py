"""A text that is gone through, indexed or zipped is one path for all its values, as a list is."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import dvm


def counted(s: str) -> int:
    n = 0
    for c in s:
        if c == "a":
            n += 1
    return n


def numbered(s: str) -> int:
    total = 0
    for i, c in enumerate(s):
        if c != "a":
            total += i
    return total


def coded(s: str) -> int:
    total = 0
    for c in s:
        total = total * 31 % 1009 + ord(c)
    return total


def indexed(s: str) -> int:
    total = 0
    for i in range(len(s)):
        if s[i] == "a":
            total += i
    return total


def of_bytes(s: str) -> int:
    data = s.encode()
    total = 0
    for value in data:
        total += value * 2
    return total


def zipped(s: str) -> int:
    total = 0
    for c, weight in zip(s, range(1000)):
        if c == "b":
            total += weight
    return total


def compared(s: str) -> int:
    same = 0
    for one, other in zip(s, s[1:], strict=False):  # noqa: RUF007  what is tested
        same += one == other
    return same


def backwards(s: str) -> int:
    n = 0
    for c in reversed(s):
        if c == "b":
            n = n * 2 % 97 + 1
    return n


def filtered(s: str) -> list[str]:
    return [c for c in s if c != "a"]


def grown(s: str) -> str:
    out = ""
    for c in s:
        out += c.upper()
    return out


def with_an_array(s: str) -> Any:
    x = np.zeros(3)
    for c in s:
        x = x * 0.5 + ord(c)
    return x


ALL = [
    counted, numbered, coded, indexed, of_bytes, zipped, compared, backwards, filtered, grown,
    with_an_array,
]  # fmt: skip


@pytest.mark.parametrize("function", ALL)
def test_texts_of_any_value_and_length_take_one_path(function: Any) -> None:
    rng, compiled = random.Random(0), dvm.compile(function)
    texts = ["".join(rng.choices("abcd", k=k)) for k in (8, 8, 8, 9, 10, 12, 12, 30, 31)]
    for s in [*texts, "", "a", "äöü", *texts[::-1]]:
        assert repr(compiled(s)) == repr(function(s))
    assert compiled.stats.captures <= 5, compiled.why_recompiled()
    hits = compiled.stats.hits
    for s in texts:
        compiled(s[::-1])
    assert compiled.stats.hits == hits + len(texts)


def test_bytes_given_are_one_path() -> None:
    def added(data: bytes, n: int) -> int:
        total = 0
        for i in range(n):
            total += data[i]
        return total

    rng, compiled = random.Random(0), dvm.compile(added)
    for n in (8, 8, 8, 9, 10, 12, 12, 30, 31, 40, 41):
        data = rng.randbytes(n)
        assert compiled(data, n) == added(data, n)
    assert compiled.stats.hits >= 7, compiled.why_recompiled()


def test_a_text_that_chooses_what_is_done_still_does() -> None:
    def chosen(x: Any, kinds: list[str], kind: str) -> Any:
        for each in kinds:
            if each == kind:
                x = np.tanh(x) if kind == "tanh" else x * 2
        return x

    compiled, x = dvm.compile(chosen), np.ones(3)
    for kind in ("tanh", "double", "tanh", "double", "none"):
        for kinds in (["tanh", "double"], ["double", "double", "tanh"]):
            np.testing.assert_array_equal(
                compiled(x, kinds, kind), chosen(x, kinds, kind), strict=True
            )


def settings() -> dict[str, int]:
    """Written with all of its keys, which are the same in each call."""
    return {
        "ab": 0, "ac": 1, "ad": 2, "ae": 3, "af": 4, "ag": 5, "ah": 6, "ai": 7, "aj": 8, "ak": 9,
        "bb": 0, "bc": 1, "bd": 2, "be": 3, "bf": 4, "bg": 5, "bh": 6, "bi": 7, "bj": 8, "bk": 9,
        "cb": 0, "cc": 1, "cd": 2, "ce": 3, "cf": 4, "cg": 5, "ch": 6, "ci": 7, "cj": 8, "ck": 9,
        "db": 0, "dc": 1, "dd": 2, "de": 3, "df": 4, "dg": 5, "dh": 6, "di": 7, "dj": 8, "dk": 9,
    }  # fmt: skip


class Settings:
    bc = dd = 2.0
    cc = None


def test_a_loop_over_keys_that_the_code_has_written_goes_one_way() -> None:
    held = Settings()

    @dvm.compile
    def scaled(x: Any) -> Any:
        for key in settings():
            if key == "ab":
                continue
            if hasattr(held, key) and getattr(held, key) is not None:
                x = x * getattr(held, key)
        return x + 1

    with dvm.stance("force_capture"):
        for count in (2, 3, 4):
            np.testing.assert_array_equal(scaled(np.ones(count)), np.full(count, 5.0))
    stats = scaled.stats
    assert (stats.captures, stats.hits, stats.fallbacks) == (1, 2, 0), scaled.fallback_reasons
