"""Arrays of indices and masks against NumPy: values, layouts, errors, and how they are captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dvm

DTYPES = ["float32", "float64", "float16", "int8", "int64", "uint16", "bool"]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (IndexError, TypeError, ValueError) as error:
        return type(error), str(error)


def steps(x: Any) -> list[int]:
    """Strides, but of axes along which nothing moves."""
    return [stride for size, stride in zip(x.shape, x.strides, strict=True) if size > 1]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) or isinstance(b, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if not isinstance(a, np.ndarray):
        return type(a) is type(b) and (a == b or a != a)
    return (
        isinstance(b, np.ndarray)
        and (a.dtype, a.shape, steps(a)) == (b.dtype, b.shape, steps(b))
        and (a.base is None) == (b.base is None)
        and a.tobytes() == b.tobytes()
    )


def check(function: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    """All calls as NumPy's, which leave the arguments alone."""
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for arguments in calls:
            before = arguments[0].copy()
            expected = outcome(function, *arguments)
            assert same(outcome(compiled, *arguments), expected)
            assert before.tobytes() == arguments[0].tobytes()


def table(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    numbers = np.asarray(rng.normal(size=shape) * 3)
    return (np.abs(numbers) if dtype[0] == "u" else numbers).astype(dtype)


# ---- generated indices

PARTS = st.sampled_from(["array", "array", "rows", "slice", "reversed", "int", "none", "all"])


@st.composite
def indexed(draw: st.DrawFn) -> tuple[Any, Callable[[Any, Any], Any], Any]:
    """A table, a function that indexes it with what it is given, and these arrays."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5))
    x = table(rng, shape, draw(st.sampled_from(DTYPES)))
    layout = draw(st.sampled_from(["C", "F", "strided", "reversed"]))
    if layout == "F":
        x = np.asfortranarray(x)
    elif layout == "strided":
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    elif layout == "reversed":
        x = np.ascontiguousarray(x[::-1])[::-1]
    common = draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4))
    kinds, arrays, axis = [], [], 0
    for _ in range(draw(st.integers(1, len(shape) + 1))):
        kind = draw(PARTS)
        if kind != "none" and axis == len(shape):
            continue
        kinds.append((kind, draw(st.integers(0, 1))))
        if kind in ("array", "rows"):
            size = shape[axis]
            own = common if kind == "array" else common[-1:]
            arrays.append(rng.integers(-size, size, own))
        axis += kind != "none"
    assume(arrays)
    if draw(st.integers(0, 9)) == 0 and arrays[0].size:
        arrays[0].flat[0] = 99

    def key(given: Any) -> Any:
        left = list(given)
        others = {"int": 0, "none": None, "all": slice(None), "reversed": slice(None, None, -1)}
        whole: list[Any] = []
        for kind, start in kinds:
            if kind in ("array", "rows"):
                whole.append(left.pop(0))
            else:
                whole.append(others.get(kind, slice(start, None)))
        return tuple(whole)

    return x, key, tuple(arrays)


@settings(max_examples=150, deadline=None)
@given(indexed())
def test_arrays_of_indices_read(case: Any) -> None:
    x, key, arrays = case
    whole = key(arrays)
    assume(isinstance(outcome(lambda: x[whole]), (tuple, np.ndarray)))
    check(lambda a, k: a[k], (x, whole), (x, whole))
    check(lambda a, k: (a * a)[k], (x, whole), (x, whole))


@settings(max_examples=150, deadline=None)
@given(indexed(), st.sampled_from(["number", "row", "all"]), st.booleans())
def test_arrays_of_indices_write(case: Any, source: str, adds: bool) -> None:
    x, key, arrays = case
    whole = key(arrays)
    found = outcome(lambda: x[whole])
    shape = found.shape if isinstance(found, np.ndarray) else ()
    v: Any = 2
    if source != "number":
        rng = np.random.default_rng(0)
        v = table(rng, shape if source == "all" else shape[-1:], str(x.dtype))
    adds = adds and x.dtype != bool

    def write(a: Any, k: Any, v: Any) -> Any:
        y = a.copy()
        if adds:
            np.add.at(y, k, v)
        else:
            y[k] = v
        return y

    if adds and source == "row" and len(shape) > 1:
        # NumPy's own `at` reads beyond a row that it repeats for a matrix of indices.
        expected = outcome(write, x, whole, np.broadcast_to(v, shape).copy())
        compiled = dvm.compile(write)
        with dvm.stance("force_capture"):
            compiled(x, whole, v)
            assert same(outcome(compiled, x, whole, v), expected)
        return
    check(write, (x, whole, v), (x, whole, v))


# ---- what is one path, and nothing opaque


def rows(n: int, width: int, dtype: str = "float32") -> Any:
    return table(np.random.default_rng(n), (n, width), dtype)


def indices(n: int, size: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-size, size, n)


READS: dict[str, Callable[..., Any]] = {
    "elements": lambda x, i, _j: x[:, 0].copy()[i],
    "rows": lambda x, i, _j: x[i],
    "columns": lambda x, _i, j: x[:, j],
    "pairs": lambda x, i, _j: x[i, i % 3],
    "outer": lambda x, i, j: x[i[:, None], j],
    "list": lambda x, _i, _j: x[[0, -1, 0]] + 1,
    "after a new axis": lambda x, i, _j: x[None, i],
    "apart": lambda x, _i, j: x[None][0, :, j],
    "embedding": lambda x, i, _j: x[i.reshape(1, -1)] * 2,
    "i32": lambda x, i, _j: x[i.astype(np.int32)],
    "mask": lambda x, _i, _j: x[x > 0] * 2,
    "mask of an argument": lambda x, _i, _j: (x * 2)[x > 0],
    "nonzero": lambda x, _i, _j: np.flatnonzero(x > 0) + 1,
    "compress": lambda x, _i, _j: np.compress(x[:, 0] > 0, x, axis=0),
    "extract": lambda x, _i, _j: np.extract(x > 0, x),
    "bincount": lambda _x, i, _j: np.bincount(np.abs(i)),
    "bincount of at least": lambda x, i, _j: np.bincount(np.abs(i), minlength=len(x) + 3),
    "weighted": lambda x, i, _j: np.bincount(np.abs(i), x[i, 0]),
}


@pytest.mark.parametrize("name", READS)
def test_one_path_for_all_sizes_and_indices(name: str) -> None:
    f = READS[name]
    compiled = dvm.compile(f)
    with dvm.stance("force_capture"):
        for n in (7, 5, 64, 1000):
            for x in (rows(n, 5), rows(n, 5)[::-1].copy()):
                i, j = indices(2 * n, n), indices(3, 5, n)
                assert same(compiled(x, i, j), f(x, i, j)), n
    assert (compiled.stats.captures, compiled.stats.opaque) == (1, 0)
    assert compiled.stats.hits == 7


def put(y: Any, i: Any, v: Any) -> Any:
    y = y * 1
    y[i] = v
    return y


def added(y: Any, i: Any, v: Any) -> Any:
    y = np.zeros_like(y)
    np.add.at(y, i, v)
    return y


def increased(y: Any, i: Any, v: Any) -> Any:
    y = y * 1
    y[i] += v
    return y


def pairs(y: Any, i: Any, v: Any) -> Any:
    y = y * 1
    y[i, i % 3] = v[:, 0]
    return y


def columns(y: Any, *_: Any) -> Any:
    y = y * 1
    y[:, [0, -1, 0]] = 3
    return y


@pytest.mark.parametrize("f", [put, added, increased, pairs, columns])
def test_writes_are_one_path(f: Callable[..., Any]) -> None:
    compiled = dvm.compile(f)
    with dvm.stance("force_capture"):
        for n in (7, 5, 64, 1000):
            y, i = rows(n, 5), indices(2 * n, n)
            v = rows(2 * n, 5)
            assert same(compiled(y, i, v), f(y, i, v))
    assert (compiled.stats.captures, compiled.stats.hits, compiled.stats.opaque) == (1, 3, 0)


def test_an_index_out_of_range_is_numpys_error() -> None:
    for f in (READS["rows"], READS["pairs"], lambda x, i, _j: put(x, i, 1)):
        compiled = dvm.compile(f)
        x, i, j = rows(6, 5), indices(4, 6), indices(3, 5)
        compiled(x, i, j)
        for bad in (6, -7, 2**62, -(2**63)):
            i[2] = bad
            with pytest.raises(IndexError) as raised:
                f(x, i, j)
            with pytest.raises(IndexError, match=str(raised.value).replace("[", r"\[")):
                compiled(x, i, j)


def test_a_mask_of_another_number_is_the_same_path() -> None:
    f = dvm.compile(lambda x, m: x[m].sum() + len(x[m]))
    with dvm.stance("force_capture"):
        for n in (10, 20000, 3, 0):
            for limit in (-9, 0, 9):
                x = table(np.random.default_rng(n), (n,), "float32")
                m = x > limit
                # Floats are added up in an order of dvm's own.
                np.testing.assert_allclose(f(x, m), x[m].sum() + len(x[m]), rtol=1e-5)
    assert (f.stats.captures, f.stats.opaque) == (1, 0)


def test_counts_of_nothing_and_of_negative_values() -> None:
    f = dvm.compile(lambda i: np.bincount(i))
    with dvm.stance("force_capture"):
        for i in ([3, 1, 3], [0], [7] * 9):
            assert same(f(np.array(i)), np.bincount(i))
        assert same(f(np.array([], np.int64)), np.bincount(np.array([], np.int64)))
        with pytest.raises(ValueError, match="negative"):
            f(np.array([1, -1]))
    assert f.stats.opaque == 0


def test_counts_of_nothing_are_integers() -> None:
    for least in (0, 3):
        f = dvm.compile(lambda g, x, least=least: np.bincount(g, weights=x, minlength=least))
        with dvm.stance("force_capture"):
            for n in (2, 0, 5, 0):
                g, x = np.arange(n), np.ones(n)
                assert same(f(g, x), np.bincount(g, weights=x, minlength=least))


def test_lists_and_arrays_of_indices_together() -> None:
    f = dvm.compile(lambda a, i: a[i[::-1], np.asarray(i) % 2])
    with dvm.stance("force_capture"):
        for i in ([True] * 5, [True, True, False], [1, 0], [0], [2, 1, 0, 0, 1]):
            a = np.arange(3.0 * len(i)).reshape(len(i), 3)
            for _ in range(2):
                assert same(
                    outcome(f, a, i), outcome(lambda a, i: a[i[::-1], np.asarray(i) % 2], a, i)
                )


def test_masks_shorter_than_what_they_compress() -> None:
    f = dvm.compile(lambda m, a: np.compress(m, a, axis=None))
    with dvm.stance("force_capture"):
        for n in (3, 3, 6, 6, 2, 0):
            mask, a = np.arange(n) % 2 == 0, np.arange(6.0).reshape(3, 2)
            assert same(f(mask, a), np.compress(mask, a, axis=None))
    assert not any("no path takes" in reason for reason in f.fallback_reasons)
