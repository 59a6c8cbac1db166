"""Operators, subscripts and attributes: what a recorded one of each means."""

from __future__ import annotations

import enum
import operator
from typing import Any

from dvm import reasons
from dvm.classes import is_mutable_class
from dvm.magpy_capture.libraries import ELEMENTWISE, is_array, is_plain_array, is_scalar
from dvm.magpy_capture.meanings.python.package_objects import OPERATORS, SIGNS
from dvm.magpy_capture.objects.derived import inherited
from dvm.magpy_capture.objects.open_lists import is_open_list
from dvm.magpy_capture.objects.operators import Operators
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.recording.special_methods import looked_up
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    DequeValue,
    DictValue,
    Flags,
    FunctionValue,
    Gone,
    Hidden,
    Host,
    IdNumber,
    Instance,
    ListValue,
    Literal,
    Raised,
    Sequence,
    SetValue,
    Size,
    Tensor,
    resolve,
)
from dvm.magpy_capture.values.kinds import MISSING, PURE_TYPES, class_attribute
from dvm.magpy_capture.values.tables import INPLACE_OPERATORS
from dvm.magpy_capture.walk.layer import WalkPart
from dvm.magpy_capture.walk.recorded import Operands

#: operator of the language -> the function that is it
REDUCERS = (("+", operator.add), ("*", operator.mul), ("&", operator.and_), ("|", operator.or_))


class OperatorEvents(WalkPart, Operators):
    """Events that compute with values and look into them."""

    needs = (
        "caller containers exceptions heap host_operations identity instances ledger lengths "
        "lookups opaque open_lists packages program python record recorded rules sets"
    )

    # ---- operators

    def contents(self, kind: str, name: str, operands: Operands) -> list[Abstract]:
        """The values of operands; of objects that are containers, these."""
        values = [self.recorded.value(node) for node in operands]
        for place, value in enumerate(values):
            if isinstance(value, Instance):
                values[place] = self.instances.content_of(value, *looked_up(kind, name))
        return values

    def on_binary(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.recorded.dispatched(operands)
        a, b = self.contents("binary", name, operands)
        return self.binary(name, a, b, self.record.seen(result))

    def on_inplace(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.recorded.dispatched(operands)
        a, b = (self.recorded.value(node) for node in operands)
        if isinstance(a, Tensor) and not a.is_scalar:
            self.rules.compute("binary", name, [a, b], self.record.seen(result), in_place=True)
            return a
        if isinstance(a, ListValue) and name == "+":
            if _adds_itself(b):
                return self.binary(name, a, b, self.record.seen(result))
            for part in self.containers.elements(b):
                a.append(part)
            return a
        if isinstance(a, SetValue):
            return self.sets.set_inplace(name, a, b)
        if isinstance(a, Host) and is_array(a.object):
            return self.opaque.call(INPLACE_OPERATORS[name], [a, b], {}, self.record.seen(result))
        if isinstance(a, (ListValue, DictValue)):
            raise refuse(reasons.OPERATOR_IN_PLACE, name, describe(a))
        return self.binary(name, a, b, self.record.seen(result))

    def binary(self, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        objects = isinstance(a, Instance) or isinstance(b, Instance)
        if objects and self.packages.is_of_package(a, b):
            return self.packages.package_operator(OPERATORS, name, [a, b], seen)
        # NumPy warns when integer scalars overflow, unlike arrays; subclasses have own operators.
        if self.rules.is_integer_scalar(a, b) or is_subclass(a) or is_subclass(b):
            return self.host_operations.host_operation(name, [a, b], seen)
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return self.rules.compute("binary", name, [a, b], seen)
        return self.python.python_binary(name, a, b, seen)

    def attribute(self, base: Abstract, name: str, seen: Any) -> Abstract:
        return self.lookups.attribute(base, name, seen)

    def subscript(self, base: Abstract, key: Abstract, seen: Any) -> Abstract:
        return self.lookups.subscript(base, key, seen)

    def store_subscript(self, base: Abstract, key: Abstract, value: Abstract) -> None:
        self.lookups.store_subscript(base, key, value)

    def combined(self, function: Abstract, a: Abstract, b: Abstract) -> Abstract:
        callee: Any = function.object if isinstance(function, Literal) else None
        name = next((name for name, each in REDUCERS if each is callee), None)
        if name == "+" and (isinstance(a, Instance) or isinstance(b, Instance)):
            return self.caller.operated("binary", name, a, b)
        if name is None and not isinstance(callee, ELEMENTWISE):
            return self.caller.apply(function, [a, b])
        if self.rules.is_integer_scalar(a, b):
            raise refuse(reasons.FUNCTOOLS_REDUCE_INTEGERS_NUMPY)
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            if name is None:
                return self.rules.applied(callee, [a, b])
            return self.rules.operator(name, [a, b])
        numbers = all(isinstance(each, (Literal, Host, Size)) for each in (a, b))
        if (
            name is None
            or not numbers
            or not (self.host_operations.is_pure(a) and self.host_operations.is_pure(b))
        ):
            raise refuse(reasons.FUNCTOOLS_REDUCE, describe(a), describe(b))
        seen = callee(self.python.observed_value(a), self.python.observed_value(b))
        return self.binary(name, a, b, seen)

    def on_unary(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.recorded.dispatched(operands)
        a = self.recorded.value(operands[0])
        if name == "not":
            return self.negation(a, self.record.seen(result))
        if self.packages.is_of_package(a):
            return self.packages.package_operator(SIGNS, name, [a], self.record.seen(result))
        if isinstance(a, Tensor) and not self.rules.is_integer_scalar(a):
            return self.rules.compute("unary", name, [a], self.record.seen(result))
        return self.host_operations.host_operation(name, [a], self.record.seen(result))

    def negation(self, a: Abstract, seen: bool) -> Abstract:
        if isinstance(a, (Tensor, Host, Size)):
            return self.heap.computed(self.program.operator("not", [a]), seen)
        if isinstance(a, (Instance, Sequence)) or is_open_list(a):
            self.python.outcome(a, not seen)
        elif isinstance(a, (ListValue, DictValue, DequeValue)):
            self.lengths.has_any(a)
        return Literal(seen)

    def on_compare(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.recorded.dispatched(operands)
        a, b = self.contents("compare", name, operands)
        return self.comparison(name, a, b, self.record.seen(result))

    def comparison(self, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        if is_subclass(a) or is_subclass(b):
            return self.host_operations.host_operation(name, [a, b], seen)
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return self.rules.compute("compare", name, [a, b], seen)
        if self._differ_by_a_constant(a, b):
            return Literal(seen)
        if name in ("==", "!=") and self.compares_members([a, b]):
            return Literal(seen)
        if name in ("==", "!=") and (answer := self.compared_objects(name, a, b, seen)) is not None:
            return answer
        made = self.sets.compared(name, a, b, seen)
        return self.host_operations.host_operation(name, [a, b], seen) if made is None else made

    def _differ_by_a_constant(self, a: Abstract, b: Abstract) -> bool:
        """Whether these are two sizes of which one is always that much more than the other."""
        if not isinstance(a, Size) or not isinstance(b, Size):
            return False
        return (a.dim - b.dim).constant is not None

    def compares_members(self, values: list[Abstract]) -> bool:
        """Whether these are constants, members of enumerations among them, that C code compares."""
        known = [each.object for each in map(resolve, values) if isinstance(each, Literal)]
        kinds = [type(each) for each in known if isinstance(each, enum.Enum)]
        if len(known) < len(values) or not kinds:
            return False
        return all(self.instances.compares_plainly(kind, "__eq__") for kind in kinds)

    def compared_objects(self, name: str, a: Abstract, b: Abstract, seen: bool) -> Abstract | None:
        """`==` where it asks who two objects are, and nothing else; None where it does not."""
        if isinstance(a, IdNumber) and isinstance(b, IdNumber):
            if (a == b) != (seen == (name == "==")):
                raise refuse(reasons.IDENTITY_NUMBER)
            self.identity.same_object(a.of, b.of, a == b)
            return Literal(seen)
        objects = [each for each in (a, b) if _is_told_by_identity(each)]
        others = [each for each in (a, b) if not _is_told_by_identity(each)]
        if not objects or not all(
            isinstance(each, Literal) and type(each.object) in PURE_TYPES for each in others
        ):
            return None
        for each in objects:
            if isinstance(each, Instance):
                self.identity.guard_identity(each, "__eq__", "__ne__")
        if not others:
            self.identity.same_object(a, b, seen == (name == "=="))
        return Literal(seen)

    def on_is(self, name: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        a, b = (self.recorded.value(node) for node in operands)
        seen = self.record.seen(result)
        self.identity.same_object(a, b, seen == (name == "is"))
        return Literal(seen)

    def on_contains(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.recorded.dispatched(operands)
        item, container = (self.recorded.value(node) for node in operands)
        seen = self.record.seen(result)
        if isinstance(self.containers.contains(container, item, seen == (name == "in")), Literal):
            return Literal(seen)
        container = self.instances.content_of(container, "__contains__")
        if isinstance(container, ListValue) and container.is_open:
            if (found := self.open_lists.contains(container, item, name, seen)) is not None:
                return found
        if isinstance(container, (Sequence, ListValue)):
            if self.compares_members([item, *container.elements]):
                return Literal(seen)
        return self.host_operations.host_operation(name, [item, container], seen)

    # ---- parts

    def on_subscript(
        self, _n: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        base, key = (self.recorded.value(node) for node in operands)
        if followed:
            self.containers.lack_key(base, key)
            return self.recorded.dispatched(operands)
        return self.lookups.subscript(base, key, self.record.seen(result))

    def on_store_subscript(
        self, _n: str, operands: Operands, _k: Any, _r: int, followed: bool
    ) -> None:
        if followed:
            return self.recorded.dispatched(operands)
        self.lookups.store_subscript(*(self.recorded.value(node) for node in operands))
        return None

    def on_delete_subscript(
        self, _n: str, operands: Operands, _k: Any, _r: int, followed: bool
    ) -> None:
        if followed:
            return self.recorded.dispatched(operands)
        base, key = (self.recorded.value(node) for node in operands)
        self.containers.delete_element(base, key)

    def on_attribute(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        base = self.recorded.value(operands[0])
        if followed:
            if isinstance(base, (Instance, Raised)):
                return self.followed_attribute(base, name)
            raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))
        return self.lookups.attribute(base, name, self.record.seen(result))

    def followed_attribute(self, base: Instance | Raised, name: str) -> None:
        """A property or another descriptor, or __getattr__, written in Python."""
        found = class_attribute(base.cls, name)
        for hook in ("__getattribute__", "__getattr__"):
            method = class_attribute(base.cls, hook)
            self.instances.guard_class(base.cls, hook, method)
        self.instances.guard_class(base.cls, name, found)
        if not hasattr(type(found), "__set__") and base.register >= 0:
            self.program.guard("guard_lacks", base.register, name)

    def on_store_attributes(
        self, _n: str, operands: Operands, names: list[str], result: int, followed: bool
    ) -> None:
        """Several at once: each of an object, its value behind it."""
        for place, name in enumerate(names):
            pair = operands[2 * place : 2 * place + 2]
            self.on_store_attribute(name, pair, [], result, followed)

    def on_store_attribute(
        self, name: str, operands: Operands, _k: Any, _r: int, followed: bool
    ) -> None:
        base, value = (self.recorded.value(node) for node in operands)
        if isinstance(base, Literal) and isinstance(base.object, type) and not followed:
            if type(base.object).__setattr__ is not type.__setattr__:
                raise refuse(reasons.SETTING_ATTRIBUTE, name, describe(base))
            self.ledger.store("attribute", base.object, name, value)
            return
        if (function := self.instances.own_function(base)) is not None and not followed:
            if hasattr(type(function), name):
                raise refuse(reasons.SETTING_ATTRIBUTE, name, describe(base))
            if isinstance(base, FunctionValue):
                self.program.guard_is(base.register, function)
            self.ledger.store("attribute", function, name, value)
            return
        if isinstance(base, Closure) and not hasattr(type(base.object), name):
            base.attributes[name] = value
            return None
        if isinstance(base, Raised) and name == "__traceback__" and isinstance(value, Hidden):
            return None  # a replay has no frames
        if isinstance(base, Raised) and not followed:
            return self.exceptions.set_attribute(base, name, value)
        if isinstance(base, Flags) and name == "writeable":
            return self.rules.set_attribute(base, name, value)
        if isinstance(base, Tensor) and name in ("shape", "flat"):
            return self.rules.set_attribute(base, name, value)
        if isinstance(base, Tensor) and name == "real" and not base.is_scalar and not followed:
            return self.lookups.store_subscript(base, Literal(Ellipsis), value)
        if isinstance(base, Host) and is_subclass(base) and not followed:
            return self.rules.set_attribute(base, name, value)
        parts = isinstance(base, Host) and is_array(base.object) and base.object.dtype.kind == "c"
        if parts and name in ("real", "imag"):
            part = self.lookups.attribute(base, name, getattr(base.object, name))
            return self.lookups.store_subscript(part, Literal(Ellipsis), value)
        if not isinstance(base, Instance):
            raise refuse(reasons.SETTING_ATTRIBUTE, name, describe(base))
        setter = class_attribute(base.cls, "__setattr__")
        self.instances.guard_class(base.cls, "__setattr__", setter)
        if followed:  # a property, or a __setattr__ written in Python
            found = class_attribute(base.cls, name)
            self.instances.guard_class(base.cls, name, found)
            return
        if setter is not inherited(base.cls, "__setattr__"):
            raise refuse(reasons.SETTING_ATTRIBUTE, name, describe(base))
        self.instances.set_plainly(base, name, value)

    def on_delete_attribute(self, name: str, operands: Operands, *_: Any) -> None:
        base = self.recorded.value(operands[0])
        if not isinstance(base, Instance) or not self._can_delete(base, name):
            raise refuse(reasons.DELETING_ATTRIBUTE, name, describe(base))
        base.change(name, Gone())

    def _can_delete(self, base: Instance, name: str) -> bool:
        if name in base.attributes:
            return not isinstance(base.attributes[name], Gone)
        found = class_attribute(base.cls, name)
        if base.register < 0 or found is not MISSING:
            return False
        for method, plain in (("__delattr__", inherited(base.cls, "__delattr__")), (name, found)):
            if class_attribute(base.cls, method) is not plain:
                return False
            self.instances.guard_class(base.cls, method, plain)
        self.program.step("attribute", base.register, name, key=("attribute", base.register, name))
        return True

    def on_store_global(self, name: str, operands: Operands, *_: Any) -> None:
        scope = self.record.seen(operands[1])
        value = self.recorded.value(operands[0])
        self.recorded.globals[id(scope), name] = value
        self.ledger.store("variable", scope, name, value)

    def on_store_cell(self, _n: str, operands: Operands, *_: Any) -> None:
        cell = self.record.seen(operands[1])
        value = self.recorded.cells[id(cell)] = self.recorded.value(operands[0])
        self.ledger.store("cell", cell, "", value)


def is_subclass(value: Abstract) -> bool:
    """Whether it is an array of a subclass, whose operators may be other than ndarray's."""
    return isinstance(value, Host) and is_array(value.object) and not is_plain_array(value.object)


def _adds_itself(value: Abstract) -> bool:
    """Whether `+=` of a list is left to it: what is a number to Python comes before sequences."""
    held = getattr(value, "object", None)
    return isinstance(value, Tensor) or is_array(held) or is_scalar(held)


def _is_told_by_identity(value: Abstract) -> bool:
    """Whether nothing is equal to it but itself; of an instance's class it is to be guarded."""
    if isinstance(value, Instance):
        cls = value.cls
    elif isinstance(value, (FunctionValue, Literal)) and not is_mutable_class(type(value.object)):
        cls = type(value.object)
    else:
        return False
    return all(class_attribute(cls, name) is vars(object)[name] for name in ("__eq__", "__ne__"))
