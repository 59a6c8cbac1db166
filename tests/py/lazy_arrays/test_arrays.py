"""What arrays do as Python objects: values, indexing, assignment, other libraries."""

import copy
import gc
import operator
import pickle

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dvm
import dvm.lazy as xp

from .comparing import assert_same, check
from .samples import NUMERIC, arrays, given


def test_a_copy_is_made_of_what_others_may_write_to():
    held = np.ones(3)
    x = dvm.asarray(held)
    y = x + 1
    held[0] = 100
    assert_same(y, np.full(3, 2.0))
    assert_same(x, np.ones(3))
    assert np.shares_memory(np.asarray(dvm.asarray(held, copy=False)), held)
    assert np.shares_memory(np.asarray(xp.from_dlpack(held, copy=False)), held)
    assert not np.shares_memory(np.asarray(xp.from_dlpack(held)), held)
    assert dvm.asarray(x) is x
    assert dvm.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="copy"):
        dvm.asarray(x, dtype=xp.float32, copy=False)


def test_what_is_no_numbers_is_refused():
    with pytest.raises(TypeError, match="numbers"):
        dvm.asarray(["a"])
    with pytest.raises(TypeError, match="numbers"):
        dvm.asarray([object()])
    with pytest.raises(ValueError, match="device"):
        dvm.asarray(1, device="gpu")
    assert_same(dvm.asarray([dvm.asarray(1.0) + 1, 2]), np.array([2.0, 2.0]))


def test_others_may_not_write_to_a_value():
    x = dvm.asarray([1.0, 2.0]) + 0
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 3
    np.array(x)[0] = 3
    assert_same(x, np.array([1.0, 2.0]))
    assert np.from_dlpack(x).tolist() == [1, 2]
    assert np.asarray(x, dtype=np.int8).dtype == np.int8
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, dtype=np.int8, copy=False)


def test_assignment_leaves_what_was_read_before():
    x = dvm.asarray(np.arange(4.0))
    doubled, same, view = x * 2, x, x[1:]
    x[0] = 10
    x[1:3] = dvm.asarray([7.0, 8.0]) + 1
    x[x > 9] = -1
    assert_same(x, np.array([-1.0, 8, 9, 3]))
    assert same is x
    assert_same(view, np.arange(1.0, 4))
    assert_same(doubled, np.arange(4.0) * 2)
    x[...] = doubled
    assert_same(x, np.arange(4.0) * 2)
    with pytest.raises(IndexError):
        x[9] = 1


def test_assignment_writes_in_place_where_nobody_else_reads():
    x = dvm.asarray(np.zeros(3)) + 1
    place = np.asarray(x).ctypes.data
    x[0] = 5
    assert np.asarray(x).ctypes.data == place
    kept = np.asarray(x)
    x[1] = 6
    assert kept.tolist() == [5, 1, 1]
    assert np.asarray(x).tolist() == [5, 6, 1]


@pytest.mark.parametrize(
    "name",
    [
        "iadd",
        "isub",
        "imul",
        "itruediv",
        "ifloordiv",
        "imod",
        "ipow",
        "iand",
        "ior",
        "ixor",
        "ilshift",
        "irshift",
    ],
)
@given(
    x=arrays(NUMERIC, (2, 3)), y=arrays(NUMERIC, (3,)), number=st.sampled_from([None, 0, 2, 1.5])
)
def test_operators_in_place(name, x, y, number):
    function = getattr(operator, name)
    # Of two things that are wrong the first is told, which is the exponent here.
    y = np.clip(y, 0, 5) if name == "ipow" else y
    other = y if number is None else number

    def lazily(a, b):
        alias, before = a, a + 0
        made = function(a, b)
        assert made is alias
        assert_same(before, x + 0)
        return made

    check(lazily, lambda a, b: function(a.copy(), b), x, other)


def test_an_operator_in_place_keeps_dtype_and_shape():
    x = dvm.asarray([1, 2])
    with pytest.raises(TypeError, match="int64 to float64"):
        x += 1.5
    with pytest.raises(ValueError, match="shape"):
        x += dvm.asarray([[1], [2]])
    y = dvm.asarray([1.0], dtype=xp.float32)
    y += dvm.asarray([1.0])
    assert y.dtype == xp.float32
    m = dvm.asarray(np.eye(2)) * 2
    m @= m
    assert_same(m, np.eye(2) * 4)


@given(data=st.data(), x=arrays(shape=hnp.array_shapes(min_dims=0, max_dims=3, max_side=4)))
def test_indices(data, x):
    key = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, allow_ellipsis=True))
    check(lambda a: a[key], lambda a: np.asarray(a[key]), x)


@given(x=arrays(NUMERIC, (3, 4)))
def test_indices_that_are_arrays(x):
    for key in (x > 1, np.array([2, 0]), (np.array([[1], [0]]), np.array([0, 3])), x[:, 0] > 0):
        check(lambda a, k: a[k], lambda a, k: a[k], x, key)
    check(lambda a: a[:, dvm.asarray([1, 1])], lambda a: a[:, [1, 1]], x)
    check(lambda a: a[dvm.asarray(1) :: dvm.asarray(1)], lambda a: a[1::1], x)


def test_new_axes_are_pending():
    x = dvm.asarray(np.ones((2, 3))) + 1
    for key in (
        None,
        (..., None),
        (slice(None), None),
        (None, ..., None),
        (slice(None), ..., None),
    ):
        assert x[key].is_pending
        assert x[key].shape == np.ones((2, 3))[key].shape
    assert x.T.is_pending
    assert x.mT.shape == (3, 2)
    assert xp.squeeze(x[None], axis=0).is_pending
    assert x.is_pending
    with pytest.raises(ValueError, match="matrices"):
        _ = x[0].T


def test_parts_are_pending():
    n = np.arange(24.0).reshape(4, 6)
    x = dvm.asarray(n) + 0
    # Bound to no name they are dropped, and x stays pending.
    for key in (0, -1, (1, slice(2)), (..., slice(None, None, -2)), (None, 2), slice(9, 3), ...):
        assert x[key].is_pending
        assert_same(x[key] + 0, n[key] + 0)
        x = dvm.asarray(n) + 0
    # All of them are made before the first of them is needed.
    pairs = (
        (xp.reshape(x, (3, -1)), n.reshape(3, 8)),
        (xp.flip(x, axis=1), np.flip(n, axis=1)),
        (xp.roll(x, 3, axis=-1), np.roll(n, 3, axis=-1)),
        (xp.roll(x[0], -1), np.roll(n[0], -1)),
        (xp.concat((x[:1], dvm.asarray(n))), np.concat((n[:1], n))),
        (xp.stack((x, x * 2), axis=1), np.stack((n, n * 2), axis=1)),
        (xp.argmax(x, axis=1), np.argmax(n, axis=1)),
        (xp.argmin(x[:, 3], axis=0, keepdims=True), np.argmin(n[:, 3], axis=0, keepdims=True)),
        (xp.cumulative_sum(x, axis=1), np.cumsum(n, axis=1)),
        (xp.cumulative_prod(x[1]), np.cumprod(n[1])),
    )
    assert all(made.is_pending for made, _ in pairs)
    for made, wanted in pairs:
        assert_same(made, wanted)
    for wrong in (9, (0, 0, 0), (..., 0, ...), "a"):
        with pytest.raises(IndexError):
            _ = (dvm.asarray(n) + 0)[wrong]
    with pytest.raises(ValueError, match="reshape"):
        xp.reshape(dvm.asarray(n) + 0, (5, -1))


def test_a_part_of_what_is_pending_shares_no_elements():
    x = dvm.asarray(np.zeros(4)) + 1
    view, same, half = x[1:], x[...], xp.reshape(x, (2, 2))
    x[2] = 5
    view[0] = 7
    assert_same(x, np.array([1.0, 1, 5, 1]))
    assert_same(view, np.array([7.0, 1, 1]))
    assert_same(same, np.ones(4))
    assert_same(half, np.ones((2, 2)))


def test_python_sees_values():
    x = dvm.asarray([2.5]) * 2
    assert float(xp.sum(x)) == 5.0
    assert int(xp.sum(x)) == 5
    assert complex(xp.sum(x)) == 5
    assert bool(xp.sum(x) > 4)
    assert [10, 20, 30][xp.sum(dvm.asarray([1, 1]))] == 30
    with pytest.raises(TypeError):
        operator.index(xp.sum(x))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(dvm.asarray([1, 2]) > 0)
    assert 5.0 in x
    assert [float(v) for v in dvm.asarray([1.0, 2.0])] == [1, 2]
    assert len(dvm.asarray([1, 2])) == 2
    with pytest.raises(TypeError, match="rank 0"):
        len(xp.sum(x))
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert f"{xp.sum(x):.2f}" == "5.00"
    assert str(x) == "[5.]"
    assert repr(x) == "Array([5.])"
    assert (x.device, x.size, x.ndim) == ("cpu", 1, 1)
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match="cpu"):
        x.to_device("gpu")


def test_copies_and_pickles():
    x = dvm.asarray([1.0, 2.0]) * 3
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert_same(made, np.array([3.0, 6.0]))
        made[0] = 0
    assert_same(x, np.array([3.0, 6.0]))


def test_arrays_of_numpy_are_operands():
    x, n = dvm.asarray([1.0, 2.0]), np.array([3.0, 4.0])
    assert_same(n + x, np.array([4.0, 6.0]))
    assert_same(x * n, np.array([3.0, 8.0]))
    assert_same(np.float32(2) * x, np.array([2.0, 4.0]))
    assert_same(n @ x, np.array(11.0))


@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_dtypes_that_the_core_has_not_are_numpys(dtype):
    x = np.array([1.5, -2.5, 300.0], dtype)
    check(lambda a: (a * 2 + a) / 3, lambda a: (a * 2 + a) / 3, x)
    check(xp.sum, np.sum, x)


def test_ranks_beyond_the_core_are_numpys():
    x = np.ones((1,) * 10)
    check(lambda a: xp.sum(a + 1, axis=(0, 9)), lambda a: np.sum(a + 1, axis=(0, 9)), x)
    check(lambda a: a[None], lambda a: a[None], np.ones((1,) * 8))


def test_arrays_are_weakly_referenced_and_end():
    import weakref

    x = dvm.asarray([1.0]) + 1
    gone = []
    weakref.finalize(x, gone.append, 1)
    del x
    gc.collect()
    assert gone == [1]


def test_a_power_has_no_modulus():
    with pytest.raises(TypeError, match="unsupported operand"):
        pow(dvm.asarray([1, 2, 3]), 2, 5)
