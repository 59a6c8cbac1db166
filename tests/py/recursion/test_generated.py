"""Drawn recursive functions do what they do uncompiled, whatever the trees are."""

from __future__ import annotations

import os
import random
import warnings
from typing import Any

import numpy as np
import pytest

import dvm
from recursion import generated
from whole import how_many

#: of programs
COUNT = how_many(60, 1000)
FIRST = int(os.environ.get("DVM_TEST_FROM", "0"))
KINDS = ("float", "mixed", "single", "double", "sizes")


def outcome(function: Any, tree: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            made = function(tree)
        except Exception as error:
            made = (type(error), str(error))
    return made, [str(each.message) for each in told]


def assert_same(a: Any, b: Any) -> None:
    assert type(a) is type(b), (a, b)
    if isinstance(a, tuple):
        assert a == b
        return
    assert getattr(a, "dtype", None) == getattr(b, "dtype", None)
    assert np.shape(a) == np.shape(b)
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_a_drawn_recursion_gives_the_same(seed: int) -> None:
    choices = random.Random(seed)
    source, kind = generated.draw(choices), choices.choice(KINDS)
    scope = generated.namespace(source)
    plain = scope["f"]
    compiled = dvm.compile(plain)
    if choices.random() < 0.5:  # as a decorator would
        scope["f"] = compiled
    change = generated.changes(choices, scope)
    for _ in range(12):
        tree = generated.tree(choices, kind, choices.randrange(5))
        expected, made = outcome(plain, tree), outcome(compiled, tree)
        try:
            assert_same(made[0], expected[0])
            assert made[1] == expected[1]
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {kind}:\n{source}\n{error}") from error
        next(change)
    bugs = [reason for reason in compiled.fallback_reasons if "DVM-X001" in reason]
    assert not bugs, (seed, source, bugs)
