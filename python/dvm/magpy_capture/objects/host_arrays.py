"""Arrays that the graph cannot hold: complex, structured, byte-swapped, of text, of objects.

NumPy computes with them, call by call. One that the path made is written in place, for steps keep
the order of the program. One of the caller's is written as a copy, which replaces its content at
the end. A view that the graph can hold (a field, a real part) is read by the graph as long as
nobody writes the memory; where somebody does, all is lowered again with that array on the host.

An array of objects takes part if all its elements are of types whose operators are Python's own:
that is asked on every call.
"""

from __future__ import annotations

from collections.abc import Callable

from dvm import reasons
from dvm.classes import names_in
from dvm.magpy_capture.libraries import NUMPY, fits_graph, is_empty, library_of
from dvm.magpy_capture.library import Array
from dvm.magpy_capture.objects.layer import ObjectPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import adopts
from dvm.magpy_capture.values import Abstract, Host, Tensor


class HostArrays(ObjectPart):
    """What a path knows of them, and how they are written."""

    needs = "arrays graph heap instances memory program"

    def __init__(self, on_host: frozenset[int]) -> None:
        self.on_host = on_host  # ids of arrays of which no view may be in the graph

    @adopts(NUMPY.array)
    def host_array_of(self, register: int, seen: Array, external: bool) -> Host:
        """The array in a register, which is the caller's own if `external`."""
        self.guard_objects(register, seen)
        if external and id(seen) in self.on_host:
            return self._private(register, seen)
        if external:
            self.memory.meet_opaque(register, seen)
        value = Host(register, seen, made=not external)
        if not external and seen.dtype.hasobject and not self.holds_plain(value):
            raise refuse(reasons.ARRAY_HOLDS_OBJECTS_PATH_MADE)
        return value

    def guard_objects(self, register: int, seen: Array) -> None:
        """Whether its elements are objects is the same on every call."""
        dtype = self.program.step("getattr", register, "dtype", key=("getattr", register, "dtype"))
        answer = self.program.step(
            "getattr", dtype, "hasobject", key=("getattr", dtype, "hasobject")
        )
        self.program.guard("guard_truth", answer, bool(seen.dtype.hasobject))

    def holds_plain(self, value: Host) -> bool:
        """Whether its elements are plain objects, which every call of the path agrees on."""
        seen = value.object
        if seen.dtype != object or not library_of(seen).holds_plain(seen):
            return False
        for cls in library_of(seen).number_classes():
            if any(type(part) is cls for part in seen.flat):
                for name, found in names_in(cls).items():
                    if name.startswith("__") and callable(found):
                        self.instances.guard_class(cls, name, found)
        if not value.root.owned:
            key = ("plain", value.register)
            callee = self.program.constant(library_of(seen).holds_plain)
            self.program.guard(
                "guard_truth",
                self.program.step("call", callee, [value.register], (), key=key),
                True,
            )
        return True

    # ---- views

    def view_on_host(
        self,
        made: int,
        base: Abstract,
        seen: Array,
        remake: Callable[[int], int] | None = None,
    ) -> Abstract:
        """An array in a register that shares memory with `base`; `remake` makes it of another.

        If the graph holds the base, neither may be written from here on.
        """
        if isinstance(base, Host):
            return self._view_of_host(made, base, seen, remake)
        result = self.heap.computed(made, seen)
        base.storage.frozen = True
        if isinstance(result, Tensor):
            result.storage.frozen, result.storage.seen_in = True, base.storage
        return result

    def _view_of_host(
        self, made: int, base: Host, seen: Array, remake: Callable[[int], int] | None
    ) -> Abstract:
        root = base.root
        if not fits_graph(seen) or root.home >= 0 or id(root.object) in self.on_host:
            self.program.guard_type(made, seen)
            if root.home >= 0:  # where it is a copy, it is made of the content
                if not is_empty(seen):
                    self.program.guard("guard_overlap", made, base.register, True)
                else:
                    self.guard_view(made, base.register, True)
            return Host(made, seen, made=base.made, owned=base.owned, base=base, remake=remake)
        external = not (root.made or root.owned)
        self.program.guard("guard_signature", made, seen, key=(made,))
        view = self.arrays.tensor_of_array(made, seen, external=external)
        view.storage.root = root.object
        if external:
            self.memory.meet(view)
        else:
            root.frozen = view.storage.frozen = True
        return view

    def guard_view(self, made: int, base: int, is_view: bool) -> None:
        callee, key = (
            self.program.constant(self.graph.array_library.is_view_or_empty),
            ("is view", made, base),
        )
        shares = self.program.step("call", callee, [made, base], (), key=key)
        self.program.guard("guard_truth", shares, is_view, key=(shares,))

    def leaving_host(self, value: Host) -> int:
        """The object itself, which of an array written for the caller is the caller's own."""
        if value.root.home < 0:
            return value.register
        if value.base is None:
            return value.home
        if value.remake is None:
            raise refuse(reasons.VIEW_ARRAY_WRITTEN_LEAVES_FUNCTION)
        if value.host < 0:
            value.host = value.remake(self.leaving_host(value.base))
        return value.host

    # ---- writing

    def writable_host(self, target: Host, name: str) -> None:
        """The array is written in place from here on, or the path is refused."""
        root = target.root
        if any(library_of(each).is_compound(each) for each in (root.object, target.object)):
            raise refuse(reasons.WRITES_INTO, name, describe(root))
        if not root.owned or root.frozen or not target.object.flags.writeable:
            self.memory.keep_on_host(root.object)
            raise refuse(reasons.WRITES_INTO_ARRAY, name, target.object.dtype)

    def _private(self, register: int, seen: Array) -> Host:
        """A copy of an array of the caller: like it in all but who owns the memory."""
        self.program.guard("guard_signature", register, seen, key=(register,))
        self.program.guard("guard_writeable", register, True)
        if seen.dtype.hasobject and not (seen.flags.c_contiguous or seen.flags.f_contiguous):
            raise refuse(reasons.WRITE_INTO_ARRAY_OBJECTS_DOES)
        self.memory.refuse_overlapping_itself(seen)
        for tensor in self.arrays.external_arrays:
            self.memory.apart(register, seen, tensor.storage.register, tensor.storage.object)
        self.memory.meet_opaque(register, seen)
        for other, array in self.memory.opaque_arrays[:-1]:
            self.memory.apart(register, seen, other, array)
        copy = self.program.step(
            "call", self.program.constant(library_of(seen).like), [register], ()
        )
        value = Host(copy, seen, owned=True, home=register)
        if seen.dtype.hasobject and not self.holds_plain(Host(register, seen)):
            raise refuse(reasons.WRITE_INTO_ARRAY_OBJECTS_USER)
        self.memory.private_arrays.append(value)
        return value
