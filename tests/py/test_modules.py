"""Functions, recursion and data types in graphs that are written down, on objects of Python."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dvm

TARGETS = ["cpu", "ascend910b1"]

TOTAL = """module v1 {
  data Tree = Leaf(value: f64[?]) | Node(left: Tree, right: Tree)
  function total = graph v1 {
    %0 = input Tree
    %1 = match(%0) f64[n] case Leaf {
      %0 = input f64[n]
      return %0
    } case Node {
      %0 = input Tree
      %1 = input Tree
      %2 = invoke(%0) f64[n] {callee = "total"}
      %3 = invoke(%1) f64[n] {callee = "total"}
      %4 = add(%2, %3) f64[n]
      return %4
    }
    return %1
  }
  graph v1 {
    %0 = input Tree
    %1 = invoke(%0) f64[n] {callee = "total"}
    return %1
  }
}
"""

MAPPED = """module v1 {
  data List = Nil | Cons(head: f64[?], tail: List)
  closure Step = (f64[?]) -> (f64[?])
  function scaled = graph v1 {
    %0 = input f64[n]
    %1 = input f64[n]
    %2 = mul(%0, %1) f64[n]
    return %2
  }
  function negated = graph v1 {
    %0 = input f64[n]
    %1 = neg(%0) f64[n]
    return %1
  }
  function mapped = graph v1 {
    %0 = input Step
    %1 = input List
    %2 = match(%1, %0) List case Nil {
      %0 = input Step
      %1 = construct List {tag = "Nil"}
      return %1
    } case Cons {
      %0 = input f64[n]
      %1 = input List
      %2 = input Step
      %3 = apply(%2, %0) f64[n]
      %4 = invoke(%2, %1) List {callee = "mapped"}
      %5 = construct(%3, %4) List {tag = "Cons"}
      return %5
    }
    return %2
  }
  graph v1 {
    %0 = input List
    %1 = input f64[n]
    %2 = input bool[]
    %3 = branch(%2, %1) Step then {
      %0 = input f64[n]
      %1 = closure(%0) Step {callee = "scaled"}
      return %1
    } else {
      %0 = input f64[n]
      %1 = closure Step {callee = "negated"}
      return %1
    }
    %4 = invoke(%3, %0) List {callee = "mapped"}
    return %4, %3
  }
}
"""


def tree_of(types: dict[str, type], depth: int, draw: np.random.Generator) -> tuple[Any, Any]:
    """A tree, and the sum of its leaves."""
    if depth == 0:
        value = draw.normal(size=3)
        return types["Leaf"](value), value
    (left, a), (right, b) = (tree_of(types, depth - 1, draw) for _ in range(2))
    return types["Node"](left, right), a + b


@pytest.mark.parametrize("target", TARGETS)
def test_recursion_over_trees(target: str) -> None:
    graph = dvm.CompiledGraph(TOTAL, target=target)
    assert graph.arguments == {"x0": "Tree"}
    for depth in range(5):
        tree, expected = tree_of(graph.types, depth, np.random.default_rng(depth))
        np.testing.assert_array_equal(graph(tree)[0], expected)


@pytest.mark.parametrize("target", TARGETS)
def test_functions_as_values(target: str) -> None:
    graph = dvm.CompiledGraph(MAPPED, target=target)
    nil, cons = graph.types["Nil"], graph.types["Cons"]
    values = [np.arange(3.0) + k for k in range(4)]
    given = nil()
    for value in reversed(values):
        given = cons(value, given)
    for scales in (True, False):
        result, step = graph(given, np.full(3, 2.0), np.array(scales))
        assert type(step).__name__ == ("scaled" if scales else "negated")
        for value in values:
            assert type(result) is cons
            np.testing.assert_array_equal(result.head, value * 2 if scales else -value)
            result = result.tail
        assert type(result) is nil


@dataclass
class Leaf:
    value: Any


class Node:
    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right


def test_classes_of_the_caller() -> None:
    graph = dvm.CompiledGraph(TOTAL, types={"Leaf": Leaf, "Node": Node})
    tree = Node(Node(Leaf(np.ones(2)), Leaf(np.arange(2.0))), Leaf(np.ones(2)))
    np.testing.assert_array_equal(graph(tree)[0], [2, 3])
    # A part of the tree may change between calls, and be there twice.
    tree.left = tree.right = Leaf(np.array([5.0, 6.0]))
    np.testing.assert_array_equal(graph(tree)[0], [10, 12])


def test_a_file_has_functions_and_types(tmp_path: Any) -> None:
    graph = dvm.CompiledGraph(TOTAL)
    graph.save(tmp_path / "total.dvm")
    loaded = dvm.load(tmp_path / "total.dvm", types={"Leaf": Leaf, "Node": Node})
    assert list(loaded(Node(Leaf(np.ones(1)), Leaf(np.ones(1))))[0]) == [2]
    again = dvm.load(tmp_path / "total.dvm")
    again.save(tmp_path / "again.dvm")
    assert (tmp_path / "total.dvm").read_bytes() == (tmp_path / "again.dvm").read_bytes()


def test_what_is_no_tree() -> None:
    graph = dvm.CompiledGraph(TOTAL)
    leaf, node = graph.types["Leaf"], graph.types["Node"]
    with pytest.raises(dvm.ShapeError, match="takes a Tree: Leaf or Node"):
        graph(3.0)
    with pytest.raises(dvm.ShapeError, match="takes a Tree: Leaf or Node"):
        graph(node(leaf(np.ones(2)), None))
    with pytest.raises(dvm.ShapeError, match=r"field value of Leaf is .* takes f64 of rank 1"):
        graph(leaf(np.ones((2, 2))))
    with pytest.raises(dvm.ShapeError, match="do not fit the graph"):
        graph(node(leaf(np.ones(2)), leaf(np.ones(3))))
    with pytest.raises(TypeError, match="no class"):
        dvm.CompiledGraph(TOTAL, types={"Leaf": 3})  # type: ignore[dict-item]


def test_errors_of_attributes_are_the_callers() -> None:
    class Lazy:
        @property
        def value(self) -> Any:
            raise KeyError("not there")

    graph = dvm.CompiledGraph(TOTAL, types={"Leaf": Lazy, "Node": Node})
    with pytest.raises(KeyError, match="not there"):
        graph(Node(Lazy(), Lazy()))


def test_a_long_list() -> None:
    graph = dvm.CompiledGraph(MAPPED)
    nil, cons = graph.types["Nil"], graph.types["Cons"]
    given = nil()
    for k in range(20_000):
        given = cons(np.array([float(k)]), given)
    result, _ = graph(given, np.array([3.0]), np.array(True))
    count = 0
    while type(result) is cons:
        assert result.head[0] == 3.0 * given.head[0]
        result, given, count = result.tail, given.tail, count + 1
    assert count == 20_000


def test_nothing_is_kept() -> None:
    graph = dvm.CompiledGraph(TOTAL, types={"Leaf": Leaf, "Node": Node})
    tree = Node(Leaf(np.ones(2)), Leaf(np.ones(2)))
    references = [weakref.ref(tree), weakref.ref(tree.left.value)]
    graph(tree)
    del tree
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_a_recursion_without_end() -> None:
    graph = dvm.CompiledGraph("""module v1 {
  function forever = graph v1 {
    %0 = input f64[n]
    %1 = invoke(%0) f64[n] {callee = "forever"}
    return %1
  }
  graph v1 {
    %0 = input f64[n]
    %1 = invoke(%0) f64[n] {callee = "forever"}
    return %1
  }
}
""")
    with pytest.raises(dvm.UnsupportedError, match="does the recursion end"):
        graph(np.ones(2))
