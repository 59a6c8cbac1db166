"""Arrays as the program sees them: promotion (NEP 50), broadcasting, memory order, views, writes.

Result dtypes are not re-invented: ufuncs resolve them (`ufunc.resolve_dtypes`). Memory order (K
order) is asked of NumPy's own iterator on small arrays. Every result is compared with the array
that the recorded execution really produced (`Lowering.check`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from typing import Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.numpy.tables import UFUNCS, VECTORS
from dvm.magpy_capture.part import Part
from dvm.magpy_capture.path.graphs import DTYPES, NAMES, NUMBERS, same_shape
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.written_parts import PartWrite
from dvm.magpy_capture.values import (
    Abstract,
    Content,
    Host,
    Literal,
    Sequence,
    Size,
    Storage,
    Tensor,
    resolve,
)

PYTHON_NUMBERS = (bool, int, float)
INDICES = (int, type(None), type(Ellipsis))

Order = tuple[int, ...]


def c_order(rank: int) -> Order:
    return tuple(range(rank))


def is_supported(dtype: np.dtype[Any]) -> bool:
    """Whether the graph has the dtype: of two C types of one size NumPy's own default."""
    return dtype in NAMES and dtype.num in NUMBERS and not dtype.metadata


def fresh(
    value: int,
    dtype: str,
    shape: SequenceOf[_dvm.Dim],
    order: Order | None = None,
    *,
    is_scalar: bool = False,
) -> Tensor:
    """A new array whose content is `value`."""
    order = c_order(len(shape)) if order is None else order
    return Tensor(Storage(Content(value)), dtype, list(shape), order, is_scalar=is_scalar)


class Arrays(Part):
    """Builds tensors with NumPy's rules."""

    needs = "graph heap indexing products program updates views"

    # ---- from and to the host

    def tensor_of_array(
        self,
        register: int,
        array: np.ndarray[Any, Any],
        *,
        external: bool,
        order: SequenceOf[int] | None = None,
        sizes: SequenceOf[_dvm.Dim] | None = None,
    ) -> Tensor:
        """The array in a register; `external` if the caller can see it.

        order: in which it is known to lie densely, where its sizes might not show it.
        sizes: of its axes, where they are known.
        """
        layout = "c_contiguous"
        if order is None:
            layout, order = _dvm.layout(array)
        value = self.graph.input_value(register, array, order, sizes)
        storage = Storage(Content(value), object=array)
        if external:
            storage.register, storage.initial = register, value
            self.graph.initials.add(value)
        else:
            storage.host = register
        shape = self._unordered(self.graph.shape(value), order)
        dense = layout in ("c_contiguous", "permuted_contiguous")
        if not dense:
            self.graph.scattered.add(value)
        return Tensor(
            storage,
            NAMES[array.dtype],
            shape,
            tuple(order),
            contiguous=dense,
            loose=_dvm.repeated_axes(array) != 0 or _dvm.is_overlapping(array),
            object=array,
        )

    def tensor_of_scalar(self, register: int, scalar: np.generic) -> Tensor:
        array = self.program.step("call", self.program.constant(np.asarray), [register], ())
        value = self.graph.input_value(array, np.asarray(scalar), ())
        self.graph.scalar_of_array[array] = register
        dtype = NAMES[scalar.dtype]
        storage = Storage(Content(value), host=register)
        self.scalar_owner(register, storage)
        return Tensor(storage, dtype, [], (), is_scalar=True, object=scalar)

    def scalar_owner(self, register: int, storage: Storage) -> Storage:
        """Whose object the NumPy scalar in the register is: that of the first that uses it."""
        owner: Storage = self.graph.scalar_owners.setdefault(register, storage)
        return owner

    def _unordered(self, stored: SequenceOf[_dvm.Dim], order: SequenceOf[int]) -> list[_dvm.Dim]:
        shape = list(stored)
        for place, axis in enumerate(order):
            shape[axis] = stored[place]
        return shape

    def stored_shape(self, t: Tensor) -> list[_dvm.Dim]:
        return [t.shape[axis] for axis in t.order]

    def tensor_register(self, value: Tensor) -> int:
        """A host object with the present content, for callees that do not keep or change it."""
        if value.is_scalar:
            register = self.graph.leave(self.value_of(value), "numpy")
            self.scalar_owner(register, value.storage)
            return register
        if self.is_stale(value):
            self.views.decide(value)
        if value.base is None and value.storage.locked:
            return self.object_register(value)
        if value.base is not None and value.remake is not None:
            return self.remade(value, self.tensor_register(value.base))
        storage = value.storage
        if storage.external and not storage.written:
            return storage.register
        order = None if value.order == c_order(value.rank) else value.order
        return self.graph.leave(self.value_of(value), "array", order)

    def remade(self, view: Tensor, base: int, *, shared: bool = True) -> int:
        """The view made again of a host array; `shared` if equal ones may be one object."""
        view.unchecked = False
        if view.maybe is not None:
            view.maybe.made = True
        function, arguments, *rest = view.remake  # type: ignore[misc]
        names = rest[0] if rest else ()
        registers = [base, *map(self._argument_register, arguments)]
        if isinstance(function, str):
            key = ("operator", function, *registers) if shared else None
            return self.program.step("operator", function, *registers, key=key)
        key = ("remake", id(function), *registers, *names) if shared else None
        return self.program.step("call", self.program.constant(function), registers, names, key=key)

    def _argument_register(self, argument: Abstract) -> int:
        """Of an index that is the same on every call, one object."""
        if isinstance(argument, Sequence):
            parts = [resolve(part) for part in argument.elements]
            if all(isinstance(p, Literal) and type(p.object) in INDICES for p in parts):
                index = tuple(p.object for p in parts)
                return self.program.step("constant", index, key=("index", index))
        return self.program.register_of(argument)

    def object_register(self, value: Tensor) -> int:
        """The array object itself, in its final state: for results and stores."""
        if value.leaving is not None:
            value.leaving()
            value.leaving = None
        if self.is_stale(value) or self.is_early(value):
            self.views.decide(value)
        if value.is_scalar and value.base is not None:  # NumPy took the view's one element
            value.memory, value.base = Storage(Content(self.value_of(value))), None
        storage = value.storage
        seen_in = storage.seen_in
        if seen_in is not None and (not seen_in.external or seen_in.written):
            raise refuse(reasons.VIEW_LEAVES_FUNCTION)
        if value.base is not None:
            if value.remake is None:
                raise refuse(reasons.VIEW_LEAVES_FUNCTION)
            if value.host < 0:
                base = self.object_register(value.base)
                value.host = self.remade(value, base, shared=False)
            return value.host
        if storage.external:
            return storage.register
        if storage.host < 0:
            if value.is_scalar:
                register = self.graph.leave(self.value_of(value), "numpy")
                if self.scalar_owner(register, storage) is not storage:  # to Python, two objects
                    kind = self.program.constant(np.dtype(value.dtype).type)
                    register = self.program.step("call", kind, [register], ())
                    self.scalar_owner(register, storage)
                storage.host = register
            else:
                storage.host = self._owned(value)
        if storage.locked:
            given = [storage.host, self.program.constant(False)]
            key = ("locked", storage.host)
            self.program.step(
                "call", self.program.constant(np.ndarray.setflags), given, ("write",), key=key
            )
        return storage.host

    def _owned(self, value: Tensor) -> int:
        """The array that a Storage of the path becomes: no other object may share its memory."""
        order = None if value.order == c_order(value.rank) else value.order
        content = self.value_of(value)
        root = self.graph.root(content)
        shared = (
            root in self.graph.taken or self.graph.is_home(root) or self.graph.is_computed(root)
        )
        if order is None and root == content and root in self.graph.unowned - self.graph.taken:
            shared = False
        if shared or (root != content and not self.graph.is_shapeable(root)):
            register = self.graph.leave(content, "array", order)
            # In its own order, which a view that the segment returns may not lie in.
            backwards = order == c_order(value.rank)[::-1]
            wanted = self.program.constant("C" if order is None else "F" if backwards else "K")
            return self.program.step(
                "call", self.program.constant(np.array), [register, wanted], ("order",)
            )
        self.graph.taken.add(root)
        return self.graph.leave(content, "array", order)

    # ---- contents

    def value_of(self, t: Tensor) -> int:
        """The graph value of the present content, axes in order of memory."""
        if self.is_stale(t):
            self.views.decide(t)
        if t.base is None:
            return self.updates.content(t.storage.content)
        if t.cached is None or t.cached[0] != t.storage.version:
            assert t.view is not None
            t.unchecked = False
            t.cached = (t.storage.version, t.view(self.value_of(t.base)))
        return t.cached[1]

    def is_stale(self, t: Tensor) -> bool:
        """Whether its memory was written since, and it is open whether it shares it."""
        return t.maybe is not None and t.maybe.born != t.storage.version

    def is_early(self, t: Tensor) -> bool:
        """Whether a copy by the host's call would be made before the caller's array is written."""
        return t.maybe is not None and t.storage.external and t.storage.written

    def assign(self, t: Tensor, value: int) -> None:
        """Replace the content of `t` (a graph value of its dtype, stored shape)."""
        self.heap.may_write(t)
        storage = t.storage
        if not storage.external:
            storage.content = Content(
                self.after_write(t, value, self.updates.content(storage.content))
            )
            storage.version += 1
            storage.host = -1
            return
        self.write_part(PartWrite(t, lambda: value))

    def require_writeable(self, t: Tensor) -> None:
        """Refuses what the program may not write, or what dvm cannot."""
        storage = t.storage
        if storage.locked:
            raise refuse(reasons.WRITE_INTO_ARRAY_READ_ONLY)
        if storage.frozen:
            raise refuse(reasons.WRITE_INTO_MEMORY_OPAQUE_CALL)
        each: Tensor | None = t
        while each is not None and each.base is not None:
            if each.write is None:
                raise refuse(reasons.WRITE_THROUGH_KIND_VIEW)
            each = each.base

    def write_part(self, write: PartWrite, change: Callable[[int], int] | None = None) -> None:
        """Note a write into an array of the caller.

        change: from the content before to that behind it, if that is not done by the graph.
        """
        t, storage = write.view, write.view.storage
        self.program.guard("guard_writeable", storage.register, True)
        before = storage.content
        if change is None:
            value = write.value
            change = lambda content: self.after_write(t, value(), content)  # noqa: E731
        write.content = storage.content = self.updates.after(before, change)
        storage.version += 1
        storage.writes.append(write)
        self.updates.part_writes.append(write)

    def after_write(self, t: Tensor, value: int, before: int) -> int:
        """The content of the memory that was `before`, once `t` was written."""
        if t.base is None:
            return value
        assert t.write is not None
        return self.after_write(t.base, t.write(self.part_of(t.base, before), value), before)

    def part_of(self, t: Tensor, content: int) -> int:
        """The value of a view of memory with that content."""
        if t.base is None:
            return content
        assert t.view is not None
        return t.view(self.part_of(t.base, content))

    # ---- writes that are repeated on the caller's array itself

    def is_part(self, write: PartWrite) -> bool:
        """Whether the host can make the view that was written, and it is a part of the array."""
        spine = write.content.spine
        if spine and not any(self.graph.ops[value][0] == "update" for value in spine):
            return False
        return write.view.base is not None and self.updates.is_remade(write.view)

    def place_of(self, t: Tensor, storage: Storage, views: set[int]) -> int:
        """The register of the view of the caller's array, which goes into `views`."""
        if t.base is None:
            return storage.register
        place = self.remade(t, self.place_of(t.base, storage, views))
        views.add(place)
        return place

    def source_of(self, write: PartWrite, touched: set[int]) -> int:
        """A register with what is written, which may have to be broadcast.

        touched: arrays of the caller's that were written before, as they were at entry.
        """
        value, t = write.value(), write.view
        op, inputs = self.graph.ops[value]
        literal = inputs[0] if op == "broadcast" else value
        if literal in self.graph.literals:
            return self.program.constant(self.graph.literals[literal])
        root = self.graph.root(value)
        if self.graph.is_home(root) and (root in touched or root not in self.graph.initials):
            value = self.graph.copy_value(value)  # as it was at entry
        return self.graph.leave(value, "array", None if t.order == c_order(t.rank) else t.order)

    def view_of(
        self,
        base: Tensor,
        shape: SequenceOf[_dvm.Dim],
        order: Order,
        view: Callable[[int], int],
        write: Callable[[int, int], int] | None,
        remake: tuple[Any, ...] | None,
        *,
        contiguous: bool = True,
        loose: bool = False,
        may_fail: bool = False,
    ) -> Tensor:
        """A view of `base`.

        loose: axes may have stride 0 or overlap.
        may_fail: for some sizes NumPy raises, which counts even if nothing reads the view.
        """
        base.storage.viewed = True
        made = Tensor(
            base.storage,
            base.dtype,
            list(shape),
            order,
            base=base,
            view=view,
            write=write,
            remake=remake,
            contiguous=contiguous and base.contiguous,
            loose=loose or base.loose,
        )
        if may_fail:
            self.value_of(made)
        return made

    # ---- arrangement

    def arranged(self, t: Tensor, order: Order) -> int:
        """The content with the axes in the given order of memory.

        For broadcasting to a result of rank len(order): missing leading axes stay missing, others
        become size 1.
        """
        value = self.value_of(t)
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

    def result_order(self, operands: SequenceOf[Tensor], rank: int) -> Order:
        """The memory order NumPy gives to an elementwise result (K order).

        An axis along which an operand does not move (one element, stride 0) says nothing of its
        place there, so that the path is for calls in which the same operands speak of each axis.
        Where all have one shape, an axis of one element is one of the result's, too, and makes no
        difference to the others: two of them, or in an order that all agree on.
        """
        speaking = [t for t in operands if t.rank > 1]
        orders = [self.order_in_memory(t) for t in speaking] if rank > 1 else []
        if all(own == c_order(t.rank) for t, own in zip(speaking, orders, strict=False)):
            return c_order(rank)
        shape = self.common_shape(operands)
        first = speaking[0]
        alike = all(same_shape(t.shape, first.shape) for t in speaking)
        alike = alike and (rank == 2 or all(own == orders[0] for own in orders))
        sizes = np.arange(rank) + 2
        arrays = [np.broadcast_to(np.uint8(0), sizes)]
        for t, order in zip(speaking, orders, strict=True):
            still = self.repeated_axes(t)
            own = sizes[rank - t.rank :].copy()
            for axis, dim in enumerate(t.shape):
                settled = alike and dim == shape[axis + rank - t.rank]
                one = self.is_one_at_most(dim) or not (settled or self.is_not_one(dim))
                if one or still >> axis & 1:
                    own[axis] = 1
            stored = np.zeros([own[axis] for axis in order], np.uint8)
            arrays.append(stored.transpose([order.index(a) for a in range(t.rank)]))
        flags: Any = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
        iterator = np.nditer([*arrays, None], ["zerosize_ok"], flags, order="K")
        strides = iterator.operands[-1].strides
        return tuple(sorted(range(rank), key=lambda axis: -strides[axis]))

    def order_in_memory(self, t: Tensor) -> Order:
        """The order in which NumPy takes the axes; in which the graph has them is `t.order`."""
        return tuple(_dvm.layout(self._telling(t))[1]) if t.loose else t.order

    def repeated_axes(self, t: Tensor) -> int:
        """The axes of more than one element that have stride 0, as bits; the path is for these."""
        return int(_dvm.repeated_axes(self._telling(t))) if t.loose else 0

    def _telling(self, t: Tensor) -> Any:
        """The recorded array, whose order and repeated axes the path then is for."""
        t = t.cast_of or t
        if t.object is None:
            raise refuse(reasons.MEMORY_ORDER_BROADCAST_VIEW_NOT)
        if t.base is not None:  # they depend on sizes
            register = self.views.layout_register(t)
            self.program.guard("guard_signature", register, t.object, key=(register,))
        return t.object

    def in_order(self, t: Tensor) -> Tensor:
        """The same in the order in which NumPy takes the axes, for results that have it, too."""
        order = self.order_in_memory(t)
        if order == t.order:
            return t
        return fresh(self.arranged(t, order), t.dtype, t.shape, order)

    def exceeds_one(self, dim: _dvm.Dim) -> bool:
        """Whether the size is above 1, which the path then is for."""
        return self._asked(dim, ">")

    def is_not_one(self, dim: _dvm.Dim) -> bool:
        """Whether the size is not 1, which the path then is for: no elements have an order, too."""
        return self._asked(dim, "!=")

    def _asked(self, dim: _dvm.Dim, comparison: str) -> bool:
        compare = {">": operator.gt, "!=": operator.ne}[comparison]
        if dim.constant is not None:
            return bool(compare(dim.constant, 1))
        holds = bool(compare(self.indexing.observed(dim), 1))
        test = self.program.operate(
            comparison, self.program.register_of_dim(dim), self.program.constant(1)
        )
        self.program.guard("guard_truth", test, holds)
        return holds

    # ---- operands

    def operand(self, operand: Abstract, dtype: str) -> Tensor:
        """`operand` as a tensor of `dtype`."""
        if dtype not in DTYPES:
            raise refuse(reasons.ARITHMETIC_OF_DTYPE, dtype)
        operand = resolve(operand)
        if isinstance(operand, Tensor):
            return self.cast(operand, dtype)
        if isinstance(operand, Size):
            if np.dtype(dtype).kind in "iu" and dtype != "int64":
                number = Host(
                    self.program.register_of_dim(operand.dim), self.indexing.observed(operand.dim)
                )
                self.require_range(number, np.iinfo(dtype))
            return fresh(self.graph.dim_value(dtype, operand.dim), dtype, [])
        if isinstance(operand, Host) and type(operand.object) in PYTHON_NUMBERS:
            return self._number(operand, dtype)
        if isinstance(operand, Literal) and not issubclass(type(operand.object), np.ndarray):
            return fresh(self._constant(operand.object, dtype), dtype, [])
        raise refuse(reasons.ARITHMETIC_WITH, describe(operand))

    def _number(self, number: Host, dtype: str) -> Tensor:
        kind = type(number.object)
        if kind is bool:
            own = "bool"
        elif kind is float:
            own = "float64"
        else:
            own = "int64"
            if np.dtype(dtype).kind in "iu" and dtype != "int64":
                self.require_range(number, np.iinfo(dtype))
        value = self.graph.scalar_value(own, number.register)
        if own == "int64" and dtype in ("float16", "float32"):
            value = self.graph.cast_value(value, "float64")  # as NumPy converts a Python int
        return fresh(self.graph.cast_value(value, dtype), dtype, [])

    def require_range(self, number: Host, limits: Any) -> None:
        """NumPy checks a Python int against the range of a narrower loop, and raises."""
        below, above = number.object <= limits.max, number.object >= limits.min
        for name, limit, holds in (("<=", int(limits.max), below), (">=", int(limits.min), above)):
            if abs(limit) < 2**63:
                test = self.program.operate(name, number.register, self.program.constant(limit))
                self.program.guard("guard_truth", test, bool(holds))
        if not (below and above):
            raise refuse(reasons.NUMBER_ARITHMETIC, number.object, limits.dtype)

    def _constant(self, value: Any, dtype: str) -> int:
        if type(value) is int:
            kind = np.dtype(dtype)
            fits = (
                np.iinfo(kind).min <= value <= np.iinfo(kind).max
                if kind.kind in "iu"
                else abs(value) < 2**63
            )
            if not fits:
                raise refuse(reasons.NUMBER, value, dtype)
        return self.graph.constant_value(dtype, value)

    def kind(self, operand: Abstract) -> Any:
        """What NumPy's promotion sees: a dtype, or a Python number type (weak)."""
        operand = resolve(operand)
        if isinstance(operand, Tensor):
            return np.dtype(operand.dtype)
        if isinstance(operand, Size):
            return int
        if isinstance(operand, (Literal, Host)):
            if isinstance(operand.object, np.generic):
                return operand.object.dtype
            # bool is a strong dtype to NEP 50, int and float are weak.
            if isinstance(operand.object, bool):
                return np.dtype(bool)
            if type(operand.object) in PYTHON_NUMBERS:
                return type(operand.object)
        raise refuse(reasons.OPERAND, describe(operand))

    # ---- elementwise

    def cast(self, t: Tensor, dtype: str) -> Tensor:
        if t.dtype == dtype:
            return t
        value = self.graph.cast_value(self.value_of(t), dtype)
        made = fresh(value, dtype, t.shape, t.order, is_scalar=t.is_scalar)
        if t.loose:
            made.loose, made.cast_of = True, t.cast_of or t
        return made

    def common_shape(self, operands: SequenceOf[Tensor]) -> list[_dvm.Dim]:
        return self.broadcast_shape([t.shape for t in operands])

    def broadcast_shape(self, shapes: SequenceOf[SequenceOf[_dvm.Dim]]) -> list[_dvm.Dim]:
        """What shapes broadcast to, aligned at their last axes."""
        rank = max(map(len, shapes))
        result = []
        for axis in range(-rank, 0):
            first, *others = [shape[axis] for shape in shapes if len(shape) >= -axis]
            for dim in others:
                first = self.broadcast_dim(first, dim)
            result.append(first)
        return result

    def broadcast_dim(self, a: _dvm.Dim, b: _dvm.Dim) -> _dvm.Dim:
        """bcast(a, b), in which each size occurs once however often it was met."""
        parts = [self.graph.broadcast_of.get(dim, frozenset([dim])) for dim in (a, b)]
        if parts[1] <= parts[0]:
            return a
        if parts[0] <= parts[1]:
            return b
        if (
            self.is_derived(a)
            and self.is_derived(b)
            and self.indexing.observed(a) == self.indexing.observed(b)
        ):
            # Halves, rests and clipped ranges that meet are equal by the program's design. Their
            # bcast() would grow with every step of it.
            self.require_equal(a, b)
            return a
        products = [dim for dim in (a, b) if dim in self.graph.product_sizes]
        if products and self.indexing.observed(a) == self.indexing.observed(b) != 1:
            # A bias has the size of the columns it is added to, so that their kernel may add it.
            self.require_equal(a, b)
            return products[0]
        result = a.bcast(b)
        self.graph.broadcast_of[result] = parts[0] | parts[1]
        return result

    @staticmethod
    def is_one_at_most(dim: _dvm.Dim) -> bool:
        """Whether the size is 1, or 0 (and then there is nothing to lie in any order): `x[:1]`."""
        if dim.function is None:
            return dim.constant == 1
        name, _, limit = dim.function
        return name == "min" and limit.constant == 1

    @staticmethod
    def is_derived(dim: _dvm.Dim) -> bool:
        """Whether the size is more than a polynomial of sizes: a quotient, a rest, a maximum."""
        return not dim.is_polynomial

    def require_equal(self, a: _dvm.Dim, b: _dvm.Dim) -> None:
        """The path is for calls in which these sizes are equal."""
        self.program.require_all_equal([a], [b])

    def elementwise(
        self, op: str, operands: SequenceOf[Tensor], dtype: str, order: Order | None = None
    ) -> Tensor:
        shape = self.common_shape(operands)
        order = self.result_order(operands, len(shape)) if order is None else order
        stored = [shape[axis] for axis in order]
        values = [self.graph.broadcast_value(self.arranged(t, order), stored) for t in operands]
        value = self.graph.elementwise_value(op, values)
        return fresh(value, dtype, shape, order, is_scalar=not shape)

    def loop_of(self, function: np.ufunc, operands: SequenceOf[Abstract], **kwargs: Any) -> Any:
        """The dtypes of the ufunc's inner loop for these operands."""
        kinds = tuple(self.kind(a) for a in operands) + (None,) * function.nout
        try:
            dtypes = function.resolve_dtypes(kinds, **kwargs)
        except TypeError as mismatch:
            raise refuse(reasons.UFUNC_ARGUMENTS, function.__name__, mismatch) from None
        for dtype in dtypes:
            if not is_supported(dtype):
                raise refuse(reasons.DTYPE, dtype.name)
        return [NAMES[dtype] for dtype in dtypes]

    def ufunc(
        self,
        function: np.ufunc,
        operands: SequenceOf[Abstract],
        order: Order | None = None,
        **kwargs: Any,
    ) -> Tensor:
        """`function(*operands)`, at least one of them an array.

        order: in which the result is wanted, where NumPy's is not what it will have.
        """
        if function is np.matmul or function in VECTORS:
            return self.products.matrix_product(function, operands, **kwargs)
        if function is np.square:
            loop = self.loop_of(function, operands, **kwargs)
            x = self.operand(operands[0], loop[0])
            return self.elementwise("mul", [x, x], loop[-1], order)
        op = UFUNCS.get(function)
        if op is None or len(operands) != function.nin:
            raise refuse(reasons.UFUNC, function.__name__)
        loop = self.loop_of(function, operands, **kwargs)
        if op == "power" and (factors := self.factors_of_power(operands, loop[0])):
            return self.elementwise("mul", factors, loop[-1], order)
        typed = [self.operand(a, dtype) for a, dtype in zip(operands, loop, strict=False)]
        if op in ("maximum", "minimum"):
            return self.extreme(op, typed, loop[-1], order)
        if function is np.ldexp:
            typed[1] = self.exponent(typed[1], loop[0])
        if function is np.bitwise_count:
            return self.cast(self.elementwise(op, typed, loop[0], order), loop[-1])
        return self.elementwise(op, typed, loop[-1], order)

    def factors_of_power(self, operands: SequenceOf[Abstract], dtype: str) -> list[Tensor]:
        """Two factors of a float to a small literal power; none where that is no product.

        NumPy's own loop computes squares so; a cube has at most 1.3 ulp, and no flags of its own.
        """
        power = resolve(operands[1])
        if dtype not in ("float32", "float64") or not isinstance(power, Literal):
            return []
        if type(power.object) not in (int, float) or power.object not in (2, 3):
            return []
        x = self.operand(operands[0], dtype)
        return [x if power.object == 2 else self.elementwise("mul", [x, x], dtype), x]

    def exponent(self, power: Tensor, dtype: str) -> Tensor:
        """An exponent of two as a float: of halves within what any can have, else it may round."""
        if dtype != "float16":
            return self.cast(power, dtype)
        for op, limit in (("maximum", -10_000), ("minimum", 10_000)):
            bound = self.operand(Literal(limit), power.dtype)
            power = self.elementwise(op, [power, bound], power.dtype, power.order)
        return self.cast(power, dtype)

    def extreme(
        self, op: str, pair: SequenceOf[Tensor], dtype: str, order: Order | None = None
    ) -> Tensor:
        """Maximum or minimum: of two zeros the second, of halves the first, as NumPy's loops."""
        if order is None:
            order = self.result_order(pair, max(t.rank for t in pair))
        return self.elementwise(op, pair[::-1] if dtype == "float16" else pair, dtype, order)

    def broadcast(self, t: Tensor, shape: SequenceOf[_dvm.Dim]) -> Tensor:
        """The content repeated to `shape`, in C order, as new memory."""
        value = self.graph.broadcast_value(self.arranged(t, c_order(len(shape))), shape)
        return fresh(value, t.dtype, shape)

    def copy(self, t: Tensor, order: Order | None = None) -> Tensor:
        """New memory with the same elements (K order by default)."""
        order = self.copied_order(t) if order is None else order
        return fresh(self.graph.copy_value(self.arranged(t, order)), t.dtype, t.shape, order)

    def copied_order(self, t: Tensor) -> Order:
        """The memory order of a copy in K order: axes that repeat their memory come innermost.

        Elementwise results have them where `t` has them (`result_order`).
        """
        repeated = self.repeated_axes(t)
        return tuple(sorted(self.order_in_memory(t), key=lambda axis: repeated >> axis & 1))

    def write(self, t: Tensor, value: Tensor) -> None:
        """`t[...] = value`: cast (unsafe, as assignment does) and broadcast."""
        self.heap.may_write(t)
        if self._is_copy(t, value):
            if self._holds_it(t, value):
                return
            before = value.storage.content
            self.write_part(PartWrite(t, lambda: self._part_copied(value, before, t), value))
            return
        self.assign(t, self.fitted(self.cast(value, t.dtype), t))

    def _is_copy(self, t: Tensor, value: Tensor) -> bool:
        """Whether what is written is an array of the caller's, or a part of one, as it is then."""
        own = t.storage.external and value.storage.external and value.dtype == t.dtype
        if not own or value.is_scalar or value.rank > t.rank or not self.updates.is_remade(value):
            return False
        sizes = zip(reversed(value.shape), reversed(t.shape), strict=False)
        return all(size.constant == 1 or size == wanted for size, wanted in sizes)

    def _holds_it(self, t: Tensor, value: Tensor) -> bool:
        """Whether it is what was just written there: `x[i] += 1` stores the view once more."""
        writes = t.storage.writes
        if value.storage is not t.storage or not writes or writes[-1].view is not value:
            return False
        if any(write.key >= 0 for write in writes):
            return False
        return self.value_of(t) == self.fitted(value, t)

    def _part_copied(self, source: Tensor, before: Content, t: Tensor) -> int:
        """The content that `source` had before, as that of `t`."""
        value = self.part_of(source, self.updates.content(before))
        return self.fitted(fresh(value, source.dtype, source.shape, source.order), t)

    def fitted(self, source: Tensor, t: Tensor) -> int:
        """What is written, in the shape and the order of memory of `t`."""
        stored = self.stored_shape(t)
        if source.rank > t.rank:
            extra = source.rank - t.rank
            if any(dim.constant != 1 for dim in source.shape[:extra]):
                raise refuse(reasons.VALUE_HIGHER_RANK_WRITTEN_INTO)
            kept = source.shape[extra:]
            flat = self.views.reshape_value(self.in_c_order(source), kept)
            source = fresh(flat, source.dtype, kept)
        content = self._sized(self.arranged(source, t.order), stored)
        return self.graph.broadcast_value(content, stored)

    def _sized(self, value: int, stored: SequenceOf[_dvm.Dim]) -> int:
        """A value of which sizes are known that are open in `stored`: equal, or NumPy raises."""
        own = self.graph.shape(value)
        wanted = [
            size if size.constant in (None, 1) or target.constant is not None else target
            for size, target in zip(own, stored[len(stored) - len(own) :], strict=True)
        ]
        if same_shape(own, wanted):
            return value
        self.program.require_all_equal(own, wanted)
        return self.views.reshape_value(value, wanted)

    # ---- reductions

    def reduce(self, op: str, t: Tensor, axes: SequenceOf[int], keepdims: bool) -> Tensor:
        """Reduces `axes` (normalised, ascending)."""
        if not axes:
            if op == "sum" and t.dtype.startswith("float"):  # which begins with 0: never -0
                zero = self.operand(Literal(0.0), t.dtype)
                return self.elementwise("add", [t, zero], t.dtype, self.copied_order(t))
            return self.copy(t)
        value = self.value_of(t)
        self.require_order(t, axes)
        places = sorted(t.order.index(axis) for axis in axes)
        for run in reversed(adjacent_runs(places)):
            value = self.graph.reduce_value(op, value, run)
        return self.without_axes(value, t, axes, keepdims)

    def require_order(self, t: Tensor, axes: SequenceOf[int]) -> None:
        """The path is for calls in which the order of `t` is that of its sums over the axes.

        Of an array that NumPy made without elements, some axes may have stride 0 and so no order.
        """
        kept = [axis for axis in t.order if axis not in axes]
        if kept == sorted(kept):
            return
        size = self.graph.product(t.shape[axis] for axis in axes)
        if size.constant is None or size.constant == 0:
            some = self.program.operate(
                "!=", self.program.register_of_dim(size), self.program.constant(0)
            )
            self.program.guard("guard_truth", some, bool(self.indexing.observed(size)))
            if not self.indexing.observed(size):
                raise refuse(reasons.RESULT_ANOTHER_MEMORY_ORDER_EXPECTED)

    def without_axes(self, value: int, t: Tensor, axes: SequenceOf[int], keepdims: bool) -> Tensor:
        """The value of a reduction of `t`, in which the axes have size 1, with or without these."""
        shape = list(t.shape)
        for axis in axes:
            shape[axis] = self.graph.size(1)
        if keepdims:
            return fresh(value, t.dtype, shape, t.order)
        kept = [axis for axis in range(t.rank) if axis not in axes]
        order = tuple(kept.index(axis) for axis in t.order if axis not in axes)
        stored = [t.shape[axis] for axis in t.order if axis not in axes]
        value = self.views.reshape_value(value, stored)
        dims = [t.shape[axis] for axis in kept]
        return fresh(value, t.dtype, dims, order, is_scalar=not dims)


def adjacent_runs(axes: SequenceOf[int]) -> list[list[int]]:
    """[0, 1, 3] -> [[0, 1], [3]]."""
    runs: list[list[int]] = []
    for axis in axes:
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs


__all__ = ["Arrays", "Order", "c_order", "is_supported", "same_shape"]
