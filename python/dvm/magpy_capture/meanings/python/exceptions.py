"""Exceptions that the program raises and handles itself.

The recording shows which instruction raised and where the exception went. What raised is called
again on every replay and must raise exactly that type, or the call takes another path; the object
is the replay's own. It has no traceback, so that it may be looked at but not leave the function.
So what the program sets of one are values of the path, which the object itself never gets.
"""

from __future__ import annotations

import operator
import types
from typing import Any

from dvm import classes, reasons
from dvm.magpy_capture.libraries import (
    ELEMENTWISE,
    EQUALS,
    NUMPY,
    SCALARS,
    is_function,
    is_of_library,
    is_plain_array,
    tells_state,
    writes,
)
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import attributes_of
from dvm.magpy_capture.values import (
    Abstract,
    DictValue,
    Hidden,
    Host,
    Literal,
    Method,
    Named,
    Raised,
    Size,
    Tensor,
    resolve,
)
from dvm.magpy_capture.values.kinds import MISSING, class_attribute, name_of, own_attribute
from dvm.magpy_capture.values.tables import OPERATORS

#: What raises by itself in a replay (warnings, error states), or says that it cannot go on.
NEVER_EXPECTED = (Warning, FloatingPointError, RecursionError, MemoryError, StopIteration)
#: Builtins that only look at their arguments.
LOOKS: tuple[Any, ...] = (
    *(int, float, bool, complex, len, abs, min, max, sum, range, tuple, list, str, ord, chr),
    *(round, divmod, pow, sorted, iter, getattr, *EQUALS, operator.index),
)


class Exceptions(PythonPart):
    """What raises, and the exceptions themselves."""

    needs = "heap host_operations identity indexing instances opaque program"

    def raising_operator(
        self, kind: str, name: str, operands: list[Abstract], seen: BaseException
    ) -> Raised:
        """An operator, a subscript or an attribute that raised."""
        operands = [resolve(operand) for operand in operands]
        function: Any = OPERATORS.get(kind, {}).get(name)
        if kind == "attribute":
            function, operands = getattr, [operands[0], Literal(name)]
        if function is None:
            raise refuse(reasons.EXCEPTION_RAISED, classes.name_of(type(seen)))
        if kind == "subscript" and isinstance(operands[0], DictValue):
            if type(seen) is not KeyError:
                raise refuse(reasons.EXCEPTION_RAISED, classes.name_of(type(seen)))
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
                function, positional = (
                    getattr(self.identity.class_of(base), callee.name),
                    [base, *positional],
                )
            elif isinstance(base, Literal) and self.host_operations.is_pure(base):
                function = getattr(base.object, callee.name)
            elif isinstance(base, (Host, Size)) and self.host_operations.is_pure(base):
                function = getattr(
                    int if isinstance(base, Size) else type(base.object), callee.name
                )
                positional = [base, *positional]
        if not self._only_raises(function):
            raise refuse(reasons.EXCEPTION_RAISED, classes.name_of(type(seen)))
        return self.raising(function, positional, named, seen)

    def _only_raises(self, function: Any) -> bool:
        """Whether the function has no other effects than those that `written` names."""
        if function is None:
            return False
        owner = getattr(function, "__self__", None)
        if isinstance(function, type):
            return function in LOOKS or issubclass(function, SCALARS)
        if isinstance(function, types.BuiltinFunctionType) and function in LOOKS:
            return True
        if isinstance(owner, (*ELEMENTWISE, *EQUALS, str, int, float, bytes, tuple)):
            return True
        if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType)):
            return function.__objclass__ in (NUMPY.array, int, float, str)
        if tells_state(function):
            return True
        return is_function(function) or (not owner and writes(function))

    def raising(
        self, function: Any, positional: list[Abstract], named: Named, seen: BaseException
    ) -> Raised:
        kind = type(seen)
        if not issubclass(kind, Exception) or issubclass(kind, NEVER_EXPECTED):
            raise refuse(reasons.EXCEPTION_RAISED, classes.name_of(kind))
        made: Raised = self.opaque.call(function, positional, named, seen)
        return made

    def make_exception(
        self, cls: type, positional: list[Abstract], named: Named, seen: BaseException
    ) -> Raised:
        """An instance of an exception class, made by C code or by NumPy's."""
        for name in ("__new__", "__init__"):
            found = class_attribute(cls, name)
            if isinstance(found, types.FunctionType) and not is_of_library(classes.module_of(cls)):
                raise refuse(reasons.MAKING_EXCEPTION_TYPE, classes.name_of(cls))
            self.instances.guard_class(cls, name, MISSING if found is None else found)
        for argument in map(resolve, [*positional, *named.values()]):
            if not self.host_operations.is_pure(argument):
                raise refuse(reasons.FUNCTION_OF, name_of(cls), describe(argument))
        registers = [self.program.register_of(value) for value in [*positional, *named.values()]]
        return Raised(
            self.program.step("call", self.program.constant(cls), registers, tuple(named)), seen
        )

    def new_exception(
        self, cls: type, maker: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Raised:
        """What C code makes of a class whose `__init__`, which comes next, is in Python."""
        if not isinstance(maker, types.BuiltinFunctionType) or type(seen) is not cls:
            raise refuse(reasons.MAKING_EXCEPTION_TYPE, classes.name_of(cls))
        self.instances.guard_lifetime(cls)
        arguments = [*positional, *named.values()]
        # They become `args`, unless __init__ has the class in C set others.
        are_pure = all(map(self.host_operations.is_pure, arguments))
        given = [self.program.constant(cls)]
        given += map(self.program.register_of, arguments if are_pure else ())
        names = tuple(named) if are_pure else ()
        register = self.program.step("call", self.program.constant(maker), given, names)
        return Raised(register, seen, made=True, args_known=are_pure)

    def initialise(
        self, base: Raised, function: Any, positional: list[Abstract], named: Named
    ) -> Abstract:
        """The `__init__` of a class in C, on the replay's own object."""
        if not base.made or not isinstance(function, types.WrapperDescriptorType):
            raise refuse(reasons.CALL_METHOD, "__init__", describe(base))
        arguments = [*positional, *named.values()]
        for argument in arguments:
            if not self.host_operations.is_pure(argument):
                raise refuse(reasons.FUNCTION_OF, name_of(function), describe(argument))
        given = [base.register, *map(self.program.register_of, arguments)]
        self.program.step("call", self.program.constant(function), given, tuple(named))
        base.args_known = True
        base.initialised += 1
        return Literal(None)

    def has_attribute(self, base: Raised, name: str) -> bool:
        """`hasattr(base, name)`, which no code of the user's answers."""
        if name in base.attributes:
            return True
        plain = class_attribute(BaseException, "__getattribute__")
        for hook, wanted in (("__getattribute__", plain), ("__getattr__", MISSING)):
            if class_attribute(base.cls, hook) is not wanted:
                raise refuse(reasons.HASATTR, describe(base))
            self.instances.guard_class(base.cls, hook, wanted)
        found = class_attribute(base.cls, name)
        self.instances.guard_class(base.cls, name, found)
        if found is not MISSING or base.made:
            return found is not MISSING
        if own_attribute(base.object, name) is not MISSING:  # what raised it gave it that
            raise refuse(reasons.HASATTR, describe(base))
        self.program.guard("guard_lacks", base.register, name)
        return False

    def set_attribute(self, base: Raised, name: str, value: Abstract) -> None:
        found = class_attribute(base.cls, name)
        setter = class_attribute(base.cls, "__setattr__")
        if setter is not class_attribute(BaseException, "__setattr__"):
            raise refuse(reasons.SETTING_ATTRIBUTE, name, describe(base))
        self.instances.guard_class(base.cls, "__setattr__", setter)
        self.instances.guard_class(base.cls, name, found)
        if found is vars(BaseException)["args"] and self.host_operations.is_pure(value):
            given = [base.register, self.program.constant(name), self.program.register_of(value)]
            self.program.step("call", self.program.constant(setattr), given, ())
            base.args_known = True
            base.initialised += 1
            return
        if hasattr(type(found), "__set__"):
            raise refuse(reasons.SETTING_ATTRIBUTE, name, describe(base))
        base.attributes[name] = value

    @attributes_of(Raised)
    def exception_attribute(self, base: Raised, name: str, seen: Any) -> Abstract:
        if name in base.attributes:
            return resolve(base.attributes[name])
        if name == "__class__":
            return Literal(type(base.object))
        if name == "__traceback__":
            return Hidden("a traceback")
        if name == "with_traceback":
            return Method(base, name)
        if name == "args" and base.args_known:
            key = ("getattr", base.register, name, base.initialised)
            return self.heap.computed(
                self.program.step("getattr", base.register, name, key=key), seen
            )
        getter = class_attribute(base.cls, "__getattribute__")
        is_plain = getter is class_attribute(BaseException, "__getattribute__")
        found = class_attribute(base.cls, name)
        if name == "args" or not is_plain or not base.made:
            raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))
        self.instances.guard_class(base.cls, "__getattribute__", getter)
        self.instances.guard_class(base.cls, name, found)
        if isinstance(found, types.MemberDescriptorType):  # of the class in C
            return self.heap.computed(self.program.step("getattr", base.register, name), seen)
        return self.instances.class_value(base, found, name, seen)
