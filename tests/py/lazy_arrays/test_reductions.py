"""Reductions and running functions, over any axes, of nothing, and of special values."""

import numpy as np
import pytest
from hypothesis import strategies as st

import dvm
import dvm.lazy as xp

from .comparing import check
from .samples import DTYPES, FLOATS, NUMERIC, arrays, given


@st.composite
def with_axes(draw, dtypes=DTYPES):
    x = draw(arrays(dtypes))
    one = st.integers(-x.ndim - 1, x.ndim)
    axis = draw(st.one_of(st.none(), one, st.lists(one, max_size=3).map(tuple)))
    return x, {"axis": axis, "keepdims": draw(st.booleans())}


# Of floats the order of additions differs from NumPy's, and with it what overflows first.
def mild(x):
    return np.clip(x, -100, 100) if x.dtype.kind == "f" else x


@pytest.mark.parametrize("name", ["all", "any", "max", "min"])
@given(given=with_axes(NUMERIC))
def test_which_elements(name, given):
    check(getattr(xp, name), getattr(np, name), given[0], **given[1])


@pytest.mark.parametrize("name", ["sum", "prod", "mean"])
@given(given=with_axes())
def test_totals(name, given):
    check(getattr(xp, name), getattr(np, name), mild(given[0]), **given[1])


@pytest.mark.parametrize("name", ["var", "std"])
@given(given=with_axes(FLOATS), correction=st.sampled_from([0, 1, 0.5, 3]))
def test_spread(name, given, correction):
    x = mild(given[0]).astype(np.float64)
    check(getattr(xp, name), getattr(np, name), x, **given[1], correction=correction)


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64", "complex128"])
@given(x=arrays(NUMERIC))
def test_the_dtype_of_a_total(name, dtype, x):
    if x.dtype.kind != "f" or dtype.startswith("float"):
        x = np.clip(x, 0, 3)
        check(getattr(xp, name), getattr(np, name), x, dtype=np.dtype(dtype))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@given(x=arrays(NUMERIC))
def test_running_totals(name, x):
    if x.ndim:
        check(getattr(xp, name), getattr(np, name), mild(x), axis=-1, include_initial=True)


@given(x=arrays())
def test_count_and_diff(x):
    check(xp.count_nonzero, np.count_nonzero, x)
    if x.ndim:
        check(xp.diff, np.diff, x, axis=0, n=2)


def test_a_mean_of_small_integers_and_sums_of_bools():
    x = np.full(1000, 200, np.uint8)
    check(xp.mean, np.mean, x)
    check(xp.sum, np.sum, x)
    check(xp.sum, np.sum, x > 3)
    assert xp.sum(dvm.asarray(x)).dtype == np.uint64
