"""Functions in parts: each cut gives the same results, and what is around it stays compiled."""

from __future__ import annotations

import argparse
import contextlib
import copy
import difflib
import functools
import importlib
import inspect
import random
import tarfile
import traceback
import types
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm, splitting
from dvm.splitting.python_bytecode import assembled
from loops.programs import PROGRAMS
from semantics import world
from whole import WHOLE, some

for path in sorted((Path(__file__).parent / "semantics").glob("[a-z]*.py")):
    if not path.stem.startswith("test_") and path.stem != "world":
        importlib.import_module(f"semantics.{path.stem}")


def outcome(run: Callable[[], Any]) -> str:
    """What a call gives or raises, and what it warns of; with the lines of the function."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            made = repr(run())
        except Exception as error:
            lines = [e.lineno for e in traceback.extract_tb(error.__traceback__)[1:]]
            made = f"{error!r} {lines[-1:]}"
    return f"{made} {[(str(w.message), w.lineno) for w in seen]}"


def parts_around(function: types.FunctionType, lines: list[int]) -> list[tuple[Any, int]]:
    """The parts of a function cut around lines, what is moved out of the middle one uncompiled.

    Nothing if nothing can be cut or moved.
    """
    flow = splitting.Flow(function.__code__)
    cuts = splitting.pieces_around(flow, lines)
    found = []
    moved_any = False
    for begin, end in cuts or [(flow.first, flow.last)]:
        part = splitting.part_of(function, flow, begin, end)
        inner = splitting.Flow(part.__code__)
        pieces = splitting.pieces_within(inner, lines)
        moved = [(each, splitting.piece_function(part, inner, each)) for each in pieces]
        moved_any |= bool(moved)
        found.append(splitting.with_calls(part, inner, moved))
    return found if cuts or moved_any else []


def in_parts(function: types.FunctionType, lines: list[int]) -> Callable[..., Any] | None:
    parts = [part for part, _ in parts_around(function, lines)]
    if not parts:
        return None

    def run(*args: Any, **kwargs: Any) -> Any:
        result = parts[0](*args, **kwargs)
        for part in parts[1:]:
            if not (type(result) is tuple and result and result[0] is splitting.End):
                break
            result = part(*result[1:])
        return result

    return run


def lines_of(function: Callable[..., Any]) -> Iterator[int]:
    yield from sorted(splitting.own_lines(function.__code__))


@pytest.mark.parametrize("name", PROGRAMS)
def test_cut_at_any_line_a_program_with_loops_does_the_same(name: str) -> None:
    program = PROGRAMS[name]
    function: Any = inspect.unwrap(program.function)
    for count in (0, 3):
        given = program.make(np.random.default_rng(count), 4, count)
        wanted = outcome(lambda: function(*copy.deepcopy(given)))  # noqa: B023
        for line in lines_of(function):
            run = in_parts(function, [line])
            if run is not None:
                assert outcome(lambda: run(*copy.deepcopy(given))) == wanted  # noqa: B023


def branches(x, y=3, *rest, k=4, **more):
    if x > 2:
        early = x
    a = x * 2 + y
    if a > 9:
        return a, "early"
    try:
        b = a / (x - 1)
    except ZeroDivisionError as error:
        b = str(error)
    with np.errstate(all="ignore"):
        c = np.float64(a) / 0
    for i in range(x):
        if i == 1:
            continue
        a += i
    else:
        a -= 1
    total = [a * each for each in (1, 2, k)]
    if x > 2:
        total.append(early)
    del c
    later = lambda: (a, total)  # noqa: E731
    while a > 3:
        a //= 2
        if a == 4:
            break
    return later(), b, rest, more, a


def raising(x):
    y = [each + 0 for each in (3, 2, 1)]
    warnings.warn(f"of {x}", stacklevel=1)
    z = y[0] // x
    return y[z] + z


def rebinding(x):
    y = x + 1
    get = lambda: y  # noqa: E731
    before = get()
    y = before * 2
    z = [get() for _ in range(2)]
    y = z[0] + x
    return y, get(), z


def swallowing(x):
    y = x + 1
    with contextlib.suppress(ZeroDivisionError):
        z = y // x
    w = y * 2
    get = lambda: late  # noqa: E731
    if x != 3:
        late = w
    return z + w, get(), [late for _ in range(2)]


def comprehending(x):
    if x > 4:
        k = x * 2
    i = x + 1
    a = [i * j for j in range(x) for i in (j, j + 1)]
    get = [lambda m=m: m + i + j for j in range(2) for m in (j, x)]  # noqa: B023
    try:
        b = {i: 3 // (i - x) for i in range(3)}
    except ZeroDivisionError:
        b = {i: x}
    c = [(last := k * 2) for k in a if k > 1]
    if x == 3:
        del i
    d = {(i, j) for i, j in zip(a, c, strict=False)}
    if x < 5:
        k = [k for k in c][-1:]  # noqa: C416
    e = [[x for x in range(x)] for x in range(x)]  # noqa: C416
    if x != 3:
        e += [i]
    return a, b, c, sorted(d), e, k, [each() for each in get], x, c and last


def caught_always(x):
    y = x + 1
    try:
        raise ExceptionGroup("group", [ValueError(y), KeyError(x)])
    except* ValueError as group:
        y = y * len(group.exceptions)
    except* KeyError:
        x = x * 2
    return x + y


def refusing(x):
    if x == 1:
        raise ValueError("one")
    y = x * 2
    if y > 4:
        if x > 4:
            raise KeyError(x)
        z = [y, x]
    else:
        raise KeyError(y)
    w = abs(z[0])
    return w + z[1]


class Ending:
    """Tells when it dies."""

    def __init__(self, told):
        self.told = told

    def __del__(self):
        self.told.append("an end")


def holding(x):
    told = []
    if x > 2:
        held = Ending(told)
    y = x + 1
    try:
        again = Ending(told) if y > 3 else 1 // x  # noqa: F841
    except ZeroDivisionError:
        told.append("no division")
    if x == 4:
        del held
    told.append(y * 2)
    z = [each + y for each in (1, 2)]
    told.append(z[0] + x)
    return list(told), x


@pytest.mark.parametrize(
    "function",
    [
        *(branches, raising, rebinding, swallowing, comprehending, holding),
        *(caught_always, refusing),
    ],
    ids=lambda f: f.__name__,
)
def test_cut_at_any_line_control_flow_is_the_same(function: types.FunctionType) -> None:
    cuts = 0
    for line in lines_of(function):
        if (run := in_parts(function, [line])) is not None:
            cuts += 1
            for x in range(6):
                assert outcome(lambda: run(x)) == outcome(lambda: function(x))  # noqa: B023
    assert cuts > 2
    if function is branches:
        run = in_parts(function, [branches.__code__.co_firstlineno + 3])
        assert run is not None
        assert run(1, 2, 5, 6, k=7, z=8) == branches(1, 2, 5, 6, k=7, z=8)


def test_a_function_is_cut_behind_what_is_always_caught() -> None:
    """The compiler may put what raises again, which belongs to it, behind what follows."""
    flow = splitting.Flow(caught_always.__code__)
    first = caught_always.__code__.co_firstlineno
    pieces = splitting.pieces_around(flow, [first + 3])
    assert pieces is not None
    begin, _ = pieces[-1]
    assert {each.position[0] for each in flow.steps[begin:]} - {None} == {first + 8}


def test_cut_anywhere_instructions_with_long_arguments_stay_whole() -> None:
    """From 256 names on an instruction is two, and so is a jump over as many."""
    lines = [f"    v{k} = x + {1000 + k} + g{k}" for k in range(300)]
    lines += ["    for i in range(3):", *(f"        v{k} += v{k + 1}" for k in range(290))]
    lines += ["    if x > 1:", "        return v7", "    w = abs(x)", "    return w + v0 + v299"]
    scope: dict[str, Any] = {f"g{k}": k for k in range(300)}
    exec("def long(x):\n" + "\n".join(lines), scope)
    long = scope["long"]
    for line in some((2, 3, 150, 299, 301, 302, 400, 592, 593, 594, 595), 5):
        run = in_parts(long, [line])
        assert run is not None, line
        assert [run(x) for x in (-2, 3)] == [long(x) for x in (-2, 3)]


def functions_within(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from functions_within(each)


def told(flow: splitting.Flow) -> list[Any]:
    """What a function does, but for where it jumps."""
    jumps = ("jump_forward", "jump_backward", "nothing")
    return [
        (each.name, each.arg, each.local, each.depth, each.position, each.handler is None)
        for each in flow.steps
        if each.name not in jumps
    ]


@pytest.mark.parametrize("module", [argparse, difflib, inspect, tarfile, traceback])
def test_instructions_that_are_written_anew_read_the_same(module: types.ModuleType) -> None:
    count = 0
    for code in functions_within(compile(inspect.getsource(module), module.__name__, "exec")):
        if code.co_flags & inspect.CO_OPTIMIZED:  # no body of a class
            flow = splitting.Flow(code)
            fields, _ = assembled(flow.rows(0, flow.last), code.co_firstlineno)
            again = code.replace(**fields)
            assert told(splitting.Flow(again)) == told(flow), code
            assert splitting.own_lines(again) == splitting.own_lines(code)
            count += 1
    assert count > 30


def test_what_sees_its_own_frame_or_waits_is_not_cut() -> None:
    def looks(x):
        y = x + 1
        z = dict(locals())
        return y * z["x"]

    def waits(x):
        y = x + 1
        yield y
        yield y * 2

    async def later(x):
        y = x + 1
        return y * 2

    for function in (looks, waits, later):
        for line in lines_of(function):
            assert not parts_around(function, [line])


def never():
    yield


def cut_somewhere(draw: random.Random) -> Callable[[Any], Any]:
    """For World: a function always runs in parts, none compiled, cut around a line drawn."""

    def cut(given: Any) -> Any:
        function = dvm.compile(given).__wrapped__
        line = draw.choice(sorted(splitting.own_lines(function.__code__)))
        parts = parts_around(function, [line])
        if not parts:
            return given
        compiled: Any = dvm.compile(types.FunctionType(never.__code__, function.__globals__))
        _dvm.set_parts(compiled, (splitting.End, *parts))
        for name in functools.WRAPPER_ASSIGNMENTS:
            setattr(compiled, name, getattr(given, name))
        return compiled

    return cut


@pytest.mark.filterwarnings("ignore:.* runs uncompiled")
@pytest.mark.parametrize(
    "name", [name for name in world.CASES if zlib.crc32(name.encode()) % (8 if WHOLE else 24) == 0]
)
def test_cut_anywhere_a_program_behaves_as_the_whole_one(name: str) -> None:
    found = world.compare(world.CASES[name], cut_somewhere(random.Random(name)))
    # What a case asks of the stats or attributes of a compiled function is no concern here.
    assert not found or found.startswith("outside of a call"), found


def saved(x, path):
    y = (x * 2 + 1).sum(axis=0)
    with open(path, "ab") as file:
        file.write(y.tobytes())
    z = np.exp(-y) * y
    return z / z.sum(), x


def test_a_file_is_written_between_two_compiled_parts(tmp_path: Path) -> None:
    f = dvm.compile(saved)
    for n in (3, 4, 5, 3):
        x = np.arange(4.0 * n).reshape(4, n)
        made = f(x, tmp_path / "mine")
        wanted = saved(x, tmp_path / "its")
        assert np.allclose(made[0], wanted[0], rtol=1e-13)
        assert made[1] is x
    assert (tmp_path / "mine").read_bytes() == (tmp_path / "its").read_bytes()
    assert (f.stats.fallbacks, f.stats.splits) == (1, 3)  # the first call was recorded
    assert f.parts is not None
    head, middle, tail = f.parts
    assert not isinstance(middle, type(f))
    for part in (head, tail):
        assert (part.stats.captures, part.stats.fallbacks) == (1, 0)
        assert part.stats.hits == 2
    report = dvm.explain(f)(x, tmp_path / "mine")
    assert report.outcome == "split"
    line = saved.__code__.co_firstlineno
    assert f"in 3 parts, one uncompiled because of line {line + 2}" in report.summary
    assert f"part lines {line + 2} to {line + 3}: runs as it is" in str(report)
    assert f"part line {line + 1}: compiled, 3 hits in 4 calls" in str(report)


def test_a_part_that_is_not_compiled_either_is_cut_again() -> None:
    def f(x):
        a = x * 2
        one = zlib.crc32(a.tobytes())
        b = a + one % 3
        two = zlib.crc32(b.tobytes())
        return (b - two % 5) * a

    compiled = dvm.compile(f)
    for n in (3, 5, 4, 3, 2):
        assert np.array_equal(compiled(np.arange(n)), f(np.arange(n)))
    assert compiled.parts is not None
    tail = compiled.parts[-1]
    assert isinstance(tail, type(compiled))
    assert tail.parts is not None
    assert [part.stats.hits for part in (compiled.parts[0], *tail.parts[::2])] == [3, 2, 2]


def test_new_code_of_the_function_has_no_parts_of_the_old() -> None:
    def f(x):
        y = x * 2
        zlib.crc32(b"")
        return y + 1

    def g(x):
        return x * 5

    compiled = dvm.compile(f)
    for _ in range(3):
        assert compiled(np.ones(2))[0] == 3
    assert compiled.stats.splits == 2
    f.__code__ = g.__code__
    for _ in range(3):
        assert compiled(np.ones(2))[0] == 5
    assert compiled.stats.splits == 2
    assert compiled.parts is None

    def h(x):
        y = x * 3
        zlib.crc32(b"")
        return y + 4

    f.__code__ = h.__code__
    for _ in range(3):
        assert compiled(np.ones(2))[0] == 7
    assert compiled.stats.splits == 4
    assert compiled.parts is not None
    assert compiled.parts[-1].stats.hits == 1


def test_an_exception_of_a_part_has_the_lines_of_the_function() -> None:
    def f(x, n):
        y = x * 2
        zlib.crc32(b"")
        return y + x[n]

    compiled = dvm.compile(f)
    for _ in range(3):
        compiled(np.ones(2), 1)
    with pytest.raises(IndexError) as info:
        compiled(np.ones(2), 2)
    last = traceback.extract_tb(info.value.__traceback__)[-1]
    assert (last.name, last.lineno) == ("f", f.__code__.co_firstlineno + 3)
