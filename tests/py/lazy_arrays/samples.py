"""Arrays, numbers and keys that tests of lazy arrays are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from whole import how_many

REAL = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMERIC = (*REAL, *FLOATS)
DTYPES = ("bool", *NUMERIC, *COMPLEX)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -7.25, np.inf, -np.inf, np.nan, 1e30, -1e-30)

#: for each test, for there are many
EXAMPLES = how_many(20, 300)

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def given(**strategies: Any) -> Callable[..., Any]:
    """As Hypothesis has it, with few examples."""
    few = hypothesis.settings(max_examples=EXAMPLES)
    return lambda test: few(hypothesis.given(**strategies)(test))


def elements(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return st.one_of(
            st.integers(max(-5, int(limits.min)), 5), st.integers(int(limits.min), int(limits.max))
        )
    reals = st.one_of(st.sampled_from(SPECIAL), st.floats(-100, 100, width=32))
    return reals if dtype.kind == "f" else st.builds(complex, reals, reals)


@st.composite
def arrays(draw: Any, dtypes: tuple[str, ...] = DTYPES, shape: Any = SHAPES) -> Any:
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    size = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    made = draw(hnp.arrays(dtype, size, elements=elements(dtype)))
    # Not only dense ones: what is pending reads any layout.
    if made.ndim > 1 and draw(st.booleans()):
        made = np.asfortranarray(made)
    return made[::-1] if made.ndim and draw(st.booleans()) else made


@st.composite
def pairs(draw: Any, dtypes: tuple[str, ...] = DTYPES) -> Any:
    """Two arrays that can be broadcast, or an array and a number of Python's."""
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
    first = draw(arrays(dtypes, shapes.input_shapes[0]))
    if draw(st.booleans()):
        return first, draw(arrays(dtypes, shapes.input_shapes[1]))
    number = draw(
        st.one_of(st.booleans(), st.integers(-3, 300), st.sampled_from(SPECIAL), st.just(1j))
    )
    return (first, number) if draw(st.booleans()) else (number, first)
