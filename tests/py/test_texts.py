"""Strings that vary from call to call: one path for all where the program allows it."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dvm

X = np.linspace(-1, 1, 6)
NAMES = [f"{'ab' * k}{k}" for k in range(30)]
SCALES = {name: 0.5 + k for k, name in enumerate(NAMES)}
MODES = {"double": lambda x: x * 2, "square": lambda x: x * x}


def of_length(x, s):
    return x * len(s)


def tagged(x, s):
    return f"{s}: {x.sum():.3f}", s, s + "!"


def of_entry(x, s):
    return x * SCALES[s] + SCALES.get(s, 0)


def of_choice(x, s):
    if s == "ab1":
        return x + 1
    if s.startswith("ab") and not s.endswith("7"):
        return x * 2
    return x - len(s)


def of_member(x, s):
    return np.square(x) if s in ("1", "ab1", "abab2") else x


def of_attribute(x, s):
    return x / (1 + len(SimpleNamespace(name=s).name))


def of_parts(x, s):
    head, _, tail = s.partition("b")
    return {"head": x * len(head), "tail": tail.upper(), "n": s.count("a")}


def of_bytes(x, s):
    return x * len(s.encode()), s.encode()[:2]


def of_method(x, s):
    return MODES[("double", "square")[len(s) % 2]](x)


def of_order(x, s):
    return x if s < "abababab4" else -x


def same(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, np.ndarray):
        return got.dtype == wanted.dtype and np.array_equal(got, wanted)
    if isinstance(wanted, (tuple, list)):
        return type(got) is type(wanted) and all(map(same, got, wanted))
    if isinstance(wanted, dict):
        return list(got) == list(wanted) and all(same(got[key], wanted[key]) for key in wanted)
    return type(got) is type(wanted) and got == wanted


@pytest.mark.parametrize(
    ("function", "most"),
    [
        (of_length, 2),
        (tagged, 2),
        (of_choice, 5),
        (of_member, 3),
        (of_attribute, 2),
        (of_parts, 5),
        (of_bytes, 2),
        (of_method, 3),
        (of_order, 3),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_thirty_texts_take_few_paths(function: Any, most: int) -> None:
    f = dvm.compile(function)
    for name in (*NAMES, *NAMES[::-1], "", "é" * 5):
        x = X[: 1 + len(name) % 5]
        assert same(f(x, name), function(x, name)), name
    assert f.stats.fallbacks == 0, f.fallback_reasons
    assert f.stats.captures <= most, f.why_recompiled()


def test_an_entry_named_by_a_text_is_as_python_has_it() -> None:
    f = dvm.compile(of_entry)
    for name in (*NAMES, *NAMES):
        assert same(f(X, name), of_entry(X, name))
    with pytest.raises(KeyError):
        f(X, "none of them")


def test_a_text_that_says_what_to_make_keeps_a_path_for_each() -> None:
    @dvm.compile
    def f(x, dtype, order, spec):
        y = np.ones(len(x), dtype=dtype) + x.astype(dtype)
        return np.einsum(spec, y, y), y.reshape((2, -1), order=order)

    for _ in range(2):
        for given in itertools.product(["f4", "f8"], "CF", ["i,i", "i,j->ij", "i,i->i"]):
            assert same(f(X, *given), f.__wrapped__(X, *given))
    assert f.stats.fallbacks == 0, f.fallback_reasons
    assert f.stats.captures == 12
    assert f.stats.hits == 12


def test_texts_of_other_types_at_one_place() -> None:
    f = dvm.compile(of_length)
    for _ in range(2):
        for value in ("abc", b"abc", "ab", b"", [1, 2], "x", (3,), np.str_("four"), b"ab", "abc"):
            assert same(f(X, value), of_length(X, value))
    assert f.stats.fallbacks == 0, f.fallback_reasons


def test_texts_of_a_list_are_several_of_one_place() -> None:
    @dvm.compile
    def f(x, names, table):
        for name in names:
            x = x + table[name] * len(name)
        return x

    for names in (["ab1", "abab2"], ["abab2"], ["ab1", "ab1"], NAMES[:7], NAMES[3:9], []):
        assert same(f(X, names, SCALES), f.__wrapped__(X, names, SCALES))
    assert f.stats.fallbacks == 0, f.fallback_reasons


def test_a_branch_on_a_text_is_asked_on_each_call() -> None:
    @dvm.compile
    def f(x, mode):
        match mode:
            case "up":
                return x + 1
            case "down":
                return x - 1
            case "flip" | "turn":
                return -x
        raise ValueError(f"no mode {mode!r}")

    for mode in ("up", "down", "flip", "turn", "up", "turn", "down"):
        assert same(f(X, mode), f.__wrapped__(X, mode))
    for mode in ("left", "right", "left"):
        with pytest.raises(ValueError, match=f"no mode '{mode}'"):
            f(X, mode)
    assert f.stats.captures <= 6
