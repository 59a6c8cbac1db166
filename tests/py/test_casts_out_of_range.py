"""Floats that no integer of a dtype is near: what NumPy makes of them, on every target."""

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import dvm

#: at the ends of the ranges of all integer dtypes, and beyond
VALUES = [0.0, -1.0, 300.0, 3.7, -3.7, 65541.0, 1e10, 1e19, np.inf, -np.inf, np.nan]
VALUES += [
    sign * 2.0**bits + step
    for bits in (7, 8, 15, 16, 31, 32, 63, 64)
    for sign in (1, -1)
    for step in (-1, 0, 1)
]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("target", ["cpu", "ascend910b3"])
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_a_cast_gives_what_numpy_gives_and_warns_as_it_does(source: str, target: str) -> None:
    with np.errstate(all="ignore"):
        values = np.array(VALUES).astype(source)
    served = 0
    for dtype in INTEGERS:
        cast = dvm.compile(lambda x, to=dtype: (x * 1).astype(to), target=target)
        cast(np.ones(3, source))
        for value, count in itertools.product(values, (1, 5)):
            x = np.full(count, value)
            wanted, said = called(lambda x, to=dtype: (x * 1).astype(to), x)
            given, heard = called(cast, x)
            np.testing.assert_array_equal(given, wanted, f"{value} as {dtype}")
            assert heard == said, (value, dtype)
        served += cast.stats.hits
    assert served > len(INTEGERS) * 5


def called(function: Any, x: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = function(x)
    return made, [str(one.message) for one in caught]


def test_three_hundred_is_forty_four() -> None:
    """As the README says."""
    assert dvm.compile(lambda x: (x + 1).astype("int8"))(np.array([299.0]))[0] == 44
