"""A function's operations, in an order in which what belongs together stands together."""

from __future__ import annotations

import collections
import dis
import itertools
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from dvm.magpy_capture.recording.operations import OF_VARIABLES, Operation, read_operations
from dvm.splitting.python_bytecode import UNIT, Handler, Position


class Step(NamedTuple):
    """An operation. Others are meant by their places among the steps.

    begins: whether it is the first that its instruction stands for.
    instruction, operand, position: of its instruction.
    depth: how many values are on the stack before it.
    following, target: what may come next: what is behind it, and where it jumps.
    handler: where an exception leads; None is out of the function.
    local: the variable of the function that it is about.
    in_comprehension: whether variables of a comprehension have the places of the function's.
    """

    name: str
    arg: int
    value: Any
    begins: bool
    instruction: str
    operand: int
    position: Position
    depth: int
    following: int | None
    target: int | None
    handler: Handler | None
    local: str | None
    in_comprehension: bool = False

    @property
    def successors(self) -> list[int]:
        """What may come next."""
        return [place for place in (self.following, self.target) if place is not None]

    @property
    def leads(self) -> list[int]:
        """Its successors and where an exception leads."""
        return [*self.successors, *([] if self.handler is None else [self.handler.target])]


def steps_of(code: types.CodeType) -> list[Step]:
    """All steps of a function that can be reached."""
    steps = list(_read(code))
    if any(each.name == "load_fast_and_clear" for each in steps):
        _tell_comprehensions(steps)
    order = _in_order(steps)
    places: dict[int | None, Any] = {place: at for at, place in enumerate(order)}
    return [
        each._replace(
            following=places.get(each.following),
            target=places.get(each.target),
            handler=each.handler and each.handler._replace(target=places[each.handler.target]),
        )
        for each in map(steps.__getitem__, order)
    ]


def _read(code: types.CodeType) -> Iterator[Step]:
    """The steps as they stand in the code."""
    read, written, positions = read_operations(code), code.co_code, list(code.co_positions())
    places = {each.start: place for place, each in reversed(list(enumerate(read)))}
    handlers: dict[int, Handler] = {}
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        handler = Handler(places[entry.target // UNIT], entry.depth, entry.lasti)
        handlers.update(dict.fromkeys(range(entry.start // UNIT, entry.end // UNIT), handler))
    own = {*code.co_varnames, *code.co_cellvars}
    for place, (each, depth) in enumerate(zip(read, _depths(read), strict=True)):
        digits = written[each.start * UNIT + 1 : (each.unit + 1) * UNIT : UNIT]
        operand, target = int.from_bytes(digits, "big"), each.target
        if each.name == "for_iter":  # to what a generator leaves there, and others jump over
            target = read[place + 1].start + operand
        yield Step(
            each.name,
            each.arg,
            each.value,
            places[each.start] == place,
            dis.opname[written[each.unit * UNIT]],
            operand,
            positions[each.unit],
            depth,
            place + 1 if each.goes_on and place + 1 < len(read) else None,
            None if target < 0 else places[target],
            handlers.get(each.start),
            each.value if each.name in OF_VARIABLES and each.value in own else None,
        )


def _depths(read: tuple[Operation, ...]) -> list[int]:
    """Values on the stack before each operation; at a loop's end as a generator has it."""
    depths = [each.depth for each in read]
    for place in reversed(range(len(read) - 1)):
        if depths[place] < 0 <= depths[place + 1] and read[place].name == "pop_top":
            depths[place] = depths[place + 1] + 1
    for place, (before, each) in enumerate(itertools.pairwise(read), 1):
        if each.start == before.start:
            depths[place] = depths[place - 1] + (-1 if before.name == "store_fast" else 1)
        elif before.name == "nothing" and before.goes_on:  # 3.11 counts a call's arguments there
            depths[place] = max(depths[place - 1], depths[place])
    return depths


def _tell_comprehensions(steps: list[Step]) -> None:
    """Tell variables of a comprehension from the function's of the same name.

    Since 3.12 it is no function of its own: what the function's were is on the stack meanwhile.
    """
    seen: set[int] = set()
    waiting: list[tuple[int, int, dict[int, str]]] = [(0, 0, {})]
    while waiting:
        place, depth, saved = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        each = steps[place]
        saved = {at: name for at, name in saved.items() if at < depth}
        clears = each.name == "load_fast_and_clear"
        steps[place] = each._replace(
            local=None if clears or each.local in saved.values() else each.local,
            in_comprehension=bool(saved),
        )
        if each.handler is not None:
            waiting.append((each.handler.target, each.handler.depth, saved))
        if clears:
            saved = {**saved, each.depth: each.value}
        elif each.name == "swap":
            top, other = each.depth - 1, each.depth - each.arg
            saved = {{top: other, other: top}.get(at, at): name for at, name in saved.items()}
        waiting += [(to, steps[to].depth, saved) for to in each.successors]


def _in_order(steps: list[Step]) -> list[int]:
    """Places of all that can be reached, what handles exceptions behind what may raise them.

    Since 3.12 the compiler puts it at the end of the code.
    """
    returning = _returning(steps)
    owned: set[int] = set()

    def reached(begin: int) -> list[int]:
        """All from a place on that nothing else has led to, but for exceptions.

        What does nothing but raise stands behind what leads to it: it may be at the end as well.
        """
        found, waiting = [], [begin]
        while waiting:
            if (place := waiting.pop()) not in owned:
                owned.add(place)
                found.append(place)
                waiting += steps[place].successors
        leaders = _leaders(steps, sorted(returning.intersection(found)), returning)
        return sorted(found, key=lambda place: (min(leaders.get(place, place), place), place))

    runs, begins = {0: reached(0)}, [0]
    raising: collections.Counter[int] = collections.Counter()
    for begin in begins:
        for place in runs[begin]:
            if (handler := steps[place].handler) is not None:
                raising[handler.target] += 1
                if handler.target not in owned:
                    runs[handler.target] = reached(handler.target)
                    begins.append(handler.target)
    order: list[int] = []

    def lay(begin: int) -> None:
        for place in runs.pop(begin, ()):
            order.append(place)
            if (handler := steps[place].handler) is not None:
                raising[handler.target] -= 1
                if not raising[handler.target]:
                    lay(handler.target)

    while runs:
        lay(next(iter(runs)))
    return order


def _returning(steps: list[Step]) -> set[int]:
    """Places from which the function may come to a return."""
    before = collections.defaultdict(list)
    for place, each in enumerate(steps):
        for to in each.successors:
            before[to].append(place)
    waiting = [
        place
        for place, each in enumerate(steps)
        if not each.successors and each.name not in ("raise_varargs", "reraise")
    ]
    found: set[int] = set()
    while waiting:
        if (place := waiting.pop()) not in found:
            found.add(place)
            waiting += before[place]
    return found


def _leaders(steps: list[Step], places: list[int], returning: set[int]) -> dict[int, int]:
    """The last of the places, in order, that leads to each which does not return."""
    leaders: dict[int, int] = {}
    for place in places:
        last = place
        while last + 1 < len(steps) and not steps[last + 1].begins:
            last += 1
        waiting = steps[place].successors
        while waiting:
            if (to := waiting.pop()) not in returning and leaders.get(to) != last:
                leaders[to] = last
                waiting += steps[to].successors
    return leaders
