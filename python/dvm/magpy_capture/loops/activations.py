"""Finds the activations of functions that call themselves, and reads one as a recording of its own.

What calls itself is told by the recording alone: an activation within another one of the same
function. Its activations that are not within another one are the outermost.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections import Counter
from dataclasses import dataclass
from typing import Any

from dvm import _dvm, classes, reasons
from dvm.magpy_capture.libraries import is_array
from dvm.magpy_capture.loops.parts import cut_out
from dvm.magpy_capture.loops.recorded_loops import BLANK, variables_at
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import is_settled
from dvm.magpy_capture.walk.callbacks import RESUMING

Event = tuple[Any, ...]


@dataclass(eq=False)
class Activation:
    """A run of a Python function from its beginning to its return.

    enter, leave: its first and last event; those before and behind all of the recorded call.
    is_outermost: whether no other one of its function is around it, but for the recorded call.
    """

    function: types.FunctionType
    enter: int
    leave: int = -1
    is_outermost: bool = False

    @functools.cached_property
    def key(self) -> tuple[Any, ...]:
        """Equal for all activations that run the same code on the same variables around it."""
        cells = tuple(map(id, self.function.__closure__ or ()))
        return self.function.__code__, id(self.function.__globals__), cells

    @property
    def parameters(self) -> int:
        """How many values it begins with."""
        code = self.function.__code__
        stars = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
        plain = code.co_argcount + code.co_kwonlyargcount
        return plain + sum(bool(code.co_flags & star) for star in stars)

    def given(self, recording: dict[str, Any]) -> list[int]:
        """The nodes of what it begins with; none of the recorded call."""
        return [] if self.enter < 0 else recording["events"][self.enter][2][:-1]

    def result(self, recording: dict[str, Any]) -> int:
        """The node of what it returns."""
        if self.enter < 0:
            return int(recording["result"])
        return int(recording["events"][self.leave][2][0])


def within(recording: dict[str, Any], activation: Activation) -> list[Activation]:
    """It, and all of its function that are within it; the innermost first."""
    found = [
        each
        for each in recording["activations"]
        if activation.enter <= each.enter
        and each.leave <= activation.leave
        and each.key == activation.key
    ]
    return sorted(found, key=lambda each: each.leave)


def recursive_activations(
    recording: dict[str, Any], function: types.FunctionType
) -> list[Activation]:
    """Those of functions that call themselves, by their beginnings; the recorded call is one."""
    events, nodes = recording["events"], recording["nodes"]
    leaves = (events[number] for number in recording["marks"] if events[number][0] == "leave")
    if all(own < 0 for _, _, _, _, own, *_ in leaves):  # which the recorder gives such results
        return []
    root = Activation(function, -1, len(events), is_outermost=True)
    frames: list[Activation | None] = [root]  # None: of a generator, which may rest
    made = [] if recording["aborted"] else [root]
    refused: set[tuple[Any, ...]] = set()
    recursive: set[tuple[Any, ...]] = set()
    opened = Counter([root.key])  # how many frames of each are open
    resumed = -2  # the last of the events that begin the body of a generator
    for number in recording["marks"]:
        kind, name, operands, *_ = events[number]
        if kind == "enter" and resumed != number - 1:  # else the frame is open already
            frames.append(begun := Activation(nodes[operands[-1]][4], number))
            opened[begun.key] += 1
        elif kind in RESUMING:
            resumed = number
            frames.append(None)
        elif kind == "given" and resumed == number - 1:
            resumed = number
        elif kind in ("leave", "yields") and len(frames) > 1:
            done = frames.pop()
            if done is None:
                continue
            done.leave = number
            opened[done.key] -= 1
            if opened[done.key]:
                recursive.add(done.key)
            done.is_outermost = opened[done.key] == (done.key == root.key)
            if kind == "yields" or name or not operands:  # an exception, an end without an item
                refused.add(done.key)
            made.append(done)
    made = [each for each in made if each.key in recursive - refused]
    settled = _keys_of_settled(recording, made)
    return sorted((each for each in made if each.key not in settled), key=lambda each: each.enter)


def _keys_of_settled(
    recording: dict[str, Any], activations: list[Activation]
) -> set[tuple[Any, ...]]:
    """Those of which activations are about different objects that mostly stay as they are.

    A module within a module of its class is no recursion over data: each is about another one, and
    there are as many in each call.
    """
    nodes = recording["nodes"]
    arguments = [node[4] for node in nodes if node[0] == "argument"]
    met: dict[tuple[Any, ...], list[Any]] = {}
    found = set()
    for each in activations:
        given = [nodes[node][4] for node in each.given(recording)] or arguments
        settled = [value if is_settled(type(value)) else None for value in given]
        first = met.setdefault(each.key, settled)
        if any(a is not b for a, b in zip(first, settled, strict=False)):
            found.add(each.key)
    return found


#: events whose result is something of the caller's that may go to an activation as it is found
FINDS = ("attribute", "next", "subscript", "unpack")


def handed_nodes(recording: dict[str, Any], activations: list[Activation]) -> set[int]:
    """Nodes of what is found for these activations, and used for nothing else.

    The call of a function and its beginning have its arguments; arguments of the recorded call are
    among these nodes, too.
    """
    if not activations:
        return set()
    events, nodes = recording["events"], recording["nodes"]
    begin, handed, used = recording.get("begin", 0), set(), {recording["result"]}
    own: list[Event] = []
    for each in activations:
        given = each.given(recording)
        before = events[each.enter - 1]
        calls = before[0] == "call" and before[6] and not before[3]
        handed.update(given)
        own += events[begin : each.enter - calls]
        if calls:
            used.update(node for node in before[2] if node not in given)
        begin = each.leave + 1
    own += events[begin:]
    marks = [event for event in own if event[0] in ("header", "out")]
    for event in own:
        if event[0] not in ("header", "out"):
            used.update(event[2])
    for event in reversed(marks):
        used.update(old for _, old, new in variables_at(event) if new in used)
    return {
        node
        for node in handed - used
        if node >= 0
        and (
            nodes[node][0] == "argument"
            or (nodes[node][0] == "event" and events[nodes[node][1]][0] in FINDS)
        )
    }


#: events that compute
COMPUTES = frozenset({"binary", "call", "compare", "inplace", "subscript", "unary"})


def makes_arrays(recording: dict[str, Any], activation: Activation) -> bool:
    """Whether something within computes one, and does not only hand it on or take it apart."""
    events, nodes = recording["events"], recording["nodes"]
    return any(
        kind in COMPUTES and result >= 0 and is_array(nodes[result][4])
        for kind, _, _, _, result, *_ in events[max(activation.enter, 0) : activation.leave]
    )


def shape_of(recording: dict[str, Any], activation: Activation, called: dict[int, int]) -> int:
    """Equal where they did the same with values of the same kinds, whatever those within did.

    called: of all activations of the function, their first and their last events.
    """
    begin, end = max(activation.enter, 0), min(activation.leave + 1, len(recording["events"]))
    nodes, events = recording["nodes"], recording["events"]
    shape, _ = _dvm.shape_of_turn(nodes, events, begin, end, {}, called)
    return shape


def whole_shape_of(recording: dict[str, Any], activation: Activation) -> int:
    """The same with all that is within."""
    begin, end = max(activation.enter, 0), activation.leave
    shape, _ = _dvm.shape_of_turn(recording["nodes"], recording["events"], begin, end, {}, {})
    return shape


def activation_recording(recording: dict[str, Any], activation: Activation) -> dict[str, Any]:
    """The activation as the recording of a call of its function.

    Numbers of events stay what they are, for nodes refer to them.

    Raises:
        NotCapturable: where it uses a value that it was not given.
    """
    events, nodes = recording["events"], list(recording["nodes"])
    begin, end = activation.enter + 1, activation.leave
    given = activation.given(recording)
    places: dict[int, int] = {}
    same: list[tuple[int, int]] = []
    for place, node in enumerate(given):
        if node in places:
            same.append((places[node], place))
            continue
        places[node] = place
        nodes[node] = ("argument", place, "", None, *nodes[node][4:])
    if activation.enter < 0:
        given = [number for number, node in enumerate(nodes) if node[0] == "argument"]
    uses = _dvm.TurnNodes(nodes, events, begin, end, given)
    result = activation.result(recording)
    outside = uses.outside if uses.is_inside(result) else result
    if outside >= 0:
        kind = classes.name_of(type(nodes[outside][4]))
        raise refuse(reasons.RECURSION_OUTSIDE, kind)
    return {
        **cut_out(recording, begin, end),
        "nodes": nodes,
        "events": [*[BLANK] * begin, *events[begin:end]],
        "begin": begin,
        "variables": 0,
        "same": same,
        "snapshots": recording["snapshots"],
        "result": result,
    }


__all__ = [
    "Activation",
    "activation_recording",
    "handed_nodes",
    "makes_arrays",
    "recursive_activations",
    "shape_of",
    "whole_shape_of",
    "within",
]
