"""Arrays put together from several, as new memory."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from collections.abc import Sized

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import Tensor

MAX_PARTS = 128


class Joining(NumpyPart):
    """What concatenating, stacking and lists of arrays have in common."""

    needs = "elementwise graph layouts program updates views"

    def require_few(self, parts: Sized) -> None:
        if len(parts) > MAX_PARTS:
            raise refuse(reasons.ARRAY_MORE_PARTS, MAX_PARTS)

    def common_dtype(self, parts: SequenceOf[Tensor]) -> str:
        return str(np.result_type(*(np.dtype(part.dtype) for part in parts)).name)

    def joined(self, parts: SequenceOf[Tensor], axis: int) -> Tensor:
        """The parts one after the other along an axis, as new memory in C order."""
        self.require_few(parts)
        dtype = self.common_dtype(parts)
        total = self.graph.size(0)
        for part in parts:
            total = total + part.shape[axis]
        shape = list(parts[0].shape)
        for other in parts[1:]:
            for i, dim in enumerate(other.shape):
                if i != axis and dim != shape[i]:
                    shape[i] = shape[i] if shape[i].constant != 1 else dim
        shape[axis] = total
        value = self.empty_value(dtype, shape)
        begin = self.graph.size(0)
        for part in parts:
            own = list(shape)
            own[axis] = part.shape[axis]
            self.program.require_all_equal(part.shape, own)
            content = self.layouts.in_c_order(self.elementwise.cast(part, dtype))
            content = self.views.reshape_value(content, own)
            starts = [self.graph.size(0)] * len(shape)
            starts[axis] = begin
            value = self.updates.update_value(value, content, starts, [1] * len(shape))
            begin = begin + part.shape[axis]
        return fresh(value, dtype, shape)

    def empty_value(self, dtype: str, shape: SequenceOf[_dvm.Dim]) -> int:
        self.graph.empties += 1
        return self.graph.node(
            "empty",
            (),
            lambda: self.graph.native.empty(
                self.graph.dtype_text(dtype), list(shape), at=self.program.at
            ),
            (dtype, self.graph.empties),
        )

    def stacked(self, parts: list[Tensor], dtype: str | None) -> Tensor:
        """What np.array makes of a list of equal arrays or numbers."""
        if not parts:
            raise refuse(reasons.ARRAY_EMPTY_LIST)
        one = self.graph.size(1)
        wide = []
        for part in parts:
            shape = [one, *part.shape]
            value = self.views.reshape_value(self.layouts.in_c_order(part), shape)
            wide.append(fresh(value, part.dtype, shape))
        return self.joined(wide, 0)


__all__ = ["Joining"]
