"""Runs a recording of the tracer as a program: the recording alone must do what the call did.

This is a second reading of what recordings mean (cpp/core/graph/recording.def), in plain Python and
without any lowering: the events of one call are carried out again on fresh arguments, in a fresh
module, and what a caller can see must be what the function itself shows.
"""

from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dvm import _dvm

from .compare import Observed, module_of, next_call
from .program import Program

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift,
}  # fmt: skip
INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
    "//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow, "@": operator.imatmul,
    "&": operator.iand, "|": operator.ior, "^": operator.ixor, "<<": operator.ilshift,
    ">>": operator.irshift,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_,
}  # fmt: skip
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
CONVERSIONS: dict[str, Callable[[Any], Any]] = {"": lambda v: v, "s": str, "r": repr, "a": ascii}


def callbacks_of(events: list[Any]) -> set[int]:
    """Return the events of bodies that C code ran, and of generators."""
    inner: set[int] = set()
    depth = 0
    begins = False  # a `resumes` was counted, and an `enter` may follow
    for number, (kind, *_) in enumerate(events):
        if kind in ("calls_back", "resumes"):
            depth += 1
            begins = True
        elif kind == "enter" and depth:
            depth += not begins
            begins = False
        elif kind not in ("given", "enter"):
            begins = False
        if depth:
            inner.add(number)
        if kind in ("leave", "yields") and depth:
            depth -= 1
    return inner


def is_told_outside(recording: Any) -> bool:
    """Whether no value of such a body is used behind it, by a variable that both share."""
    events, nodes = recording["events"], recording["nodes"]
    inner = callbacks_of(events)
    used = [recording["result"]]
    for number, event in enumerate(events):
        used += event[2] if number not in inner else []
    return not any(nodes[n][0] == "event" and nodes[n][1] in inner for n in used)


class DivergedError(Exception):
    """A condition came out otherwise than it was recorded."""


class Rerun:
    """Carries out the events of one recording in another module than it was recorded in."""

    def __init__(
        self, recording: Any, recorded_in: dict[str, Any], module: dict[str, Any], arguments: Any
    ) -> None:
        self.recording = recording
        self.recorded_in = recorded_in
        self.module = module
        self.arguments = arguments
        self.made: dict[int, Any] = {}
        self.unpacked: dict[int, list[Any]] = {}
        self.namespaces = [module]  # of the frames entered so far

    def value(self, number: int) -> Any:
        if number in self.made:
            return self.made[number]
        origin, index, name, scope, seen, _ = self.recording["nodes"][number]
        if origin == "argument":
            return self.arguments[index]
        if origin == "global":
            namespace = self.module if scope is self.recorded_in else scope
            made = namespace[name] if name in namespace else getattr(builtins, name)
        elif origin == "closure":
            made = scope.cell_contents
        elif origin == "event":
            raise DivergedError(f"node {number} is used before its event")
        else:
            made = self.moved(seen)
        self.made[number] = made
        return made

    def moved(self, seen: Any) -> Any:
        """Return the object of this module that stands for one of the recorded module."""
        if seen is self.recorded_in:
            return self.module
        name = getattr(seen, "__qualname__", "")
        if getattr(seen, "__module__", "") == "generated" and name in self.module:
            return self.module[name]
        return seen

    def run(self) -> Any:
        events = self.recording["events"]
        error: Exception | None = None  # what the event before ended with
        inner = callbacks_of(events)
        for number, event in enumerate(events):
            kind, name, operands, keywords, result, location, followed = event
            if number in inner:
                continue  # C code runs it again
            if kind == "raised":
                if type(error).__name__ != name:
                    raise DivergedError(f"{error!r} instead of {name} at {location}")
                self.made[result] = error
                continue
            if kind == "enter":
                seen = self.recording["nodes"][operands[-1]][4]
                self.namespaces.append(self.moved(seen.__globals__))
            elif kind == "leave":
                self.namespaces.pop()
            if followed or kind in ("enter", "leave"):
                continue
            try:
                made = self.carry_out(kind, name, operands, keywords)
            except StopIteration:
                if name != "exhausted":
                    raise
                continue
            except DivergedError as diverged:
                raise DivergedError(f"{diverged} at {location}") from None
            except Exception as caught:
                behind = number + 1
                while behind in inner:
                    behind += 1
                if behind > number + 1 and events[behind - 1][1] == "raised":
                    self.made[events[behind - 1][2][0]] = caught  # it left a callback
                elif behind == len(events) or events[behind][0] != "raised":
                    raise
                error = caught
                continue
            if result >= 0:
                self.made[result] = made
        return self.value(self.recording["result"])

    def carry_out(self, kind: str, name: str, operands: list[int], keywords: list[Any]) -> Any:
        if kind == "function":
            return self.function(name, operands, keywords)
        v = [self.value(o) for o in operands]
        match kind:
            case "call":
                named = len(v) - len(keywords)
                return v[0](*v[1:named], **dict(zip(keywords, v[named:], strict=True)))
            case "call_ex":
                return v[0](*v[1], **(v[2] if len(v) > 2 else {}))
            case "new":
                return object.__new__(v[0])
            case "binary":
                return BINARY[name](*v)
            case "inplace":
                return INPLACE[name](*v)
            case "unary":
                return UNARY[name](*v)
            case "compare":
                return COMPARE[name](*v)
            case "is":
                return (v[0] is v[1]) == (name == "is")
            case "contains":
                return (v[0] in v[1]) == (name == "in")
            case "subscript":
                return v[0][v[1]]
            case "store_subscript":
                v[0][v[1]] = v[2]
            case "delete_subscript":
                del v[0][v[1]]
            case "attribute":
                return getattr(v[0], name)
            case "store_attribute":
                setattr(v[0], name, v[1])
            case "delete_attribute":
                delattr(v[0], name)
            case "store_global":
                v[1][name] = v[0]
            case "store_cell":
                v[1].cell_contents = v[0]
            case "raise":
                raise v[0] from (v[1] if len(v) > 1 else None)
            case "matches":
                return isinstance(v[0], v[1])
            case "branch":
                held = v[0] is None if name == "none" else bool(v[0])
                if held != (keywords[0] == "1"):
                    raise DivergedError(f"branch of {v[0]!r}")
            case "next":
                item = next(v[0])
                if name == "exhausted":
                    raise DivergedError("an iterator has more items")
                return item
            case "unpack":
                return self.unpack(name, operands[0], v[0])
            case _:
                return self.container(kind, name, v)
        return None

    def container(self, kind: str, name: str, v: list[Any]) -> Any:
        """Carry out an event that makes or changes a container of Python's."""
        match kind:
            case "tuple":
                return tuple(v)
            case "list":
                return list(v)
            case "set":
                return set(v)
            case "dict":
                return dict(zip(v[::2], v[1::2], strict=True))
            case "slice":
                return slice(*v)
            case "string":
                return "".join(v)
            case "format":
                return format(CONVERSIONS[name](v[0]), *v[1:])
            case "iter":
                return iter(v[0])
            case "list_append":
                v[0].append(v[1])
            case "list_extend":
                v[0].extend(v[1])
            case "set_add":
                v[0].add(v[1])
            case "set_update" | "dict_update" | "dict_merge":
                v[0].update(v[1])
            case "map_add":
                v[0][v[1]] = v[2]
            case "list_to_tuple":
                return tuple(v[0])
            case "with_enter":
                return v[0].__enter__()
            case "import":
                return __import__(name, None, None, *v)
            case "import_from":
                return getattr(v[0], name)
            case _:
                raise NotImplementedError(kind)
        return None

    def unpack(self, name: str, number: int, sequence: Any) -> Any:
        at, _, rest = name.partition("/")
        if at == "0":
            self.unpacked[number] = list(sequence)
        items = self.unpacked[number]
        before, star, after = rest.partition("*")
        if not star or int(at) < int(before):
            return items[int(at)]
        if int(at) == int(before):
            return items[int(before) : len(items) - int(after)]
        return items[int(at) - int(before) - 1 - int(after) + len(items)]

    def function(self, name: str, operands: list[int], present: list[str]) -> Any:
        parts = dict(zip(present, operands[1:], strict=True))
        closure = self.value(parts["closure"]) if "closure" in parts else ()
        defaults = self.value(parts["defaults"]) if "defaults" in parts else None
        made = types.FunctionType(
            self.value(operands[0]), self.namespaces[-1], name, defaults, closure or None
        )
        if "kwdefaults" in parts:
            made.__kwdefaults__ = self.value(parts["kwdefaults"])
        return made


@dataclass
class Recorded:
    """What the calls of a program showed: while they were recorded, and as their recordings."""

    traced: list[Observed]
    rerun: list[Observed]
    whole: int = 0  # recordings that were not aborted
    aborted: list[str] = field(default_factory=list)


def run_recorded(program: Program) -> Recorded:
    """Record every call in one module, and carry each recording out in another."""
    here, there = module_of(program), module_of(program)
    made = Recorded([], [])
    for number, call in enumerate(program.calls):
        records: list[dict[str, Any]] = []

        def traced(*arguments: Any, records: list[dict[str, Any]] = records) -> Any:
            records.append(_dvm.record(here["f"], *arguments))
            if records[0]["exception"] is not None:
                raise records[0]["exception"]
            return records[0]["value"]

        def rerun(*arguments: Any, records: list[dict[str, Any]] = records) -> Any:
            return Rerun(records[0], here, there, arguments).run()

        made.traced.append(next_call(call, traced, here, number))
        record = records[0]
        whole = not record["aborted"] and record["exception"] is None and is_told_outside(record)
        made.rerun.append(next_call(call, rerun if whole else there["f"], there, number))
        made.whole += whole
        if record["aborted"]:
            made.aborted.append(record["aborted"])
    return made
