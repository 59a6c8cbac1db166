"""`copy.deepcopy` of arrays, numbers, containers and an object with attributes.

Each object is made anew, with aliases as they were.
"""

from __future__ import annotations

import copy
import copyreg
import types
from typing import Any

from dvm import reasons
from dvm.magpy_capture.libraries import is_plain_array, is_scalar
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import (
    Abstract,
    DictValue,
    Host,
    Instance,
    ListValue,
    Literal,
    OwnDict,
    Sequence,
    SetValue,
    Size,
    Tensor,
    caller_register,
    resolve,
)
from dvm.magpy_capture.values.kinds import (
    MISSING,
    PURE_TYPES,
    class_attribute,
    is_constant,
)

#: What is its own copy.
ATOMS = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType)

#: What a class has under the names that a copy asks for, where it says nothing of copies itself.
COPIED: dict[str, Any] = {
    name: vars(object).get(name, MISSING)
    for name in "__deepcopy__ __reduce_ex__ __reduce__ __getstate__ __setstate__ __new__ __slots__ "
    "__getnewargs__ __getnewargs_ex__ __getattribute__ __getattr__".split()
}


class DeepCopies(PythonPart):
    """`copy.deepcopy(x)`; of objects within others nobody knows which was the copy."""

    needs = "elementwise instances opaque program"

    @means(copy.deepcopy)
    def deep_copied(self, x: Abstract, *, seen: Any) -> Abstract:
        done: dict[int, tuple[Abstract, Abstract]] = {}
        x = resolve(x)
        is_own = isinstance(x, Instance) and x.cls is type(seen) and x.content is None
        made = self._of_object(x, seen, done) if is_own else self._deep(x, done)
        self._tell_apart([value for value, copied in done.values() if copied is not value])
        return made

    def _of_object(self, value: Instance, seen: Any, done: dict[int, Any]) -> Instance:
        """One that its class leaves to `object` to copy: its `__dict__` is."""
        cls = value.cls
        for name, found in COPIED.items():
            if class_attribute(cls, name) is not found:
                raise refuse(reasons.DEEP_COPY, describe(value))
            self.instances.guard_class(cls, name, found)
        table = copyreg.dispatch_table
        self.program.guard("guard_keys", self.program.constant(table), tuple(table))
        self.instances.guard_lifetime(cls)
        made = Instance(cls, object=seen)
        done[id(value)] = (value, made)
        own = self.instances.instance_attribute(value, "__dict__", vars(value.object))
        items = self.instances.own_items(own)
        if cls in table or not COPIED.keys().isdisjoint(items):
            raise refuse(reasons.DEEP_COPY, describe(value))
        for name, part in items.items():
            made.change(name, self._deep(part, done))
        return made

    def _of_items(self, value: Abstract, items: Any, done: dict[int, Any]) -> DictValue:
        """The copy of a dict with these, which may contain itself."""
        made = DictValue({})
        done[id(value)] = (value, made)
        made.items.update((key, self._deep(part, done)) for key, part in items.items())
        return made

    def _tell_apart(self, values: list[Abstract]) -> None:
        """Objects of the caller that are one object on another call would have one copy there."""
        own = [(caller_register(value), type(value)) for value in values]
        for place, (register, kind) in enumerate(own):
            for other, its_kind in own[:place]:
                if min(register, other) >= 0 and kind is its_kind:
                    self.program.guard("guard_same", register, other, False)

    def _deep(self, value: Abstract, done: dict[int, tuple[Abstract, Abstract]]) -> Abstract:
        value = resolve(value)
        if id(value) not in done:
            done[id(value)] = (value, value)  # which keeps it, and so its id
            done[id(value)] = (value, self._copied_once(value, done))
        return done[id(value)][1]

    def _copied_once(self, value: Abstract, done: dict[int, Any]) -> Abstract:
        if isinstance(value, Tensor) and not value.is_scalar:
            return self.elementwise.copy(value)
        if isinstance(value, Size) or self._is_atom(value):
            return value
        if isinstance(value, Sequence):
            parts = [self._deep(part, done) for part in value.elements]
            kept = all(
                part is resolve(own) for part, own in zip(parts, value.elements, strict=True)
            )
            return value if kept and value.cls is tuple else Sequence(parts, value.cls)
        if isinstance(value, SetValue):
            return SetValue(set(value.elements), in_order=value.in_order)
        if isinstance(value, ListValue):
            made = ListValue([])
            done[id(value)] = (value, made)  # it may contain itself
            made.elements.extend(self._deep(part, done) for part in value.elements)
            return made
        if isinstance(value, OwnDict):
            return self._of_items(value, self.instances.own_items(value), done)
        if type(value) is DictValue:
            return self._of_items(value, value.items, done)
        if isinstance(value, Host) and is_plain_array(value.object):
            return self.opaque.call(
                type(value.object).__copy__, [value], {}, value.object.copy("K")
            )
        raise refuse(reasons.DEEP_COPY, describe(value))

    def _is_atom(self, value: Abstract) -> bool:
        if isinstance(value, Literal):
            thing = value.object
            return isinstance(thing, ATOMS) or (is_constant(thing) and not is_scalar(thing))
        return isinstance(value, Host) and type(value.object) in PURE_TYPES
