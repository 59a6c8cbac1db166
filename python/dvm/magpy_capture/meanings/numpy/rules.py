"""What NumPy rules of results: their dtype, and their memory order where none is asked for."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.tables import (
    BINARY_OPERATORS,
    COMPARE_OPERATORS,
    UNARY_OPERATORS,
)
from dvm.magpy_capture.path.graphs import same_shape
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.tensors.indexing import index_parts
from dvm.magpy_capture.values import Abstract, Flags, FlatValue, Host, Named, Strides, Tensor

#: kind of operator -> operator of the language -> what computes it
OPERATORS: dict[str, dict[str, Any]] = {
    "unary": UNARY_OPERATORS,
    "binary": BINARY_OPERATORS,
    "compare": COMPARE_OPERATORS,
}


class NumpyRules(NumpyPart):
    """Promotion as NumPy has it, and K order, which its own iterator tells on small arrays."""

    needs = (
        "array_classes attributes elementwise fancy indexing layouts per_element promotion "
        "sizes ufunc_methods ufuncs written_arguments"
    )

    def known_sizes(self, register: int, seen: Any) -> None:
        """An array is of any sizes."""

    keeps_gradients = False

    def met(self, seen: Any) -> bool:
        """What NumPy goes by beside its arguments is guarded once (step guard_errstate)."""
        return False

    def as_called(self, function: Any) -> Any:
        """Any function of NumPy does the same anywhere."""
        return function

    def given(
        self, name: str, positional: list[Abstract], named: Named
    ) -> tuple[list[Abstract], Named]:
        return positional, named

    def result_order(self, operands: SequenceOf[Tensor], rank: int) -> Order:
        """The memory order NumPy gives to an elementwise result (K order).

        An axis along which an operand does not move (one element, stride 0) says nothing of its
        place there, so that the path is for calls in which the same operands speak of each axis.
        Where all have one shape, an axis of one element is one of the result's, too, and makes no
        difference to the others: two of them, or in an order that all agree on.
        """
        if rank < 2:
            return c_order(rank)
        speaking = [t for t in operands if t.rank > 1]
        orders = [self.layouts.order_in_memory(t) for t in speaking]
        if orders == [c_order(t.rank) for t in speaking]:
            return c_order(rank)
        shape = self.elementwise.common_shape(operands)
        first = speaking[0]
        alike = all(same_shape(t.shape, first.shape) for t in speaking)
        alike = alike and (rank == 2 or all(own == orders[0] for own in orders))
        sizes = np.arange(rank) + 2
        arrays = [np.broadcast_to(np.uint8(0), sizes)]
        for t, order in zip(speaking, orders, strict=True):
            still = self.layouts.repeated_axes(t)
            own = sizes[rank - t.rank :].copy()
            for axis, dim in enumerate(t.shape):
                settled = alike and dim == shape[axis + rank - t.rank]
                one = self.is_one_at_most(dim) or not (settled or self.sizes.is_not_one(dim))
                if one or still >> axis & 1:
                    own[axis] = 1
            stored = np.zeros([own[axis] for axis in order], np.uint8)
            arrays.append(stored.transpose([order.index(a) for a in range(t.rank)]))
        flags: Any = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
        iterator = np.nditer([*arrays, None], ["zerosize_ok"], flags, order="K")
        strides = iterator.operands[-1].strides
        return tuple(sorted(range(rank), key=lambda axis: -strides[axis]))

    def copied_order(self, t: Tensor) -> Order:
        """The memory order of a copy in K order: axes that repeat their memory come innermost.

        Elementwise results have them where `t` has them (`result_order`).
        """
        repeated = self.layouts.repeated_axes(t)
        return tuple(sorted(self.layouts.order_in_memory(t), key=lambda axis: repeated >> axis & 1))

    def strides_of(
        self, register: int, array: Any, order: Order, shape: SequenceOf[_dvm.Dim]
    ) -> Strides:
        return Strides()

    def leaving_order(self, t: Tensor) -> Order:
        return t.order

    def laid(self, t: Tensor, register: int) -> int:
        return register

    def guard_instance(self, value: Abstract, cls: type) -> None:
        """No class of NumPy's has a metaclass of its own."""

    def put_out(self, named: Named) -> None:
        """Meanings take `out` themselves."""

    def operand(self, operand: Abstract, dtype: str) -> Tensor:
        return self.promotion.operand(operand, dtype)

    def operator(self, name: str, operands: list[Abstract]) -> Tensor:
        return self.ufuncs.apply(np.absolute if name == "abs" else BINARY_OPERATORS[name], operands)

    def is_integer_scalar(self, *values: Abstract) -> bool:
        return self.ufuncs.is_integer_scalar(*values)

    def written(self, function: Any, positional: list[Abstract], named: Named) -> list[Abstract]:
        return self.written_arguments.written(function, positional, named)

    def counts_writes(self, function: Any) -> bool:
        return True

    def drawn_from(self, function: Any, positional: list[Abstract], named: Named) -> Any:
        """Its generators are the owners of what draws (randoms.py)."""

    def is_opaque_class(self, cls: type) -> bool:
        return self.array_classes.is_opaque_class(cls)

    def is_array_class(self, thing: Any) -> bool:
        return self.array_classes.is_array_class(thing)

    def require_plain(self, function: Any) -> None:
        self.per_element.require_plain(function)

    def compute(
        self, kind: str, name: str, operands: list[Abstract], seen: Any, *, in_place: bool = False
    ) -> Abstract:
        named: Named = {"out": operands[0]} if in_place else {}
        function = OPERATORS[kind][name]
        if name == "**" and not in_place:
            shortcut = self.ufuncs.power_shortcut(*operands)
            if shortcut is not None:
                function, operands = shortcut, operands[:1]
        return self.ufuncs.ufunc_call(function, operands, named, seen)

    def applied(self, function: Any, operands: list[Abstract]) -> Tensor:
        return self.ufuncs.apply(function, operands)

    def called(
        self, owner: Any, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        return self.ufunc_methods.ufunc_method(owner, name, positional, named, seen)

    def called_for_each(
        self, callee: Abstract, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        return self.per_element.vectorized(callee, positional, named, seen)

    def attribute(self, base: Host, name: str, seen: Any) -> Abstract:
        return self.array_classes.attribute_of_subclass(base, name, seen)

    def set_attribute(self, base: Flags | Tensor | Host, name: str, value: Abstract) -> None:
        if isinstance(base, Flags):
            self.attributes.set_flags(base.base, value)
        elif isinstance(base, Host):
            self.array_classes.set_attribute_of_subclass(base, name, value)
        elif name == "shape":
            self.attributes.set_shape(base, value)
        else:
            self.attributes.set_flat(base, value)

    def subscript(self, base: Flags | FlatValue | Tensor, key: Abstract, seen: Any) -> Abstract:
        if isinstance(base, Flags):
            return self.attributes.flag(base, self.indexing.plain(key), seen, subscript=True)
        if isinstance(base, FlatValue):
            return self.attributes.flat_element(base, key, seen)
        return self.fancy.advanced_index(base, key, index_parts(key), seen)

    def store_subscript(self, base: FlatValue | Tensor, key: Abstract, value: Abstract) -> None:
        if isinstance(base, FlatValue):
            return self.attributes.store_flat(base, key, value)
        return self.fancy.advanced_store(base, index_parts(key), value)

    def element_of(self, value: Abstract, dtype: str) -> Tensor:
        return self.ufuncs.element_of(value, dtype)

    def check_overlap(self, target: Tensor, source: Abstract) -> None:
        """NumPy writes as if the source had been copied before."""

    def written_at(self, function: Any, positional: list[Abstract]) -> bool:
        return self.fancy.written_at(function, positional)

    @staticmethod
    def is_one_at_most(dim: _dvm.Dim) -> bool:
        """Whether the size is 1, or 0 (and then there is nothing to lie in any order): `x[:1]`."""
        if dim.function is None:
            return dim.constant == 1
        name, _, limit = dim.function
        return name == "min" and limit.constant == 1


__all__ = ["NumpyRules"]
