"""Subclasses of ndarray: which of them NumPy may be called with as it is.

NumPy's own (matrix, recarray, masked arrays) are written in Python, but theirs: their methods are
called whole. A class of the user's takes part if it adds no code at all. Code of any other one
(__array_ufunc__, __array_finalize__ ...) is run by NumPy, where the recorder does not see it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.magpy_capture.containers import Containers
from dvm.magpy_capture.masked import is_masked, masked_classes
from dvm.magpy_capture.objects import class_attribute, is_array

#: Those whose whole content is the memory of the array.
BARE_MEMORY: tuple[type, ...] = (np.ndarray, np.matrix, np.recarray)
#: What a class without code has in its __dict__.
NO_CODE = frozenset({"__module__", "__doc__", "__dict__", "__weakref__", "__slots__"})
#: methods that masked arrays have and others do not
MASKED_METHODS = frozenset(
    "filled compressed count anom ids toflex torecords get_fill_value get_imag get_real".split()
)


class ArrayClasses(Containers):
    """Which classes of arrays a call of NumPy may be given."""

    def is_opaque_class(self, cls: type) -> bool:
        """Whether operators on its arrays run NumPy's code alone, as they do on every call."""
        if cls is np.ndarray:
            return True
        own = cls in BARE_MEMORY or cls in masked_classes()
        adds = [base for base in cls.__mro__ if not issubclass(np.ndarray, base)]
        if not own and any(set(vars(base)) - NO_CODE for base in adds):
            return False
        names = {name for base in adds for name in vars(base)}
        for name in names if own else {*vars(np.ndarray), "__getattr__", "__getattribute__"}:
            self.guard_class(cls, name, class_attribute(cls, name))
        return True

    def memory_registers(self, register: int, array: Any) -> list[tuple[int, Any]]:
        """Registers with all that an array keeps its content in: of a masked one also the mask."""
        if not is_masked(array):
            return [(register, array)]
        key = ("getattr", register, "_mask")
        mask = self.step("getattr", register, "_mask", key=key)
        if not is_array(array._mask):  # none at all, which is one object
            self.guard_is(mask, array._mask)
            return [(register, array)]
        self.guard_type(mask, array._mask)
        return [(register, array), (mask, array._mask)]

    def is_array_class(self, thing: Any) -> bool:
        """Whether it is such a class itself, which NumPy is given to make arrays of."""
        return (
            issubclass(type(thing), type)
            and issubclass(thing, np.ndarray)
            and self.is_opaque_class(thing)
        )
