"""What NumPy's products and powers show besides numbers: dtypes, owners of memory, warnings."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import dvm

DTYPES = ("?", "i1", "u2", "i4", "i8", "f2", "f4", "f8")


@pytest.mark.parametrize("exponent", [2, 2.0, 0.5, 1.0, 3.0, 0.0, 1, 0, True])
def test_powers_of_integers_are_floats(exponent: Any) -> None:
    for dtype in DTYPES:
        compiled, x = dvm.compile(lambda x: x**exponent), np.arange(5).astype(dtype)
        for n in (5, 3, 4):
            plain = compiled.__wrapped__(x[:n])
            got = compiled(x[:n])
            assert (type(got), got.dtype) == (type(plain), plain.dtype)
            np.testing.assert_allclose(got, plain, rtol=1e-3 if dtype == "f2" else 1e-6)
        assert compiled.stats.hits >= 1 or dtype == "?", (dtype, compiled.fallback_reasons)


def shown(x: Any) -> Any:
    base = x.base
    below = None if base is None else (base.shape, base.strides, type(base.base))
    return x.flags.owndata, x.shape, x.strides, x.dtype, below


@pytest.mark.parametrize("axes", [0, 1, 2, ([0], [1]), ([1, 0], [0, 1]), ([-1], [0])])
def test_tensordot_gives_the_view_that_numpy_gives(axes: Any) -> None:
    rng = np.random.default_rng(0)
    compiled = dvm.compile(lambda a, b: np.tensordot(a, b, axes))
    shapes = [(3, 4), (4, 3), (3, 3), (0, 3), (3, 0), (2, 3, 4), (4, 3, 2), (3,)]
    for one, other in itertools.product(shapes, repeat=2):
        a, b = rng.integers(0, 5, one[::-1]).astype("f4").T, rng.integers(0, 5, other) * 1.0
        try:
            plain = compiled.__wrapped__(a, b)
        except (ValueError, IndexError) as error:
            with pytest.raises(type(error)):
                compiled(a, b)
            continue
        for _ in range(2):
            made = compiled(a, b)
            assert shown(made) == shown(plain)
            np.testing.assert_array_equal(made, plain, strict=True)
    assert compiled.stats.hits > 0


def warned(function: Any, *given: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*given)
    return sorted(str(each.message) for each in caught)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "function", [np.dot, np.inner, np.matmul, np.vdot], ids=lambda function: function.__name__
)
def test_products_warn_as_numpy_does(function: Any, dtype: str) -> None:
    """Infinities of both signs that meet a NaN: which come first decides."""
    rng = np.random.default_rng(0)
    drawn = [0, 1, 2, np.inf, -np.inf, np.nan]
    for rows in (0, 3):
        compiled = dvm.compile(lambda a, b: function(a, b))
        for n in (2, 3, 4, 5, 8, 9, 16, 17, 33):
            for _ in range(20):
                shape = (rows, n) if rows and function is not np.vdot else n
                a = rng.choice(drawn, size=shape, p=[0.2, 0.3, 0.2, 0.1, 0.1, 0.1]).astype(dtype)
                b = rng.choice([1, 2, 0, -1], size=n).astype(dtype)
                assert warned(compiled, a, b) == warned(compiled.__wrapped__, a, b), (a, b)
        assert compiled.stats.hits > 0
