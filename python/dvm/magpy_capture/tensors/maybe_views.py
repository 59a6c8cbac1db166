"""Arrays that NumPy makes as views or as copies, as sizes and strides of a call will have it.

`x.reshape(...)` of an array that is not dense, np.ravel, np.ascontiguousarray and host functions
that return a view are such. To read one, nobody needs to know; what leaves the path is made by the
same call on the array that leaves, and so is right in any case. Only a write, to it or to its base,
must know: then the path is for one answer. Likewise for the order of its axes in memory, which
decides the order of what is computed from it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.libraries import is_empty
from dvm.magpy_capture.path.graphs import Modes
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.tensors.layer import TensorPart
from dvm.magpy_capture.values import (
    Abstract,
    Content,
    Literal,
    MaybeView,
    Sequence,
    Size,
    Storage,
    Tensor,
)


class MaybeViews(TensorPart):
    """What is open about a view is decided when something depends on it."""

    needs = "arrays graph program sizes updates"

    def __init__(self) -> None:
        self._maybe_views: list[MaybeView] = []

    def compute_fallible(self) -> None:
        """Compute what nothing used so far, if NumPy could raise or warn there."""
        for maybe in self._maybe_views:
            if not maybe.made:
                self.graph.leave(maybe.content)
        self._maybe_views.clear()
        self.updates.check_views()
        self.graph.compute_unused()

    def set_modes(self, modes: Modes) -> None:
        """From here on NumPy raises, warns or stays silent as these say."""
        if modes != self.graph.modes:
            self.compute_fallible()
            self.graph.modes = modes

    def reshape_value(self, value: int, shape: SequenceOf[_dvm.Dim]) -> int:
        """The value in another shape; a copy of it where its axes cannot merge as they lie."""
        if self._is_scattered(value):
            groups = self._groups(self.graph.shape(value), shape, ask=False)
            if groups is None or any(len(old) > 1 for old, _ in groups):
                value = self.graph.copy_value(value)
        return self.graph.reshaped_node(value, shape)

    def _is_scattered(self, value: int) -> bool:
        while self.graph.ops[value][0] in ("reshape", "transpose"):
            value = self.graph.ops[value][1][0]
        return self.graph.ops[value][0] == "slice" or value in self.graph.scattered

    def maybe_view(
        self,
        base: Tensor,
        shape: SequenceOf[_dvm.Dim],
        again: Callable[[int], int],
        back: Callable[[int], int] | None,
        remake: tuple[Any, ...],
        *,
        open_order: bool = False,
        order: Order | None = None,
    ) -> Tensor:
        """A view of `base`, or a copy.

        again, back: from the base's graph value to this one's, with its axes in C order, and back.
        open_order: a view may have another memory order than the copy, which is in C order.
        """
        made = self.arrays.view_of(
            base, shape, c_order(len(shape)) if order is None else order, again, None, remake
        )
        made.contiguous = False
        made.maybe = maybe = MaybeView(
            base.storage.version, self.arrays.value_of(base), again, back, lambda: self.decide(made)
        )
        made.view = lambda _base: self._in_order(maybe.content, made.order)
        self._maybe_views.append(maybe)
        if open_order:
            made.open_order = lambda: self._close_order(made)
        return made

    def _told(self, before: SequenceOf[_dvm.Dim], sizes: list[_dvm.Dim]) -> list[_dvm.Dim]:
        """These sizes, of which the one that is -1 follows from the others."""
        unknown = [place for place, dim in enumerate(sizes) if dim.constant == -1]
        if not unknown:
            return sizes
        others = [dim for place, dim in enumerate(sizes) if place not in unknown]
        known = self.graph.product(others)
        self.program.require_positive(known)  # or -1 may be anything, and NumPy raises
        sizes[unknown[0]] = self._without(before, others)
        return sizes

    def _without(self, before: SequenceOf[_dvm.Dim], sizes: SequenceOf[_dvm.Dim]) -> _dvm.Dim:
        """The product of the sizes before, divided by that of these; those in both cancel out."""
        rest, divisors = list(before), []
        for size in sizes:
            match = next((dim for dim in rest if dim == size), None)
            if match is None:
                divisors.append(size)
            else:
                rest.remove(match)
        left, divisor = self.graph.product(rest), self.graph.product(divisors)
        return left if divisor.constant == 1 else left // divisor

    def reshaped(self, x: Tensor, shape: SequenceOf[_dvm.Dim]) -> Tensor:
        """Another shape in C order: a view where NumPy makes one, else a copy.

        shape: one of the sizes may be -1, for as many as there are.
        """
        shape = self._told(x.shape, list(shape))
        line = len(shape) == 1 and self.graph.product(x.shape) == shape[0]
        wanted = Literal(-1) if line else self.arguments_of(shape)
        remake: tuple[Any, ...] = (x.library.reshape, [wanted])
        order = self.kept_order(x, shape)
        if order is not None:
            own, stored = self.arrays.stored_shape(x), [shape[axis] for axis in order]
            return self.arrays.view_of(
                x,
                shape,
                order,
                lambda value: self.reshape_value(value, stored),
                lambda _base, value: self.reshape_value(value, own),
                remake,
                may_fail=self.graph.product(x.shape) != self.graph.product(shape),
            )
        return self.maybe_view(
            x,
            shape,
            lambda value: self.reshape_value(self._dense(x, value), shape),
            lambda value: self.graph.transpose_value(self.reshape_value(value, x.shape), x.order),
            remake,
            open_order=x.order != c_order(x.rank),
        )

    def c_ordered(self, x: Tensor, value: int) -> int:
        """A value of `x` with its axes in C order."""
        return self.graph.transpose_value(value, [x.order.index(axis) for axis in range(x.rank)])

    def _dense(self, x: Tensor, value: int) -> int:
        """The same in memory that can be cut into any shape."""
        ordered = self.c_ordered(x, value)
        return ordered if x.contiguous else self.graph.copy_value(ordered)

    def arguments_of(self, shape: SequenceOf[_dvm.Dim]) -> Abstract:
        return Sequence([Literal(d.constant) if d.constant is not None else Size(d) for d in shape])

    def flat_view(self, x: Tensor) -> Tensor:
        """The elements in C order, to be read and written; no array that could leave the path."""
        size = self.graph.product(x.shape)

        def view(value: int) -> int:
            ordered = self.graph.transpose_value(
                value, [x.order.index(axis) for axis in range(x.rank)]
            )
            return self.reshape_value(
                ordered if x.contiguous else self.graph.copy_value(ordered), [size]
            )

        def write(_base: int, value: int) -> int:
            return self.graph.transpose_value(self.reshape_value(value, x.shape), x.order)

        remake = (x.library.reshape, [Literal(-1)])
        dense = x.contiguous and x.order == c_order(x.rank)
        return self.arrays.view_of(x, [size], c_order(1), view, write, remake if dense else None)

    def _in_order(self, value: int, order: Order) -> int:
        """A value whose axes are in C order, with them in order of memory."""
        return self.graph.transpose_value(value, order)

    def _close_order(self, t: Tensor) -> None:
        """The order is the recorded one; where the sizes cannot tell it, the host is asked."""
        t.open_order = None
        base, seen = t.base, t.object
        assert base is not None
        order = self.kept_order(base, t.shape, ask=True)
        if order is not None:
            t.axes = order
            return
        large = [dim for dim in base.shape if dim.constant != 1]
        if base.contiguous and self._merges_apart(base, t.shape):
            if all(self.sizes.observed(dim) > 1 for dim in large):
                for dim in large:
                    self.sizes.exceeds_one(dim)
                return  # a copy
        if seen is None:
            raise refuse(reasons.MEMORY_ORDER_RESHAPE_NOT_SEEN)
        made = self.arrays.remade(t, self.arrays.layout_register(base))
        self.program.guard("guard_signature", made, seen, key=(made,))
        t.axes = tuple(t.library.layout(seen)[1])

    def decide(self, t: Tensor) -> None:
        """From here on the path is for calls in which it is a view, or for those with a copy."""
        maybe, base = t.maybe, t.base
        if maybe is None or base is None:
            return
        order = t.order
        if t.object is None or base.object is None:
            raise refuse(reasons.VIEW_COPY_ARRAY_NOT_SEEN)
        register = self.arrays.layout_register(base)
        if not is_empty(t.object):
            is_view = bool(t.library.may_share(t.object, base.object))
            pair = (self.arrays.remade(t, register), register)
            self.program.guard("guard_overlap", *pair, is_view, key=pair)
            if not is_view:
                empty = self.program.operate(
                    "==",
                    self.program.register_of_dim(self.graph.product(t.shape)),
                    self.program.constant(0),
                )
                self.program.guard("guard_truth", empty, False)
        else:  # without elements there is nothing to share, but it has a base
            is_view = True
            self.sizes.require_equal(self.graph.product(t.shape), self.graph.size(0))
        t.maybe = t.cached = None
        if is_view:
            t.view = lambda value: self._in_order(maybe.again(value), order)
            if maybe.back is not None:
                places = [order.index(axis) for axis in range(t.rank)]
                back = maybe.back
                t.write = lambda _base, value: back(self.graph.transpose_value(value, places))
            return
        content = self._in_order(maybe.content, order)
        by_reshape = t.remake is not None and t.remake[0] is t.library.reshape
        if by_reshape and t.library.reshapes_copies:
            # A view still, of a copy of the whole in C order.
            copy = self.graph.copy_value(self.reshape_value(maybe.content, base.shape))
            whole = Storage(Content(copy), t.library, version=maybe.born)
            t.base = Tensor(whole, t.dtype, base.shape, c_order(base.rank))
            t.view = lambda value: self._in_order(self.reshape_value(value, t.shape), order)
            places = [order.index(axis) for axis in range(t.rank)]
            own = base.shape
            t.write = lambda _base, value: self.reshape_value(
                self.graph.transpose_value(value, places), own
            )
            return
        library = t.library
        t.base = t.view = t.remake = None
        t.memory = Storage(Content(self.graph.copy_value(content)), library, version=maybe.born)

    def decide_all(self, t: Tensor) -> None:
        """Decide this array and what it is a view of."""
        each: Tensor | None = t
        while each is not None:
            self.decide(each)
            each = each.base

    # ---- which axes a reshape keeps apart

    def kept_order(
        self, x: Tensor, shape: SequenceOf[_dvm.Dim], *, ask: bool = False
    ) -> Order | None:
        """The memory order of a reshape that is a view for all sizes; None if there is none.

        Each axis is split, or axes merge that are neighbours in memory. ask: sizes that seem to
        belong together may be required to.
        """
        if x.order == c_order(x.rank) and x.contiguous:
            return c_order(len(shape))
        groups = self._groups(x.shape, shape, ask=ask)
        if groups is None:
            return None
        places = [axis for axis in x.order if x.shape[axis].constant != 1]
        for old, _ in groups:
            if len(old) > 1 and not (x.contiguous and self._are_neighbours(places, old)):
                return None
        groups.sort(key=lambda group: places.index(group[0][0]))
        order = [axis for _, new in groups for axis in new]
        for axis in range(len(shape)):
            if axis not in order:  # of size 1
                later = [place for place, other in enumerate(order) if other > axis]
                order.insert(later[0] if later else len(order), axis)
        return tuple(order)

    @staticmethod
    def _are_neighbours(places: list[int], axes: list[int]) -> bool:
        first = places.index(axes[0])
        return places[first : first + len(axes)] == axes

    def _merges_apart(self, x: Tensor, shape: SequenceOf[_dvm.Dim]) -> bool:
        """Whether some axes become one that are not neighbours in memory."""
        places = [axis for axis in x.order if x.shape[axis].constant != 1]
        return any(
            len(old) > 1 and len(new) == 1 and not self._are_neighbours(places, old)
            for old, new in self._groups(x.shape, shape, ask=False) or ()
        )

    def _groups(
        self, old: SequenceOf[_dvm.Dim], new: SequenceOf[_dvm.Dim], *, ask: bool
    ) -> list[tuple[list[int], list[int]]] | None:
        """Axes of both shapes of which the sizes have equal products, in order."""
        rest = [[axis for axis, dim in enumerate(dims) if dim.constant != 1] for dims in (old, new)]
        groups: list[tuple[list[int], list[int]]] = []
        while rest[0] and rest[1]:
            group: tuple[list[int], list[int]] = ([rest[0].pop(0)], [rest[1].pop(0)])
            while True:
                products = [
                    self.graph.product(dims[axis] for axis in part)
                    for dims, part in zip((old, new), group, strict=True)
                ]
                if products[0] == products[1]:
                    break
                before, after = map(self.sizes.observed, products)
                if before == after:
                    if not ask or not before:
                        return None
                    self.sizes.require_equal(*products)
                    break
                side = 0 if before < after else 1
                if not rest[side]:
                    return None
                group[side].append(rest[side].pop(0))
            groups.append(group)
        return groups if not rest[0] and not rest[1] else None


__all__ = ["MaybeViews"]
