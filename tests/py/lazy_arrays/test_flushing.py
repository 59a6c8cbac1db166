"""When what is pending is computed, what of it, and what that costs."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest
from hypothesis import strategies as st

import dvm
import dvm.lazy as xp
from dvm import _dvm

from .comparing import assert_same
from .samples import given


def reason():
    return dvm.lazy.last_flush().reason


@pytest.mark.parametrize(
    ("needs", "told"),
    [
        (repr, "print"),
        (str, "print"),
        (float, "float()"),
        (int, "int()"),
        (bool, "bool()"),
        (complex, "complex()"),
        (np.asarray, "NumPy"),
        (np.from_dlpack, "DLPack"),
        (lambda x: x[x > 0], "an index"),
        (xp.nonzero, "nonzero"),
        (xp.unique_values, "unique_values"),
        (lambda _: dvm.flush(), "flush()"),
    ],
)
def test_what_needs_a_value_is_told(needs, told):
    x = xp.sum(dvm.asarray([1.0, 2.0]) * 2, keepdims=needs is xp.nonzero)
    assert x.is_pending
    needs(x)
    assert not x.is_pending
    assert reason() == told


def test_shapes_and_dtypes_need_no_value():
    x = xp.sum(dvm.asarray(np.ones((2, 3))) > 0, axis=0)
    assert (x.shape, x.dtype, x.ndim, x.size) == ((3,), np.int64, 1, 3)
    assert x.is_pending


def test_what_the_program_has_dropped_is_not_computed():
    x = dvm.asarray(np.ones(10))
    y = xp.exp(x) + 1
    z = x * 2
    del y
    assert_same(z, np.full(10, 2.0))
    flushed = dvm.lazy.last_flush()
    assert flushed.operations == 1
    assert "exp" not in flushed.graph


def test_what_it_has_let_go_of_does_not_stay_in_memory():
    x = dvm.asarray(np.ones(1_000_000))
    dvm.flush()
    tracemalloc.start()
    for _ in range(50):
        y = x * 2 + 1
    del y
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < 100_000
    tracemalloc.stop()
    held = np.asarray(x)
    base = weakref.ref(held.base)
    later = x + 1
    del held, x
    assert base() is not None  # what is pending reads it
    del later
    assert base() is None


def test_one_compilation_serves_all_sizes():
    def f(n):
        x = dvm.asarray(np.arange(float(n)))
        return float(xp.sum(xp.exp(-x) * 2.0 + n))

    f(3)
    before = _dvm.lazy_compiled()
    for n in range(4, 60):
        assert np.isclose(f(n), (np.exp(-np.arange(float(n))) * 2 + n).sum())
    assert _dvm.lazy_compiled() == before
    f(1)  # of one element others follow
    assert _dvm.lazy_compiled() == before + 1


def test_one_compilation_serves_all_places():
    x = np.arange(1000.0)

    def f(k):
        y = dvm.asarray(x) * 2
        return y[k] + xp.sum(y[k : 3 * k])

    f(10)
    for k in (2, 3, 4):  # ahead of the loop: places that are sizes of something else
        float(f(k))
    before = _dvm.lazy_compiled()
    for k in range(20, 300):
        assert float(f(k)) == 2 * k + 2 * x[k : 3 * k].sum()
    assert _dvm.lazy_compiled() - before <= 2


def test_equal_sizes_fuse_and_others_are_right():
    a, b, c = (dvm.asarray(np.ones((n, 4))) for n in (3, 3, 1))
    both = (a + b, a + c)
    assert_same(both[0] + both[1], np.full((3, 4), 4.0))
    assert dvm.lazy.last_flush().kernels == 1


def test_a_buffer_is_computed_when_it_is_full():
    x = dvm.asarray(np.zeros(3))
    for _ in range(500):
        x = x + 1
    assert_same(x, np.full(3, 500.0))
    kept = [dvm.asarray(np.zeros(2)) + k for k in range(300)]
    assert reason() == "size limit"
    assert [float(v[0]) for v in kept] == list(range(300))


def test_a_flush_is_explained():
    x = dvm.asarray(np.ones(5)) * 2
    y = xp.sum(x)
    assert repr(y) == "Array(10.)"
    told = dvm.lazy.last_flush()
    assert (told.reason, told.operations, told.kernels, told.sizes) == ("print", 2, 1, (5,))
    assert "s0 = 5" in str(told)
    assert "mul" in told.graph
    assert "run r0" in told.plan


def test_any_control_flow():
    def collatz(x):
        steps = dvm.asarray(np.zeros(x.shape, np.int64))
        while xp.any(x != 1):
            steps = xp.where(x == 1, steps, steps + 1)
            x = xp.where(x == 1, x, xp.where(x % 2 == 0, x // 2, 3 * x + 1))
        return steps

    def fold(x):
        half = x.shape[0] // 2
        return x[0] if half == 0 else fold(x[:half] + x[half:])

    assert [int(n) for n in collatz(dvm.asarray([1, 6, 7, 27]))] == [0, 8, 16, 111]
    assert float(fold(dvm.asarray(np.arange(64.0)))) == 2016


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "add",
                "sub",
                "mul",
                "max",
                "sum",
                "mean",
                "exp",
                "drop",
                "where",
                "new",
                "view",
                "row",
                "part",
                "ahead",
                "flat",
                "joined",
                "running",
                "matmul",
                "cast",
            ]
        ),
        st.integers(0, 50),
        st.integers(0, 50),
    ),
    max_size=30,
)


@given(steps=STEPS, sizes=st.tuples(*[st.integers(1, 4)] * 2))
def test_programs_of_any_operations(steps, sizes):
    """Whatever is kept, dropped and looked at in between, the values are NumPy's."""

    def run(make, np_like):
        values = [make(np.linspace(-1, 1, sizes[0] * sizes[1]).reshape(sizes))]
        for op, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            if op == "drop":
                values = values[1:] if len(values) > 1 else values
                continue
            values.append(step(np_like, op, a, b, j))
        return values

    def step(m, op, a, b, j):
        fits = a.shape == b.shape or a.size == 1 or b.size == 1
        if op in ("add", "sub", "mul", "max", "where") and not fits:
            return a
        match op:
            case "add":
                return a + b
            case "sub":
                return a - b
            case "mul":
                return a * (b * 0.5)
            case "max":
                return m.maximum(a, b)
            case "where":
                return m.where(a > b, a, b)
            case "sum":
                return m.sum(a, axis=j % a.ndim, keepdims=j % 3 == 0) if a.ndim else a + 1.0
            case "mean":
                return m.mean(a, keepdims=True)
            case "exp":
                return m.exp(-abs(a))
            case "view":
                return m.permute_dims(a, tuple(range(a.ndim))[::-1])[None][0]
            case "row":
                return a[0] if a.ndim else a
            case "part":
                return a[..., -(j % 3) - 1 :: j % 2 + 1] if a.ndim else a
            case "ahead":
                return a[1:] - a[:-1] if a.ndim and a.shape[0] > 1 else a
            case "flat":
                return m.flip(m.reshape(a, (-1,)), axis=0)
            case "joined":
                fits = a.ndim == 1 == b.ndim
                return m.concat((a, b, a * 2)) if fits else m.roll(a, j, axis=-1) if a.ndim else a
            case "running":
                return m.cumulative_sum(a, axis=a.ndim - 1) * 0.1 if a.ndim else a
            case "matmul":
                return a @ m.permute_dims(a, (1, 0)) * 0.1 if a.ndim == 2 else a
            case "cast":
                return m.astype(m.astype(a, np.dtype("float32")), np.dtype("float64"))
        return m.zeros_like(a) + 1.5

    for made, wanted in zip(run(dvm.asarray, xp), run(np.array, np), strict=True):
        assert made.shape == wanted.shape
        assert np.allclose(np.asarray(made), wanted, rtol=1e-5, atol=1e-5, equal_nan=True)
