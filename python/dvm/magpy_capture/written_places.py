"""Writes into places of the caller's arrays that arrays of indices name.

`x[places] = value` is repeated on the array itself behind `commit`; that it cannot fail there is
checked before. `np.add.at(x, places, value)` runs before, on a copy of the rows that it changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm import _dvm
from dvm.magpy_capture.numpy_functions import NumpyFunctions
from dvm.magpy_capture.spec import NotCapturable
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Tensor,
)
from dvm.magpy_capture.written_parts import PartWrite


class WrittenPlaces(NumpyFunctions):
    """Which writes may wait for the commit."""

    def advanced_store(self, base: Tensor, parts: list[Abstract], value: Abstract) -> None:
        self.decide_all(base)
        if not base.storage.external or not self.is_remade(base) or self._is_mask(base, parts[0]):
            super().advanced_store(base, parts, value)
            return
        if not all(map(self.is_index, parts)) or len(parts) > base.rank:
            super().advanced_store(base, parts, value)
            return
        try:
            source = self.cast(self.element_of(value, base.dtype), base.dtype)
        except NotCapturable:  # what the graph cannot convert, NumPy can
            super().advanced_store(base, parts, value)
            return
        self.opaque_calls.append(("advanced indexing", self.at))
        key = self.register_of(parts[0] if len(parts) == 1 else Sequence(parts))
        content = self.tensor_register(source)
        place = self.layout_register(base)
        check = _dvm.check_index if self._leads(parts) else check_by_taking
        self.step("call", self.constant(check), [place, key, content], ())
        self._write_places(base, key, content)

    def _write_places(self, base: Tensor, key: int, source: int) -> None:
        """`base[key] = source` behind `commit`, which cannot fail."""

        def change(before: int) -> int:
            base.storage.in_copy = True
            value = self.with_items(base, self._part_of(base, before), key, source)
            return self._after(base, value, before)

        self.may_write(base)
        self.write_part(PartWrite(base, _no_value, key=key, source=source), change)

    @staticmethod
    def _is_mask(base: Tensor, part: Abstract) -> bool:
        return isinstance(part, Tensor) and part.dtype == "bool" and part.rank == base.rank

    def is_places(self, value: Abstract) -> bool:
        """Whether it names places along an axis, and nobody changes it before the commit."""
        value = self.resolve(value)
        if isinstance(value, Tensor):
            return np.dtype(value.dtype).kind in "iu"
        if isinstance(value, (ListValue, Sequence)):
            return bool(value.elements) and all(map(self.is_places, value.elements))
        return isinstance(value, Size) or (
            isinstance(value, (Literal, Host)) and type(value.object) is int
        )

    def is_index(self, value: Abstract) -> bool:
        value = self.resolve(value)
        if isinstance(value, Tensor):
            return np.dtype(value.dtype).kind in "biu"
        if isinstance(value, SliceValue):
            return all(map(self.is_fixed_part, (value.start, value.stop, value.step)))
        if isinstance(value, Literal) and (
            value.object is None or value.object is Ellipsis or isinstance(value.object, slice)
        ):
            return True
        return self.is_places(value)

    def is_fixed_part(self, value: Abstract) -> bool:
        value = self.resolve(value)
        return (isinstance(value, Literal) and value.object is None) or self.is_places(value)

    def _leads(self, parts: list[Abstract]) -> bool:
        """Whether all parts name places, along the first axes."""
        return all(map(self.is_places, parts))

    # ---- ufunc.at

    def written_at(self, function: Any, positional: list[Abstract]) -> bool:
        """`ufunc.at(x, places, ...)` on a copy of what it changes; False: not so."""
        ufunc = getattr(function, "__self__", None)
        if not isinstance(ufunc, np.ufunc) or function.__name__ != "at" or len(positional) < 2:
            return False
        target, places, *values = positional
        if not isinstance(target, Tensor) or target.is_scalar or not target.rank:
            return False
        self.decide_all(target)
        storage = target.storage
        if not storage.external or not self.is_remade(target) or not self.is_places(places):
            return False
        if isinstance(places, Sequence):  # an index for each of several axes
            return False
        if any(isinstance(v, Tensor) and v.storage is storage for v in (places, *values)):
            return False
        content = self.tensor_register(target)
        given = [self.register_of(value) for value in (places, *values)]
        self.opaque_calls.append((f"numpy.{ufunc.__name__}.at", self.at))
        callee = self.constant(rows_after)
        made = self.step("call", callee, [self.constant(function), content, *given], (), True)
        rows = [self.step("item", made, i) for i in range(2)]
        self._write_places(target, *rows)
        return True


def _no_value() -> int:
    raise AssertionError("a write of places has no graph value")


def check_by_taking(array: Any, key: Any, value: Any) -> None:
    """Raises where `array[key] = value` would, for any key."""
    np.broadcast_to(value, array[key].shape)


def rows_after(at: Any, array: Any, places: Any, *values: Any) -> tuple[Any, Any]:
    """The rows that `at(array, places, ...)` changes, and what they hold then."""
    each, number = _dvm.distinct_places(array, places)
    rows = array[each]
    at(rows, number, *values)
    return each, rows


__all__ = ["WrittenPlaces"]
