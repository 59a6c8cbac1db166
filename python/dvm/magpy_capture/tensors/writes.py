"""What the program writes into tensors: their content anew, or parts of the caller's arrays."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.path.graphs import same_shape
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import c_order, fresh
from dvm.magpy_capture.tensors.layer import TensorPart
from dvm.magpy_capture.tensors.written_parts import PartWrite
from dvm.magpy_capture.values import Content, Storage, Tensor

#: So many parts of an array of the caller's are written one by one whatever its size; any number
#: where there are so many bytes for each (in the recorded call), which take as long to copy.
MOST_PARTS = 64
BYTES_OF_PART = 1 << 12


class Writes(TensorPart):
    """Writes into tensors, and into parts of the caller's arrays."""

    needs = "arrays elementwise graph layouts memory program rules updates views"

    def assign(self, t: Tensor, value: int) -> None:
        """Replace the content of `t` (a graph value of its dtype, stored shape)."""
        self.memory.may_write(t)
        storage = t.storage
        if not storage.external:
            storage.content = Content(self.after_write(t, value, storage.content.read()))
            storage.version += 1
            storage.uncounted += t.told
            storage.host = -1
            return
        self.write_part(PartWrite(t, lambda: value))

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
        storage.uncounted += t.told
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
        place = self.arrays.remade(t, self.place_of(t.base, storage, views))
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
        if self.graph.is_anothers(value) and (root in touched or root not in self.graph.initials):
            value = self.graph.copy_value(value)  # as it was at entry
        return self.graph.leave(value, "array", None if t.order == c_order(t.rank) else t.order)

    def part_effect(
        self, write: PartWrite, late: set[int], touched: set[int], views: set[int]
    ) -> tuple[Any, ...]:
        """The step that repeats a write on the array itself.

        late: arrays that lack what was written so far. touched: contents at entry that the steps so
        far have changed. views: gets those that it writes through.
        """
        self.updates.forgo(write.content)
        write.view.storage.uncounted -= write.view.told
        place = self.place_of(write.view, write.view.storage, views)
        original = write.original
        if write.key >= 0:
            return ("set_item", place, write.key, write.source)
        if original is not None and id(original.storage) not in late:
            return ("copyto", place, self.place_of(original, original.storage, views))
        return ("copyto", place, self.source_of(write, touched))

    def leaves_in_parts(self, storage: Storage) -> bool:
        """Whether each write is made on the array itself, and not all of it copied there and back.

        Many parts of a small array cost more than that.
        """
        writes = storage.writes
        if storage.in_copy:
            return False
        if len(writes) > MOST_PARTS and storage.object.nbytes < len(writes) * BYTES_OF_PART:
            return False
        return all(write.key >= 0 or self.is_part(write) for write in writes)

    def write(self, t: Tensor, value: Tensor, *, counted: bool = True) -> None:
        """`t[...] = value`: cast (unsafe, as assignment does) and broadcast.

        counted: whether the library counts it as one of the writes into the array.
        """
        if not counted:
            t.storage.uncounted -= t.told
        self.memory.may_write(t)
        self.rules.check_overlap(t, value)
        if self._is_copy(t, value):
            if self._holds_it(t, value):
                self.count(t)
                return
            before = value.storage.content
            self.write_part(PartWrite(t, lambda: self._part_copied(value, before, t), value))
            return
        self.assign(t, self.fitted(self.elementwise.cast(value, t.dtype), t))

    def count(self, t: Tensor) -> None:
        """Note a write that changes nothing."""
        self.memory.may_write(t)
        if t.storage.external:
            self.program.guard("guard_writeable", t.storage.register, True)
        t.storage.version += 1
        t.storage.uncounted += t.told

    def _is_copy(self, t: Tensor, value: Tensor) -> bool:
        """Whether what is written is an array of the caller's, or a part of one, as it is then."""
        own = t.storage.external and value.storage.external and value.dtype == t.dtype
        if not own or value.is_scalar or value.rank > t.rank or not self.updates.is_remade(value):
            return False
        sizes = zip(reversed(value.shape), reversed(t.shape), strict=False)
        return all(size.constant == 1 or size == wanted for size, wanted in sizes)

    def _holds_it(self, t: Tensor, value: Tensor) -> bool:
        """Whether it is what is there already: `x[i] += 1` stores the view that it wrote."""
        storage = t.storage
        if value.storage is not storage or any(write.key >= 0 for write in storage.writes):
            return False
        return self.arrays.value_of(t) == self.fitted(value, t)

    def _part_copied(self, source: Tensor, before: Content, t: Tensor) -> int:
        """The content that `source` had before, as that of `t`."""
        value = self.part_of(source, before.read())
        own = source.library
        return self.fitted(fresh(value, source.dtype, source.shape, source.order, library=own), t)

    def fitted(self, source: Tensor, t: Tensor) -> int:
        """What is written, in the shape and the order of memory of `t`."""
        stored = self.arrays.stored_shape(t)
        if source.rank > t.rank:
            extra = source.rank - t.rank
            if any(dim.constant != 1 for dim in source.shape[:extra]):
                raise refuse(reasons.VALUE_HIGHER_RANK_WRITTEN_INTO)
            kept = source.shape[extra:]
            flat = self.views.reshape_value(self.layouts.in_c_order(source), kept)
            source = fresh(flat, source.dtype, kept, library=source.library)
        content = self._sized(self.layouts.arranged(source, t.order), stored)
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


__all__ = ["Writes"]
