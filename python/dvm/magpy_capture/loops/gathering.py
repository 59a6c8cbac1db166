"""Generators of which C code takes all items, as lists that are filled first.

What `sum(x * i for i in range(n))` computes is what `sum([x * i for i in range(n)])` does: nothing
of the program runs between two items. So the recording of the one is read as one of the other: the
body of the generator as a call that appends what it yields to a list, and behind it the call that
took the items. Its loops are then loops like others.
"""

from __future__ import annotations

import dis
import functools
import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dvm.magpy_capture.loops.code import FILLED

#: functions that take all items, and do nothing else before that the program could see
TAKE_ALL = frozenset({frozenset, list, max, min, set, sorted, sum, tuple})
Event = tuple[Any, ...]


@dataclass
class Taken:
    """A generator and who takes its items.

    made, asked: events: the call of its function, and the one that it is handed to.
    given: of a parameter of its function, the node that stands for it; function: likewise.
    body: events of its body, and how many frames are open within it.
    end: the event at its end.
    """

    made: int
    asked: int
    given: dict[int, int] = field(default_factory=dict)
    function: int = -1
    body: list[tuple[int, int]] = field(default_factory=list)
    end: int = -1


def gather(recording: dict[str, Any]) -> None:
    """Read such generators of a recording as lists, those within others first."""
    if any(event[0] == "resumes" for event in recording["events"]):
        while (taken := next(_found(recording), None)) is not None:
            _read_as_list(recording, taken)


def _found(recording: dict[str, Any]) -> Iterator[Taken]:
    events, nodes = recording["events"], recording["nodes"]
    for asked, (kind, name, operands, keywords, _, _, followed) in enumerate(events):
        if kind != "call" or name or keywords or followed or len(operands) < 2:
            continue
        callee, generator = nodes[operands[0]][4], nodes[operands[1]]
        takes_all = isinstance(callee, type | types.BuiltinFunctionType) and callee in TAKE_ALL
        if not takes_all or not isinstance(generator[4], types.GeneratorType):
            continue
        origin, made, _, _, seen, _ = generator
        if origin != "event" or events[made][0] != "call" or events[made][3] or events[made][6]:
            continue
        if not _only_yields(seen.gi_code):
            continue
        taken = Taken(made, asked)
        if _fill(taken, events, nodes, seen) and _is_used_once(taken, recording, seen):
            yield taken


def _fill(taken: Taken, events: list[Event], nodes: list[Any], generator: Any) -> bool:
    """Whether nothing else runs while it gives its items, to its end."""
    depth, waits = 0, True
    for number in range(taken.asked + 1, len(events)):
        kind, name, operands, _, result, *_ = events[number]
        if kind == "resumes":
            if not waits or nodes[operands[0]][4] is not generator:
                return False
            waits = False
            continue
        if waits or kind == "throws" or (kind == "header" and name.count(" ") > 2):
            return False
        if kind == "given" and depth == 0:
            taken.given[int(name)], taken.function = result, operands[0]
            continue
        depth += kind == "enter"
        if kind == "leave" and depth == 1:
            taken.end = number
            parameters = len(events[taken.made][2]) - 1
            return name != "raised" and list(taken.given) == list(range(parameters))
        if kind == "yields":
            waits = True
            if depth != 1:
                return False
        taken.body.append((number, depth))
        depth -= kind == "leave"
    return False


def _is_used_once(taken: Taken, recording: dict[str, Any], generator: Any) -> bool:
    nodes = recording["nodes"]
    uses = [
        number
        for number, event in enumerate(recording["events"])
        if any(nodes[node][4] is generator for node in event[2])
    ]
    return uses[0] == taken.asked and uses[-1] < taken.end


@functools.lru_cache(maxsize=256)
def _only_yields(code: types.CodeType) -> bool:
    """Whether nothing that is sent to it matters."""
    if not code.co_flags & inspect.CO_GENERATOR:
        return False
    names = [each.opname for each in dis.get_instructions(code)]
    places = [place for place, name in enumerate(names) if name == "YIELD_VALUE"]
    return "SEND" not in names and all(
        names[place + 1 : place + 3] == ["RESUME", "POP_TOP"] for place in places
    )


def _read_as_list(recording: dict[str, Any], taken: Taken) -> None:
    old, nodes = recording["events"], list(recording["nodes"])
    call = old[taken.made]
    generator = call[4]
    items = [nodes[old[number][2][0]][4] for number, _ in taken.body if old[number][0] == "yields"]
    events: list[Event] = []
    places: dict[int, int] = {}  # of events, by the ones that they had

    def take(*numbers: int) -> None:
        for number in numbers:
            places[number] = len(events)
            events.append(old[number])

    first = len(nodes)

    def new_list(is_empty: bool) -> int:
        nodes.append(("event", filled, "", None, items, () if is_empty else None))
        return len(nodes) - 1

    take(*range(taken.made), *range(taken.made + 1, taken.asked))
    places[taken.made] = len(events)
    events.append((*call[:6], True))
    ((enter, _), *body) = taken.body
    take(enter)
    filled = len(events)
    current = new_list(True)
    events.append(("list", "", [], [], current, old[enter][5], False))
    is_empty = True
    for number, depth in body:
        kind, name, operands, keywords, result, at, followed = old[number]
        places[number] = len(events)
        if depth == 1 and kind in ("header", "out"):
            half, last = len(keywords), current
            current = new_list(is_empty and kind == "header")
            operands = [*operands[: 1 + half], last, *operands[1 + half :], current]
            keywords = [*keywords, FILLED]
        elif depth == 1 and kind == "yields":
            kind, operands, is_empty = "list_append", [current, *operands], False
        events.append((kind, name, operands, keywords, result, at, followed))
    kind, name, _, *rest = old[taken.end]
    places[taken.end] = len(events)
    events.append((kind, name, [current], *rest))
    take(taken.asked, *range(taken.end + 1, len(old)))

    renamed = {node: call[2][1 + place] for place, node in taken.given.items()}
    renamed[taken.function] = call[2][0]
    for place, (origin, index, *others) in enumerate(nodes[:first]):
        if origin == "event" and index in places:
            nodes[place] = (origin, places[index], *others)
    nodes[generator] = (*nodes[generator][:4], items, None)
    recording["events"] = [
        (kind, name, [renamed.get(node, node) for node in operands], *rest)
        for kind, name, operands, *rest in events
    ]
    recording["nodes"] = nodes


__all__ = ["gather"]
