"""Writes into places of the caller's arrays that arrays of indices name.

`x[places] = value` is repeated on the array itself behind `commit`; that it cannot fail there is
checked before. `np.add.at(x, places, value)` runs before, on a copy of the rows that it changes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.path.spec import NotCapturable, refuse
from dvm.magpy_capture.tensors.indexing import index_parts
from dvm.magpy_capture.tensors.written_parts import MOST_UPDATES, PartWrite
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Storage,
    Tensor,
    resolve,
)


class WrittenPlaces(NumpyPart):
    """Which writes may wait for the commit."""

    needs = (
        "arrays conversions elementwise graph indexing memory program shapes sizes ufuncs "
        "updates views writes"
    )

    def store_in_places(self, base: Tensor, parts: list[Abstract], value: Abstract) -> None:
        if not self._may_wait(base, parts):
            self.conversions.store_at_once(base, parts, value)
            return
        try:
            source = self.elementwise.cast(self.ufuncs.element_of(value, base.dtype), base.dtype)
        except NotCapturable:  # what the graph cannot convert, NumPy can
            self.conversions.store_at_once(base, parts, value)
            return
        self._store_places(base, parts, self._source_register(source))

    def _may_wait(self, base: Tensor, parts: list[Abstract]) -> bool:
        """Whether a write is made on the array itself, behind the commit."""
        self.views.decide_all(base)
        if (
            not base.storage.external
            or not self.updates.is_remade(base)
            or self.is_mask(base, parts[0])
        ):
            return False
        return all(map(self.is_index, parts)) and len(parts) <= base.rank

    def _store_places(self, base: Tensor, parts: list[Abstract], source: int) -> None:
        """`base[parts] = source`: that it cannot fail is checked now."""
        self.graph.opaque_calls.append(("advanced indexing", self.program.at))
        key = self.program.register_of(parts[0] if len(parts) == 1 else Sequence(parts))
        place = self.arrays.layout_register(base)
        check = _dvm.check_index if self._leads(parts) else check_by_taking
        self.program.step("call", self.program.constant(check), [place, key, source], ())
        self._write_places(base, key, source, rows=len(parts) == 1 and self._leads(parts))

    def _source_register(self, source: Tensor) -> int:
        literal = self.graph.literals.get(self.arrays.value_of(source)) if not source.rank else None
        return (
            self.arrays.tensor_register(source)
            if literal is None
            else self.program.constant(literal)
        )

    def _write_places(self, base: Tensor, key: int, source: int, *, rows: bool) -> None:
        """`base[key] = source` behind `commit`, which cannot fail.

        rows: the key names places along the first axis, and nothing else.
        """

        def change(before: int) -> int:
            base.storage.in_copy = True
            value = self.conversions.with_items(
                base, self.writes.part_of(base, before), key, source
            )
            return self.writes.after_write(base, value, before)

        self.memory.may_write(base)
        write = PartWrite(base, _no_value, key=key, source=source, rows=rows)
        self.writes.write_part(write, change)

    # ---- np.put

    def put_in_places(
        self, a: Abstract, ind: Abstract, v: Abstract, mode: Abstract = Literal("raise")
    ) -> Abstract:
        """Values that are not as many as places are taken round and round."""
        target, places = self.shapes.tensor(a), resolve(ind)
        if target.is_scalar or not target.rank or self.indexing.plain(mode) != "raise":
            raise refuse(reasons.FORM_PUT)
        if not self.is_places(places) or self.is_of(target.storage, [places]):
            raise refuse(reasons.FORM_PUT)
        line = target if target.rank == 1 else self.views.flat_view(target)
        if not self._may_wait(line, [places]):
            raise refuse(reasons.FORM_PUT)
        given = self.ufuncs.element_of(v, line.dtype)
        converted = given.is_scalar and given.dtype != line.dtype
        if converted or not all(map(self.sizes.observed, given.shape)):
            raise refuse(reasons.FORM_PUT)
        source = self._source_register(self.elementwise.cast(given, line.dtype))
        if given.rank:
            callee = self.program.constant(taken_round)
            source = self.program.step(
                "call", callee, [source, self.program.register_of(places)], ()
            )
        self._store_places(line, [places], source)
        return Literal(None)

    # ---- what was written, read again

    def item_register(self, base: Tensor, key: Abstract, parts: list[Abstract]) -> int:
        if len(parts) == 1 and self.is_places(parts[0]):
            through = self._through_writes(base)
            if through is not None:
                given = [base.storage.register, self.program.register_of(key), *through]
                return self.program.step(
                    "call", self.program.constant(_dvm.read_through), given, (), True
                )
        return self.conversions.host_item(base, key, parts)

    def _through_writes(self, base: Tensor) -> list[int] | None:
        """Index and value of each write that waits, if all are of rows; none: nothing waits.

        None: the content has to be made.
        """
        storage = base.storage
        if base.base is not None or not storage.external or storage.in_copy:
            return None
        if not storage.written or not 0 < len(storage.writes) <= MOST_UPDATES:
            return None
        if not any(write.key >= 0 for write in storage.writes):
            return None  # the graph has the content, and may know which part of it is meant
        through: list[int] = []
        for write in storage.writes:
            if write.key >= 0:
                if not write.rows or write.view.base is not None:
                    return None
                through += [write.key, write.source]
                continue
            part = self._row_of(write)
            if part is None:
                return None
            through += [self.program.register_of(part), self.writes.source_of(write, set())]
        return through

    def _row_of(self, write: PartWrite) -> Abstract | None:
        """The index of the rows that a write into a view writes; None if it is none of rows."""
        view = write.view
        if view.base is None or view.base.base is not None or write.original is not None:
            return None
        assert view.remake is not None
        if view.remake[0] != "getitem":
            return None
        part, *rest = index_parts(view.remake[1][0]) or [Literal(None)]
        if not all(isinstance(p, Literal) and p.object is Ellipsis for p in rest):
            return None
        is_slice = isinstance(part, SliceValue) or isinstance(getattr(part, "object", 0), slice)
        return part if is_slice or self.is_places(part) else None

    @staticmethod
    def is_mask(base: Tensor, part: Abstract) -> bool:
        return isinstance(part, Tensor) and part.dtype == "bool" and part.rank == base.rank

    def is_places(self, value: Abstract) -> bool:
        """Whether it names places along an axis, and nobody changes it before the commit."""
        value = resolve(value)
        if isinstance(value, Tensor):
            return np.dtype(value.dtype).kind in "iu"
        if isinstance(value, (ListValue, Sequence)):
            return bool(value.elements) and all(map(self.is_places, value.elements))
        return isinstance(value, Size) or (
            isinstance(value, (Literal, Host)) and type(value.object) is int
        )

    def is_index(self, value: Abstract) -> bool:
        value = resolve(value)
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
        value = resolve(value)
        return (isinstance(value, Literal) and value.object is None) or self.is_places(value)

    def _leads(self, parts: list[Abstract]) -> bool:
        """Whether all parts name places, along the first axes."""
        return all(map(self.is_places, parts))

    # ---- ufunc.at

    def written_in_places(self, function: Any, positional: list[Abstract]) -> bool:
        """`ufunc.at(x, places, ...)` on a copy of what it changes; False: not so."""
        ufunc = getattr(function, "__self__", None)
        if not isinstance(ufunc, np.ufunc) or function.__name__ != "at" or len(positional) < 2:
            return False
        target, places, *values = positional
        if not isinstance(target, Tensor) or target.is_scalar or not target.rank:
            return False
        if not self.is_places(places) or not self._may_wait(target, index_parts(places)):
            return False
        if self.is_of(target.storage, [*index_parts(places), *values]):
            return False
        one = not isinstance(places, Sequence)
        if self.indexing.is_basic([places]) and self._written_at_once(
            ufunc, target, places, values
        ):
            return True
        through = self._through_writes(target) if one else None
        content = target.storage.register if through else self.arrays.tensor_register(target)
        given = [self.program.register_of(value) for value in (places, *values)]
        self.graph.opaque_calls.append((f"numpy.{ufunc.__name__}.at", self.program.at))
        distinct = self.program.constant(_dvm.distinct_places)
        made = self.program.step("call", distinct, [content, given[0]], ())
        each, number = (self.program.step("item", made, i) for i in range(2))
        if through:
            reader = self.program.constant(_dvm.read_through)
            rows = self.program.step("call", reader, [content, each, *through], ())
        else:
            rows = self.program.step("operator", "getitem", content, each)
        self.program.step(
            "call", self.program.constant(function), [rows, number, *given[1:]], (), True
        )
        self._write_places(target, each, rows, rows=one)
        return True

    def _written_at_once(
        self, ufunc: np.ufunc, target: Tensor, place: Abstract, values: list[Abstract]
    ) -> bool:
        """As `x[place] += value`, for nothing comes up twice at one place; False: not so."""
        if ufunc.nout != 1 or len(values) != ufunc.nin - 1:
            return False
        row = self.indexing.index(target, Sequence([place, Literal(Ellipsis)]), written=True)
        try:
            self.ufuncs.computed(ufunc, [row, *values], {}, row)
        except NotCapturable:
            return False
        return True

    def is_of(self, storage: Storage, values: list[Abstract]) -> bool:
        return any(isinstance(v, Tensor) and v.storage is storage for v in values)


def _no_value() -> int:
    raise AssertionError("a write of places has no graph value")


def check_by_taking(array: Any, key: Any, value: Any) -> None:
    """Raises where `array[key] = value` would, for any key."""
    np.broadcast_to(value, array[key].shape)


def taken_round(values: Any, places: Any) -> Any:
    """As many of the values as there are places, from the first again where they end."""
    shape = np.shape(places)
    if values.shape == shape:
        return values
    count = math.prod(shape)
    if not values.size and count:
        raise ValueError("no values")  # NumPy writes nothing then
    return np.take(values.ravel(), np.arange(count), mode="wrap").reshape(shape)


__all__ = ["WrittenPlaces"]
