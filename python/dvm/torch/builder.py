"""What the lowerings of `dvm.torch.aten` are written in: tensors of a Graph under construction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from dvm import _dvm
from dvm.building import builder as building
from dvm.building.builder import (
    FLOATS,
    HALVES,
    NotCompiled,
    Number,
    Size,
    Tensor,
    is_same,
    is_same_shape,
    wide_dtype,
)

if TYPE_CHECKING:
    from dvm.torch.symbols import Symbols

DTYPES = {
    torch.bool: "bool",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.float16: "f16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.bfloat16: "bf16",
}
TORCH_DTYPES = {name: dtype for dtype, name in DTYPES.items()}
#: integers that floats become by way of signed ones of so many bits, of which the lowest are kept
TRUNCATED_BY = {"i8": 32, "u8": 32, "i16": 32, "u16": 32, "i32": 32, "i64": 64}

__all__ = [
    "DTYPES",
    "FLOATS",
    "HALVES",
    "TORCH_DTYPES",
    "Builder",
    "NotCompiled",
    "Number",
    "Size",
    "Tensor",
    "is_same",
    "is_same_shape",
    "wide_dtype",
]


class Builder(building.Builder):
    """A Graph under construction, with what torch expects of the node at hand in `expected`.

    expected: the types that torch inferred for the results of the op, tensors without a node.
    used: which of those results something takes.
    is_in_order: tells whether torch has the first of those results in the order of its axes.
    has_exact_products: whether products of matrices round no factors, and cost no more than sums of
        elementwise products.
    """

    def __init__(self, graph: _dvm.Graph, symbols: Symbols, has_exact_products: bool) -> None:
        super().__init__(graph)
        self.symbols = symbols
        self.has_exact_products = has_exact_products
        self.expected: list[Tensor] = []
        self.used: frozenset[int] = frozenset()
        self.is_in_order: Callable[[], bool] = lambda: True
        self._repeats: dict[int, Sequence[int]] = {}  # axes along which arguments, turned, repeat
        self._factors: dict[int, tuple[Tensor, ...]] = {}  # what nodes are elementwise products of

    @property
    def out(self) -> Tensor:
        """The type of the op's only, or first, result."""
        return self.expected[0]

    def argument(self, dtype: str, shape: Sequence[Size], repeats: Sequence[int]) -> Tensor:
        """Return a tensor that the Graph is given.

        repeats: axes along which all its elements are one in memory.
        """
        made = self.wrap(self.graph.input(dtype, list(shape)))
        self._repeats[made.node] = repeats
        return made

    def _rounded(self, value: Any, dtype: str) -> Any:
        if dtype in FLOATS:
            return float(torch.tensor(value, dtype=TORCH_DTYPES[dtype]))
        if not -(2**63) <= value < 2**63:  # no number at all, among others
            raise NotCompiled(f"{value} as {dtype}")
        return int(torch.tensor(value).to(TORCH_DTYPES[dtype]))

    def elementwise(self, op: str, *tensors: Tensor) -> Tensor:
        made = super().elementwise(op, *tensors)
        if op == "mul":
            self._factors[made.node] = tensors
        return made

    def factors(self, t: Tensor) -> tuple[Tensor, ...]:
        """What `t` is the elementwise product of; () for all else."""
        return self._factors.get(t.node, ())

    def cast(self, t: Tensor, dtype: str) -> Tensor:
        if t.dtype != dtype and t.is_float and dtype in TRUNCATED_BY:
            t = self._inside(self.wide(t), TRUNCATED_BY[dtype])
        return super().cast(t, dtype)

    def _inside(self, t: Tensor, bits: int) -> Tensor:
        """Return a float with the lowest integer of so many bits where it fits in none.

        torch has x86's instructions decide, and for them NaN is such a number, too.
        """
        end = 2.0 ** (bits - 1)
        fits = self.elementwise("lt", self.abs(t), self.constant(end, t.dtype, t.shape))
        return self.elementwise("select", fits, t, self.constant(-end, t.dtype, t.shape))

    def repeated(self, t: Tensor) -> Tensor | None:
        """What `t` is broadcast from; None for what is no broadcast."""
        if axes := self._repeats.get(t.node):
            return self.before_broadcast(t, axes)
        return self._repeated.get(t.node)

    def transpose(self, t: Tensor, axes: Sequence[int]) -> Tensor:
        made = super().transpose(t, axes)
        if made is not t:
            self._repeats[made.node] = [axes.index(i) for i in self._repeats.get(t.node, ())]
        return made

    def attention(self, operands: Sequence[Tensor], scale: float, is_causal: bool) -> Tensor:
        """Attention of q, k, v and maybe a mask; causal from the first rows of q and k on."""
        causal = 0 if is_causal else None
        return self.wrap(self.graph.attention([t.node for t in operands], scale, causal=causal))
