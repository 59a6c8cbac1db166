"""From a callee to the Python function whose body runs, and how a later call finds that again.

Bound methods, `functools.partial`, objects with `__call__` and compiled functions each lead on to
another callee. Every link of that chain is read from the one before on each call, so that none of
them may be replaced unseen.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from dvm import _dvm, reasons
from dvm.classes import is_mutable_class
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.recording.functions_run import wrapped
from dvm.magpy_capture.registry import TRAMPOLINES
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    DictValue,
    FunctionValue,
    Host,
    Instance,
    Literal,
    Method,
    Partial,
    Sequence,
    resolve,
)
from dvm.magpy_capture.values.kinds import class_attribute
from dvm.magpy_capture.walk.layer import WalkPart
from dvm.magpy_capture.walk.recorded import Operands

#: A cell that is found without a function in a register.
FIXED = (-1, -1)
#: Values of which the body may run.
FUNCTIONS = (Literal, FunctionValue, Closure)


class FollowedFunctions(WalkPart):
    """Functions by their code, and the cells they close over."""

    needs = "containers heap instances lookups meanings program recorded"

    def __init__(self) -> None:
        self.leading: Abstract | None = None  # what a followed call leads to
        # Of each cell of the recorded call: the register of a function that closes over it, and
        # its place there; FIXED of one that is the same on every call.
        self._cells: dict[int, tuple[int, int]] = {}
        self._alive: dict[int, Any] = {}

    # ---- the way to a function

    def reached(
        self, callee: Abstract, positional: list[Abstract], named: dict[str, Abstract]
    ) -> tuple[Abstract, list[Abstract], dict[str, Abstract]]:
        """The function or type that runs in the end, and its arguments."""
        callee = resolve(callee)
        if isinstance(callee, Instance) and callee.cls is functools.partial:
            callee = self.opened_partial(callee)
        if isinstance(callee, Partial):
            positional, named = [*callee.positional, *positional], {**callee.named, **named}
            return self.reached(callee.function, positional, named)
        if isinstance(callee, Method):
            return self.reached(Literal(callee.function), [callee.base, *positional], named)
        if isinstance(callee, Host) and type(callee.object) is types.MethodType:
            this = self.lookups.part_of_method(callee, "__self__", callee.object.__self__)
            function = self.lookups.part_of_method(callee, "__func__", callee.object.__func__)
            return self.reached(function, [this, *positional], named)
        if isinstance(callee, Instance) and callee.cls is _dvm.Compiled:
            register, inner = callee.register, callee.object.__wrapped__
            key = ("getattr", register, "__wrapped__")
            made = self.heap.reach(
                lambda: self.program.step("getattr", register, "__wrapped__", key=key), inner
            )
            return made, positional, named
        if isinstance(callee, Instance):
            found = class_attribute(callee.cls, "__call__")
            self.instances.guard_class(callee.cls, "__call__", found)
            return self.reached(Literal(found), [callee, *positional], named)
        if isinstance(callee, Literal) and (inner := wrapped(callee.object)) is not None:
            callee = Literal(inner)
        return callee, positional, named

    def opened_partial(self, callee: Instance) -> Partial:
        given = callee.object
        function = self.lookups.attribute(callee, "func", given.func)
        before = self.containers.elements(self.lookups.attribute(callee, "args", given.args))
        keywords = self.lookups.attribute(callee, "keywords", given.keywords)
        if not isinstance(keywords, DictValue):
            raise refuse(reasons.CALL, describe(callee))
        return Partial(function, before, dict(keywords.items))

    def call_followed(self, callee: Abstract) -> None:
        """The body is recorded: other calls lead to a function of the same code, or miss."""
        if not isinstance(callee, (*FUNCTIONS, Method, Partial, Instance)):
            if not isinstance(callee, Host) or type(callee.object) is not types.MethodType:
                raise refuse(reasons.CALL, describe(callee))
        self.leading, _, _ = self.reached(callee, [], {})
        called = getattr(self.leading, "object", None)
        if isinstance(called, type):
            if is_mutable_class(type(called)):
                found = class_attribute(type(called), "__call__")
                self.instances.guard_class(type(called), "__call__", found)
            for name in ("__new__", "__init__"):
                self.instances.guard_class(called, name, class_attribute(called, name))

    def entered_function(self, function: types.FunctionType, operands: Operands) -> Abstract:
        """The value of the function whose body begins; its arguments come before itself."""
        node = operands[-1]
        if self.recorded.pending is None:  # C code calls it, and so the lowering knows it
            return self.recorded.values.get(node, Literal(function))
        leading, self.leading = self.leading, None
        if leading is None:
            return self.recorded.closures.get(id(function), Literal(function))
        if leading.object is function:
            return leading
        if isinstance(leading.object, types.FunctionType) and leading.object in TRAMPOLINES:
            first = resolve(self.recorded.value(operands[0]))
            if not function.__code__.co_argcount and isinstance(first, Sequence):  # of `*args`
                first = resolve(first.elements[0])
            leading = self.led_to(leading, first)
            if leading.object is function:
                return leading
        # What a type or a builtin runs is found in classes, which are guarded.
        if not isinstance(leading.object, (type, types.BuiltinFunctionType)):
            raise refuse(reasons.CALL_RUNS, describe(leading), function.__qualname__)
        return Literal(function)

    def led_to(self, trampoline: Any, first: Abstract) -> Abstract:
        """The function that a call of a trampoline ends in."""
        if not isinstance(first, Instance):
            return trampoline
        _, meaning = TRAMPOLINES[trampoline.object]
        self.enter_function(trampoline)
        made: Abstract = meaning(self.meanings.holder(meaning), first)
        return made

    # ---- functions

    def enter_function(self, value: Abstract) -> None:
        """It does what it does now: its code; what it reads besides is found through it."""
        if isinstance(value, Closure):
            return
        function = value.object
        known = self.recorded.functions.setdefault(id(function), value)
        if type(known) is not type(value):  # what one of them reads is found through the other
            self.program.by_identity(known)
            self.program.by_identity(value)
        if isinstance(value, FunctionValue):
            where = (function.__globals__, function.__builtins__)
            parts = (function.__code__, *where)
            self.program.guard("guard_function", value.register, *parts, key=(value.register,))
        elif not self.program.is_local(function):
            self.recorded.guard_function(function)
        self.meet_cells(value)

    # ---- cells

    def meet_cells(self, value: Literal | FunctionValue) -> None:
        """The cells that a function closes over; two functions share one, or they do not."""
        for place, cell in enumerate(value.object.__closure__ or ()):
            home = FIXED if isinstance(value, Literal) else (value.register, place)
            other = self._cells.setdefault(id(cell), home)
            self._alive[id(cell)] = cell
            if home != other and max(home[0], other[0]) >= 0:
                self.program.guard(
                    "guard_same", self._fetch(cell, home), self._fetch(cell, other), True
                )

    def _fetch(self, cell: Any, home: tuple[int, int]) -> int:
        if home[0] < 0:
            return self.program.constant(cell)
        return self.program.step("cell_of", *home, key=("cell_of", *home))

    def cell_contents(self, cell: Any, seen: Any) -> Abstract:
        if id(cell) in self.recorded.cells:
            return self.recorded.cells[id(cell)]
        if self.program.is_local(cell):
            return Literal(seen)
        home = self._cells.get(id(cell), FIXED)

        def contents() -> int:
            if home[0] < 0:
                return self.program.step("cell", cell, key=("cell", id(cell)))
            holder = self._fetch(cell, home)
            return self.program.step("contents", holder, key=("contents", holder))

        return self.heap.reach(contents, seen)

    def cell_register(self, cell: Any) -> int:
        """A register with the cell itself, which is none of the others that the path knows."""
        home = self._cells.get(id(cell), FIXED)
        made = self._fetch(cell, home)
        for known, other in self._cells.items():
            if known != id(cell) and max(home[0], other[0]) >= 0:
                apart = self._fetch(self._alive[known], other)
                self.program.guard("guard_same", made, apart, False)
        return made


__all__ = ["FUNCTIONS", "FollowedFunctions"]
