"""From the callee of a recorded call to the Python function which runs in the end.

Bound methods, types, `functools.partial`, objects with `__call__`, NumPy's dispatchers and compiled
functions each add to or change the arguments on the way.
"""

from __future__ import annotations

import functools
import types
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dvm import _dvm
from dvm.magpy_capture.recording.functions_run import defines, lookup, runs, wrapped
from reference_tracer.record import NO_NODE, Record, parameter

if TYPE_CHECKING:
    from reference_tracer.frame import FrameShadow

#: Classes of which `__new__` makes an empty object, whatever its arguments are.
MAKES_EMPTY = (object, dict, list)
_BUILTINS = {
    name: f"__{name}__"
    for name in (
        *("len", "iter", "next", "abs", "repr", "bool", "int", "float", "str", "round"),
        *("hash", "divmod", "reversed"),
    )
}


@dataclass
class Arguments:
    """The nodes a body is called with."""

    positional: list[int] = field(default_factory=list)
    named: dict[str, int] = field(default_factory=dict)
    instance: int = NO_NODE  # what an __init__ initialises


def caches(callee: Any, function: Any) -> bool:
    """Whether it runs the function where it does not know the answer yet."""
    if type(callee) is not functools._lru_cache_wrapper or _dvm.is_leaf(callee):
        return False
    return getattr(callee, "__wrapped__", None) is function


def makes_items(table: Any, function: Any) -> bool:
    """Whether it is a defaultdict that calls the function for keys that it lacks."""
    if not issubclass(type(table), defaultdict):
        return False
    return runs(vars(defaultdict)["default_factory"].__get__(table), function)


class Callee:
    """From a callee to the function which runs in the end."""

    def __init__(
        self,
        record: Record,
        caller: FrameShadow,
        function: Any,
        code: types.CodeType,
        slots: Sequence[Any],
    ) -> None:
        self.record = record
        self.caller = caller
        self.function = function
        self.code = code
        self.slots = slots
        self.arguments = Arguments()
        self.event = record.events[caller.event]

    def find(self, node: int) -> Arguments | None:
        callee = self.record.object(node)
        if self.leads_on(callee) and self.read_arguments() and self.follow(node, callee):
            return self.arguments
        return None

    def member(self, owner: int, name: str, seen: Any) -> int:
        return self.record.derive("attribute", name, [owner], self.caller.place, seen)

    def element(self, container: int, key: Any, seen: Any) -> int:
        operands = [container, self.record.constant(key)]
        return self.record.derive("subscript", "", operands, self.caller.place, seen)

    def leads_on(self, callee: Any) -> bool:
        """Whether calling it for the event runs the function."""
        if _dvm.is_leaf(callee):
            return False
        if runs(callee, self.function):
            return True
        is_type = isinstance(callee, type)
        is_heap_type = is_type and callee.__flags__ & 1 << 9
        if is_heap_type or not (is_type or type(callee) is types.BuiltinFunctionType):
            return False
        method = _BUILTINS.get(callee.__name__)
        kind, _, operands, *_ = self.event
        if method is None or kind != "call" or len(operands) != 2:
            return False
        return lookup(type(self.record.object(operands[1])), method) is self.function

    def read_arguments(self) -> bool:
        kind, _, operands, keywords, *_ = self.event
        if kind == "call":
            split = len(operands) - len(keywords)
            self.arguments.positional = operands[1:split]
            self.arguments.named = dict(zip(keywords, operands[split:], strict=True))
            if self.caller.method_self != NO_NODE:
                self.arguments.positional.insert(0, self.caller.method_self)
            return True
        spread = self.record.object(operands[1])
        if type(spread) not in (tuple, list):
            return False
        self.arguments.positional = [
            self.element(operands[1], i, seen) for i, seen in enumerate(spread)
        ]
        if len(operands) < 3:
            return True
        for key, seen in self.record.object(operands[2]).items():
            self.arguments.named[key] = self.element(operands[2], key, seen)
        return True

    def follow(self, node: int, callee: Any) -> bool:
        if callee is self.function or wrapped(callee) is not None:
            return True
        if type(callee) is types.MethodType:
            return self.follow_method(node, callee)
        if type(callee) is functools.partial:
            return self.follow_partial(node, callee)
        if lookup(type(callee), "__call__") is self.function:
            self.arguments.positional.insert(0, node)
            return True
        return self.follow_type(node, callee) if isinstance(callee, type) else True

    def follow_method(self, node: int, method: types.MethodType) -> bool:
        self.arguments.positional.insert(0, self.self_of(node, method.__self__))
        if method.__func__ is self.function:
            return True
        return self.follow(self.member(node, "__func__", method.__func__), method.__func__)

    def self_of(self, node: int, owner: Any) -> int:
        origin, event, *_ = self.record.nodes[node]
        if origin == "event" and self.record.events[event][0] == "attribute":
            looked_on: int = self.record.events[event][2][0]
            if self.record.object(looked_on) is owner:
                return looked_on
        return self.member(node, "__self__", owner)

    def follow_partial(self, node: int, partial: Any) -> bool:
        if partial.args:
            container = self.member(node, "args", partial.args)
            self.arguments.positional = [
                self.element(container, i, seen) for i, seen in enumerate(partial.args)
            ] + self.arguments.positional
        if partial.keywords:
            container = self.member(node, "keywords", partial.keywords)
            presets = {
                key: self.element(container, key, seen) for key, seen in partial.keywords.items()
            }
            self.arguments.named = presets | self.arguments.named
        if partial.func is self.function:
            return True
        return self.follow(self.member(node, "func", partial.func), partial.func)

    def follow_type(self, node: int, kind: type) -> bool:
        if defines(kind, "__new__", self.function):
            self.arguments.positional.insert(0, node)
            return True
        if not defines(kind, "__init__", self.function):
            return True
        instance = self.caller.followed
        if instance == NO_NODE:
            seen = parameter(self.code, self.slots, 0)
            maker = lookup(kind, "__new__")
            if type(seen) is not kind or not any(maker is vars(c)["__new__"] for c in MAKES_EMPTY):
                return False
            instance = self.record.derive("new", "", [node], self.caller.place, seen)
        self.arguments.instance = instance
        self.arguments.positional.insert(0, instance)
        return True
