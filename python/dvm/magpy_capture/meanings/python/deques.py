"""collections.deque and defaultdict, of the program or of the caller.

A deque of the caller that the program only appends to stays unread, as a list does: how long it is
matters to nobody until then.
"""

from __future__ import annotations

import collections
from collections import deque
from typing import Any

from dvm import reasons
from dvm.magpy_capture.meanings.python.functions import NONE
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means, methods_of
from dvm.magpy_capture.values import (
    Abstract,
    DefaultDict,
    DequeValue,
    Instance,
    ListValue,
    Literal,
    Sequence,
    resolve,
)
from dvm.magpy_capture.values.kinds import MISSING, class_attribute

#: Methods that are what Python's own deque does to abstract values.
DEQUE_METHODS = frozenset(
    {"append", "appendleft", "pop", "popleft", "clear", "rotate", "reverse", "insert"}
)
#: What NumPy asks an object for that it is to make an array of.
ARRAY_LIKE = (
    *("__getattr__", "__array__", "__array_interface__", "__array_struct__"),
    *("__array_ufunc__", "__array_function__", "__array_priority__", "__buffer__"),
)


NOTHING = Literal(0)


class Deques(PythonPart):
    """The containers of module collections."""

    needs = "containers indexing instances program python"

    @means(collections.deque)
    def make_deque(self, iterable: Abstract = Literal(()), maxlen: Abstract = NONE) -> Abstract:
        made = DequeValue(deque(maxlen=self.indexing.plain(maxlen)))
        for part in self.containers.each(iterable):
            made.elements.append(part)
        return made

    @means(collections.defaultdict)
    def make_default_dict(
        self, factory: Abstract = NONE, source: Abstract = NONE, /, **items: Abstract
    ) -> Abstract:
        given = self.python.make_dict(source, **items)
        return DefaultDict(resolve(factory), given.items)

    @methods_of(DequeValue)
    def deque_method(
        self,
        base: DequeValue,
        name: str,
        given: list[Abstract],
        named: dict[str, Abstract],
        seen: Any,
    ) -> Abstract:
        if name == "__getitem__":
            return self.containers.element(base, given[0], seen)
        if named:
            raise refuse(reasons.METHOD_KEYWORDS, name)
        if name == "copy":
            return DequeValue(base.elements.copy())
        if name not in DEQUE_METHODS | {"extend", "extendleft"}:
            raise refuse(reasons.METHOD_OF_DEQUE, name)
        if name == "append":
            base.append(given[0])
        elif name in ("extend", "extendleft"):
            for part in self.containers.each(given[0]):
                if name == "extend":
                    base.append(part)
                else:
                    base.elements.appendleft(part)
                    base.wrote("call", deque.appendleft, part)
        else:
            numbers = name in ("rotate", "insert")
            arguments = (
                [self.indexing.integer(given[0]), *given[1:]] if numbers and given else given
            )
            try:
                made = getattr(base.elements, name)(*arguments)
            except IndexError:
                raise refuse(reasons.END, name, describe(base)) from None
            base.wrote("call", getattr(deque, name), *arguments)
            return NONE if made is None else resolve(made)
        return NONE

    def in_sequence(self, value: Abstract) -> Abstract:
        """For NumPy, to which a deque is as good as a list, and a subclass that says no more."""
        value = resolve(value)
        if isinstance(value, Instance) and isinstance(value.content, (ListValue, Sequence)):
            asked = [name for name in ARRAY_LIKE if class_attribute(value.cls, name) is not MISSING]
            if asked or value.attributes:
                return value
            for name in ARRAY_LIKE:
                self.instances.guard_class(value.cls, name, MISSING)
                if value.register >= 0:
                    self.program.guard("guard_lacks", value.register, name)
            return self.instances.content_of(value, "__iter__", "__len__", "__getitem__")
        return ListValue(list(value.elements)) if isinstance(value, DequeValue) else value


__all__ = ["Deques"]
