"""Goes through the recorded events: each is given its meaning, in order, and becomes steps.

What has no meaning here ends the path in a fallback, after the guards so far: a call that takes
another way at one of them may still be compiled.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dvm import reasons
from dvm.magpy_capture.libraries import is_array, is_code, is_whole
from dvm.magpy_capture.meanings.python.outputs import Frame
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import BodyRaised, HandedOn, NotCapturable, refuse
from dvm.magpy_capture.recording.findings import Findings
from dvm.magpy_capture.values import (
    Abstract,
    DictValue,
    End,
    GeneratorValue,
    Host,
    IteratorValue,
    Literal,
    Method,
    Raised,
    Size,
    Tensor,
    is_none,
    resolve,
)
from dvm.magpy_capture.values.kinds import MISSING
from dvm.magpy_capture.walk.callbacks import body_end
from dvm.magpy_capture.walk.layer import WalkPart
from dvm.magpy_capture.walk.recorded import Operands

if TYPE_CHECKING:
    from dvm.magpy_capture.recording.findings import Findings


#: A longer path would cost seconds (lowering takes 25 us an event) for each count of turns of a
#: loop, and a straight path of scalar steps is replayed no faster than Python runs the loop. With
#: each array that functions make it may be longer, for those take their time.
MAX_EVENTS, EVENTS_OF_ARRAY = 20_000, 50


class Walk(WalkPart):
    """Lowers one recording into the path it describes."""

    needs = (
        "callbacks caller calls containers effects exceptions followed generators graph heap "
        "host_operations indexing instances loop_policy meanings memory outputs program python "
        "record recorded recursion_policy sizes"
    )

    def __init__(self) -> None:
        # id of an operand -> the first event that has it
        self.first_sights: dict[int, int] | None = None
        self.own_line = 0  # of the function itself, at which the lowering is

    @property
    def _events(self) -> int:
        """How many are lowered one by one."""
        skipped = self.loop_policy.rolled_events + self.recursion_policy.skipped_events
        return len(self.record.events) - self.callbacks.begin - skipped

    @property
    def share_done(self) -> float:
        """Of these, about; those that were passed in one step count for more than they took."""
        done = self.callbacks.number - self.callbacks.begin
        return min(1.0, max(1, done) / max(1, self._events))

    def run(self) -> None:
        events = self._events
        if events > MAX_EVENTS and events > (most := self._most_events()):
            self.loop_policy.check_hopes()
            raise NotCapturable(reasons.PATH_MORE_EVENTS(most), self.record.events[-1][5])
        self.graph.order_numbers()
        self.followed.meet_cells(Literal(self.outputs.function))
        for pair in self.record.recording.get("same", ()):
            registers = map(self.program.argument, pair)
            self.program.guard("guard_same", *registers, True)
        result = self.recursion_policy.invoke_all()
        while result is None and self.callbacks.skip() < len(self.record.events):
            self.lower_event()
        if self.record.recording["aborted"]:
            raise NotCapturable(
                self.record.recording["aborted"], self.record.recording["aborted_at"]
            )
        self.callbacks.check_looks()
        if result is None:
            result = self.recorded.value(self.record.recording["result"])
        self.loop_policy.let_go()
        self.effects.finish(result)
        self.graph.require_none_late()

    def _most_events(self) -> int:
        """How long the path may be."""
        events = self.record.events[self.callbacks.begin :]
        results = (event[4] for event in events if event[0] == "call" and event[4] >= 0)
        arrays = sum(is_array(self.record.seen(result)) for result in results)
        return MAX_EVENTS + EVENTS_OF_ARRAY * arrays

    def lower_event(self) -> None:
        self.program.deadline.check()
        events = self.record.events
        kind, name, operands, keywords, result, at, followed = events[self.callbacks.number]
        self.outputs.come_to(at)
        if not self.outputs.frames:
            self.own_line = at[1]
        self.callbacks.number += 1
        self.heap.handed_on = MISSING  # of an event that runs a body, which is there now
        if self.record.dropped and not self.record.has_kept(operands):
            raise refuse(reasons.OBJECT_TELLS_END)
        if followed:
            self.followed.leading = None
            callee = self.record.seen(operands[0])
            end = (
                body_end(events, self.callbacks.number) if id(callee) in self.recorded.whole else 0
            )
            end = end or self.end_of_numpys_code(self.callbacks.number)
            if end:
                self.forget_snapshots(self.callbacks.number, end)
                self.callbacks.number, followed = end, False
                if events[end - 1][1] == "raised":
                    self.raised(kind, name, operands, keywords, events[end - 1][2][0])
                    return
            else:
                self.recorded.pending = (kind, name, keywords, result, callee)
        elif (
            kind not in ("leave", "yields")
            and (end := self.callbacks.raised_at(self.callbacks.number)) >= 0
        ):
            if end > self.callbacks.number:
                self.ended(kind, operands, events[end][4])
            else:
                self.raised(kind, name, operands, keywords, events[end][4])
            self.callbacks.number = end + 1
            return
        handler = self.meanings.handlers[kind]
        try:
            if result in self.recursion_policy.handed and not followed:
                value = self._handed(handler, name, operands, keywords, result)
            else:
                value = handler(name, operands, keywords, result, followed)
        except BodyRaised:
            return  # there is no result; what comes next knows the exception
        if result >= 0 and not followed:
            self.recorded.check(value, self.record.seen(result))
            self.recorded.values[result] = value

    def _handed(
        self, handler: Any, name: str, operands: Operands, keywords: list[str], result: int
    ) -> Abstract:
        """What the event finds, of which nothing is guarded but that it is found there."""
        for node in operands:
            self.recorded.value(node)
        seen = self.heap.handed_on = self.record.seen(result)
        try:
            made = resolve(handler(name, operands, keywords, result, False))
        except HandedOn as found:
            return Host(found.register, seen)
        finally:
            self.heap.handed_on = MISSING
        return made

    def end_of_numpys_code(self, number: int) -> int:
        """Where the bodies behind event `number` - 1 end, if they are of NumPy's own classes."""
        events = self.record.recording["events"]
        end = 0
        while number < len(events):
            entered = number
            while entered < len(events) and events[entered][0] != "enter":
                entered += 1
            if (entered > number and end) or entered == len(events):
                break
            if not is_code(self.record.seen(events[entered][2][-1])):
                return 0
            number = end = body_end(events, number)
            if not end or events[end - 1][1] == "raised":
                break
        return end

    def forget_snapshots(self, begin: int, end: int) -> None:
        """A body called whole is over: what it made is as it left it.

        What they held at first sight, within the body, no call of the path will see.
        """
        if self.first_sights is None:
            self.first_sights = {}
            for number, event in enumerate(self.record.events):
                for node in event[2]:
                    if node >= 0:
                        self.first_sights.setdefault(id(self.record.nodes[node][4]), number)
        for seen, number in self.first_sights.items():
            if begin <= number < end:
                self.heap.snapshots.pop(seen, None)
                self.record.came.pop(seen, None)

    def found_out(self, found: Findings) -> bool:
        """Whether a lowering that was given up may end otherwise, with what it has found out."""
        joint, on_host = self.memory.wanted_joint, self.memory.wanted_on_host
        for wanted, known in ((joint, found.joint), (on_host, found.on_host)):
            if not wanted <= known:
                known |= wanted
                return True
        if not self.graph.read_late <= found.copied:
            found.copied |= self.graph.read_late
            return True
        if not self.memory.wanted_told <= found.told_apart:
            found.told_apart |= self.memory.wanted_told
            return True
        for policy in (self.loop_policy, self.recursion_policy):
            if not policy.given_up <= found.unrolled:
                found.unrolled |= policy.given_up
                return True
        opened = self._open_function()
        if opened is None or id(opened) in found.whole:
            return False
        found.whole.add(id(opened))
        return True

    def _open_function(self) -> Any:
        """The innermost function of NumPy whose body is being lowered, if it can be called whole.

        None if there is none, or if it is one that was refused as a whole already.
        """
        for cause in reversed(self.recorded.entered):
            if cause is not None and cause[0] in ("call", "call_ex") and is_whole(cause[4]):
                return cause[4]
        return None

    # ---- exceptions

    def raised(
        self, kind: str, name: str, operands: Operands, keywords: list[str], exception: int
    ) -> None:
        """The event did not come to its end but to this exception."""
        seen = self.record.seen(exception)
        if kind == "raise":
            value = self.recorded.value(operands[0])
            if isinstance(value, Literal) and isinstance(value.object, type):
                value = self.exceptions.make_exception(value.object, [], {}, seen)
            if not isinstance(value, Raised) or value.object is not seen:
                raise refuse(reasons.RAISING, describe(value))
            if len(operands) > 1:
                cause = self.recorded.value(operands[1])
                if isinstance(cause, Raised) or is_none(cause):
                    value.attributes["__cause__"] = cause
        elif kind in ("call", "call_ex"):
            arguments = self.given_to(kind, operands, keywords)
            value = self.exceptions.raising_call(self.recorded.value(operands[0]), *arguments, seen)
        else:
            parts = [self.recorded.value(node) for node in operands]
            value = self.exceptions.raising_operator(kind, name, parts, seen)
        self.recorded.values[exception] = value

    def ended(self, kind: str, operands: Operands, exception: int) -> None:
        """The event ran Python bodies, and ended with an exception of its own.

        `next` and a generator's `throw` and `send` tell of an end so.
        """
        seen = self.record.seen(exception)
        callee = self.recorded.value(operands[0])
        if kind == "call" and isinstance(callee, Method) and callee.name in ("send", "throw"):
            generator = resolve(callee.base)
            if isinstance(generator, GeneratorValue) and type(seen) is StopIteration:
                given = [self.recorded.value(node) for node in operands[1:]]
                if self.generators.given_to(generator, callee.name, given) is End:
                    self.recorded.values[exception] = self.generators.ending(generator, seen)
                    return
        if kind == "call" and len(operands) == 2 and self.record.seen(operands[0]) is next:
            callee, iterator = (self.recorded.value(node) for node in operands)
            if isinstance(callee, Literal) and isinstance(iterator, IteratorValue):
                if type(seen) is StopIteration and iterator.pull() is End:
                    self.recorded.values[exception] = (
                        self.generators.ending(iterator, seen)
                        if isinstance(iterator, GeneratorValue)
                        else self.exceptions.make_exception(StopIteration, [], {}, seen)
                    )
                    return
        if kind == "raise" and self.caller.calls_back(callee):  # a class with an __init__
            made = self.caller.call_back(callee, [], {})
            if isinstance(made, Raised) and made.object is seen:
                self.recorded.values[exception] = made
                return
        raise refuse(reasons.EXCEPTION_C_CODE_CALLS_PYTHON)

    def on_matches(self, _n: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        exception, classes = (self.recorded.value(node) for node in operands)
        if not isinstance(exception, Raised):
            raise refuse(reasons.HANDLING, describe(exception))
        self.indexing.plain(classes)
        return Literal(self.record.seen(result))

    # ---- frames

    def on_enter(self, name: str, operands: Operands, *_: Any) -> None:
        function = self.record.seen(operands[-1])
        self.followed.enter_function(self.followed.entered_function(function, operands))
        self.outputs.frames.append(Frame(operands, self.outputs.at, self.outputs.users_at))
        self.recorded.entered.append(self.recorded.pending)
        self.recorded.pending = None
        self.recorded.builtins.append(function.__builtins__)
        self.recursion_policy.invoke()

    def on_leave(
        self, left: str, operands: Operands, _k: Any, own: int, _f: bool
    ) -> Abstract | None:
        """own: the node that the result of a recursive function has, whatever it hands back."""
        if not self.outputs.frames:
            raise refuse(reasons.ITERATOR_ENDED)
        returned = None
        if operands and left != "raised":
            returned = self.recursion_policy.take_returned()
            returned = self.recorded.value(operands[0]) if returned is None else returned
        self._leave(operands, returned)
        return returned

    def _leave(self, operands: Operands, returned: Abstract | None) -> None:
        self.outputs.frames.pop()
        self.recorded.builtins.pop()
        cause = self.recorded.entered.pop()
        if cause is None or returned is None:
            return
        kind, name, keywords, result, callee = cause
        self.recorded.pending = (
            cause  # a second body may follow: __init__ after __new__, __radd__ ...
        )
        if isinstance(returned, Literal) and returned.object is NotImplemented:
            return
        answer = self.record.seen(operands[0])
        if kind == "branch" or name == "not":
            if type(answer) is not bool:  # of __len__, for __bool__ gives bools
                self.guard_length_range(returned)
            if kind == "branch":
                self.python.outcome(returned, keywords[0] == "1")
        elif callee is len and type(answer) is int:
            self.guard_length_range(returned)
        if result < 0 or result in self.recorded.values or result == operands[0]:
            return
        seen = self.record.seen(result)
        if kind == "contains" or name in ("not", "!="):
            negative = name in ("not in", "not") or (
                name == "!=" and seen != self.record.seen(operands[0])
            )
            self.recorded.values[result] = self.truth_of(returned, negative, seen)
        elif seen is self.record.seen(operands[0]):
            self.recorded.values[result] = returned

    def guard_length_range(self, value: Abstract) -> None:
        """len() and truth refuse a negative length, and one beyond sys.maxsize."""
        if isinstance(value, (Host, Size, Tensor)):
            dim = self.indexing.dim_of(value)
            self.sizes.is_negative(dim)
            if not dim.is_natural:
                limit = self.program.constant(sys.maxsize)
                test = self.program.operate("<=", self.program.register_of_dim(dim), limit)
                self.program.guard("guard_truth", test, True)

    def truth_of(self, value: Abstract, negative: bool, seen: bool) -> Abstract:
        """`bool(value)` or its negation, of what a special method returned."""
        if isinstance(value, Literal):
            return Literal(seen)
        return self.host_operations.host_operation("not" if negative else "truth", [value], seen)

    def on_new(self, _n: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        self.recorded.value(operands[0])
        cls = type(self.record.seen(result))
        self.instances.guard_lifetime(cls)
        return self.calls.new_instance(cls, self.record.seen(result))

    # ---- calls

    def on_call(
        self, _n: str, operands: Operands, keywords: list[str], result: int, followed: bool
    ) -> Abstract:
        callee = self.recorded.value(operands[0])
        if followed:
            return self.followed.call_followed(callee)
        return self.calls.call(
            callee, *self.given_to("call", operands, keywords), self.record.seen(result)
        )

    def on_call_ex(
        self, _n: str, operands: Operands, keywords: list[str], result: int, followed: bool
    ) -> Abstract:
        callee = self.recorded.value(operands[0])
        arguments = self.given_to("call_ex", operands, keywords)  # which asks for their number
        if followed:
            return self.followed.call_followed(callee)
        return self.calls.call(callee, *arguments, self.record.seen(result))

    def given_to(
        self, kind: str, operands: Operands, keywords: list[str]
    ) -> tuple[list[Abstract], dict[str, Abstract]]:
        """What a call was given, by position and by name."""
        if kind == "call":
            rest = [self.recorded.value(node) for node in operands[1:]]
            positional = rest[: len(rest) - len(keywords)]
            return positional, dict(zip(keywords, rest[len(positional) :], strict=True))
        positional = self.containers.elements(self.recorded.value(operands[1]))
        if len(operands) < 3:
            return positional, {}
        mapping = self.instances.mapping_of(self.recorded.value(operands[2]))
        if not isinstance(mapping, DictValue):
            raise refuse(reasons.STARS_OF, describe(mapping))
        return positional, dict(mapping.items)


__all__ = ["Walk"]
