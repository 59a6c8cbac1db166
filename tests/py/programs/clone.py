"""Deep copies that keep everything a program can observe of its arguments.

`copy.deepcopy` turns every array into a fresh one: two views of one buffer would stop sharing it.
A `Cloner` copies each buffer once and makes every view of it again, with the same strides, offset,
flags and base, and keeps which objects are the same object.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

# Immutable, or (as functions and classes) part of the program and not of its data.
ATOMS = (
    *(bool, int, float, complex, str, bytes, range, slice),
    *(type, types.NoneType, types.EllipsisType, types.ModuleType),
    *(types.FunctionType, types.BuiltinFunctionType, np.ufunc, np.dtype, np.generic),
)


class Cloner:
    """Copies object graphs; one cloner keeps what is shared between all that it copied.

    keep: objects which stand for themselves in the copies (state that must not be copied).
    """

    def __init__(self, keep: Iterable[object] = ()) -> None:
        # The original is kept next to its copy, or its id could be given to another object.
        self._seen: dict[int, tuple[object, Any]] = {id(each): (each, each) for each in keep}

    def clone(self, value: Any) -> Any:
        """Return the copy of `value`; TypeError for a kind of object that it does not know."""
        if isinstance(value, ATOMS):
            return value
        if id(value) not in self._seen:
            made = self._make(value)
            self._seen.setdefault(id(value), (value, made))
        return self._seen[id(value)][1]

    def _make(self, value: Any) -> Any:
        kind = type(value)
        if kind is np.ndarray:
            return self._owner(value) if value.base is None else self._view(value)
        if isinstance(value, np.random.Generator):
            return copy.deepcopy(value)
        if kind is tuple:
            return tuple([self.clone(each) for each in value])
        if isinstance(value, tuple):  # a named one
            return kind(*[self.clone(each) for each in value])
        if isinstance(value, list | dict | set):
            return self._container(value)
        if members(value) and not isinstance(value, np.ndarray):
            return self._instance(value)
        raise TypeError(f"cannot clone a {kind.__qualname__}")

    def _owner(self, array: np.ndarray) -> np.ndarray:
        made = array.copy(order="K")
        if strides(made) != strides(array):
            raise TypeError(f"cannot clone an array of strides {array.strides}")
        made.flags.writeable = array.flags.writeable
        return made

    def _view(self, array: np.ndarray) -> np.ndarray:
        owner = array.base
        while type(owner) is np.ndarray and owner.base is not None:
            owner = owner.base
        if type(owner) is not np.ndarray:
            raise TypeError(f"cannot clone an array over a {type(owner).__qualname__}")
        buffer = flat(self.clone(owner))
        offset = address(array) - address(owner) if owner.size else 0
        made = np.ndarray(array.shape, array.dtype, buffer, offset, array.strides)
        made.flags.writeable = array.flags.writeable
        return made

    def _container(self, value: Any) -> Any:
        made = type(value)()
        self._seen[id(value)] = (value, made)  # before its elements: it may contain itself
        if isinstance(value, dict):
            made.update((self.clone(key), self.clone(each)) for key, each in value.items())
        elif isinstance(value, list):
            made.extend(self.clone(each) for each in value)
        else:
            made.update(self.clone(each) for each in value)
        return made

    def _instance(self, value: Any) -> Any:
        made = type(value).__new__(type(value))
        self._seen[id(value)] = (value, made)
        for name, each in members(value).items():
            object.__setattr__(made, name, self.clone(each))  # past a frozen dataclass's own
        return made


def members(value: Any) -> dict[str, Any]:
    """Return the attributes that an instance itself holds, in its __dict__ or its slots."""
    found = dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def address(array: np.ndarray) -> int:
    """Return where an array's first element is."""
    return array.__array_interface__["data"][0]


def strides(array: np.ndarray) -> list[int]:
    """Return the strides that matter: those of axes longer than 1, if there are elements at all."""
    if array.size == 0:
        return []
    return [s for n, s in zip(array.shape, array.strides, strict=True) if n > 1]


def flat(owner: np.ndarray) -> np.ndarray:
    """Return an owning array's memory as one axis, in the order of addresses."""
    order = sorted(range(owner.ndim), key=lambda axis: -owner.strides[axis])
    return owner.transpose(order).reshape(-1)
