"""Functions that call themselves: a way for each kind of call, whatever they go through."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]
W = np.random.default_rng(0).normal(size=(4, 8))


class Leaf(NamedTuple):
    x: Any


class Node(NamedTuple):
    left: Any
    right: Any


class Cell:
    def __init__(self, mass: float, place: Array, *children: Cell) -> None:
        self.mass, self.place, self.children = mass, place, children


def binary(draw: random.Random, leaves: int) -> Any:
    if leaves == 1:
        return Leaf(np.full(4, draw.uniform(-1, 1)))
    left = draw.randrange(1, leaves)
    return Node(binary(draw, left), binary(draw, leaves - left))


def quadtree(draw: random.Random, depth: int) -> Cell:
    place = np.array([draw.uniform(0, 1), draw.uniform(0, 1)])
    count = draw.choice([0, 4]) if depth else 0
    return Cell(draw.uniform(1, 2), place, *(quadtree(draw, depth - 1) for _ in range(count)))


def expression(draw: random.Random, depth: int) -> Any:
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(["x", "y", np.full(3, draw.uniform(-1, 1))])
    name = draw.choice(["add", "mul", "neg"])
    count = 1 if name == "neg" else 2
    return (name, *(expression(draw, depth - 1) for _ in range(count)))


def encode(tree: Any) -> tuple[Array, Array]:
    if isinstance(tree, Leaf):
        return np.tanh(tree.x), tree.x
    h, c = encode(tree.left)
    k, d = encode(tree.right)
    gates = W @ np.concatenate([h, k])
    memory = gates * c + d / (1 + np.exp(-gates))
    return np.tanh(memory), memory


def pull(cell: Cell, at: Array, nearness: float) -> Array:
    way = cell.place - at
    distance = np.sqrt((way * way).sum()) + 0.1
    if not cell.children or 1 / distance < nearness:
        return way * (cell.mass / distance**3)
    total = np.zeros(2)
    for child in cell.children:
        total = total + pull(child, at, nearness)
    return total


def evaluate(e: Any, scope: dict[str, Array]) -> Array:
    if isinstance(e, str):
        return scope[e]
    if isinstance(e, np.ndarray):
        return e
    parts = [evaluate(part, scope) for part in e[1:]]
    if e[0] == "add":
        return parts[0] + parts[1]
    if e[0] == "mul":
        return parts[0] * parts[1]
    return -parts[0]


def decide(node: Any, row: Array) -> float:
    if isinstance(node, float):
        return node
    place, limit, below, above = node
    return decide(below if row[place] < limit else above, row)


def decision(draw: random.Random, depth: int) -> Any:
    if depth == 0 or draw.random() < 0.2:
        return draw.uniform(-1, 1)
    parts = decision(draw, depth - 1), decision(draw, depth - 1)
    return (draw.randrange(3), draw.uniform(0, 1), *parts)


def deepest(tree: Any) -> int:
    return 0 if isinstance(tree, Leaf) else 1 + max(deepest(tree.left), deepest(tree.right))


def even(n: int) -> bool:
    return True if n == 0 else odd(n - 1)


def odd(n: int) -> bool:
    return False if n == 0 else even(n - 1)


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def alternating(tree: Any, sign: int) -> int:
    if isinstance(tree, Leaf):
        return sign
    return alternating(tree.left, -sign) + 2 * alternating(tree.right, sign)


def nested(lists: list[Any]) -> Array:
    total = np.zeros(3)
    for each in lists:
        total = total + (nested(each) * 0.5 if isinstance(each, list) else each)
    return total


def lists(draw: random.Random, depth: int) -> list[Any]:
    def one() -> Any:
        deeper = depth > 0 and draw.random() < 0.4
        return lists(draw, depth - 1) if deeper else np.full(3, draw.random())

    return [one() for _ in range(draw.randrange(20))]


def leaves_of(tree: Any) -> list[Array]:
    return [tree.x] if isinstance(tree, Leaf) else leaves_of(tree.left) + leaves_of(tree.right)


def path_to(tree: Any, low: float) -> list[float]:
    """Of sums, down to a leaf."""
    if isinstance(tree, Leaf):
        return [float(tree.x[0])]
    found = path_to(tree.left, low) if low < 0 else path_to(tree.right, low)
    found.append(found[-1] * 0.5 + low)
    return found


def rows(draw: random.Random) -> Array:
    return np.random.default_rng(draw.randrange(99)).random(3)


SCOPE = {"x": np.ones(3), "y": np.full(3, 2.0)}
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[random.Random], tuple[Any, ...]], int]] = {
    "Tree-LSTM": (encode, lambda draw: (binary(draw, draw.randrange(1, 12)),), 3),
    "Barnes-Hut": (pull, lambda draw: (quadtree(draw, 3), rows(draw)[:2], draw.uniform(1, 4)), 4),
    "expressions": (evaluate, lambda draw: (expression(draw, 4), SCOPE), 6),
    "decision tree": (decide, lambda draw: (decision(draw, 5), rows(draw)), 4),
    "depth": (deepest, lambda draw: (binary(draw, draw.randrange(1, 12)),), 3),
    "one by the other": (even, lambda draw: (draw.randrange(12),), 4),
    "two of itself": (fibonacci, lambda draw: (draw.randrange(9),), 3),
    "nested lists": (nested, lambda draw: (lists(draw, 2),), 4),
    "leaves in a list": (leaves_of, lambda draw: (binary(draw, draw.randrange(1, 9)),), 3),
    "a list that grows": (path_to, lambda draw: (binary(draw, 8), draw.uniform(-1, 1)), 4),
    "ints of both signs": (alternating, lambda draw: (binary(draw, draw.randrange(1, 12)), 1), 3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_few_captures_serve_all_shapes(name: str) -> None:
    function, arguments, captures = PROGRAMS[name]
    compiled, draw = dvm.compile(function), random.Random(1)
    for _ in range(60):
        given = arguments(draw)
        made, expected = compiled(*given), function(*given)
        assert type(made) is type(expected)
        np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-12)
    stats = compiled.stats
    assert stats.fallbacks == 0, compiled.fallback_reasons
    assert stats.captures <= captures, compiled.why_recompiled()


def many_shapes(compiled: Any) -> None:
    """So that it is known to be recursive."""
    for leaves in (3, 1, 5, 2):
        compiled(binary(random.Random(leaves), leaves))


def test_the_array_of_a_leaf_is_that_array() -> None:
    @dvm.compile
    def first(tree: Any) -> Any:
        return tree.x if isinstance(tree, Leaf) else first(tree.left)

    @dvm.compile
    def doubled(tree: Any) -> Any:
        found = first(tree)
        found *= 2
        return found

    many_shapes(first)
    many_shapes(doubled)
    x = np.ones(4)
    tree = Node(Node(Leaf(x), Leaf(x)), Leaf(x))
    assert first(tree) is x
    assert doubled(tree) is x
    np.testing.assert_array_equal(x, 2)


def test_what_raises_within_raises_the_same() -> None:
    def total(tree: Any) -> Any:
        return np.sum(tree.x) if isinstance(tree, Leaf) else total(tree.left) + total(tree.right)

    compiled = dvm.compile(total)
    many_shapes(compiled)
    broken = Node(Leaf(np.ones(2)), Node(Leaf(np.ones(3)), None))
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'left'"):
        compiled(broken)
    assert compiled(Node(Leaf(np.ones(2)), Leaf(np.ones(3)))) == 5


def test_a_recursion_without_end_is_an_error() -> None:
    def down(n: int) -> int:
        return 0 if n == 0 else 1 + down(n - 1)

    compiled = dvm.compile(down)
    assert [compiled(n) for n in (4, 2, 9, 90)] == [4, 2, 9, 90]
    with pytest.raises(RecursionError):
        compiled(-1)


DEEP = """
import sys
import dvm

def down(n):
    return 0 if n == 0 else 1 + down(n - 1)

compiled = dvm.compile(down)
assert [compiled(n) for n in (4, 2, 9, 90)] == [4, 2, 9, 90]
sys.setrecursionlimit(60_000)
assert compiled(20_000) == 20_000
"""


def test_a_recursion_may_be_deeper_than_the_replay_has_room_for() -> None:
    """In a process of its own: plain Python, too, may die of it where PyTorch looks at frames."""
    subprocess.run([sys.executable, "-c", DEEP], check=True)


def test_a_function_that_is_another_one_now_is_called() -> None:
    scope: dict[str, Any] = {"Leaf": Leaf, "np": np}
    source = (
        "def total(t):\n    return {} if isinstance(t, Leaf) else total(t.left) + total(t.right)"
    )
    exec(source.format("np.sum(t.x)"), scope)
    compiled = dvm.compile(scope["total"])
    many_shapes(compiled)
    tree = binary(random.Random(3), 6)
    assert compiled(tree) == pytest.approx(scope["total"](tree))
    first = scope["total"]
    exec(source.format("1.5"), scope)
    assert compiled(tree) == pytest.approx(first(tree)) == pytest.approx(9)


def test_state_that_was_changed_before_is_seen() -> None:
    class State:
        bias = 0.0

    def total(tree: Any, state: State) -> Any:
        if isinstance(tree, Leaf):
            return tree.x.sum() + state.bias
        return total(tree.left, state) + total(tree.right, state)

    @dvm.compile
    def run(tree: Any, state: State) -> Any:
        state.bias += 1
        return total(tree, state)

    for leaves in (3, 1, 5, 2, 4):
        tree, state, other = binary(random.Random(leaves), leaves), State(), State()
        assert run(tree, state) == pytest.approx(run.__wrapped__(tree, other))
        assert state.bias == other.bias == 1


def test_effects_within_happen_in_order() -> None:
    def walk(tree: Any, found: list[Any]) -> None:
        if isinstance(tree, Leaf):
            found.append(tree.x * 2)
            return
        walk(tree.left, found)
        walk(tree.right, found)

    compiled = dvm.compile(walk)
    for leaves in (3, 1, 5, 2, 4, 3):
        tree: Any = binary(random.Random(leaves), leaves)
        found: list[Any] = []
        expected: list[Any] = []
        compiled(tree, found)
        walk(tree, expected)
        np.testing.assert_array_equal(found, expected)


def test_a_module_within_a_module_is_no_recursion() -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    inner = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Tanh(), nn.Linear(3, 3)))
    module = nn.Sequential(inner, nn.ReLU()).eval()
    compiled = dvm.compile(lambda x: module(x))
    with torch.no_grad():
        for rows in (2, 3, 1):
            x = torch.rand(rows, 3)
            torch.testing.assert_close(compiled(x), module(x))
    assert not compiled.loops.recursions or all(
        known.rolled is None for known in compiled.loops.recursions.values()
    )


def test_threads_go_through_trees_of_their_own() -> None:
    compiled = dvm.compile(encode)
    many_shapes(compiled)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(60):
            tree = binary(draw, draw.randrange(1, 9))
            if not np.allclose(compiled(tree)[0], encode(tree)[0]):
                wrong.append(tree)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_ways_of_a_deep_tree_do_not_multiply() -> None:
    """Two ways that begin with the same calls run these once: else it would be 2**40 of them."""

    def total(tree: Any) -> Any:
        if isinstance(tree, Leaf):
            return tree.x
        below = total(tree.left)
        return below + tree.right if type(below) is int else below * 0.5 + tree.right

    compiled = dvm.compile(total)

    def chain(leaf: Any, depth: int) -> Any:
        tree: Any = Leaf(leaf)
        for _ in range(depth):
            tree = Node(tree, 1)
        return tree

    for leaf, depth in ((1, 3), (1.5, 3), (1, 40), (1.5, 40), (2, 39), (2.5, 39)):
        assert compiled(chain(leaf, depth)) == total(chain(leaf, depth))
    assert compiled.stats.captures <= 4


def test_reports_tell_of_the_ways() -> None:
    compiled = dvm.compile(encode)
    many_shapes(compiled)
    report = dvm.explain(compiled)(binary(random.Random(4), 4))
    (known,) = report.recursions
    assert known["rolled"]
    assert known["ways"] == 2
    assert "one body for all calls, which go 2 ways" in str(report)
    assert "# function at" in compiled.inspect("graph")


def test_reports_tell_why_each_shape_is_a_path() -> None:
    @dvm.compile
    def listed(tree: Any) -> list[Any]:
        if isinstance(tree, Leaf):
            return [tree.x]
        return [x * 2 for x in listed(tree.left)] + listed(tree.right)

    many_shapes(listed)
    report = dvm.explain(listed)(binary(random.Random(4), 4))
    (known,) = report.recursions
    assert not known["rolled"]
    assert known["reason"] == "a recursive function that returns a list that is looked through"
    assert "each shape of its calls is another path" in str(report)


@pytest.mark.usefixtures("captures_at_its_cost")
def test_one_that_makes_no_arrays_is_left_to_python() -> None:
    compiled = dvm.compile(fibonacci)
    while "loops" not in vars(compiled) and compiled.stats.calls < 50_000:  # until it is lowered
        for n in (3, 9, 5, 4):
            assert compiled(n) == fibonacci(n)
    assert all(known.rolled is None for known in vars(compiled)["loops"].recursions.values())


def scaled(tree: Any, s: Any) -> Any:
    if not isinstance(tree, tuple):
        return tree * s + 2.5  # the same constant as is handed on below, and no argument
    return scaled(tree[0], 2.5) + scaled(tree[1], s + 1)


def with_default(n: Any, b: float = -1.5) -> float:
    if not n:
        return b
    return with_default(n[0]) + b


def always_the_same(n: Any, b: float = -1.5) -> float:
    return b if not n else always_the_same(n[0], 1.25)


OFFSET = np.ones(2)


def shifted(tree: Any, s: Any) -> Any:
    if not isinstance(tree, tuple):
        return tree * s + OFFSET
    return shifted(tree[0], OFFSET) + shifted(tree[1], s + 1)


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def in_a_comprehension(tree: Any, a: float = 2.25, b: int = 6) -> Any:
    if isinstance(tree, Leaf):
        return a * 100 + b + tree.x * 0
    return sum([in_a_comprehension(each, b) for each in (tree.left, tree.right)])


def crossed(tree: Any, a: Any = 2.25, b: Any = -1.5) -> Any:
    if isinstance(tree, Leaf):
        return a
    return sum((crossed(each, b, a) for each in (tree.left, tree.right)), 0)


def nest(depth: int) -> Any:
    return () if depth == 0 else (nest(depth - 1), nest(depth - 1))


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (scaled, [((1.0, 1.0), 2.5), (((1.0, 1.0), 1.0), 2.5), ((1.0, 1.0), 3.0)]),
        (shifted, [((1.0, 1.0), OFFSET), (((1.0, 1.0), 1.0), OFFSET), ((1.0, 1.0), OFFSET * 3)]),
        (with_default, [(nest(1),), (nest(2),), (nest(0),), (nest(0), 2.0), (nest(2), 3.0)]),
        (always_the_same, [(nest(1),), (nest(2),), (nest(0),), (nest(0), 2.0), (nest(1), 3.0)]),
        (
            in_a_comprehension,
            [
                (binary(random.Random(n), n), *more)
                for n, more in ((1, ()), (3, ()), (5, ()), (2, (1, 2)), (3, (np.ones(4), 1.5)))
            ],
        ),
        (
            crossed,
            [
                (binary(random.Random(n), n), *more)
                for n in (3, 1, 2, 5)
                for more in ((), (np.ones(4),), (np.ones(4), OFFSET[0]), (np.ones(4), np.zeros(4)))
            ],
        ),
        (ackermann, [(0, 0), (1, 1), (2, 2), (0, 3), (1, 0), (2, 1), (1, 3)]),
    ],
)
def test_a_constant_that_is_handed_on_is_not_the_parameter(function: Any, calls: Any) -> None:
    compiled = dvm.compile(function)
    for given in [*calls, *calls]:
        np.testing.assert_array_equal(compiled(*given), function(*given))


def test_what_two_calls_with_one_object_make_is_two() -> None:
    def doubled(node: Any) -> Any:
        if isinstance(node, Leaf):
            return node.x * 2
        return [doubled(node.left), doubled(node.right)]

    compiled = dvm.compile(doubled)
    many_shapes(compiled)
    leaf = Leaf(np.ones(3))
    for tree in (Node(leaf, leaf), Node(Leaf(np.ones(3)), leaf), Node(leaf, leaf)):
        first, second = compiled(tree)
        assert first is not second
        assert not np.shares_memory(first, second)


def test_tuples_that_grow_are_not_looked_through() -> None:
    def mirrored(tree: Any) -> Any:
        return tree.x if isinstance(tree, Leaf) else (mirrored(tree.right), mirrored(tree.left))

    def flat(nested: Any) -> list[Any]:
        return [x for each in nested for x in flat(each)] if type(nested) is tuple else [nested]

    compiled = dvm.compile(mirrored)
    for leaves in (2, 1, 5, 40):
        tree = binary(random.Random(leaves), leaves)
        for made, expected in zip(flat(compiled(tree)), flat(mirrored(tree)), strict=True):
            assert made is expected


@pytest.mark.usefixtures("captures_at_its_cost")
def test_what_runs_as_it_is_calls_itself_as_it_is() -> None:
    @dvm.compile
    def walk(tree: Any, found: list[Any]) -> None:
        if isinstance(tree, Leaf):
            found.append(tree.x)
            return
        walk(tree.left, found)
        walk(tree.right, found)

    found: list[Any] = []
    for leaves in (9, 3, 12):
        walk(binary(random.Random(leaves), leaves), found)
    assert len(found) == 24
    assert walk.stats.calls == 3


def test_a_stack_without_room_is_an_error_and_no_crash() -> None:
    scope: dict[str, Any] = {}
    exec("def down(n):\n    return 0 if n == 0 else 1 + down(n - 1)", scope)
    down = scope["down"] = dvm.compile(scope["down"])
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    try:
        for stance in ("default", "force_eager", "force_capture"):
            with (
                dvm.stance(stance),
                pytest.raises(RecursionError, match=r"has room for|maximum recursion depth"),
            ):
                down(100_000)
        assert down(100) == 100
    finally:
        sys.setrecursionlimit(limit)
