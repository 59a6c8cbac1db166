"""Ops on whole arrays, reductions and updates against NumPy, by way of hand-written graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from replay_paths import Runs

NAMES = dict(_dvm.dtype_table)
REALS = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SHAPES: list[tuple[int, ...]] = [
    (1,),
    (7,),
    (600,),
    (3, 5),
    (4, 1, 6),
    (2, 3, 70),
    (65, 33),
    (1, 1),
]

UFUNC = dict(_dvm.ufunc_table)

Build = Callable[[Any, list[int]], int]


class Compiled:
    """A graph over arrays of the ranks and dtypes of `first`, all sizes symbolic."""

    def __init__(self, build: Build, *first: Any) -> None:
        graph = _dvm.Graph()
        values = []
        for k, array in enumerate(first):
            shape = [graph.symbol(f"s{k}_{axis}") for axis in range(array.ndim)]
            values.append(graph.input(NAMES[str(array.dtype)], shape))
        out = build(graph, values)
        graph.outputs = [out]
        n = len(first)
        fetch = [("argument", k, k) for k in range(n)]
        guard = [("guard_signature", k, array) for k, array in enumerate(first)]
        run = ("run", graph, list(range(n)), [], [(out, n, "array", None)], 0, 0, "numpy")
        self.runs = Runs([*fetch, *guard, run, ("commit",), ("return", n)], *first)

    def __call__(self, *arrays: Any) -> Any:
        return self.runs(*arrays)


def values(shape: tuple[int, ...], dtype: str, seed: int = 0, special: bool = False) -> Any:
    """Small numbers, so that products of integers wrap and those of floats do not overflow."""
    rng = np.random.default_rng(seed)
    made = rng.integers(-3, 4, shape) if dtype in INTEGERS else rng.normal(size=shape)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    made = np.asarray(made).astype(dtype)
    if special and dtype in REALS and made.size > 2:
        made.reshape(-1)[rng.integers(0, made.size, 1 + made.size // 9)] = np.nan
    return made


def layouts(array: Any) -> list[Any]:
    """The array itself, and arrays of the same elements that lie otherwise in memory."""
    wide = np.empty(tuple(2 * n for n in array.shape), array.dtype)
    spread = wide[(..., *(slice(None, None, 2) for _ in array.shape))]
    spread[...] = array
    flipped = np.ascontiguousarray(np.flip(array))
    return [array, np.asfortranarray(array), spread, np.flip(flipped)]


def same(got: Any, expected: Any) -> bool:
    return bool(
        isinstance(got, np.ndarray)
        and got.dtype == expected.dtype
        and got.shape == expected.shape
        and np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")
    )


SCANS = {"add": np.add, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum}


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS, "bool"])
@pytest.mark.parametrize("op", list(SCANS))
def test_scans_have_the_bits_of_accumulate(op: str, dtype: str) -> None:
    for shape in SHAPES:
        for axis in range(len(shape)):
            a = values(shape, dtype, special=op.endswith("imum"))
            ufunc = SCANS[op]
            if dtype == "bool":
                ufunc = {"add": np.logical_or, "mul": np.logical_and}.get(op, ufunc)
            for b in layouts(a):
                compiled = Compiled(lambda g, v, axis=axis: g.along("scan", v, axis, op), b)
                expected = ufunc.accumulate(b, axis=axis, dtype=b.dtype)
                assert same(compiled(b), np.asarray(expected))


#: rows that make one value of a dtype of two, and those of libm, of which NumPy has its own
BINARY = [op for op, (arity, _, _) in _dvm.ufunc_rules.items() if arity == 2 and op != "ldexp"]
LIBM = {"logaddexp", "logaddexp2", "arctan2", "hypot", "power"}


def fold_of_rest(op: str) -> Build:
    """The first element along axis 0 folded with the others, where a condition holds if given."""

    def build(g: Any, v: list[int]) -> int:
        size, *others = g.shape(v[0])
        zeros, ones = [0] * len(others), [1] * (len(others) + 1)
        first = g.slice(v[0], [0, *zeros], ones, [1, *others])
        parts = [g.slice(each, [1, *zeros], ones, [size - 1, *others]) for each in v]
        if len(parts) == 2:
            parts[1] = g.broadcast(parts[1], g.shape(parts[0]))
        return int(g.along("fold_where" if len(v) == 2 else "fold", [first, *parts], 0, op))

    return build


def step_by_step(ufunc: Any, a: Any, test: Any) -> Any:
    """The same by calls of the ufunc, each rounded to the dtype."""
    result = a[0]
    for x, chosen in zip(a[1:], test[1:], strict=True):
        result = np.where(chosen, ufunc(result, x).astype(a.dtype), result)
    return result


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS, "bool"])
@pytest.mark.parametrize("op", BINARY)
def test_folds_go_element_by_element(op: str, dtype: str) -> None:
    _, dtypes, asks = _dvm.ufunc_rules[op]
    if NAMES[dtype] not in dtypes or (asks and dtype != "bool"):
        return
    ufunc = getattr(np, UFUNC[op])
    for shape in ((7,), (1,), (40, 3), (5, 1, 6), (2, 0, 3)):
        a, test = np.abs(values(shape, dtype)), values(shape, "bool")
        for masked in (False, True):
            expected = step_by_step(ufunc, a, test if masked else test | True)
            for b, m in zip(layouts(a), layouts(test), strict=True):
                given = (b, m)[: 1 + masked]
                got = Compiled(fold_of_rest(op), *given)(*given)[0, ...]
                if op in LIBM:
                    close = 1e-2 if dtype == "float16" else 1e-4
                    np.testing.assert_allclose(got, expected, close)
                else:
                    assert same(got, np.asarray(expected)), (shape, masked)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
@pytest.mark.parametrize("op", ["add", "maximum", "bitwise_xor"])
def test_pieces_are_those_of_reduceat(op: str, dtype: str) -> None:
    if op == "bitwise_xor" and dtype == "float32":
        return
    ufunc = np.logical_or if (op, dtype) == ("add", "bool") else getattr(np, op)
    for shape in ((9,), (6, 4), (2, 6, 3)):
        for axis in range(len(shape)):
            a = values(shape, dtype)
            last = shape[axis] - 1
            for places in ([0], [1, 0, last, 1], [], [0, 1, last]):
                at = np.array(places, np.int64)
                for b in layouts(a):
                    compiled = Compiled(
                        lambda g, v, axis=axis: g.along("fold_at", v, axis, op), b, at
                    )
                    expected = ufunc.reduceat(b, at, axis=axis, dtype=b.dtype)
                    np.testing.assert_allclose(compiled(b, at), expected, 1e-6, 1e-6)
            for wrong in (-1, shape[axis]):
                assert compiled(a, np.array([0, wrong])) == "original"


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS, "bool"])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_positions_of_extremes(op: str, dtype: str) -> None:
    for seed, shape in enumerate(SHAPES):
        for axis in range(len(shape)):
            a = values(shape, dtype, seed, special=seed % 2 == 0)
            for b in layouts(a):
                compiled = Compiled(lambda g, v, axis=axis: g.along(op, [v[0]], axis), b)
                assert same(compiled(b), getattr(np, op)(b, axis=axis, keepdims=True))


def test_nothing_has_no_extreme() -> None:
    compiled = Compiled(lambda g, v: g.along("argmax", v, 0), np.ones((2, 3)))
    assert compiled(np.ones((0, 3))) == "original"
    assert same(compiled(np.ones((4, 0))), np.ones((1, 0), np.int64))


REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "nanmax": np.fmax.reduce,
    "nanmin": np.fmin.reduce,
    "max_or_lowest": np.max,
    "min_or_highest": np.min,
}


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS])
@pytest.mark.parametrize("op", list(REDUCTIONS))
def test_reductions(op: str, dtype: str) -> None:
    if op.startswith("nan") and dtype not in REALS:
        pytest.skip("integers have no NaN")
    for seed, shape in enumerate(SHAPES):
        for axis in range(len(shape)):
            a = values(shape, dtype, seed, special=op not in ("sum", "prod"))
            for b in layouts(a):
                compiled = Compiled(lambda g, v, axis=axis: g.reduce(op, v[0], [axis]), b)
                got = compiled(b)
                kind = {"dtype": b.dtype} if op in ("sum", "prod") else {}
                expected = REDUCTIONS[op](b, axis=axis, keepdims=True, **kind)
                if dtype in REALS and op in ("sum", "prod"):
                    assert got.dtype == expected.dtype
                    slack = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-10}[dtype]
                    np.testing.assert_allclose(
                        got.astype(float), expected.astype(float), slack, slack
                    )
                else:
                    assert same(got, expected)


@pytest.mark.parametrize("op", ["any", "all"])
def test_truth(op: str) -> None:
    for shape in [*SHAPES, (0, 3), (3, 0)]:
        for axis in range(len(shape)):
            for chance in (0.0, 0.1, 0.9, 1.0):
                a = np.random.default_rng(1).random(shape) < chance
                for b in layouts(a):
                    compiled = Compiled(lambda g, v, axis=axis: g.reduce(op, v[0], [axis]), b)
                    assert same(compiled(b), getattr(np, op)(b, axis=axis, keepdims=True))


def test_reductions_of_nothing() -> None:
    empty = np.ones((0, 3))
    for op, identity in (("sum", 0.0), ("prod", 1.0)):
        compiled = Compiled(lambda g, v, op=op: g.reduce(op, v[0], [0]), np.ones((2, 3)))
        assert same(compiled(empty), np.full((1, 3), identity))
    for op in ("max", "min"):
        compiled = Compiled(lambda g, v, op=op: g.reduce(op, v[0], [0]), np.ones((2, 3)))
        assert compiled(empty) == "original"


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS, "bool"])
def test_extremes_of_nothing_that_have_a_value(dtype: str) -> None:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        limits = -np.inf, np.inf
    else:
        limits = (False, True) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
    for op, value in zip(("max_or_lowest", "min_or_highest"), limits, strict=True):
        compiled = Compiled(lambda g, v, op=op: g.reduce(op, v[0], [0]), np.ones((2, 3), kind))
        assert same(compiled(np.ones((0, 3), kind)), np.full((1, 3), value, kind))
        assert same(compiled(np.ones((3, 0), kind)), np.ones((1, 0), kind))


def test_gather_is_take() -> None:
    rng = np.random.default_rng(2)
    for dtype in ("float64", "float16", "int8", "bool"):
        for shape in [(5,), (4, 3), (2, 5, 3), (3, 1, 4)]:
            for axis in range(len(shape)):
                a = values(shape, dtype)
                for index_shape in [(), (1,), (6,), (2, 3), (0,)]:
                    n = shape[axis]
                    idx = np.asarray(rng.integers(-n, n, index_shape))
                    for b in layouts(a):
                        for i in layouts(idx):
                            compiled = Compiled(
                                lambda g, v, axis=axis: g.along("gather", v, axis), b, i
                            )
                            assert same(compiled(b, i), np.asarray(np.take(b, i, axis=axis)))


def test_take_along_an_axis() -> None:
    rng = np.random.default_rng(3)
    for shape in [(5,), (4, 3), (2, 5, 3)]:
        for axis in range(len(shape)):
            a = values(shape, "float32")
            idx = rng.integers(-shape[axis], shape[axis], shape)
            graph = _dvm.Graph()
            sizes = [graph.symbol(f"s{d}") for d in range(len(shape))]
            operands = [graph.input("f32", sizes), graph.input("i64", sizes)]
            out = graph.along("take_along", operands, axis)
            graph.outputs = [out]
            steps = [
                ("argument", 0, 0),
                ("argument", 1, 1),
                ("guard_signature", 0, a),
                ("guard_signature", 1, idx),
                ("run", graph, [0, 1], [], [(out, 2, "array", None)], 0, 0, "numpy"),
                ("commit",),
                ("return", 2),
            ]
            runs = Runs(steps, a, idx)
            assert same(runs(a, idx), np.take_along_axis(a, idx, axis))
            idx[(0,) * len(shape)] = shape[axis]
            assert runs(a, idx) == "original"


AT: dict[str, Any] = {
    "": None,
    "add": np.add,
    "mul": np.multiply,
    "maximum": np.maximum,
    "sub": np.subtract,
}


def scatter(dtype: str, rank: int, index_rank: int, axis: int, op: str) -> Any:
    graph = _dvm.Graph()
    dims = [graph.symbol(f"s{d}") for d in range(rank)]
    index = [graph.symbol(f"i{d}") for d in range(index_rank)]
    operands = [graph.input(NAMES[dtype], dims), graph.input("i64", index)]
    operands.append(graph.input(NAMES[dtype], [*dims[:axis], *index, *dims[axis + 1 :]]))
    graph.outputs = [graph.along("scatter", operands, axis, op)]
    return dvm.CompiledGraph(str(graph))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "bool"])
@pytest.mark.parametrize("op", AT)
def test_scatter_is_ufunc_at(dtype: str, op: str) -> None:
    rng = np.random.default_rng(4)
    if (dtype, op) == ("bool", "sub"):
        pytest.skip("NumPy subtracts no bools")
    for shape in [(5,), (4, 3), (2, 5, 3)]:
        for axis, n in enumerate(shape):
            for index_shape in [(), (6,), (2, 3), (0,)]:
                idx = np.asarray(rng.integers(-n, n, index_shape))
                places = (*shape[:axis], *index_shape, *shape[axis + 1 :])
                a, v = values(shape, dtype), values(places, dtype, 1)
                key = (*[slice(None)] * axis, idx)
                expected = a.copy()
                if AT[op] is None:
                    expected[key] = v
                else:
                    AT[op].at(expected, key, v)
                graph = scatter(dtype, len(shape), len(index_shape), axis, op)
                for b in layouts(a):
                    before = b.copy()
                    assert same(graph(b, idx, v)[0], expected)
                    assert np.array_equal(b, before)


def test_put_along_an_axis_and_masks() -> None:
    rng = np.random.default_rng(5)
    graph = dvm.CompiledGraph("""graph v1 {
      %0 = input f32[n, m]
      %1 = input i64[n, k]
      %2 = input f32[n, k]
      %3 = put_along(%0, %1, %2) f32[n, m] {axes = [1]}
      %4 = put_along(%3, %1, %2) f32[n, m] {axes = [1], with = "add"}
      return %4
    }""")
    masked = dvm.CompiledGraph("""graph v1 {
      %0 = input f32[n, m]
      %1 = input bool[m]
      %2 = scalar i64[] {size = k}
      %3 = compress(%0, %1) f32[n, k] {axes = [1], size = k}
      %4 = nonzero(%1) i64[k] {size = k}
      return %3, %4
    }""")
    for n, m, k in [(3, 4, 2), (1, 1, 5), (20, 70, 64), (2, 3, 0)]:
        a, v = values((n, m), "float32"), values((n, k), "float32", 1)
        idx = np.argsort(rng.normal(size=(n, m)), axis=1)[:, : min(k, m)]
        idx = np.concatenate([idx, idx[:, :1].repeat(k - idx.shape[1], axis=1)], axis=1)
        expected = a.copy()
        np.put_along_axis(expected, idx, v, 1)
        np.add.at(expected, (np.arange(n)[:, None], idx), v)
        assert same(graph(a, idx, v)[0], expected)
        mask = rng.random(m) > 0.5
        chosen, where = masked(a, mask, int(mask.sum()))
        assert same(chosen, np.ascontiguousarray(a[:, mask]))
        assert same(where, np.flatnonzero(mask))
        with pytest.raises(dvm.ShapeError):
            masked(a, mask, int(mask.sum()) + 1)


def test_indices_out_of_range_run_the_original() -> None:
    compiled = Compiled(lambda g, v: g.along("gather", v, 0), np.ones(3), np.array([0]))
    for index in (3, -4, 2**62, -(2**63)):
        assert compiled(np.ones(3), np.array([index])) == "original"
    assert compiled(np.ones(0), np.array([0])) == "original"
    assert same(compiled(np.ones(0), np.array([], np.int64)), np.ones(0))


def test_iota() -> None:
    for name in NAMES:
        if name == "bool":
            continue
        for shape in [(0,), (5,), (3, 4), (2, 3, 4)]:
            for axis in range(len(shape)):

                def build(g: Any, v: list[int], axis: int = axis, name: str = name) -> int:
                    return int(g.iota(NAMES[name], g.shape(v[0]), axis))

                a = np.ones(shape)
                expected = np.indices(shape)[axis].astype(name)
                assert same(Compiled(build, a)(a), expected)


def test_concatenation() -> None:
    def build(g: Any, v: list[int]) -> int:
        (n,), (m,) = g.shape(v[0]), g.shape(v[1])
        whole = g.empty("f64", [n + m])
        doubled = g.elementwise("add", [v[0], v[0]])
        whole = g.update(whole, doubled, [0], [1])
        return int(g.update(whole, v[1], [n + m - 1], [-1]))

    compiled = Compiled(build, np.ones(2), np.ones(2))
    for n, m in [(3, 4), (0, 2), (2, 0), (0, 0), (1000, 1)]:
        a, b = np.arange(float(n)), np.arange(float(m))
        assert same(compiled(a, b), np.concatenate([a + a, b[::-1]]))


def test_updates_leave_arguments_alone() -> None:
    def build(g: Any, v: list[int]) -> int:
        return int(g.update(v[0], v[1], [1, 0], [2, 1]))

    compiled = Compiled(build, np.ones((4, 3)), np.ones((2, 3)))
    for base in layouts(np.arange(12.0).reshape(4, 3)):
        part = np.full((2, 3), -1.0)
        before, expected = base.copy(), base.copy()
        expected[1::2] = part
        again = Compiled(build, base, part)
        assert same(again(base, part), expected)
        assert np.array_equal(base, before)
    # A box that leaves the array is none.
    assert compiled(np.ones((2, 3)), np.ones((2, 3))) == "original"


def test_flipped_and_repeated_operands() -> None:
    def build(g: Any, v: list[int]) -> int:
        n, m = g.shape(v[0])
        flipped = g.slice(v[0], [n - 1, m - 1], [-1, -1], [n, m])
        return int(g.reduce("sum", g.elementwise("mul", [flipped, v[0]]), [1]))

    a = np.arange(35.0).reshape(5, 7)
    for b in [*layouts(a), np.broadcast_to(np.arange(7.0), (5, 7)), a[::-1], a[:, ::-2]]:
        compiled = Compiled(build, b)
        assert same(compiled(b), (b[::-1, ::-1] * b).sum(axis=1, keepdims=True))
