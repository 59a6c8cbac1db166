"""What the reference tracer writes into: nodes, events, and what it knows about variables."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from dvm import _dvm, reasons
from reference_tracer.lifetimes import Lifetimes

NO_NODE = -1
NULL = _dvm.UNSEEN  # an empty slot of the interpreter, as `_dvm.peek` shows it
_MAX_EVENTS = 1 << 18
_MAX_KEPT_BYTES = 1 << 30

Place = tuple[types.CodeType, int]


class UnrecordableError(Exception):
    """The recording cannot go on; the text says why."""


class UnkeepableError(UnrecordableError):
    """Nor can it keep what it has seen alive."""


def looks_at_lifetimes(callee: Any) -> bool:
    """Whether the function shows how long objects live, which a recording changes."""
    return (
        callee is sys.getrefcount
        or callee is np.ndarray.resize
        or callee is weakref.ref
        or getattr(callee, "__self__", None) is gc
    )


def parameter_slots(code: types.CodeType) -> int:
    """The number of parameters, with *args and **kwargs."""
    return (
        code.co_argcount
        + code.co_kwonlyargcount
        + bool(code.co_flags & 0x04)
        + bool(code.co_flags & 0x08)
    )


def is_cell_slot(code: types.CodeType, slot: int, slots: int) -> bool:
    """Whether the frame makes a cell of its own in this slot (of that many)."""
    if slot < code.co_nlocals:
        return code.co_varnames[slot] in code.co_cellvars
    return slot < slots - len(code.co_freevars)


def parameter(code: types.CodeType, slots: Sequence[Any], slot: int) -> Any:
    """The object in a parameter's slot, be it in a cell."""
    return slots[slot].cell_contents if is_cell_slot(code, slot, len(slots)) else slots[slot]


#: What a container holds, in its own order; of a subclass too: none of its methods is called.
_COPIES: dict[type, Any] = {
    list: lambda parts: tuple(list.copy(parts)),
    deque: tuple,
    OrderedDict: lambda table: dict(OrderedDict.items(table)),
    dict: lambda table: dict(dict.items(table)),
    set: frozenset,
    np.ndarray: lambda array: array.view(),
}


class Record:
    """A recording in the making."""

    def __init__(self) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self.events: list[list[Any]] = []
        self.result = NO_NODE
        self.opcodes = 0
        self.aborted = ""
        self.aborted_at = ("", 0)
        self.globals: dict[tuple[int, str], int] = {}
        self.presets: dict[tuple[int, int], int] = {}
        self.constants: dict[int, int] = {}
        self.own_nodes: set[int] = set()
        self.cells: dict[int, int] = {}
        self.adopted: dict[int, Any] = {}
        self.snapshots: dict[int, Any] = {}
        self.shown: set[int] = set()  # nodes that have been operands
        self.kept: list[Any] = []
        self.lifetimes = Lifetimes()
        self.kept_bytes = 0  # of arrays that the recorded program made

    def object(self, node: int) -> Any:
        return self.nodes[node][4]

    # ---- nodes

    def add_node(self, origin: str, index: int, name: str, scope: Any, seen: Any) -> int:
        self.nodes.append((origin, index, name, scope, seen, None))
        self.lifetimes.hold(seen)
        self.lifetimes.hold(scope)
        return len(self.nodes) - 1

    def arguments(self, code: types.CodeType, slots: Sequence[Any]) -> list[int]:
        plain = code.co_argcount + code.co_kwonlyargcount
        nodes = []
        for slot in range(parameter_slots(code)):
            seen = parameter(code, slots, slot)
            nodes.append(self.add_node("argument", slot, "", None, seen))
            if slot >= plain:
                snapshot = seen if type(seen) is tuple else self.snapshot(seen)
                self.nodes[-1] = (*self.nodes[-1][:5], snapshot)
        return nodes

    def preset(self, function: Any, slot: int, seen: Any) -> int:
        known = self.presets.get((id(function), slot), NO_NODE)
        if known == NO_NODE or self.object(known) is not seen:
            known = self.add_node("default", slot, "", function, seen)
            self.presets[id(function), slot] = known
        return known

    def constant(self, seen: Any) -> int:
        if id(seen) not in self.constants:
            self.constants[id(seen)] = self.add_node("constant", 0, "", None, seen)
        return self.constants[id(seen)]

    def own(self, node: int) -> int:
        """A node for what a function is given."""
        made = node != NO_NODE and self.nodes[node][0] in ("event", "argument")
        if node == NO_NODE or made or node in self.own_nodes:
            return node
        self.nodes.append(self.nodes[node])
        self.own_nodes.add(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def made_generator(self, frame: types.FrameType) -> int:
        """The node of the generator that runs in the frame, if an event made it."""
        for number in reversed(range(len(self.nodes))):
            origin, _, _, _, seen, _ = self.nodes[number]
            if origin == "event" and getattr(seen, "gi_frame", None) is frame:
                return number
        return NO_NODE

    def global_(self, scope: dict[str, Any], name: str, seen: Any) -> int:
        key = id(scope), name
        if key not in self.globals:
            self.globals[key] = self.add_node("global", 0, name, scope, seen)
        elif self.object(self.globals[key]) is not seen:
            raise UnrecordableError(reasons.GLOBAL_OUT_OF_SIGHT(name))
        return self.globals[key]

    # ---- cells

    def adopt_cell(self, cell: Any, contents: int) -> None:
        if id(cell) not in self.adopted:
            self.adopted[id(cell)] = cell
            self.lifetimes.hold(cell)
        self.cells[id(cell)] = contents

    def is_adopted(self, cell: Any) -> bool:
        return id(cell) in self.adopted

    def set_cell(self, cell: Any, contents: int) -> None:
        self.keep(cell)
        self.cells[id(cell)] = contents

    def keep(self, thing: Any) -> None:
        self.kept.append(thing)
        self.lifetimes.hold(thing)

    def cell(self, cell: Any) -> int:
        try:
            seen = cell.cell_contents
        except ValueError:
            return NO_NODE  # reading it raises
        if id(cell) not in self.cells:
            self.cells[id(cell)] = self.add_node("closure", 0, "", cell, seen)
        known = self.cells[id(cell)]
        if known == NO_NODE or self.object(known) is not seen:
            raise UnrecordableError(reasons.CELL_OUT_OF_SIGHT())
        return known

    # ---- events

    def snapshot(self, container: Any) -> Any:
        if id(container) not in self.snapshots:
            copy = next(copy for kind, copy in _COPIES.items() if issubclass(type(container), kind))
            self.keep(container)
            self.snapshots[id(container)] = copy(container)
            self.lifetimes.hold_contents(self.snapshots[id(container)])
        return self.snapshots[id(container)]

    def add(
        self,
        kind: str,
        name: str,
        operands: Sequence[int],
        place: Place,
        keywords: Sequence[str] = (),
    ) -> int:
        if len(self.events) == _MAX_EVENTS:
            raise UnrecordableError(reasons.LONG_RECORDING(_MAX_EVENTS))
        for operand in operands:
            if operand == NO_NODE:
                raise UnrecordableError(reasons.VALUE_UNKNOWN_ORIGIN())
            seen = self.object(operand)
            cls = type(seen)
            is_container = issubclass(cls, (list, dict)) or cls is deque or cls is set
            if is_container and operand not in self.shown:
                self.shown.add(operand)
                self.nodes[operand] = (*self.nodes[operand][:5], self.snapshot(seen))
        if kind == "store_attribute" and name in ("shape", "strides", "dtype"):
            seen = self.object(operands[0])
            if type(seen) is np.ndarray:
                self.nodes[operands[0]] = (*self.nodes[operands[0]][:5], self.snapshot(seen))
        self.events.append([kind, name, list(operands), list(keywords), NO_NODE, place, False])
        return len(self.events) - 1

    def add_result(self, event: int, seen: Any) -> int:
        if self.events[event][0] != "inplace" and type(seen) is np.ndarray and seen.flags.owndata:
            self.kept_bytes += seen.nbytes
        if self.kept_bytes > _MAX_KEPT_BYTES:
            raise UnkeepableError(reasons.MUCH_MEMORY())
        if type(seen).__flags__ & 1 << 9 and hasattr(type(seen), "__del__"):
            raise UnkeepableError(reasons.OBJECT_TELLS_END())
        node = self.add_node("event", event, "", None, seen)
        self.events[event][4] = node
        return node

    def derive(self, kind: str, name: str, operands: Sequence[int], place: Place, seen: Any) -> int:
        """An event that is over at once: something a call does on its way to the body."""
        return self.add_result(self.add(kind, name, operands, place), seen)

    def is_looked_up(self, method: int, owner: int) -> bool:
        """Whether `method` came from looking it up on `owner`."""
        origin, event, *_ = self.nodes[method]
        if origin != "event" or self.events[event][0] != "attribute":
            return False
        return bool(self.events[event][2][0] == owner)

    # ---- lifetimes

    def check_dropped(self) -> None:
        """Let go of what the program has dropped, if it could see that it is still there."""
        if dropped := self.lifetimes.look():
            self.let_go(dropped)
            raise UnrecordableError(reasons.OBJECT_TELLS_END())

    def leave_frame(self, variables: Sequence[Any]) -> None:
        """A frame is about to be left, and what only its variables have is dropped."""
        self.let_go(self.lifetimes.look_without(variables))

    def let_go(self, things: list[Any]) -> None:
        dropped = {id(thing): _dvm.Dropped() for thing in things}

        def shown(thing: Any) -> Any:
            return dropped.get(id(thing), thing)

        for number, (origin, index, name, scope, seen, snapshot) in enumerate(self.nodes):
            if isinstance(snapshot, (tuple, frozenset)):
                snapshot = type(snapshot)(map(shown, snapshot))
            elif isinstance(snapshot, dict):
                snapshot = {shown(key): shown(value) for key, value in snapshot.items()}
            if id(seen) in dropped:
                snapshot = None
            self.nodes[number] = (origin, index, name, shown(scope), shown(seen), snapshot)
        if dropped:
            self.snapshots.clear()
            self.kept = [thing for thing in self.kept if id(thing) not in dropped]
            self.lifetimes = Lifetimes()  # nothing is recorded from here on

    def abort(self, reason: str, frame: types.FrameType | None) -> None:
        if not self.aborted:
            self.aborted = reason
            if frame is not None:
                self.aborted_at = (frame.f_code.co_filename, frame.f_lineno)

    def discard(self, reason: str, frame: types.FrameType | None) -> None:
        self.__init__()  # type: ignore[misc]
        self.abort(reason, frame)

    def to_dict(self) -> dict[str, Any]:
        lines: dict[types.CodeType, list[int]] = {}

        def location(place: Place) -> tuple[str, int]:
            code, index = place
            if code not in lines:
                lines[code] = [0] * (len(code.co_code) // 2)
                for begin, end, line in code.co_lines():
                    for unit in range(begin // 2, end // 2):
                        lines[code][unit] = -1 if line is None else line
            return code.co_filename, lines[code][index]

        return {
            "nodes": self.nodes,
            "events": [
                (kind, name, operands, keywords, result, location(place), followed)
                for kind, name, operands, keywords, result, place, followed in self.events
            ],
            "result": self.result,
            "aborted": self.aborted,
            "aborted_at": self.aborted_at,
            "opcodes": self.opcodes,
        }
