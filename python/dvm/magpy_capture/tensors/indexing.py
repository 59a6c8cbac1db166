"""Basic indexing: integers, slices with any step, None and Ellipsis, read and written.

What NumPy calls advanced indexing (arrays and lists as indices) is left to NumPy.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.libraries import INTEGERS
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import Order, fresh
from dvm.magpy_capture.tensors.layer import TensorPart
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    RangeValue,
    Sequence,
    Size,
    SliceValue,
    Tensor,
    resolve,
)


@dataclass
class Selection:
    """A basic index, worked out per axis of the array."""

    starts: list[_dvm.Dim] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    counts: list[_dvm.Dim] = field(default_factory=list)
    kept: list[bool] = field(default_factory=list)  # False: an integer took the axis away
    # Axes of the result: the axis of the array it is, or None for a new one.
    result: list[int | None] = field(default_factory=list)


def index_parts(key: Abstract) -> list[Abstract]:
    key = resolve(key)
    if isinstance(key, Sequence):
        return [resolve(part) for part in key.elements]
    if isinstance(key, Literal) and type(key.object) is tuple:
        return [Literal(part) for part in key.object]
    return [key]


class Indexing(TensorPart):
    """Views made by basic indexing."""

    needs = "arrays graph program sizes updates views"

    # ---- compile-time values

    def known(self, value: Abstract) -> Literal:
        """`value` as a literal, guarded where it is not one."""
        value = resolve(value)
        if isinstance(value, Literal):
            return value
        if isinstance(value, Size):
            return self.program.pin(value, self.sizes.observed(value.dim))
        if isinstance(value, Host):
            return self.program.pin(value, value.object)
        if isinstance(value, Tensor) and value.is_scalar and value.object is not None:
            kind = "int" if value.is_integer else "bool" if value.dtype == "bool" else "float"
            register = self.graph.leave(self.arrays.value_of(value), kind)
            self.program.guard("guard_value", register, value.object.item(), key=(register,))
            return Literal(value.object, identical=False)
        raise refuse(reasons.NEEDS_CONSTANT, describe(value))

    def plain(self, value: Abstract) -> Any:
        """A compile-time Python object: an axis, a flag, a dtype, a key."""
        value = self.program.by_identity(value)
        if isinstance(value, Sequence):
            return tuple(self.plain(part) for part in value.elements)
        if isinstance(value, ListValue):
            return [self.plain(part) for part in value.elements]
        if isinstance(value, SliceValue):
            return slice(*(self.plain(part) for part in (value.start, value.stop, value.step)))
        return self.known(value).object

    def integer(self, value: Abstract) -> int:
        number = self.plain(value)
        try:
            return operator.index(number)
        except TypeError:
            raise refuse(reasons.NEEDS_INT, number) from None

    def of_range(self, value: RangeValue) -> list[Abstract]:
        """Its numbers, which the path is for."""
        bounds = [self.integer(part) for part in (value.start, value.stop, value.step)]
        return [Literal(number) for number in range(*bounds)]

    def dim_of(self, value: Abstract) -> _dvm.Dim:
        """A Python int as a size: symbolic where it is one."""
        value = resolve(value)
        if isinstance(value, Size):
            return value.dim
        if isinstance(value, Host) and type(value.object) is int:
            return self.sizes.dim_of_int(value.register, value.object)
        if isinstance(value, Tensor) and not value.rank and value.is_integer:
            if value.object is not None:
                register = self.graph.leave(self.arrays.value_of(value), "int")
                return self.sizes.dim_of_int(register, int(value.object))
        return self.graph.size(self.integer(value))

    def at_least(self, dim: _dvm.Dim, low: _dvm.Dim) -> _dvm.Dim:
        """Return max(dim, low)."""
        return dim if (dim - low).is_natural else dim.max(low)

    # ---- the index

    def is_basic(self, parts: list[Abstract]) -> bool:
        return all(
            isinstance(part, (SliceValue, Size))
            or (
                isinstance(part, Literal)
                and (
                    part.object is None or part.object is Ellipsis or _is_int_or_slice(part.object)
                )
            )
            or (isinstance(part, Host) and type(part.object) is int)
            or (isinstance(part, Tensor) and part.is_scalar and part.is_integer)
            for part in parts
        )

    def select(self, t: Tensor, parts: list[Abstract]) -> Selection:
        selection = Selection()
        used = sum(1 for part in parts if not _is(part, None) and not _is(part, Ellipsis))
        if used > t.rank:
            raise refuse(reasons.TOO_MANY_INDICES_ARRAY)
        if not any(_is(part, Ellipsis) for part in parts):
            parts = [*parts, Literal(Ellipsis)]
        axis = 0
        for part in parts:
            if _is(part, None):
                selection.result.append(None)
                continue
            if _is(part, Ellipsis):
                for _ in range(t.rank - used):
                    self._take(selection, axis, self.graph.size(0), 1, t.shape[axis])
                    axis += 1
                continue
            if isinstance(part, SliceValue) or (
                isinstance(part, Literal) and isinstance(part.object, slice)
            ):
                self._take(selection, axis, *self.slice_range(part, t.shape[axis]))
            else:
                start = self.dim_of(part)
                if self.sizes.is_negative(start):
                    start = t.shape[axis] + start
                selection.starts.append(start)
                selection.steps.append(1)
                selection.counts.append(self.graph.size(1))
                selection.kept.append(False)
            axis += 1
        return selection

    def _take(
        self, selection: Selection, axis: int, start: _dvm.Dim, step: int, count: _dvm.Dim
    ) -> None:
        selection.starts.append(start)
        selection.steps.append(step)
        selection.counts.append(count)
        selection.kept.append(True)
        selection.result.append(axis)

    def slice_range(self, part: Any, size: _dvm.Dim) -> tuple[_dvm.Dim, int, _dvm.Dim]:
        """(start, step, number of elements) of a slice of an axis of `size`."""
        if isinstance(part, Literal):
            part = SliceValue(
                *(Literal(v) for v in (part.object.start, part.object.stop, part.object.step))
            )
        given = self.plain(part.step)
        step = 1 if given is None else operator.index(given)
        if step == 0:
            raise refuse(reasons.SLICE_STEP)
        zero, one = self.graph.size(0), self.graph.size(1)
        low, high = (zero, size) if step > 0 else (zero - 1, size - one)

        def position(bound: Abstract, default: _dvm.Dim) -> _dvm.Dim:
            bound = resolve(bound)
            if _is(bound, None):
                return default
            offset = self.dim_of(bound)
            if offset == size and step > 0:
                return size
            if self.sizes.is_negative(offset):
                if not size.is_polynomial:  # clamps of clamps would grow without end
                    holds = self.sizes.is_at_most(low, size + offset)
                    return size + offset if holds else low
                return self.at_least(size + offset, low)
            return offset if (high - offset).is_natural else offset.min(high)

        if step > 0:
            start, stop = position(part.start, zero), position(part.stop, size)
            count = self.at_least(stop - start, zero)
            if step > 1:
                count = (count + (step - 1)) // step
            return start, step, count
        start, stop = position(part.start, high), position(part.stop, low)
        count = self.at_least(start - stop, zero)
        if step < -1:
            count = (count + (-step - 1)) // -step
        return self.at_least(start, zero), step, count

    # ---- views

    def index(self, t: Tensor, key: Abstract, *, written: bool = False) -> Tensor:
        """`t[key]` for a basic key: a view, or a scalar when integers take every axis.

        written: it is written next, which checks the integers.
        """
        parts = index_parts(key)
        if t.is_scalar and parts:  # its value is put into an array, of which the result is a view
            copy = self.graph.copy_value(self.arrays.value_of(t))
            t = fresh(copy, t.dtype, [], (), library=t.library)
        selection = self.select(t, parts)
        stored_starts = [selection.starts[axis] for axis in t.order]
        stored_steps = [selection.steps[axis] for axis in t.order]
        stored_counts = [selection.counts[axis] for axis in t.order]
        shape = [
            self.graph.size(1) if axis is None else selection.counts[axis]
            for axis in selection.result
        ]
        order = self._view_order(t, selection)
        stored = [shape[axis] for axis in order]
        whole = all(
            kept and step == 1 and count == size
            for kept, step, count, size in zip(
                selection.kept, selection.steps, selection.counts, t.shape, strict=True
            )
        )

        def view(value: int) -> int:
            if not whole:
                value = self.updates.slice_value(value, stored_starts, stored_steps, stored_counts)
            return self.views.reshape_value(value, stored)

        def write(base: int, value: int) -> int:
            value = self.views.reshape_value(value, stored_counts)
            if whole:
                return value
            return self.updates.update_value(base, value, stored_starts, stored_steps)

        is_element = not shape and not any(_is(part, Ellipsis) for part in parts)
        if is_element and t.library.has_scalars:
            element = view(self.arrays.value_of(t))
            return fresh(element, t.dtype, [], library=t.library, is_scalar=True)
        made = self.arrays.view_of(
            t,
            shape,
            order,
            view,
            write,
            ("getitem", [key]),
            contiguous=whole or self._is_dense(t, selection),
        )
        if made.rank > 1 and any(step > 1 for step in selection.steps):
            # An axis of one element may have the largest one.
            made.strides = t.strides.seen_through(turned=True)
        if not all(selection.kept) and not written:
            self.updates.check_view(made)
        return made

    @staticmethod
    def _is_dense(t: Tensor, selection: Selection) -> bool:
        """Whether the part lies as densely as the whole does.

        It takes all of the inner axes, a range of the next one, and one place of each other axis.
        """
        inner = True
        for axis in reversed(t.order):
            kept, count = selection.kept[axis], selection.counts[axis]
            is_range = not kept or selection.steps[axis] == 1 or count.constant == 1
            if inner and is_range:
                inner = kept and count == t.shape[axis]
            elif inner or not (count.constant == 1 or not kept):
                return False
        return True

    def _view_order(self, t: Tensor, selection: Selection) -> Order:
        place = {axis: i for i, axis in enumerate(selection.result) if axis is not None}
        order = [place[axis] for axis in t.order if axis in place]
        for i, axis in enumerate(selection.result):
            if axis is None:
                later = [k for k, other in enumerate(order) if other > i]
                order.insert(later[0] if later else len(order), i)
        return tuple(order)


def _is(value: Abstract, thing: object) -> bool:
    return isinstance(value, Literal) and value.object is thing


def _is_int_or_slice(value: object) -> bool:
    if isinstance(value, slice):
        return True
    return isinstance(value, (int, *INTEGERS)) and not isinstance(value, bool)
