"""Symbolic sizes as the lowering asks them: equal, hashed, evaluated, taken apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dvm
from dvm import _dvm

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "max": max,
    "min": min,
}
FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "floordiv": BINARY["//"],
    "mod": BINARY["%"],
    "max": max,
    "min": min,
}
VALUES = {"n": 7, "m": 3, "k": -5}

leaves = st.sampled_from(["n", "m", "k"]) | st.integers(-3, 9)
trees = st.recursive(
    leaves, lambda parts: st.tuples(st.sampled_from(list(BINARY)), parts, parts), max_leaves=7
)


def symbols(graph: _dvm.Graph) -> dict[str, _dvm.Dim]:
    return {name: graph.symbol(name, lo=-(2**62) if name == "k" else 0) for name in VALUES}


def built(tree: Any, graph: _dvm.Graph, names: dict[str, _dvm.Dim]) -> tuple[_dvm.Dim, int | None]:
    """The Dim of a tree, and its value by Python's own arithmetic (None: it has none)."""
    if isinstance(tree, str):
        return names[tree], VALUES[tree]
    if isinstance(tree, int):
        return graph.size(tree), tree
    op, left, right = tree
    (a, x), (b, y) = built(left, graph, names), built(right, graph, names)
    dim = getattr(a, op)(b) if op in ("max", "min") else BINARY[op](a, b)
    if x is None or y is None or (op in ("//", "%") and y == 0):
        return dim, None
    return dim, BINARY[op](x, y)


def recomputed(dim: _dvm.Dim) -> int:
    """The value of its terms, symbols and functions, each taken apart."""
    if dim.symbol is not None:
        return VALUES[dim.symbol]
    if dim.function is not None:
        name, a, b = dim.function
        return FUNCTIONS[name](recomputed(a), recomputed(b))
    return sum(c * math.prod(map(recomputed, factors)) for c, factors in dim.terms)


@given(trees)
def test_a_size_has_the_value_of_its_expression(tree: Any) -> None:
    graph = _dvm.Graph()
    dim, value = built(tree, graph, symbols(graph))
    if value is None:  # what divides by zero may have been simplified away
        return
    assert dim.evaluate(VALUES) == recomputed(dim) == value
    assert dim.constant in (None, value)
    assert not dim.is_natural or value >= 0
    assert dim.is_polynomial == ("(" not in str(dim))


@given(trees, trees)
def test_equal_sizes_are_those_that_print_alike(one: Any, other: Any) -> None:
    graph = _dvm.Graph()
    names = symbols(graph)
    a, b = built(one, graph, names)[0], built(other, graph, names)[0]
    assert (a == b) == (str(a) == str(b))
    assert (a != b) != (a == b)
    assert a != b or hash(a) == hash(b)


def test_sizes_of_two_graphs_are_not_equal() -> None:
    a, b = _dvm.Graph().symbol("n"), _dvm.Graph().symbol("n")
    assert a != b


def test_a_size_without_a_value_says_so() -> None:
    graph = _dvm.Graph()
    n, m = graph.symbol("n"), graph.symbol("m")
    with pytest.raises(dvm.ShapeError, match=r"floordiv\(n, m\) has no value here"):
        (n // m).evaluate({"n": 1, "m": 0})
    with pytest.raises(KeyError):
        (n + m).evaluate({"n": 1})
