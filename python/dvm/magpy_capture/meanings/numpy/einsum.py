"""np.einsum: sums over single operands, transposes, and products pair by pair."""

from __future__ import annotations

import ast
from collections.abc import Sequence as SequenceOf
from itertools import combinations
from math import prod
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings.numpy.einsum_text import Path, Subscripts, parsed, path_by_sizes
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.ufuncs import FALSE, NONE
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.contractions import Factor, Sizes
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.values import Abstract, Host, Literal, Size, Tensor, is_none, resolve

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart


def _view_of(array: Any, text: str) -> Any:
    return np.einsum(text, array)


#: What numbers stand for which labels, where lists of them take the place of a text.
NUMBERED = ascii_uppercase + ascii_lowercase


@means(np.einsum)
def einsum(
    lower: NumpyPart,
    *operands: Abstract,
    out: Abstract = NONE,
    optimize: Abstract = FALSE,
    dtype: Abstract = NONE,
    order: Abstract = Literal("K"),
    casting: Abstract = Literal("safe"),
) -> Tensor:
    text, arrays = _subscripts(lower, operands)
    parts = [lower.ufuncs.as_array(part) for part in arrays]
    labels = parsed(text, tuple(part.rank for part in parts))
    path, wanted = lower.indexing.plain(optimize), lower.indexing.plain(order)
    if labels is None or wanted not in ("K", "C", "F"):
        raise refuse(reasons.SUMS_OF_PRODUCTS, text)
    if path is not False and (len(parts) < 2 or not labels.output):
        # Whether a number is an array follows from sizes then.
        raise refuse(reasons.SUMS_OF_PRODUCTS, text)
    if len(parts) == 1 and set(labels.inputs[0]) == set(labels.output):
        if wanted == "K" and is_none(dtype) and is_none(out):
            return _view(lower, lower.shapes.tensor(arrays[0]), labels)
    name = lower.joining.common_dtype(parts) if is_none(dtype) else lower.ufuncs.dtype_name(dtype)
    if not all(np.can_cast(part.dtype, name, lower.indexing.plain(casting)) for part in parts):
        raise refuse(reasons.SUMS_OF_PRODUCTS, text)
    if path is not False and any(part.dtype != name for part in parts):
        # On its way NumPy sums an axis of one operand alone in the dtype of that: integers wrap.
        raise refuse(reasons.SUMS_OF_PRODUCTS, text)
    into = lower.ufunc_methods.result_array(out)
    if into is not None:
        if into.dtype != name or any(into.storage is part.storage for part in parts):
            raise refuse(reasons.OUT, describe(into))
    sizes = lower.contractions.sizes_of(parts, labels.inputs, labels.stretched)
    if into is not None and into.rank == len(labels.output):
        axes = into.order
    else:
        axes = _axes_in_memory(lower, parts, labels, sizes, wanted, path)
    value = _sum(lower, parts, labels, sizes, [labels.output[axis] for axis in axes], name)
    shape = [sizes[label] for label in labels.output]
    return lower.ufunc_methods.deliver(fresh(value, name, shape, axes, is_scalar=not shape), into)


def _subscripts(lower: NumpyPart, operands: SequenceOf[Abstract]) -> tuple[str, list[Abstract]]:
    """The text and the arrays; lists of numbers may stand for the parts of the text."""
    first = resolve(operands[0]) if operands else NONE
    if isinstance(first, (Literal, Host)) and isinstance(first.object, str):
        return str(lower.indexing.plain(first)), list(operands[1:])
    lists = [*operands[1::2], *(operands[-1:] if len(operands) % 2 else [])]
    parts = []
    for numbers in map(lower.indexing.plain, lists):
        if not isinstance(numbers, (tuple, list)):
            raise refuse(reasons.SUMS_OF_PRODUCTS, describe(first))
        parts.append("".join("..." if n is Ellipsis else NUMBERED[n] for n in numbers))
    result = f"->{parts.pop()}" if len(operands) % 2 else ""
    return ",".join(parts) + result, list(operands[: len(operands) // 2 * 2 : 2])


def _view(lower: NumpyPart, x: Tensor, labels: Subscripts) -> Tensor:
    """The array itself under another order of its axes, or a diagonal of it."""
    (own,) = labels.inputs
    if len(own) == len(labels.output) > 0:
        return lower.shapes.transposed(x, [own.index(label) for label in labels.output])
    if x.rank < 2 or x.loose:
        raise refuse(reasons.SUMS_OF_PRODUCTS, own)
    sizes = lower.contractions.sizes_of([x], [own])
    axes = lower.products.order_of_sums([x], [own], labels.output, sizes)
    stored = [labels.output[axis] for axis in axes]

    def view(value: int) -> int:
        now = fresh(value, x.dtype, x.shape, x.order)
        return lower.contractions.transposed_value(
            lower.contractions.factor(*_on_diagonals(lower, now, list(own), sizes), sizes), stored
        )

    shape = [sizes[label] for label in labels.output]
    remake = (_view_of, [Literal(f"{own}->{labels.output}")])
    return lower.arrays.view_of(x, shape, axes, view, None, remake, contiguous=False)


def _axes_in_memory(
    lower: NumpyPart,
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
    path = _path(lower, labels, sizes, optimize) if optimize is not False else None
    return lower.products.order_of_sums(parts, labels.inputs, labels.output, shared, path=path)


def _path(lower: NumpyPart, labels: Subscripts, sizes: Sizes, optimize: Any) -> Path:
    """The steps that NumPy takes, and so it does in calls of this path."""
    if optimize not in (True, "greedy", "optimal"):
        raise refuse(reasons.SUMS_OF_PRODUCTS, ",".join(labels.inputs))
    if len(labels.inputs) == 2:
        return ((0, 1),)
    question = labels.inputs, labels.output, optimize, "".join(sizes)
    seen = path_by_sizes(*question, *map(lower.sizes.observed, sizes.values()))
    given = [lower.program.constant(part) for part in question]
    given += [lower.program.register_of_dim(size) for size in sizes.values()]
    found = lower.program.step("call", lower.program.constant(path_by_sizes), given, ())
    lower.program.guard("guard_value", found, seen, key=(found,))
    path: Path = ast.literal_eval(seen)
    return path


def _sum(
    lower: NumpyPart,
    parts: list[Tensor],
    labels: Subscripts,
    sizes: Sizes,
    stored: list[str],
    dtype: str,
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
        x, names = _on_diagonals(lower, lower.elementwise.cast(part, computed), list(own), sizes)
        factors.append(lower.contractions.factor(x, names, sizes, labels.stretched))
    order = [*stored, *(name for name in sizes if name not in stored)]
    while len(factors) > 1:
        i, j = _cheapest(lower, factors, sizes)
        b, a = factors.pop(j), factors.pop(i)
        kept = {*stored, *(name for factor in factors for name in factor.labels)}
        factors.insert(0, lower.contractions.contracted(a, b, kept, order, computed))
    made = lower.contractions.summed(factors[0], stored, computed)
    return lower.graph.cast_value(lower.contractions.finished(made, stored), dtype)


def _cheapest(lower: NumpyPart, factors: list[Factor], sizes: Sizes) -> tuple[int, int]:
    """Which two to multiply first, by the sizes of the recorded call."""

    def cost(pair: tuple[int, int]) -> int:
        labels = {name for place in pair for name in factors[place].labels}
        return prod(lower.sizes.observed(sizes[name]) for name in labels)

    return min(combinations(range(len(factors)), 2), key=cost)


def _on_diagonals(
    lower: NumpyPart, x: Tensor, names: list[str], sizes: Sizes
) -> tuple[Tensor, list[str]]:
    """The elements whose places are equal along the axes that have one label."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            rest = [axis for axis in range(x.rank) if axis not in (first, second)]
            lead, size = [x.shape[axis] for axis in rest], sizes[name]
            value = lower.layouts.in_c_order(x)
            value = lower.graph.transpose_value(value, [*rest, first, second])
            value = lower.views.reshape_value(value, [*lead, size * size])
            place = fresh(lower.graph.iota_value("int64", size), "int64", [size])
            place = lower.ufuncs.apply(np.multiply, [place, Size(size + 1)])
            value = lower.graph.along_value(
                "gather", [value, lower.arrays.value_of(place)], len(lead)
            )
            x = fresh(value, x.dtype, [*lead, size])
            names = [*(names[axis] for axis in rest), name]
    return x, names
