"""The order in which PyTorch goes through the axes of an elementwise function's operands.

Its result lies in that order. Of two axes the first operand decides that is broadcast along
neither, by its strides. Those of an axis of one element say little, so which axes have one element
may decide about the others, too.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass

from dvm.magpy_capture.tensors.fresh import Order


@dataclass(frozen=True)
class Operand:
    """Axes are those of the result.

    order: the axes that the operand has, from outermost to innermost.
    single: those of them that have one element in each call of the path.
    repeated: those along which its memory is repeated.
    dense: whether its elements lie densely.
    """

    order: Order
    single: frozenset[int]
    repeated: frozenset[int]
    dense: bool

    def strides(self, ones: frozenset[int]) -> dict[int, int]:
        """Where the result has one element along `ones`, and two along all other axes."""
        strides, stride = {}, 1
        for axis in reversed(self.order):
            is_one = axis in self.single or axis in ones
            is_broadcast = axis in self.repeated or (axis in self.single and axis not in ones)
            strides[axis] = 0 if is_broadcast else stride
            stride *= 1 if is_one and self.dense else 2
        return strides


def order_of(rank: int, operands: SequenceOf[Operand], ones: frozenset[int]) -> Order:
    """The axes of the result from outermost to innermost, where those in `ones` have one element.

    As TensorIterator of ATen sorts them.
    """
    strides = [operand.strides(ones) for operand in operands]

    def is_swapped(inner: int, outer: int) -> int:
        for each in strides:
            one, other = each.get(inner, 0), each.get(outer, 0)
            if one and other:
                if one != other:
                    return 1 if one > other else -1
                if outer in ones and inner not in ones:
                    return 1
        return 0

    axes = list(range(rank))[::-1]  # from innermost to outermost
    for number in range(1, rank):
        at = number
        for below in range(number - 1, -1, -1):
            swapped = is_swapped(axes[below], axes[at])
            if swapped < 0:
                break
            if swapped > 0:
                axes[below], axes[at] = axes[at], axes[below]
                at = below
    return tuple(axes[::-1])


def is_settled(
    rank: int, operands: SequenceOf[Operand], ones: frozenset[int], asked: SequenceOf[int]
) -> bool:
    """Whether the axes of several elements lie alike, if no or one more of `asked` has one element.

    Where such an axis lies in an operand is nothing that anybody is told.

    ones: those that have one in the recorded call.
    """
    made = order_of(rank, operands, ones)
    for axis in asked:
        others = ones ^ {axis}
        for given in itertools.product(*(_moved(each, axis) for each in operands)):
            seen = [
                [each for each in order if each not in others and each not in ones]
                for order in (made, order_of(rank, given, others))
            ]
            if seen[0] != seen[1]:
                return False
    return True


def _moved(operand: Operand, axis: int) -> list[Operand]:
    """The operand with one of its axes at all places."""
    rest = [each for each in operand.order if each != axis]
    if len(rest) == len(operand.order):
        return [operand]
    orders = [(*rest[:place], axis, *rest[place:]) for place in range(len(operand.order))]
    return [dataclasses.replace(operand, order=order) for order in orders]


__all__ = ["Operand", "is_settled", "order_of"]
