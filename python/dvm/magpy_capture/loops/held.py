"""Attributes that a loop changes, as variables of it.

Nobody sees the object between two turns, so `self.total += x` does in a turn what `total += x`
does: the attribute is read before the loop, handed from turn to turn, and set behind it. An array
that turns write into and find in an attribute is a variable likewise, which they do not set.

The object must be a variable that no turn sets. Another object of which the turns read or set an
attribute of that name might be the same one on another call, so that there must be none.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dvm import reasons
from dvm.classes import is_mutable_class
from dvm.magpy_capture.libraries import is_array
from dvm.magpy_capture.loops.bodies import effect
from dvm.magpy_capture.loops.code import Held
from dvm.magpy_capture.loops.layer import LoopPart
from dvm.magpy_capture.loops.recorded_loops import RecordedLoop, variables_at
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import Instance, resolve
from dvm.magpy_capture.values.kinds import MISSING, class_attribute

ACCESSES = frozenset({"attribute", "store_attribute"})
TELLING = ACCESSES | {"store_subscript", "inplace"}
UNKNOWN = object()


@dataclass
class Changes:
    """What the call has changed: attributes, by object and name, and arrays, by their ids.

    reads: whether it reads attributes of instances at all.
    """

    attributes: set[tuple[int, str]]
    arrays: set[int]
    reads: bool = False


def changes_of(recording: dict[str, Any]) -> Changes:
    """Those of the whole recording."""
    nodes, found = recording["nodes"], Changes(set(), set())
    for event in recording["events"]:  # there are many: parts are asked for one by one
        kind = event[0]
        if kind not in TELLING:
            continue
        seen = nodes[event[2][0]][4]
        if kind == "store_attribute":
            found.attributes.add((id(seen), event[1]))
        elif kind != "attribute":
            found.arrays.add(id(seen))
        elif not found.reads:
            found.reads = is_mutable_class(type(seen))
    return found


def hold_all(recording: dict[str, Any]) -> None:
    """Make variables of the attributes that have to be, in each loop where that can be."""
    changes = changes_of(recording) if recording["loops"] else Changes(set(), set())
    for turns in recording["loops"] if changes.reads else ():
        _hold(recording, turns, changes)


def _hold(recording: dict[str, Any], turns: RecordedLoop, changes: Changes) -> None:
    accesses = list(_accesses(recording, turns))
    wanted = _wanted(accesses, changes)
    seen = _at_marks(recording, turns, accesses, wanted) if wanted else None
    if seen is None:
        return
    turns.held = tuple(wanted)
    del turns.loop  # it has other variables now
    nodes, events = recording["nodes"], recording["events"]
    for number, values in seen.items():
        kind, name, operands, keywords, *rest = events[number]
        half = len(keywords)
        made = range(len(nodes), len(nodes) + 2 * len(values))
        nodes += [("event", number, "", None, value, None) for value in values * 2]
        before, behind = operands[1 : 1 + half], operands[1 + half :]
        known = [operands[0], *before, *made[: len(values)], *behind, *made[len(values) :]]
        names = [*keywords, *(each.name for each in wanted)]
        events[number] = (kind, name, known, names, *rest)


@dataclass
class Access:
    """An attribute that an event reads or sets. held: none, of an object that is no variable."""

    number: int
    attribute: str
    held: Held | None
    base: Any
    value: Any
    sets: bool


def _accesses(recording: dict[str, Any], turns: RecordedLoop) -> Iterator[Access]:
    """Those of instances of the program's classes, in order."""
    events, nodes = recording["events"], recording["nodes"]
    variables = {
        node: name
        for name, _, node in variables_at(events[turns.enter])
        if name not in turns.loop.stored
    }
    for number in range(turns.enter + 1, turns.out):
        kind, name, operands, _, result, _, followed = events[number]
        if kind in ("header", "out"):
            for _, old, new in variables_at(events[number]):
                if old in variables:
                    variables[new] = variables[old]
        elif kind in ACCESSES or kind == "delete_attribute":
            base = nodes[operands[0]][4]
            if issubclass(type(base), type) or not is_mutable_class(type(base)):
                continue
            variable = variables.get(operands[0])
            is_plain = kind in ACCESSES and not followed and variable is not None
            held = Held(variable, name) if is_plain and variable is not None else None
            value = result if kind == "attribute" else operands[-1]
            seen = nodes[value][4] if value >= 0 else UNKNOWN
            yield Access(number, name, held, base, seen, kind != "attribute")


def _wanted(accesses: list[Access], changes: Changes) -> list[Held]:
    """The attributes that become variables; none where one of them cannot."""
    found: dict[Held, Any] = {}
    for each in accesses:
        is_changed = (id(each.base), each.attribute) in changes.attributes
        is_written = is_array(each.value) and id(each.value) in changes.arrays
        if each.held is not None and (is_changed or is_written):
            found[each.held] = each.base
    names = {held.attribute for held in found}
    elsewhere = any(each.held is None and each.attribute in names for each in accesses)
    several = {id(base): held.variable for held, base in found.items()}
    is_twice = any(several[id(base)] != held.variable for held, base in found.items())
    return list(found) if not elsewhere and not is_twice else []


def _at_marks(
    recording: dict[str, Any], turns: RecordedLoop, accesses: list[Access], wanted: list[Held]
) -> dict[int, list[Any]] | None:
    """What they were before each turn and behind the loop; None where that was not seen.

    Before a turn that sets one at once, anything will do.
    """
    events = recording["events"]
    marks = [*turns.headers, turns.out]
    values: dict[int, list[Any]] = {mark: [] for mark in marks}
    for held in wanted:
        own = [each for each in accesses if each.held == held]
        place, current = 0, UNKNOWN
        for mark in marks:
            while place < len(own) and own[place].number < mark:
                current = own[place].value
                place += 1
            is_behind_skipped = events[mark][0] == "header" and len(events[mark][1].split()) > 3
            if current is UNKNOWN or is_behind_skipped:
                current = own[place].value if place < len(own) else UNKNOWN
            if current is UNKNOWN:
                return None
            values[mark].append(current)
    return values


class HeldAttributes(LoopPart):
    """What a path does with them: before a loop that is rolled, in its turns, and behind it."""

    needs = "instances program record recorded"

    def base(self, node: int) -> Instance:
        found = self.recorded.value(node)
        if not isinstance(found, Instance):
            raise refuse(reasons.LOOP_VARIABLE, "an object with attributes", describe(found))
        return found

    def read(self, turns: RecordedLoop, nodes: dict[str, int]) -> None:
        """Before the loop they have these values. Objects in several variables are several."""
        bases = {each.variable: self.base(nodes[each.variable]) for each in turns.held}
        for each in turns.held:
            base, node = bases[each.variable], nodes[each.name]
            value = self.instances.instance_attribute(base, each.attribute, self.record.seen(node))
            found = class_attribute(base.cls, each.attribute)
            is_own = found is MISSING or type(found) is types.MemberDescriptorType
            if not is_own or each.attribute not in base.attributes:  # its class has it, too
                raise refuse(reasons.LOOP_EFFECT, effect("set attribute"))
            self.recorded.values[node] = value
        registers = {base.register for base in bases.values() if base.register >= 0}
        for pair in itertools.combinations(sorted(registers), 2):
            self.program.guard("guard_same", *pair, False)

    def put_back(self, turns: RecordedLoop, before: dict[str, int], behind: dict[str, int]) -> None:
        """Behind the loop they are what the last turn left."""
        for each in turns.held:
            base, value = self.base(before[each.variable]), self.recorded.value(behind[each.name])
            if value is not resolve(base.attributes[each.attribute]):
                base.change(each.attribute, value)

    def apart(self, turns: RecordedLoop, nodes: dict[str, int], values: list[Any]) -> set[int]:
        """The ids of those objects of which all that is changed is among these variables."""
        own: dict[int, set[str]] = {}
        for each in turns.held:
            own.setdefault(id(self.base(nodes[each.variable])), set()).add(each.attribute)
        return {
            id(value)
            for value in values
            if isinstance(value, Instance)
            and value.register >= 0
            and id(value) in own
            and own[id(value)] >= set(value.changed)
        }

    def let_go(self) -> None:
        """A turn hands them on: what it set is for the loop to set."""
        for node, name in self.record.recording.get("held", ()):
            self.base(node).changed.pop(name, None)


def check_steps(turns: RecordedLoop, steps: list[Any]) -> None:
    """No step of a turn looks at the attributes, which the objects do not have yet.

    Raises:
        NotCapturable: where one may.
    """
    names = {each.attribute for each in turns.held}
    for name, *rest in steps if names else ():
        is_read = name in ("attribute", "getattr") and rest[2] in (*names, "__dict__")
        is_asked = name == "guard_lacks" and rest[1] in names
        is_asked = is_asked or (name == "guard_bare" and not names.isdisjoint(rest[1] + rest[2]))
        if is_read or is_asked or (name == "call" and rest[-1] is True):
            raise refuse(reasons.LOOP_STATE, "an object that the loop may look at")


__all__ = ["HeldAttributes", "check_steps", "hold_all"]
