"""Elements of lists and tuples at places that are computed: one path for all places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare
from loops.test_numbers import turns_of_numbers

RANDOM = np.random.default_rng(3)
FLOATS = RANDOM.normal(size=60).tolist()


def total(t, n):
    s = 0.0
    for i in range(n):
        s += t[i] * 0.5 + t[-i - 1]
    return s


def less_before(t, n):
    count = 0
    for i in range(n):
        for j in range(i):
            if t[j] < t[i]:
                count += 1
    return count


def followed(t, n):
    at, steps = 0, 0
    while t[at] < 99 and steps < n:
        at = (at * 7 + 3) % len(t)
        steps += 1
    return at, steps


def largest(t, n):
    best, where = t[0], 0
    for i in range(1, n):
        if t[i] > best:
            best, where = t[i], i
    return best, where


ORDER = RANDOM.permutation(60)


def in_an_order(t, n):
    """Places that are elements of an array."""
    s = 0
    for i in range(n):
        if t[ORDER[i]] > t[ORDER[i] - 60] - 1:
            s += t[ORDER[-i]]
    return s


def written(t, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = t[i] + t[n // 2]
    return y


PROGRAMS = {f.__name__: f for f in (total, less_before, followed, largest, in_an_order)}
KINDS = {
    "list": FLOATS,
    "tuple": tuple(FLOATS),
    "integers": [int(10 * x) for x in FLOATS],
    "numpy": list(np.array(FLOATS)),
    "mixed": [x if i % 3 else int(x) for i, x in enumerate(FLOATS)],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_elements_at_any_place_are_one_path(name: str, kind: str) -> None:
    function, given = PROGRAMS[name], KINDS[kind]
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for count in (3, 4, 20, 1, 2, 60, 33, 7, 41, 50, 9):
            compare(function, compiled, (given, count))
    assert compiled.stats.captures <= (6 if kind == "mixed" else 4)
    assert compiled.stats.fallbacks == 0
    if kind in ("list", "integers"):
        assert turns_of_numbers(compiled) > 50


def test_a_place_beyond_the_end_raises_as_it_does_plain() -> None:
    compiled = dvm.compile(total)
    with dvm.stance("force_capture"):
        for count in (3, 4, 20, 60, 61, 80, 60):
            compare(total, compiled, (FLOATS, count))
        for given in (FLOATS[:5], [], tuple(FLOATS[:2])):
            compare(total, compiled, (given, 5))


def test_arrays_of_a_list_are_layers_of_any_depth() -> None:
    def forward(weights, biases, x, depth):
        for i in range(depth):
            x = np.tanh(weights[i] @ x + biases[i])
        return x

    weights = [RANDOM.normal(size=(4, 4)) for _ in range(12)]
    biases = [RANDOM.normal(size=4) for _ in range(12)]
    compiled = dvm.compile(forward)
    with dvm.stance("force_capture"):
        for depth in (3, 4, 1, 0, 7, 12, 5, 9):
            compare(forward, compiled, (weights, biases, np.ones(4), depth))
        weights[2] = np.zeros((4, 4))
        compare(forward, compiled, (weights, biases, np.ones(4), 7))
    assert compiled.stats.captures <= 3
    assert compiled.stats.fallbacks == 0


def test_which_element_is_asked_for_is_no_path_of_its_own() -> None:
    def chosen(table, k):
        return table[k] * 2 + table[0]

    compiled = dvm.compile(chosen)
    for k in (3, 1, 2, 5, -1, 7, 0, 9, 59, 4):
        compare(chosen, compiled, (FLOATS, k))
        compare(chosen, compiled, (tuple(FLOATS), k))
    assert compiled.stats.captures <= 4


@pytest.mark.parametrize("texts", [["a", "b", "c", "d"], ("x", None, 3, True)])
def test_elements_that_are_no_numbers_are_what_they_are(texts: Any) -> None:
    def joined(texts, n):
        found = []
        for i in range(n):
            if texts[i] is not None and texts[i] != "b":
                found.append(texts[i])
        return found

    compiled = dvm.compile(joined)
    with dvm.stance("force_capture"):
        for count in (3, 4, 1, 2, 0, 4, 3):
            compare(joined, compiled, (texts, count))


def test_a_list_that_the_loop_writes_into_meanwhile_is_read_as_it_is() -> None:
    compiled = dvm.compile(written)
    for given in (FLOATS, tuple(FLOATS)):
        for count in (3, 4, 20, 60, 33, 1):
            compare(written, compiled, (given, count))
