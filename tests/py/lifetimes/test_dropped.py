"""What a program drops is gone: in the recorded call, in replays and between parts."""

# ruff: noqa: SIM115  (files are closed by being dropped)
from __future__ import annotations

import contextlib
import mmap
import os
import signal
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
    """Says what another object, an array and a generator were when it died, and changes one."""

    def __init__(self, g: Holder) -> None:
        self.q, self.x, self.rng, self.told = g.q, g.x, g.rng, g.told

    def __del__(self) -> None:
        draws = self.rng.bit_generator.state["state"]["state"]
        self.told.append((self.q.b, self.x.tolist(), draws))
        self.q.b += 10


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


def order_of_arrays_and_draws(g: Any) -> Any:
    g.x[0] = g.rng.random()
    g.p.a = None
    g.x[0] = 2
    return g.rng.random(), list(g.told)


def what_is_read_behind(g: Any) -> Any:
    g.thing = None
    n = g.q.b
    g.p.a = 1
    return n, g.q.b, g.reference() is None


def order_within_a_tuple(g: Any) -> Any:
    n = g.second.n  # which is gone before the first one of the tuple is
    g.second = None
    g.nested = None
    return n, list(g.gone)


def order_within_what_is_behind_others(g: Any) -> Any:
    n = g.second.n
    g.p.a = g.second = None
    part = (g.nested, n)
    g.__dict__["nested"] = None
    part = n
    return part, list(g.gone)


def order_of_what_was_dropped_before(g: Any) -> Any:
    others = [g.others]
    g.others = others = None  # noqa: F841
    g.p.a = None
    g.second = None
    g.nested = 1
    return list(g.gone)


def memory_between_parts(g: Any) -> Any:
    signal.getsignal(signal.SIGINT)
    a = np.frombuffer(g.buffer, "u1")[1:]
    open(g.path, "w").write("1")
    a = open(g.path, "w")
    signal.getsignal(signal.SIGINT)
    g.buffer.extend(b"x")
    return len(g.buffer), a.closed


def files_of_the_last_line(g: Any) -> Any:
    b = open(g.path, "w")
    b.write("b")
    a = open(g.path, "w")
    a.write("a")
    b = open(g.path, "w")
    b.write("c")
    return 1


def file_at_the_end(g: Any) -> Any:
    files_of_the_last_line(g)
    return open(g.path).read()


def files_of_the_last_part(g: Any) -> Any:
    a = open(g.path, "w")
    a.write("a")
    b = open(g.path, "w")  # which is written last, for it is the last variable
    b.write("b")
    y = g.x * 2
    return y.tolist()


VARIABLE = 0


def files_in_turns(g: Any) -> Any:
    sizes = []
    for i in range(3):
        file: Any = open(g.path, "a" if i else "w")
        total = float((g.x * 2).sum())
        file.write("abc"[: i + 1])
        file = None
        sizes.append((g.path.stat().st_size, total))
    return sizes


def memory_in_turns(g: Any) -> Any:
    total = 0
    for i in range(3):
        part: Any = np.frombuffer(g.buffer, np.uint8)
        if part[i] > 10:
            total += int(part.sum())
        part = None
        g.buffer.append(i)
    return total, len(g.buffer)


def view_in_turns(g: Any) -> Any:
    found = []
    for i in range(3):
        part: Any = memoryview(g.buffer)
        found.append(part[i])
        part = None
        g.buffer.append(i)
    return found


def mapped_array(g: Any) -> Any:
    (g.x * 0).tofile(g.path)
    a: Any = np.memmap(g.path, mode="r+", dtype=np.float64)
    total = float(a.sum())
    a = None
    return total, len(os.listdir("/proc/self/fd"))


def steps_told(x: Any, told: list[Any]) -> Any:
    try:
        while True:
            x = x + 1
            yield x
    finally:
        told.append("closed")


def generator_in_turns(g: Any) -> Any:
    x = g.x
    for i in range(3):
        running: Any = steps_told(x, g.told)
        y = next(running)
        os.getpid()
        x = x * 2 + y
        g.told.append(float(x[0]))
        running = None
        g.told.append(i)
    return g.told


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
    order_of_arrays_and_draws,
    what_is_read_behind,
    order_within_a_tuple,
    order_within_what_is_behind_others,
    order_of_what_was_dropped_before,
    memory_between_parts,
    file_at_the_end,
    files_of_the_last_part,
    files_in_turns,
    memory_in_turns,
    view_in_turns,
    generator_in_turns,
    mapped_array,
]


def given(path: Path) -> Holder:
    """What the programs work on, new for each call."""
    g = Holder(x=np.arange(4.0), path=path, told=[], buffer=bytearray(b"abc"))
    g.map, g.weak = mmap.mmap(-1, 16), weakref.WeakValueDictionary()
    g.thing, g.array = Holder(n=1), np.arange(3.0)
    g.reference, g.to_array = weakref.ref(g.thing), weakref.ref(g.array)
    g.q, g.rng = Holder(b=0), np.random.default_rng(0)
    g.p = Holder(k=1, a=Ending(g))
    g.second, g.gone = Holder(n=2), []
    gone = g.gone
    g.nested = (Holder(n=1), [g.second], Holder(n=3))
    g.others = [g.nested[2], (g.nested[0], g.second)]
    g.references = [
        weakref.ref(each, lambda _, n=each.n: gone.append(n))
        for each in (g.nested[0], g.second, g.nested[2])
    ]
    return g


def outcome(function: Callable[[Any], Any], g: Any) -> Any:
    try:
        return function(g)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def left_in(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_a_program_drops_is_gone(program: Callable[[Any], Any], tmp_path: Path) -> None:
    compiled = dvm.compile(program)
    for _ in range(8):
        wanted = outcome(program, given(tmp_path / "plain")), left_in(tmp_path / "plain")
        result = outcome(compiled, given(tmp_path / "compiled"))
        assert (result, left_in(tmp_path / "compiled")) == wanted
