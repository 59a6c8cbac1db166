"""Attributes of arrays, and what walks over their elements: flags, base, flat, ndenumerate ...

What the host can be asked is asked of an array with the strides that the program's own one has.
Only who owns the memory is not the same there: a path holds as views what a program holds itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.library import DTYPES
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.ufuncs import NONE
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import attributes_of, attributes_of_arrays, means, methods_of
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import (
    Abstract,
    Content,
    End,
    Flags,
    FlatValue,
    IteratorValue,
    ListValue,
    Literal,
    Method,
    Named,
    Sequence,
    Size,
    SliceValue,
    Tensor,
    is_none,
    resolve,
)

#: From then on NumPy warns where a shape is set.
SHAPE_IS_DEPRECATED = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
#: Flags that depend on who owns the memory, under all of their names.
OWNERSHIP = frozenset({"owndata", "num", "O", "OWNDATA"})


class ArrayAttributes(NumpyPart):
    """What `x.name` is."""

    needs = (
        "arrays containers elementwise graph heap indexing operators program reductions shapes "
        "sizes ufuncs views writes"
    )

    @attributes_of_arrays("numpy")
    def array_attribute(self, base: Tensor, name: str, seen: Any) -> Abstract:
        if name == "shape":
            return Sequence([Size(dim) for dim in base.shape])
        if name in ("ndim", "dtype", "itemsize", "device"):
            return Literal(seen)
        if name == "size":
            return Size(self.graph.product(base.shape))
        if name == "nbytes":
            return Size(
                self.graph.product(base.shape) * seen.__class__(np.dtype(base.dtype).itemsize)
            )
        if name == "T":
            return self.shapes.transpose(base)
        if name == "mT" and base.rank >= 2:
            return self.shapes.swapaxes(base, Literal(-1), Literal(-2))
        if name == "real":  # of no complex number
            return base
        if name in ("strides", "imag"):
            made = self.program.step("getattr", self.arrays.layout_register(base), name)
            part = self.heap.computed(made, seen)
            if isinstance(part, Tensor) and not part.is_scalar:
                part.storage.locked = True  # zeros that nobody may write
            return part
        if name == "flat" and not base.is_scalar:
            return FlatValue(base)
        if name == "flags":
            return Flags(base, seen)
        if name == "base":
            return self.owner(base, seen)
        if callable(seen):
            return Method(base, name)
        raise refuse(reasons.ARRAY_ATTRIBUTE, name)

    def owner(self, x: Tensor, seen: Any) -> Abstract:
        """`x.base`: of a view the array whose memory it is, however many views lie between."""
        self.views.decide_all(x)
        if x.is_scalar or x.object is None:
            raise refuse(reasons.BASE_ARRAY_NOT_SEEN)
        root = x
        while root.base is not None:
            root = root.base
        storage = root.storage
        if storage.external:
            register = storage.register
            key = ("getattr", register, "base")
            fetch = lambda: self.program.step("getattr", register, "base", key=key)  # noqa: E731
            held = self.heap.reach(fetch, storage.object.base)
            own = root is x or type(storage.object.base) is np.ndarray
            found = held if own else root
        else:
            found = NONE if root is x else root
        if getattr(found, "object", None) is not seen or storage.seen_in is not None:
            raise refuse(reasons.BASE_ARRAY_WHOSE_MEMORY_SOMETHING)
        return found

    # ---- flags

    @attributes_of(Flags)
    def flag(self, flags: Flags, name: str, seen: Any, *, subscript: bool = False) -> Abstract:
        """`x.flags.name` or `x.flags[name]`."""
        x = flags.base
        if name in OWNERSHIP and self._is_own(x, seen):
            return Literal(seen)
        held = self.program.step("getattr", self.arrays.layout_register(x), "flags")
        if subscript:
            return self.heap.computed(
                self.program.step("operator", "getitem", held, self.program.constant(name)), seen
            )
        return self.heap.computed(self.program.step("getattr", held, name), seen)

    def _is_own(self, x: Tensor, seen: Any) -> bool:
        """Whether the path made the array, which then is no view of anything."""
        if x.base is not None or x.storage.external:
            return False  # the host's own array, or a view made in the same way
        if type(seen) is not bool or not seen or x.storage.seen_in is not None:
            raise refuse(reasons.WHO_OWNS_ARRAY_S_MEMORY)
        return True

    @means(np.ndarray.setflags)
    def set_flags(
        self, x: Tensor, write: Abstract = NONE, align: Abstract = NONE, uic: Abstract = NONE
    ) -> Abstract:
        """An array of the path's own becomes read-only, before the program makes views of it."""
        own = x.base is None and not x.storage.external and not x.is_scalar
        if not own or x.storage.viewed or not (is_none(align) and is_none(uic)):
            raise refuse(reasons.SETFLAGS_ARRAY_OTHERS_SEE)
        if not is_none(write):
            locked = not self.indexing.plain(write)
            if not locked and x.storage.host >= 0:
                raise refuse(reasons.SETFLAGS_ARRAY_OTHERS_SEE)
            x.storage.locked = locked
        return NONE

    # ---- elements in C order

    def flat_element(self, flat: FlatValue, key: Abstract, seen: Any) -> Abstract:
        """`x.flat[key]`: a scalar, or a copy."""
        self._untouched(flat)
        line = self.reductions.flat(flat.base)
        found = self.operators.subscript(line, key, seen)
        return (
            self.elementwise.copy(found)
            if isinstance(found, Tensor) and found.base is not None
            else found
        )

    @methods_of(FlatValue)
    def flat_method(
        self, flat: FlatValue, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """`x.flat.copy()`."""
        if name != "copy" or positional:
            raise refuse(reasons.CALL_METHOD, name, describe(flat))
        return self.reductions.flat(flat.base)

    def store_flat(self, flat: FlatValue, key: Abstract, value: Abstract) -> None:
        """`x.flat[key] = value`, which repeats the values of an array: not on a path."""
        self._untouched(flat)
        value = resolve(value)
        if isinstance(value, (ListValue, Sequence)) or (isinstance(value, Tensor) and value.rank):
            return self._store_all(flat.base, key, value)
        self.operators.store_subscript(self.views.flat_view(flat.base), key, value)

    def _store_all(self, x: Tensor, key: Abstract, value: Abstract) -> None:
        """`x.flat[:] = value` of as many elements; NumPy goes one by one, whatever overlaps."""
        whole = isinstance(key, SliceValue) and all(
            isinstance(part, Literal) and part.object is None
            for part in (key.start, key.stop, key.step)
        )
        given = self.ufuncs.as_array(value, None if isinstance(value, Tensor) else x.dtype)
        if not whole or given.storage is x.storage:
            raise refuse(reasons.ARRAY_WRITTEN_THROUGH_FLAT)
        size, wanted = self.graph.product(given.shape), self.graph.product(x.shape)
        if self.sizes.observed(size) != self.sizes.observed(wanted):
            raise refuse(reasons.ARRAY_WRITTEN_THROUGH_FLAT)
        self.sizes.require_equal(size, wanted)
        self.writes.write(
            self.views.flat_view(x),
            self.elementwise.cast(self.views.reshaped(given, [size]), x.dtype),
        )

    def set_shape(self, x: Tensor, shape: Abstract) -> None:
        """`x.shape = shape` of an array that the program made, and nothing else knows."""
        if SHAPE_IS_DEPRECATED:
            raise refuse(reasons.SETTING_ATTRIBUTE, "shape", describe(x))
        made = x.base is None and not x.storage.external and x.storage.host < 0
        simple = x.contiguous and x.maybe is None and x.order == tuple(range(x.rank))
        if not made or not simple or x.is_scalar or x.storage.viewed or x.leaving is not None:
            raise refuse(reasons.SETTING_ATTRIBUTE, "shape", describe(x))
        given = resolve(shape)
        sizes = given if isinstance(given, (Sequence, ListValue)) else Sequence([given])
        again = self.shapes.reshape(x, sizes if not isinstance(given, Literal) else given)
        if again.view is None or again.maybe is not None:
            raise refuse(reasons.SETTING_ATTRIBUTE, "shape", describe(x))
        x.storage.content = Content(self.arrays.value_of(again))
        x.storage.viewed = False
        x.storage.version += 1
        x.shape, x.axes, x.cached = again.shape, again.axes, None
        if x.object is not None:
            x.object = x.object.reshape([self.sizes.observed(dim) for dim in x.shape])

    def set_flat(self, x: Tensor, value: Abstract) -> None:
        """`x.flat = value`."""
        self.store_flat(FlatValue(x), SliceValue(NONE, NONE, NONE), value)

    def _untouched(self, flat: FlatValue) -> None:
        if flat.walked:
            raise refuse(reasons.FLAT_ITERATOR_USED_BEFORE)

    @attributes_of(FlatValue)
    def flat_attribute(self, flat: FlatValue, name: str, seen: Any) -> Abstract:
        if name == "base":
            return flat.base
        if name == "copy":
            return Method(flat, name)
        raise refuse(reasons.ATTRIBUTE_FLAT_ITERATOR, name)

    # ---- walking

    @means(np.ndindex)
    def make_ndindex(self, *shape: Abstract) -> Abstract:
        first = resolve(shape[0]) if len(shape) == 1 else None
        given = isinstance(first, (Sequence, ListValue))
        given = given or (isinstance(first, Literal) and type(first.object) is tuple)
        parts = self.containers.elements(first) if given else shape
        sizes = [self.indexing.integer(part) for part in parts]
        if min(sizes, default=0) < 0:
            raise refuse(reasons.NDINDEX_NEGATIVE_SIZES)
        return self._walk(map(_indices, itertools.product(*map(range, sizes))))

    @means(np.ndenumerate)
    def make_ndenumerate(self, arr: Abstract) -> Abstract:
        x = resolve(arr)
        if not isinstance(x, Tensor) or x.is_scalar:
            raise refuse(reasons.NDENUMERATE, describe(x))
        places = itertools.product(*(range(self.containers.known_size(dim)) for dim in x.shape))
        line = self.views.flat_view(x)
        return self._walk(
            Sequence([_indices(place), self.indexing.index(line, Literal(number))])
            for number, place in enumerate(places)
        )

    @staticmethod
    def _walk(items: Iterable[Abstract]) -> IteratorValue:
        """Item by item, so that each is what the arrays hold when the program asks for it."""
        rest = iter(items)
        return IteratorValue(lambda: next(rest, End))

    # ---- copies

    @means(np.ndarray.__copy__, np.ndarray.__deepcopy__)
    def copied_as_it_lies(self, x: Tensor, memo: Abstract = NONE) -> Tensor:
        return self.elementwise.copy(x)

    # ---- the same bytes

    @means(np.ndarray.view)
    def seen_as(self, x: Tensor, dtype: Abstract = NONE, type: Abstract = NONE) -> Tensor:
        """`x.view(dtype)`: of elements of one size, each is another number in the same place."""
        wanted, kind = self.indexing.plain(dtype), self.indexing.plain(type)
        if wanted is np.ndarray:
            wanted, kind = None, wanted
        name = x.dtype if wanted is None else np.dtype(wanted).name
        if x.is_scalar or kind not in (None, np.ndarray) or not same_bytes(x.dtype, name):
            raise refuse(reasons.VIEW, describe(x), wanted, kind)
        made = self.arrays.view_of(
            x,
            x.shape,
            x.order,
            lambda value: self.reinterpreted(value, name),
            lambda _base, value: self.reinterpreted(value, x.dtype),
            (np.ndarray.view, [] if wanted is None else [Literal(np.dtype(name))]),
        )
        made.dtype = name
        return made

    def reinterpreted(self, value: int, name: str) -> int:
        """The value's bytes as elements of another dtype: NumPy's own view."""
        if self.graph.dtype(value) == self.graph.dtype_text(name):
            return value
        dtype = np.dtype(name)
        self.graph.opaque_calls.append(("ndarray.view", self.program.at))
        given = [self.graph.leave(value), self.program.constant(dtype)]
        made = self.program.step("call", self.program.constant(np.ndarray.view), given, (), True)
        sizes = list(self.graph.shape(value))
        return self.graph.input_value(made, np.zeros((), dtype), c_order(len(sizes)), sizes)


def same_bytes(one: str, other: str) -> bool:
    """Whether an element of one dtype of the graph takes the place of one of the other."""
    return other in DTYPES and np.dtype(one).itemsize == np.dtype(other).itemsize


def _indices(place: tuple[int, ...]) -> Sequence:
    return Sequence([Literal(index) for index in place])
