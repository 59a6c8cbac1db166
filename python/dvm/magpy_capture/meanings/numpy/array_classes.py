"""Subclasses of ndarray: which of them NumPy may be called with as it is.

NumPy's own (matrix, recarray, masked arrays) are written in Python, but theirs: their methods are
called whole. A class of the user's takes part if it adds no code that NumPy runs, but for an
__array_finalize__ that hands attributes on. Code of any other one (__array_ufunc__ ...) is run by
NumPy, where the recorder does not see it.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from dvm import reasons
from dvm.classes import mro_of, names_in
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.masked import masked_classes
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.recording.operations import operations
from dvm.magpy_capture.values import Abstract, Host, Literal, Size, resolve
from dvm.magpy_capture.values.kinds import MISSING, PURE_TYPES, class_attribute

#: Those whose whole content is the memory of the array.
BARE_MEMORY: tuple[type, ...] = (np.ndarray, np.matrix, np.recarray)
#: What a class without code has in its __dict__, and what of its code NumPy does not run.
NO_CODE = frozenset({"__module__", "__doc__", "__dict__", "__weakref__", "__slots__", "__new__"})
#: What a finalizer consists of that hands attributes on from array to array.
HANDING_ON = frozenset(
    "nothing resume load_fast load_const push_null load_global load_global_under_null call "
    "store_attr return_value pop_top pop_jump_if_not_none pop_jump_if_none".split()
)


class ArrayClasses(NumpyPart):
    """Which classes of arrays a call of NumPy may be given."""

    needs = "heap host_operations instances opaque program"

    def is_opaque_class(self, cls: type) -> bool:
        """Whether operators on its arrays run NumPy's code alone, as they do on every call."""
        if cls is np.ndarray:
            return True
        own = cls in BARE_MEMORY or cls in masked_classes()
        adds = [base for base in mro_of(cls) if not issubclass(np.ndarray, base)]
        if not own and not all(self._adds_no_code(base) for base in adds):
            return False
        names = {name for base in adds for name in names_in(base)}
        if not own:
            names |= {*vars(np.ndarray), "__getattr__", "__getattribute__", "__setattr__"}
        for name in sorted(names):
            self.instances.guard_class(cls, name, class_attribute(cls, name))
        return True

    def _adds_no_code(self, cls: type) -> bool:
        """Whether NumPy finds nothing to run in it: methods with names of its own are not NumPy's.

        A finalizer may set attributes of the new array to constants and `getattr` of the other.
        """
        for name, thing in names_in(cls).items():
            if name in NO_CODE:
                continue
            if name == "__array_finalize__" and type(thing) is types.FunctionType:
                if not self._hands_on(thing):
                    return False
                continue
            special = name.startswith("__") and name.endswith("__")
            if special or hasattr(np.ndarray, name) or hasattr(type(thing), "__set__"):
                return False
        return True

    def _hands_on(self, function: Any) -> bool:
        code, scope = function.__code__, function.__globals__
        steps = operations(code)
        names = {step.value for step in steps if step.name.startswith("load_global")}
        if not names <= {"getattr"} or not {step.name for step in steps} <= HANDING_ON:
            return False
        if "getattr" in scope or function.__builtins__.get("getattr") is not getattr:
            return False
        self.program.guard_name(scope, "getattr", MISSING)
        self.program.guard_name(function.__builtins__, "getattr", getattr)
        self.program.guard(
            "guard_code",
            function,
            code,
            function.__defaults__,
            function.__kwdefaults__,
            key=(id(function),),
        )
        return True

    def attribute_of_subclass(self, base: Host, name: str, seen: Any) -> Abstract:
        """`x.name` that the array itself has: whoever made it, an object that others may hold."""
        key = ("getattr", base.register, name)
        return self.heap.reach(
            lambda: self.program.step("getattr", base.register, name, key=key), seen
        )

    def set_attribute_of_subclass(self, base: Host, name: str, value: Abstract) -> None:
        """`x.name = value` of an array that the path made, before anybody else sees it."""
        if type(base.object) is np.recarray and name in (base.object.dtype.names or ()):
            self.opaque.call(np.ndarray.__setitem__, [base, Literal(name), value], {}, None)
            return
        value = resolve(value)
        kept = isinstance(value, (Literal, Host)) and type(value.object) in PURE_TYPES
        free = (
            base.made
            and not hasattr(type(base.object), name)
            and self.host_operations.is_pure(base)
        )
        if not free or not (kept or isinstance(value, Size)):
            raise refuse(reasons.SETTING_ATTRIBUTE, name, describe(base))
        given = [base.register, self.program.constant(name), self.program.register_of(value)]
        self.program.step("call", self.program.constant(setattr), given, ())
        self.program.forget_results()

    def is_array_class(self, thing: Any) -> bool:
        """Whether it is such a class itself, which NumPy is given to make arrays of."""
        return (
            issubclass(type(thing), type)
            and issubclass(thing, np.ndarray)
            and self.is_opaque_class(thing)
        )
