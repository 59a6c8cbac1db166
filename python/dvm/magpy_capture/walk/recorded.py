"""The nodes of a recording as values, and what all events share."""

from __future__ import annotations

import types
from typing import Any

from dvm import _dvm, classes, reasons
from dvm.classes import is_mutable_class
from dvm.magpy_capture.libraries import is_plain_array, is_scalar, library_of
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.recording.special_methods import looked_up
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    FunctionValue,
    Host,
    Instance,
    Literal,
    Tensor,
    Unread,
    resolve,
)
from dvm.magpy_capture.values.kinds import MISSING, class_attribute, is_constant
from dvm.magpy_capture.walk.layer import WalkPart

Operands = list[int]
Followed = tuple[str, str, list[str], int, Any]


class Events(WalkPart):
    """Values by node, read where the program first used them."""

    needs = "containers followed heap instances loop_policy program record recursion_policy sizes"

    def __init__(self, builtins: dict[str, Any], whole: frozenset[int]) -> None:
        self.builtins = [builtins]  # of the frames that are open: a function may have its own
        self.whole = whole  # ids of NumPy's functions whose bodies are not looked into
        self.values: dict[int, Abstract] = {}
        self.globals: dict[tuple[int, str], Abstract] = {}  # rebound by the program
        self.cells: dict[int, Abstract] = {}
        self.closures: dict[int, Closure] = {}  # by the function of the recorded call
        self.functions: dict[int, Literal | FunctionValue] = {}  # whose bodies ran, likewise
        # The followed event whose body comes next, and those of the frames that are open:
        # kind, name, keywords, result, callee.
        self.pending: Followed | None = None
        self.entered: list[Followed | None] = []

    # ---- nodes

    def value(self, node: int) -> Abstract:
        if node < 0:
            raise refuse(reasons.VALUE_UNKNOWN_ORIGIN)
        value = self.values.get(node)
        if value is None:
            value = self.values[node] = self.origin(node)
        if type(value) is Unread:
            value = self.values[node] = resolve(value)
        return value

    def origin(self, node: int) -> Abstract:
        kind, index, name, scope, _, _ = self.record.nodes[node]
        seen = self.record.seen(node)
        if kind == "argument":
            return self.heap.reach(lambda: self.program.argument(index), seen)
        if kind == "global":
            return self.global_variable(scope, name, seen)
        if kind == "closure":
            return self.followed.cell_contents(scope, seen)
        if kind == "default":
            return self.default(scope, index, seen)
        if kind == "event":
            self.loop_policy.need(index)
            self.recursion_policy.need(index)
            raise refuse(reasons.VALUE_UNKNOWN_ORIGIN)
        return Literal(seen)

    def global_variable(self, scope: dict[str, Any], name: str, seen: Any) -> Abstract:
        if (id(scope), name) in self.globals:
            return self.globals[id(scope), name]
        if name not in scope:
            self.program.guard_name(scope, name, MISSING)
            scope = self.builtins[-1]

        def fetch() -> int:
            return self.program.step("variable", scope, name, key=("variable", id(scope), name))

        return self.heap.reach(fetch, seen, (scope, name))

    def default(self, function: types.FunctionType, slot: int, seen: Any) -> Abstract:
        """A parameter that the call did not give.

        It is a part of the function: of one known by its identity the defaults are guarded
        together with its code, another is asked for them.
        """
        if self.program.is_local(function):
            return Literal(seen)
        code = function.__code__
        known = self.functions.get(id(function))
        if isinstance(known, FunctionValue):
            holder = known.register
            fetch = lambda: self.program.step("preset", holder, slot, key=("preset", holder, slot))  # noqa: E731
            return self.heap.reach(fetch, seen)
        closure = self.closures.get(id(function))
        if closure is not None and slot < code.co_argcount:
            return resolve(self.containers.elements(closure.defaults)[slot - code.co_argcount])
        if closure is not None:
            return resolve(closure.named_defaults.items[code.co_varnames[slot]])
        if slot < code.co_argcount:
            if is_constant(seen):
                return Literal(seen)
            defaults = function.__defaults__ or ()
            place = slot - (code.co_argcount - len(defaults))
            holder = self.program.constant(defaults)
            fetch = lambda: self.program.item(holder, place)  # noqa: E731
        else:
            holder = self.program.constant(function.__kwdefaults__)
            key = code.co_varnames[slot]
            fetch = lambda: self.program.step("key", holder, key, key=("key", holder, key))  # noqa: E731
        return self.heap.reach(fetch, seen)

    def guard_function(self, function: types.FunctionType) -> None:
        """It does what it does now: its code and its defaults."""
        parts = (function.__code__, function.__defaults__, function.__kwdefaults__)
        self.program.guard("guard_code", function, *parts, key=(id(function),))

    def check(self, value: Abstract, seen: Any) -> None:
        """Compares the lowered value with what the execution produced."""
        if type(seen) is _dvm.Dropped:
            raise refuse(reasons.OBJECT_TELLS_END)
        if type(value) is Unread:
            value = resolve(value)
        if type(value) is not Tensor:
            return
        if not (is_scalar(seen) or is_plain_array(seen)):
            raise refuse(reasons.RESULT_TYPE, classes.name_of(type(seen)))
        dtype = library_of(seen).dtype_of(seen)
        if id(seen) in self.record.shaped:  # it has another shape by now
            seen = seen.reshape([self.sizes.observed(dim) for dim in value.shape])
        if dtype != value.dtype or seen.ndim != value.rank:
            raise refuse(reasons.NUMPY_GAVE_OTHERWISE, dtype, seen.ndim, value.dtype, value.rank)
        value.is_scalar = is_scalar(seen)
        if value.is_scalar:
            value.object = seen
        elif value.object is None:
            value.object = seen
            strides = library_of(seen).strides(seen)
            is_in_c_order = not strides or (
                strides[-1] >= 0 and list(strides) == sorted(strides, reverse=True)
            )
            if is_in_c_order and value.axes == c_order(seen.ndim):
                return
            big = [axis for axis in range(seen.ndim) if seen.shape[axis] > 1]
            order = sorted(big, key=lambda axis: -abs(strides[axis]))
            if (
                all(seen.shape)
                and value.open_order is None
                and order != [a for a in value.order if a in big]
                and all(strides[axis] for axis in big)
            ):
                raise refuse(reasons.RESULT_ANOTHER_MEMORY_ORDER_EXPECTED)

    def dispatched(self, operands: Operands) -> None:
        """A followed operator: the classes of its operands decide what runs."""
        assert self.pending is not None
        kind, name, *_ = self.pending
        for node in operands:
            value = self.value(node)
            cls = value.cls if isinstance(value, Instance) else type(getattr(value, "object", None))
            if isinstance(value, (Instance, Host)) and is_mutable_class(cls):
                for method in looked_up(kind, name):
                    self.instances.guard_class(cls, method, class_attribute(cls, method))
