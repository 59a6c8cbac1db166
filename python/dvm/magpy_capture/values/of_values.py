"""Abstract values. What is asked of any value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dvm.magpy_capture.values.arrays import Tensor
from dvm.magpy_capture.values.known import Literal, Unread
from dvm.magpy_capture.values.mappings import OBJECTS
from dvm.magpy_capture.values.sequences import Sequence

if TYPE_CHECKING:
    from dvm.magpy_capture.values.known import Abstract


def resolve(value: Abstract) -> Abstract:
    """`value`, read from the caller's objects if the program had not looked at it yet."""
    while isinstance(value, Unread):
        value = value.read()
    return value


def is_literal(value: Abstract, wanted: Any) -> bool:
    value = resolve(value)
    return isinstance(value, Literal) and value.object is wanted


def is_none(value: Abstract) -> bool:
    return is_literal(value, None)


def caller_register(value: Abstract) -> int:
    """The register of an object of the caller, or -1 for one the program made."""
    if isinstance(value, Tensor):
        return value.storage.register if value.base is None else -1
    return int(getattr(value, "register", -1))


def of_key(key: Any) -> Abstract:
    """The value of which it is the key, in a dict or a set of abstract values."""
    if isinstance(key, OBJECTS):
        return key
    if type(key) is tuple:
        parts = list(map(of_key, key))
        if not all(isinstance(part, Literal) for part in parts):
            return Sequence(parts)
    return Literal(key)


__all__ = ["caller_register", "is_literal", "is_none", "of_key", "resolve"]
