"""What functions mean: each is registered where it is written.

    @means(np.kron)
    def kron(self, a: Abstract, b: Abstract) -> Tensor: ...

The arguments are abstract values, by position and by name as the program gave them; the signature
is that of the function itself. An array method is named as np.ndarray has it. What raises
NotCapturable has no meaning in that form: NumPy's own function is called then.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from dvm.classes import mro_of

Meaning = Callable[..., Any]
Handler = TypeVar("Handler", bound=Meaning)

#: function -> what it means: a method of a part of the lowering
FUNCTIONS: dict[Any, Meaning] = {}
#: the same of array methods, by name
METHODS: dict[str, Meaning] = {}


def means(*things: Any) -> Callable[[Handler], Handler]:
    """Register what all these functions, classes and array methods mean."""

    def register(handler: Handler) -> Handler:
        for thing in things:
            if isinstance(thing, types.MethodDescriptorType) and thing.__objclass__ is np.ndarray:
                METHODS[thing.__name__] = handler
            else:
                FUNCTIONS[thing] = handler
        return handler

    return register


#: function -> what calls of it mean, as one of many: told (function, positional, named, seen)
CALLS: dict[Any, Meaning] = {}
#: kind of function -> the same
CALLS_OF: dict[type, Meaning] = {}
#: kind of abstract value -> what calls of its methods mean: (base, name, positional, named, seen)
METHODS_OF: dict[type, Meaning] = {}
#: kind of abstract value -> what its attributes are: (base, name, seen)
ATTRIBUTES_OF: dict[type, Meaning] = {}


def _registers(table: dict[Any, Meaning], keys: Iterable[Any]) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        table.update(dict.fromkeys(keys, handler))
        return handler

    return register


def calls_of_each(functions: Iterable[Any]) -> Callable[[Handler], Handler]:
    """Register what calls of any of these functions mean."""
    return _registers(CALLS, functions)


def calls_of(*kinds: type) -> Callable[[Handler], Handler]:
    """Register what calls of functions of these types mean."""
    return _registers(CALLS_OF, kinds)


def methods_of(*kinds: type) -> Callable[[Handler], Handler]:
    """Register what calls of methods mean, of these kinds of abstract values."""
    return _registers(METHODS_OF, kinds)


def attributes_of(*kinds: type) -> Callable[[Handler], Handler]:
    """Register what attributes are, of these kinds of abstract values."""
    return _registers(ATTRIBUTES_OF, kinds)


def of_kind(table: dict[type, Meaning], kind: type) -> Meaning | None:
    """The row of the class, or of the nearest that it inherits from."""
    for cls in mro_of(kind):
        if (meaning := table.get(cls)) is not None:
            return meaning
    return None


__all__ = [
    *("ATTRIBUTES_OF", "CALLS", "CALLS_OF", "FUNCTIONS", "METHODS", "METHODS_OF", "Meaning"),
    *("attributes_of", "calls_of", "calls_of_each", "means", "methods_of", "of_kind"),
]
