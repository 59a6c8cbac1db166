"""Managers of `with` that dvm knows: caught warnings, and expected exceptions.

A replay shows no warning: what would be shown drops it. So `warnings.catch_warnings` has nothing to
do on a path whose recording warned of nothing inside. Filters that ignore are left to the original,
too. Behind any other filter a call of NumPy might warn of what the caller ignores, and nobody would
notice: such a path is for callers that ignore nothing. (Graphs warn by status flags, whatever the
filters are.)
"""

from __future__ import annotations

import sys
import traceback
import warnings
from dataclasses import dataclass
from typing import Any

from dvm import classes, reasons
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import attributes_of, means
from dvm.magpy_capture.values import Abstract, Hidden, ListValue, Literal, Named, Raised, resolve


@dataclass(eq=False)
class CaughtWarnings:
    """A `warnings.catch_warnings` that the program made."""

    keeps: bool
    entered: bool = False
    calls: int = -1  # how many the path had made when the program said what to show
    log: ListValue | None = None


@dataclass(eq=False)
class Expected:
    """What `pytest.raises` gives, in a register, and the exception that it took."""

    register: int
    exception: Raised | None = None


@dataclass(eq=False)
class ExceptionInfo:
    """What entering it gives."""

    expected: Expected


def ignores_nothing() -> bool:
    """Whether all warnings are shown or raised; filters that a replay has put in do not count."""
    for action, message, category, module, line in warnings.filters:
        if classes.name_of(type(message)) == "WarningPattern":
            continue
        if action == "ignore":
            return False
        if message is None and category is Warning and module is None and line == 0:
            return True
    return True


def expectation() -> Any:
    """The function `pytest.raises`, in programs that have imported it."""
    return getattr(sys.modules.get("pytest"), "raises", None)


class Contexts(PythonPart):
    """Entering and leaving them."""

    needs = "graph heap indexing program"

    def __init__(self) -> None:
        self.caught: list[CaughtWarnings] = []  # that are entered

    # ---- warnings

    @means(warnings.catch_warnings)
    def make_caught_warnings(self, *, record: Abstract = Literal(False)) -> Abstract:
        return CaughtWarnings(bool(self.indexing.plain(record)))

    @means(warnings.simplefilter, warnings.filterwarnings)
    def set_filter(self, action: Abstract, *rest: Abstract, **named: Abstract) -> Abstract:
        """`simplefilter` and `filterwarnings`; their effect ends with the manager's block."""
        if not self.caught:
            raise refuse(reasons.FILTER_WARNINGS_OUTLIVES_FUNCTION)
        for value in (*rest, *named.values()):
            self.indexing.plain(value)
        self.graph.sets_filters = True
        manager = self.caught[-1]
        if self.indexing.plain(action) != "ignore" and manager.calls < 0:
            manager.calls = self.program.calls_made
        return Literal(None)

    def enter_warnings(self, manager: CaughtWarnings, seen: Any) -> Abstract:
        if manager.entered:
            raise refuse(reasons.MANAGER_ENTERED_AGAIN)
        manager.entered = True
        self.caught.append(manager)
        if not manager.keeps:
            return Literal(None)
        if seen:  # filled by now
            raise refuse(reasons.WARNING_PROGRAM_CATCHES)
        manager.log = ListValue([], object=seen)
        return manager.log

    def leave_warnings(self, manager: CaughtWarnings) -> Abstract:
        if not self.caught or self.caught.pop() is not manager:
            raise refuse(reasons.MANAGERS_LEFT_ANOTHER_ORDER)
        if 0 <= manager.calls < self.program.calls_made:
            if not ignores_nothing():
                raise refuse(reasons.WARNINGS_CAUGHT_WHERE_CALLER_IGNORES)
            test = self.program.step("call", self.program.constant(ignores_nothing), [], ())
            self.program.guard("guard_truth", test, True)
        if manager.log is not None and manager.log.changed:
            raise refuse(reasons.CHANGE_LIST_CAUGHT_WARNINGS)
        return Literal(None)

    # ---- expected exceptions

    def make_expected(self, positional: list[Abstract], named: Named) -> Expected:
        """`pytest.raises(types, match=...)`: pytest's own, on every replay."""
        if len(positional) != 1 or not set(named) <= {"match"}:
            raise refuse(reasons.PYTEST_RAISES_FUNCTION)
        classes = self.indexing.plain(positional[0])
        match = self.indexing.plain(named["match"]) if "match" in named else None
        if not isinstance(match, (str, type(None))):
            raise refuse(reasons.PYTEST_RAISES_MATCH_NO_TEXT)
        registers = [self.program.constant(classes), self.program.constant(match)]
        return Expected(
            self.program.step("call", self.program.constant(expectation()), registers, ("match",))
        )

    def enter_expected(self, manager: Expected) -> Abstract:
        entering = self.program.step("getattr", manager.register, "__enter__")
        self.program.step("call", entering, [], ())
        return ExceptionInfo(manager)

    def leave_expected(self, manager: Expected, arguments: list[Abstract], seen: Any) -> Abstract:
        kind, exception, _ = map(resolve, arguments)
        if not isinstance(exception, Raised):
            raise refuse(reasons.PYTEST_RAISES_WITHOUT_EXCEPTION)
        manager.exception = exception
        leaving = self.program.step("getattr", manager.register, "__exit__")
        nothing = self.program.constant(None)
        registers = [self.program.register_of(kind), exception.register, nothing]
        return self.heap.computed(self.program.step("call", leaving, registers, ()), seen)

    @attributes_of(ExceptionInfo)
    def information(self, base: ExceptionInfo, name: str, seen: Any) -> Abstract:
        exception = base.expected.exception
        if exception is None or name not in ("value", "type"):
            raise refuse(reasons.ATTRIBUTE_PYTEST_RAISES_GIVES, name)
        return exception if name == "value" else Literal(type(exception.object))

    @means(traceback.clear_frames)
    def forget_frames(self, traceback: Abstract) -> Abstract:
        """`traceback.clear_frames`: a replay has no frames."""
        if not isinstance(resolve(traceback), Hidden):
            raise refuse(reasons.FRAMES, describe(traceback))
        return Literal(None)
