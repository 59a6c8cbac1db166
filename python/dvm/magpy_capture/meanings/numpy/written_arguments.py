"""Which arguments a call of NumPy writes into: `out`, and what a function is there to change."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.libraries import ELEMENTWISE
from dvm.magpy_capture.meanings.numpy.functions import WRITES, WRITING_METHODS
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.masked import is_numpys_code
from dvm.magpy_capture.meanings.python.opaque import INPLACE, NONE, array_of, is_same, signature_of
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import Abstract, Literal, Named, Sequence, resolve
from dvm.magpy_capture.values.kinds import name_of

TRUE, FALSE = Literal(True), Literal(False)
#: Functions of Python that iterate over an array; not all of them have signatures.
READERS = (sum, min, max)
METHOD_TYPES = (types.MethodDescriptorType, types.WrapperDescriptorType)
#: Where the methods of a ufunc have `out`, when it is given by position.
OUT_OF = {"reduce": 3, "accumulate": 3, "reduceat": 4}


class WrittenArguments(NumpyPart):
    """What calls write, told by the function and by how it is called."""

    needs = "opaque"

    def written(self, function: Any, positional: list[Abstract], named: Named) -> list[Abstract]:
        """The arguments that the call writes into."""
        if isinstance(getattr(function, "__self__", None), ELEMENTWISE):
            if function.__name__ == "at":
                given = positional[:1]
            else:
                place = OUT_OF.get(function.__name__, len(positional))
                given = [*positional[place : place + 1], named.get("out", NONE)]
        elif function in INPLACE:
            given = positional[:1]
        elif isinstance(function, ELEMENTWISE):
            given = [*positional[function.nin :], named.get("out", NONE)]
        else:
            given = self._written_by_name(function, positional, named)
        parts = [
            resolve(part)
            for value in given
            for part in (value.elements if isinstance(value, Sequence) else [value])
        ]
        return [part for part in parts if not is_same(part, None) and not is_same(part, Ellipsis)]

    def _written_by_name(
        self, function: Any, positional: list[Abstract], named: Named
    ) -> list[Abstract]:
        """What a function other than a ufunc writes, by the names of its parameters."""
        parts = self.opaque.parts_of([*positional, *named.values()])
        if all(array_of(part) is None for part in parts):
            return []
        if function in READERS:
            return []
        try:
            bound = signature_of(function).bind(*positional, **named).arguments
        except (TypeError, ValueError) as mismatch:
            raise refuse(reasons.FUNCTION_ARGUMENTS, name_of(function), mismatch) from None
        first = next(iter(bound.values()), NONE)
        given = [bound.get("out", NONE)]
        of_class = isinstance(function, METHOD_TYPES) or is_numpys_code(function)
        if function in WRITES or (of_class and function.__name__ in WRITING_METHODS):
            given.append(first)
        for flag in ("overwrite_input", "inplace"):
            if not is_same(bound.get(flag, FALSE), False):
                given.append(first)
        if function is np.nan_to_num and not is_same(bound.get("copy", TRUE), True):
            given.append(first)
        return given


__all__ = ["WrittenArguments"]
