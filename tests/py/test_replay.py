"""Every step of a path: what it does, when it fails, and what a failure comes to."""

from __future__ import annotations

import gc
import math
import operator
import sys
import threading
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dvm import _dvm
from replay_paths import Runs, Steps, X, double, graph, installed, total

SCOPE: dict[str, Any] = {"name": 3}
ERRSTATE = tuple(np.geterr()[key] for key in ("divide", "over", "under", "invalid"))


def cell_of(value: Any) -> Any:
    def function() -> Any:
        return value

    assert function.__closure__
    return function.__closure__[0]


def empty_cell() -> Any:
    def function() -> Any:
        return value

    value: Any
    if False:
        value = 0
    assert function.__closure__
    return function.__closure__[0]


class Thing:
    shared = 1

    def __init__(self, own: Any) -> None:
        self.own = own


class Slotted:
    __slots__ = ("own",)


def slotted(value: Any) -> Slotted:
    made = Slotted()
    made.own = value  # type: ignore[attr-defined]
    return made


def crowded(value: Any) -> Thing:
    """More attributes than CPython keeps without a dict."""
    thing = Thing(value)
    for i in range(40):
        setattr(thing, f"other{i}", i)
    return thing


# step over argument a (register 0, the result is register 1), argument -> value, failing arguments
FETCHES: list[tuple[tuple[Any, ...], Any, Any, list[Any]]] = [
    (("attribute", 1, 0, "own"), Thing(5), 5, [Slotted(), 3, type("Other", (), {})()]),
    (("attribute", 1, 0, "own"), crowded(5), 5, []),
    (("attribute", 1, 0, "shared"), SimpleNamespace(shared=2), 2, [Thing(1)]),
    (("attribute", 1, 0, "pi"), math, math.pi, [operator]),
    (("getattr", 1, 0, "own"), slotted(4), 4, [Slotted(), 3]),
    (("item", 1, 0, 1), (1, 2), 2, [(1,), [1], "ab", {1: 2}]),
    (("item", 1, 0, 1), [1, 2], 2, []),
    (("item", 1, 0, -1), (1, 2), "original", []),
    (("key", 1, 0, "k"), {"k": 7}, 7, [{}, [], {"K": 7}]),
    (("shape", 1, 0, 1), np.ones((2, 3)), 3, [np.ones(2), [1]]),
    (("shape", 1, 0, 0), np.ones(0), 0, []),
    (("iterate", 1, 0, 2), [1, 2], (1, 2), [[1], [1, 2, 3], 5, iter([1, 2, 3])]),
    (("iterate", 1, 0, 2), range(2), (0, 1), []),
    (("iterate", 1, 0, 2), {"a": 1, "b": 2}, ("a", "b"), []),
]


@pytest.mark.parametrize(("step", "good", "value", "bad"), FETCHES, ids=lambda v: repr(v)[:40])
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
    (("guard_keys", 0, ("a", 1)), [{"a": 0, 1: 0}], [{1: 0, "a": 0}, {"a": 0}, {"a": 0, 1.0: 0}]),
    (("guard_keys", 0, ()), [{}], [{"a": 0}, ()]),
]


@pytest.mark.parametrize(("guard", "good", "bad"), GUARDS, ids=lambda v: repr(v)[:40])
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


def test_guards_on_functions_and_classes() -> None:
    def callee(x: int = 1, *, y: int = 2) -> int:
        return x + y

    class Base:
        def method(self) -> None: ...

    class Derived(Base): ...

    runs = Runs(
        [
            ("guard_code", callee, callee.__code__, callee.__defaults__, callee.__kwdefaults__),
            ("guard_class", Derived, "method", Base.method),
            ("guard_class", Derived, "other", _dvm.MISSING),
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


def compute(*steps: tuple[Any, ...], result: int) -> Steps:
    return [("argument", 0, 0), ("argument", 1, 1), *steps, ("return", result)]


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt,
    ">=": operator.ge, "is": operator.is_, "is not": operator.is_not,
    "inplace+": operator.iadd, "inplace-": operator.isub, "inplace*": operator.imul,
    "inplace//": operator.ifloordiv, "inplace%": operator.imod, "inplace**": operator.ipow,
    "inplace&": operator.iand, "inplace|": operator.ior, "inplace^": operator.ixor,
    "inplace<<": operator.ilshift, "inplace>>": operator.irshift,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_,
    "truth": bool, "bool": bool, "index": operator.index, "float": float, "int": int,
    "abs": abs, "str": str, "repr": repr,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators(name: str) -> None:
    runs = Runs(compute(("operator", 2, name, 0, 1), result=2), 7, 3)
    for a, b in ((7, 3), (-7, 3), (0, 1), (10**20, 3)):
        got, expected = runs(a, b), BINARY[name](a, b)
        assert (got, type(got)) == (expected, type(expected))


@pytest.mark.parametrize("name", UNARY)
def test_unary_operators(name: str) -> None:
    runs = Runs(compute(("operator", 2, name, 0), result=2), 7, 0)
    for a in (7, -7, 0, True):
        got, expected = runs(a, 0), UNARY[name](a)
        assert (got, type(got)) == (expected, type(expected))


def test_operators_on_containers_and_arrays() -> None:
    for name, a, b, expected in (
        ("in", 2, [1, 2], True),
        ("not in", 2, [1, 2], False),
        ("getitem", {"k": 5}, "k", 5),
        ("@", np.ones(3), np.ones(3), 3.0),
        ("inplace/", 3, 2, 1.5),
        ("inplace@", np.ones((2, 2)), np.ones((2, 2)), None),
    ):
        runs = Runs(compute(("operator", 2, name, 0, 1), result=2), a, b)
        if expected is not None:
            assert runs(a, b) == expected
        assert runs.stats.drops == 0
    runs = Runs(compute(("operator", 2, "len", 0), ("operator", 3, "iter", 0), result=2), X, 0)
    assert runs(X, 0) == 4


def test_containers_slices_and_text() -> None:
    runs = Runs(
        compute(
            ("tuple", 2, [0, 1]),
            ("list", 3, [1, 0, 0]),
            ("set", 4, [0, 1]),
            ("dict", 5, [0, 1, 1, 0]),
            ("slice", 6, [0, 1]),
            ("slice", 7, [0, 1, 0]),
            ("format", 8, 0, "", -1),
            ("constant", 9, ">4"),
            ("format", 10, 1, "r", 9),
            ("string", 11, [8, 10]),
            ("tuple", 12, []),
            ("tuple", 13, [2, 3, 4, 5, 6, 7, 11, 12]),
            result=13,
        ),
        1,
        2,
    )
    assert runs(1, 2) == (
        (1, 2), [2, 1, 1], {1, 2}, {1: 2, 2: 1}, slice(1, 2), slice(1, 2, 1), "1   2", (),
    )  # fmt: skip
    fresh = runs(1, 2)
    assert fresh[1] is not runs(1, 2)[1]
    assert runs([], 2) == "original", "unhashable: the original raises its own TypeError"
    assert runs.stats.drops == 1


def test_calls_with_keywords() -> None:
    def callee(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    runs = Runs(
        compute(("constant", 2, callee), ("call", 3, 2, [0, 1, 0], ("k", "l")), result=3), 1, 2
    )
    assert runs(1, 2) == ((1,), {"k": 2, "l": 1})
    assert runs.stats.opaque == 0
    marked = Runs(compute(("constant", 2, max), ("call", 3, 2, [0, 1], (), True), result=3), 1, 2)
    assert (marked(5, 3), marked.stats.opaque) == (5, 1)


def test_instances_are_made_without_init() -> None:
    runs = Runs([("instance", 0, Thing), ("return", 0)])
    made = runs()
    assert type(made) is Thing
    assert vars(made) == {}


# ---- compiled segments


def run_step(made: tuple[Any, list[int]], *outputs: Any, flags: int = 0) -> tuple[Any, ...]:
    return ("run", made[0], [0], [], list(outputs), flags)


def test_results_of_segments() -> None:
    made, (value,) = total()
    kinds = ["array", "numpy", "float"]
    outputs = [(value, 1 + i, kind, None) for i, kind in enumerate(kinds)]
    runs = Runs(
        [
            ("argument", 0, 0),
            ("run", made, [0], [], outputs, 0),
            ("tuple", 4, [1, 2, 3]),
            ("return", 4),
        ],
        X,
    )
    array, scalar, number = runs(X)
    assert (type(array), array.shape, array.dtype) == (np.ndarray, (), np.float64)
    assert (type(scalar), type(number)) == (np.float64, float)
    assert array == scalar == number == 10.0
    for dtype, kind, expected in (("i64", "int", int), ("bool", "bool", bool)):
        made, (value,) = graph(lambda g, v: [g.reshape(v[0], [])], dtype, rank=0)
        runs = Runs(
            [("argument", 0, 0), run_step((made, []), (value, 1, kind)), ("return", 1)],
            np.array(1, _dvm_dtype(dtype)),
        )
        got = runs(np.array(1, _dvm_dtype(dtype)))
        assert (got, type(got)) == (1, expected)


def _dvm_dtype(text: str) -> str:
    return next(numpy for numpy, spelled in _dvm.dtype_table if spelled == text)


def test_permuted_results_own_their_memory() -> None:
    made, (value,) = graph(lambda g, v: [g.elementwise("add", [v[0], v[0]])], "f64", rank=3)
    x = np.arange(24.0).reshape(2, 3, 4)
    order = (2, 0, 1)
    runs = Runs(
        [("argument", 0, 0), run_step((made, []), (value, 1, "array", order)), ("return", 1)], x
    )
    got, expected = runs(x), (x + x).transpose(order)
    np.testing.assert_array_equal(got, expected)
    assert got.strides == expected.strides
    assert got.flags.owndata
    assert got.flags.c_contiguous == expected.flags.c_contiguous
    reversed_axes = Runs(
        [("argument", 0, 0), run_step((made, []), (value, 1, "array", (2, 1, 0))), ("return", 1)], x
    )(x)
    assert reversed_axes.flags.f_contiguous
    assert not reversed_axes.flags.c_contiguous


def test_results_own_memory_of_their_own() -> None:
    """Reshaped within the segment, equal to another result, or both: NumPy's would, too."""

    def build(g: Any, v: list[int]) -> list[int]:
        doubled = g.elementwise("add", [v[0], v[0]])
        again = g.elementwise("add", [v[0], v[0]])
        row = g.reshape(doubled, [1, *g.shape(doubled)])
        return [row, doubled, again]

    made, (row, doubled, again) = graph(build, "f64")
    runs = Runs(
        [
            ("argument", 0, 0),
            run_step(
                (made, []),
                (row, 1, "array"),
                (doubled, 2, "array"),
                (again, 3, "array"),
                (row, 4, "array", (1, 0)),
            ),
            ("tuple", 5, [1, 2, 3, 4]),
            ("return", 5),
        ],
        X,
    )
    for x in (X, X[::2], X[:1], X[:0]):
        results = runs(x)
        expected = [(2 * x)[None], 2 * x, 2 * x, (2 * x)[:, None]]
        for i, (result, value) in enumerate(zip(results, expected, strict=True)):
            np.testing.assert_array_equal(result, value)
            assert result.flags.owndata, i
            assert result.base is None
            assert not any(np.shares_memory(result, other) for other in results[:i])
        for result in results:
            result += 1  # as much memory as it says
    assert runs.stats.drops == 0
    only = Runs([("argument", 0, 0), run_step((made, []), (row, 1, "array")), ("return", 1)], X)
    result = only(X)
    np.testing.assert_array_equal(result, (2 * X)[None])
    assert result.flags.owndata


def test_an_argument_handed_back_is_the_argument() -> None:
    made, (value,) = graph(lambda _, v: [v[0]], "f64")
    runs = Runs([("argument", 0, 0), run_step((made, []), (value, 1, "array")), ("return", 1)], X)
    assert runs(X) is X


def test_a_segment_takes_numbers_and_scalars() -> None:
    made = _dvm.Graph()
    x = made.input("f64", [made.symbol("s0")])
    number = made.scalar("f64")
    zero_d = made.input("f64", [])
    scaled = made.elementwise("mul", [x, made.broadcast(number, made.shape(x))])
    out = made.elementwise("add", [scaled, made.broadcast(zero_d, made.shape(x))])
    made.outputs = [out]
    runs = Runs(
        [
            *(("argument", i, i) for i in range(3)),
            ("run", made, [0, 2], [1], [(out, 3, "array", None)], 0),
            ("return", 3),
        ],
        X,
        2.0,
        1.0,
    )
    for number_, offset in (
        (2.0, 1.0), (3, np.float64(2)), (np.float32(0.5), np.array(4.0)), (True, 7),
    ):  # fmt: skip
        np.testing.assert_array_equal(runs(X, number_, offset), X * number_ + offset)
    assert runs.stats.drops == 0
    for bad in (
        (X.astype(np.float32), 2.0, 1.0),
        (X, "2", 1.0),
        (X, 2.0, np.float32(1)),
        (3, 2, 1),
    ):
        assert runs(*bad) == "original", "what no guard excludes is checked all the same"
    assert runs.stats.drops == 4


def test_a_raised_flag_drops_the_replay() -> None:
    made, (value,) = graph(lambda g, v: [g.elementwise("mul", [v[0], v[0]])], "f64")
    big = np.full(3, 1e300)
    for flags, dropped in ((2, True), (1 | 4 | 8, False)):
        runs = Runs(
            [
                ("argument", 0, 0),
                run_step((made, []), (value, 1, "array"), flags=flags),
                ("return", 1),
            ],
            X,
        )
        assert isinstance(runs(X), np.ndarray)
        assert isinstance(runs(big), str) == dropped
        assert runs.stats.drops == dropped


def test_failed_size_checks_drop_the_replay() -> None:
    made = _dvm.Graph()
    a, b = (made.input("f64", [made.symbol(f"s{i}")]) for i in range(2))
    shape = [made.shape(a)[0].bcast(made.shape(b)[0])]
    out = made.elementwise("add", [made.broadcast(a, shape), made.broadcast(b, shape)])
    runs = Runs(compute(("run", made, [0, 1], [], [(out, 2, "array")], 0), result=2), X, X)
    np.testing.assert_array_equal(runs(X, X[:1]), X + X[:1])
    assert runs(X, X[:3]) == "original"
    assert runs.stats.drops == 1


# ---- effects


def test_effects_happen_in_order_behind_the_commit() -> None:
    log: list[Any] = []

    class Loud:
        def __setattr__(self, name: str, value: Any) -> None:
            log.append(("set", name, value))

        def __delattr__(self, name: str) -> None:
            log.append(("delete", name))

        def __setitem__(self, key: Any, value: Any) -> None:
            log.append(("item", key, value))

        def __delitem__(self, key: Any) -> None:
            log.append(("unitem", key))

    scope: dict[str, Any] = {}
    cell = empty_cell()
    runs = Runs(
        [
            ("argument", 0, 0),
            ("constant", 1, 5),
            ("constant", 2, log.append),
            ("commit",),
            ("set_attribute", 0, "a", 1),
            ("set_item", 0, 1, 1),
            ("effect", 3, 2, [1], ()),
            ("delete_item", 0, 1),
            ("delete_attribute", 0, "a"),
            ("set_variable", scope, "v", 1),
            ("set_cell", cell, 1),
            ("return", 3),
        ],
        Loud(),
    )
    assert log == []
    assert runs(Loud()) is None
    assert log == [("set", "a", 5), ("item", 5, 5), 5, ("unitem", 5), ("delete", "a")]
    assert scope == {"v": 5}
    assert cell.cell_contents == 5


def test_containers_are_replaced_in_place() -> None:
    def steps(replace: tuple[Any, ...]) -> Steps:
        return [
            ("argument", 0, 0),
            ("constant", 1, "a"),
            ("constant", 2, "b"),
            ("commit",),
            replace,
            ("return", 0),
        ]

    for step, before, after in (
        (("list_replace", 0, [1, 2, 1]), [1, 2], ["a", "b", "a"]),
        (("list_replace", 0, []), [1, 2], []),
        (("dict_replace", 0, [1, 2]), {1: 2}, {"a": "b"}),
        (("set_replace", 0, [2]), {1}, {"b"}),
    ):
        runs = Runs(steps(step), before)
        assert runs(before) is before
        assert before == after


def test_copyto_handles_overlap_and_read_only_arrays() -> None:
    runs = Runs(
        [("argument", 0, 0), ("argument", 1, 1), ("commit",), ("copyto", 0, 1), ("return", 0)], X, X
    )
    a = np.arange(6.0)
    expected = a.copy()
    expected[1:] = expected[:-1].copy()
    runs(a[1:], a[:-1])
    np.testing.assert_array_equal(a, expected)
    with pytest.raises(ValueError, match="read-only"):
        runs(np.broadcast_to(1.0, (3,)), np.ones(3))


def test_an_error_of_an_effect_is_the_programs_own() -> None:
    done: list[int] = []
    runs = Runs(
        [
            ("argument", 0, 0),
            ("constant", 1, done.append),
            ("commit",),
            ("effect", 2, 1, [0], ()),
            ("set_item", 0, 0, 0),
            ("effect", 3, 1, [0], ()),
            ("return", 3),
        ],
        1,
    )
    with pytest.raises(TypeError, match="does not support item assignment"):
        runs(1)
    assert done == [1]
    assert runs.stats.drops == 0


@pytest.mark.parametrize(
    "late",
    [("guard_length", 0, 1), ("item", 2, 0, 0), ("variable", 2, SCOPE, "name"), ("fallback",)],
    ids=lambda step: step[0],
)
def test_nothing_that_may_miss_stands_behind_the_commit(late: tuple[Any, ...]) -> None:
    """The original runs instead: an effect must not happen twice."""
    seen: list[Any] = []
    end = [("return", 0)] if late[0] != "fallback" else []
    late = late if late[0] != "fallback" else ("fallback", "late", ("", 0))
    runs = Runs(
        [
            ("argument", 0, 0),
            ("constant", 1, seen.append),
            ("commit",),
            ("effect", 3, 1, [0], ()),
            late,
            *end,
        ],
        [1],
    )
    assert runs([1]) == runs([]) == "original"
    assert seen == []
    assert "after an effect" in runs.compiled.fallback_reasons[0]


# ---- what a failure comes to


def fails(error: type[BaseException]) -> Callable[[Any], Any]:
    def callee(x: Any) -> Any:
        if x:
            raise error("from the callee")
        return x

    return callee


def test_exceptions_before_the_commit_drop_and_interrupts_pass() -> None:
    for error, passes in ((ValueError, False), (KeyboardInterrupt, True), (SystemExit, True)):
        runs = Runs(
            [
                ("argument", 0, 0),
                ("constant", 1, fails(error)),
                ("call", 2, 1, [0], ()),
                ("commit",),
                ("set_variable", SCOPE, "seen", 2),
                ("return", 2),
            ],
            0,
        )
        assert runs(0) == 0
        SCOPE.pop("seen")
        if passes:
            with pytest.raises(error):
                runs(1)
        else:
            assert runs(1) == "original"
        assert "seen" not in SCOPE
        assert runs.stats.drops == (not passes)


def test_a_fallback_is_counted_with_its_reason() -> None:
    runs = Runs([("argument", 0, 0), ("fallback", "no way", ("file.py", 3))], 1)
    assert runs(1) == "original"
    assert runs.stats.fallbacks == 2
    assert runs.compiled.fallback_reasons == ["file.py:3: no way"]


def test_nothing_warns_before_the_commit() -> None:
    """NumPy's warnings drop the replay; the original then warns, once."""
    zero = np.zeros(2)
    for step in (("operator", 2, "/", 0, 1), ("call", 2, 3, [0, 1], ())):
        runs = Runs(compute(("constant", 3, np.divide), step, result=2), X[:2], X[:2])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(runs(X[:2], X[:2]), [1, 1])
            assert runs(X[:2], zero) == "original"
            assert runs.stats.drops == 1
            with np.errstate(divide="ignore"):
                assert np.isinf(runs(X[:2], zero)).all(), "ignored by the program itself"
            assert np.geterr()["divide"] == "warn", "the state is the program's own again"
    committed = Runs(
        compute(("constant", 3, np.divide), ("commit",), ("effect", 2, 3, [0, 1], ()), result=2),
        X[:2], X[:2],
    )  # fmt: skip
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        committed(X[:2], zero)


def test_python_warnings_before_the_commit_drop() -> None:
    def callee(x: Any) -> Any:
        warnings.warn("from the callee", UserWarning, stacklevel=1)
        return x

    runs = Runs(
        [("argument", 0, 0), ("constant", 1, callee), ("call", 2, 1, [0], ()), ("return", 2)], X
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        before = warnings.filters
        assert runs(X) == "original"
        assert warnings.filters is before
        assert seen == []
        assert runs.stats.drops == 1
        warnings.simplefilter("ignore", UserWarning)
        assert runs(X) is X
        warnings.filterwarnings("default", "from the", UserWarning)
        assert runs(X) == "original"
        warnings.filterwarnings("ignore", "from the", UserWarning)
        assert runs(X) is X
        assert seen == []


def test_other_threads_warn_as_ever() -> None:
    inside, done = threading.Event(), threading.Event()

    def callee(x: Any) -> Any:
        inside.set()
        assert done.wait(10)
        return x

    runs = Runs(
        [("argument", 0, 0), ("constant", 1, callee), ("call", 2, 1, [0], ()), ("return", 2)], X
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        thread = threading.Thread(target=runs, args=(X,))
        thread.start()
        assert inside.wait(10)
        warnings.warn("of another thread", UserWarning, stacklevel=1)
        done.set()
        thread.join()
    assert [str(warning.message) for warning in seen] == ["of another thread"]
    assert runs.stats.hits == 1


@pytest.mark.parametrize("made", [np.random.default_rng, np.random.RandomState, None])
def test_draws_are_taken_back(made: Callable[[int], Any] | None) -> None:
    owner = made(0) if made else np.random
    draw = owner.normal
    if made is None:
        np.random.seed(0)

    def steps(*end: tuple[Any, ...]) -> Steps:
        return [
            ("argument", 0, 0),
            ("constant", 1, draw),
            ("constant", 6, owner),
            ("call_random", 2, 1, [], (), 6),
            ("call_random", 3, 1, [], (), 6, True),
            ("tuple", 4, [2, 3]),
            *end,
            ("return", 4),
        ]

    kept = Runs(steps(), 1)
    twin = made(0) if made else np.random.RandomState(0)
    assert kept(1) == (twin.normal(), twin.normal())
    assert kept.stats.opaque == 1
    missed = Runs(steps(("guard_truth", 0, True)), 1)
    dropped = Runs(steps(("operator", 5, "/", 0, 0)), 1)
    assert missed(0) == dropped(0) == "original"
    assert kept(1) == (twin.normal(), twin.normal()), "as if nothing had been drawn"


# ---- ownership


def test_references_are_balanced() -> None:
    made, (value,) = double()
    probe = [np.ones(3), "text", 12345.5, Thing(1), {}]
    hit = Runs(
        [
            *(("argument", i, i) for i in range(3)),
            run_step((made, []), (value, 3, "array")),
            ("tuple", 4, [1, 2, 3]),
            ("guard_type", 1, str),
            ("operator", 5, "/", 2, 2),
            ("commit",),
            ("return", 4),
        ],
        *probe[:3],
    )
    calls = [
        tuple(probe[:3]),  # hit
        (probe[0], probe[3], probe[2]),  # miss
        (probe[0], probe[1], 0.0),  # drop
        (probe[4], probe[1], probe[2]),  # drop: no array
    ]
    for arguments in calls * 3:
        hit(*arguments)
    before = [sys.getrefcount(x) for x in probe]
    gc.collect()
    objects = len(gc.get_objects())
    for _ in range(200):
        for arguments in calls:
            hit(*arguments)
    gc.collect()
    assert [sys.getrefcount(x) for x in probe] == before
    assert abs(len(gc.get_objects()) - objects) < 20
    assert hit.stats.hits > 200
    assert hit.stats.drops > 400


def test_a_path_keeps_no_example_and_is_collected() -> None:
    class Big(np.ndarray): ...

    example = np.ones(3).view(Big)
    count = sys.getrefcount(example)
    steps = [("argument", 0, 0), ("guard_signature", 0, example), ("return", 0)]
    runs = Runs(steps, example)
    del steps, runs.steps
    gc.collect()
    assert sys.getrefcount(example) == count

    import weakref

    class Holder: ...

    holder = Holder()
    compiled = installed(lambda: None, [("constant", 0, holder), ("return", 0)])
    holder.compiled = compiled  # type: ignore[attr-defined]
    gone = weakref.ref(holder)
    del holder, compiled
    gc.collect()
    assert gone() is None, "a cycle through a path is found"


def test_values_are_forgotten_when_nothing_reads_them() -> None:
    alive = 0

    class Counted:
        def __init__(self, _: Any = None) -> None:
            nonlocal alive
            alive += 1

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    most: list[int] = []

    def turn(x: Any) -> Counted:
        most.append(alive)
        return Counted(x)

    steps: Steps = [("argument", 0, 0), ("constant", 1, turn)]
    for i in range(10):
        steps.append(("call", 2 + i, 1, [0 if i == 0 else 1 + i], ()))
    runs = Runs([*steps, ("return", 0)], 1)
    most.clear()
    runs(1)
    assert max(most) <= 2
    assert alive == 0
    assert "forget" in _dvm.paths(runs.compiled)[0]["steps"]


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [("argument", 0, 0)],
        [("nonsense", 0), ("return", 0)],
        [("argument", 0, 5), ("return", 0)],
        [("return", 0)],
        [("argument", 0, 0), ("argument", 0, 0), ("return", 0)],
        [("argument", 0, 0), ("operator", 1, "?", 0), ("return", 0)],
        [("argument", 0), ("return", 0)],
        [("argument", 0, 0, 0), ("return", 0)],
        [("cell", 0, 3), ("return", 0)],
        [("argument", 0, 0), ("dict", 1, [0]), ("return", 0)],
    ],
    ids=str,
)
def test_broken_steps_are_found_when_they_are_installed(steps: Steps) -> None:
    if not steps:
        assert Runs(steps, 1)(1) == "original", "no steps: the original, for calls like this one"
        return
    with pytest.raises(_dvm.InternalError):
        Runs(steps, 1)
