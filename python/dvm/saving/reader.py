"""Reads a path that was lowered for a file: its graph, the calls it is for, and its results."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from dvm import _dvm
from dvm.magpy_capture import Lowering
from dvm.magpy_capture.libraries import is_scalar, library_of
from dvm.magpy_capture.path.settled import CATEGORIES, UNTOLD
from dvm.magpy_capture.values import (
    Abstract,
    DequeValue,
    DictValue,
    Instance,
    ListValue,
    Literal,
    Sequence,
    Tensor,
    is_none,
    resolve,
)
from dvm.saving.checks import Checks, symbols_of
from dvm.saving.refusals import NeedsPythonError, refused

#: methods of C, which change no more than the object that they are given first
OF_C = (types.MethodDescriptorType, types.WrapperDescriptorType)
SYNOPSES = {name: synopsis for name, *_, synopsis in _dvm.step_table}


class Reader:
    """What `dvm.save` needs to know of one path.

    graph: what the results are computed by.
    inputs, results: their names, in the order of the graph.
    constants: arrays by name, and the order of their axes in the graph.
    checks: what sizes have to be.
    pinned: arguments that have to be as in the example; if there are any, there is no graph yet.
    """

    def __init__(self) -> None:
        self.graph = _dvm.Graph()
        self.inputs: list[str] = []
        self.results: list[str] = []
        self.constants: dict[str, tuple[Any, tuple[int, ...]]] = {}
        self.checks: list[tuple[str, str, str]] = []
        self.pinned: set[str] = set()

    def read(self, lowering: Lowering) -> None:
        """Read what a lowering knows at its end; raises CaptureError where a call needs Python."""
        at = "", 0
        checks = Checks(lowering)
        made: set[int] | None = None  # behind the commit: objects that are the call's own
        try:
            for step in lowering.program.spec.steps:
                if step[0] == "at":
                    at = step[1], step[2]
                elif step[0] == "commit":
                    made = set()
                else:
                    self._step(lowering, checks, step, made)
            self.pinned = checks.pinned
            if not self.pinned:
                self._finish(lowering, checks)
        except NeedsPythonError as reason:
            raise refused(str(reason), at) from None

    @staticmethod
    def _step(
        lowering: Lowering, checks: Checks, step: tuple[Any, ...], made: set[int] | None
    ) -> None:
        name, *operands = step
        value_of = lowering.settled.value_of
        if CATEGORIES[name] in ("guard", "choice") or name == "require":
            checks.guard(name, *operands)
        elif name == "call" and operands[-1] is True:
            called = getattr(value_of(operands[1]), "__name__", "a function")
            raise NeedsPythonError(f"it calls {called}, which dvm does not know")
        elif CATEGORIES[name] == "effect":
            is_call = name == "effect"
            target = operands[2][:1] if is_call else operands[:1]
            is_own = made is not None and not made.isdisjoint(target)
            if not is_own or (is_call and not isinstance(value_of(operands[1]), OF_C)):
                raise NeedsPythonError(f"it has the step '{name}', {SYNOPSES[name]}")
        elif name in UNTOLD - {"run"}:
            raise NeedsPythonError(f"it has the step '{name}', {SYNOPSES[name]}")
        elif made is not None and CATEGORIES[name] == "compute" and name != "forget":
            made.add(operands[0])

    def _finish(self, lowering: Lowering, checks: Checks) -> None:
        """Take the graph of the results from that of the path."""
        graph, settled = lowering.graph, lowering.settled
        returned = lowering.recorded.value(lowering.record.recording["result"])
        results = dict(results_of(returned, ""))
        if not results:
            raise NeedsPythonError("it computes no array")
        values = [self._value_of(lowering, result) for result in results.values()]
        asked = {symbol for left, _, right in checks.checks for symbol in symbols_of(left, right)}
        read = sorted(
            graph.native.inputs_of(values), key=lambda v: settled.place_of(graph.home_of(v))
        )
        self.graph, arrays, numbers = graph.extracted(read, values, sorted(asked))
        for register in arrays + numbers:
            name = settled.name_of(register)
            if not name:
                step = lowering.program.maker_of(register)
                what = f"what the step '{step[0]}' gives" if step else "what it computes"
                raise NeedsPythonError(f"its graph is given {what}")
            self.inputs.append(name)
        self.results = list(results)
        self.constants = settled.constants
        self.checks = [(str(a), compare, str(b)) for a, compare, b in checks.checks]

    @staticmethod
    def _value_of(lowering: Lowering, result: Abstract) -> int:
        """The graph value of an array, its axes in C order, or of a scalar that is known."""
        if isinstance(result, Tensor):
            return lowering.layouts.in_c_order(result)
        dtype = library_of(result.object).dtype_of(result.object)
        return lowering.graph.constant_value(dtype, result.object)


def results_of(value: Any, name: str) -> Iterator[tuple[str, Abstract]]:
    """The arrays that a result is or holds, by name.

    None stays out, and of an object of a class what is the same in each call.
    """
    value = resolve(value)
    if isinstance(value, Tensor) or (isinstance(value, Literal) and is_scalar(value.object)):
        yield name or "y", value
    elif isinstance(value, (Sequence, ListValue, DequeValue)) and value.register < 0:
        for place, part in enumerate(value.elements):
            yield from results_of(part, f"{name}.{place}" if name else f"y{place}")
    elif isinstance(value, DictValue) and value.register < 0:
        for key, part in value.items.items():
            yield from results_of(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, Instance) and value.register < 0:
        if value.content is not None:
            yield from results_of(value.content, name)
        for key, part in value.attributes.items():
            if not isinstance(resolve(part), Literal):
                yield from results_of(part, f"{name}.{key}" if name else key)
    elif not is_none(value):
        raise NeedsPythonError(f"its result '{name or 'y'}' is no array that it computes")
