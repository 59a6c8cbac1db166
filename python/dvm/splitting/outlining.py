"""Pieces of what stays uncompiled, moved out into functions that are compiled (outlining).

What cannot be compiled may stand in a loop, a `with`, a `try` or a branch, at whose ends a function
cannot be cut: values lie on the stack there, and jumps lead past. So this statement stays, and the
others of the block become calls: where such a piece began is a jump to the end of the code, where
a function is called with the locals that the piece reads, and gives those that it sets.
"""

from __future__ import annotations

import dis
import inspect
import itertools
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dvm.splitting.cuts import OF_THE_WHOLE, SUSPENDED, WORK
from dvm.splitting.flow import DELETES, NO_FALL_THROUGH, STORES, UNIT, Flow, Handler
from dvm.splitting.parts import moved, remade
from dvm.splitting.python_bytecode import exception_table, instruction, jump, line_table

#: Instructions that leave a function, or belong to how its frame is made or waits.
NOT_MOVED = frozenset(
    {"RETURN_VALUE", "YIELD_VALUE", "SEND", "ASYNC_GEN_WRAP", "RETURN_GENERATOR", "RESUME"}
    | {"LOAD_CLOSURE", "MAKE_CELL", "COPY_FREE_VARS"}
)
MAKES_NOTHING = ("STORE_", "POP_", "DELETE_", "JUMP_", "RAISE_", "RERAISE", "NOP", "KW_NAMES")
#: What a piece needs to have of `WORK` in it, for a call costs as much as some of that.
LEAST_WORK = 2
LEAST_LENGTH = 4 * UNIT  # room for a jump as far as any


@dataclass
class Piece:
    """Instructions from one offset to another, that become a call.

    goes_on: where it leads, which is its end, or the top of the loop whose last statements it has.
    takes, gives: locals that it reads, and those it sets that have a value behind it.
    handler: where an exception in it leads within the function.
    restores: locals that it sets and that are read there.
    body: its instructions, of which those that jumped to `goes_on` jump to their end.
    """

    begin: int
    end: int
    goes_on: int
    takes: list[str]
    gives: list[str]
    handler: Handler | None
    restores: list[str]
    body: bytes


def taken(each: dis.Instruction) -> int:
    """How many of the values on the stack an instruction uses, or looks at, at most."""
    argument = each.arg or 0
    if each.opname in ("COPY", "SWAP"):
        return argument
    if each.opname in ("PRECALL", "MAP_ADD", "DICT_MERGE"):
        return argument + 2
    if each.opname == "CALL":  # for dis its arguments are gone with the PRECALL before it
        return 2
    if each.opname in ("LIST_APPEND", "SET_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE"):
        return argument + 1
    if each.opname == "WITH_EXCEPT_START":
        return 5
    if each.opname in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH"):
        return 2
    if each.opname in ("LOAD_GLOBAL", "PUSH_NULL"):
        return 0
    several = ("LOAD_METHOD", "UNPACK_SEQUENCE", "UNPACK_EX", "FOR_ITER", "BEFORE_WITH")
    if each.opname in (*several, "JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP", "PUSH_EXC_INFO"):
        return 1
    effect = dis.stack_effect(each.opcode, each.arg if each.opcode >= dis.HAVE_ARGUMENT else None)
    makes = not each.opname.startswith(MAKES_NOTHING)
    return max(1 - effect, 0) if makes else -effect


@dataclass
class Scan:
    """Finds the longest piece that begins at an instruction."""

    flow: Flow
    kept: set[int]  # offsets of what is not moved

    def __post_init__(self) -> None:
        self.depths = self.flow.depths
        self.sources: dict[int, list[int]] = {}
        for source, target in self.flow.leads():
            self.sources.setdefault(target, []).append(source)

    def pieces(self) -> Iterator[Piece]:
        """All pieces, from the first instruction on; none lies within another."""
        done = self.flow.first
        for place, each in enumerate(self.flow.instructions):
            if each.offset >= done and (found := self.longest(place)) is not None:
                done = found.end
                yield found

    def longest(self, place: int) -> Piece | None:
        """The longest piece from an instruction on that has something to compile."""
        instructions = self.flow.instructions
        begin = instructions[place].offset
        depth = self.depths.get(begin)
        after_extension = place > 0 and instructions[place - 1].opname == "EXTENDED_ARG"
        if depth is None or after_extension:
            return None
        ends, work = [], 0
        reach = begin  # an end before it, or a jump to the end from within, leads past it
        top: int | None = None  # of the loop, if the piece jumps there
        for each, following in itertools.pairwise(instructions[place:]):
            if not self._stays_within(each, begin, depth):
                break
            if leads_back(each, begin):
                if self.depths[each.argval] != depth or top not in (None, each.argval):
                    break
                top = each.argval
            elif each.opcode in dis.hasjrel:
                reach = max(reach, each.argval)
            if each.offset > begin:  # to its begin anything may jump
                reach = max([reach, *(s + UNIT for s in self.sources.get(each.offset, ()))])
            work += each.opname in WORK
            end = following.offset
            if top is None:
                left = reach <= end and self.depths.get(end) == depth
            else:
                left = reach < end and each.opname in NO_FALL_THROUGH
            if left and work >= LEAST_WORK:
                ends.append((end, end if top is None else top))
        found = (self._piece(begin, *end) for end in reversed(ends))
        return next((piece for piece in found if piece is not None), None)

    def _stays_within(self, each: dis.Instruction, begin: int, depth: int) -> bool:
        """Whether an instruction can be in a piece that begins there, with values below it."""
        if each.offset in self.kept or each.opname in NOT_MOVED:
            return False
        if each.argval in self.flow.code.co_cellvars:  # shared with functions within
            return False
        here = self.depths.get(each.offset)
        if here is not None and here - taken(each) < depth:
            return False
        if each.offset == begin:
            return True
        return all(source >= begin for source in self.sources.get(each.offset, ()))

    def _piece(self, begin: int, end: int, goes_on: int) -> Piece | None:
        """The piece between two offsets, if its locals and exceptions allow one."""
        flow = self.flow
        within = [each for each in flow.instructions if begin <= each.offset < end]
        outer = {flow.handler_of(each.offset) for each in within}
        outer = {h for h in outer if h is None or not begin <= h.target < end}
        body = _body(within, flow.code.co_code[begin:end])
        if len(outer) > 1 or len(body) != end - begin or len(body) < LEAST_LENGTH:
            return None
        handler = next(iter(outer), None)
        own = [each for each in within if each.opcode in dis.haslocal]
        named = {each.argval for each in own}
        written = {each.argval for each in own if each.opname in STORES}
        deleted = {each.argval for each in own if each.opname in DELETES}
        # `file = None` closes a file, which the caller's frame would have until the piece is over.
        emptied = {each.argval for each in own if each.offset in flow.emptying}
        takes, exits = named & flow.read[begin], [e.offset for e in within if leads_back(e, begin)]
        kept = set.intersection(*(flow.assigned.get(place, set()) for place in exits or [end]))
        # What nobody reads behind it lives on, too, until it gets another value.
        gives = written & (flow.read[goes_on] | kept)
        caught = set() if handler is None else flow.read[handler.target]
        if (
            deleted & (caught | flow.read[goes_on] | takes)
            or emptied & flow.filled
            or not takes | written & caught <= flow.assigned.get(begin, set())
            or not gives <= kept
        ):
            return None
        restores = sorted(written & caught)
        return Piece(begin, end, goes_on, sorted(takes), sorted(gives), handler, restores, body)


def leads_back(each: dis.Instruction, begin: int) -> bool:
    """Whether it jumps to what lies before a piece: the top of a loop, from its last statements."""
    return each.opcode in dis.hasjrel and each.argval < begin


def _body(within: list[dis.Instruction], code: bytes) -> bytes:
    """The instructions of a piece where jumps back lead to the end; longer if that is too far."""
    made, begin, width = bytearray(code), within[0].offset, 1
    for each in within:
        if leads_back(each, begin):
            name = each.opname.replace("_NO_INTERRUPT", "").replace("BACKWARD", "FORWARD")
            behind = each.offset + UNIT - begin
            at = behind - width * UNIT
            made[at:behind] = jump(name, at, len(code), width)
        width = width + 1 if each.opname == "EXTENDED_ARG" else 1
    return bytes(made)


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
    places = enumerate(line for line, *_ in code.co_positions())
    kept = {place * UNIT for place, line in places if line in wanted}
    for begin, end in left:
        kept.update(range(begin, end, UNIT))
    return list(Scan(flow, kept).pieces()) if kept else []


def piece_function(function: types.FunctionType, flow: Flow, piece: Piece) -> types.FunctionType:
    """A piece as a function: takes all locals, of which it needs `takes`, and returns `gives`.

    That is one value if it gives one, else a tuple.
    """
    code, first = flow.code, flow.framed
    tail = b"".join(instruction("LOAD_FAST", flow.names.index(name)) for name in piece.gives)
    constants = code.co_consts
    if not piece.gives:
        constants = (*constants, None)
        tail = instruction("LOAD_CONST", len(constants) - 1)
    elif len(piece.gives) > 1:
        tail += instruction("BUILD_TUPLE", len(piece.gives))
    tail += instruction("RETURN_VALUE", 0)
    positions = list(code.co_positions())
    units = positions[: first // UNIT] + positions[piece.begin // UNIT : piece.end // UNIT]
    units += [positions[piece.end // UNIT - 1]] * (len(tail) // UNIT)
    by, below = first - piece.begin, flow.depths[piece.begin]
    handlers = moved(flow.handlers, piece.begin, piece.end, by, below)
    return remade(
        function,
        flow,
        False,
        co_code=code.co_code[:first] + piece.body + tail,
        co_consts=constants,
        co_stacksize=code.co_stacksize + len(piece.gives) + 1,
        co_linetable=line_table(code.co_firstlineno, units),
        co_exceptiontable=exception_table(handlers),
    )


@dataclass
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
) -> types.FunctionType:
    """The function with calls of others, which `piece_function` made, in the place of pieces."""
    code = bytearray(flow.code.co_code)
    positions, handlers = list(flow.code.co_positions()), list(flow.handlers)
    none = len(flow.code.co_consts)
    constants: list[Any] = [*flow.code.co_consts, None]
    for piece, called in calls:
        at = len(code)
        constants.append(called)
        block = _call(flow, piece, none, len(constants) - 1)
        block += jump("JUMP_BACKWARD", at + len(block), piece.goes_on)
        handler, rescue = piece.handler, at + len(block)
        if handler is not None and piece.restores:
            constants.append(Restore(inspect.unwrap(called).__code__, piece.restores))
            block += _restore(flow, piece, len(constants) - 1)
            block += jump("JUMP_BACKWARD", at + len(block), handler.target)
        there = jump("JUMP_FORWARD", piece.begin, at)
        rest = piece.end - piece.begin - len(there)
        code[piece.begin : piece.end] = there + instruction("NOP", 0) * (rest // UNIT)
        code += block
        positions += [positions[piece.begin // UNIT]] * (len(block) // UNIT)
        handlers = [h for h in handlers if not piece.begin <= h.target < piece.end]
        if handler is not None:
            target = rescue if piece.restores else handler.target
            handlers.append(handler._replace(begin=at, end=rescue, target=target))
        if handler is not None and piece.restores:
            handlers.append(handler._replace(begin=rescue, end=len(code)))
    return remade(
        function,
        flow,
        True,
        co_code=bytes(code),
        co_consts=tuple(constants),
        co_stacksize=flow.code.co_stacksize + len(flow.names) + 3,
        co_linetable=line_table(flow.code.co_firstlineno, positions),
        co_exceptiontable=exception_table(handlers),
    )


def _call(flow: Flow, piece: Piece, none: int, called: int) -> bytes:
    """Instructions that call a constant with all locals, None for those not needed."""
    made = instruction("PUSH_NULL", 0) + instruction("LOAD_CONST", called)
    for place, name in enumerate(flow.names):
        kind = ("LOAD_FAST", place) if name in piece.takes else ("LOAD_CONST", none)
        made += instruction(*kind)
    made += instruction("PRECALL", len(flow.names)) + instruction("CALL", len(flow.names))
    return made + (_store(flow, piece.gives) if piece.gives else instruction("POP_TOP", 0))


def _restore(flow: Flow, piece: Piece, restore: int) -> bytes:
    """Instructions that call a Restore with the exception, which is and stays on top."""
    made = instruction("PUSH_NULL", 0) + instruction("LOAD_CONST", restore) + instruction("COPY", 3)
    for name in piece.restores:
        made += instruction("LOAD_FAST", flow.names.index(name))
    count = 1 + len(piece.restores)
    made += instruction("PRECALL", count) + instruction("CALL", count)
    return made + _store(flow, piece.restores)


def _store(flow: Flow, names: list[str]) -> bytes:
    stores = [instruction("STORE_FAST", flow.names.index(name)) for name in names]
    unpack = instruction("UNPACK_SEQUENCE", len(names)) if len(names) > 1 else b""
    return unpack + b"".join(stores)


__all__ = ["Piece", "piece_function", "pieces_within", "with_calls"]
