"""Memory that arrays of the caller share, where the program writes into it.

A path is for calls whose arrays share memory as those of the recorded call did. Two views of one
array that the graph can hold become views of that one.
"""

from __future__ import annotations

from typing import Any

from dvm import reasons
from dvm.magpy_capture.library import Array
from dvm.magpy_capture.part import Part
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import (
    Host,
    Literal,
    Storage,
    Tensor,
)


class SharedMemory(Part):
    """The arrays of the caller that the program has met, and which of them share memory."""

    needs = "array_classes arrays heap host_arrays indexing library program shapes views writes"

    def __init__(self, joint: set[int]) -> None:
        self.external_arrays: list[Tensor] = []
        self.opaque_arrays: list[tuple[int, Array]] = []  # as host objects alone
        self.private_arrays: list[Host] = []  # of the caller, written on the host
        self.joint = joint  # ids of arrays that are views of another
        self.wanted_joint: set[int] = set()
        self.wanted_told: set[int] = set()  # loops of which it matters which arrays came out
        self._joint_registers: list[int] = []

    def has_written_arrays(self) -> bool:
        return any(tensor.storage.written for tensor in self.external_arrays)

    def has_written(self) -> bool:
        """The same of all arrays of the caller, those too that the graph cannot hold."""
        return bool(self.private_arrays) or self.has_written_arrays()

    def meet(self, tensor: Tensor) -> None:
        """A new array of the caller: it must not share memory with one written before."""
        for other in self.external_arrays:
            if other.storage.written:
                self._part_from(other.storage, tensor.storage)
        for private in self.private_arrays:
            self.apart(private.home, private.object, tensor.storage.register, tensor.object)
        self.external_arrays.append(tensor)

    def refuse_overlapping_itself(self, array: Array) -> None:
        """What such a write leaves follows from NumPy's order, which copies do not have."""
        if self.library.repeated_axes(array) or self.library.overlaps_itself(array):
            raise refuse(reasons.WRITE_INTO_ARRAY_OVERLAPPING_ITSELF)

    def may_be_one(self, one: Tensor, others: list[Tensor], loop: int) -> None:
        """What came out of a loop may lie where one of the others does, which no guard asks.

        Nobody can tell, as long as none of them is written.
        """
        self.external_arrays.append(one)
        for each in (one, *others):
            each.storage.open_behind = loop

    def may_write(self, t: Tensor) -> None:
        if t.storage.open_behind >= 0:
            self.wanted_told.add(t.storage.open_behind)
            raise refuse(reasons.LOOP_VIEW, "behind it")
        self.views.decide_all(t)
        if t.storage.root is not None:
            self.host_arrays.keep_on_host(t.storage.root)
            if self.library.is_compound(t.storage.root):
                raise refuse(reasons.WRITE_INTO_ARRAY_MASKED)
        first = not t.storage.written and t.storage.external
        if first:
            self.refuse_overlapping_itself(t.storage.object)
            for other in self.external_arrays:
                if other.storage is not t.storage:
                    self._part_from(t.storage, other.storage)
            for register, array in self.opaque_arrays:
                self.apart(t.storage.register, t.storage.object, register, array)
        self.writes.require_writeable(t)

    def _part_from(self, a: Storage, b: Storage) -> None:
        self.apart(a.register, a.object, b.register, b.object)

    def meet_opaque(self, register: int, array: Array) -> None:
        """The same for an array that the graph cannot hold."""
        for other in self.external_arrays:
            if other.storage.written:
                self.apart(other.storage.register, other.storage.object, register, array)
        for private in self.private_arrays:
            self.apart(private.home, private.object, register, array)
        self.opaque_arrays.append((register, array))

    def _can_join(self, *arrays: Any) -> bool:
        """Whether all are views of one array that the graph can hold."""
        if not all(self.library.fits_graph(array) for array in arrays):
            return False
        owners = [self.library.owner_of(array) for array in arrays]
        if any(owner is None or owner is not owners[0] for owner in owners):
            return False
        return all(array.base is None or self.library.place_of(array) for array in arrays)

    def joined(self, register: int, seen: Array) -> Tensor:
        """An array of the caller as a view of the one whose memory it is, for others are too."""
        placed = None if seen.base is None else self.library.place_of(seen)
        if placed is None:  # it is the owner, or was never asked for
            tensor = self.arrays.tensor_of_array(register, seen, external=True)
            self.meet(tensor)
            return tensor
        key = ("getattr", register, "base")
        owner = self.heap.reach(
            lambda: self.program.step("getattr", register, "base", key=key), seen.base
        )
        shape, part = placed
        home = owner.storage.register
        tensor, made = owner, home
        if shape is not None:
            tensor = self.shapes.reshape(owner, Literal(shape))
            given = [home, self.program.constant(shape)]
            made = self.program.step("call", self.program.constant(self.library.reshape), given, ())
        tensor = self.indexing.index(tensor, Literal(part))
        made = self.program.step("operator", "getitem", made, self.program.constant(part))
        self.program.guard("guard_view", register, made)
        self.program.guard("guard_writeable", register, bool(seen.flags.writeable))
        for other in self._joint_registers:
            self.program.guard("guard_same", register, other, False)
        self._joint_registers.append(register)
        tensor.host, tensor.object, tensor.writeable = register, seen, seen.flags.writeable
        return tensor

    def apart(self, one: int, a: Any, two: int, b: Any) -> None:
        meet = False
        for first, x in self.array_classes.memory_registers(one, a):
            for second, y in self.array_classes.memory_registers(two, b):
                if not self.library.may_share(x, y):
                    self.program.guard("guard_overlap", first, second, False, key=(first, second))
                    continue
                overlap = self.library.share_elements(x, y)
                self.program.guard("guard_shared", first, second, overlap, key=(first, second))
                meet = meet or overlap
        if meet:
            if self._can_join(a, b):
                self.wanted_joint |= {id(a), id(b)}
            for array in (a, b, a.base, b.base):
                if any(array is known for _, known in self.opaque_arrays):
                    self.host_arrays.keep_on_host(array)
            raise refuse(reasons.SHARED_MEMORY_WRITTEN)


__all__ = ["SharedMemory"]
