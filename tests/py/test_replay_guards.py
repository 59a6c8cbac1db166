"""What a path looks at: fetches, guards, and the outcomes that miss."""

from __future__ import annotations

import gc
import math
import operator
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dvm import _dvm
from replay_paths import SCOPE, Runs, Slotted, Steps, Thing, X, cell_of, compute, crowded, slotted

ERRSTATE = tuple(np.geterr()[key] for key in ("divide", "over", "under", "invalid"))


# step over argument a (register 0, the result is register 1), argument -> value, failing arguments
FETCHES: list[tuple[tuple[Any, ...], Any, Any, list[Any]]] = [
    (("attribute", 1, 0, "own"), Thing(5), 5, [Slotted(), 3, type("Other", (), {})()]),
    (("attribute", 1, 0, "own"), crowded(5), 5, []),
    (("attribute", 1, 0, "shared"), SimpleNamespace(shared=2), 2, [Thing(1)]),
    (("attribute", 1, 0, "pi"), math, math.pi, [operator]),
    (("getattr", 1, 0, "own"), slotted(4), 4, [Slotted(), 3]),
    (("item", 1, 0, 1), (1, 2), 2, [(1,), [1], "ab", {1: 2}]),
    (("item", 1, 0, 1), [1, 2], 2, []),
    (("item", 1, 0, -2), (1, 2), 1, [(1,), [], "ab", {-2: 2}]),
    (("item", 1, 0, -1), [1, 2], 2, [[], ()]),
    (("item", 1, 0, -1), deque((1, 2)), 2, [deque()]),
    (("key", 1, 0, "k"), {"k": 7}, 7, [{}, [], {"K": 7}]),
    (("shape", 1, 0, 1), np.ones((2, 3)), 3, [np.ones(2), [1]]),
    (("shape", 1, 0, 0), np.ones(0), 0, []),
    (("iterate", 1, 0, 2), [1, 2], (1, 2), [[1], [1, 2, 3], 5, iter([1, 2, 3])]),
    (("iterate", 1, 0, 2), range(2), (0, 1), []),
    (("iterate", 1, 0, 2), {"a": 1, "b": 2}, ("a", "b"), []),
]


def names_of(rows: list[Any]) -> list[str]:
    """Names without the addresses of objects: every worker must collect the same tests."""
    return [f"{row[0][0]}-{number}" for number, row in enumerate(rows)]


@pytest.mark.parametrize(("step", "good", "value", "bad"), FETCHES, ids=names_of(FETCHES))
def test_fetches(step: tuple[Any, ...], good: Any, value: Any, bad: list[Any]) -> None:
    runs = Runs([("argument", 0, 0), step, ("return", 1)], good)
    assert runs(good) == value
    for argument in bad:
        before = runs.stats
        assert runs(argument) == "original"
        assert runs.stats.misses == before.misses + 1 or runs.stats.fallbacks > before.fallbacks
        assert runs.stats.drops == 0


def test_fetches_by_name_and_cell() -> None:
    cell = cell_of(1)
    runs = Runs(
        [
            ("variable", 0, SCOPE, "name"),
            ("cell", 1, cell),
            ("constant", 2, "c"),
            ("tuple", 3, [0, 1, 2]),
            ("return", 3),
        ]
    )
    assert runs() == (3, 1, "c")
    SCOPE["name"] = 4
    cell.cell_contents = 2
    assert runs() == (4, 2, "c")
    del cell.cell_contents
    assert runs() == "original"
    cell.cell_contents = 3
    del SCOPE["name"]
    try:
        assert runs() == "original"
    finally:
        SCOPE["name"] = 3


F32 = np.ones((2, 3), np.float32)
LITERAL_NAN = float("nan")

# guard over argument a (register 0), arguments that pass, arguments that do not
GUARDS: list[tuple[tuple[Any, ...], list[Any], list[Any]]] = [
    (("guard_is", 0, Thing), [Thing], [Slotted, None]),
    (("guard_type", 0, list), [[], [1]], [(), type("L", (list,), {})()]),
    (
        ("guard_signature", 0, F32),
        [F32, np.ones((5, 0), np.float32), np.ones((1, 1), np.float32)],
        [
            F32.astype(np.float64),
            np.ones(3, np.float32),
            np.asfortranarray(F32),
            F32[:, ::2],
            F32.astype(">f4"),
            F32.view(np.matrix),
            2.0,
            np.float32(1),
        ],
    ),
    (
        ("guard_signature", 0, np.ones((2, 3, 4)).transpose(2, 0, 1)),
        [np.ones((5, 6, 7)).transpose(2, 0, 1)],
        [np.ones((5, 6, 7)), np.ones((5, 6, 7)).transpose(1, 2, 0), np.ones((5, 6, 7)).T],
    ),
    (
        ("guard_signature", 0, np.ones(3, np.complex128)),
        [np.ones(5, np.complex128)],
        [np.ones(3, np.complex64), np.ones(3), np.ones((3, 1), np.complex128)],
    ),
    (("guard_signature", 0, np.float32(1)), [np.float32(2)], [np.float64(1), 1.0, np.ones(())]),
    (("guard_signature", 0, 1.0), [2.0, math.nan], [1, np.float64(1), True]),
    (("guard_signature", 0, 1), [2, -(10**30)], [1.0, True]),
    (("guard_signature", 0, True), [True], [False, 1]),
    (("guard_signature", 0, None), [None], [0]),
    (("guard_signature", 0, [1]), [[], [2]], [(1,)]),
    (("guard_value", 0, 3), [3, int("3")], [4, 3.0, True]),
    (("guard_value", 0, 0.0), [0.0], [-0.0, 0, 1.0]),
    (("guard_value", 0, math.nan), [float("nan")], [-math.nan, 0.0]),
    (("guard_value", 0, "ab"), ["".join(["a", "b"])], ["a", b"ab"]),
    (
        ("guard_value", 0, (1, (2.0, "x"))),
        [(1, (2.0, "x"))],
        [(1, (2, "x")), (1,), [1, (2.0, "x")]],
    ),
    (("guard_value", 0, slice(1, None)), [slice(1, None)], [slice(1), slice(1, None, 1)]),
    (("guard_value", 0, np.float32(1)), [np.float32(1)], [np.float32(2), 1.0, np.float64(1)]),
    (("guard_value", 0, 1j), [complex(0, 1)], [complex(-0.0, 1), 1]),
    (("guard_length", 0, 2), [[1, 2], (1, 2), {1, 2}, {1: 1, 2: 2}, "ab"], [[1], 5, X]),
    (("guard_truth", 0, True), [1, [0], np.bool_(True), np.ones(1)], [0, [], np.ones(2)]),
    (("guard_truth", 0, False), [0, "", np.zeros(1)], [1, np.zeros(2)]),
    (("guard_writeable", 0, True), [np.ones(2)], [np.broadcast_to(1.0, (2,)), 3]),
    (("guard_writeable", 0, False), [np.broadcast_to(1.0, (2,))], [np.ones(2)]),
    (("guard_lacks", 0, "own"), [Slotted(), SimpleNamespace()], [Thing(1), crowded(1)]),
    (
        ("guard_bare", 0, ("own",), ("hooks", "more")),
        [SimpleNamespace(hooks={}, more=OrderedDict(), other=1)],
        [
            SimpleNamespace(hooks={}),
            SimpleNamespace(hooks={}, more={1: 1}),
            SimpleNamespace(hooks={}, more=[]),
            SimpleNamespace(hooks={}, more={}, own=1),
            SimpleNamespace(hooks=defaultdict(int), more={}),
            3,
        ],
    ),
    (("guard_keys", 0, ("a", 1)), [{"a": 0, 1: 0}], [{1: 0, "a": 0}, {"a": 0}, {"a": 0, 1.0: 0}]),
    (("guard_keys", 0, ()), [{}], [{"a": 0}, ()]),
]


@pytest.mark.parametrize(("guard", "good", "bad"), GUARDS, ids=names_of(GUARDS))
def test_guards(guard: tuple[Any, ...], good: list[Any], bad: list[Any]) -> None:
    runs = Runs([("argument", 0, 0), guard, ("constant", 1, "replayed"), ("return", 1)], good[0])
    for argument in good:
        assert runs(argument) == "replayed", argument
    for argument in bad:
        assert runs(argument) == "original", argument
    assert runs.stats.drops == 0


def two(guard: tuple[Any, ...]) -> Steps:
    return [
        ("argument", 0, 0),
        ("argument", 1, 1),
        guard,
        ("constant", 2, "replayed"),
        ("return", 2),
    ]


def test_identity_and_overlap_of_two() -> None:
    a, b = np.zeros(6), np.zeros(6)
    same, different = (
        Runs(two(("guard_same", 0, 1, True)), a, a),
        Runs(two(("guard_same", 0, 1, False)), a, b),
    )
    assert (same(a, a), same(a, b)) == ("replayed", "original")
    assert (different(a, b), different(b, b)) == ("replayed", "original")
    meet, apart = (
        Runs(two(("guard_overlap", 0, 1, True)), a, a),
        Runs(two(("guard_overlap", 0, 1, False)), a, b),
    )
    views = [
        a,
        a[:3],
        a[3:],
        a[::-1],
        a[::2],
        a[1::2],
        a[:0],
        a[2:3],
        b,
        a[None],
        a.reshape(2, 3).T,
    ]
    for first in views:
        for second in views:
            expected = np.may_share_memory(first, second)
            assert (meet(first, second) == "replayed") == expected
            assert (apart(first, second) == "replayed") == (not expected)
    assert apart(a, 3) == "replayed"


def test_guards_on_names() -> None:
    scope: dict[str, Any] = {"a": 1, "b": 2}
    other: dict[str, Any] = {}
    guard = (
        "guard_names",
        [(scope, "a", 1), (scope, "c", _dvm.MISSING), (other, "b", _dvm.MISSING)],
    )
    runs = Runs([guard, ("constant", 0, "replayed"), ("return", 0)])
    assert runs() == runs() == "replayed"
    scope["b"] = 5
    assert runs() == "replayed", "not a name of the guard"
    for where, name, value in ((scope, "a", 2), (scope, "c", 0), (other, "b", 0)):
        before = dict(where)
        where[name] = value
        assert runs() == "original"
        where.clear()
        where.update(before)
        assert runs() == "replayed"


def test_a_function_is_known_by_its_code() -> None:
    def make(k: int, scope: dict[str, Any] | None = None) -> Any:
        def callee(x: int = 2 * k, *, y: int = 3 * k) -> int:
            return x + y + k

        return callee if scope is None else types.FunctionType(callee.__code__, scope, "other")

    first = make(1)
    runs = Runs(
        [
            ("argument", 0, 0),
            ("guard_function", 0, first.__code__, globals(), first.__builtins__),
            ("cell_of", 1, 0, 0),
            ("contents", 2, 1),
            ("preset", 3, 0, 0),
            ("preset", 4, 0, 1),
            ("tuple", 5, [2, 3, 4]),
            ("return", 5),
        ],
        first,
    )
    assert runs(first) == (1, 2, 3)
    second = make(5)
    assert runs(second) == (5, 10, 15)
    second.__defaults__, second.__kwdefaults__ = (1, 7), {"y": 8}
    assert runs(second) == (5, 7, 8)
    for defaults, named in ((None, {"y": 8}), ((), {"y": 8}), ((7,), None), ((7,), {})):
        second.__defaults__, second.__kwdefaults__ = defaults, named
        assert runs(second) == "original"
    for other in (lambda x=1: x, types.FunctionType(first.__code__, {}, closure=first.__closure__)):
        assert runs(other) == "original"
    assert runs(len) == runs(None) == "original"


def test_guards_keep_nothing_alive() -> None:
    class Held: ...

    def callee() -> int:
        return 1

    objects = [Held, callee]
    for held in objects:
        runs = Runs(
            [
                ("argument", 0, 0),
                ("guard_is", 0, held),
                ("constant", 1, "replayed"),
                ("return", 1),
            ],
            held,
        )
        assert runs(held) == "replayed"
        runs.steps.clear()
    known = weakref.ref(callee), weakref.ref(Held)
    del callee, Held, held, objects
    gc.collect()
    assert [known[0](), known[1]()] == [None, None]
    assert runs(None) == "original"


def test_guards_on_functions_and_classes() -> None:
    def callee(x: int = 1, *, y: int = 2) -> int:
        return x + y

    class Base:
        def method(self) -> None: ...

    class Derived(Base): ...

    runs = Runs(
        [
            ("guard_code", callee, callee.__code__, callee.__defaults__, callee.__kwdefaults__),
            ("guard_names", [(Derived, "method", Base.method), (Derived, "other", _dvm.MISSING)]),
            ("constant", 0, "replayed"),
            ("return", 0),
        ]
    )
    assert runs() == "replayed"
    kept = callee.__defaults__
    callee.__defaults__ = (5,)
    assert runs() == "original"
    callee.__defaults__ = kept
    assert runs() == "replayed"
    Derived.other = 1  # type: ignore[attr-defined]
    assert runs() == "original"
    del Derived.other  # type: ignore[attr-defined]
    assert runs() == runs() == "replayed"
    Base.method = lambda _: None  # type: ignore[method-assign]
    assert runs() == "original"


def test_guard_on_the_error_state() -> None:
    runs = Runs([("guard_errstate", ERRSTATE), ("constant", 0, "replayed"), ("return", 0)])
    for _ in range(2):
        assert runs() == "replayed"
        with np.errstate(over="ignore"):
            assert runs() == "original"
        with np.errstate(divide=ERRSTATE[0]):  # type: ignore[call-overload]
            assert runs() == "replayed", "another state of the same modes"


def test_the_error_state_is_the_programs_own_behind_calls_of_numpy() -> None:
    runs = Runs(
        compute(
            ("constant", 2, np.add),
            ("call", 3, 2, [0, 1], ()),
            ("guard_errstate", ERRSTATE),
            result=3,
        ),
        X,
        X,
    )
    np.testing.assert_array_equal(runs(X, X), X + X)
    with np.errstate(over="ignore"):
        assert runs(X, X) == "original"
