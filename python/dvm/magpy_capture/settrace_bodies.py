"""Which Python body an event of the reference tracer runs, and with which arguments.

After the data model of the language reference: the function behind a call, an operator, an
attribute. What is not known to be run by the event stays inside it.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dvm import _dvm
from dvm.magpy_capture.settrace_record import (
    NO_NODE,
    Place,
    Record,
    parameter,
    parameter_slots,
)

if TYPE_CHECKING:
    from dvm.magpy_capture.settrace_frame import FrameShadow

_OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
}
_COMPARISONS = {
    "<": ("lt", "gt"),
    "<=": ("le", "ge"),
    "==": ("eq", "eq"),
    "!=": ("ne", "ne"),
    ">": ("gt", "lt"),
    ">=": ("ge", "le"),
}
_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
_PLAIN = {
    "subscript": "__getitem__",
    "store_subscript": "__setitem__",
    "delete_subscript": "__delitem__",
    "iter": "__iter__",
    "next": "__next__",
    "with_enter": "__enter__",
}
_ACCESS = {
    "attribute": ("fget", "__get__", "__getattr__"),
    "store_attribute": ("fset", "__set__", "__setattr__"),
    "delete_attribute": ("fdel", "__delete__", "__delattr__"),
}
_BUILTINS = {
    name: f"__{name}__"
    for name in "len iter next abs repr bool int float str round hash divmod reversed".split()  # noqa: SIM905
}


@dataclass
class Arguments:
    """The nodes a body is called with."""

    positional: list[int] = field(default_factory=list)
    named: dict[str, int] = field(default_factory=dict)
    instance: int = NO_NODE  # what an __init__ initialises


def lookup(kind: type, name: str) -> Any:
    """What the type defines under the name, itself or inherited."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def bind(
    record: Record, function: Any, slots: Sequence[Any], arguments: Arguments, place: Place
) -> list[int] | None:
    """A node per parameter slot, or None when the frame holds other objects than these."""
    code = function.__code__
    names = code.co_varnames
    plain = code.co_argcount + code.co_kwonlyargcount
    nodes = [NO_NODE] * parameter_slots(code)
    surplus = arguments.positional[code.co_argcount :]
    nodes[: min(len(arguments.positional), code.co_argcount)] = arguments.positional[
        : code.co_argcount
    ]
    surplus_named: dict[str, int] = {}
    for name, node in arguments.named.items():
        if name in names[code.co_posonlyargcount : plain]:
            nodes[names.index(name, code.co_posonlyargcount)] = node
        else:
            surplus_named[name] = node
    has_rest, has_named = bool(code.co_flags & 0x04), bool(code.co_flags & 0x08)
    if (surplus and not has_rest) or (surplus_named and not has_named):
        return None
    defaults = function.__defaults__ or ()
    for slot in range(plain):
        if nodes[slot] != NO_NODE:
            continue
        first = code.co_argcount - len(defaults)
        if first <= slot < code.co_argcount:
            seen = defaults[slot - first]
        elif slot >= code.co_argcount and names[slot] in (function.__kwdefaults__ or {}):
            seen = function.__kwdefaults__[names[slot]]
        else:
            return None
        nodes[slot] = record.preset(function, slot, seen)
    for slot in range(plain):
        if record.object(nodes[slot]) is not parameter(code, slots, slot):
            return None
    rest = parameter(code, slots, plain) if has_rest else ()
    if [id(x) for x in rest] != [id(record.object(node)) for node in surplus]:
        return None
    named = parameter(code, slots, plain + has_rest) if has_named else {}
    if len(named) != len(surplus_named):
        return None
    if has_rest:
        nodes[plain] = record.derive("tuple", "", surplus, place, rest)
    if has_named:
        items = []
        for name, node in surplus_named.items():
            items += [record.constant(name), node]
        nodes[-1] = record.derive("dict", "", items, place, named)
    return nodes


def find_arguments(
    record: Record, caller: FrameShadow, function: Any, code: types.CodeType, slots: Sequence[Any]
) -> Arguments | None:
    """The arguments with which the caller's pending event runs the function, or None."""
    kind, name, operands, *_ = record.events[caller.event]
    seen = [record.object(node) for node in operands]

    def is_method(operand: int, method: str) -> bool:
        return lookup(type(seen[operand]), method) is function

    first = parameter(code, slots, 0) if parameter_slots(code) else None
    if kind in ("call", "call_ex"):
        return _Callee(record, caller, function, code, slots).find(operands[0])
    if kind in ("binary", "inplace"):
        stem = _OPERATORS[name]
        if kind == "inplace" and is_method(0, f"__i{stem}__"):
            return Arguments(operands)
        if is_method(0, f"__{stem}__") and first is seen[0]:
            return Arguments(operands)
        return Arguments(operands[::-1]) if is_method(1, f"__r{stem}__") else None
    if kind == "compare":
        left, right = _COMPARISONS[name]
        asked = is_method(0, f"__{left}__") or (name == "!=" and is_method(0, "__eq__"))
        if asked and first is seen[0]:
            return Arguments(operands)
        return Arguments(operands[::-1]) if is_method(1, f"__{right}__") else None
    if kind == "branch" or (kind == "unary" and name == "not"):
        asked = is_method(0, "__bool__") or is_method(0, "__len__")
        return Arguments(operands) if asked else None
    if kind == "unary":
        return Arguments(operands) if is_method(0, _UNARY[name]) else None
    if kind == "contains":
        return Arguments(operands[::-1]) if is_method(1, "__contains__") else None
    if kind in _ACCESS:
        return _accessor(record, function, kind, name, operands, seen)
    return Arguments(operands) if kind in _PLAIN and is_method(0, _PLAIN[kind]) else None


def _accessor(
    record: Record, function: Any, kind: str, name: str, operands: list[int], seen: list[Any]
) -> Arguments | None:
    accessor, descriptor_method, hook = _ACCESS[kind]
    descriptor = lookup(type(seen[0]), name)
    if isinstance(descriptor, property) and getattr(descriptor, accessor) is function:
        return Arguments(operands)
    if descriptor is not None and lookup(type(descriptor), descriptor_method) is function:
        nodes = [record.constant(descriptor), *operands]
        if kind == "attribute":
            nodes.append(record.constant(type(seen[0])))
        return Arguments(nodes)
    hooks = [hook, "__getattribute__"] if kind == "attribute" else [hook]
    if any(lookup(type(seen[0]), method) is function for method in hooks):
        return Arguments([operands[0], record.constant(name), *operands[1:]])
    return None


class _Callee:
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

    def wrapped(self, callee: Any) -> Any:
        name = f"{type(callee).__module__}.{type(callee).__qualname__}"
        if name == "numpy._ArrayFunctionDispatcher":
            return callee._implementation
        return callee.__wrapped__ if type(callee) is _dvm.Compiled else None

    def defines(self, kind: type, name: str) -> bool:
        found = lookup(kind, name)
        return found is self.function or (
            type(found) is staticmethod and found.__func__ is self.function
        )

    def leads_on(self, callee: Any) -> bool:
        """Whether calling it runs the function, by the objects alone."""
        if _dvm.is_leaf(callee):
            return False
        if callee is self.function:
            return True
        if type(callee) is types.MethodType:
            return self.leads_on(callee.__func__)
        if type(callee) is functools.partial:
            return self.leads_on(callee.func)
        if (inner := self.wrapped(callee)) is not None:
            return inner is self.function
        if lookup(type(callee), "__call__") is self.function:
            return True
        is_type = isinstance(callee, type)
        if is_type and (self.defines(callee, "__new__") or self.defines(callee, "__init__")):
            return True
        if not is_type and type(callee) is not types.BuiltinFunctionType:
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
        if callee is self.function or self.wrapped(callee) is not None:
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
        if self.defines(kind, "__new__"):
            self.arguments.positional.insert(0, node)
            return True
        if not self.defines(kind, "__init__"):
            return True
        instance = self.caller.followed
        if instance == NO_NODE:
            seen = parameter(self.code, self.slots, 0)
            if type(seen) is not kind or lookup(kind, "__new__") is not vars(object)["__new__"]:
                return False
            instance = self.record.derive("new", "", [node], self.caller.place, seen)
        self.arguments.instance = instance
        self.arguments.positional.insert(0, instance)
        return True
