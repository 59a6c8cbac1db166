"""Sets of known elements: operators, comparisons and methods; whole dicts compared.

The order in which a set gives its elements is no part of what a path knows of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AnySet
from typing import Any

from dvm import reasons
from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import BodyRaised, refuse
from dvm.magpy_capture.registry import methods_of
from dvm.magpy_capture.values import (
    OBJECTS,
    Abstract,
    DictValue,
    DictView,
    ListValue,
    Literal,
    OpenSet,
    Sequence,
    SetValue,
    Written,
    resolve,
)
from dvm.magpy_capture.values.tables import OPERATORS

SET_OPERATORS = ("|", "&", "-", "^")
#: `a |= b` and its kin as methods
IN_PLACE = {
    "|": set.update,
    "&": set.intersection_update,
    "-": set.difference_update,
    "^": set.symmetric_difference_update,
}
#: Methods that are what Python's own set does to the known elements of all its operands.
QUESTIONS = frozenset({"issubset", "issuperset", "isdisjoint"})
COMBINATIONS = frozenset({"union", "intersection", "difference", "symmetric_difference"})
CHANGES = frozenset(
    {"update", "intersection_update", "difference_update", "symmetric_difference_update"}
)
#: What the class of a class may have, of which its text or a comparison is made.
SHOWN = ("__str__", "__repr__", "__format__", "__eq__", "__ne__")
ELEMENT_METHODS = frozenset({"add", "discard", "remove", "clear", "copy"})


class Sets(ObjectPart):
    """What a path does with sets whose elements it knows."""

    needs = "containers heap host_operations identity instances program"

    def known_set(self, value: Abstract) -> AnySet[Any] | None:
        """The elements, of what takes part in the operators of sets."""
        value = resolve(value)
        if isinstance(value, SetValue):
            return value.elements
        if isinstance(value, DictView) and value.kind == "keys":
            return set(value.base.items)
        if isinstance(value, Literal) and isinstance(value.object, (set, frozenset)):
            return value.object
        return None

    def set_operator(self, name: str, a: Abstract, b: Abstract) -> Abstract | None:
        """`a | b` and its kin; None if these are no sets."""
        left, right = self.known_set(a), self.known_set(b)
        if name not in SET_OPERATORS or left is None or right is None:
            return None
        made = OPERATORS["binary"][name](set(left), right)
        frozen = isinstance(a, Literal) and isinstance(a.object, frozenset)
        in_order = self.is_in_order(a) and self.is_in_order(b)
        if frozen and not in_order and len(made) > 1:
            raise refuse(reasons.ORDER_SET)  # a constant is gone through in its order
        return Literal(frozenset(made)) if frozen else SetValue(made, in_order=in_order)

    def is_in_order(self, value: Abstract) -> bool:
        """Whether what is made of its elements in turn is in the same order in each call."""
        value = resolve(value)
        if isinstance(value, Literal):
            return True
        own = isinstance(value, (Sequence, ListValue, DictValue, DictView))
        return own or (isinstance(value, SetValue) and value.in_order)

    def set_inplace(self, name: str, a: SetValue, b: Abstract) -> Abstract:
        right = self.known_set(b)
        if name not in SET_OPERATORS or right is None:
            raise refuse(reasons.OPERATOR_IN_PLACE_ON_BOTH, name, describe(a), describe(b))
        a.elements = OPERATORS["binary"][name](a.elements, right)
        a.in_order = a.in_order and self.is_in_order(b)
        self._only_constants(a, right)
        a.wrote(IN_PLACE[name], frozenset(right))
        return a

    def compared(self, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract | None:
        """A comparison of two sets or two dicts; None if these are neither."""
        left, right = self.known_set(a), self.known_set(b)
        if left is not None and right is not None:
            return Literal(bool(OPERATORS["compare"][name](left, right)))
        if not isinstance(a, DictValue) or not isinstance(b, DictValue):
            return None
        if name not in ("==", "!=") or not (self.is_shown(a) and self.is_shown(b)):
            raise refuse(reasons.OPERATOR, name, describe(a))
        registers = [self.program.register_of(a), self.program.register_of(b)]
        return self.heap.computed(self.program.step("operator", name, *registers), seen)

    def is_shown(self, value: Abstract) -> bool:
        """Whether printing or comparing it runs no code of the user; unlike a call it keeps none.

        A set may be built anew in another order.
        """
        value = resolve(value)
        if isinstance(value, Literal) and isinstance(value.object, type):
            return self.instances.guard_metaclass(value.object, *SHOWN)
        if isinstance(value, DictValue):
            return all(self.is_shown(part) for part in value.items.values())
        if isinstance(value, (Sequence, ListValue)):
            return all(self.is_shown(part) for part in value.elements)
        return self.host_operations.is_pure(value)

    @methods_of(SetValue, OpenSet)
    def set_method(
        self,
        base: SetValue | OpenSet,
        name: str,
        positional: list[Abstract],
        named: dict[str, Abstract],
        seen: Any,
    ) -> Abstract:
        if named:
            raise refuse(reasons.METHOD_KEYWORDS, name)
        if isinstance(base, OpenSet):
            if name not in ("add", "discard"):
                raise refuse(reasons.METHOD_OF_SET, name)
            base.log.append(Written("call", getattr(set, name), [self.identity.key(positional[0])]))
            return Literal(None)
        if name in ELEMENT_METHODS:
            if name == "copy":
                return SetValue(set(base.elements), in_order=base.in_order)
            keys = [self.identity.key(part) for part in positional]
            getattr(base.elements, name)(*keys)
            base.wrote(getattr(set, name), *keys)
            return Literal(None)
        if name not in QUESTIONS | COMBINATIONS | CHANGES:
            raise refuse(reasons.METHOD_OF_SET, name)
        given = [self._elements_of(part) for part in positional]
        made = getattr(base.elements, name)(*given)
        in_order = base.in_order and all(map(self.is_in_order, positional))
        if name in CHANGES:
            base.in_order = in_order
            self._only_constants(base, *given)
            base.wrote(getattr(set, name), *map(frozenset, given))
            return Literal(None)
        return Literal(made) if name in QUESTIONS else SetValue(made, in_order=in_order)

    def _only_constants(self, base: SetValue, *given: AnySet[Any]) -> None:
        """What is done to a set of the caller's as a whole is done with known elements."""
        parts = [part for each in given for part in each]
        if base.register >= 0 and any(isinstance(part, OBJECTS) for part in parts):
            raise refuse(reasons.METHOD_OF_SET, "update")

    def _elements_of(self, iterable: Abstract) -> AnySet[Any]:
        known = self.known_set(iterable)
        if known is not None:
            return known
        try:
            return {self.identity.key(part) for part in self.containers.each(iterable)}
        except BodyRaised:
            raise refuse(reasons.SET_EXCEPTION_LEAVES_HALF_CHANGED) from None

    def in_any_order(self, iterable: Abstract) -> Iterator[Abstract]:
        """What iterating gives, for those who ask what no order changes: of integers."""
        known = self.known_set(iterable)
        if known is not None and len(known) > 1 and all(type(part) is int for part in known):
            return iter([Literal(part) for part in sorted(known)])
        return self.containers.each(iterable)
