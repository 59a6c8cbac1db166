"""Lists, dicts and deques that grow from call to call: one path for all lengths."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

X = np.linspace(-1, 1, 6)
HISTORY: list[Any] = []
SIZES: dict[Any, Any] = {}
WINDOW: deque[Any] = deque()


def scaled_by_length(x):
    HISTORY.append(x.sum())
    return x * len(HISTORY)


def numbered(x, table={}):  # noqa: B006
    table[len(table)] = len(x)
    return x + len(table)


def change_since(x):
    before = HISTORY[-1] if HISTORY else 0.0
    HISTORY.append(float(len(HISTORY)))
    return x * (HISTORY[-1] - before)


def mean_of_last(x):
    HISTORY.append(x)
    return np.mean(HISTORY[-3:], axis=0)


def second_to_last(x):
    HISTORY.append(len(HISTORY) * 0.5)
    return x + HISTORY[len(HISTORY) - 2] if len(HISTORY) > 4 else x


def limited(x):
    if len(HISTORY) > 30:
        HISTORY.clear()
    HISTORY.append(1)
    return x / len(HISTORY)


def written_in_place(x):
    HISTORY.append(0.0)
    HISTORY[-1] += 2.0
    return x - HISTORY[-1]


def counted_keys(x):
    SIZES[f"{len(SIZES)}"] = len(x)
    return x * len(SIZES)


def unbounded_window(x):
    WINDOW.append(0.5)
    return x * len(WINDOW) + WINDOW[-1]


class Layer:
    def __init__(self) -> None:
        self.log: list[Any] = []

    def __call__(self, x):
        self.log.append(x.shape)
        return x * len(self.log)


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda: scaled_by_length, 2),
        (lambda: numbered, 2),
        (lambda: change_since, 3),
        (lambda: mean_of_last, 4),
        (lambda: second_to_last, 4),
        (lambda: limited, 3),
        (lambda: written_in_place, 2),
        (lambda: counted_keys, 2),
        (lambda: unbounded_window, 2),
        (lambda: Layer().__call__, 2),
    ],
)
def test_any_number_of_elements_takes_few_paths(make: Callable[[], Any], most: int) -> None:
    outcomes = []
    for compiled in (False, True):
        HISTORY.clear()
        SIZES.clear()
        WINDOW.clear()
        numbered.__defaults__[0].clear()  # type: ignore[index]
        function: Any = make()
        if compiled:
            function = dvm.compile(function)
        with dvm.stance("force_capture"):
            results = [function(X + k) for k in range(100)]
        outcomes.append((results, len(HISTORY), dict(SIZES), list(WINDOW)))
    (wanted, *before), (got, *after) = outcomes
    assert before == after
    assert all(map(np.array_equal, wanted, got))
    assert function.stats.fallbacks == 0, function.fallback_reasons
    assert function.stats.captures <= most, function.why_recompiled()


#: What a generated program does, with a list L that is one of two names, and a number K.
STATEMENTS = (
    *("L.append(x * K)", "L.append(K)", "L.extend([K, x])", "r.append(len(L))", "x = x + len(L)"),
    *("r.append(L[-K])", "r.append(L[len(L) - K])", "r.append(L[0])", "L[-K] = x", "L[0] = K"),
    *("L[-1] += 1", "r.append(L[-K:])", "r.append(list(L))", "r.append(not L)", "L.clear()"),
    *("r.append(L.pop())", "r.append(bool(L))", "x = x * (len(L) - K)", "r.append(L[-K] is L[-1])"),
    *("r.append(len(L) == len(other))", "L[len(L) - 1] = x", "r.append(L[-1:])"),
    *("D[len(D)] = x", "D[K] = x", "D['k'] = K", "r.append(len(D))", "r.append(D.pop(K, None))"),
    *("r.append(bool(D))", "r.append(D.get(K))", "D[len(L)] = K", "r.append(list(D))", "D.clear()"),
    *("Q.append(x)", "Q.append(K)", "r.append(len(Q))", "r.append(Q[-K])", "r.append(Q[0])"),
    *("r.append(bool(Q))", "r.append(Q.popleft())", "Q.appendleft(K)", "r.append(list(Q))"),
)
CONDITIONS = (
    *("len(L) > K", "L", "not L", "len(L) % 2", "len(D) > K", "D", "len(Q) < K", "not Q", "Q"),
    *("len(L) >= K and L[-K] is not None", "len(L) != len(D)"),
)


def program(draw: random.Random) -> str:
    """The source of a function of two lists (which may be one), a dict and a deque."""

    def filled(text: str) -> str:
        return text.replace("L", draw.choice(("H", "other"))).replace("K", str(draw.randint(1, 3)))

    lines = ["def f(x, other):", "    r = []"]
    for _ in range(draw.randint(2, 7)):
        shape, one = draw.random(), filled(draw.choice(STATEMENTS))
        if shape < 0.3:
            lines += [f"    if {filled(draw.choice(CONDITIONS))}:", f"        {one}"]
        elif shape < 0.5:
            lines += ["    try:", f"        {one}", "    except LookupError as e:"]
            lines += ["        r.append(str(e))"]
        else:
            lines += [f"    {one}"]
    return "\n".join([*lines, "    return x, r", ""])


def described(value: Any, known: list[Any]) -> Any:
    """What can be told of a value: arrays and containers by which of the known ones they are."""
    for number, each in enumerate(known):
        if each is value:
            return f"number {number}"
    if isinstance(value, np.ndarray):
        known.append(value)
        return value.dtype.str, value.tolist()
    if isinstance(value, dict):
        known.append(value)
        return [(key, described(item, known)) for key, item in value.items()]
    if isinstance(value, (list, tuple, deque)):
        if not isinstance(value, tuple):
            known.append(value)
        return type(value).__name__, [described(item, known) for item in value]
    return type(value).__name__, repr(value)


def run(source: str, seed: int, *, compiled: bool) -> tuple[list[Any], Any]:
    """What each of some calls does, between which the caller changes the containers, too."""
    draw = random.Random(seed)
    scope: dict[str, Any] = {"np": np, "H": [], "D": {}, "Q": deque(maxlen=draw.choice((None, 3)))}
    exec(compile(source, "<generated>", "exec"), scope)
    function = dvm.compile(scope["f"]) if compiled else scope["f"]
    other: list[Any] = []
    told = []
    for call in range(14):
        event = draw.random()
        if event < 0.1:
            scope["H"] = list(scope["H"])
        elif event < 0.2:
            scope["H"].append(float(call))
        elif event < 0.3:
            other = scope["H"]
        elif event < 0.4:
            other = [1.5] * draw.randint(0, 3)
        elif event < 0.45:
            scope["H"] = []
        try:
            result = function(np.full(2, float(call)), other)
        except Exception as error:
            result = type(error).__name__, str(error)
        told.append(described([result, scope["H"], other, scope["D"], scope["Q"]], []))
    return told, function


@pytest.mark.parametrize("seed", range(60))
def test_generated_programs_do_what_they_do_plainly(seed: int) -> None:
    source = program(random.Random(seed))
    wanted, _ = run(source, seed, compiled=False)
    with dvm.stance("force_capture"):
        got, _ = run(source, seed, compiled=True)
    for call, (one, other) in enumerate(zip(wanted, got, strict=True)):
        assert one == other, f"call {call}\n{source}"


def test_a_set_gets_the_number_of_an_object() -> None:
    @dvm.compile
    def noted(x: Any, met: set[Any]) -> Any:
        met.add(id(x))
        met.add(7)
        return x * 2

    with dvm.stance("force_capture"):
        for count in (2, 2, 3):
            x, met = np.ones(count), {1, "a"}
            noted(x, met)
            assert met == {1, "a", 7, id(x)}
    assert noted.stats.hits == 2
