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


def outcome(function: Any, number: Any) -> Any:
    try:
        return called(function, number)
    except (OverflowError, ValueError) as error:
        return type(error), str(error)


#: what becomes of one number, in an array of a dtype
MAKERS = {
    "cast": lambda s, to: (np.ones(2) * s).astype(to),
    "full": lambda s, to: np.full(2, s, to),
    "full_like": lambda s, to: np.full_like(np.zeros(2, to), s),
    "array": lambda s, to: np.array(s, dtype=to),
    "list": lambda s, to: np.asarray([s, 1], dtype=to),
    "store": lambda s, to: (lambda a: (a.__setitem__(0, s), a)[1])(np.zeros(2, to)),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("kind", [float, int])
def test_a_number_becomes_what_numpy_makes_of_it(name: str, kind: type) -> None:
    numbers = [s for s in VALUES if kind is float or np.isfinite(s)]
    for dtype in INTEGERS:
        make = lambda s, to=dtype: MAKERS[name](s, to)  # noqa: E731
        for number in map(kind, numbers):
            compiled = dvm.compile(make)
            for _ in range(2):
                outcome(compiled, kind(3))
            for _ in range(2):
                wanted, found = outcome(make, number), outcome(compiled, number)
                np.testing.assert_array_equal(found[0], wanted[0], f"{number!r} as {dtype}")
                assert found[1] == wanted[1], (number, dtype)
