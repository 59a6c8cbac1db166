"""Which Python body an event of the reference tracer runs, and with which arguments.

After the data model of the language reference: the function behind a call, an operator, an
attribute. What is not known to be run by the event stays inside it.
"""

from __future__ import annotations

import builtins
import dis
import itertools
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dvm import _dvm
from dvm.magpy_capture.recording.special_methods import ARITHMETIC, UNARY
from reference_tracer.callees import (
    Arguments,
    Callee,
    caches,
    lookup,
    makes_items,
    runs,
)
from reference_tracer.record import (
    NO_NODE,
    Place,
    Record,
    parameter,
    parameter_slots,
)

if TYPE_CHECKING:
    from reference_tracer.frame import FrameShadow

_COMPARISONS = {
    "<": ("lt", "gt"),
    "<=": ("le", "ge"),
    "==": ("eq", "eq"),
    "!=": ("ne", "ne"),
    ">": ("gt", "lt"),
    ">=": ("ge", "le"),
}
_PLAIN = {
    "subscript": "__getitem__",
    "store_subscript": "__setitem__",
    "delete_subscript": "__delitem__",
    "iter": "__iter__",
    "next": "__next__",
    "with_enter": "__enter__",
}
#: what C code runs where it compares or adds objects
_OPERATORS = frozenset(["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__add__", "__radd__"])
_ACCESS = {
    "attribute": ("fget", "__get__", "__getattr__"),
    "store_attribute": ("fset", "__set__", "__setattr__"),
    "delete_attribute": ("fdel", "__delete__", "__delattr__"),
}


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
        return Callee(record, caller, function, code, slots).find(operands[0])
    if kind in ("binary", "inplace"):
        stem = ARITHMETIC[name]
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
        return Arguments(operands) if is_method(0, UNARY[name]) else None
    if kind == "contains":
        return Arguments(operands[::-1]) if is_method(1, "__contains__") else None
    if kind in _ACCESS:
        return _accessor(record, function, kind, name, operands, seen)
    if kind == "subscript" and issubclass(type(seen[0]), dict) and is_method(0, "__missing__"):
        return Arguments(operands)
    return Arguments(operands) if kind in _PLAIN and is_method(0, _PLAIN[kind]) else None


def runs_for_event(record: Record, caller: FrameShadow) -> bool:
    """Whether Python code that C code runs now is recorded within the caller's event."""
    if caller.event < 0:
        return False
    kind, _, operands, *_ = record.events[caller.event]
    # What a leaf runs is part of its meaning.
    return kind not in ("call", "call_ex") or not _dvm.is_leaf(record.object(operands[0]))


def is_callback(record: Record, caller: FrameShadow, function: Any, slots: Sequence[Any]) -> bool:
    """Whether C code that runs for the caller's event may have called the function back.

    The program has handled it, or something that calls it; or it compares or adds an object.
    """
    if not runs_for_event(record, caller):
        return False
    named = function.__name__ in _OPERATORS and function.__code__.co_argcount
    if (
        named
        and lookup(type(parameter(function.__code__, slots, 0)), function.__name__) is function
    ):
        return True
    if _is_property(record, caller, function):
        return True
    return any(
        runs(node[4], function) or caches(node[4], function) or makes_items(node[4], function)
        for node in record.nodes
    )


def _is_property(record: Record, caller: FrameShadow, function: Any) -> bool:
    """Whether the event is `getattr(object, name)`, and the name a property's in Python."""
    kind, _, operands, *_ = record.events[caller.event]
    if kind != "call" or len(operands) < 3:
        return False
    callee, owner, name = (record.nodes[node][4] for node in operands[:3])
    if not (callee is getattr or callee is hasattr) or type(name) is not str:
        return False
    found = lookup(type(owner), name)
    return type(found) is property and found.fget is function


def _lets_exit_pass(function: Any) -> bool:
    """Whether no handler of it takes GeneratorExit, by which a generator that is dropped ends."""
    parts = list(dis.get_instructions(function))
    names: list[str] = []
    for place, part in enumerate(parts):
        if part.opname == "PUSH_EXC_INFO" and parts[place + 1].opname != "LOAD_GLOBAL":
            return parts[place + 1].opname == "RERAISE"
        if part.opname == "CHECK_EXC_MATCH":
            before = itertools.takewhile(
                lambda each: each.opname in ("LOAD_GLOBAL", "BUILD_TUPLE"), reversed(parts[:place])
            )
            names += [each.argval for each in before if each.opname == "LOAD_GLOBAL"]
    scope = {**vars(builtins), **function.__globals__}
    return not any(issubclass(GeneratorExit, scope[name]) for name in names)


def is_asked_iterator(function: Any, slots: Sequence[Any]) -> bool:
    """Whether C code may have asked an object for it: a generator with nothing to finish."""
    code = function.__code__
    if code.co_argcount != 1 or not _lets_exit_pass(function):
        return False
    return lookup(type(parameter(code, slots, 0)), "__iter__") is function


def given(record: Record, caller: FrameShadow, function: Any, slots: Sequence[Any]) -> list[int]:
    """A node per parameter, for what C code gave it."""
    callee, code = [record.constant(function)], function.__code__
    return [
        record.derive("given", str(slot), callee, caller.place, parameter(code, slots, slot))
        for slot in range(parameter_slots(code))
    ]


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
