"""What a class is, as `type` itself has it.

A metaclass of the user's may answer for its classes, and see who asks: so nothing here asks it.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any


def _of_type(name: str) -> Callable[[type], Any]:
    descriptor: Any = vars(type)[name]
    asked: Callable[[type], Any] = descriptor.__get__
    return asked


#: the class and what it inherits from, in order
mro_of: Callable[[type], tuple[type, ...]] = _of_type("__mro__")
#: what its body, and assignments since, have put there
names_in: Callable[[type], Mapping[str, Any]] = _of_type("__dict__")
name_of: Callable[[type], str] = _of_type("__name__")
qualname_of: Callable[[type], str] = _of_type("__qualname__")
#: the module that it names; text, nearly always
module_of: Callable[[type], Any] = _of_type("__module__")
_flags_of: Callable[[type], int] = _of_type("__flags__")


def is_mutable_class(cls: type) -> bool:
    """Whether it was made at run time, so that its attributes and bases may change."""
    return bool(_flags_of(cls) & (1 << 9))


def lookup(cls: type, name: str, missing: Any = None) -> Any:
    """What the class or a base has under the name, as it is stored there."""
    for owner in mro_of(cls):
        if name in (names := names_in(owner)):
            return names[name]
    return missing


#: Classes that all functions and most other keys are of, which are known to be plain keys; by id,
#: for a metaclass may say what the hash of a class is.
_ORDINARY = frozenset(
    map(
        id,
        (
            *(types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType),
            *(types.WrapperDescriptorType, type, types.NoneType, str, int),
        ),
    )
)


def is_plain_key(thing: Any) -> bool:
    """Whether a dict or a set may be asked for it: no code of the user's tells keys apart."""
    if id(type(thing)) in _ORDINARY:
        return True
    kinds = [type(lookup(type(thing), name)) for name in ("__hash__", "__eq__")]
    return kinds == [types.WrapperDescriptorType] * 2


__all__ = [
    "is_mutable_class",
    "is_plain_key",
    "lookup",
    "module_of",
    "mro_of",
    "name_of",
    "names_in",
    "qualname_of",
]
