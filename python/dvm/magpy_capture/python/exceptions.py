"""Exceptions that the program raises and handles itself.

The recording shows which instruction raised and where the exception went. What raised is called
again on every replay and must raise exactly that type, or the call takes another path; the object
is the replay's own. It has no traceback, so that it may be looked at but not leave the function.
"""

from __future__ import annotations

import operator
import sys
import types
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.libraries import is_plain_array
from dvm.magpy_capture.meanings import attributes_of, means
from dvm.magpy_capture.numpy.tables import WRITES, is_numpy_function
from dvm.magpy_capture.part import Part
from dvm.magpy_capture.path.program import MISSING, describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.python.kinds import class_attribute
from dvm.magpy_capture.python.opaque import Named, name_of
from dvm.magpy_capture.python.tables import OPERATORS
from dvm.magpy_capture.values import (
    Abstract,
    DictValue,
    Hidden,
    Host,
    Literal,
    Method,
    Raised,
    Sequence,
    Size,
    Tensor,
    resolve,
)

#: What raises by itself in a replay (warnings, error states), or says that it cannot go on.
NEVER_EXPECTED = (Warning, FloatingPointError, RecursionError, MemoryError, StopIteration)
#: Builtins that only look at their arguments.
LOOKS: tuple[Any, ...] = (
    *(int, float, bool, complex, len, abs, min, max, sum, range, tuple, list, str, ord, chr),
    *(round, divmod, pow, sorted, iter, getattr, np.dtype, operator.index),
)


class Exceptions(Part):
    """What raises, and the exceptions themselves."""

    needs = "calls heap host_operations indexing instances opaque program recorded"

    def raising_operator(
        self, kind: str, name: str, operands: list[Abstract], seen: BaseException
    ) -> Raised:
        """An operator, a subscript or an attribute that raised."""
        operands = [resolve(operand) for operand in operands]
        function: Any = OPERATORS.get(kind, {}).get(name)
        if kind == "attribute":
            function, operands = getattr, [operands[0], Literal(name)]
        if function is None:
            raise refuse(reasons.EXCEPTION_RAISED, type(seen).__name__)
        if kind == "subscript" and isinstance(operands[0], DictValue):
            if type(seen) is not KeyError:
                raise refuse(reasons.EXCEPTION_RAISED, type(seen).__name__)
            key = self.program.constant(self.indexing.plain(operands[1]))
            len(operands[0].items)  # which guards the keys
            return Raised(
                self.program.step("call", self.program.constant(KeyError), [key], ()), seen
            )
        return self.raising(function, operands, {}, seen)

    def raising_call(
        self, callee: Abstract, positional: list[Abstract], named: Named, seen: BaseException
    ) -> Raised:
        callee = resolve(callee)
        function = callee.object if isinstance(callee, Literal) else None
        if isinstance(callee, Method):
            base = resolve(callee.base)
            if isinstance(base, Tensor) or (isinstance(base, Host) and is_plain_array(base.object)):
                function, positional = getattr(np.ndarray, callee.name), [base, *positional]
            elif isinstance(base, Literal) and self.host_operations.is_pure(base):
                function = getattr(base.object, callee.name)
            elif isinstance(base, (Host, Size)) and self.host_operations.is_pure(base):
                function = getattr(
                    int if isinstance(base, Size) else type(base.object), callee.name
                )
                positional = [base, *positional]
        if not self._only_raises(function):
            raise refuse(reasons.EXCEPTION_RAISED, type(seen).__name__)
        return self.raising(function, positional, named, seen)

    def _only_raises(self, function: Any) -> bool:
        """Whether the function has no other effects than those that `written` names."""
        if function is None:
            return False
        owner = getattr(function, "__self__", None)
        if isinstance(function, type):
            return function in LOOKS or issubclass(function, np.generic)
        if isinstance(function, types.BuiltinFunctionType) and function in LOOKS:
            return True
        if isinstance(owner, (np.ufunc, str, int, float, bytes, tuple, np.dtype)):
            return True
        if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType)):
            return function.__objclass__ in (np.ndarray, int, float, str)
        return is_numpy_function(function) or (not owner and function in WRITES)

    def raising(
        self, function: Any, positional: list[Abstract], named: Named, seen: BaseException
    ) -> Raised:
        kind = type(seen)
        if not issubclass(kind, Exception) or issubclass(kind, NEVER_EXPECTED):
            raise refuse(reasons.EXCEPTION_RAISED, kind.__name__)
        made: Raised = self.opaque.call(function, positional, named, seen)
        return made

    def make_exception(
        self, cls: type, positional: list[Abstract], named: Named, seen: BaseException
    ) -> Raised:
        """An instance of an exception class, made by C code or by NumPy's."""
        for name in ("__new__", "__init__"):
            found = class_attribute(cls, name)
            if isinstance(found, types.FunctionType) and not cls.__module__.startswith("numpy"):
                raise refuse(reasons.MAKING_EXCEPTION_TYPE, cls.__name__)
            self.instances.guard_class(cls, name, MISSING if found is None else found)
        for argument in map(resolve, [*positional, *named.values()]):
            if not self.host_operations.is_pure(argument):
                raise refuse(reasons.FUNCTION_OF, name_of(cls), describe(argument))
        registers = [self.program.register_of(value) for value in [*positional, *named.values()]]
        return Raised(
            self.program.step("call", self.program.constant(cls), registers, tuple(named)), seen
        )

    @means(sys.exc_info)
    def handled(self) -> Abstract:
        """The exception that is handled: one of the program's, or none, not even its caller's."""
        kind, exception, _ = self.calls.seen_result
        if exception is None:
            made = self.program.step("call", self.program.constant(sys.exc_info), [], ())
            self.program.guard_is(self.program.step("item", made, 1), None)
            return Sequence([Literal(None)] * 3)
        for value in self.recorded.values.values():
            if isinstance(value, Raised) and value.object is exception:
                return Sequence([Literal(kind), value, Hidden("a traceback")])
        raise refuse(reasons.HANDLING, kind.__name__)

    @attributes_of(Raised)
    def exception_attribute(self, base: Raised, name: str, seen: Any) -> Abstract:
        if name == "__class__":
            return Literal(type(base.object))
        if name == "__traceback__":
            return Hidden("a traceback")
        if name == "with_traceback":
            return Method(base, name)
        if name == "args":
            key = ("getattr", base.register, name)
            return self.heap.computed(
                self.program.step("getattr", base.register, name, key=key), seen
            )
        raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))
