"""Strides of tensors that leave a path: those of axes of one element, and where there are none.

Of new memory torch.Tensor.stride() tells more than the order of axes of several elements, by which
the graph has it: `(x.t() + 1).stride()` depends on which of x's axes have one element. Functions
look at strides, too. What strides follow from is noted when a tensor is made (values.Strides); the
path asks for it only where one leaves.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from collections.abc import Sequence as SequenceOf
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.values import Strides, Tensor

#: whether TensorIterator of ATen takes the axes of a tensor as they are told
DECREASE = _dvm.strides_decrease
#: so many orders are looked through for one that has the strides of a tensor without elements
MOST_AXES = 6


def ranked(tensor: Any) -> tuple[int, ...]:
    """How strides compare with each other, and sizes where they are equal."""
    keys = [*zip(tensor.stride(), tensor.shape, strict=True)]
    told = sorted(set(keys))
    return tuple(map(told.index, keys))


def laid(shape: SequenceOf[int], order: Order) -> list[int]:
    """The strides of new memory whose axes are in that order, as the segment's results have it."""
    strides, stride = [0] * len(shape), 1
    in_c_order = order == c_order(len(shape))
    for axis in reversed(order):
        strides[axis] = stride
        stride *= max(shape[axis], 1) if in_c_order else shape[axis]
    return strides


def orders_of(shape: SequenceOf[int], strides: SequenceOf[int]) -> Iterator[Order]:
    """Orders in which new memory may have these strides."""
    rank = len(shape)
    yield tuple(sorted(range(rank), key=lambda axis: (-strides[axis], -shape[axis])))
    if not all(shape) and rank <= MOST_AXES:
        yield from itertools.permutations(range(rank))


def moving_axes(t: Tensor, shape: SequenceOf[_dvm.Dim]) -> list[int]:
    """Those along which an operand of a result of that shape may not be repeated."""
    lead = len(shape) - t.rank
    return [
        axis
        for axis, own in enumerate(t.shape)
        if own.constant != 1 or shape[lead + axis].constant in (None, 1)
    ]


def uncounted(made: Any) -> Any:
    """New memory of which torch has counted no write."""
    return made.data


def laid_like(made: Any, like: Any) -> Any:
    """New memory with the strides of torch.empty_like(like)."""
    wanted = sys.modules["torch"].empty_like(like, dtype=made.dtype)
    return made if wanted.stride() == made.stride() else uncounted(wanted.copy_(made))


def laid_as(made: Any, before: Any) -> Any:
    """New memory in place of what torch made, and the program wrote: with the same strides."""
    strides = before.stride()
    if strides == made.stride():
        return made
    torch = sys.modules["torch"]
    return uncounted(torch.empty_strided(made.shape, strides, dtype=made.dtype).copy_(made))


def made_by_host(t: Tensor) -> int | None:
    """The register of the very tensor that torch made, which may have been written since."""
    for register, array in t.strides.origins:
        if t.object is not None and array is t.object:
            return register
    return None


class TensorStrides(TorchPart):
    """What strides of results follow from, and what a path asks of it where they leave."""

    needs = "arrays graph program sizes"

    def of_array(
        self, register: int, array: Any, order: Order, shape: SequenceOf[_dvm.Dim]
    ) -> Strides:
        """Of a tensor of the host, whose signature tells of axes of several elements."""
        told = array.ndim < 2 or all(dim.constant is not None and dim.constant > 1 for dim in shape)
        origins = () if told else ((register, array),)
        if order == c_order(array.ndim) and (told or DECREASE(array)):
            return Strides("given", origins)
        return Strides("turned", origins)

    def of_elementwise(
        self, operands: SequenceOf[Tensor], shape: SequenceOf[_dvm.Dim], order: Order
    ) -> Strides:
        """Of what a function makes element by element, in that shape and order."""
        deciding = [t.strides for t in operands if self._moves(t, shape)]
        kinds = {each.kind for each in deciding}
        origins = tuple(dict.fromkeys(each for of in deciding for each in of.origins))
        if order != c_order(len(order)) or "turned" in kinds:
            return Strides("turned", origins)
        return Strides("given" if kinds == {"given"} else "iterated", origins)

    def _moves(self, t: Tensor, shape: SequenceOf[_dvm.Dim]) -> bool:
        """Whether an operand of a result of that shape has two axes along which it may move.

        An array of the host of which nothing was computed yet has them as it had in the recorded
        call, for which the path then is.
        """
        moving = moving_axes(t, shape)
        if len(moving) < 2 or t.base is not None or not t.strides.origins:
            return len(moving) > 1
        lead = len(shape) - t.rank
        still = [
            axis
            for axis in moving
            if self.sizes.observed(t.shape[axis]) == 1 != self.sizes.observed(shape[lead + axis])
        ]
        if len(moving) - len(still) > 1:
            return True
        for axis in still:
            self.sizes.is_one(t.shape[axis])
        return False

    def of_copy(self, t: Tensor) -> Strides:
        """Of what torch.empty_like makes: a tensor that lies densely has its strides kept."""
        is_new = t.base is None and not t.storage.external and t.storage.host < 0
        return t.strides if is_new else Strides(t.strides.kind, t.strides.origins, t)

    # ---- leaving

    def leaving_order(self, t: Tensor) -> Order:
        """The order of axes in which the memory of `t` is handed out, where it is new."""
        own: Order = t.order
        if t.rank < 2 or t.strides.like is not None or t.strides.kind == "plain":
            return own
        if made_by_host(t) is not None:
            return own
        if self.graph.ops[self.graph.root(self.arrays.value_of(t))][0] == "input":
            return own  # the host has made it
        if t.strides.kind == "given" or (t.strides.kind == "iterated" and self._has_no_tie(t)):
            for register, _ in t.strides.origins:
                self._guard(DECREASE, register, True)
            return own
        for register, array in t.strides.origins:
            if any(size < 2 for size in array.shape):
                self._guard(ranked, register, ranked(array))
        for dim in t.shape:
            for size in (0, 1):
                if self.sizes.is_size(dim, size):
                    self.sizes.require_equal(dim, self.graph.size(size))
        observed = [*map(self.sizes.observed, t.shape)]
        if all(size > 1 for size in observed):
            return own
        if t.object is None:
            raise refuse(reasons.TORCH_ORDER, "a function of a tensor whose sizes hide its order")
        seen = t.object.stride()
        for order in orders_of(observed, seen):
            if laid(observed, order) == [*seen]:
                return order
        raise refuse(reasons.TORCH_ORDER, "a function of a tensor whose sizes hide its order")

    def _guard(self, ask: Any, register: int, answer: Any) -> None:
        """What is asked of a tensor of the host is the same in each call of the path."""
        callee = self.program.constant(ask)
        asked = self.program.step("call", callee, [register], (), key=(id(ask), register))
        self.program.guard("guard_value", asked, answer, key=(asked,))

    def _has_no_tie(self, t: Tensor) -> bool:
        """No axis without elements comes before one of one element, of which the strides tie.

        The path is for such calls, if the recorded one is.
        """
        for first, second in itertools.combinations(t.shape, 2):
            if first.constant not in (None, 0) or second.constant not in (None, 1):
                continue
            if self.sizes.observed(first) != 0:
                if first.constant is None:
                    self.sizes.is_size(first, 0)
            elif self.sizes.observed(second) != 1:
                self.sizes.is_size(second, 1)
            else:
                return False
        return True

    def laid(self, t: Tensor, register: int) -> int:
        """New memory in a register, with the strides that the program's own has."""
        if (before := made_by_host(t)) is not None:
            return self.program.step("call", self.program.constant(laid_as), [register, before], ())
        like = t.strides.like
        if like is None or not t.rank:
            return register
        if all(dim.constant is not None and dim.constant > 1 for dim in t.shape):
            return register
        given = [register, self.arrays.layout_register(like)]
        return self.program.step("call", self.program.constant(laid_like), given, ())


__all__ = ["TensorStrides"]
