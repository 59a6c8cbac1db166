"""The reference tracer: the recordings of the native recorder, made slowly in plain Python.

`record` runs a function under `sys.settrace` with opcode events and keeps a shadow of every frame
it follows (settrace_frame). It shares no code with the native recorder but the look at the real
stack (`_dvm.peek`), so that each is a test of the other. CPython 3.11 only.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from dvm import _dvm
from dvm.magpy_capture.settrace_bodies import bind, find_arguments
from dvm.magpy_capture.settrace_frame import FrameShadow
from dvm.magpy_capture.settrace_record import (
    NO_NODE,
    Record,
    UnkeepableError,
    UnrecordableError,
)

_SUSPENDS = 0x20 | 0x80 | 0x200  # generators, coroutines, asynchronous generators


class Tracer:
    """One recording under way: which frames are recorded, and what their events call for."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.record = Record()
        self.frames: list[FrameShadow] = []
        self.finished = False
        self.in_flight = NO_NODE  # the exception that left a body, until its caller has it

    def __call__(self, frame: types.FrameType, what: str, argument: Any) -> Any:
        if self.finished or self.record.aborted:
            return None
        try:
            self.on_event(frame, what, argument)
        except UnkeepableError as reason:
            self.record.discard(str(reason), frame)
        except UnrecordableError as reason:
            self.record.abort(str(reason), frame)
        if self.record.aborted:
            frame.f_trace_opcodes = False
        return self if self.frames and self.frames[-1].frame is frame else None

    def on_event(self, frame: types.FrameType, what: str, argument: Any) -> None:
        mine = bool(self.frames) and self.frames[-1].frame is frame
        caught = what == "call" or (mine and what in ("opcode", "return"))
        if caught and self.in_flight != NO_NODE:
            raise UnrecordableError("an exception that C code handled")
        if what == "call":
            self.on_call(frame)
        elif mine:
            if what == "opcode":
                self.frames[-1].before_opcode()
            elif what == "return":
                self.on_return(argument)
            elif what == "exception":
                self.on_exception(argument)

    def on_call(self, frame: types.FrameType) -> None:
        function, slots, _ = _dvm.peek(frame)
        instance = NO_NODE
        if not self.frames:
            if function is not self.function:
                return
            parameters = self.record.arguments(frame.f_code, slots)
        else:
            top = self.frames[-1]
            if top.event < 0 or frame.f_back is not top.frame:
                return
            if frame.f_code.co_flags & _SUSPENDS or _dvm.is_leaf(function):
                return
            found = find_arguments(self.record, top, function, frame.f_code, slots)
            if found is None:
                return
            bound = bind(self.record, function, slots, found, top.place)
            if bound is None:
                return
            parameters, instance = bound, found.instance
            self.add_enter(top, function, parameters)
        shadow = FrameShadow(self.record, frame, parameters)
        shadow.instance = instance
        shadow.may_stop = bool(self.frames) and self.frames[-1].iterating
        self.frames.append(shadow)
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False

    def add_enter(self, top: FrameShadow, function: Any, parameters: list[int]) -> None:
        event = self.record.events[top.event]
        event[6] = True
        callee = event[2][0]
        if self.record.object(callee) is not function:
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
                raise UnrecordableError("an exception left the function")
            self.record.add("leave", "raised", [shadow.raising], shadow.place)
            self.in_flight = shadow.raising
            self.frames.pop()
            return
        node = shadow.returned
        if node == NO_NODE or self.record.object(node) is not value:
            raise UnrecordableError("a returned value of unknown origin")
        if len(self.frames) == 1:
            self.record.result = node
            self.finished = True
        else:
            self.record.add("leave", "", [node], shadow.place)
            if shadow.instance != NO_NODE:
                node = shadow.instance
        self.frames.pop()
        if self.frames:
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
            raise UnrecordableError("an exception that turned into another")


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
        tracer.record.abort("the function did not return", None)
    return {**tracer.record.to_dict(), "value": value, "exception": exception}
