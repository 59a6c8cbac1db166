"""What a program tells others: print, warnings.warn, logging.

A replay tells when it has committed, in the order of the program; the text is made where the
program makes it. Whoever gets it must not be able to tell that the program's other effects came
first, and must not raise: such outputs are left to the original.
"""

from __future__ import annotations

import logging
import re
import sys
import types
import warnings
from dataclasses import dataclass
from typing import Any

from dvm import reasons
from dvm.magpy_capture.libraries import is_library_file, is_of_library
from dvm.magpy_capture.meanings.python import log_records, shown_warnings
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.meanings.python.log_records import (
    IS_ENABLED,
    LEVELLED,
    LEVELS,
    LOGGING,
    WITH_TRACEBACK,
    is_plain_stream,
)
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import Location, refuse
from dvm.magpy_capture.registry import calls_of_each, means
from dvm.magpy_capture.values import (
    Abstract,
    DictValue,
    Host,
    Instance,
    Literal,
    Named,
    Sequence,
    Size,
    resolve,
)
from dvm.magpy_capture.values.kinds import PURE_TYPES

NONE, FALSE, ONE = Literal(None), Literal(False), Literal(1)

#: a conversion in a text to format: flags, width, what it converts by
CONVERSION = re.compile(r"%[-#0 +]*(?:\d+)?(?:\.\d+)?([diouxXeEfFgGcrsa%])")
#: code of `logging`, whose frames a record does not name
LOGGING_FILE = logging.Logger.info.__code__.co_filename


@dataclass(eq=False)
class Frame:
    """A frame of the program that is open.

    operands: its parameters and function. called_at: where. users_at: the innermost line of the
    user around it, if there is one.
    """

    operands: list[int]
    called_at: Location
    users_at: Location | None


class Outputs(PythonPart):
    """Calls that a replay makes behind all else."""

    needs = "contexts graph heap host_operations indexing ledger program python record sets"

    def __init__(self, function: Any) -> None:
        self.function = function  # that was recorded
        self.frames: list[Frame] = []  # that are being lowered
        self.at: Location = ("", 0)  # the line of the event that is
        self.users_at: Location | None = None
        self.streams: list[Abstract | None] = []  # that are written: None for sys.stdout
        self.warns = False

    # ---- streams

    @means(print)
    def print_line(
        self, *values: Abstract, file: Abstract = NONE, flush: Abstract = FALSE, **named: Abstract
    ) -> Abstract:
        """Printed after the path has committed; the text is computed before."""
        if not set(named) <= {"sep", "end"}:
            raise refuse(reasons.FUNCTION_WITH, "print", ", ".join(named))
        parts = [self._text_of(value) for value in (*values, *named.values())]
        names = [*named]
        if self.python.decided(flush):
            parts.append(Literal(True))
            names.append("flush")
        self.streams.append(stream := self._stream(file))
        if stream is not None:
            parts.append(stream)
            names.append("file")
        self.ledger.call(print, parts, tuple(names))
        return NONE

    def _stream(self, file: Abstract) -> Abstract | None:
        file = resolve(file)
        if isinstance(file, Literal) and file.object is None:
            return None
        if not is_plain_stream(getattr(file, "object", None)):
            raise refuse(reasons.PRINTING_TO, describe(file))
        return file

    def is_stream(self, value: Abstract) -> bool:
        """Whether it is one on which `write` and `flush` are outputs."""
        return isinstance(value, (Host, Instance)) and is_plain_stream(value.object)

    def stream_method(
        self, base: Abstract, name: str, positional: list[Abstract], seen: Any
    ) -> Abstract:
        """`sys.stdout.write(text)` gives the number of its characters; `flush()`."""
        if name not in ("write", "flush") or len(positional) != (name == "write"):
            raise refuse(reasons.CALL_METHOD, name, describe(base))
        method = getattr(type(getattr(base, "object", None)), name)
        texts = [self._text_of(value) for value in positional]
        if any(type(getattr(text, "object", None)) is not str for text in texts):
            raise refuse(reasons.PRINTING, describe(positional[0]))
        self.streams.append(base)
        self.ledger.call(method, [base, *texts])
        return self.host_operations.host_operation("len", texts, seen) if texts else NONE

    def _text_of(self, value: Abstract) -> Abstract:
        """What print makes its text of, when nothing can change it any more."""
        value = resolve(value)
        if isinstance(value, Size):
            return value
        if isinstance(value, (Literal, Host)) and type(value.object) in PURE_TYPES:
            return value
        if not self.sets.is_shown(value):
            raise refuse(reasons.PRINTING, describe(value))
        return Host(
            self.program.step(
                "call", self.program.constant(str), [self.program.register_of(value)], ()
            ),
            "",
        )

    def guard_outputs(self) -> None:
        """Outputs come after all other effects, and must not raise there."""
        for stream in self.streams:
            if stream is None:
                if not is_plain_stream(sys.stdout):
                    raise refuse(reasons.PRINTING_STREAM_PROGRAM_S_OWN)
                scope = vars(sys)
                register = self.program.step(
                    "variable", scope, "stdout", key=("variable", id(scope), "stdout")
                )
                self.program.guard_type(register, sys.stdout)
            else:
                register = self.program.register_of(stream)
            closed = self.program.step(
                "getattr", register, "closed", key=("getattr", register, "closed")
            )
            self.program.guard("guard_truth", closed, False)
        if self.warns:
            if not self.answer_now(shown_warnings.are_shown_plainly):
                raise refuse(reasons.WARNING_SHOWN_BY_PROGRAM)

    def answer_now(self, function: Any, *given: Abstract) -> Any:
        """The answer to a question of dvm's own, on every call of the path."""
        registers = [self.program.register_of(value) for value in given]
        test = self.program.step("call", self.program.constant(function), registers, ())
        now = function(*(self.python.observed_value(value) for value in given))
        self.program.guard("guard_value", test, now, key=(test,))
        return now

    # ---- places

    def innermost(self) -> Any:
        """The function whose body is being lowered."""
        return self.record.seen(self.frames[-1].operands[-1]) if self.frames else self.function

    def come_to(self, at: Location) -> None:
        """The lowering is at this line: reports speak of the user's that it runs for."""
        self.at = at
        self.users_at = at
        if is_library_file(at[0]):
            self.users_at = self.frames[-1].users_at if self.frames else None
        self.program.steps.at = self.users_at or at

    def place_of_frame(
        self, level: int, beyond: str = ""
    ) -> tuple[types.FunctionType, Location] | None:
        """The function of the frame so many levels out (0: this one) and its line now.

        None for callers of the compiled function. beyond: frames of this file do not count, as long
        as they are the innermost.
        """
        frames = [(self.function, self.at)]
        for frame in self.frames:
            frames[-1] = (frames[-1][0], frame.called_at)
            frames.append((self.record.seen(frame.operands[-1]), self.at))
        while beyond and len(frames) > 1 and frames[-1][1][0] == beyond:
            frames.pop()
        for function, _ in frames[max(len(frames) - level, 0) :] if level else ():
            if function.__code__.co_flags & 0x20:  # a generator: whoever resumed it called it last
                raise refuse(reasons.PLACE_OF_GENERATOR)
        return frames[-1 - level] if level < len(frames) else None

    # ---- warnings

    @means(warnings.warn)
    def warn(
        self,
        message: Abstract,
        category: Abstract = NONE,
        stacklevel: Abstract = ONE,
        source: Abstract = NONE,
    ) -> Abstract:
        """`warnings.warn`: given as of the line of the program, when the path has committed."""
        text = resolve(message)
        if is_of_library(self.innermost().__module__):  # called whole, it drops
            raise refuse(reasons.CALL, "warnings.warn")
        if self.contexts.caught:
            raise refuse(reasons.WARNING_PROGRAM_CATCHES)
        kind = self.indexing.plain(category)
        if kind is None:
            kind = UserWarning
        is_text = isinstance(text, (Literal, Host)) and type(text.object) is str
        if not is_text or not isinstance(kind, type) or self.indexing.plain(source) is not None:
            raise refuse(reasons.WARNING_OF, describe(text))
        level = max(self.indexing.plain(stacklevel), 1) - 1
        place = self.place_of_frame(level)
        given: list[Abstract] = [text, Literal(kind)]
        self.warns = True
        if place is None:
            level -= len(self.frames)
            if self.answer_now(shown_warnings.may_raise_for_callers, *given):
                raise refuse(reasons.WARNING_RAISES)
            self.ledger.call(warnings.warn, [*given, Literal(level)])
            return NONE
        function, (_, line) = place
        scope = function.__globals__
        module = scope.get("__name__", "<unknown>")
        if not isinstance(module, str):
            raise refuse(reasons.WARNING_OF, describe(text))
        where = [Literal(module), Literal(line)]
        if self.answer_now(shown_warnings.would_raise, *given, *where):
            raise refuse(reasons.WARNING_RAISES)
        given += [*where, Literal(function.__code__.co_filename), Literal(scope)]
        self.ledger.call(shown_warnings.give, given)
        return NONE

    # ---- logging

    @means(logging.getLogger)
    def get_logger(self, name: Abstract = NONE, *, seen: Any) -> Abstract:
        """`logging.getLogger`: the one of that name, which is made where there is none."""
        known = self.indexing.plain(name)
        register = self.program.constant(known)
        fetch = lambda: self.program.step(  # noqa: E731
            "call", self.program.constant(logging.getLogger), [register], (), key=("logger", known)
        )
        return self.heap.reach(fetch, seen)

    def is_enabled(self, logger: Abstract, level: Abstract, seen: Any) -> Abstract:
        given = [self.program.register_of(logger), self.program.register_of(level)]
        return self.heap.computed(
            self.program.step("call", self.program.constant(IS_ENABLED), given, ()), seen
        )

    @calls_of_each(LOGGING)
    def log(self, function: Any, positional: list[Abstract], named: Named, seen: Any) -> Abstract:
        """A call that logs: positional begins with the logger, for a method."""
        given = [resolve(value) for value in positional]
        of_module = function.__qualname__ == function.__name__
        if of_module:
            logger = self.heap.reach(lambda: self.program.constant(logging.root), logging.root)
        else:
            logger = given.pop(0)
        if function in WITH_TRACEBACK or not given:
            raise refuse(reasons.LOGGING_WITH, "a traceback")
        level = given.pop(0) if function in LEVELLED else Literal(LEVELS[function])
        known = self.indexing.plain(level)
        if type(known) is not int or not given:
            raise refuse(reasons.LOGGING_WITH, describe(level))
        registers = [self.program.register_of(logger), self.program.constant(known)]
        asked = self.program.step(
            "call", self.program.constant(log_records.standing), registers, ()
        )
        found = log_records.standing(self.observed_value_of(logger), known)
        self.program.guard("guard_value", asked, found, key=(asked,))
        if found == log_records.OFF:
            return NONE
        if found == log_records.OWN:
            raise refuse(reasons.LOGGING_HANDLER)
        extra, place = self._keywords(named)
        message, *arguments = self._message(given)
        self.graph.compute_pending()  # the record has the time of now
        made = log_records.made_record
        record = self.program.step(
            "call",
            self.program.constant(made),
            [
                *(*registers, self.program.constant(place), self.program.register_of(message)),
                *(self.program.register_of(Sequence(arguments)), extra),
            ],
            (),
        )
        hand_on = log_records.hand_on_from_root if of_module else log_records.hand_on
        self.ledger.call(hand_on, [logger, Host(record, None)])
        return NONE

    def observed_value_of(self, value: Abstract) -> Any:
        """The object that was recorded."""
        return getattr(resolve(value), "object", None)

    def _keywords(self, named: Named) -> tuple[int, tuple[str, int, str]]:
        """The register of what `extra` gives, and where the record is said to come from."""
        level = 1
        extra: Abstract = NONE
        for name, value in named.items():
            value = resolve(value)
            if name == "extra" and (isinstance(value, DictValue) and self.sets.is_shown(value)):
                extra = value
            elif name == "stacklevel":
                level = self.indexing.plain(value)
            elif not isinstance(value, Literal) or value.object:
                raise refuse(reasons.LOGGING_WITH, name)
        found = self.place_of_frame(level - 1, LOGGING_FILE)
        if found is None:
            raise refuse(reasons.LOGGING_WITH, "the place of a caller")
        function, (_, line) = found
        code = function.__code__
        return self.program.register_of(extra), (code.co_filename, line, code.co_name)

    def _message(self, given: list[Abstract]) -> list[Abstract]:
        """The text and what it formats, as they are now.

        What may change, as arrays do, is formatted here, by %s.
        """
        message, *arguments = given
        if not arguments:
            return [self._text_of(message)]
        plain = [self._is_unchanging(argument) for argument in arguments]
        if all(plain) and self._is_unchanging(message):
            return given
        text = getattr(message, "object", None)
        kinds = [kind for kind in CONVERSION.findall(text) if kind != "%"] if text else []
        if not isinstance(message, Literal) or len(kinds) != len(arguments):
            raise refuse(reasons.PRINTING, describe(message))
        for place, (kind, argument) in enumerate(zip(kinds, arguments, strict=True)):
            if not plain[place]:
                if kind != "s":
                    raise refuse(reasons.PRINTING, describe(argument))
                arguments[place] = self._text_of(argument)
        return [message, *arguments]

    def _is_unchanging(self, value: Abstract) -> bool:
        value = resolve(value)
        scalar = getattr(value, "is_scalar", False)
        known = isinstance(value, (Literal, Host)) and type(value.object) in PURE_TYPES
        return scalar or known or isinstance(value, Size)
