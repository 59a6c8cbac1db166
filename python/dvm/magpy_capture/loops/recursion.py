"""Functions that call themselves: where a path comes to a call of one, that becomes one step.

Each activation is lowered like a call of the function, the activations within as steps of the same
kind; so that what one may meet (a leaf, a node of two children) is what calls may meet: a path, or
another one. The step `invoke` replays them (cpp/capture/replay/recursion.h), whatever the tree is
that the calls go through. What it returns is found like the result of a call that dvm does not
know: by guards on what it is.

An activation computes and returns, and changes nothing that was there before it. What is recursive
stays part of the path, as other calls are, until two calls have gone through it in different ways.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dvm import _dvm, reasons
from dvm.magpy_capture.loops.activations import (
    Activation,
    activation_recording,
    handed_nodes,
    makes_arrays,
    recursive_activations,
    shape_of,
    whole_shape_of,
    within,
)
from dvm.magpy_capture.loops.bodies import MAKES, LoopBody, is_new_list
from dvm.magpy_capture.loops.histories import Given, LoopHistories, Rolled
from dvm.magpy_capture.loops.layer import LoopPart
from dvm.magpy_capture.loops.parts import lower_part
from dvm.magpy_capture.objects.open_lists import is_open_list
from dvm.magpy_capture.path.recursion_policy import RecursionPolicy
from dvm.magpy_capture.path.spec import NotCapturable, refuse
from dvm.magpy_capture.recording.findings import Findings
from dvm.magpy_capture.values import Abstract, Host, ListValue, Tensor, resolve

if TYPE_CHECKING:
    import types

#: Events of a call of one, or activations, behind which it is a step at once.
MANY_EVENTS, MANY_ACTIVATIONS = 500, 32
#: ways that activations of one function may go in all
MOST_WAYS = 64
#: objects in the tuple that one returns
MOST_PARTS = 16


class Recursions(LoopPart, RecursionPolicy):
    """Chooses the calls that are steps, and lowers their activations."""

    needs = "callbacks graph heap ledger left_behind memory program record recorded values_handed"

    def __init__(
        self,
        recording: dict[str, Any],
        function: types.FunctionType,
        found: Findings,
        known: LoopHistories,
        lower: Callable[..., None],
    ) -> None:
        self.recording = recording
        self.found = found
        self.known = known
        self._lower = lower
        self.given_up: set[int] = set()
        self.skipped_events = 0
        self._invoked: list[Activation] = []
        self._returned: Abstract | None = None
        if "activations" not in recording:  # else it is within another one, or a turn
            recording["activations"] = recursive_activations(recording, function)
        self._chosen: dict[int, Activation] = {}  # by the first event
        end = -1
        for each in recording["activations"]:
            history = self.known.meet_recursion(each.key)
            if each.is_outermost and history.rolled is None:
                history.shapes.add(whole_shape_of(recording, each))
                history.makes_arrays = history.makes_arrays or makes_arrays(recording, each)
            if each.enter >= end and each.enter not in found.unrolled and self._is_wanted(each):
                self._chosen[each.enter] = each
                self.skipped_events += each.leave - each.enter
                end = each.leave
        self.handed = handed_nodes(recording, list(self._chosen.values()))

    def _is_wanted(self, activation: Activation) -> bool:
        known = self.known.recursions[activation.key]
        # What it gives may be what something else is, too.
        is_apart = activation.enter < 0 or self.recording["events"][activation.leave][4] >= 0
        if not known.may_be_steps or not is_apart:
            return False
        is_long = activation.leave - activation.enter > MANY_EVENTS
        if known.is_wanted or is_long:
            return True
        return len(within(self.recording, activation)) > MANY_ACTIVATIONS

    # ---- events

    def invoke(self) -> None:
        activation = self._chosen.get(self.callbacks.number - 1)
        if activation is None:
            return
        with self._giving_up(activation):
            self._check(activation.function)
            routine = self._lower_ways(activation)
            self._returned = self._step(activation, routine)
        self._invoked.append(activation)
        self.callbacks.number = activation.leave

    def invoke_all(self) -> Abstract | None:
        activation = self._chosen.get(-1)
        if activation is None:
            return None
        with self._giving_up(activation):
            routine = self._lower_ways(activation)
        made = self.program.step(
            "invoke", routine, list(map(self.program.argument, range(activation.parameters)))
        )
        self.callbacks.number = len(self.recording["events"])
        return Host(made, self.record.seen(activation.result(self.recording)))

    def take_returned(self) -> Abstract | None:
        returned, self._returned = self._returned, None
        return returned

    def need(self, number: int) -> None:
        for each in self._invoked:
            if each.enter < number < each.leave:
                with self._giving_up(each):
                    raise refuse(reasons.RECURSION_OUTSIDE, "what it has made, behind it")

    @contextlib.contextmanager
    def _giving_up(self, activation: Activation) -> Iterator[None]:
        """Where it is refused, all is lowered again with its events as those of the path."""
        try:
            yield
        except NotCapturable as refusal:
            refusal.place(self.program.at)
            known = self.known.recursions[activation.key]
            known.reason, known.at, known.rolled = refusal.reason, refusal.at, None
            self.given_up.add(activation.enter)
            raise

    def _check(self, function: types.FunctionType) -> None:
        """It finds all that was there before the path as that was, cells of its own too."""
        known = self.recorded.functions.get(id(function))
        if known is None:
            raise refuse(reasons.RECURSION_OUTSIDE, "function")
        if function.__closure__:
            self.program.by_identity(known)
        changed = (
            getattr(value, "changed", False) and not is_open_list(value)
            for value in self.heap.reached.values()
        )
        if self.ledger.stores or self.memory.has_written() or any(changed):
            raise refuse(reasons.RECURSION_STATE, "something that it may look at")
        if not self.graph.leaves_modes:
            raise refuse(reasons.RECURSION_STATE, "np.errstate")

    # ---- the ways

    def _lower_ways(self, activation: Activation) -> _dvm.Subroutine:
        """Lower those activations that no way is known for: the innermost first."""
        known = self.known.recursions[activation.key]
        if known.rolled is None:
            known.rolled = Rolled(_dvm.new_recursion(activation.parameters))
        rolled = known.rolled
        every = within(self.recording, activation)
        called = {each.enter: each.leave for each in every}
        shapes = [shape_of(self.recording, each, called) for each in every]
        missed, before = _dvm.take_missed(rolled.loop), known.ways
        is_new = not rolled.shapes.issuperset(shapes)
        if missed and not is_new:  # to be equal in shape is not enough
            rolled.shapes.clear()
        while not rolled.shapes.issuperset(shapes):
            for each, shape in zip(every, shapes, strict=True):
                if shape not in rolled.shapes:
                    rolled.shapes.add(shape)
                    self._lower_way(each, rolled)
            if known.ways > MOST_WAYS:
                raise refuse(reasons.RECURSION_WAYS, MOST_WAYS)
        if missed and not is_new and known.ways == before:
            raise refuse(reasons.RECURSION_STUCK)
        self.program.kept.append(rolled.loop)
        routine: _dvm.Subroutine = rolled.loop
        return routine

    def _lower_way(self, activation: Activation, rolled: Rolled) -> None:
        spec = lower_part(
            self._lower,
            self.program,
            activation_recording(self.recording, activation),
            activation.function,
            self.known,
            self.found,
            set(range(activation.parameters)),
        )
        body = LoopBody()
        body.take_activation(spec.steps, activation.parameters, self.known.bodies())
        result = self.record.seen(activation.result(self.recording))
        if type(result) is list and not _makes_list(spec.steps):
            raise refuse(reasons.RECURSION_EFFECT, "returns a list that it was given")
        if not _dvm.add_way(rolled.loop, spec):
            raise refuse(reasons.RECURSION_EFFECT, "cannot be compiled")
        rolled.recorded |= spec.recorded

    # ---- the step

    def _step(self, activation: Activation, routine: _dvm.Subroutine) -> Abstract:
        """What it returns."""
        code, name = activation.function.__code__, activation.function.__qualname__
        given: list[Given] = []
        registers = []
        for node, parameter in zip(
            activation.given(self.recording), code.co_varnames, strict=False
        ):
            origin, place, *_ = self.recording["nodes"][node]
            # One that a loop gave a variable has a value, and the origin of what that was before.
            is_found = node in self.recorded.values
            if node in self.handed and origin == "argument" and not is_found:
                registers.append(self.program.argument(place))
                continue
            value = resolve(self.recorded.value(node))
            register = self.values_handed.register(parameter, value, False, given)
            registers.append(register)
            if isinstance(value, Tensor) and not value.is_scalar:
                given.append(Given(value, register, False))
        made = self.program.step("invoke", routine, registers)
        for each in given:
            each.version = each.value.storage.version
        seen = self.record.seen(activation.result(self.recording))
        if _parts_of(seen) > MOST_PARTS:
            raise refuse(reasons.RECURSION_EFFECT, f"returns more than {MOST_PARTS} parts")
        made_list = functools.partial(self._made_list, activation, made)
        return self.left_behind.told(activation.enter, name, made, seen, given, made_list)

    def _made_list(
        self, activation: Activation, made: int, register: int, seen: list[Any]
    ) -> ListValue:
        """A list that it has made: only the replay knows what is in it."""
        if register != made:
            raise refuse(reasons.RECURSION_EFFECT, "returns a list within a tuple")
        self.program.guard_type(register, seen)

        def load() -> list[Any]:
            with self._giving_up(activation):
                raise refuse(reasons.RECURSION_EFFECT, "returns a list that is looked through")

        value = ListValue(object=seen)
        value.open(register, load)
        self.heap.remember(seen, value, register)
        return value


def _parts_of(returned: Any) -> int:
    """How many objects a tuple of tuples has; one that holds what others returned has ever more."""
    if type(returned) is not tuple:
        return 1
    made = 0
    for part in returned:
        made += _parts_of(part) if made <= MOST_PARTS else 0
    return made


def _makes_list(steps: list[tuple[Any, ...]]) -> bool:
    """Whether what the path returns is a list that it has made, if it is one."""
    makers = {step[1]: step for step in steps if step[0] in MAKES}
    return is_new_list(makers[steps[-1][1]], makers)


__all__ = ["Recursions"]
