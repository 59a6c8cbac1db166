"""What a function's instructions lead to, and what they do with its locals."""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
import types
from collections.abc import Callable, Iterable, Iterator

from dvm import _dvm
from dvm.magpy_capture.recording.operations import read_operations, variables_of
from dvm.splitting.python_bytecode import Row
from dvm.splitting.steps import steps_of

STORES = frozenset({"store_fast", "store_deref"})
DELETES = frozenset({"delete_fast", "delete_deref"})
WRITES = STORES | DELETES
READS = DELETES | {"load_fast", "load_deref", "load_closure"}


class Flow:
    """What a function's instructions lead to, and what they do with its locals.

    Points and other places are those of steps.
    """

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.steps = steps_of(code)
        #: Its locals by number, those that functions within it share last: as CPython has them.
        self.names = list(variables_of(code)[: -len(code.co_freevars) or None])

    @property
    def last(self) -> int:
        """Where it ends."""
        return len(self.steps)

    @functools.cached_property
    def framed(self) -> int:
        """Behind what makes the function's frame."""
        return next(at for at, each in enumerate(self.steps) if each.name == "resume") + 1

    @functools.cached_property
    def first(self) -> int:
        """Where it begins: behind what makes its frame and, of a part, takes over its locals."""
        for place in range(self.framed, min(self.framed + 2, self.last)):
            if self.steps[place].value is _dvm.begin_part:
                dropped = itertools.count(place)
                return next(at for at in dropped if self.steps[at].name == "pop_top") + 1
        return self.framed

    def head(self, end: int) -> list[Row]:
        """Its instructions up to a place, whatever follows."""
        return [row._replace(then=None) for row in self.rows(0, end)]

    def rows(self, begin: int, end: int) -> list[Row]:
        """Its instructions between two places, which are their labels."""
        made = []
        for place in range(begin, end):
            each = last = self.steps[place]
            if not each.begins:
                continue
            if place + 1 < self.last and not self.steps[place + 1].begins:
                last = self.steps[place + 1]
            leads = (last.target, place, each.handler, each.position, last.following)
            made.append(Row(each.instruction, each.operand, *leads))
        return made

    def points(self) -> list[int]:
        """Places at which the function can be cut."""
        crossings = [0] * (self.last + 1)
        for source, target in self.leads():
            # To the cut itself is to the end of the part.
            begin, end = (source + 1, target) if source < target else (target + 1, source + 1)
            crossings[begin] += 1
            crossings[end] -= 1
        return [
            place
            for place, crossed in enumerate(itertools.accumulate(crossings[:-1]))
            if place > self.first
            and not crossed
            and self.steps[place].begins
            and self.steps[place].depth == 0
            and not self.unset(place) & self.ever_assigned(place)
            and not any(self._is_shared(name, place) for name in self.code.co_cellvars)
        ]

    def leads(self) -> Iterator[tuple[int, int]]:
        """All ways from one place to another that is not the next, those into handlers too."""
        for place, each in enumerate(self.steps):
            yield from ((place, to) for to in each.leads if to != place + 1)

    def locals(self, kinds: Iterable[str], places: Iterable[int]) -> set[str]:
        """Locals on which the steps of these kinds are at places."""
        steps = (self.steps[place] for place in places)
        return {each.local for each in steps if each.local is not None and each.name in kinds}

    def _is_shared(self, name: str, point: int) -> bool:
        """Whether a function made before the point shares a variable that is written behind it."""
        made = name in self.locals(("load_closure",), range(point))
        late = name in self.locals(WRITES, range(point, self.last))
        return made and (late or any(_writes(each, name) for each in _within(self.code)))

    @functools.cached_property
    def read(self) -> list[set[str]]:
        """Locals that are read from each place on before they are written."""
        live: list[set[str]] = [set() for _ in self.steps]
        changed = True
        while changed:
            changed = False
            for place in range(self.last - 1, -1, -1):
                each = self.steps[place]
                after: set[str] = set()
                for following in each.successors:
                    after |= live[following]
                if each.name in STORES:
                    after.discard(each.local)
                if each.handler is not None:
                    after |= live[each.handler.target]
                if each.name in READS and each.local is not None:
                    after.add(each.local)
                if not after <= live[place]:
                    live[place] |= after
                    changed = True
        return live

    def unset(self, point: int) -> set[str]:
        """Locals that are read from the point on, and may have no value there."""
        return self.read[point] - self.assigned[point]

    def may_lack(self, point: int) -> set[str]:
        """Locals that have a value at the point or not, as it was reached."""
        return self.perhaps_assigned[point] - self.assigned[point]

    def may_be_none_first(self, point: int) -> set[str]:
        """Of those the ones that may as well begin as None: nobody sees that they lack a value."""
        deleted = self.locals(DELETES, range(point))
        return self.may_lack(point) - self.read[self.first] - deleted

    @functools.cached_property
    def emptying(self) -> set[int]:
        """Places of the stores of `x = None`, which lets go of what x was."""
        return {
            place
            for place, (before, each) in enumerate(itertools.pairwise(self.steps), 1)
            if each.name in STORES and before.name == "load_const" and before.value is None
        }

    @functools.cached_property
    def filled(self) -> set[str]:
        """Locals that are ever given something else than None, or come with it."""
        return self.parameters | self.locals(STORES, {*range(self.last)} - self.emptying)

    def ever_assigned(self, point: int) -> set[str]:
        """Locals that some instruction before the point gives a value, or that come with one."""
        return self.parameters | self.locals(STORES, range(point))

    @functools.cached_property
    def parameters(self) -> set[str]:
        """Locals that come with a value."""
        code = self.code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & inspect.CO_VARARGS)
        count += bool(code.co_flags & inspect.CO_VARKEYWORDS)
        return set(code.co_varnames[:count])

    @functools.cached_property
    def assigned(self) -> list[set[str]]:
        """Locals that have a value before each step, whichever way it was reached."""
        return self._with_values(operator.and_)

    @functools.cached_property
    def perhaps_assigned(self) -> list[set[str]]:
        """Locals that have a value before each step, if it was reached in some way."""
        return self._with_values(operator.or_)

    def _with_values(self, joined: Callable[[set[str], set[str]], set[str]]) -> list[set[str]]:
        """Locals with a value before each step; `joined` says what two ways to it make."""
        known: dict[int, set[str]] = {}
        waiting = [(0, self.parameters)]
        while waiting:
            place, found = waiting.pop()
            if place in known:
                found = joined(found, known[place])
                if found == known[place]:
                    continue
            known[place] = found
            each = self.steps[place]
            if each.handler is not None:
                waiting.append((each.handler.target, found))
            if each.local is not None and each.name in WRITES:
                changed = found.union if each.name in STORES else found.difference
                found = changed({each.local})
            waiting += [(following, found) for following in each.successors]
        return [known[place] for place in range(self.last)]


def _within(code: types.CodeType) -> Iterator[types.CodeType]:
    return (each for each in code.co_consts if isinstance(each, types.CodeType))


def _writes(code: types.CodeType, name: str) -> bool:
    """Whether a function within another writes a variable of that."""
    if name not in code.co_freevars:
        return False
    own = any(each.name in WRITES and each.value == name for each in read_operations(code))
    return own or any(_writes(each, name) for each in _within(code))
