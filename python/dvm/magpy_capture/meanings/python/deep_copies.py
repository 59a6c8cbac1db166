"""`copy.deepcopy` of arrays, numbers and containers: each object anew, aliases as they were."""

from __future__ import annotations

import copy
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
    ListValue,
    Literal,
    Sequence,
    SetValue,
    Size,
    Tensor,
    caller_register,
    resolve,
)
from dvm.magpy_capture.values.kinds import PURE_TYPES, is_constant

#: What is its own copy.
ATOMS = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType)


class DeepCopies(PythonPart):
    """`copy.deepcopy(x)`; of instances nobody knows what __reduce_ex__ gives."""

    needs = "elementwise opaque program"

    @means(copy.deepcopy)
    def deep_copied(self, x: Abstract) -> Abstract:
        done: dict[int, tuple[Abstract, Abstract]] = {}
        made = self._deep(x, done)
        self._tell_apart([value for value, copied in done.values() if copied is not value])
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
            return SetValue(set(value.elements))
        if isinstance(value, ListValue):
            made = ListValue([])
            done[id(value)] = (value, made)  # it may contain itself
            made.elements.extend(self._deep(part, done) for part in value.elements)
            return made
        if type(value) is DictValue:
            table = DictValue({})
            done[id(value)] = (value, table)
            table.items.update((key, self._deep(part, done)) for key, part in value.items.items())
            return table
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
