"""dvm.freeze: copies that nobody can write to, and products that read packed copies of them."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64", "float16", "int8", "int32", "int64"]
# Few rows are read where they lie, and so is what is cut along k.
ROWS = st.sampled_from([0, 1, 8, 9, 12, 13, 64, 200])
SIDES = st.sampled_from([1, 8, 9, 15, 63, 64, 65, 130, 512, 600])


def matrix(rng: np.random.Generator, rows: int, columns: int, dtype: str) -> Array:
    if dtype[0] == "i":
        return rng.integers(-99, 99, (rows, columns)).astype(dtype)
    return rng.standard_normal((rows, columns)).astype(dtype)


LAYOUTS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "every other": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "reversed": lambda a: a[::-1].copy()[::-1],
}


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(DTYPES), ROWS, SIDES, SIDES, st.sampled_from(list(LAYOUTS)), st.booleans(),
    st.integers(0, 99),
)  # fmt: skip
def test_products_of_frozen_matrices_have_the_same_bits(
    dtype: str, m: int, k: int, n: int, layout: str, turned: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = matrix(rng, m, k, dtype)
    weight = LAYOUTS[layout](matrix(rng, n if turned else k, k if turned else n, dtype))
    frozen = dvm.freeze(weight)
    assert (frozen.dtype, frozen.shape) == (weight.dtype, weight.shape)
    np.testing.assert_array_equal(frozen, weight)

    plain = dvm.compile(lambda x, w: x @ w.T + 1 if turned else x @ w + 1)
    with dvm.stance("force_capture"):
        # Of the same strides: how a matrix lies decides the order of sums.
        same = np.array(frozen, order="K", copy=True)
        plain(x, same)  # the call that is captured is NumPy's
        expected, results = plain(x, same), [plain(x, frozen) for _ in range(3)]
    for result in results:
        assert result.tobytes() == expected.tobytes()


VIEWS = {
    "turned": lambda w: w.T,
    "columns": lambda w: w[:, 3:],
    "rows": lambda w: w[3:],
    "every other column": lambda w: w[:, ::2],
    "every third row": lambda w: w[::3],
    "columns reversed": lambda w: w[:, ::-1],
    "rows reversed": lambda w: w[::-1],
    "both reversed": lambda w: w[::-1, ::-1],
    "every other column, turned": lambda w: w[:, ::2].T,
    "one row repeated": lambda w: np.broadcast_to(w[0], w.shape),
    "one column repeated": lambda w: np.broadcast_to(w[:, :1], w.shape),
    "of another shape": lambda w: w.reshape(-1, w.shape[0]),
    "a matrix of several": lambda w: w.reshape(2, -1, w.shape[1])[1],
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_frozen_arrays_lie_as_they_do(name: str, order: Any) -> None:
    rng = np.random.default_rng(5)
    view = VIEWS[name]
    inside, outside = dvm.compile(lambda x, w: x @ view(w)), dvm.compile(lambda x, w: x @ w)
    with dvm.stance("force_capture"):
        for dtype in DTYPES:
            weight = np.array(matrix(rng, 64, 66, dtype), order=order)
            frozen = dvm.freeze(weight)
            for rows in (1, 9, 40, 300):
                x = matrix(rng, rows, view(weight).shape[0], dtype)
                for _ in range(2):  # the call that is captured is NumPy's
                    expected = inside(x, weight), outside(x, view(weight))
                results = inside(x, frozen), outside(x, view(frozen))
                for a, b in zip(expected, results, strict=True):
                    assert a.tobytes() == b.tobytes(), (dtype, rows)


def test_many_views_take_bounded_memory() -> None:
    rng = np.random.default_rng(6)
    frozen = dvm.freeze(rng.standard_normal((600, 64)).astype("float32"))
    before, x = dvm.stats().packed_bytes, np.ones((32, 64), "float32")
    rows = dvm.compile(lambda x, t, a, n: x @ t[a : a + n].T)
    with dvm.stance("force_capture"):
        for _ in range(300):
            a, n = int(rng.integers(400)), int(rng.integers(16, 200))
            np.testing.assert_allclose(
                rows(x, frozen, a, n), x @ frozen[a : a + n].T, rtol=1e-4, atol=1e-4
            )
    assert 0 < dvm.stats().packed_bytes - before <= 4 * frozen.nbytes + 65536


@dvm.compile
def layer(x: Array, weight: Array) -> Array:
    return np.maximum(x @ weight, 0)


def test_a_matrix_is_packed_once_and_let_go_with_its_array() -> None:
    gc.collect()
    before = dvm.stats()
    weight = dvm.freeze(np.random.default_rng(1).standard_normal((256, 300)).astype("float32"))
    x = np.ones((64, 256), "float32")
    with dvm.stance("force_capture"):
        for _ in range(2):  # the call that is captured is NumPy's
            layer(x, weight)
        packed = dvm.stats().packed_bytes - before.packed_bytes
        assert packed >= weight.nbytes
        for rows in (64, 100, 33, 1000):
            x = np.ones((rows, 256), "float32")
            np.testing.assert_allclose(
                layer(x, weight), np.maximum(x @ weight, 0), rtol=1e-5, atol=1e-4
            )
    assert dvm.stats().packed_bytes - before.packed_bytes == packed
    assert dvm.stats().frozen_bytes - before.frozen_bytes == weight.nbytes
    view = weight[:, 5:]
    del weight
    gc.collect()
    assert dvm.stats().frozen_bytes > before.frozen_bytes
    del view
    gc.collect()
    after = dvm.stats()
    assert (after.frozen_bytes, after.packed_bytes) == (before.frozen_bytes, before.packed_bytes)


def test_calls_of_before_find_what_is_frozen_later() -> None:
    x = np.random.default_rng(2).standard_normal((48, 128)).astype("float32")
    weight = np.random.default_rng(3).standard_normal((128, 96)).astype("float32")
    with dvm.stance("force_capture"):
        expected = [layer(x, weight) for _ in range(3)][-1]
        frozen = dvm.freeze(weight)
        packed = dvm.stats().packed_bytes
        assert layer(x, frozen).tobytes() == expected.tobytes()
        assert dvm.stats().packed_bytes > packed
        assert layer(x, weight).tobytes() == expected.tobytes()
        weight[:] = 0
        assert layer(x, frozen).tobytes() == expected.tobytes()
        assert not layer(x, weight).any()


def test_a_matrix_that_other_steps_read_too_lies_as_it_does() -> None:
    weight = np.random.default_rng(4).standard_normal((64, 64)).astype("float32")
    programs = [lambda x, w: x @ w + w, lambda x, w: w @ (w + x), lambda x, w: (x @ w, w.sum(0))]
    x, frozen = weight + 1, dvm.freeze(weight)
    for program in programs:
        compiled = dvm.compile(program)
        with dvm.stance("force_capture"):
            compiled(x, weight)
            for a, b in zip(compiled(x, frozen), compiled(x, weight), strict=True):
                assert a.tobytes() == b.tobytes()


def test_explain_takes_frozen_matrices() -> None:
    weight = dvm.freeze(np.ones((64, 64), "float32"))
    compiled = dvm.compile(lambda x, w: np.tanh(x @ w))
    with dvm.stance("force_capture"):
        for rows in (16, 20):
            report = dvm.explain(compiled)(np.ones((rows, 64), "float32"), weight)
    assert "matmul" in str(report)


def test_nobody_writes_to_a_frozen_array() -> None:
    frozen = dvm.freeze(np.ones((3, 4)))
    with pytest.raises(ValueError, match="read-only"):
        frozen[0] = 1
    for array in (frozen, frozen[1:], frozen.T):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
            array.setflags(write=True)
    with pytest.raises((TypeError, BufferError, ValueError)):
        memoryview(frozen)[0, 0] = 2.0
    copy = pickle.loads(pickle.dumps(frozen, protocol=4))
    np.testing.assert_array_equal(copy, frozen)
    copy[0] = 2


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (5,), (2, 3, 4)])
def test_any_shape_can_be_frozen(shape: tuple[int, ...]) -> None:
    array = np.ones(shape, "float32")
    frozen = dvm.freeze(array)
    assert (frozen.shape, frozen.strides) == (array.shape, array.strides)
    np.testing.assert_array_equal(frozen, array)


def test_what_cannot_be_frozen() -> None:
    with pytest.raises(TypeError, match=r"freeze takes a numpy\.ndarray, not a list"):
        dvm.freeze([1, 2])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"freeze takes a numpy\.ndarray, not a MaskedArray"):
        dvm.freeze(np.ma.array([1.0]))
    for array in (np.array(["a"]), np.ones(3, np.complex64), np.array([None])):
        with pytest.raises(TypeError, match=f"one of dvm's dtypes, which {array.dtype} is not"):
            dvm.freeze(array)
    with pytest.raises(TypeError, match="freeze takes numbers in native byte order, not >f4"):
        dvm.freeze(np.ones(3, ">f4"))
