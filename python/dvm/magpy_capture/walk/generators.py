"""Generators that the program makes: their items, what is thrown into them, and their ends.

Whoever asks for an item meets the part of the body that was recorded next. A generator that waits
goes on with an exception where the program throws one in, closes it, or keeps it no longer.
"""

from __future__ import annotations

from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import BodyRaised, refuse
from dvm.magpy_capture.registry import attributes_of, methods_of
from dvm.magpy_capture.values import (
    Abstract,
    End,
    GeneratorValue,
    Literal,
    Method,
    Raised,
    is_none,
    resolve,
)
from dvm.magpy_capture.values.kinds import MISSING
from dvm.magpy_capture.walk.callbacks import RESUMING
from dvm.magpy_capture.walk.followed import FUNCTIONS
from dvm.magpy_capture.walk.layer import WalkPart
from dvm.magpy_capture.walk.recorded import Operands


class Generators(WalkPart):
    """What a generator does when it is asked for an item, thrown into, closed or dropped."""

    needs = "callbacks exceptions followed outputs program record recorded"

    def __init__(self) -> None:
        self.waiting: Any = None  # what was left of the frame of the one that gave an item

    # ---- events

    def on_resumes(self, _n: str, operands: Operands, *_: Any) -> None:
        raise refuse(reasons.C_CODE_ASKS_ITEMS, self.record.seen(operands[0]).__qualname__)

    def on_throws(self, name: str, operands: Operands, *_: Any) -> None:
        """The program has dropped the generator, which finishes what it has to."""
        generator = self.recorded.value(operands[0])
        if name != "dies" or not isinstance(generator, GeneratorValue):
            raise refuse(reasons.THROWN_INTO_GENERATOR)
        self.callbacks.number -= 1
        self.close(generator)

    def on_yields(self, _n: str, operands: Operands, *_: Any) -> None:
        self.recorded.value(operands[0])
        self.waiting = (
            self.outputs.frames.pop(),
            self.recorded.builtins.pop(),
            self.recorded.entered.pop(),
        )

    # ---- making them

    def made(
        self, callee: Abstract, positional: list[Abstract], named: dict[str, Abstract], seen: Any
    ) -> Abstract:
        """A call of a generator function, whose body runs when items are asked for.

        seen: None of one that C code has made, which is met when it gives its first item.
        """
        callee, positional, named = self.followed.reached(callee, positional, named)
        code = getattr(getattr(callee, "object", None), "__code__", None)
        if not isinstance(callee, FUNCTIONS) or (seen is not None and code is not seen.gi_code):
            raise refuse(reasons.CALL, describe(callee))
        self.followed.enter_function(callee)
        self._guard_exits(callee.object)
        made = GeneratorValue(lambda: self._next_item(made), callee, positional, named, seen=seen)
        return made

    def _guard_exits(self, function: Any) -> None:
        """What its handlers are for: GeneratorExit passes them where it is dropped."""
        globals_, builtins = function.__globals__, function.__builtins__
        for name in _dvm.asked_by_exit(function.__code__):
            scope = globals_ if name in globals_ else builtins
            if scope is builtins:
                self.program.guard_name(globals_, name, MISSING)
            self.program.guard_name(scope, name, scope.get(name, MISSING))

    # ---- going on

    def _next_item(self, generator: GeneratorValue) -> Any:
        """What a generator gives: the part of its body that was recorded next."""
        if generator.finished:
            return End
        return self._go_on(generator, "resumes", None)

    def _go_on(self, generator: GeneratorValue, how: str, exception: Raised | None) -> Any:
        """Lower the next part of its body: the item that it gives, or End."""
        events, number = self.record.events, self.callbacks.skip()
        if number == len(events) or events[number][0] not in RESUMING:
            raise refuse(reasons.GENERATOR_RAN_OUT_SIGHT)
        kind, _, operands, _, thrown, *_ = events[number]
        met = self.record.seen(operands[0])
        if generator.seen is None and met.gi_code is generator.function.object.__code__:
            generator.seen = met
        if kind != how or met is not generator.seen:
            raise refuse(reasons.GENERATORS_RAN_ANOTHER_ORDER_EXPECTED)
        depth = len(self.outputs.frames)
        with self.callbacks.within():
            self.callbacks.number += 1
            if generator.frame is None:
                self.callbacks.enter(generator.function, generator.positional, generator.named)
            else:
                frame, builtins, entered = generator.frame
                self.outputs.frames.append(frame)
                self.recorded.builtins.append(builtins)
                self.recorded.entered.append(entered)
            if exception is not None:
                self.recorded.values[thrown] = exception
            kind, left, operands, _ = self.callbacks.run_to(depth)
            generator.frame = self.waiting
            generator.finished = kind == "leave"
            if left == "raised":
                if how == "throws" and operands[0] == thrown:
                    raise ThrownBack
                raise BodyRaised
            value = self.recorded.value(operands[0]) if operands else Literal(None)
            if not generator.finished:
                return value
            generator.returned = value
            return End

    # ---- exceptions from outside

    @attributes_of(GeneratorValue)
    def attribute(self, base: GeneratorValue, name: str, seen: Any) -> Abstract:
        if name in ("close", "send", "throw"):
            return Method(base, name)
        raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))

    @methods_of(GeneratorValue)
    def method(
        self,
        base: GeneratorValue,
        name: str,
        positional: list[Abstract],
        named: dict[str, Abstract],
        seen: Any,
    ) -> Abstract:
        if name == "close":
            self.close(base)
            return Literal(None)
        item = self.given_to(base, name, positional)
        if item is End:  # which raises StopIteration, as the recording would show
            raise refuse(reasons.GENERATOR_RAN_OUT_SIGHT)
        return item

    def given_to(self, generator: GeneratorValue, how: str, given: list[Abstract]) -> Any:
        """What it gives where an exception is thrown into it, or a value sent; End: nothing more.

        The part of its body that goes on finds the value by itself.
        """
        return self.throw(generator, given) if how == "throw" else self._next_item(generator)

    def throw(self, generator: GeneratorValue, given: list[Abstract]) -> Any:
        """`generator.throw(exception)`, or `throw(type, exception, traceback)`."""
        exceptions = [value for value in map(resolve, given) if isinstance(value, Raised)]
        if len(exceptions) != 1 or generator.frame is None or generator.finished:
            raise refuse(reasons.THROWN_INTO_GENERATOR)
        events, number = self.record.events, self.callbacks.skip()
        if number == len(events) or self.record.seen(events[number][4]) is not (
            exceptions[0].object
        ):
            raise refuse(reasons.THROWN_INTO_GENERATOR)
        return self._go_on(generator, "throws", exceptions[0])

    def close(self, generator: GeneratorValue) -> None:
        """GeneratorExit is thrown into it where it waits, after one that it hands on."""
        if generator.frame is None or generator.finished:
            generator.finished = True
            return
        while not generator.finished:
            events, number = self.record.events, self.callbacks.skip()
            if number == len(events) or events[number][0] != "throws":
                raise refuse(reasons.GENERATOR_RAN_OUT_SIGHT)
            closed = self.recorded.value(events[number][2][0])
            seen = self.record.seen(events[number][4])
            if not isinstance(closed, GeneratorValue) or type(seen) is not GeneratorExit:
                raise refuse(reasons.THROWN_INTO_GENERATOR)
            exception = self.exceptions.make_exception(GeneratorExit, [], {}, seen)
            try:
                if self._go_on(closed, "throws", exception) is not End:
                    raise refuse(reasons.GENERATOR_GOES_ON_CLOSED)
            except ThrownBack:
                pass

    def ending(self, generator: GeneratorValue, seen: BaseException) -> Raised:
        """The StopIteration that tells its end."""
        returned = [] if is_none(generator.returned) else [generator.returned]
        return self.exceptions.make_exception(StopIteration, returned, {}, seen)


class ThrownBack(BodyRaised):
    """What was thrown into the generator has left it."""


__all__ = ["Generators"]
