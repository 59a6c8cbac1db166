"""Tensors of PyTorch in a path: what a program passes to its functions, and what these give."""

from __future__ import annotations

import operator
from collections.abc import Sequence as SequenceOf
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import attributes_of_arrays
from dvm.magpy_capture.tensors.fresh import Order, fresh
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Method,
    Sequence,
    Size,
    Tensor,
    resolve,
)

#: attributes that are the same for all tensors of a dtype and rank, on this machine, here
TOLD = frozenset({"dtype", "ndim", "device", "layout", "is_sparse", "is_quantized", "itemsize"})
TOLD_BESIDE = frozenset({"is_cpu", "is_cuda", "is_meta", "is_mkldnn", "requires_grad", "is_nested"})
#: dtypes that do not have all of Python's numbers -> the least and the greatest that they have
LIMITS: dict[str, tuple[float, float]] = {
    **{f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32)},
    "float16": (-65504.0, 65504.0),
    "bfloat16": (-(2.0**128 - 2.0**120), 2.0**128 - 2.0**120),
    "float32": (-(2.0**128 - 2.0**104), 2.0**128 - 2.0**104),
}
#: another tensor of the same memory, writes into which count for themselves
DATA = operator.attrgetter("data")
WISH = operator.attrgetter("requires_grad")


class Tensors(TorchPart):
    """Numbers, sizes, axes and attributes of tensors."""

    needs = "arrays containers graph indexing program sizes views"

    def __init__(self) -> None:
        self.builder: Any = None  # of the lowerings that torch's graphs have, too

    # ---- what a function is given

    def number(self, value: Abstract) -> Any:
        """A Python number: itself where it is the same in each call, else a Size or a Host."""
        value = resolve(value)
        if isinstance(value, Literal) and type(value.object) in (bool, int, float):
            return value.object
        if isinstance(value, Size):
            constant = value.dim.constant
            return value if constant is None else constant
        if isinstance(value, Host) and type(value.object) in (bool, int, float):
            return value
        raise refuse(reasons.TORCH_FORM, "a number", describe(value))

    def kind_of(self, number: Any) -> type:
        """bool, int or float."""
        if isinstance(number, Size):
            return int
        return type(number.object) if isinstance(number, Host) else type(number)

    def fitting(self, number: Any, dtype: str) -> Any:
        """The number, of a path for calls in which the dtype has it.

        For others torch raises, in most functions. One that is no number, or infinite, is the
        path's own.
        """
        if not isinstance(number, Host) or type(number.object) is bool or dtype not in LIMITS:
            return number
        low, high = LIMITS[dtype]
        if not low <= number.object <= high:
            return self.program.pin(number, number.object).object
        for name, limit in (("<=", high), (">=", low)):
            test = self.program.operate(name, number.register, self.program.constant(limit))
            self.program.guard("guard_truth", test, True)
        return number

    def number_value(self, number: Any, dtype: str) -> Tensor:
        """The number as a tensor of rank 0, rounded to the dtype."""
        number = self.fitting(number, dtype)
        if isinstance(number, Size):
            value = self.graph.cast_value(self.graph.dim_value("int64", number.dim), dtype)
        elif isinstance(number, Host):
            own = {bool: "bool", int: "int64", float: "float64"}[type(number.object)]
            value = self.graph.cast_value(self.graph.scalar_value(own, number.register), dtype)
        else:
            value = self.graph.constant_value(dtype, number)
        return self.made(value, dtype, [])

    def axis(self, value: Abstract, rank: int) -> int:
        """A constant axis, counted from the front."""
        axis = self.indexing.integer(value)
        rank = max(rank, 1)
        if not -rank <= axis < rank:
            raise refuse(reasons.TORCH_FORM, "an axis", str(axis))
        return axis % rank

    def axes(self, value: Abstract, rank: int) -> list[int]:
        """Constant axes, in the order given; all where there are none."""
        plain = self.indexing.plain(value)
        if plain is None or plain in ((), []):
            return list(range(rank))
        given = [plain] if type(plain) is int else list(plain)
        return [self.axis(Literal(axis), rank) for axis in given] if rank else []

    def dims(self, values: SequenceOf[Abstract]) -> list[_dvm.Dim]:
        """Sizes that were given one by one, or as one tuple or list."""
        if len(values) == 1:
            only = resolve(values[0])
            if isinstance(only, (Sequence, ListValue)):
                values = self.containers.elements(only)
            elif isinstance(only, Literal) and isinstance(only.object, tuple):
                values = [Literal(part) for part in only.object]
        return [self.size_of(value) for value in values]

    def size_of(self, value: Abstract) -> _dvm.Dim:
        """A size that was given as a number: of one that objects hold, the path is for its value.

        A module is made for the numbers that it holds, such as those of its heads.
        """
        value = resolve(value)
        if isinstance(value, Host) and self.is_held(value.register):
            value = self.program.pin(value, value.object)
        return self.indexing.dim_of(value)

    def is_held(self, register: int) -> bool:
        """Whether a number follows from attributes of objects alone."""
        step, _, *operands = self.program.maker_of(register) or ("", register)
        if step == "operator":
            return all(self.is_held(each) for each in operands[1:] if each >= 0)
        return step in ("attribute", "getattr", "class_attribute", "constant")

    def has_dtype(self, t: Tensor, dtype: Any) -> bool:
        """dtype: torch's."""
        return str(dtype).removeprefix("torch.") == t.dtype

    def size_value(self, dim: _dvm.Dim) -> Abstract:
        """A size as the program has it: a number of Python's."""
        return Size(dim) if dim.constant is None else Literal(dim.constant)

    def equal_sizes(self, a: Tensor, i: int, b: Tensor, j: int) -> None:
        """The path is for calls in which two sizes are equal; PyTorch raises in others.

        From here on both are told alike: as a number, where one of them is.
        """
        one, other = a.shape[i], b.shape[j]
        if one == other:
            return
        if self.sizes.observed(one) != self.sizes.observed(other):
            raise refuse(reasons.TORCH_FORM, "a function of torch", "sizes that are broadcast")
        self.sizes.require_equal(one, other)
        if other.constant is not None:
            self.tell(a, i, other)
        else:
            self.tell(b, j, one)

    def tell(self, t: Tensor, axis: int, dim: _dvm.Dim) -> None:
        """A size of `t` is known to be equal to `dim`, and called so from here on."""
        before = self.arrays.stored_shape(t)
        t.shape[axis] = dim
        after = self.arrays.stored_shape(t)
        if t.base is not None:
            view, write = t.view, t.write
            assert view is not None
            t.view = lambda value: self.graph.reshaped_node(view(value), after)
            if write is not None:
                t.write = lambda base, value: write(base, self.graph.reshaped_node(value, before))
            t.cached = None
            return
        storage = t.storage
        known = self.graph.reshaped_node(storage.content.read(), after)
        if storage.content.value == storage.initial:
            storage.initial = known
            self.graph.initials.add(known)
        storage.content.value = known

    # ---- what it gives

    def made(
        self, value: int, dtype: str, shape: SequenceOf[_dvm.Dim], order: Order | None = None
    ) -> Tensor:
        return fresh(value, dtype, shape, order, library=self.graph.array_library)

    def view(
        self, base: Tensor, shape: SequenceOf[_dvm.Dim], axes: Order, method: str, *given: Abstract
    ) -> Tensor:
        """A view of all elements of `base`: its axes in another order, or of size 1 beside them.

        axes: the axes of the view, from outermost to innermost in memory.
        """
        stored = [shape[axis] for axis in axes]
        own = self.arrays.stored_shape(base)
        function = getattr(base.library.array, method)
        return self.arrays.view_of(
            base,
            shape,
            axes,
            lambda value: self.views.reshape_value(value, stored),
            lambda _base, value: self.views.reshape_value(value, own),
            (function, list(given)),
        )

    # ---- attributes

    def guard_wish(self, t: Tensor, seen: bool) -> None:
        """Whether a tensor wants gradients, of which its signature does not always tell."""
        ask = self.program.constant(WISH)
        register = t.storage.register
        asked = self.program.step("call", ask, [register], (), key=("wish", register))
        self.program.guard("guard_value", asked, seen, key=(asked,))

    @attributes_of_arrays("torch")
    def attribute(self, base: Tensor, name: str, seen: Any) -> Abstract:
        """`x.name`; methods are looked up when they are called."""
        if name == "shape":
            return Sequence([Size(dim) for dim in base.shape], type(seen))
        if name == "requires_grad" and base.base is None and base.storage.external:
            self.guard_wish(base, seen)
        if name in TOLD or name in TOLD_BESIDE:
            return Literal(seen)
        if name in ("T", "mT") and base.rank == 2:
            shape, order = base.shape[::-1], tuple(1 - axis for axis in base.order)
            return self.view(base, shape, order, "t")
        if name == "data":
            given: list[Abstract] = []
            same = lambda _base, value: value  # noqa: E731
            made = self.arrays.view_of(
                base, base.shape, base.order, lambda value: value, same, (DATA, given)
            )
            made.told = 0
            return made
        if callable(seen):
            return Method(base, name)
        raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))


__all__ = ["Tensors"]
