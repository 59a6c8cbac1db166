"""Numbers that a graph of torch computes from sizes, such as 1 / n: tensors of rank 0 in f64."""

from __future__ import annotations

import operator
from typing import Any

import torch

from dvm.torch.builder import Builder, Number, Tensor
from dvm.torch.symbols import Untranslatable

#: functions on numbers, and the op of the Graph that they are
OPS = {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.truediv: "div",
    operator.pow: "power",
    operator.neg: "neg",
    torch.sym_float: "positive",
    torch._sym_sqrt: "sqrt",
}


def lower(b: Builder, function: Any, args: tuple[Any, ...]) -> Number:
    """Return the number that `function` gives; raises Untranslatable."""
    op = OPS.get(function)
    if op is None or any(isinstance(a, Tensor) or a is None for a in args):
        raise Untranslatable(f"a number from {getattr(function, '__name__', function)}")
    return Number(b.elementwise(op, *(b.number(a, "f64") for a in args)))
