"""Pieces of what stays uncompiled, moved out into functions that are compiled (outlining).

What cannot be compiled may stand in a loop, a `with`, a `try` or a branch, at whose ends a function
cannot be cut: values lie on the stack there, and jumps lead past. So this statement stays, and the
others of the block become calls: where such a piece began is a jump to the end of the code, where
a function is called with the locals that the piece reads, and gives those that it sets.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dvm.splitting.cuts import OF_THE_WHOLE, SUSPENDED, WORK
from dvm.splitting.flow import DELETES, READS, STORES, WRITES, Flow
from dvm.splitting.parts import remade
from dvm.splitting.python_bytecode import Handler, Row, call, placed
from dvm.splitting.steps import Step

#: Operations that leave a function, or belong to how its frame is made or waits.
NOT_MOVED = frozenset(
    {"return_value", "yield_value", "send", "asynchronous", "exception_group"}
    | {"resume", "load_closure", "make_cell"}
)
MAKES_NOTHING = ("store_", "pop_", "delete_", "jump_", "nothing", "kw_names")
#: How many values on the stack an operation looks at, where that is not what it takes: besides as
#: many as its operand says, or in all.
BESIDES_OPERAND = {
    **dict.fromkeys(("copy", "swap", "raise_varargs"), 0),
    **dict.fromkeys(("list_append", "list_extend", "set_add", "set_update", "dict_update"), 1),
    "reraise": 1,
    "map_add": 2,
    "dict_merge": 3,
    "with_except_start": 4,
}
IN_ALL = {
    **dict.fromkeys(("load_method", "load_special", "before_with", "import_from", "for_iter"), 1),
    **dict.fromkeys(("jump_if_true_or_pop", "jump_if_false_or_pop", "push_exc_info"), 1),
    **dict.fromkeys(("unpack_sequence", "unpack_ex", "get_len"), 1),
    **dict.fromkeys(("match_sequence", "match_mapping"), 1),
    **dict.fromkeys(("match_keys", "check_exc_match"), 2),
    "load_super_attr": 3,
}
#: What a piece needs to have of `WORK` in it, for a call costs as much as some of that.
LEAST_WORK = 2


@dataclass
class Piece:
    """Steps from one place to another, that become a call.

    goes_on: where it leads: to its end, or to the top of a loop, or behind a handler.
    takes, gives: locals that it reads, and those it sets that have a value behind it.
    handler: where an exception in it leads within the function.
    restores: locals that it sets and that are read there.
    """

    begin: int
    end: int
    goes_on: int
    takes: list[str]
    gives: list[str]
    handler: Handler | None
    restores: list[str]


@dataclass
class Scan:
    """Finds the longest piece that begins at a step."""

    flow: Flow
    kept: set[int]  # places of what is not moved

    def __post_init__(self) -> None:
        self.sources: dict[int, list[int]] = {}
        for source, target in self.flow.leads():
            self.sources.setdefault(target, []).append(source)

    def pieces(self) -> Iterator[Piece]:
        """All pieces, from the first step on; none lies within another."""
        done = self.flow.first
        for place in range(done, self.flow.last):
            if place >= done and (found := self.longest(place)) is not None:
                done = found.end
                yield found

    def longest(self, begin: int) -> Piece | None:
        """The longest piece from a step on that has something to compile."""
        steps = self.flow.steps
        if not steps[begin].begins or steps[begin].in_comprehension:
            return None
        ends, work, depth = [], 0, steps[begin].depth
        exits: set[int] = set()  # where the steps so far may lead
        reach = begin  # an end before it cuts off what leads into the piece
        for place in range(begin, len(steps) - 1):
            each, end = steps[place], place + 1
            if not self._stays_within(place, begin):
                break
            if place > begin:  # to its begin anything may jump
                reach = max([reach, *(source + 1 for source in self.sources.get(place, ()))])
            exits.discard(place)
            exits.update(to for to in each.successors if not begin <= to <= place)
            work += each.name in WORK
            left = len(exits) == 1 and reach <= end and steps[end].begins
            if left and work >= LEAST_WORK and steps[goes_on := min(exits)].depth == depth:
                ends.append((end, goes_on))
        found = (self._piece(begin, *end) for end in reversed(ends))
        return next((piece for piece in found if piece is not None), None)

    def _stays_within(self, place: int, begin: int) -> bool:
        """Whether a step can be in a piece that begins there, with values below it."""
        each = self.flow.steps[place]
        if place in self.kept or each.name in NOT_MOVED:
            return False
        if each.local in self.flow.code.co_cellvars:  # shared with functions within
            return False
        if each.depth - self._looks_at(each) < self.flow.steps[begin].depth:
            return False
        return place == begin or all(source >= begin for source in self.sources.get(place, ()))

    def _looks_at(self, each: Step) -> int:
        """How many of the values on the stack a step uses, or looks at, at most."""
        if each.name in BESIDES_OPERAND:
            return each.arg + BESIDES_OPERAND[each.name]
        if each.name in IN_ALL:
            return IN_ALL[each.name]
        if each.following is None:
            return 0
        makes = not each.name.startswith(MAKES_NOTHING)
        return max(each.depth + makes - self.flow.steps[each.following].depth, 0)

    def _piece(self, begin: int, end: int, goes_on: int) -> Piece | None:
        """The piece between two places, if its locals and exceptions allow one."""
        flow, inside = self.flow, range(begin, end)
        handlers = {flow.steps[place].handler for place in inside}
        outer = {each for each in handlers if each is None or each.target not in inside}
        if len(outer) > 1:
            return None
        handler = next(iter(outer), None)
        written, deleted = flow.locals(STORES, inside), flow.locals(DELETES, inside)
        # `file = None` closes a file, which the caller's frame would have until the piece is over.
        emptied = flow.locals(STORES, flow.emptying.intersection(inside))
        takes = flow.locals(READS | WRITES, inside) & flow.read[begin]
        kept = set.intersection(
            *(
                flow.assigned[place] | flow.locals(STORES, (place,))
                for place in inside
                if any(to not in inside for to in flow.steps[place].successors)
            )
        )
        # What nobody reads behind it lives on, too, until it gets another value.
        gives = written & (flow.read[goes_on] | kept)
        caught = set() if handler is None else flow.read[handler.target]
        if (
            deleted & (caught | flow.read[goes_on] | takes)
            or emptied & flow.filled
            or not takes | written & caught <= flow.assigned[begin]
            or not gives <= kept
        ):
            return None
        restores = sorted(written & caught)
        return Piece(begin, end, goes_on, sorted(takes), sorted(gives), handler, restores)


def pieces_within(
    flow: Flow, lines: Iterable[int], left: Iterable[tuple[int, int]] = ()
) -> list[Piece]:
    """What can be moved out of a function that is not compiled because of these lines.

    left: begins and ends of what shall stay where it is.
    """
    code = flow.code
    if code.co_flags & SUSPENDED or {*code.co_names, *code.co_freevars} & OF_THE_WHOLE:
        return []
    wanted = set(lines)
    kept = {place for place, each in enumerate(flow.steps) if each.position[0] in wanted}
    for begin, end in left:
        kept.update(range(begin, end))
    return list(Scan(flow, kept).pieces()) if kept else []


def piece_function(function: types.FunctionType, flow: Flow, piece: Piece) -> types.FunctionType:
    """A piece as a function: takes all locals, of which it needs `takes`, and returns `gives`.

    That is one value if it gives one, else a tuple.
    """
    begin, end, constants = piece.begin, piece.end, flow.code.co_consts
    tail = [Row("LOAD_FAST", flow.names.index(name)) for name in piece.gives]
    if not piece.gives:
        constants = (*constants, None)
        tail = [Row("LOAD_CONST", len(constants) - 1)]
    elif len(piece.gives) > 1:
        tail.append(Row("BUILD_TUPLE", len(piece.gives)))
    tail.append(Row("RETURN_VALUE"))
    below = flow.steps[begin].depth
    body = []
    for row in flow.rows(begin, end):
        handler = None if row.handler == piece.handler else row.handler
        handler = handler and handler._replace(depth=handler.depth - below)
        body.append(row._replace(handler=handler))
    tail[0] = tail[0]._replace(label=piece.goes_on)
    rows = [*flow.head(flow.framed), *body, *placed(tail, flow.steps[end - 1].position)]
    room = flow.code.co_stacksize + len(piece.gives) + 1
    return remade(function, flow, False, rows, constants, room)[0]


@dataclass(eq=False)
class Restore:
    """Finds what locals were when an exception left a piece, for the handler around its call."""

    code: types.CodeType
    names: list[str]

    def __call__(self, error: BaseException, *before: Any) -> Any:
        """As a piece gives its locals; `before` is what they were when it was called."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not self.code:
            trace = trace.tb_next
        found = {} if trace is None else trace.tb_frame.f_locals
        now = tuple(found.get(name, old) for name, old in zip(self.names, before, strict=True))
        return now if len(now) > 1 else now[0]


def with_calls(
    function: types.FunctionType, flow: Flow, calls: list[tuple[Piece, Callable[..., Any]]]
) -> tuple[types.FunctionType, int]:
    """The function with calls of others, which `piece_function` made, in the place of pieces.

    And behind how many bytes of its code these calls are.
    """
    constants: list[Any] = [*flow.code.co_consts, None]
    none, done = Row("LOAD_CONST", len(constants) - 1), 0
    loads = {name: Row("LOAD_FAST", place) for place, name in enumerate(flow.names)}
    rows: list[Row] = []
    blocks: list[Row] = []

    def add(label: int, callee: Any, given: Iterable[Row], names: list[str]) -> list[Row]:
        """A call that stores what it gives."""
        constants.append(callee)
        made = call(Row("LOAD_CONST", len(constants) - 1), given)
        made[0] = made[0]._replace(label=label)
        if len(names) != 1:
            made.append(Row("UNPACK_SEQUENCE", len(names)) if names else Row("POP_TOP"))
        return [*made, *(Row("STORE_FAST", loads[name].arg) for name in names)]

    for piece, called in calls:
        handler, position = piece.handler, flow.steps[piece.begin].position
        calling, restoring = ~(2 * piece.begin), ~(2 * piece.begin + 1)  # labels of no places
        there = Row("JUMP_FORWARD", target=calling, label=piece.begin, position=position)
        rows += [*flow.rows(done, piece.begin), there]
        done = piece.end
        if handler is not None and piece.restores:
            handler = handler._replace(target=restoring)
        given = [load if name in piece.takes else none for name, load in loads.items()]
        made = add(calling, called, given, piece.gives)
        last_line = flow.steps[done - 1].position
        made.append(Row("JUMP_FORWARD", target=piece.goes_on, position=last_line))
        blocks += placed(made, position, handler)
        if piece.handler is not None and piece.restores:
            restore = Restore(inspect.unwrap(called).__code__, piece.restores)
            exception = Row("COPY", 3)  # below the callee
            given = [exception, *(loads[name] for name in piece.restores)]
            made = add(restoring, restore, given, piece.restores)
            made.append(Row("JUMP_FORWARD", target=piece.handler.target))
            blocks += placed(made, position, piece.handler)
    rows += flow.rows(done, flow.last)
    room = flow.code.co_stacksize + len(flow.names) + 3
    function, labels = remade(function, flow, True, [*rows, *blocks], tuple(constants), room)
    begins = (labels[~(2 * piece.begin)] for piece, _ in calls)
    return function, min(begins, default=len(function.__code__.co_code))


__all__ = ["Piece", "piece_function", "pieces_within", "with_calls"]
