"""What a path computes: operators, containers, calls and compiled segments."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dvm import _dvm
from replay_paths import Runs, Thing, X, compute, graph, run_step, total

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


@pytest.mark.filterwarnings("ignore:Bitwise inversion '~' on bool:DeprecationWarning")
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


def test_results_of_segments() -> None:
    made, (value,) = total()
    kinds = ["array", "numpy", "float"]
    outputs = [(value, 1 + i, kind, None) for i, kind in enumerate(kinds)]
    runs = Runs(
        [
            ("argument", 0, 0),
            ("run", made, [0], [], outputs, 0, 0, "numpy"),
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
            ("run", made, [0, 2], [1], [(out, 3, "array", None)], 0, 0, "numpy"),
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
    runs = Runs(
        compute(("run", made, [0, 1], [], [(out, 2, "array")], 0, 0, "numpy"), result=2), X, X
    )
    np.testing.assert_array_equal(runs(X, X[:1]), X + X[:1])
    assert runs(X, X[:3]) == "original"
    assert runs.stats.drops == 1
