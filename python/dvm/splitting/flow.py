"""What a function's instructions lead to, and what they do with its locals."""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import operator
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from dvm import _dvm

NO_FALL_THROUGH = frozenset(
    {"RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD"}
    | {"JUMP_BACKWARD_NO_INTERRUPT"}
)
STORES = frozenset({"STORE_FAST", "STORE_DEREF"})
DELETES = frozenset({"DELETE_FAST", "DELETE_DEREF"})
WRITES = STORES | DELETES
READS = DELETES | {"LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE"}
UNIT = 2  # bytes of an instruction, or of one of its caches


class Handler(NamedTuple):
    """Where an exception leads: a row of the exception table, (begin, end) being what it covers.

    depth: values that stay on the stack; lasti: whether the instruction's place goes on top.
    """

    begin: int
    end: int
    target: int
    depth: int
    lasti: bool


@dataclass
class Flow:
    """What a function's instructions lead to, and what they do with its locals.

    Offsets are of bytes of its code.
    """

    code: types.CodeType
    instructions: list[dis.Instruction] = field(default_factory=list)
    handlers: list[Handler] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.instructions = list(dis.get_instructions(self.code))
        table = dis._parse_exception_table(self.code)  # type: ignore[attr-defined]
        self.handlers = [Handler(e.start, e.end, e.target, e.depth, e.lasti) for e in table]

    @property
    def names(self) -> list[str]:
        """Its locals by number, those that functions within it share last: as CPython has them."""
        own = self.code.co_varnames
        return [*own, *(name for name in self.code.co_cellvars if name not in own)]

    @functools.cached_property
    def framed(self) -> int:
        """Behind what makes the function's frame."""
        return next(each.offset for each in self.instructions if each.opname == "RESUME") + UNIT

    @functools.cached_property
    def first(self) -> int:
        """Where it begins: behind what makes its frame and, of a part, takes over its locals."""
        place = next(i for i, each in enumerate(self.instructions) if each.offset >= self.framed)
        for taking in range(place, min(place + 3, len(self.instructions))):
            if self.instructions[taking].argval is _dvm.begin_part:
                return self.instructions[taking + 3].offset + UNIT  # PRECALL, CALL, POP_TOP
        return self.framed

    def successors(self, place: int) -> Iterator[tuple[int, int]]:
        """Offsets that may follow an instruction, with what the stack has gained by then."""
        each = self.instructions[place]
        argument = each.arg if each.opcode >= dis.HAVE_ARGUMENT else None
        if each.opcode in dis.hasjrel:
            yield each.argval, dis.stack_effect(each.opcode, argument, jump=True)
        if each.opname not in NO_FALL_THROUGH and place + 1 < len(self.instructions):
            effect = dis.stack_effect(each.opcode, argument, jump=False)
            yield self.instructions[place + 1].offset, effect

    @functools.cached_property
    def depths(self) -> dict[int, int]:
        """How many values are on the stack before each instruction that can be reached."""
        places = {each.offset: place for place, each in enumerate(self.instructions)}
        found: dict[int, int] = {}
        waiting = [(0, 0)]
        waiting += [(h.target, h.depth + 1 + h.lasti) for h in self.handlers]
        while waiting:
            offset, depth = waiting.pop()
            if offset not in found:
                found[offset] = depth
                for following, gained in self.successors(places[offset]):
                    waiting.append((following, depth + gained))
        return found

    def points(self) -> list[int]:
        """Offsets at which the function can be cut."""
        crossed: set[int] = set()
        offsets = [each.offset for each in self.instructions]
        for source, target in self.leads():
            if source < target:  # to the cut itself is to the end of the part
                crossed.update(offset for offset in offsets if source < offset < target)
            else:
                crossed.update(offset for offset in offsets if target < offset <= source)
        pairs = itertools.pairwise(self.instructions)
        crossed.update(e.offset for before, e in pairs if before.opname == "EXTENDED_ARG")
        return [
            offset
            for offset in offsets
            if offset > self.first
            and offset not in crossed
            and self.depths.get(offset) == 0
            and not self.unset(offset) & self.ever_assigned(offset)
            and not any(self._is_shared(name, offset) for name in self.code.co_cellvars)
        ]

    def leads(self) -> Iterator[tuple[int, int]]:
        """All steps from one offset to another that is not the next, those into handlers too."""
        for each in self.instructions:
            if each.opcode in dis.hasjrel:
                yield each.offset, each.argval
            if (handler := self.handler_of(each.offset)) is not None:
                yield each.offset, handler.target

    def handler_of(self, offset: int) -> Handler | None:
        """Where an exception at an instruction leads; None is out of the function."""
        return next((h for h in self.handlers if h.begin <= offset < h.end), None)

    def _is_shared(self, name: str, point: int) -> bool:
        """Whether a function made before the point shares a variable that is written behind it."""
        uses = [each for each in self.instructions if each.argval == name]
        made = any(each.opname == "LOAD_CLOSURE" and each.offset < point for each in uses)
        late = any(each.opname in WRITES and each.offset >= point for each in uses)
        inner = (each for each in self.code.co_consts if isinstance(each, types.CodeType))
        return made and (late or any(_writes(each, name) for each in inner))

    @functools.cached_property
    def read(self) -> dict[int, set[str]]:
        """Locals that are read from each instruction on before they are written."""
        live: dict[int, set[str]] = {each.offset: set() for each in self.instructions}
        changed = True
        while changed:
            changed = False
            for place in range(len(self.instructions) - 1, -1, -1):
                each = self.instructions[place]
                after: set[str] = set()
                for following, _ in self.successors(place):
                    after |= live[following]
                if each.opname in STORES:
                    after = after - {each.argval}
                if (handler := self.handler_of(each.offset)) is not None:
                    after = after | live[handler.target]
                if each.opname in READS and each.argval in self.names:
                    after = after | {each.argval}
                if not after <= live[each.offset]:
                    live[each.offset] |= after
                    changed = True
        return live

    def unset(self, point: int) -> set[str]:
        """Locals that are read from the point on, and may have no value there."""
        return self.read[point] - self.assigned.get(point, set())

    def may_lack(self, point: int) -> set[str]:
        """Locals that have a value at the point or not, as it was reached."""
        return self.perhaps_assigned[point] - self.assigned[point]

    def may_be_none_first(self, point: int) -> set[str]:
        """Of those the ones that may as well begin as None: nobody sees that they lack a value."""
        before = (e for e in self.instructions if e.opname in DELETES and e.offset < point)
        return self.may_lack(point) - self.read[self.first] - {e.argval for e in before}

    @functools.cached_property
    def emptying(self) -> set[int]:
        """Offsets of the stores of `x = None`, which lets go of what x was."""
        return {
            each.offset
            for before, each in itertools.pairwise(self.instructions)
            if each.opname in STORES and before.opname == "LOAD_CONST" and before.argval is None
        }

    @functools.cached_property
    def filled(self) -> set[str]:
        """Locals that are ever given something else than None, or come with it."""
        stores = (e for e in self.instructions if e.opname in STORES)
        return self.parameters.union(e.argval for e in stores if e.offset not in self.emptying)

    def ever_assigned(self, point: int) -> set[str]:
        """Locals that some instruction before the point gives a value, or that come with one."""
        stores = (e for e in self.instructions if e.opname in STORES and e.offset < point)
        return self.parameters.union(each.argval for each in stores)

    @functools.cached_property
    def parameters(self) -> set[str]:
        """Locals that come with a value."""
        code = self.code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & inspect.CO_VARARGS)
        count += bool(code.co_flags & inspect.CO_VARKEYWORDS)
        return set(code.co_varnames[:count])

    @functools.cached_property
    def assigned(self) -> dict[int, set[str]]:
        """Locals that have a value before each instruction, whichever way it was reached."""
        return self._with_values(operator.and_)

    @functools.cached_property
    def perhaps_assigned(self) -> dict[int, set[str]]:
        """Locals that have a value before each instruction, if it was reached in some way."""
        return self._with_values(operator.or_)

    def _with_values(self, joined: Callable[[set[str], set[str]], set[str]]) -> dict[int, set[str]]:
        """Locals with a value before each instruction; `joined` says what two ways to it make."""
        places = {each.offset: place for place, each in enumerate(self.instructions)}
        known: dict[int, set[str]] = {}
        waiting = [(0, self.parameters)]
        while waiting:
            offset, found = waiting.pop()
            if offset in known:
                found = joined(found, known[offset])
                if found == known[offset]:
                    continue
            known[offset] = found
            each = self.instructions[places[offset]]
            if (handler := self.handler_of(offset)) is not None:
                waiting.append((handler.target, found))
            if each.opname in STORES:
                found = found | {each.argval}
            elif each.opname in DELETES:
                found = found - {each.argval}
            waiting += [(following, found) for following, _ in self.successors(places[offset])]
        return known


def _writes(code: types.CodeType, name: str) -> bool:
    """Whether a function within another writes a variable of that."""
    if name not in code.co_freevars:
        return False
    own = any(e.opname in WRITES and e.argval == name for e in dis.get_instructions(code))
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return own or any(_writes(each, name) for each in inner)
