"""The native recorder and the reference tracer give the same records.

They share nothing but the look at the real value stack, so that a mistake in one shows.
"""

from __future__ import annotations

import collections
import copy
import functools
import gc
import itertools
import random
import re
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dvm.magpy_capture.meanings.numpy import tables
from programs.clone import Cloner
from programs.registry import Program, programs
from recordings import Recording, event_lines, leaves, node_text, record  # noqa: F401
from reference_tracer import tracer as settrace
from strangers import STRANGERS
from test_recorder import CASES
from test_recorder_robust import program as random_program


def shown(recording: Recording) -> list[Any]:
    """Everything about a recording that does not name this run's own objects."""
    # A generator that C code has asked for is known by itself.
    lines: list[Any] = [re.sub(r" at 0x[0-9a-f]+>", ">", line) for line in event_lines(recording)]
    lines += [
        (origin, index, name, type(scope).__name__, type(seen).__name__, type(snapshot).__name__)
        for origin, index, name, scope, seen, snapshot in recording["nodes"]
    ]
    lines += [len(node[5]) for node in recording["nodes"] if node[5] is not None]
    lines += [event[5] for event in recording["events"]]
    result = node_text(recording, recording["result"])
    return [*lines, result, recording["aborted"], recording["aborted_at"], recording["opcodes"]]


@pytest.fixture(autouse=True)
def _nothing_is_collected() -> Iterator[None]:
    """What earlier tests left behind is closed now, not in the middle of a recording."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def check_same(native: Recording, reference: Recording) -> None:
    assert shown(native) == shown(reference)
    assert type(native["exception"]) is type(reference["exception"])


@pytest.mark.parametrize(("function", "args", "_expected", "_result"), CASES)
def test_constructs(function: Any, args: Any, _expected: Any, _result: Any) -> None:
    first, second = copy.deepcopy(args), copy.deepcopy(args)
    check_same(record(function, *first), settrace.record(function, *second))


@pytest.mark.parametrize("name", sorted(STRANGERS))
def test_strangers(name: str) -> None:
    function = STRANGERS[name]
    record(function)  # what the library caches on first use is there for both
    check_same(record(function), settrace.record(function))
    assert sys.gettrace() is None


@pytest.mark.parametrize("seed", range(0, 300, 3))
def test_random_programs(seed: int) -> None:
    make = random_program(seed)[0]
    check_same(record(make(), 3, 0, [1, 2]), settrace.record(make(), 3, 0, [1, 2]))


def standardise(x: Any) -> Any:
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


def smooth(x: Any) -> Any:
    padded = np.pad(x, ((1, 1), (0, 0)), mode="edge")
    return np.roll(padded, 1, axis=0)[1:-1] + np.flip(x, 1)


def grow(x: Any) -> Any:
    parts = [np.tile(x, 2), np.stack([x, x]).reshape(4, -1).T]
    return np.concatenate([part.ravel() for part in parts])


def converge(x: Any) -> Any:
    with np.errstate(over="ignore"):
        while np.abs(x).max() > 0.1:
            x = x / 2
    return np.linalg.norm(x), np.meshgrid(x[0], x[0])


@pytest.mark.parametrize("function", [standardise, smooth, grow, converge])
@pytest.mark.parametrize("single", [(), (np.roll, np.pad, np.flip, np.stack)])
def test_numpy_programs(function: Any, single: Any, leaves: Any) -> None:  # noqa: F811
    leaves(*single)
    x = np.random.default_rng(0).random((4, 3))
    check_same(record(function, x.copy()), settrace.record(function, x.copy()))


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_numpy_programs_as_dvm_records_them(program: Program, leaves: Any) -> None:  # noqa: F811
    leaves(*tables.leaves())
    variables = Cloner().clone(program.read_variables())
    own = program.read_variables()
    for args, named in itertools.islice(program.calls(), 1):
        program.function(*args, **named)  # what NumPy caches on first use is there for both
    try:
        for (first, named), (second, _), _ in zip(
            program.calls(), program.calls(), range(4), strict=False
        ):
            recordings = []
            for tracer, args in ((record, first), (settrace.record, second)):
                program.write_variables(Cloner().clone(variables))
                recordings.append(tracer(program.function, *args, **Cloner().clone(named)))
            check_same(*recordings)
    finally:
        program.write_variables(own)


class Manager:
    def __enter__(self) -> Manager:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> bool:
        self.kind = kind
        return kind is ValueError


def number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise KeyError(text) from None


def handles(x: Any) -> Any:
    try:
        return x / 0
    except (TypeError, ZeroDivisionError) as error:
        return str(error)


def exits(x: Any) -> Any:
    with Manager() as manager:
        raise ValueError("first")
    try:
        with Manager():
            [][x]
    except (TypeError, IndexError):
        pass
    return manager.kind


def continues(x: Any) -> Any:
    for _ in range(3):
        try:
            number("a")
        except KeyError:
            continue
        finally:
            x += 1
    try:
        try:
            number("b")
        except KeyError:
            raise
    except Exception as error:
        return x, error.args


def lets_go(x: Any) -> Any:
    return number("z") + x


def asks_c_code(x: Any) -> Any:
    class Lacking:
        def __getattr__(self, name: str) -> Any:
            raise AttributeError(name)

    return hasattr(Lacking(), "y"), x


def fails(x: Any) -> Any:
    try:
        return sorted([x, "a"], key=number)
    except KeyError as error:
        return list(map(lambda text: text * 2, error.args))  # noqa: C417


def stops(x: Any) -> Any:
    return list(map(next, [iter([x])])), list(map(lambda text: next(iter(text)), ["a", ""]))  # noqa: C417


class Adding:
    def __init__(self, by: Any, *rest: Any) -> None:
        self.by, self.rest = by, rest

    def __call__(self, x: Any, *, twice: Any = False) -> Any:
        return x + self.by * (1 + twice)


def calls_back(x: Any) -> Any:
    total = 0

    def counted(part: Any) -> Any:
        nonlocal total
        total += part
        return -part

    first, *rest = map(counted, [x, 2])
    made = list(map(Adding, (x, total), "ab"))
    turned = filter(functools.partial(made[0], twice=True), range(3))
    spread = Adding(*map(made[1].__call__, [x])).by, [*turned]
    ranked = sorted(made, key=lambda adding: max(spread[1], key=adding))
    return first, rest, spread, ranked[0].by, functools.reduce(lambda a, b: a * b, [x, 2, 3])


CALLBACKS = [fails, stops, calls_back]


@pytest.mark.parametrize("function", [handles, exits, continues, lets_go, asks_c_code, *CALLBACKS])
def test_exceptions(function: Any) -> None:
    check_same(record(function, 3), settrace.record(function, 3))


class Table(dict):
    def __init__(self, **items: Any) -> None:
        super().__init__(items)
        self["n"] = len(self)

    def __missing__(self, key: str) -> int:
        return len(key)


class Parts(list):
    def __getitem__(self, place: int) -> Any:
        return list.__getitem__(self, place) * 2


def containers(x: Any) -> Any:
    table, parts = Table(a=x), Parts([x])
    parts.append(x)
    counts: Any = collections.defaultdict(lambda: 0)
    counts[x] += 1
    order: Any = collections.OrderedDict(a=1, b=x)
    order.move_to_end("a")
    return table["a"], table["missing"], parts[0], len(parts), counts[x], list(order)


def drops_file(x: Any) -> Any:
    file = open("/dev/null", "w")  # noqa: SIM115
    file.write("a")
    files = [file, x]
    file = None
    files = files[1:]
    return files, x


def drops_view(x: Any) -> Any:
    data = bytearray(b"abc")
    total = np.frombuffer(data, "u1")[1:].sum()
    data.extend(b"d")
    return total, x


def drops_referred(x: Any) -> Any:
    table = {"a": REFERRED.pop(), "b": x}
    first = table["a"].by
    table.clear()
    return first, REFERENCES[-1]() is None


REFERRED: list[Any] = []
REFERENCES: list[Any] = []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("function", [drops_file, drops_view, drops_referred])
def test_what_the_program_drops(function: Any) -> None:
    recordings = []
    for tracer in (record, settrace.record):
        REFERRED.append(Adding(1))
        REFERENCES.append(weakref.ref(REFERRED[-1]))
        recordings.append(tracer(function, 3))
        assert recordings[-1]["exception"] is None
        assert function is not drops_referred or recordings[-1]["value"][1]
        assert recordings[-1]["aborted"].startswith("an object that tells when it dies")
    check_same(*recordings)


def test_containers_of_all_kinds() -> None:
    check_same(record(containers, 3), settrace.record(containers, 3))


def test_leaves_stay_leaves(leaves: Any) -> None:  # noqa: F811
    def function() -> Any:
        return random.Random(0).uniform(1, 2)

    leaves(random.Random.uniform, random.Random)
    native = record(function)
    check_same(native, settrace.record(function))
    assert [event[0] for event in native["events"]] == ["attribute", "call"] * 2
