"""What a program drops is gone: in the recorded call, in replays and between parts."""

# ruff: noqa: SIM115  (files are closed by being dropped)
from __future__ import annotations

import contextlib
import mmap
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm


class Holder:
    """Has attributes, and can be referred to weakly."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


class Ending:
    """Says what an attribute of another object was when it died."""

    def __init__(self, other: Any, told: list[Any]) -> None:
        self.other, self.told = other, told

    def __del__(self) -> None:
        self.told.append(self.other.b)


def file_of_one_line(g: Any) -> Any:
    open(g.path, "w").write("hello")
    return open(g.path).read()


def file_of_a_name(g: Any) -> Any:
    file = open(g.path, "w")
    file.write("hello")
    x = g.x * 2
    file = None
    y = x + 1
    return open(g.path).read(), y.tolist()


def file_in_a_callee(g: Any) -> Any:
    def write() -> float:
        file = open(g.path, "w")
        file.write("hello")
        return 1.0

    return write() * g.x[1], open(g.path).read()


def file_in_a_list(g: Any) -> Any:
    files = [open(g.path, "w")]
    files[0].write("hello")
    files.clear()
    return open(g.path).read()


def file_of_an_exception(g: Any) -> Any:
    def write() -> None:
        file = open(g.path, "w")
        file.write("hello")
        raise ValueError

    with contextlib.suppress(ValueError):
        write()
    return open(g.path).read()


def file_of_a_handled_exception(g: Any) -> Any:
    def write() -> None:
        file = open(g.path, "w")
        file.write("hello")
        raise ValueError

    try:
        write()
    except ValueError:
        n = 1
    return open(g.path).read(), n


def memory_of_an_array(g: Any) -> Any:
    total = np.frombuffer(g.buffer, "u1").sum()
    g.buffer.extend(b"x")
    return int(total), len(g.buffer)


def memory_of_a_view(g: Any) -> Any:
    part = bytes(memoryview(g.buffer)[:2])
    g.buffer.extend(b"x")
    return part, len(g.buffer)


def memory_in_a_tuple(g: Any) -> Any:
    pair = (np.frombuffer(g.buffer, "u1"), 1)
    pair = None  # noqa: F841
    g.buffer.extend(b"x")
    return len(g.buffer)


def memory_of_a_map(g: Any) -> Any:
    a = np.frombuffer(g.map, "u1")
    first = int(a[0])
    del a
    g.map.close()
    return first, g.map.closed


def resized(g: Any) -> Any:
    a = g.x + 1
    resize = a.resize
    resize(2)
    return a.tolist()


def weak_value(g: Any) -> Any:
    thing = Holder(n=1)
    g.weak["thing"] = thing
    n = g.weak["thing"].n
    thing = None
    return n, "thing" in g.weak


def weak_reference(g: Any) -> Any:
    n = g.thing.n
    g.thing = None
    return n, g.reference() is None


def weak_reference_to_an_array(g: Any) -> Any:
    total = g.array.sum()
    g.array = g.x
    return float(total), g.to_array() is None


def order_of_two_objects(g: Any) -> Any:
    k = g.p.k
    g.q.b = 1
    g.p.a = None
    g.q.b = 2
    return k, list(g.told)


def order_of_variables(g: Any) -> Any:
    global VARIABLE
    VARIABLE = 1
    g.q.b = VARIABLE + 1
    g.p.a = 2
    VARIABLE = 3
    return list(g.told)


VARIABLE = 0
PROGRAMS: list[Callable[[Any], Any]] = [
    file_of_one_line,
    file_of_a_name,
    file_in_a_callee,
    file_in_a_list,
    file_of_an_exception,
    file_of_a_handled_exception,
    memory_of_an_array,
    memory_of_a_view,
    memory_in_a_tuple,
    memory_of_a_map,
    resized,
    weak_value,
    weak_reference,
    weak_reference_to_an_array,
    order_of_two_objects,
    order_of_variables,
]


def given(path: Path) -> Holder:
    """What the programs work on, new for each call."""
    g = Holder(x=np.arange(4.0), path=path, told=[], buffer=bytearray(b"abc"))
    g.map, g.weak = mmap.mmap(-1, 16), weakref.WeakValueDictionary()
    g.thing, g.array = Holder(n=1), np.arange(3.0)
    g.reference, g.to_array = weakref.ref(g.thing), weakref.ref(g.array)
    g.q = Holder(b=0)
    g.p = Holder(k=1, a=Ending(g.q, g.told))
    return g


def outcome(function: Callable[[Any], Any], g: Any) -> Any:
    try:
        return function(g)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_a_program_drops_is_gone(program: Callable[[Any], Any], tmp_path: Path) -> None:
    compiled = dvm.compile(program)
    for _ in range(5):
        wanted = outcome(program, given(tmp_path / "plain"))
        assert outcome(compiled, given(tmp_path / "compiled")) == wanted
