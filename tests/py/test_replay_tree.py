"""Paths that begin alike: what they share runs once, and each exit still takes its own way."""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np

import dvm
from dvm import _dvm
from replay_paths import Steps, X, double, graph, lowered, total


class Counter:
    """A pure callee that counts its calls, which a shared prefix makes fewer."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self.function(*args)


def loop(x: float, tolerance: float) -> tuple[float, int]:
    n = 0
    while x > tolerance:
        x = x / 2
        n += 1
    return x, n


class LoopPaths:
    """What a recording of `loop` would be lowered to; every capture numbers registers anew."""

    def __init__(self) -> None:
        self.halve = Counter(lambda x: x / 2)

    def lower(self, arguments: tuple[Any, ...]) -> Steps:
        x, tolerance = arguments
        numbers = iter(random.Random(x).sample(range(200), 200))  # registers in any order
        now, limit, halve = (next(numbers) for _ in range(3))
        steps: Steps = [
            ("argument", now, 0),
            ("guard_signature", now, 1.0),
            ("argument", limit, 1),
            ("guard_signature", limit, 1.0),
            ("constant", halve, self.halve),
        ]
        turns = 0
        while True:
            greater = next(numbers)
            steps.append(("operator", greater, ">", now, limit))
            steps.append(("guard_truth", greater, x > tolerance))
            if x <= tolerance:
                break
            x, turns = x / 2, turns + 1
            after = next(numbers)
            steps.append(("call", after, halve, [now], ()))
            now = after
        count, result = next(numbers), next(numbers)
        return [
            *steps, ("constant", count, turns), ("tuple", result, [now, count]), ("return", result)
        ]  # fmt: skip


def test_a_loop_is_one_pass_whatever_its_number_of_turns() -> None:
    paths = LoopPaths()
    f = dvm.compile(loop)
    with lowered(paths.lower):
        for turns in (5, 3, 9, 0, 12, 7, 1):
            f(float(2**turns), 1.0)
    assert f.stats.captures == 7
    with lowered(lambda _: [("fallback", "missed", ("", 0))]):
        for turns in (0, 1, 3, 5, 7, 9, 12):
            paths.halve.calls = 0
            assert f(float(2**turns), 1.0) == (1.0, turns)
            assert paths.halve.calls == turns
    assert f.stats.hits == 7
    assert [path["hits"] for path in _dvm.paths(f)] == [1] * 7
    assert _dvm.explain_miss(f, 2.0**9, 1.0) == []
    assert _dvm.explain_miss(f, 2.0**8, 1.0)
    assert f.stats.drops == 0


def test_a_loop_learns_in_any_order() -> None:
    for seed in range(20):
        draw = random.Random(seed)
        paths = LoopPaths()
        f = dvm.compile(loop)
        for _ in range(40):
            x = float(2 ** draw.randrange(15)) * draw.choice((1.0, 1.5))
            with lowered(paths.lower):
                assert f(x, 1.0) == loop(x, 1.0), f"seed {seed}"
        known = f.stats.captures
        assert known <= 16
        assert f.stats.hits == 40 - known


def segment_paths(arguments: tuple[Any, ...]) -> Steps:
    """sum(2 x) > 0: return 2 x, else its sum: the segments differ in their outputs alone."""
    made, values = graph(
        lambda g, v: [
            d := g.elementwise("add", [v[0], v[0]]),
            g.reshape(g.reduce("sum", d, [0]), []),
        ],
        "f64",
    )
    doubled, summed = values
    positive = bool(2 * arguments[0].sum() > 0)
    outputs = [(summed, 1, "float", None)]
    if positive:
        outputs.insert(0, (doubled, 5, "array", None))
    return [
        ("argument", 0, 0),
        ("guard_signature", 0, X),
        ("run", made, [0], [], outputs, 0, 0, "numpy"),
        ("constant", 2, 0.0),
        ("operator", 3, ">", 1, 2),
        ("guard_truth", 3, positive),
        ("return", 5 if positive else 1),
    ]


def test_a_shared_segment_gives_what_either_path_wants() -> None:
    def f(x: Any) -> Any:
        return 2 * x if (2 * x).sum() > 0 else (2 * x).sum()

    for first, second in ((X, -X), (-X, X)):
        compiled = dvm.compile(f)
        with lowered(segment_paths):
            compiled(first)
            compiled(second)
        assert compiled.stats.captures == 2
        for _ in range(3):
            np.testing.assert_array_equal(compiled(X), 2 * X)
            assert compiled(-X) == -20.0
        assert compiled.stats.hits == 6
        # The second path has no segment of its own, nor any step before its guard.
        _, hung = _dvm.paths(compiled)
        assert hung["plan"] == ""
        assert hung["steps"].startswith("guard_truth")


def test_names_of_one_path_do_not_stop_the_other() -> None:
    scope: dict[str, Any] = {"a": 1, "b": 2, "c": 3}

    def lower(arguments: tuple[Any, ...]) -> Steps:
        (flag,) = arguments
        name = "b" if flag else "c"
        return [
            ("guard_names", [(scope, "a", 1), (scope, name, scope[name])]),
            ("argument", 0, 0),
            ("guard_value", 0, flag),
            ("variable", 1, scope, name),
            ("return", 1),
        ]

    f = dvm.compile(lambda flag: scope["b" if flag else "c"])
    with lowered(lower):
        assert (f(True), f(False)) == (2, 3)
        assert (f(True), f(False)) == (2, 3)
        assert f.stats.hits == 2
        assert _dvm.paths(f)[1]["steps"].startswith("guard_value")
        scope["c"] = 4
        assert (f(True), f(False)) == (2, 4)
        assert (f(True), f(False)) == (2, 4)
        assert (f.stats.captures, f.stats.hits) == (3, 5)


def test_a_path_added_from_within_a_replay_stands_alone() -> None:
    """What runs cannot be changed: the inner call's new path shares nothing, and all is right."""
    waiting: list[float] = []
    inner: list[Any] = []

    def again(x: float) -> float:
        if waiting:
            inner.append(f(waiting.pop(), 1.0))
        return x / 2

    paths = LoopPaths()
    paths.halve = again  # type: ignore[assignment]
    f: Any = dvm.compile(loop)
    with lowered(paths.lower):
        f(4.0, 1.0)
        waiting.append(8.0)
        assert f(4.0, 1.0) == (1.0, 2)
        assert inner == [(1.0, 3)]
        for turns in (2, 3):
            assert f(float(2**turns), 1.0) == (1.0, turns)
    assert f.stats.captures == 2
    assert f.stats.hits == 3


def test_values_forgotten_by_one_path_live_for_the_other() -> None:
    """The first path reads y for the last time in the guard's condition, the second returns it."""

    def lower(arguments: tuple[Any, ...]) -> Steps:
        x = arguments[0]
        made, (doubled,) = double()
        summed, (sum_,) = total()
        positive = bool(x.sum() > 0)
        return [
            ("argument", 0, 0),
            ("guard_signature", 0, X),
            ("run", made, [0], [], [(doubled, 1, "array", None)], 0, 0, "numpy"),
            ("run", summed, [1], [], [(sum_, 2, "float", None)], 0, 0, "numpy"),
            ("constant", 3, 0.0),
            ("operator", 4, ">", 2, 3),
            ("guard_truth", 4, positive),
            ("return", 2 if positive else 1),
        ]

    def f(x: Any) -> Any:
        y = 2 * x
        return y.sum() if y.sum() > 0 else y

    compiled = dvm.compile(f)
    with lowered(lower):
        compiled(X)
        compiled(-X)
    for _ in range(2):
        assert compiled(X) == 20.0
        np.testing.assert_array_equal(compiled(-X), -2 * X)
    assert compiled.stats.hits == 4
    assert operator.contains(_dvm.paths(compiled)[0]["steps"], "forget none")
