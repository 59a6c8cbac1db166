"""Lowering: gives every recorded event its meaning, in order, and writes the steps of the path.

What has no meaning here ends the path in a fallback, after the guards so far: a call that takes
another way at one of them may still be compiled.
"""

from __future__ import annotations

import builtins
import math
import sys
from typing import Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.callbacks import Callbacks, body_end
from dvm.magpy_capture.effects import finish
from dvm.magpy_capture.events import Operands
from dvm.magpy_capture.graphs import Modes
from dvm.magpy_capture.masked import is_numpys_code
from dvm.magpy_capture.outputs import Frame
from dvm.magpy_capture.program import MISSING, describe
from dvm.magpy_capture.spec import BodyRaised, NotCapturable, OutOfTime, PathSpec
from dvm.magpy_capture.tables import (
    WHOLE,
)
from dvm.magpy_capture.values import (
    Abstract,
    DictValue,
    End,
    Host,
    IteratorValue,
    Literal,
    Raised,
    Size,
    Tensor,
)

#: A longer path would cost seconds (lowering takes 50 us an event) for each count of turns of a
#: loop, and a straight path of scalar steps is replayed no faster than Python runs the loop.
MAX_EVENTS = 20_000

PRESENT_BUILTINS = vars(builtins)
#: what the lowering calls, as it was when this was imported
OWN_BUILTINS = {
    name: PRESENT_BUILTINS[name]
    for name in (
        "all any bool callable dict enumerate float frozenset getattr hasattr hash id int "
        "isinstance issubclass iter len list map max min next range repr reversed set setattr "
        "sorted str sum super tuple type vars zip"
    ).split()
}


class Lowering(Callbacks):
    """Lowers one recording into the path it describes."""

    function: Any  # that was recorded
    first_sights: dict[int, int] | None = None  # id of an operand -> the first event that has it

    def run(self) -> None:
        if len(self.events) > MAX_EVENTS:
            raise NotCapturable(reasons.PATH_MORE_EVENTS(MAX_EVENTS), self.events[-1][5])
        self.check_builtins()
        self.meet_cells(Literal(self.function))
        while self.skip() < len(self.events):
            self.lower_event()
        if self.recording["aborted"]:
            raise NotCapturable(self.recording["aborted"], self.recording["aborted_at"])
        self.check_looks()
        finish(self, self.value(self.recording["result"]))

    def check_builtins(self) -> None:
        """What the lowering itself is written with is Python's: its own calls would be seen."""
        for name, own in OWN_BUILTINS.items():
            if PRESENT_BUILTINS.get(name) is not own:
                self.guard_name(PRESENT_BUILTINS, name, PRESENT_BUILTINS.get(name, MISSING))
                raise self.refuse(reasons.BUILTIN_REPLACED, name)

    def lower_event(self) -> None:
        self.check_time()
        events = self.events
        kind, name, operands, keywords, result, at, followed = events[self.number]
        self.at = at
        self.number += 1
        if followed:
            self.leading = None
            callee = self.seen(operands[0])
            end = body_end(events, self.number) if id(callee) in self.whole else 0
            end = end or self.end_of_numpys_code(self.number)
            if end:
                self.forget_snapshots(self.number, end)
                self.number, followed = end, False
                if events[end - 1][1] == "raised":
                    self.raised(kind, name, operands, keywords, events[end - 1][2][0])
                    return
            else:
                self.pending = (kind, name, keywords, result, callee)
        elif kind not in ("leave", "yields") and (end := self.raised_at(self.number)) >= 0:
            if end > self.number:
                self.ended(kind, operands, events[end][4])
            else:
                self.raised(kind, name, operands, keywords, events[end][4])
            self.number = end + 1
            return
        handler = getattr(self, "on_" + kind)
        try:
            value = handler(name, operands, keywords, result, followed)
        except BodyRaised:
            return  # there is no result; what comes next knows the exception
        if result >= 0 and not followed:
            self.check(value, self.seen(result))
            self.values[result] = value

    def end_of_numpys_code(self, number: int) -> int:
        """Where the bodies behind event `number` - 1 end, if they are of NumPy's own classes."""
        events = self.recording["events"]
        end = 0
        while number < len(events):
            entered = number
            while entered < len(events) and events[entered][0] != "enter":
                entered += 1
            if (entered > number and end) or entered == len(events):
                break
            if not is_numpys_code(self.seen(events[entered][2][-1])):
                return 0
            number = end = body_end(events, number)
            if not end or events[end - 1][1] == "raised":
                break
        return end

    def forget_snapshots(self, begin: int, end: int) -> None:
        """A body called whole is over: containers that it made are as it left them.

        What they held at first sight, within the body, no call of the path will see.
        """
        if self.first_sights is None:
            self.first_sights = {}
            for number, event in enumerate(self.events):
                for node in event[2]:
                    self.first_sights.setdefault(id(self.seen(node)), number)
        for seen, number in self.first_sights.items():
            if begin <= number < end:
                self.snapshots.pop(seen, None)

    def open_function(self) -> Any:
        """The innermost function of NumPy whose body is being lowered, if it can be called whole.

        None if there is none, or if it is one that was refused as a whole already.
        """
        for cause in reversed(self.entered):
            if cause is not None and cause[0] in ("call", "call_ex") and id(cause[4]) in WHOLE:
                return cause[4]
        return None

    # ---- exceptions

    def raised(
        self, kind: str, name: str, operands: Operands, keywords: list[str], exception: int
    ) -> None:
        """The event did not come to its end but to this exception."""
        seen = self.seen(exception)
        if kind == "raise":
            value = self.value(operands[0])
            if isinstance(value, Literal) and isinstance(value.object, type):
                value = self.make_exception(value.object, [], {}, seen)
            if not isinstance(value, Raised) or value.object is not seen:
                raise self.refuse(reasons.RAISING, describe(value))
        elif kind in ("call", "call_ex"):
            arguments = self.given_to(kind, operands, keywords)
            value = self.raising_call(self.value(operands[0]), *arguments, seen)
        else:
            parts = [self.value(node) for node in operands]
            value = self.raising_operator(kind, name, parts, seen)
        self.values[exception] = value

    def ended(self, kind: str, operands: Operands, exception: int) -> None:
        """The event ran Python bodies, and ended with an exception of its own: of `next`."""
        seen = self.seen(exception)
        if kind == "call" and len(operands) == 2 and self.seen(operands[0]) is next:
            callee, iterator = (self.value(node) for node in operands)
            if isinstance(callee, Literal) and isinstance(iterator, IteratorValue):
                if type(seen) is StopIteration and iterator.pull() is End:
                    self.values[exception] = self.make_exception(StopIteration, [], {}, seen)
                    return
        raise self.refuse(reasons.EXCEPTION_C_CODE_CALLS_PYTHON)

    def on_matches(self, _n: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        exception, classes = (self.value(node) for node in operands)
        if not isinstance(exception, Raised):
            raise self.refuse(reasons.HANDLING, describe(exception))
        self.plain(classes)
        return Literal(self.seen(result))

    # ---- frames

    def on_enter(self, name: str, operands: Operands, *_: Any) -> None:
        function = self.seen(operands[-1])
        self.enter_function(self.entered_function(function, operands[-1]))
        self.frames.append(Frame(operands, self.at))
        self.entered.append(self.pending)
        self.pending = None
        self.builtins.append(function.__builtins__)

    def on_leave(self, left: str, operands: Operands, *_: Any) -> None:
        if not self.frames:
            raise self.refuse(reasons.ITERATOR_ENDED)
        self.frames.pop()
        self.builtins.pop()
        cause = self.entered.pop()
        if cause is None or not operands or left == "raised":  # nothing was returned
            return
        kind, name, keywords, result, _ = cause
        self.pending = cause  # a second body may follow: __init__ after __new__, __radd__ ...
        returned = self.value(operands[0])
        if isinstance(returned, Literal) and returned.object is NotImplemented:
            return
        answer = self.seen(operands[0])
        if kind == "branch" or name == "not":
            if type(answer) is not bool:  # of __len__, for __bool__ gives bools
                self.guard_length_range(returned)
            if kind == "branch":
                self.outcome(returned, keywords[0] == "1")
        elif kind == "call" and type(answer) is int and self.seen(result) == answer:
            self.guard_length_range(returned)
        if result < 0 or result in self.values or result == operands[0]:
            return
        seen = self.seen(result)
        if kind == "contains" or name in ("not", "!="):
            negative = name in ("not in", "not") or (
                name == "!=" and seen != self.seen(operands[0])
            )
            self.values[result] = self.truth_of(returned, negative, seen)
        elif seen is self.seen(operands[0]):
            self.values[result] = returned

    def guard_length_range(self, value: Abstract) -> None:
        """len() and truth refuse a negative length, and one beyond sys.maxsize."""
        if isinstance(value, (Host, Size, Tensor)):
            dim = self.dim_of(value)
            self.is_negative(dim)
            if not dim.is_natural:
                limit = self.constant(sys.maxsize)
                test = self._operate("<=", self.register_of_dim(dim), limit)
                self.guard("guard_truth", test, True)

    def truth_of(self, value: Abstract, negative: bool, seen: bool) -> Abstract:
        """`bool(value)` or its negation, of what a special method returned."""
        if isinstance(value, Literal):
            return Literal(seen)
        return self.host_operation("not" if negative else "truth", [value], seen)

    def on_new(self, _n: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        self.value(operands[0])
        cls = type(self.seen(result))
        self.guard_lifetime(cls)
        return self.new_instance(cls, self.seen(result))

    # ---- calls

    def on_call(
        self, _n: str, operands: Operands, keywords: list[str], result: int, followed: bool
    ) -> Abstract:
        callee = self.value(operands[0])
        if followed:
            return self.followed_call(callee)
        return self.call(callee, *self.given_to("call", operands, keywords), self.seen(result))

    def on_call_ex(
        self, _n: str, operands: Operands, keywords: list[str], result: int, followed: bool
    ) -> Abstract:
        callee = self.value(operands[0])
        arguments = self.given_to("call_ex", operands, keywords)  # which asks for their number
        if followed:
            return self.followed_call(callee)
        return self.call(callee, *arguments, self.seen(result))

    def given_to(
        self, kind: str, operands: Operands, keywords: list[str]
    ) -> tuple[list[Abstract], dict[str, Abstract]]:
        """What a call was given, by position and by name."""
        if kind == "call":
            rest = [self.value(node) for node in operands[1:]]
            positional = rest[: len(rest) - len(keywords)]
            return positional, dict(zip(keywords, rest[len(positional) :], strict=True))
        positional = self.elements(self.value(operands[1]))
        if len(operands) < 3:
            return positional, {}
        mapping = self.mapping_of(self.value(operands[2]))
        if not isinstance(mapping, DictValue):
            raise self.refuse(reasons.STARS_OF, describe(mapping))
        return positional, dict(mapping.items)


def lower(
    spec: PathSpec,
    recording: dict[str, Any],
    function: Any,
    deadline: float = math.inf,
    *,
    has_paths: bool = False,
) -> None:
    """Fill `spec` with the steps of the recorded path of `function`; it may end in a fallback.

    Where the body of one of NumPy's own functions cannot be lowered, all is lowered again with that
    function called as it is: innermost first.
    """
    modes = np.geterr()
    entry: Modes = (modes["divide"], modes["over"], modes["under"], modes["invalid"])
    whole: set[int] = set()
    on_host: frozenset[int] = frozenset()
    joint: frozenset[int] = frozenset()
    while True:
        lowering = Lowering(spec, recording, entry, function.__builtins__, whole)
        lowering.on_host, lowering.joint = on_host, joint
        lowering.function, lowering.deadline = function, deadline
        lowering.has_paths = has_paths
        refusal = refusal_of(lowering)
        opened = lowering.open_function() if refusal else None
        if refusal and lowering.wanted_joint - joint:
            joint |= lowering.wanted_joint
        elif refusal and lowering.wanted_on_host - on_host:
            on_host |= lowering.wanted_on_host
        elif opened is not None and id(opened) not in whole:
            whole.add(id(opened))
        else:
            break
        spec.steps.clear()
    if refusal is not None:
        spec.reason, spec.reason_at = refusal.reason, refusal.at
        steps = lowering.steps
        if ("commit",) in steps:
            del steps[steps.index(("commit",)) :]
        while steps and not steps[-1][0].startswith("guard"):
            steps.pop()
        steps.append(("fallback", refusal.reason, refusal.at))
    lowering.finish_segments()
    spec.steps = lowering.steps.with_lines()
    spec.sizes = lowering.symbol_values
    # Values and the functions that read them refer to each other: nothing of the call stays alive.
    vars(lowering).clear()


def refusal_of(lowering: Lowering) -> NotCapturable | None:
    """Lower, and return why that was given up, if it was.

    The exception raised would keep alive, by its traceback, what the program has dropped.
    """
    try:
        lowering.run()
        return None
    except NotCapturable as refusal:
        reason, at = refusal.reason, refusal.at
    except _dvm.Error as error:  # a limit of the core: rank, number of symbols ...
        reason, at = reasons.CORE(error), lowering.at
    except RecursionError:
        reason, at = reasons.NESTED_TOO_DEEP(), lowering.at
    except OutOfTime:
        vars(lowering).clear()
        raise
    return NotCapturable(reason, at)


__all__ = ["lower"]
