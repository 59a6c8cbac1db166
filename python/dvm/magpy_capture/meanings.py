"""What functions mean: each is registered where it is written.

    @means(np.kron)
    def kron(self, a: Abstract, b: Abstract) -> Tensor: ...

The arguments are abstract values, by position and by name as the program gave them; the signature
is that of the function itself. An array method is named as np.ndarray has it. What raises
NotCapturable has no meaning in that form: NumPy's own function is called then.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

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


__all__ = ["FUNCTIONS", "METHODS", "Meaning", "means"]
