"""Python functions that C code calls back, within the event that runs it.

The lowering does what the C code does (a sort, a `map`), on abstract values, and meets the recorded
bodies in the same order. Each body is bound to the values that the lowering gives it; where the
recorded objects are others, the lowering has not understood the C code, and gives up.
"""

from __future__ import annotations

import contextlib
import operator
import types
from collections.abc import Iterator
from typing import Any

from dvm import classes, reasons
from dvm.handlers import is_of_a_signal
from dvm.magpy_capture.libraries import (
    ELEMENTWISE,
    INEXACT,
    SCALARS,
    is_array,
    is_empty,
    is_function,
)
from dvm.magpy_capture.objects.caller import Caller
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import BodyRaised, NotCapturable, refuse
from dvm.magpy_capture.recording.functions_run import defines, runs
from dvm.magpy_capture.recording.special_methods import looked_up
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    CompareKey,
    DequeValue,
    DictValue,
    FunctionValue,
    Host,
    Instance,
    ListValue,
    Literal,
    Method,
    Partial,
    Sequence,
    SetValue,
    Storage,
    Tensor,
    Unread,
    resolve,
)
from dvm.magpy_capture.values.kinds import GETTERS, MISSING, class_attribute, own_attribute
from dvm.magpy_capture.values.tables import PURE
from dvm.magpy_capture.walk.followed import FUNCTIONS
from dvm.magpy_capture.walk.layer import WalkPart
from dvm.magpy_capture.walk.recorded import Operands

#: Bodies within bodies: each takes some frames of the lowering's own.
MAX_DEPTH = 40
#: events behind which a generator goes on
RESUMING = ("resumes", "throws")
#: those, and events behind which the end of the one before is told
ENDING = frozenset({"calls_back", "raised", *RESUMING})
#: Builtins without effects that the lowering answers for containers, and for anything else.
LOOKING = (bool, len, type, list, tuple, dict, set)
ASKED = (abs, float, int, max, min)
CONTAINERS = (ListValue, DictValue, SetValue, DequeValue, Sequence, Instance)


class Callbacks(WalkPart, Caller):
    """Runs over the events, and into the bodies of callbacks where a value asks for them."""

    needs = (
        "calls exceptions flow followed generators graph host_operations instances outputs "
        "program python record recorded walk"
    )

    def __init__(self, begin: int) -> None:
        self.begin = self.number = begin  # of the event that comes next
        self._depth = 0
        self._over: dict[int, int] = {}  # where bodies begin that were lowered before -> their end
        self._looks: list[tuple[Storage, int]] = []  # memory and its version
        self._attributes: list[tuple[Instance, str]] = []

    # ---- events

    def on_calls_back(self, _n: str, operands: Operands, *_: Any) -> None:
        name = getattr(self.record.seen(operands[0]), "__qualname__", "a function")
        raise refuse(reasons.C_CODE_CALLS_BACK, name)

    def raised_at(self, number: int) -> int:
        """Where the event before `number` ended with an exception of its own; -1: it did not."""
        events = self.record.events
        if number == len(events) or events[number][0] not in ENDING:
            return -1
        while number < len(events) and events[number][0] in ("calls_back", *RESUMING):
            number = body_end(events, number)
            if not number:
                return -1
        return number if number < len(events) and events[number][0] == "raised" else -1

    def next_callback(self) -> Any:
        """The function whose body C code ran next, or None."""
        self.skip()
        if (
            self.number == len(self.record.events)
            or self.record.events[self.number][0] != "calls_back"
        ):
            return None
        return self.record.seen(self.record.events[self.number][2][0])

    def on_unpack(self, name: str, operands: Operands, *rest: Any) -> Abstract:
        """The bodies that an iterator ran stand behind the events of all its parts."""
        here = end = self.number
        while end < len(self.record.events) and self.record.events[end][0] == "unpack":
            if self.record.events[end][2] != operands or self.record.events[end][1].startswith(
                "0/"
            ):
                break
            end += 1
        self.number = end
        try:
            return self.flow.unpacked(name, operands, *rest)
        finally:
            if self.number > end:
                self._over[end] = self.number
            self.number = here

    def skip(self) -> int:
        """Pass by bodies that were lowered before; the number of the next event."""
        self.number = self._over.pop(self.number, self.number)
        return self.number

    # ---- calls by C code

    def apply(
        self,
        function: Abstract,
        arguments: list[Abstract],
        named: dict[str, Abstract] | None = None,
    ) -> Abstract:
        function, named = resolve(function), named or {}
        if self.calls_back(function):
            return self.call_back(function, arguments, named)
        if isinstance(function, Partial):
            given = [*function.positional, *arguments]
            return self.apply(function.function, given, {**function.named, **named})
        arguments = [resolve(argument) for argument in arguments]
        if isinstance(function, CompareKey):
            return CompareKey(function.function, arguments[0])
        seen = self._answer(function, arguments, named)
        value = self.calls.call(function, arguments, named, seen)
        if seen is not None:
            self.recorded.check(value, seen)
        return value

    def operated(self, kind: str, name: str, a: Abstract, b: Abstract) -> Abstract:
        """The methods that Python asks, of which C code ran the first that is in Python."""
        methods = looked_up(kind, name)
        for value in (a, b):
            if isinstance(value, Instance):
                for method in methods:
                    self.instances.guard_class(
                        value.cls, method, class_attribute(value.cls, method)
                    )
        asked = [(a, methods[0], b), (b, methods[1], a)]
        while (body := self.next_callback()) is not None and asked:
            this, method, other = asked.pop(0)
            if isinstance(this, Instance) and class_attribute(this.cls, method) is body:
                answer = self.call_back(Literal(body), [this, other], {})
                if not isinstance(answer, Literal) or answer.object is not NotImplemented:
                    return answer
        raise refuse(reasons.C_CODE_COMPARES_ADDS, describe(a), describe(b))

    def pass_by_body(self) -> bool:
        """Pass by the body that C code ran next; False where it changed what it did not make."""
        begin, end = self.number, body_end(self.record.events, self.number)
        for kind, _, operands, *_ in self.record.events[begin:end]:
            if kind.startswith(("store", "delete")):
                origin, made = self.record.nodes[operands[0]][:2]
                own = origin == "event" and begin <= made < end
                if kind in ("store_global", "store_cell") or not own:
                    return False
        self._pass_to(end)
        return end > begin

    def pass_by_bodies(self) -> None:
        while self.next_callback() is not None:
            end = body_end(self.record.events, self.number)
            if not end or self.record.events[end - 1][1] == "raised":
                return
            self._pass_to(end)

    def _pass_to(self, end: int) -> None:
        self.walk.forget_snapshots(self.number, end)
        self.number = end

    # ---- bodies

    def calls_back(self, function: Abstract) -> bool:
        """Whether the body that comes next is run by calling this."""
        body = self.next_callback()
        while isinstance(function, Partial):
            function = resolve(function.function)
        callee = function.function if isinstance(function, Method) else None
        if isinstance(function, (*FUNCTIONS, Host, Instance)):
            callee = function.object
        return body is not None and runs(callee, body)

    def call_back(
        self, callee: Abstract, positional: list[Abstract], named: dict[str, Abstract]
    ) -> Abstract:
        """`callee(*positional, **named)`, of which the body was recorded next."""
        with self.within():
            return self._call_back(resolve(callee), positional, named)

    @contextlib.contextmanager
    def within(self) -> Iterator[None]:
        """Within the event that runs a body; afterwards its lowering goes on."""
        if self._depth == MAX_DEPTH:
            raise refuse(reasons.CALLBACKS_WITHIN_CALLBACKS_DEEP, MAX_DEPTH)
        self._depth += 1
        at, pending = self.outputs.at, self.recorded.pending
        self.recorded.pending = None  # of a body before: this one was not followed
        try:
            yield
        except NotCapturable as refusal:
            refusal.place(self.program.at)
            raise
        finally:
            self._depth -= 1
            self.outputs.come_to(at)
            self.recorded.pending = pending

    def begun(
        self, callee: Abstract, positional: list[Abstract], named: dict[str, Abstract], seen: Any
    ) -> Abstract:
        return self.generators.made(callee, positional, named, seen)

    def _call_back(
        self, callee: Abstract, positional: list[Abstract], named: dict[str, Abstract]
    ) -> Abstract:
        callee, positional, named = self.followed.reached(callee, positional, named)
        if isinstance(callee, Literal) and isinstance(callee.object, type):
            return self._make(callee, positional, named)
        return self._run(callee, positional, named)

    def _make(
        self, callee: Literal, positional: list[Abstract], named: dict[str, Abstract]
    ) -> Abstract:
        """`cls(...)`: the bodies of `__new__` and `__init__`, as far as they are in Python."""
        cls = callee.object
        for name in ("__new__", "__init__"):
            self.instances.guard_class(cls, name, class_attribute(cls, name))
        maker, body = class_attribute(cls, "__new__"), self.next_callback()
        if body is not None and defines(cls, "__new__", body):
            made = self._run(Literal(maker.__func__), [callee, *positional], named)
        elif maker is vars(object)["__new__"]:
            self.instances.guard_lifetime(cls)
            made = Instance(cls)
        elif issubclass(cls, BaseException) and body is not None:
            this = self.record.seen(self.record.events[self.number + 1][4])
            made = self.exceptions.new_exception(cls, maker, positional, named, this)
        else:
            raise refuse(reasons.MAKING_OBJECT_TYPE, classes.name_of(cls))
        body = self.next_callback()
        if body is not None and defines(cls, "__init__", body):
            self._run(Literal(body), [made, *positional], named)
        elif class_attribute(cls, "__init__") is not object.__init__:
            raise refuse(reasons.MAKING_OBJECT_TYPE, classes.name_of(cls))
        return made

    def _run(
        self, function: Abstract, positional: list[Abstract], named: dict[str, Abstract]
    ) -> Abstract:
        """Lower the body that was recorded next, with these arguments."""
        body = self.next_callback()
        if not isinstance(function, FUNCTIONS) or body is not function.object:
            raise refuse(reasons.C_CODE_CALLS_BACK, describe(function))
        depth = len(self.outputs.frames)
        self.number += 1
        self.enter(function, positional, named)
        _, left, operands, own = self.run_to(depth)
        if left == "raised":
            raise BodyRaised
        return self.recorded.value(operands[0] if own < 0 else own)

    def enter(
        self,
        function: Literal | FunctionValue | Closure,
        positional: list[Abstract],
        named: dict[str, Abstract],
    ) -> None:
        """Bind the values that C code gave, and enter the body."""
        self.followed.enter_function(function)
        for value in self._bound(function, positional, named):
            kind, _, _, _, node, *_ = self.record.events[self.number]
            assert kind == "given"
            self.assume(value, self.record.seen(node))
            self.recorded.values[node] = value
            self.number += 1
        self.recorded.values[self.record.events[self.number][2][-1]] = function
        self.walk.lower_event()

    def run_to(self, depth: int) -> tuple[str, str, Operands, int]:
        """Lower the body until no more frames than these are open; of its last event."""
        last = self.number
        while len(self.outputs.frames) > depth:
            last = self.skip()
            if last == len(self.record.events):
                raise NotCapturable(
                    self.record.recording["aborted"], self.record.recording["aborted_at"]
                )
            self.walk.lower_event()
        kind, left, operands, _, own, *_ = self.record.events[last]
        return kind, left, operands, own

    def _bound(
        self,
        function: Literal | FunctionValue | Closure,
        positional: list[Abstract],
        named: dict[str, Abstract],
    ) -> list[Abstract]:
        """A value for each parameter, as Python binds arguments."""
        code = function.object.__code__
        plain = code.co_argcount + code.co_kwonlyargcount
        given: dict[str, Abstract] = dict(
            zip(code.co_varnames[: code.co_argcount], positional, strict=False)
        )
        surplus = dict(named)
        for name in code.co_varnames[code.co_posonlyargcount : plain]:
            if name in surplus:
                given[name] = surplus.pop(name)
        values = []
        for slot, name in enumerate(code.co_varnames[:plain]):
            if name not in given:
                seen = self.record.seen(self.record.events[self.number + slot][4])
                given[name] = self.recorded.default(function.object, slot, seen)
            values.append(given[name])
        if code.co_flags & 0x04:
            values.append(Sequence(list(positional[code.co_argcount :])))
        if code.co_flags & 0x08:
            values.append(DictValue(surplus))
        return values

    def assume(self, value: Abstract, seen: Any) -> None:
        """The value of the lowering is the recorded object."""
        known = getattr(value, "object", None)
        if isinstance(value, Tensor):
            if known is None or value.is_scalar:
                self.recorded.check(value, seen)
                return
        elif isinstance(value, (Literal, Host)):
            if type(known) is type(seen) and (known is seen or is_equal(known, seen)):
                return
        elif isinstance(value, CONTAINERS) and not isinstance(value, Sequence) and known is None:
            value.object = seen
            return
        elif not isinstance(value, Unread) and known is None:
            return
        if known is not seen:
            raise refuse(reasons.C_CODE_CALLS_BACK_ANOTHER, describe(value))

    # ---- C functions called by C code

    def _answer(
        self, function: Abstract, arguments: list[Abstract], named: dict[str, Abstract]
    ) -> Any:
        """What a C function returned that C code called: nothing was recorded of it.

        None where the value that it is called on tells by itself.
        """
        callee = function.object if isinstance(function, Literal) else None
        if isinstance(function, Method):
            if not isinstance(function.base, (Literal, Host)) or not self.host_operations.is_pure(
                function.base
            ):
                return None
            callee = getattr(function.base.object, function.name)
        elif not is_answering(callee):
            raise refuse(reasons.C_CODE_CALLS, describe(function))
        objects = []
        for argument in [*arguments, *named.values()]:
            if isinstance(argument, CONTAINERS):
                looking = any(callee is each for each in LOOKING)
                if isinstance(function, Method) or isinstance(callee, GETTERS) or looking:
                    return self._looked_at(callee, argument)
                raise refuse(reasons.C_CODE_CALLS, describe(function))
            seen = self.python.observed_value(argument)
            if is_array(seen):
                self._look_into(function, argument)
            objects.append(seen)
        given = dict(zip(named, objects[len(arguments) :], strict=True))
        with self.graph.array_library.quiet():
            try:
                return callee(*objects[: len(arguments)], **given)  # type: ignore[misc]
            except Exception as error:
                if is_of_a_signal(error):
                    raise
                raise refuse(
                    reasons.EXCEPTION_IN_CALLED, classes.name_of(type(error)), describe(function)
                ) from None

    def _look_into(self, function: Abstract, array: Abstract) -> None:
        """Its content is what C code saw, if nobody writes into it later.

        Of nothing, NumPy's functions warn.
        """
        if not isinstance(array, Tensor) or is_empty(array.object):
            raise refuse(reasons.C_CODE_CALLS_WITH, describe(function), describe(array))
        self._looks.append((array.storage, array.storage.version))

    def _looked_at(self, getter: Any, base: Abstract) -> Any:
        """An attribute that an object of the caller had, and must have to the end."""
        if not isinstance(base, Instance) or type(getter) is not operator.attrgetter:
            return None
        name = getter.__reduce__()[1][0]
        if name in base.attributes:
            return None
        self._attributes.append((base, name))
        own = own_attribute(base.object, name)
        return None if own is MISSING else own

    def check_looks(self) -> None:
        """What the lowering has looked at held then what it holds now."""
        if any(storage.version != version for storage, version in self._looks):
            raise refuse(reasons.ARRAY_CHANGED_AFTER_C_CODE)
        if any(name in instance.changed for instance, name in self._attributes):
            raise refuse(reasons.ATTRIBUTE_CHANGED_AFTER_C_CODE)


def is_answering(callee: Any) -> bool:
    """Whether a function of C code has no effect, so that it may be asked again."""
    if isinstance(callee, GETTERS) or any(callee is each for each in (*PURE, *ASKED, *LOOKING)):
        return True
    if isinstance(callee, ELEMENTWISE):
        return True
    if isinstance(callee, types.MethodDescriptorType):
        return callee.__objclass__ in (str, bytes, int, float, complex, tuple)
    return callable(callee) and is_function(callee)


def is_equal(one: Any, other: Any) -> bool:
    """Whether two objects of one immutable type are the same value, bit by bit."""
    if isinstance(one, (float, complex, *INEXACT)):
        return repr(one) == repr(other)
    return isinstance(one, (int, str, bytes, tuple, *SCALARS)) and bool(one == other)


def body_end(events: list[Any], number: int) -> int:
    """Where the body that follows event `number` - 1 ends; 0 if the recording ended within it.

    Of a generator: the part up to its next item.
    """
    depth = 0
    for place in range(number, len(events)):
        kind = events[place][0]
        if kind in RESUMING or (kind == "enter" and not _is_first_part(events, place)):
            depth += 1
        elif kind in ("leave", "yields"):
            depth -= 1
            if depth == 0:
                return place + 1
    return 0


def _is_first_part(events: list[Any], enter: int) -> bool:
    """Whether a body is entered by the `resumes` of a generator, which counts already."""
    place = enter - 1
    while events[place][0] == "given":
        place -= 1
    return bool(events[place][0] == "resumes")


__all__ = ["RESUMING", "Callbacks", "body_end"]
