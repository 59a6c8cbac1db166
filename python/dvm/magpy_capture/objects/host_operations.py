"""Operators on objects of the host: run on every replay, or folded where all is known."""

from __future__ import annotations

import types
from typing import Any

from dvm import reasons
from dvm.magpy_capture.libraries import (
    FIELDS,
    NUMPY,
    SCALARS,
    holds_objects,
    is_array,
    is_empty,
    is_of_library,
    is_scalar,
    is_single,
    library_of,
)
from dvm.magpy_capture.library import Array
from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Raised,
    RangeValue,
    Sequence,
    Size,
    SliceValue,
    Tensor,
    resolve,
)
from dvm.magpy_capture.values.kinds import (
    PURE_TYPES,
    class_attribute,
    is_constant,
    is_pure_class,
    is_pure_object,
)
from dvm.magpy_capture.values.tables import OPERATORS

#: (operator of the language, how many operands) -> the function that is it
ARRAY_OPERATORS: dict[tuple[str, int], Any] = {
    (name, count): function
    for kind, count in (("unary", 1), ("binary", 2), ("compare", 2))
    for name, function in OPERATORS[kind].items()
}


#: classes of arrays and scalars whose operators may tell of errors
OF_LIBRARIES = (NUMPY.array, *SCALARS)


class HostOperations(ObjectPart):
    """Operators that run no code of the user and change nothing."""

    needs = "graph heap host_arrays program rules"

    def is_pure(self, value: Abstract) -> bool:
        """Whether operators on `value` run no code of the user and change nothing."""
        value = resolve(value)
        if isinstance(value, (Literal, Host)) and type(value.object) in PURE_TYPES:
            return True
        if isinstance(value, (Tensor, Size, SliceValue, RangeValue)):
            return True
        if isinstance(value, Raised):  # unless Python code of the user's says what it looks like
            if not value.args_known:
                return False
            text = class_attribute(type(value.object), "__str__")
            module = type(value.object).__module__
            return not isinstance(text, types.FunctionType) or is_of_library(module)
        if isinstance(value, Host) and is_array(value.object):
            if not self.rules.is_opaque_class(type(value.object)):
                return False
            return not holds_objects(value.object) or self.host_arrays.holds_plain(value)
        if isinstance(value, (Literal, Host)):
            if self.rules.is_array_class(value.object) or is_single(value.object):
                return True
            return is_pure_object(value.object) or is_pure_class(value.object)
        if isinstance(value, Sequence):
            return all(self.is_pure(part) for part in value.elements)
        if isinstance(value, ListValue):
            return all(self.is_pure(part) for part in value.elements)
        return False

    def host_operation(self, name: str, operands: list[Abstract], seen: Any) -> Abstract:
        """A pure operator on host objects; folded when all of them are known."""
        operands = [resolve(operand) for operand in operands]
        for operand in operands:
            if not self.is_pure(operand):
                raise refuse(reasons.OPERATOR, name, describe(operand))
            if isinstance(getattr(operand, "object", None), OF_LIBRARIES):
                self.graph.check_modes()
        known = all(isinstance(operand, Literal) for operand in operands) and is_constant(seen)
        if known and not is_scalar(seen):  # a library's arithmetic may warn
            return Literal(seen)
        if is_array(seen):
            return self.host_array(name, operands, seen)
        made = self.program.operator(name, operands, shared=type(seen) in PURE_TYPES)
        result = self.heap.computed(made, seen)
        if isinstance(seen, FIELDS) and isinstance(operands[0], Host):  # a view of its element
            key = self.program.register_of(operands[1]) if len(operands) > 1 else -1
            result.base = operands[0]
            result.remake = lambda own: self.program.step("operator", name, own, key)
        return result

    def host_call(
        self, callee: int, positional: list[Abstract], named: dict[str, Abstract], seen: Any
    ) -> Abstract:
        registers = [self.program.register_of(value) for value in [*positional, *named.values()]]
        return self.heap.computed(self.program.step("call", callee, registers, tuple(named)), seen)

    def host_array(self, name: str, operands: list[Abstract], seen: Array) -> Abstract:
        """The array that an operator on host arrays gives: a new one each time, or a view."""
        registers = [self.program.register_of(operand) for operand in operands]
        function = ARRAY_OPERATORS.get((name, len(operands)))
        if function is None:
            made = self.program.step("operator", name, *registers)
        else:  # NumPy computes: an opaque call, and counted as one
            self.graph.opaque_calls.append((f"operator {name}", self.program.at))
            made = self.program.step("call", self.program.constant(function), registers, (), True)
        base = operands[0]
        if isinstance(base, Host) and is_array(base.object):
            empty = name == "getitem" and is_empty(seen)  # it may be one where there is something
            is_view = empty or library_of(base.object).may_share(base.object, seen)
            if name == "getitem" and base.root.home >= 0:
                self.host_arrays.guard_view(made, base.register, is_view)
            if is_view:
                return self.host_arrays.view_on_host(
                    made,
                    base,
                    seen,
                    lambda own: self.program.step("operator", name, own, *registers[1:]),
                )
        result = self.heap.computed(made, seen)
        if isinstance(result, Host):
            result.owned = True
        return result


__all__ = ["HostOperations"]
