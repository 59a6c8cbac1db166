"""What is computed: a function as NumPy, torch and dvm write it, and as a model of ONNX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Program:
    """One function of arrays, for all sizes.

    numpy: what it means; in double precision it is what results are compared with.
    torch: the same over tensors, or None.
    graph: the text that dvm compiles; where it is empty, dvm captures `numpy`.
    model: of two operands and more, a list of (op of ONNX, names of its inputs, attributes); its
        inputs are x0, x1, .., its last result is y.
    ranks: of the operands.
    dtype: of them: f32, f64 or bf16, which NumPy holds as uint16.
    """

    name: str
    numpy: Callable[..., Any]
    torch: Callable[..., Any] | None = None
    graph: str = ""
    model: tuple[tuple[str, tuple[str, ...], str, dict[str, Any]], ...] = ()
    ranks: tuple[int, ...] = (2, 2)
    dtype: str = "f32"


class Text:
    """Writes a Graph line by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def node(self, op: str, kind: str, *operands: str, attributes: str = "") -> str:
        name = f"%{len(self.lines)}"
        inputs = f"({', '.join(operands)})" if operands else ""
        braces = f" {{{attributes}}}" if attributes else ""
        self.lines.append(f"  {name} = {op}{inputs} {kind}{braces}")
        return name

    def number(self, value: float, kind: str) -> str:
        """A number, rounded to f32, repeated for each element."""
        dtype = kind.split("[")[0]
        constant = self.node(
            "constant", f"{dtype}[]", attributes=f"value = {float(np.float32(value))!r}"
        )
        return self.node("broadcast", kind, constant)

    def finished(self, result: str) -> str:
        return "\n".join(["graph v1 {", *self.lines, f"  return {result}", "}"])


def gelu(xp: Any, a: Any) -> Any:
    return 0.5 * a * (1 + xp.tanh(0.7978845608 * (a + 0.044715 * a * a * a)))


def gelu_text(text: Text, kind: str, a: str) -> str:
    def scaled(value: str, factor: float) -> str:
        return text.node("mul", kind, value, text.number(factor, kind))

    cube = text.node("mul", kind, text.node("mul", kind, a, a), a)
    inner = text.node("add", kind, a, scaled(cube, 0.044715))
    tanh = text.node("tanh", kind, scaled(inner, 0.7978845608))
    return scaled(
        text.node("mul", kind, a, text.node("add", kind, tanh, text.number(1, kind))), 0.5
    )


def product(dtype: str = "f32", batched: bool = False, right: str = "rows") -> Program:
    """Return a product of matrices, or of as many pairs of them.

    right: "rows", or "columns" for a second operand that is given transposed.
    """
    across = right == "columns"
    lead = "b, " if batched else ""
    text = Text()
    a = text.node("input", f"{dtype}[{lead}m, k]")
    b = text.node("input", f"{dtype}[{lead}n, k]" if across else f"{dtype}[{lead}k, n]")
    if across:
        axes = "[0, 2, 1]" if batched else "[1, 0]"
        b = text.node("transpose", f"{dtype}[{lead}k, n]", b, attributes=f"axes = {axes}")
    graph = text.finished(text.node("matmul", f"{dtype}[{lead}m, n]", a, b))

    def function(a: Any, b: Any) -> Any:
        return a @ (b.swapaxes(-1, -2) if across else b)

    return Program(
        f"product {dtype}{' batched' * batched}{' columns' * across}",
        function,
        function,
        graph,
        () if across else (("MatMul", ("x0", "x1"), "y", {}),),
        (3, 3) if batched else (2, 2),
        dtype,
    )


def addmm(activation: str = "") -> Program:
    """Return x @ w + bias, and behind it nothing, "relu" or "gelu"."""
    whole = "f32[m, n]"
    text = Text()
    a = text.node("input", "f32[m, k]")
    b = text.node("input", "f32[k, n]")
    bias = text.node("input", "f32[n]")
    sums = text.node("matmul", whole, a, b)
    result = text.node("add", whole, sums, text.node("broadcast", whole, bias))
    model: list[tuple[str, tuple[str, ...], str, dict[str, Any]]] = [
        ("MatMul", ("x0", "x1"), "product", {}),
        ("Add", ("product", "x2"), "sum" if activation else "y", {}),
    ]
    if activation == "relu":
        result = text.node("maximum", whole, result, text.number(0, whole))
        model.append(("Relu", ("sum",), "y", {}))
    elif activation == "gelu":
        result = gelu_text(text, whole, result)
        model.append(("Gelu", ("sum",), "y", {"approximate": "tanh"}))

    def in_numpy(x: Any, w: Any, bias: Any) -> Any:
        y = x @ w + bias
        if activation == "relu":
            return np.maximum(y, 0)
        return gelu(np, y) if activation == "gelu" else y

    def in_torch(x: Any, w: Any, bias: Any) -> Any:
        import torch

        y = torch.addmm(bias, x, w)
        if activation == "relu":
            return torch.relu(y)
        return torch.nn.functional.gelu(y, approximate="tanh") if activation == "gelu" else y

    name = f"addmm {activation}".strip()
    return Program(name, in_numpy, in_torch, text.finished(result), tuple(model), (2, 2, 1))
