"""Single operations as NumPy and torch write them, and arrays that lie in all ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .programs import Array
from .shapes import logarithmic

FLOATS = ("f4", "f4", "f8", "f2")  # drawn as often as they are named
NUMBERS = (*FLOATS, "i4", "i8", "u1")
ALL = (*NUMBERS, "?")


@dataclass(frozen=True)
class Operation:
    """numpy, torch: over `operands` arrays of one dtype and shape, torch's empty where it has none.

    rank: of the operands; 0 for any.
    """

    numpy: str
    torch: str
    operands: int = 1
    dtypes: tuple[str, ...] = FLOATS
    rank: int = 0

    def numpy_function(self) -> Callable[..., Any]:
        return self._compiled(self.numpy)

    def torch_function(self) -> Callable[..., Any] | None:
        return self._compiled(self.torch) if self.torch else None

    def _compiled(self, text: str) -> Callable[..., Any]:
        names = ", ".join("xyz"[: self.operands])
        scope: dict[str, Any] = {"np": np}
        if "torch" in text:
            import torch

            scope["torch"] = torch
        exec(f"def f({names}): return {text}", scope)
        function: Callable[..., Any] = scope["f"]
        return function


def same_name(
    name: str, operands: int = 1, dtypes: tuple[str, ...] = FLOATS, rank: int = 0, more: str = ""
) -> Operation:
    arguments = ", ".join("xyz"[:operands]) + more
    return Operation(
        f"np.{name}({arguments})", f"torch.{name}({arguments})", operands, dtypes, rank
    )


OPERATIONS = (
    *(same_name(name) for name in ("exp", "log1p", "tanh", "sin", "cos", "sqrt", "floor", "expm1")),
    *(same_name(name, dtypes=NUMBERS) for name in ("square", "abs", "negative", "sign")),
    *(same_name(name, 2, NUMBERS) for name in ("add", "multiply", "maximum", "minimum")),
    *(same_name(name, 2) for name in ("true_divide", "hypot", "arctan2", "copysign")),
    *(same_name(name, 2, ALL) for name in ("greater", "logical_and")),
    Operation("np.equal(x, y)", "torch.eq(x, y)", 2, ALL),
    same_name("isnan"),
    same_name("bitwise_and", 2, ("i4", "i8", "u1", "?")),
    Operation("x + 1", "x + 1", 1, NUMBERS),
    Operation("x * 0.5 + y", "x * 0.5 + y", 2),
    Operation("np.where(x > y, x, y)", "torch.where(x > y, x, y)", 2, NUMBERS),
    Operation("np.clip(x, 0, 1)", "torch.clip(x, 0, 1)", 1, NUMBERS),
    Operation("1 / (1 + np.exp(-x))", "torch.sigmoid(x)"),
    Operation("x.astype(np.float32)", "x.to(torch.float32, copy=True)", 1, ALL),
    Operation("x.astype(np.float64)", "x.to(torch.float64, copy=True)", 1, ALL),
    # reductions
    *(Operation(f"x.{name}()", f"x.{name}()", 1, NUMBERS) for name in ("sum", "max", "min")),
    *(Operation(f"x.{name}()", f"x.{name}()", 1, ("?",)) for name in ("any", "all")),
    *(Operation(f"x.{name}()", f"x.{name}()") for name in ("mean", "prod")),
    *(
        Operation(f"x.{name}(axis={axis})", f"x.{to}({axis})", 1, FLOATS, 2)
        for name, to in (("sum", "sum"), ("max", "amax"), ("mean", "mean"))
        for axis in (0, 1)
    ),
    Operation("x.var(axis=-1)", "x.var(-1, correction=0)"),
    Operation("x.std()", "x.std(correction=0)"),
    Operation("np.linalg.norm(x)", "torch.linalg.norm(x)", 1, ("f4", "f8")),
    Operation("x.argmax()", "x.argmax()", 1, ("f4", "f8", "i4", "i8", "u1")),
    Operation("x.argmin(axis=-1)", "x.argmin(-1)", 1, ("f4", "f8", "i4", "i8", "u1")),
    Operation("np.count_nonzero(x)", "torch.count_nonzero(x)", 1, ("?", "f4", "i4")),
    Operation("(x == y).all()", "(x == y).all()", 2, NUMBERS),
    Operation("(x * y).sum()", "(x * y).sum()", 2),
    Operation("x.cumsum(axis=-1)", "x.cumsum(-1)", 1, ("f4", "f8", "i8")),
    # movement
    Operation("x.copy()", "x.clone(memory_format=torch.contiguous_format)", 1, ALL),
    Operation("np.ascontiguousarray(x.T)", "x.T.contiguous()", 1, ALL, 2),
    Operation("np.concatenate([x, y])", "torch.cat([x, y])", 2, ALL),
    Operation("np.concatenate([x, y], axis=1)", "torch.cat([x, y], 1)", 2, ALL, 2),
    Operation("np.stack([x, y])", "torch.stack([x, y])", 2, NUMBERS),
    Operation("np.roll(x, 3, axis=0)", "torch.roll(x, 3, 0)", 1, NUMBERS),
    Operation("np.flip(x).copy()", "torch.flip(x, list(range(x.ndim)))", 1, NUMBERS),
    Operation("np.repeat(x, 3, axis=0)", "torch.repeat_interleave(x, 3, 0)", 1, NUMBERS),
    Operation("np.tile(x, 2)", "torch.tile(x, (2,))", 1, NUMBERS),
    Operation("np.tril(x)", "torch.tril(x)", 1, NUMBERS, 2),
    Operation(
        "np.pad(x, 2)", "torch.nn.functional.pad(x, (2,) * (2 * x.ndim))", 1, ("f4", "f8", "i4")
    ),
    Operation("x[::2].copy()", "x[::2].clone(memory_format=torch.contiguous_format)", 1, NUMBERS),
    Operation("np.diff(x)", "torch.diff(x)", 1, ("f4", "f8", "i4")),
    Operation("np.take(x, [0, 5, 3, 5], axis=0)", "x[[0, 5, 3, 5]]", 1, NUMBERS),
    # rows
    Operation("np.exp(x - x.max(-1, keepdims=True))", "torch.exp(x - x.amax(-1, keepdim=True))"),
    Operation(
        "(x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1e-5) ** 0.5",
        "(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5) ** 0.5",
        1,
        ("f4", "f8"),
    ),
    Operation("x + x[0]", "x + x[0]", 1, NUMBERS, 2),
    Operation("x * x[:, :1]", "x * x[:, :1]", 1, NUMBERS, 2),
    # matrices, of results that are not much larger than the operands
    Operation("x[:200] @ y[:200].T", "x[:200] @ y[:200].T", 2, ("f4", "f8"), 2),
    Operation("x[:, :200].T @ y[:, :200]", "x[:, :200].T @ y[:, :200]", 2, ("f4", "f8"), 2),
    Operation("x @ x[0]", "x @ x[0]", 1, ("f4", "f8"), 2),
    Operation("np.outer(x[0], x[1])", "torch.outer(x[0], x[1])", 1, ("f4", "f8"), 2),
    Operation("np.einsum('ij,ij->i', x, y)", "torch.einsum('ij,ij->i', x, y)", 2, ("f4", "f8"), 2),
)

# How an operand lies: a view of an array that is large enough.
LAYOUTS: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "x": (1, lambda base: base),
    "x[::2]": (1, lambda base: base[::2]),
    "x[::-1]": (1, lambda base: base[::-1]),
    "m": (2, lambda base: base),
    "m[:, :k]": (2, lambda base: base[:, : max(1, base.shape[1] * 2 // 3)]),
    "m[::2]": (2, lambda base: base[::2]),
    "m[:, ::2]": (2, lambda base: base[:, ::2]),
    "m.T": (2, lambda base: base.T),
}
LEAST_SIDE = 12  # operations name rows by number


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype == "?":
        return rng.random(shape) < 0.5
    if dtype in ("i4", "i8", "u1"):
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.random(shape, np.float32).astype(dtype)


@dataclass(frozen=True)
class Draw:
    """One operation on arrays that lie in one way."""

    operation: Operation
    layout: str
    arrays: tuple[Array, ...]

    def __str__(self) -> str:
        shape = ",".join(map(str, self.arrays[0].shape))
        return f"{self.operation.numpy}  {self.layout} {self.arrays[0].dtype}[{shape}]"


def laid_out(rng: np.random.Generator, layout: str, dtype: str, elements: int) -> Array:
    """Return a view of that layout whose base has about so many elements."""
    rank, view = LAYOUTS[layout]
    if rank == 1:
        return view(numbers(rng, (elements,), dtype))
    rows = logarithmic(rng, 2 * LEAST_SIDE, max(2 * LEAST_SIDE, elements // (2 * LEAST_SIDE)))
    columns = max(2 * LEAST_SIDE, elements // rows)
    return view(numbers(rng, (rows, columns), dtype))


def draw(rng: np.random.Generator, operation: Operation, elements: tuple[int, int]) -> Draw:
    """Return the operation on operands that are alike, of any layout that its rank allows."""
    fitting = [name for name, (rank, _) in LAYOUTS.items() if operation.rank in (0, rank)]
    layout = fitting[int(rng.integers(len(fitting)))]
    dtype = operation.dtypes[int(rng.integers(len(operation.dtypes)))]
    first = laid_out(rng, layout, dtype, logarithmic(rng, *elements))
    bases = [first.base if first.base is not None else first]
    arrays = [first]
    for _ in range(operation.operands - 1):
        base = numbers(rng, bases[0].shape, dtype)
        arrays.append(LAYOUTS[layout][1](base))
    return Draw(operation, layout, tuple(arrays))
