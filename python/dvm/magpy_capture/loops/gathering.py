"""Generators whose items C code takes, read as calls of functions.

What `sum(x * i for i in range(n))` computes is what `sum([x * i for i in range(n)])` does: nothing
of the program runs between two items. So the recording of the one is read as one of the other: the
body of the generator as a call that appends what it yields to a list, and behind it the call that
took the items. `any` and `all` take items until one decides: they are read as a call of a function
that returns from within its loops. The loops are then loops like others.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dvm.magpy_capture.libraries import is_scalar
from dvm.magpy_capture.loops.code import FILLED
from dvm.magpy_capture.recording.operations import operations
from dvm.magpy_capture.values.kinds import PURE_TYPES

#: functions that take all items, and do nothing else before that the program could see
TAKE_ALL = frozenset({frozenset, list, max, min, set, sorted, sum, tuple})
#: functions that take items until the truth of one is that
DECIDE = {any: True, all: False}
Event = tuple[Any, ...]


@dataclass
class Taken:
    """A generator and who takes its items.

    made, asked: events: the call of its function, and the one that it is handed to.
    given: of a parameter of its function, the node that stands for it; function: likewise.
    body: events of its body, and how many frames are open within it.
    end: the event at its end, or the one behind the item that decided.
    deciding: of DECIDE, if it is one of those; decided: whether an item did.
    """

    made: int
    asked: int
    given: dict[int, int] = field(default_factory=dict)
    function: int = -1
    body: list[tuple[int, int]] = field(default_factory=list)
    end: int = -1
    deciding: bool | None = None
    decided: bool = False


def gather(recording: dict[str, Any]) -> None:
    """Read such generators of a recording as calls, those within others first."""
    while taken := list(_found(recording)):
        _Reading(recording, taken).run()


def _found(recording: dict[str, Any]) -> Iterator[Taken]:
    events, nodes = recording["events"], recording["nodes"]
    candidates = [
        number
        for number, event in enumerate(events)
        if event[0] == "call" and _hands_on(event, nodes)
    ]
    uses = _uses_of_generators(recording) if candidates else {}
    for asked in candidates:
        operands = events[asked][2]
        callee = nodes[operands[0]][4]
        origin, made, _, _, seen, _ = nodes[operands[1]]
        if origin != "event" or events[made][0] != "call" or events[made][3] or events[made][6]:
            continue
        if not _only_yields(seen.gi_code):
            continue
        taken = Taken(made, asked, deciding=DECIDE.get(callee) if callee not in TAKE_ALL else None)
        first, last = uses[id(seen)][0], uses[id(seen)][-1]
        if first == asked and _fill(taken, events, nodes, seen) and last < taken.end:
            yield taken


def _hands_on(event: Event, nodes: list[Any]) -> bool:
    """Whether the call gives a generator to a function that takes its items."""
    _, name, operands, keywords, _, _, followed = event
    if name or keywords or followed or len(operands) < 2:
        return False
    callee = nodes[operands[0]][4]
    if type(callee) not in (type, types.BuiltinFunctionType):
        return False
    is_generator = type(nodes[operands[1]][4]) is types.GeneratorType
    return is_generator and (callee in TAKE_ALL or callee in DECIDE)


def _uses_of_generators(recording: dict[str, Any]) -> dict[int, list[int]]:
    """The events that have each of them as an operand, by their ids."""
    uses: dict[int, list[int]] = {}
    nodes = recording["nodes"]
    generators = {
        place: id(node[4])
        for place, node in enumerate(nodes)
        if type(node[4]) is types.GeneratorType
    }
    has_none = generators.keys().isdisjoint
    for number, event in enumerate(recording["events"]):
        if not has_none(event[2]):
            for node in event[2]:
                if node in generators:
                    uses.setdefault(generators[node], []).append(number)
    return uses


def _fill(taken: Taken, events: list[Event], nodes: list[Any], generator: Any) -> bool:
    """Whether nothing else runs while it gives its items, to its end."""
    depth, waits = 0, True
    number = taken.asked
    while (number := number + 1) < len(events):
        kind, name, operands, _, result, *_ = events[number]
        if kind == "resumes":
            if not waits or nodes[operands[0]][4] is not generator:
                return False
            waits = False
            continue
        if waits and taken.deciding is not None and taken.body:
            break
        if waits or kind == "throws" or (kind == "header" and name.count(" ") > 2):
            return False
        if kind == "given" and depth == 0:
            taken.given[int(name)], taken.function = result, operands[0]
            continue
        depth += kind == "enter"
        if kind == "leave" and depth == 1:
            taken.end = number
            return name != "raised" and _is_whole(taken, events, nodes)
        if kind == "yields":
            waits = True
            if depth != 1:
                return False
        taken.body.append((number, depth))
        depth -= kind == "leave"
    taken.end, taken.decided = number, waits and taken.deciding is not None
    return taken.decided and _is_whole(taken, events, nodes)


def _is_whole(taken: Taken, events: list[Event], nodes: list[Any]) -> bool:
    """Whether the recording shows what it was called with, and all that it gave."""
    if list(taken.given) != list(range(len(events[taken.made][2]) - 1)):
        return False
    if taken.deciding is None:
        return True
    items = [nodes[events[at][2][0]][4] for at, _ in taken.body if events[at][0] == "yields"]
    # Others may run code of the program when they are asked for their truth.
    if not all(type(item) in PURE_TYPES or is_scalar(item) for item in items):
        return False
    truths = [bool(item) == taken.deciding for item in items]
    return truths == [*[False] * (len(items) - taken.decided), *[True] * taken.decided]


@functools.lru_cache(maxsize=256)
def _only_yields(code: types.CodeType) -> bool:
    """Whether nothing that is sent to it matters."""
    if not code.co_flags & inspect.CO_GENERATOR:
        return False
    names = [each.name for each in operations(code)]
    places = [place for place, name in enumerate(names) if name == "yield_value"]
    return "send" not in names and all(
        names[place + 1 : place + 3] == ["resume", "pop_top"] for place in places
    )


class _Reading:
    """The events and nodes of a recording, where generators are calls of functions."""

    def __init__(self, recording: dict[str, Any], taken: list[Taken]) -> None:
        self.recording, self.all = recording, taken
        self.old: list[Event] = recording["events"]
        self.nodes = list(recording["nodes"])
        self.before = len(self.nodes)
        self.events: list[Event] = []
        self.places: dict[int, int] = {}  # of events, by the ones that they had
        self.renamed: dict[int, int] = {}  # nodes that stand for others
        self.open: list[tuple[int, Event]] = []  # loops: where they begin, the last header
        self.behind: dict[int, int] = {}  # nodes of variables: their later ones

    def run(self) -> None:
        old, asked = self.old, {taken.asked: taken for taken in self.all}
        made = {taken.made for taken in self.all}
        number = 0
        for stop in [*sorted({*asked, *made}), len(old)]:
            if stop < number:  # within a body
                continue
            self.take_all(number, stop)
            number = self.read(asked[stop]) if stop in asked else stop + (stop in made)
        for place, (origin, index, *others) in enumerate(self.nodes[: self.before]):
            if origin == "event" and self.places.get(index, index) != index:
                self.nodes[place] = (origin, self.places[index], *others)
        renamed, stay = self.renamed, self.renamed.keys().isdisjoint
        self.recording["events"] = [
            event
            if stay(event[2])
            else (*event[:2], [renamed.get(node, node) for node in event[2]], *event[3:])
            for event in self.events
        ]
        self.recording["nodes"] = self.nodes
        self.recording["result"] = self._last(self.recording["result"])

    def read(self, taken: Taken) -> int:
        """The generator as a call; which event goes on behind it."""
        old = self.old
        call = old[taken.made]
        self.renamed.update({node: call[2][1 + at] for at, node in taken.given.items()})
        self.renamed[taken.function] = call[2][0]
        if taken.deciding is None:
            self.places[taken.made] = len(self.events)
            self.add(*call[:6], True)
            self.fill_list(taken)
            self.take(taken.asked)
            return taken.end + 1
        # The call is not there any more, but its callee is still what the name stands for.
        callee, at = old[taken.asked][2][0], old[taken.asked][5]
        same = self.node("event", len(self.events), "", None, True, None)
        self.add("is", "is", [callee, callee], [], same, at, False)
        self.places[taken.asked] = len(self.events)
        self.add(*call[:4], *old[taken.asked][4:6], True)
        self.search(taken, taken.deciding)
        return taken.end + (not taken.decided)

    def take_all(self, begin: int, end: int) -> None:
        """Events that stay what they are."""
        if self.behind:
            for number in range(begin, end):
                self.take(number)
            return
        self.places.update(zip(range(begin, end), itertools.count(len(self.events))))
        self.events += self.old[begin:end]

    def take(self, number: int) -> None:
        self.places[number] = len(self.events)
        self.add(*self.old[number])

    def add(self, kind: str, name: str, operands: list[int], *rest: Any) -> None:
        """An event, which knows variables by the last of their nodes."""
        self.events.append((kind, name, list(map(self._last, operands)), *rest))

    def _last(self, node: int) -> int:
        while node in self.behind:
            node = self.behind[node]
        return node

    def node(self, *parts: Any) -> int:
        self.nodes.append(parts)
        return len(self.nodes) - 1

    def fill_list(self, taken: Taken) -> None:
        """The body, which appends to a list and returns that, which was the generator."""
        old = self.old
        ((enter, _), *body) = taken.body
        yields = [old[number][2][0] for number, _ in body if old[number][0] == "yields"]
        items = [self.nodes[node][4] for node in yields]
        self.take(enter)
        filled = len(self.events)
        snapshot: Any = ()  # of the list, while it is empty
        current = self.node("event", filled, "", None, items, snapshot)
        self.add("list", "", [], [], current, old[enter][5], False)
        for number, depth in body:
            kind, name, operands, keywords, *rest = old[number]
            self.places[number] = len(self.events)
            if depth == 1 and kind in ("header", "out"):
                half, last = len(keywords), current
                current = self.node("event", filled, "", None, items, snapshot)
                operands = [*operands[: 1 + half], last, *operands[1 + half :], current]
                keywords = [*keywords, FILLED]
            elif depth == 1 and kind == "yields":
                kind, operands, snapshot = "list_append", [current, *operands], None
            self.add(kind, name, operands, keywords, *rest)
        kind, name, _, *rest = old[taken.end]
        self.places[taken.end] = len(self.events)
        self.add(kind, name, [current], *rest)
        generator = old[taken.made][4]
        self.nodes[generator] = (*self.nodes[generator][:4], items, None)

    def search(self, taken: Taken, deciding: bool) -> None:
        """The body, which returns where an item decides, and at its end."""
        at: Any = None
        self.open = []
        for number, depth in taken.body:
            kind, name, operands, keywords, result, at, followed = self.old[number]
            self.places[number] = len(self.events)
            if depth == 1 and kind == "yields":
                truth = bool(self.nodes[operands[0]][4])
                kind, keywords = "branch", [str(int(truth))]
            elif depth == 1:
                self._follow(self.old[number])
            self.add(kind, name, operands, keywords, result, at, followed)
        if taken.decided:
            self._leave_loops(taken, at)
        answer = self.node("constant", 0, "", None, deciding == taken.decided, None)
        self.add("leave", "", [answer], [], -1, at, False)

    def _follow(self, event: Event) -> None:
        kind, name, *_ = event
        if kind == "header":
            how, begin, *_ = name.split()
            if how == "again":
                self.open.pop()
            self.open.append((int(begin), event))
        elif kind == "out":
            self.open.pop()

    def _leave_loops(self, taken: Taken, at: Any) -> None:
        """Where the function returns from within them. Variables that it closes over live on."""
        code = self.nodes[taken.function][4].__code__
        returns = operations(code)[-1].unit
        current: dict[str, int] = {}
        for begin, (_, _, operands, keywords, *_) in reversed(self.open):
            half = len(keywords)
            last = [
                current.get(name, node)
                for name, node in zip(keywords, operands[1 + half :], strict=True)
            ]
            new = [self.node(*self.nodes[node]) for node in last]
            made = [operands[0], *last, *new]
            self.add("out", f"{begin} {returns}", made, keywords, -1, at, False)
            self.behind.update(zip(last, new, strict=True))
            self.behind.update(zip(operands[1 + half :], new, strict=True))
            current.update(zip(keywords, new, strict=True))


__all__ = ["gather"]
