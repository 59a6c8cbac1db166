"""Tensors of the program: from and to objects of the host, their contents, views of them.

Every result is compared with the array that the recorded execution really produced
(`Lowering.check`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Sequence as SequenceOf
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.libraries import library_of
from dvm.magpy_capture.library import Array
from dvm.magpy_capture.path.materialiser import Materialiser
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.tensors.layer import TensorPart
from dvm.magpy_capture.values import Abstract, Content, Literal, Sequence, Storage, Tensor, resolve

INDICES = (int, type(None), type(Ellipsis))


class Arrays(TensorPart, Materialiser):
    """Builds tensors with NumPy's rules."""

    needs = "graph program rules"

    def __init__(self) -> None:
        self.external_arrays: list[Tensor] = []  # of the caller, that the program has met
        self.to_write: dict[int, Storage] = {}  # those that it writes, or is about to, by identity

    @property
    def written(self) -> Iterator[Storage]:
        """The memory of the caller's arrays that the program has written."""
        return (storage for storage in self.to_write.values() if storage.written)

    def has_written_arrays(self) -> bool:
        return any(self.written)

    # ---- from and to the host

    def tensor_of_array(
        self,
        register: int,
        array: Array,
        *,
        external: bool,
        order: SequenceOf[int] | None = None,
        sizes: SequenceOf[_dvm.Dim] | None = None,
    ) -> Tensor:
        """The array in a register; `external` if the caller can see it.

        order: in which it is known to lie densely, where its sizes might not show it.
        sizes: of its axes, where they are known.
        """
        layout, library = "c_contiguous", library_of(array)
        if order is None:
            layout, order = library.layout(array)
        value = self.graph.input_value(register, array, order, sizes)
        storage = Storage(Content(value), library, object=array)
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
            library.dtype_of(array),
            shape,
            tuple(order),
            contiguous=dense,
            loose=library.repeated_axes(array) != 0 or library.overlaps_itself(array),
            object=array,
            strides=self.rules.strides_of(register, array, tuple(order), shape),
        )

    def tensor_of_scalar(self, register: int, scalar: Any) -> Tensor:
        library = library_of(scalar)
        converter = self.program.constant(library.as_array)
        array = self.program.step("call", converter, [register], ())
        value = self.graph.input_value(array, library.as_array(scalar), ())
        self.graph.scalar_of_array[array] = register
        dtype = library.dtype_of(scalar)
        storage = Storage(Content(value), library, host=register)
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
        if value.storage.wants_gradient and (value.base is not None or self.rules.keeps_gradients):
            raise refuse(reasons.GRADIENTS)  # the host would keep one for what it makes
        if value.is_scalar:
            register = self.graph.leave(self.value_of(value), "numpy")
            self.scalar_owner(register, value.storage)
            return register
        if value.maybe is not None and self.is_stale(value):
            value.maybe.decide()
        if value.base is None and value.storage.locked:
            return self.object_register(value)
        if value.base is not None and value.remake is not None:
            return self.remade(value, self.tensor_register(value.base))
        storage = value.storage
        if storage.external and not storage.written:
            return storage.register
        return self.rules.laid(value, self.graph.leave(*self._leaving(value)))

    def _leaving(self, value: Tensor) -> tuple[int, str, Order | None]:
        """New memory as it is handed out: the content, and the order of its axes."""
        order, content = self.rules.leaving_order(value), self.value_of(value)
        if order != value.order:  # axes of one element are elsewhere
            content = self.graph.reshaped_node(content, [value.shape[axis] for axis in order])
        return content, "array", None if order == c_order(value.rank) else order

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
        if value.maybe is not None and (self.is_stale(value) or self.is_early(value)):
            value.maybe.decide()
        if value.is_scalar and value.base is not None:  # NumPy took the view's one element
            own = Storage(Content(self.value_of(value)), value.library)
            value.memory, value.base = own, None
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
                    kind = self.program.constant(value.library.scalar_type(value.dtype))
                    register = self.program.step("call", kind, [register], ())
                    self.scalar_owner(register, storage)
                storage.host = register
            else:
                storage.host = self._owned(value)
        self.number_writes(storage, storage.host, storage.uncounted, *storage.counted_by)
        if storage.locked:
            given = [storage.host, self.program.constant(False)]
            key = ("locked", storage.host)
            self.program.step(
                "call",
                self.program.constant(value.library.set_writeable),
                given,
                ("write",),
                key=key,
            )
        return storage.host

    def number_writes(self, storage: Storage, made: int, times: int, *others: int) -> None:
        """New memory of what the program wrote has counted so many, in whatever way it was made.

        others: registers of arrays that have counted more of them.
        """
        number_writes = storage.library.number_writes
        if number_writes is not None and (storage.uncounted or storage.counted_by):
            given = [made, self.program.constant(times), *others]
            callee = self.program.constant(number_writes)
            self.program.step("call", callee, given, (), key=("counted", *given))

    def _owned(self, value: Tensor) -> int:
        """The array that a Storage of the path becomes: no other object may share its memory."""
        content, _, order = self._leaving(value)
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
            made = self.program.step(
                "call", self.program.constant(value.library.copy), [register, wanted], ("order",)
            )
        else:
            self.graph.taken.add(root)
            made = self.graph.leave(content, "array", order)
        return self.rules.laid(value, made)

    def layout_register(self, t: Tensor) -> int:
        """A host array with the strides that the program's own one has."""
        if t.base is not None:
            return self.remade(t, self.layout_register(t.base))
        if t.storage.external:
            return t.storage.register
        return self.tensor_register(t)

    # ---- contents

    def value_of(self, t: Tensor) -> int:
        """The graph value of the present content, axes in order of memory."""
        if t.wants_gradient and self.rules.keeps_gradients:
            raise refuse(reasons.GRADIENTS)
        if t.maybe is not None and self.is_stale(t):
            t.maybe.decide()
        if t.base is None:
            return t.storage.content.read()
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

    # ---- views

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
            wants_gradient=base.wants_gradient and self.rules.keeps_gradients,
            strides=base.strides.seen_through(turned=loose or order != c_order(len(order))),
            told=base.told,
        )
        if may_fail:
            self.value_of(made)
        return made


__all__ = ["Arrays"]
