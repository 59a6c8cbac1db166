"""Of which class a value is, and which object: what tells keys of a dict or a set apart."""

from __future__ import annotations

import functools
import types
from typing import Any

from dvm import reasons
from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    DequeValue,
    DictValue,
    FunctionValue,
    Host,
    IdNumber,
    Instance,
    ListValue,
    Literal,
    Method,
    OpenSet,
    Partial,
    Raised,
    RangeValue,
    Sequence,
    SetValue,
    Size,
    SliceValue,
    Tensor,
    caller_register,
    resolve,
)
from dvm.magpy_capture.values.kinds import class_attribute, is_nan


class Identity(ObjectPart):
    """What `is`, `type` and hashes ask."""

    needs = "indexing instances loop_policy program varying"

    def __init__(self) -> None:
        self.keys: list[Instance | IdNumber | Tensor] = []  # that were used as such

    def key(self, value: Abstract) -> Any:
        """A known key or element: told from others by its value, no NaN; or an object by itself."""
        value = resolve(value)
        if isinstance(value, Sequence) and value.cls is tuple:
            return tuple(map(self.key, value.elements))
        if isinstance(value, IdNumber):
            self._tell_apart_from(value, [each for each in self.keys if type(each) is IdNumber])
            return value
        if isinstance(value, Instance) and value.content is None:
            self.guard_identity(value, "__hash__", "__eq__")
            self._tell_apart_from(value, [each for each in self.keys if type(each) is Instance])
            return value
        if isinstance(value, Tensor) and value.library.array.__hash__ is not None:
            # `==` is elementwise: where they have a hash, it is of who they are.
            self._tell_apart_from(value, [each for each in self.keys if type(each) is Tensor])
            return value
        key = self.indexing.plain(value)
        if is_nan(key):
            raise refuse(reasons.NAN_CONTAINER)
        return key

    def _tell_apart_from(self, key: Instance | IdNumber | Tensor, others: list[Any]) -> None:
        """Keys that are objects: two of the caller's could be one in another call."""
        if any(key == other for other in others):
            return
        for other in others:
            a, b = (each.of if isinstance(each, IdNumber) else each for each in (key, other))
            if self.class_of(a) is self.class_of(b):
                self.same_object(a, b, False)
        self.keys.append(key)

    def guard_identity(self, value: Instance, *methods: str) -> None:
        """Objects of its class are told apart by who they are."""
        for name in methods:
            if class_attribute(value.cls, name) is not vars(object)[name]:
                raise refuse(reasons.NEEDS_CONSTANT, describe(value))
            self.instances.guard_class(value.cls, name, vars(object)[name])

    def class_of(self, value: Abstract) -> type:
        value = resolve(value)
        if isinstance(value, Tensor):
            own = value.library.class_of(value.dtype, value.is_scalar)
            return own if value.object is None else type(value.object)
        if isinstance(value, (Literal, Host, Raised)):
            return type(value.object)
        if isinstance(value, (Sequence, Instance, ListValue, DictValue, DequeValue)):
            return value.cls
        kinds: dict[type, type] = {
            Size: int,
            SetValue: set,
            OpenSet: set,
            IdNumber: int,
            SliceValue: slice,
            RangeValue: range,
        }
        if type(value) in kinds:
            return kinds[type(value)]
        if isinstance(value, (Closure, FunctionValue)):
            return type(value.object)
        if isinstance(value, Partial):
            return functools.partial
        if isinstance(value, Method) and isinstance(value.function, types.FunctionType):
            return types.MethodType
        raise refuse(reasons.TYPE, describe(value))

    def same_object(self, a: Abstract, b: Abstract, seen: bool) -> None:
        """Let every call of the path give the recorded answer to `a is b`."""
        if isinstance(a, Literal) or isinstance(b, Literal):  # which function it is matters
            a, b = self.program.by_identity(a), self.program.by_identity(b)
        if a is b:
            return
        literals = [value for value in (a, b) if isinstance(value, Literal)]
        if len(literals) == 2 and all(value.identical for value in literals):
            return
        if any(is_singleton(value.object) for value in literals):
            other = b if a is literals[0] else a
            if isinstance(other, Host) and type(other.object) is bool:
                self.program.pin(other, other.object)
            return  # a value of a known type is never one of the singletons
        if any(isinstance(value, (Host, Size)) for value in (a, b)) or len(literals) == 2:
            raise refuse(reasons.IDENTITY, describe(a), describe(b))
        if all(isinstance(value, Tensor) and value.is_scalar for value in (a, b)):
            self._same_scalar(a, b, seen)
            return
        if any(isinstance(value, Tensor) and value.maybe is not None for value in (a, b)):
            raise refuse(reasons.IDENTITY_MAY_BE_VIEW_COPY)
        registers = [caller_register(value) for value in (a, b)]
        if all(register >= 0 for register in registers):
            self.program.guard("guard_same", *registers, seen)  # all of a tuple is the tuple itself

    def _same_scalar(self, a: Tensor, b: Tensor, seen: bool) -> None:
        """Of two that the graph has computed it is plain that they are two.

        What a loop hands on may be another object of that value.
        """
        given = [value.storage.host for value in (a, b) if value.storage.host >= 0]
        if len(given) == 2 and (self.varying.in_turn or self.loop_policy.has_rolled):
            refusal = refuse(reasons.IDENTITY, describe(a), describe(b))
            self.loop_policy.give_up_all(refusal)
            raise refusal
        if given:  # a call may return its argument
            registers = map(self.program.register_of, (a, b))
            self.program.guard("guard_same", *registers, seen)


def is_singleton(value: Any) -> bool:
    single = value is None or value is Ellipsis or isinstance(value, (bool, type))
    return single or type(value) is object


__all__ = ["Identity"]
