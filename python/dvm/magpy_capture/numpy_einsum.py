"""np.einsum: sums over single operands, transposes, and products pair by pair."""

from __future__ import annotations

import ast
from collections.abc import Sequence as SequenceOf
from itertools import combinations
from math import prod
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.arrays import Order, c_order
from dvm.magpy_capture.contractions import Factor, Sizes
from dvm.magpy_capture.einsum_text import Path, Subscripts, parsed, path_by_sizes
from dvm.magpy_capture.numpy_products import NumpyProducts
from dvm.magpy_capture.numpy_ufuncs import FALSE, NONE
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import Abstract, Host, Literal, Size, Tensor

numpy_table({"einsum": "einsum"})


def _view_of(array: Any, text: str) -> Any:
    return np.einsum(text, array)


#: What numbers stand for which labels, where lists of them take the place of a text.
NUMBERED = ascii_uppercase + ascii_lowercase


class NumpyEinsum(NumpyProducts):
    """Subscripts become ops of the graph, in the dtypes and memory orders of NumPy."""

    def einsum(
        self,
        *operands: Abstract,
        out: Abstract = NONE,
        optimize: Abstract = FALSE,
        dtype: Abstract = NONE,
        order: Abstract = Literal("K"),
        casting: Abstract = Literal("safe"),
    ) -> Tensor:
        text, arrays = self._subscripts(operands)
        parts = [self.as_array(part) for part in arrays]
        labels = parsed(text, tuple(part.rank for part in parts))
        path, wanted = self.plain(optimize), self.plain(order)
        if labels is None or wanted not in ("K", "C", "F"):
            raise self.refuse(reasons.SUMS_OF_PRODUCTS, text)
        if path is not False and (len(parts) < 2 or not labels.output):
            # Whether a number is an array follows from sizes then.
            raise self.refuse(reasons.SUMS_OF_PRODUCTS, text)
        if len(parts) == 1 and set(labels.inputs[0]) == set(labels.output):
            if wanted == "K" and self.is_none(dtype) and self.is_none(out):
                return self._view(self.tensor(arrays[0]), labels)
        name = self.common_dtype(parts) if self.is_none(dtype) else self.dtype_name(dtype)
        if not all(np.can_cast(part.dtype, name, self.plain(casting)) for part in parts):
            raise self.refuse(reasons.SUMS_OF_PRODUCTS, text)
        into = self.result_array(out)
        if into is not None:
            if into.dtype != name or any(into.storage is part.storage for part in parts):
                raise self.refuse(reasons.OUT, describe(into))
        sizes = self.sizes_of(parts, labels.inputs, labels.stretched)
        if into is not None and into.rank == len(labels.output):
            axes = into.order
        else:
            axes = self._axes_in_memory(parts, labels, sizes, wanted, path)
        value = self._sum(parts, labels, sizes, [labels.output[axis] for axis in axes], name)
        shape = [sizes[label] for label in labels.output]
        return self.deliver(self.fresh(value, name, shape, axes, is_scalar=not shape), into)

    def _subscripts(self, operands: SequenceOf[Abstract]) -> tuple[str, list[Abstract]]:
        """The text and the arrays; lists of numbers may stand for the parts of the text."""
        first = self.resolve(operands[0]) if operands else NONE
        if isinstance(first, (Literal, Host)) and isinstance(first.object, str):
            return str(self.plain(first)), list(operands[1:])
        lists = [*operands[1::2], *(operands[-1:] if len(operands) % 2 else [])]
        parts = []
        for numbers in map(self.plain, lists):
            if not isinstance(numbers, (tuple, list)):
                raise self.refuse(reasons.SUMS_OF_PRODUCTS, describe(first))
            parts.append("".join("..." if n is Ellipsis else NUMBERED[n] for n in numbers))
        result = f"->{parts.pop()}" if len(operands) % 2 else ""
        return ",".join(parts) + result, list(operands[: len(operands) // 2 * 2 : 2])

    def _view(self, x: Tensor, labels: Subscripts) -> Tensor:
        """The array itself under another order of its axes, or a diagonal of it."""
        (own,) = labels.inputs
        if len(own) == len(labels.output) > 0:
            return self.transposed(x, [own.index(label) for label in labels.output])
        if x.rank < 2 or x.loose:
            raise self.refuse(reasons.SUMS_OF_PRODUCTS, own)
        sizes = self.sizes_of([x], [own])
        axes = self.order_of_sums([x], [own], labels.output, sizes)
        stored = [labels.output[axis] for axis in axes]

        def view(value: int) -> int:
            now = self.fresh(value, x.dtype, x.shape, x.order)
            return self.transposed_value(
                self.factor(*self._on_diagonals(now, list(own), sizes), sizes), stored
            )

        shape = [sizes[label] for label in labels.output]
        remake = (_view_of, [Literal(f"{own}->{labels.output}")])
        return self.view_of(x, shape, axes, view, None, remake, contiguous=False)

    def _axes_in_memory(
        self,
        parts: list[Tensor],
        labels: Subscripts,
        sizes: Sizes,
        wanted: str,
        optimize: Any,
    ) -> Order:
        axes = c_order(len(labels.output))
        if wanted == "F":
            return axes[::-1]
        if wanted == "C" or len(axes) < 2:
            return axes
        shared = {name: size for name, size in sizes.items() if name not in labels.stretched}
        path = self._path(labels, sizes, optimize) if optimize is not False else None
        return self.order_of_sums(parts, labels.inputs, labels.output, shared, path=path)

    def _path(self, labels: Subscripts, sizes: Sizes, optimize: Any) -> Path:
        """The steps that NumPy takes, and so it does in calls of this path."""
        if optimize not in (True, "greedy", "optimal"):
            raise self.refuse(reasons.SUMS_OF_PRODUCTS, ",".join(labels.inputs))
        if len(labels.inputs) == 2:
            return ((0, 1),)
        question = labels.inputs, labels.output, optimize, "".join(sizes)
        seen = path_by_sizes(*question, *map(self.observed, sizes.values()))
        given = [self.constant(part) for part in question]
        given += [self.register_of_dim(size) for size in sizes.values()]
        found = self.step("call", self.constant(path_by_sizes), given, ())
        self.guard("guard_value", found, seen, key=(found,))
        path: Path = ast.literal_eval(seen)
        return path

    def _sum(
        self, parts: list[Tensor], labels: Subscripts, sizes: Sizes, stored: list[str], dtype: str
    ) -> int:
        """The value, with its axes in the order `stored`."""
        single = len(parts) != 2 or any(
            len(set(own)) < len(own) or not set(own) <= {*other, *stored}
            for own, other in (labels.inputs, labels.inputs[::-1])
        )
        # Halves are added up as floats and rounded once: the op does that to a single product.
        computed = "float32" if dtype == "float16" and single else dtype
        factors = []
        for part, own in zip(parts, labels.inputs, strict=True):
            x, names = self._on_diagonals(self.cast(part, computed), list(own), sizes)
            factors.append(self.factor(x, names, sizes, labels.stretched))
        order = [*stored, *(name for name in sizes if name not in stored)]
        while len(factors) > 1:
            i, j = self._cheapest(factors, sizes)
            b, a = factors.pop(j), factors.pop(i)
            kept = {*stored, *(name for factor in factors for name in factor.labels)}
            factors.insert(0, self.contracted(a, b, kept, order, computed))
        made = self.summed(factors[0], stored, computed)
        return self.cast_value(self.finished(made, stored), dtype)

    def _cheapest(self, factors: list[Factor], sizes: Sizes) -> tuple[int, int]:
        """Which two to multiply first, by the sizes of the recorded call."""

        def cost(pair: tuple[int, int]) -> int:
            labels = {name for place in pair for name in factors[place].labels}
            return prod(self.observed(sizes[name]) for name in labels)

        return min(combinations(range(len(factors)), 2), key=cost)

    def _on_diagonals(self, x: Tensor, names: list[str], sizes: Sizes) -> tuple[Tensor, list[str]]:
        """The elements whose places are equal along the axes that have one label."""
        for name in sorted({name for name in names if names.count(name) > 1}):
            while names.count(name) > 1:
                first = names.index(name)
                second = names.index(name, first + 1)
                rest = [axis for axis in range(x.rank) if axis not in (first, second)]
                lead, size = [x.shape[axis] for axis in rest], sizes[name]
                value = self.in_c_order(x)
                value = self.transpose_value(value, [*rest, first, second])
                value = self.reshape_value(value, [*lead, size * size])
                place = self.fresh(self.iota_value("int64", size), "int64", [size])
                place = self.ufunc(np.multiply, [place, Size(size + 1)])
                value = self.along_value("gather", [value, self.value_of(place)], len(lead))
                x = self.fresh(value, x.dtype, [*lead, size])
                names = [*(names[axis] for axis in rest), name]
        return x, names


__all__ = ["NumpyEinsum"]
