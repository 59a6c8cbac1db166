"""Memory that arrays of the caller share, where the program writes into it.

A path is for calls whose arrays share memory as those of the recorded call did. Two views of one
array that the graph can hold become views of that one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dvm import reasons
from dvm.magpy_capture.libraries import fits_graph, is_array, library_of
from dvm.magpy_capture.library import Array
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.layer import TensorPart
from dvm.magpy_capture.values import Host, Literal, Storage, Tensor


def base_of(array: Array) -> Any:
    """What an array is a view of, as it tells itself."""
    return getattr(array, library_of(array).base, None)


class SharedMemory(TensorPart):
    """The arrays of the caller that the program has met, and which of them share memory."""

    needs = "arrays graph indexing program views"

    def __init__(self, joint: frozenset[int]) -> None:
        self.opaque_arrays: list[tuple[int, Array]] = []  # as host objects alone
        self.private_arrays: list[Host] = []  # of the caller, written on the host
        self.joint = joint  # ids of arrays that are views of another
        self.wanted_joint: set[int] = set()
        self.wanted_told: set[int] = set()  # loops of which it matters which arrays came out
        self._joint_registers: list[int] = []
        self.wanted_on_host: set[int] = set()  # ids of arrays of which no view may be in the graph

    def has_written(self) -> bool:
        """The same of all arrays of the caller, those too that the graph cannot hold."""
        return bool(self.private_arrays) or self.arrays.has_written_arrays()

    def meet(self, tensor: Tensor) -> None:
        """A new array of the caller: it must not share memory with one written before."""
        for written in self.arrays.written:
            self._part_from(written, tensor.storage)
        for private in self.private_arrays:
            self.apart(private.home, private.object, tensor.storage.register, tensor.object)
        self.arrays.external_arrays.append(tensor)

    def refuse_overlapping_itself(self, array: Array) -> None:
        """What such a write leaves follows from NumPy's order, which copies do not have."""
        if library_of(array).repeated_axes(array) or library_of(array).overlaps_itself(array):
            raise refuse(reasons.WRITE_INTO_ARRAY_OVERLAPPING_ITSELF)

    def may_be_one(self, one: Tensor, others: list[Tensor], loop: int) -> None:
        """What came out of a loop may lie where one of the others does, which no guard asks.

        Nobody can tell, as long as none of them is written.
        """
        self.arrays.external_arrays.append(one)
        for each in (one, *others):
            each.storage.open_behind = loop

    def may_write(self, t: Tensor) -> None:
        if t.storage.wants_gradient:  # written behind all else, where they are kept again
            raise refuse(reasons.GRADIENTS)
        if t.storage.open_behind >= 0:
            self.wanted_told.add(t.storage.open_behind)
            raise refuse(reasons.LOOP_VIEW, "behind it")
        self.views.decide_all(t)
        if t.storage.root is not None:
            self.keep_on_host(t.storage.root)
            if library_of(t.storage.root).is_compound(t.storage.root):
                raise refuse(reasons.WRITE_INTO_ARRAY_MASKED)
        first = not t.storage.written and t.storage.external
        if first:
            self.refuse_overlapping_itself(t.storage.object)
            for other in self.arrays.external_arrays:
                if other.storage is not t.storage:
                    self._part_from(t.storage, other.storage)
            for register, array in self.opaque_arrays:
                self.apart(t.storage.register, t.storage.object, register, array)
            self.arrays.to_write[id(t.storage)] = t.storage
        self.require_writeable(t)

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

    def keep_on_host(self, array: Any) -> None:
        """Asks for all to be lowered again, if the path is refused."""
        if type(array) in library_of(array).bare:
            self.wanted_on_host.add(id(array))

    def memory_registers(self, register: int, array: Any) -> list[tuple[int, Any]]:
        """Registers with all that an array keeps its content in: of a masked one also the mask."""
        found = [(register, array)]
        for name in library_of(array).beside(array):
            own, key = getattr(array, name), ("getattr", register, name)
            part = self.program.step("getattr", register, name, key=key)
            if is_array(own):
                self.program.guard_type(part, own)
                found.append((part, own))
            else:  # none at all, which is one object
                self.program.guard_is(part, own)
        return found

    def _part_from(self, a: Storage, b: Storage) -> None:
        self.apart(a.register, a.object, b.register, b.object)

    def meet_opaque(self, register: int, array: Array) -> None:
        """The same for an array that the graph cannot hold."""
        for written in self.arrays.written:
            self.apart(written.register, written.object, register, array)
        for private in self.private_arrays:
            self.apart(private.home, private.object, register, array)
        self.opaque_arrays.append((register, array))

    def _can_join(self, *arrays: Any) -> bool:
        """Whether all are views of one array that the graph can hold."""
        if not all(map(fits_graph, arrays)):
            return False
        owners = [library_of(array).owner_of(array) for array in arrays]
        if any(owner is None or owner is not owners[0] for owner in owners):
            return False
        return all(base_of(array) is None or library_of(array).place_of(array) for array in arrays)

    def joined(self, register: int, seen: Array, reach: Callable[..., Any]) -> Tensor:
        """An array of the caller as a view of the one whose memory it is, for others are too.

        reach: the value of an object of the caller.
        """
        library, base = library_of(seen), base_of(seen)
        placed = None if base is None else library.place_of(seen)
        if placed is None:  # it is the owner, or was never asked for
            tensor = self.arrays.tensor_of_array(register, seen, external=True)
            self.meet(tensor)
            return tensor
        key = ("getattr", register, library.base)
        owner = reach(lambda: self.program.step("getattr", register, library.base, key=key), base)
        shape, part = placed
        home = owner.storage.register
        tensor, made = owner, home
        if shape is not None:
            tensor = self.views.reshaped(owner, [self.graph.size(count) for count in shape])
            given = [home, self.program.constant(shape)]
            made = self.program.step(
                "call", self.program.constant(tensor.library.reshape), given, ()
            )
        tensor = self.indexing.index(tensor, Literal(part))
        made = self.program.step("operator", "getitem", made, self.program.constant(part))
        self.program.guard("guard_view", register, made)
        is_writeable = bool(library.is_writeable(seen))
        self.program.guard("guard_writeable", register, is_writeable)
        for other in self._joint_registers:
            self.program.guard("guard_same", register, other, False)
        self._joint_registers.append(register)
        tensor.host, tensor.object, tensor.writeable = register, seen, is_writeable
        return tensor

    def apart(self, one: int, a: Any, two: int, b: Any) -> None:
        meet = False
        for first, x in self.memory_registers(one, a):
            for second, y in self.memory_registers(two, b):
                if not library_of(x).may_share(x, y):
                    self.program.guard("guard_overlap", first, second, False, key=(first, second))
                    continue
                overlap = library_of(x).share_elements(x, y)
                self.program.guard("guard_shared", first, second, overlap, key=(first, second))
                meet = meet or overlap
        if meet:
            if self._can_join(a, b):
                self.wanted_joint |= {id(a), id(b)}
            for array in (a, b, base_of(a), base_of(b)):
                if any(array is known for _, known in self.opaque_arrays):
                    self.keep_on_host(array)
            raise refuse(reasons.SHARED_MEMORY_WRITTEN)


__all__ = ["SharedMemory"]
