"""Sizes of torch's graphs, which are sympy expressions, as Dims."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import sympy
import torch
from torch.utils._sympy import functions as sizes

from dvm import _dvm
from dvm.torch.sizes import Size

# A Dim holds no greater ones; torch's "no bound" is greater than every number.
MOST = 2**62


class Untranslatable(Exception):
    """What no Dim, dtype or node of the Graph stands for."""


def expression(value: Any) -> Any:
    """Return what a size is computed by: a sympy expression, or an int."""
    return value.node.expr if isinstance(value, torch.SymInt) else value


class Symbols:
    """The symbols of one Graph, by their names in torch's graph.

    shape_env: what torch knows of its symbols; None where there are none.
    given: sizes among the arguments, tensors' and numbers. What is computed from sizes that are
        themselves no arguments, as happens between forward and backward, is a symbol of its own.
    """

    def __init__(self, graph: _dvm.Graph, shape_env: Any, given: Iterable[Any]) -> None:
        self._graph = graph
        self._ranges = shape_env.var_to_range if shape_env else {}
        self._equal = dict(_equalities(shape_env)) if shape_env else {}
        given = [e for e in map(expression, given) if isinstance(e, sympy.Expr)]
        bound = {e for e in given if isinstance(e, sympy.Symbol)}
        self._stand_ins: dict[Any, sympy.Symbol] = {}
        for e in given:
            if not e.free_symbols <= bound and e not in self._stand_ins:
                self._stand_ins[e] = sympy.Symbol(f"e{len(self._stand_ins)}", integer=True)

    def dim(self, size: Any) -> Size:
        """Return a size of torch's as one of the Graph's; raises Untranslatable."""
        e = expression(size)
        e = self._equal.get(e, e)
        if isinstance(e, sympy.Expr) and e.has(sizes.FloorDiv):
            e = e.replace(sizes.FloorDiv, _quotient)
            e = self._equal.get(e, e)
        if isinstance(e, int):
            return e
        if self._stand_ins and e.free_symbols:
            e = e.subs(self._stand_ins)
        size_of: Size = self._dim(e)
        return size_of

    def shape(self, tensor: Any) -> list[Size]:
        return [self.dim(size) for size in tensor.shape]

    def symbol_of(self, size: Any) -> _dvm.Dim | None:
        """Return the symbol that an argument defines, None for one that is computed from others."""
        e = self._stand_ins.get(expression(size), expression(size))
        return self._symbol(e) if isinstance(e, sympy.Symbol) else None

    def _symbol(self, symbol: sympy.Symbol) -> _dvm.Dim:
        known = self._ranges.get(symbol)
        if known is None:
            return self._graph.symbol(symbol.name)
        lo, hi = (
            self._bound(end, default) for end, default in ((known.lower, 0), (known.upper, MOST))
        )
        return self._graph.symbol(symbol.name, max(lo, -MOST), min(hi, MOST))

    @staticmethod
    def _bound(end: Any, default: int) -> int:
        return int(end) if getattr(end, "is_Integer", False) else default

    def _dim(self, e: Any) -> Any:
        if isinstance(e, sympy.Integer):
            return int(e)
        if isinstance(e, sympy.Symbol):
            return self._symbol(e)
        parts: list[Any] = [self._dim(part) for part in e.args]
        match e:
            case sympy.Add():
                return _joined(parts, lambda a, b: a + b)
            case sympy.Mul():
                return _joined(parts, lambda a, b: a * b)
            case sympy.Pow(exp=sympy.Integer() as power) if power > 0:
                return _joined([parts[0]] * int(power), lambda a, b: a * b)
            case sizes.FloorDiv() | sizes.CleanDiv():
                return self._as_dim(parts[0]) // parts[1]
            case sizes.CeilDiv():
                return 0 - ((0 - self._as_dim(parts[0])) // parts[1])
            case sizes.PythonMod() | sizes.Mod():
                return self._as_dim(parts[0]) % parts[1]
            case sizes.ModularIndexing():
                return (self._as_dim(parts[0]) // parts[1]) % parts[2]
            case sizes.Max() | sympy.Max():
                return _joined([self._as_dim(p) for p in parts], lambda a, b: a.max(b))
            case sizes.Min() | sympy.Min():
                return _joined([self._as_dim(p) for p in parts], lambda a, b: a.min(b))
        raise Untranslatable(f"the size {e}")

    def _as_dim(self, size: Size) -> _dvm.Dim:
        return self._graph.size(size) if isinstance(size, int) else size


@functools.lru_cache(1024)
def _quotient(dividend: Any, divisor: Any) -> Any:
    """Return dividend // divisor, without a division where none remains, as of s * s by s.

    Sizes that the Graph compares by their form come from torch divided and undivided.
    """
    if divisor.free_symbols:
        exact = sympy.cancel(dividend / divisor)
        if exact.is_polynomial() and sympy.denom(exact) == 1:
            return exact
    return sizes.FloorDiv(dividend, divisor)


def _equalities(shape_env: Any) -> Iterator[tuple[Any, Any]]:
    """What torch has a guard for that it equals a symbol, or a number."""
    for guard in shape_env.guards:
        if isinstance(guard.expr, sympy.Eq):
            left, right = guard.expr.args
            if not isinstance(right, sympy.Symbol | sympy.Integer):
                left, right = right, left
            if isinstance(right, sympy.Symbol | sympy.Integer) and left.args:
                yield left, right


def _joined(parts: list[Any], join: Any) -> Size:
    first: Size
    first, *rest = parts
    for part in rest:
        first = join(first, part)
    return first
