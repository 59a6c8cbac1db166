"""Objects of leaf packages: sparse matrices, interpolators, distributions.

They are read as they are on each call: making one, calling one, an operator or a property of one is
an opaque call. One that the path makes may keep the arrays that it was given, so nobody may write
those from there on.
"""

from __future__ import annotations

import operator
from typing import Any

from dvm import reasons
from dvm.annotating import PACKAGED, is_packaged
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import Abstract, Instance, Literal, Named, resolve
from dvm.magpy_capture.values.kinds import class_attribute

#: Operators of the language that leave both their operands alone.
OPERATORS: dict[str, Any] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "@": operator.matmul,
    "**": operator.pow,
}
SIGNS: dict[str, Any] = {"-": operator.neg, "+": operator.pos}


class PackageObjects(PythonPart):
    """What is called for each use of such an object."""

    needs = "annotated instances"

    def is_of_package(self, *values: Abstract) -> bool:
        """Whether one of them is an object of a class of a leaf package."""
        for value in map(resolve, values):
            if isinstance(value, Instance) and is_packaged(value.cls):
                return True
        return False

    def package_call(
        self, function: Any, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        return self.annotated.annotated_call(function, PACKAGED, positional, named, seen)

    def package_object_called(
        self, callee: Instance, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        found = class_attribute(callee.cls, "__call__")
        self.instances.guard_class(callee.cls, "__call__", found)
        return self.package_call(found, [callee, *positional], named, seen)

    def package_operator(
        self, known: dict[str, Any], name: str, operands: list[Abstract], seen: Any
    ) -> Abstract:
        if name not in known:
            raise refuse(reasons.OPERATOR, name, describe(operands[0]))
        return self.package_call(known[name], operands, {}, seen)

    def package_property(self, base: Instance, name: str, seen: Any) -> Abstract | None:
        """What a property of such an object gives; None where it is none."""
        found = class_attribute(base.cls, name)
        if not isinstance(found, property):
            return None
        self.instances.guard_class(base.cls, name, found)
        return self.package_call(getattr, [base, Literal(name)], {}, seen)


__all__ = ["OPERATORS", "SIGNS", "PackageObjects"]
