"""The reference tracer: the recordings of the native recorder, made slowly in plain Python.

`record` runs a function under `sys.settrace` with opcode events and keeps a shadow of every frame
it follows (settrace_frame). It shares no code with the native recorder but the look at the real
stack (`_dvm.peek`), so that each is a test of the other. CPython 3.11 only.
"""

from __future__ import annotations

import dis
import gc
import sys
import types
from typing import Any

from dvm import _dvm, reasons
from reference_tracer.bodies import (
    bind,
    find_arguments,
    given,
    is_asked_iterator,
    is_callback,
    runs_for_event,
)
from reference_tracer.frame import FrameShadow
from reference_tracer.record import (
    NO_NODE,
    Record,
    UnkeepableError,
    UnrecordableError,
)

_YIELDS = 0x20
_SUSPENDS = _YIELDS | 0x80 | 0x200  # generators, coroutines, asynchronous generators


def generator_of(frame: types.FrameType) -> Any:
    """The generator that runs in the frame."""
    return next(
        each
        for each in gc.get_objects()
        if type(each) is types.GeneratorType and each.gi_frame is frame
    )


class Tracer:
    """One recording under way: which frames are recorded, and what their events call for."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.record = Record()
        self.frames: list[FrameShadow] = []
        self.recursive: set[types.CodeType] = set()  # of functions that have called themselves
        self.waiting: dict[types.FrameType, FrameShadow] = {}  # frames of generators
        self.finished = False
        self.in_flight = NO_NODE  # the exception that left a body, until its caller has it

    def __call__(self, frame: types.FrameType, what: str, argument: Any) -> Any:
        if self.finished or self.record.aborted:
            return None
        try:
            self.on_event(frame, what, argument)
        except UnkeepableError as reason:
            self.record.discard(reason.args[0], frame)
        except UnrecordableError as reason:
            self.record.abort(reason.args[0], frame)
        if self.record.aborted:
            frame.f_trace_opcodes = False
        return self if self.frames and self.frames[-1].frame is frame else None

    def on_event(self, frame: types.FrameType, what: str, argument: Any) -> None:
        mine = bool(self.frames) and self.frames[-1].frame is frame
        caught = what == "call" or (mine and what in ("opcode", "return"))
        if caught and self.in_flight != NO_NODE:
            raise UnrecordableError(reasons.HANDLED_BY_C())
        if what == "call":
            self.on_call(frame)
        elif mine:
            if what == "opcode":
                self.record.check_dropped()
                self.frames[-1].before_opcode()
            elif what == "return":
                self.on_return(argument)
            elif what == "exception":
                self.on_exception(argument)

    def on_resume(self, frame: types.FrameType) -> None:
        """A generator whose making was recorded gives its next item."""
        if not self.frames:
            return
        function, slots, _ = _dvm.peek(frame)
        top, waiting = self.frames[-1], self.waiting.pop(frame, None)
        name, oparg = dis.opname[frame.f_code.co_code[frame.f_lasti]], frame.f_lasti + 1
        begins = name == "RESUME" and frame.f_code.co_code[oparg] == 0
        in_sight = frame.f_back is top.frame and runs_for_event(self.record, top)
        if begins != (waiting is None) or _dvm.is_leaf(function) or not in_sight:
            return
        node = self.record.made_generator(frame) if waiting is None else waiting.generator
        if node == NO_NODE and waiting is None and is_asked_iterator(function, slots):
            node = self.record.constant(generator_of(frame))
        if node == NO_NODE:
            return
        if name != "RESUME":
            raise UnrecordableError(reasons.THROWN_INTO_GENERATOR())
        self.record.add("resumes", "", [node], top.place)
        if waiting is None:
            parameters = given(self.record, top, function, slots)
            self.add_enter(top, function, parameters)
            waiting = FrameShadow(self.record, frame, parameters)
            waiting.called_back, waiting.generator = True, node
        else:
            waiting.resume(self.sent_by(top))
        self.frames.append(waiting)
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False

    def sent_by(self, caller: FrameShadow) -> int:
        """What the caller sends into a generator that waits."""
        kind, _, operands, *_ = self.record.events[caller.event]
        if kind == "next":
            return caller.sent
        return operands[1] if kind == "call" and len(operands) == 2 else NO_NODE

    def on_call(self, frame: types.FrameType) -> None:
        if frame.f_code.co_flags & _SUSPENDS:
            return self.on_resume(frame) if frame.f_code.co_flags & _YIELDS else None
        function, slots, _ = _dvm.peek(frame)
        instance, called_back = NO_NODE, False
        if not self.frames:
            if function is not self.function:
                return
            parameters = self.record.arguments(frame.f_code, slots)
        else:
            top = self.frames[-1]
            if top.event < 0 or frame.f_back is not top.frame or _dvm.is_leaf(function):
                return
            found = find_arguments(self.record, top, function, frame.f_code, slots)
            bound = None
            if found is not None:
                bound = bind(self.record, function, slots, found, top.place)
            if found is not None and bound is not None:
                parameters, instance = list(map(self.record.own, bound)), found.instance
                self.record.events[top.event][6] = True
            elif is_callback(self.record, top, function, slots):
                self.record.add("calls_back", "", [self.record.constant(function)], top.place)
                parameters, called_back = given(self.record, top, function, slots), True
            else:
                return
            self.add_enter(top, function, parameters)
        if any(each.frame.f_code is frame.f_code for each in self.frames):
            self.recursive.add(frame.f_code)
        shadow = FrameShadow(self.record, frame, parameters)
        shadow.instance = instance
        shadow.called_back = called_back
        shadow.may_stop = bool(self.frames) and self.frames[-1].iterating and not called_back
        self.frames.append(shadow)
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False

    def add_enter(self, top: FrameShadow, function: Any, parameters: list[int]) -> None:
        callee = next(iter(self.record.events[top.event][2]), NO_NODE)
        if callee == NO_NODE or self.record.object(callee) is not function:
            callee = self.record.constant(function)
        self.record.add("enter", function.__qualname__, [*parameters, callee], top.place)

    def on_return(self, value: Any) -> None:
        shadow = self.frames[-1]
        if shadow.stopped:
            self.record.add("leave", "exhausted", [], shadow.place)
            self.frames.pop()
            return
        if shadow.raising != NO_NODE:
            if len(self.frames) == 1:
                raise UnrecordableError(reasons.EXCEPTION_LEFT())
            self.record.add("leave", "raised", [shadow.raising], shadow.place)
            self.in_flight = shadow.raising
            self.frames.pop()
            return
        if shadow.yielded != NO_NODE:
            if self.record.object(shadow.yielded) is not value:
                raise UnrecordableError(reasons.UNKNOWN_ITEM())
            self.record.add("yields", "", [shadow.yielded], shadow.place)
            shadow.yielded = NO_NODE
            self.waiting[shadow.frame] = self.frames.pop()
            return
        node = shadow.returned
        if node == NO_NODE or self.record.object(node) is not value:
            raise UnrecordableError(reasons.UNKNOWN_RETURN())
        if len(self.frames) == 1:
            self.record.result = node
            self.finished = True
            self.record.leave_frame(_dvm.peek(shadow.frame)[1])
        else:
            left = self.record.add("leave", "", [node], shadow.place)
            if shadow.generator == NO_NODE and shadow.frame.f_code in self.recursive:
                node = self.record.add_result(left, value)
            if shadow.instance != NO_NODE:
                node = shadow.instance
        self.frames.pop()
        if self.frames and shadow.generator != NO_NODE:
            self.frames[-1].ending = node
        if self.frames and not shadow.called_back:
            self.frames[-1].followed = node

    def on_exception(self, argument: Any) -> None:
        top = self.frames[-1]
        if argument[0] is StopIteration and (top.iterating or top.may_stop):
            top.stopped = not top.iterating
            return
        coming, self.in_flight = self.in_flight, NO_NODE
        if coming == NO_NODE:
            top.raise_exception(argument[1])
        elif self.record.object(coming) is argument[1]:
            top.raising = coming
        else:
            raise UnrecordableError(reasons.EXCEPTION_TURNED())


def record(function: types.FunctionType, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Run the function and return its recording, as `_dvm.record` does.

    Args:
        function: A Python function.
        *args: Its positional arguments.
        **kwargs: Its keyword arguments.

    Returns:
        The recording (see `_dvm.record`), with "value" or "exception", without the node lists
        that the native side derives.
    """
    tracer = Tracer(function)
    value = exception = None
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        value = function(*args, **kwargs)
    except BaseException as error:
        exception = error
    finally:
        sys.settrace(before)
    if not tracer.finished:
        tracer.record.abort(reasons.NO_RETURN(), None)
    return {**tracer.record.to_dict(), "value": value, "exception": exception}
