"""The order of tensors' axes in memory, and contents arranged in another one."""

from __future__ import annotations

from typing import Any

from dvm import reasons
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import Order, c_order, fresh
from dvm.magpy_capture.tensors.layer import TensorPart
from dvm.magpy_capture.values import Tensor


class Layouts(TensorPart):
    """How tensors lie in memory."""

    needs = "arrays graph program views"

    def arranged(self, t: Tensor, order: Order) -> int:
        """The content with the axes in the given order of memory.

        For broadcasting to a result of rank len(order): missing leading axes stay missing, others
        become size 1.
        """
        value = self.arrays.value_of(t)
        if t.order == order:
            return value
        rank, lead = t.rank, len(order) - t.rank
        wanted = [axis - lead for axis in order if axis >= lead]
        value = self.graph.transpose_value(value, [t.order.index(axis) for axis in wanted])
        if lead == 0 or order[:lead] == c_order(lead):
            return value
        if rank == 0:
            return value
        shape = [t.shape[axis - lead] if axis >= lead else self.graph.size(1) for axis in order]
        return self.views.reshape_value(value, shape)

    def in_c_order(self, t: Tensor) -> int:
        """The content with its axes in C order."""
        return self.arranged(t, c_order(t.rank))

    def order_in_memory(self, t: Tensor) -> Order:
        """The order in which NumPy takes the axes; in which the graph has them is `t.order`."""
        return tuple(t.library.layout(self._telling(t))[1]) if t.loose else t.order

    def repeated_axes(self, t: Tensor) -> int:
        """The axes of more than one element that have stride 0, as bits; the path is for these."""
        return int(t.library.repeated_axes(self._telling(t))) if t.loose else 0

    def _telling(self, t: Tensor) -> Any:
        """The recorded array, whose order and repeated axes the path then is for."""
        t = t.cast_of or t
        if t.object is None:
            raise refuse(reasons.MEMORY_ORDER_BROADCAST_VIEW_NOT)
        if t.base is not None:  # they depend on sizes
            register = self.arrays.layout_register(t)
            self.program.guard("guard_signature", register, t.object, key=(register,))
        return t.object

    def in_order(self, t: Tensor) -> Tensor:
        """The same in the order in which NumPy takes the axes, for results that have it, too."""
        order = self.order_in_memory(t)
        if order == t.order:
            return t
        return fresh(self.arranged(t, order), t.dtype, t.shape, order, library=t.library)


__all__ = ["Layouts"]
