"""What may be a view: with elements and without, of arrays that may be written and that may not.

Each function is captured with one array and called with others: whether the result may be written,
has a base, is the argument itself, and how it lies.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]

FUNCTIONS: dict[str, Callable[[Array], Any]] = {
    "tile": lambda x: np.tile(x, 2),
    "tile once": lambda x: np.tile(x, (1, 1)),
    "asarray": lambda x: np.asarray(x),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x),
    "asfortranarray": lambda x: np.asfortranarray(x),
    "require": lambda x: np.require(x, requirements=["C"]),
    "array": lambda x: np.array(x, copy=None),
    "astype": lambda x: x.astype(x.dtype, copy=False),
    "atleast_2d": lambda x: np.atleast_2d(x),
    "ravel": lambda x: np.ravel(x),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "squeeze": lambda x: np.squeeze(x),
    "repeat": lambda x: np.repeat(x, 2, 0),
    "reshape": lambda x: x.reshape(-1),
    "reshape F": lambda x: x.reshape(-1, order="F"),
    "slice": lambda x: x[1:],
    "real": lambda x: x.real,
    "swapaxes": lambda x: np.swapaxes(x, 0, -1),
    "array_split": lambda x: np.array_split(x, 2)[0],
    "pad": lambda x: np.pad(x, 0),
    "diagonal": lambda x: np.diagonal(np.atleast_2d(x)),
    "rot90": lambda x: np.rot90(np.atleast_2d(x)),
    "view": lambda x: x.view("i8"),
    "resize": lambda x: np.resize(x, (2, 3)),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "delete": lambda x: np.delete(x, [], 0),
    "diff": lambda x: np.diff(x, 0),
    "unique": lambda x: np.unique(x),
    "conj": lambda x: np.conj(x),
}
SHAPES = [(0,), (3,), (0, 3), (2, 0), (2, 3), (1, 1)]


def ones(shape: tuple[int, ...], writeable: bool) -> Array:
    made = np.ones(shape)
    made.flags.writeable = writeable
    return made


def seen(result: Array, x: Array) -> tuple[Any, ...]:
    return result.shape, result.strides, result.flags.writeable, result.base is None, result is x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_flags_are_those_of_the_call(name: str) -> None:
    function = FUNCTIONS[name]
    kinds = [
        kind
        for kind in itertools.product(SHAPES, (True, False))
        if not (name == "view" and len(kind[0]) > 1 and 0 in kind[0])  # NumPy refuses some
    ]
    for first, later in itertools.product(kinds, kinds):
        if len(first[0]) != len(later[0]):
            continue
        compiled = dvm.compile(function)
        for kind in (first, first, later, first):
            x = ones(*kind)
            assert seen(compiled(x), x) == seen(function(x), x), f"{first} -> {later}: {kind}"


@pytest.mark.parametrize("function", [np.atleast_1d, np.atleast_2d, np.ravel, np.squeeze, np.real])
def test_arrays_without_axes(function: Callable[[Array], Any]) -> None:
    compiled = dvm.compile(lambda x: function(x))
    for writeable in (True, True, False, True):
        x = ones((), writeable)
        assert seen(compiled(x), x) == seen(function(x), x)
