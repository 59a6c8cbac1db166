"""Making, choosing and converting: zeros, arange, where, clip, astype, advanced indices ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.ufuncs import NONE, TRUE, ZERO
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Tensor,
    is_none,
    resolve,
)
from dvm.magpy_capture.values.kinds import is_fixed

C_ORDER = Literal("C")
K_ORDER = Literal("K")


def _full_of(number: int) -> Callable[..., Tensor]:
    """np.zeros or np.ones: np.full of a number, in floats where no dtype is given."""

    def made(
        self: NumpyFunctions, shape: Abstract, dtype: Abstract = NONE, order: Abstract = C_ORDER
    ) -> Tensor:
        name = "float64" if is_none(dtype) else self.ufuncs.dtype_name(dtype)
        return self.full(shape, Literal(number), Literal(name), order)

    return made


def _like_of(number: int) -> Callable[..., Tensor]:
    """np.zeros_like or np.ones_like: np.full_like of a number."""

    def made(
        self: NumpyFunctions,
        a: Abstract,
        dtype: Abstract = NONE,
        order: Abstract = K_ORDER,
        subok: Abstract = TRUE,
        shape: Abstract = NONE,
    ) -> Tensor:
        return self.full_like(a, Literal(number), dtype, order, subok, shape)

    return made


class NumpyFunctions(NumpyPart):
    """What is neither a ufunc, a reduction nor a matter of shape alone."""

    needs = (
        "arrays containers elementwise graph heap host_operations indexing joining layouts "
        "opaque places program promotion rules shapes sizes ufunc_methods ufuncs views writes"
    )

    # ---- conversion

    @means(np.ndarray.astype)
    def astype(
        self,
        a: Tensor,
        dtype: Abstract,
        order: Abstract = K_ORDER,
        casting: Abstract = Literal("unsafe"),
        subok: Abstract = TRUE,
        copy: Abstract = TRUE,
    ) -> Tensor:
        wanted = self.ufuncs.dtype_name(dtype)
        if self.indexing.plain(order) not in ("K", "A"):
            raise refuse(reasons.ASTYPE_ANOTHER_ORDER_K)
        if wanted == a.dtype:
            return self.elementwise.copy(a) if self.indexing.plain(copy) else a
        return self.in_dtype(a, wanted)

    def in_dtype(self, a: Tensor, dtype: str) -> Tensor:
        """New memory of another dtype, in K order."""
        order = self.rules.copied_order(a)
        value = self.graph.cast_value(self.layouts.arranged(a, order), dtype)
        return fresh(value, dtype, a.shape, order, is_scalar=a.is_scalar)

    @means(np.array)
    def array(
        self,
        object: Abstract,
        dtype: Abstract = NONE,
        *,
        copy: Abstract = TRUE,
        order: Abstract = K_ORDER,
        subok: Abstract = TRUE,
        ndmin: Abstract = ZERO,
    ) -> Tensor:
        wanted = None if is_none(dtype) else self.ufuncs.dtype_name(dtype)
        made = self._converted(object, wanted, bool(self.indexing.plain(copy)))
        least = self.indexing.integer(ndmin)
        if self.indexing.plain(order) not in ("K", "A", None) or made.rank < least:
            if made.rank >= least or made.order != c_order(made.rank):
                raise refuse(reasons.NP_ARRAY_ANOTHER_ORDER_K)
            ones = [self.graph.size(1)] * (least - made.rank)
            return self.views.reshaped(made, [*ones, *made.shape])
        return made

    @means(np.asarray, np.asanyarray)
    def asarray(self, a: Abstract, dtype: Abstract = NONE, order: Abstract = NONE) -> Tensor:
        wanted = None if is_none(dtype) else self.ufuncs.dtype_name(dtype)
        made = self._converted(a, wanted, False)
        if self.indexing.plain(order) not in ("K", "A", None) and not (
            self.indexing.plain(order) == "C"
            and made.order == c_order(made.rank)
            and made.contiguous
        ):
            raise refuse(reasons.NP_ASARRAY_ANOTHER_ORDER_K)
        return made

    def _converted(self, value: Abstract, dtype: str | None, copy: bool) -> Tensor:
        value = resolve(value)
        if isinstance(value, Tensor) and not value.is_scalar:
            if dtype is None or dtype == value.dtype:
                return self.elementwise.copy(value) if copy else value
            return self.in_dtype(value, dtype)
        made = self.ufuncs.as_array(value, dtype)
        if not isinstance(value, (Sequence, ListValue)):
            made = fresh(self.graph.copy_value(self.arrays.value_of(made)), made.dtype, made.shape)
        return made if dtype is None else self.elementwise.cast(made, dtype)

    @means(np.ndarray.item)
    def item(self, a: Tensor, *index: Abstract, seen: Any) -> Abstract:
        if index:
            raise refuse(reasons.ITEM_INDEX)
        if any(dim.constant != 1 for dim in a.shape):
            raise refuse(reasons.ITEM_ARRAY_SYMBOLIC_SIZE)
        value = self.views.reshape_value(self.arrays.value_of(a), [])
        return self.heap.computed(self.graph.leave(value, self.python_kind(a.dtype)), seen)

    def python_kind(self, dtype: str) -> str:
        return {"b": "bool", "f": "float"}.get(np.dtype(dtype).kind, "int")

    @means(np.ndarray.tolist)
    def to_list(self, a: Tensor) -> Abstract:
        raise refuse(reasons.TOLIST)

    # ---- selection

    @means(np.select)
    def first_choice(
        self, condlist: Abstract, choicelist: Abstract, default: Abstract = ZERO
    ) -> Tensor:
        """The first choice whose condition holds: np.where, from the last to the first."""
        tests = [self.ufuncs.as_array(test) for test in self.containers.elements(condlist)]
        choices = [*self.containers.elements(choicelist), default]
        if not tests or len(tests) != len(choices) - 1 or any(t.dtype != "bool" for t in tests):
            raise refuse(reasons.SELECT_BOOLS_CHOICE_EACH)
        kinds = [self.promotion.kind(value) for value in choices]
        examples = [kind if isinstance(kind, np.dtype) else kind(0) for kind in kinds]
        dtype = np.result_type(*examples).name
        *typed, result = [self.promotion.operand(value, dtype) for value in choices]
        order = c_order(self.common_rank([*tests, *typed, result]))
        for test, choice in zip(reversed(tests), reversed(typed), strict=True):
            parts = [test, choice, result]
            result = self.elementwise.apply(
                "select", parts, dtype, order[: self.common_rank(parts)]
            )
        result.is_scalar = False
        return result

    @means(np.nan_to_num)
    def nan_to_num(
        self,
        x: Abstract,
        copy: Abstract = TRUE,
        nan: Abstract = Literal(0.0),
        posinf: Abstract = NONE,
        neginf: Abstract = NONE,
    ) -> Tensor:
        array = self.ufuncs.as_array(x)
        result = self.elementwise.copy(array)
        if array.dtype.startswith("float"):
            limits = np.finfo(array.dtype)
            numbers: list[Abstract] = [nan]
            for given, limit in ((posinf, limits.max), (neginf, limits.min)):
                numbers.append(Literal(float(limit)) if is_none(given) else given)
            for number, test in zip(numbers, self._unusual(array), strict=True):
                if not isinstance(resolve(number), (Literal, Host, Size)):
                    raise refuse(reasons.NAN_TO_NUM, describe(number))
                parts = [test, self.promotion.operand(number, array.dtype), result]
                result = self.elementwise.apply("select", parts, array.dtype, array.order)
        if not self.indexing.plain(copy) and isinstance(resolve(x), Tensor) and not array.is_scalar:
            if array.dtype.startswith("float"):
                self.writes.write(array, result)
            return array
        result.is_scalar = not array.rank
        return result

    def _unusual(self, x: Tensor) -> list[Tensor]:
        """Where it is NaN, infinity and minus infinity."""
        infinite = [self.ufuncs.apply(np.equal, [x, Literal(limit)]) for limit in (np.inf, -np.inf)]
        return [self.ufuncs.apply(np.isnan, [x]), *infinite]

    @means(np.clip, np.ndarray.clip)
    def clip(
        self,
        a: Abstract,
        a_min: Abstract = NONE,
        a_max: Abstract = NONE,
        out: Abstract = NONE,
        *,
        min: Abstract = NONE,
        max: Abstract = NONE,
    ) -> Abstract:
        x = self.ufuncs.as_array(a)
        low = a_min if is_none(min) else min
        high = a_max if is_none(max) else max
        operands = [value for value in (low, high) if not is_none(value)]
        if not operands:
            raise refuse(reasons.CLIP_WITHOUT_BOUNDS)
        kinds = [self.promotion.kind(value) for value in (x, *operands)]
        examples = [kind if isinstance(kind, np.dtype) else kind(0) for kind in kinds]
        dtype = np.result_type(*examples).name
        if dtype != x.dtype and np.dtype(x.dtype).kind in "iu":
            raise refuse(reasons.CLIP_INTEGERS_BOUNDS_ANOTHER_TYPE)
        typed = [self.promotion.operand(value, dtype) for value in operands]
        shape_order = self.rules.result_order([x, *typed], self.common_rank([x, *typed]))
        result = self.elementwise.cast(x, dtype)
        # NumPy's loop of two bounds that stay the same along it keeps a zero whose bound is a zero
        # of the other sign; its other loops take the bound, and those of halves never do.
        still = all(not t.rank or t.shape[-1].constant == 1 for t in typed)
        keeps = still and len(typed) == 2 and dtype != "float16"

        def limited(op: str, x: Tensor, bound: Tensor, order: Order | None = None) -> Tensor:
            return self.ufuncs.extreme(op, [bound, x] if keeps else [x, bound], dtype, order)

        if not is_none(low):
            result = limited("maximum", result, typed[0])
        if not is_none(high):
            result = limited("minimum", result, typed[-1], shape_order)
        return result if is_none(out) else self.ufuncs.store_result(result, self.shapes.tensor(out))

    def common_rank(self, tensors: list[Tensor]) -> int:
        rank = 0
        for t in tensors:
            rank = t.rank if t.rank > rank else rank
        return rank

    @means(np.round, np.around, np.ndarray.round)
    def round_of(self, a: Abstract, decimals: Abstract = ZERO, out: Abstract = NONE) -> Abstract:
        """Through a power of ten, as PyArray_Round: in C order unless the array is in Fortran's."""
        x, places = self.ufuncs.as_array(a), self.indexing.integer(decimals)
        if not is_none(out):
            into = self.shapes.tensor(out)
            if into.dtype != x.dtype:
                raise refuse(reasons.ROUND_INTO_ANOTHER_DTYPE)
            return self.ufunc_methods.deliver(self.shapes.tensor(self.round_of(x, decimals)), into)
        if not x.dtype.startswith("float"):
            if places < 0 or x.dtype == "bool":
                raise refuse(reasons.ROUND_DECIMALS, x.dtype, places)
            return self.elementwise.copy(x)
        if places == 0:
            return self.ufuncs.apply(np.rint, [x])
        fortran = x.order == c_order(x.rank)[::-1] and x.contiguous
        permuted = not fortran and x.order != c_order(x.rank)
        if x.dtype == "float16" or permuted or abs(places) > 300:
            # (Halves round at each step, and there the power may be infinite.)
            raise refuse(reasons.ROUND_DECIMALS, describe(x), places)
        power = Literal(float(10.0 ** abs(places)))
        steps: list[np.ufunc] = [np.multiply, np.true_divide]
        there, back = steps if places > 0 else steps[::-1]
        return self.ufuncs.apply(
            back, [self.ufuncs.apply(np.rint, [self.ufuncs.apply(there, [x, power])]), power]
        )

    # ---- creation

    def filled(
        self, value: Tensor, shape: list[Any], order: tuple[int, ...] | None = None
    ) -> Tensor:
        order = c_order(len(shape)) if order is None else order
        stored = [shape[axis] for axis in order]
        content = self.graph.copy_value(self.layouts.arranged(value, order), stored)
        return fresh(content, value.dtype, shape, order)

    @means(np.full)
    def full(
        self,
        shape: Abstract,
        fill_value: Abstract,
        dtype: Abstract = NONE,
        order: Abstract = C_ORDER,
    ) -> Tensor:
        value = self.ufuncs.as_array(fill_value)
        if not is_none(dtype):
            value = (
                self.promotion.operand(fill_value, self.ufuncs.dtype_name(dtype))
                if value.rank == 0
                else (self.elementwise.cast(value, self.ufuncs.dtype_name(dtype)))
            )
        sizes = self.shapes.dims(shape)
        return self.filled(value, sizes, self._order_of(order, len(sizes)))

    def _order_of(self, order: Abstract, rank: int) -> Order:
        if self.indexing.plain(order) not in ("C", "F"):
            raise refuse(reasons.NEW_ARRAY_ANOTHER_ORDER_C)
        return c_order(rank)[:: -1 if self.indexing.plain(order) == "F" else 1]

    zeros = means(np.zeros)(_full_of(0))
    ones = means(np.ones)(_full_of(1))

    @means(np.full_like)
    def full_like(
        self,
        a: Abstract,
        fill_value: Abstract,
        dtype: Abstract = NONE,
        order: Abstract = K_ORDER,
        subok: Abstract = TRUE,
        shape: Abstract = NONE,
    ) -> Tensor:
        x = self.ufuncs.as_array(a)
        name = x.dtype if is_none(dtype) else self.ufuncs.dtype_name(dtype)
        value = self.ufuncs.as_array(fill_value, name)
        return self.filled(self.elementwise.cast(value, name), *self._like(x, order, shape))

    def _like(self, x: Tensor, order: Abstract, shape: Abstract) -> tuple[list[_dvm.Dim], Order]:
        """Sizes and memory order of an array like `x`, which has its order if it has its rank."""
        if self.indexing.plain(order) != "K":
            raise refuse(reasons.ARRAY_LIKE_ANOTHER_ANOTHER_ORDER)
        sizes = x.shape if is_none(shape) else self.shapes.dims(shape)
        return sizes, self.rules.copied_order(x) if len(sizes) == x.rank else c_order(len(sizes))

    zeros_like = means(np.zeros_like)(_like_of(0))
    ones_like = means(np.ones_like)(_like_of(1))

    @means(np.empty)
    def empty(
        self, shape: Abstract, dtype: Abstract = Literal(float), order: Abstract = C_ORDER
    ) -> Tensor:
        name, sizes = self.ufuncs.dtype_name(dtype), self.shapes.dims(shape)
        axes = self._order_of(order, len(sizes))
        stored = [sizes[axis] for axis in axes]
        return fresh(self.joining.empty_value(name, stored), name, sizes, axes)

    @means(np.empty_like)
    def empty_like(
        self,
        prototype: Abstract,
        dtype: Abstract = NONE,
        order: Abstract = K_ORDER,
        subok: Abstract = TRUE,
        shape: Abstract = NONE,
    ) -> Tensor:
        x = self.ufuncs.as_array(prototype)
        name = x.dtype if is_none(dtype) else self.ufuncs.dtype_name(dtype)
        sizes, axes = self._like(x, order, shape)
        return fresh(
            self.joining.empty_value(name, [sizes[axis] for axis in axes]), name, sizes, axes
        )

    @means(np.ascontiguousarray)
    def contiguous(self, a: Abstract, dtype: Abstract = NONE) -> Tensor:
        x = self.asarray(a, dtype)
        if x.order == c_order(x.rank) and x.contiguous and x.rank:
            return x
        if not x.rank:
            raise refuse(reasons.NUMBER_MADE_ARRAY_AXIS)
        return self.views.maybe_view(
            x,
            x.shape,
            lambda value: self.views.c_ordered(x, value),
            lambda value: self.graph.transpose_value(value, x.order),
            (np.ascontiguousarray, []),
        )

    @means(np.ndarray.fill)
    def fill(self, a: Tensor, value: Abstract) -> Abstract:
        self.writes.write(a, self.ufuncs.element_of(value, a.dtype))
        return Literal(None)

    # ---- indices that are arrays

    def index_on_host(
        self, base: Tensor, key: Abstract, parts: list[Abstract], seen: Any
    ) -> Abstract:
        """NumPy's own indexing: the result is new memory."""
        if not isinstance(seen, np.ndarray) or self.opaque.shares_memory(seen, [base]):
            if not isinstance(seen, np.generic):
                raise refuse(reasons.INDEXING, describe(key))
        for part in parts:
            if not self.host_operations.is_pure(part):
                raise refuse(reasons.INDEXING, describe(part))
        self.graph.opaque_calls.append(("advanced indexing", self.program.at))
        register = self.places.item_register(base, key, parts)
        example = self.indexed_example(base, parts)
        if example is None or not isinstance(seen, np.ndarray):
            return self.heap.computed(register, seen)
        order = _dvm.layout(example)[1]
        if seen.ndim != example.ndim or not seen.transpose(order).flags.c_contiguous:
            return self.heap.computed(register, seen)
        self.program.guard("guard_layout", register, example, key=(register,))
        return self.arrays.tensor_of_array(register, seen, external=False, order=order)

    def host_item(self, base: Tensor, key: Abstract, parts: list[Abstract]) -> int:
        registers = [self.program.register_of(base), self.program.register_of(key)]
        return self.program.step(
            "call", self.program.constant(np.ndarray.__getitem__), registers, (), True
        )

    def indexed_example(self, base: Tensor, parts: list[Abstract]) -> Any:
        """A result of the same index, of sizes that all tell in which order its axes lie.

        The order depends on the arrays' ranks and layouts. A recorded result with an axis of one
        does not show it.
        """
        sizes = [3 if dim.constant != 1 else 1 for dim in base.shape]
        stored = np.zeros([sizes[axis] for axis in base.order], np.dtype(base.dtype))
        array = stored.transpose([base.order.index(axis) for axis in range(base.rank)])
        index: list[Any] = []
        for part in parts:
            if isinstance(part, Tensor) and part.dtype != "bool":
                lengths = [3 if dim.constant != 1 else 1 for dim in part.shape]
                places = np.zeros([lengths[axis] for axis in part.order], np.intp)
                index.append(places.transpose([part.order.index(i) for i in range(part.rank)]))
            elif isinstance(part, (Sequence, ListValue)) and all(map(is_fixed, part.elements)):
                index.append([0] * (1 if len(part.elements) == 1 else 3))
            elif isinstance(part, SliceValue):
                index.append(slice(None))
            elif isinstance(part, Literal) and (part.object is None or part.object is Ellipsis):
                index.append(part.object)
            elif isinstance(part, Size) or type(getattr(part, "object", None)) is int:
                index.append(0)
            else:
                return None  # a mask: its result is read off the recorded one
        return array[tuple(index)]

    def store_at_once(self, base: Tensor, parts: list[Abstract], value: Abstract) -> None:
        """A write through a mask becomes a selection; through other arrays, NumPy's own."""
        mask = parts[0]
        source = self.ufuncs.as_array(value, base.dtype)
        if (
            len(parts) == 1
            and isinstance(mask, Tensor)
            and mask.dtype == "bool"
            and mask.rank == base.rank
            and source.rank == 0
        ):
            self.program.require_all_equal(mask.shape, base.shape)
            old = fresh(self.arrays.value_of(base), base.dtype, base.shape, base.order)
            new = self.elementwise.cast(source, base.dtype)
            chosen = self.elementwise.apply("select", [mask, new, old], base.dtype, base.order)
            self.writes.assign(base, self.arrays.value_of(chosen))
            return
        self.graph.opaque_calls.append(("advanced indexing", self.program.at))
        key = self.program.register_of(parts[0] if len(parts) == 1 else Sequence(parts))
        self.writes.assign(
            base,
            self.with_items(base, self.arrays.value_of(base), key, self.program.register_of(value)),
        )

    def with_items(self, base: Tensor, content: int, key: int, source: int) -> int:
        """The content of `base` behind a write, which NumPy makes into a copy of it.

        Into the array itself, where the path made it and nobody reads it any more.
        """
        order = None if base.order == c_order(base.rank) else base.order
        made = self.program.step("own", self.graph.leave(content, "array", order))
        self.program.step(
            "call", self.program.constant(np.ndarray.__setitem__), [made, key, source], (), True
        )
        example = np.empty(
            [self.sizes.observed(dim) for dim in self.arrays.stored_shape(base)],
            np.dtype(base.dtype),
        )
        example = example.transpose([base.order.index(axis) for axis in range(base.rank)])
        written = self.arrays.tensor_of_array(made, example, external=False, sizes=base.shape)
        self.graph.unowned.add(written.storage.content.value)
        return self.writes.fitted(written, base)


__all__ = ["Host", "NumpyFunctions"]
