"""A path keeps no argument of its calls alive, whatever the program asked of it."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

X = np.arange(4.0)

ASKS: dict[str, Callable[[Any, Any], Any]] = {
    "length": lambda x, data: x * len(data),
    "buffer": lambda x, data: x + np.frombuffer(data, "u1")[:4].sum(),
    "view": lambda x, data: x + memoryview(data).nbytes,
    "beginning": lambda x, data: x + (1 if data.startswith(b"a") else 2),
    "element": lambda x, data: x + data[0],
    "bytes of its memory": lambda x, data: x + data.nbytes + len(data.data),
    "truth": lambda x, data: x + (2 if data else 1),
    "equality": lambda x, data: x if data == b"abc" else x + 1,
    "words": lambda x, data: x + len(data.split()),
    "sum": lambda x, data: x + len(data + data),
    "key": lambda x, data: x + len({data: 1}),
    "member": lambda x, data: x + (data in (b"abc", "abc")),
}
LONG: dict[str, Callable[[], Any]] = {
    "bytes": lambda: b"a" * 1_000_000,
    "str": lambda: "a" * 1_000_000,
    "bytearray": lambda: bytearray(1_000_000),
    "array": lambda: np.zeros(125_000),
}


def outcome(function: Callable[..., Any], data: Any) -> Any:
    try:
        return np.asarray(function(X, data)).tolist()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("ask", ASKS)
def test_a_long_argument_dies_when_the_caller_drops_it(ask: str, kind: str) -> None:
    compiled, data = dvm.compile(ASKS[ask]), LONG[kind]()
    wanted = outcome(ASKS[ask], data)
    before = sys.getrefcount(data)
    given = [outcome(compiled, data) for _ in range(3)]
    gc.collect()
    assert sys.getrefcount(data) == before
    assert given == [wanted] * 3


@pytest.mark.parametrize("kind", ["bytes", "str"])
def test_what_is_asked_of_a_long_text_is_computed_on_each_call(kind: str) -> None:
    compiled = dvm.compile(ASKS["length"])
    for count in (1_000_000, 1_000_001, 1_000_002):
        data = LONG[kind]() + LONG[kind]()[: count - 1_000_000]
        assert compiled(X, data).tolist() == (X * count).tolist()
    assert (compiled.stats.captures, compiled.stats.hits) == (1, 2)


class Thing:
    """Can be referred to weakly, and has attributes."""

    parts: Any
    size: Any


def stores_a_key(x: Any, table: Any) -> Any:
    table["c"] = 4
    return x


def stores_an_item(x: Any, items: Any) -> Any:
    items[1] = 4
    return x


def appends(x: Any, items: Any) -> Any:
    items.append(4)
    return x


def goes_through(x: Any, table: Any) -> Any:
    return x + len([key for key in table if key])


def counts(x: Any, table: Any) -> Any:
    table["b"] += 1
    return x * table["b"]


def stores_an_attribute(x: Any, thing: Any) -> Any:
    thing.size = 4
    return x


def stores_in_a_dict_of_its_own(x: Any, thing: Any) -> Any:
    thing.__dict__["size"] = 4
    return x


def goes_through_a_dict_of_its_own(x: Any, thing: Any) -> Any:
    return x + len([name for name in vars(thing) if name])


def thing_with(part: Any) -> Thing:
    thing = Thing()
    thing.parts = [part]
    return thing


HOLDERS: dict[Callable[[Any, Any], Any], Callable[[Any], Any]] = {
    stores_a_key: lambda part: {"a": part, "b": 1},
    stores_an_item: lambda part: [part, 1],
    appends: lambda part: [part, 1],
    goes_through: lambda part: {"a": part, "b": 1},
    counts: lambda part: {"a": part, "b": 1},
    stores_an_attribute: thing_with,
    stores_in_a_dict_of_its_own: thing_with,
    goes_through_a_dict_of_its_own: thing_with,
}


@pytest.mark.parametrize("ask", HOLDERS, ids=lambda ask: ask.__name__)
def test_what_a_container_holds_dies_with_it_and_not_when_cycles_are_collected(ask: Any) -> None:
    with dvm.stance("force_capture"):
        dvm.compile(ask)(X, HOLDERS[ask](1))  # what is imported on first use is there
        gc.collect()
        gc.disable()
        try:
            part = Thing()
            is_there = weakref.ref(part)
            dvm.compile(ask)(X, HOLDERS[ask](part))
            del part
            assert is_there() is None
        finally:
            gc.enable()
