"""Locks of module threading that the program takes.

A replay takes them before it reads anything that another thread may change meanwhile, without
waiting, and lets go of them when all is committed: where one is not to be had at once, the original
runs, and waits as it does. So a path holds a lock longer than the program, and code of the user's
that dvm does not see into might wait for it: a path has such calls only where the program itself
holds all its locks.
"""

from __future__ import annotations

import threading
from typing import Any, TypeGuard

from dvm import reasons
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import Step, refuse
from dvm.magpy_capture.values import Abstract, Instance, Literal, Named

LOCKS = (type(threading.Lock()), type(threading.RLock()))
TAKING, LEAVING = ("acquire", "__enter__"), ("release", "__exit__")

#: Steps of a register, of which the third word is another that they look into.
PARTS = frozenset("attribute getattr item key contents cell_of preset shape".split())
#: Steps during which no other thread runs, besides guards.
QUIET = PARTS | frozenset("argument constant variable cell lock".split())


def is_lock(value: Abstract) -> TypeGuard[Instance]:
    """Whether it is a lock of the caller's."""
    return isinstance(value, Instance) and value.cls in LOCKS


class Locks(PythonPart):
    """Taking them and letting go."""

    needs = "indexing program"

    def __init__(self) -> None:
        #: of the path: register of a lock -> how often the program has it at present
        self.taken: dict[int, int] = {}
        self._unseen = ""  # the last call of code that dvm does not see into

    def lock_method(
        self, lock: Instance, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """`with lock`, or `lock.acquire()` and `lock.release()`."""
        if name in LEAVING:
            return self.leave_lock(lock)
        if name not in TAKING:
            raise refuse(reasons.CALL_METHOD, name, describe(lock))
        # Whether to wait, and how long: an error for some numbers.
        given = [self.indexing.plain(value) for value in (*positional, *named.values())]
        if seen is False and given == [False] and self.taken.get(lock.register):
            return Literal(False)  # as `threading.Condition` asks who has it
        if seen is False:
            raise refuse(reasons.LOCK_NOT_HAD)
        return self.enter_lock(lock)

    def enter_lock(self, lock: Instance) -> Abstract:
        register = lock.register
        if register not in self.taken:
            if self._unseen:
                raise refuse(reasons.LOCK_BESIDE_CALL, self._unseen)
            self._take_early(register)
            self.taken[register] = 0
        self.taken[register] += 1
        return Literal(True)

    def leave_lock(self, lock: Instance) -> Abstract:
        if not self.taken.get(lock.register):
            raise refuse(reasons.LOCK_OF_CALLER)
        self.taken[lock.register] -= 1
        return Literal(None)

    def calls_unseen(self, name: str) -> None:
        """The program calls code that dvm does not see into, which may take locks of its own."""
        if not all(self.taken.values()):
            raise refuse(reasons.LOCK_BESIDE_CALL, name)
        self._unseen = name

    @property
    def leaves_locks(self) -> bool:
        """Whether the program has let go of all that it took."""
        return not any(self.taken.values())

    def _take_early(self, register: int) -> None:
        """Take it before the first step that lets other threads run.

        What is read from then on is read under the lock, and what was read before is still so.
        """
        steps = self.program.steps
        begin = len(steps)
        for other in self.taken:
            self.program.guard("guard_same", other, register, False)
        steps.append(("lock", register))
        late = [steps.pop() for _ in range(len(steps) - begin)][::-1]
        loud = next((i for i, step in enumerate(steps) if not _is_quiet(step)), begin)
        early = self._reaching(register, loud)
        late = [steps[i] for i in early] + late
        for i in reversed(early):
            steps.pop(i)
        steps[loud:loud] = late

    def _reaching(self, register: int, begin: int) -> list[int]:
        """The steps from `begin` on by which a register is reached, and what guards their types."""
        wanted, found = {register}, []
        for place in reversed(range(begin, len(self.program.steps))):
            name, *words = self.program.steps[place]
            if name == "guard_type" and words[0] in wanted:
                found.append(place)
            elif wanted & _made_by(self.program.steps[place]):
                if name not in QUIET:
                    raise refuse(reasons.LOCK_COMPUTED)
                found.append(place)
                if name in PARTS:
                    wanted.add(words[1])
        return found[::-1]


def _is_quiet(step: Step) -> bool:
    return step[0] in QUIET or step[0].startswith("guard_")


def _made_by(step: Step) -> set[int]:
    """The registers that it defines."""
    name, first, *_ = step
    if name == "segment":
        return {register for _, register, *_ in first.outputs}
    return {first} if not name.startswith("guard_") and isinstance(first, int) else set()


__all__ = ["LOCKS", "Locks", "is_lock"]
