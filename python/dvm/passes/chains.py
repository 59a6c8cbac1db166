"""Sums, products and the like of patterns, with their operands as one list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dvm.passes.terms import Term

#: what puts a chain together, by what the core calls it
HEADS = {
    **{op: op for op in ("add", "mul", "maximum", "minimum")},
    **{
        f"{kind}_{op}": f"{kind}_{op}"
        for kind in ("bitwise", "logical")
        for op in ("and", "or", "xor")
    },
    "sub": "add",
    "div": "mul",
    "reciprocal": "mul",
}


class Chain:
    """The operands of a term, and of what it is put together of.

    operands: each with whether a sum subtracts it, or a product divides by it.
    is_negative: whether it is a product times -1.
    """

    def __init__(self, term: Term, uses: Mapping[int, int]) -> None:
        self._uses = uses
        self.head = self._head_of(term)
        self.operands: list[tuple[Term, bool]] = []
        self.is_negative = False
        self._open(term, False)

    @property
    def is_nothing(self) -> bool:
        """Whether it is a chain of one operand that is that operand, as -(-x) is x."""
        is_one = self.head != "" and len(self.operands) == 1
        return is_one and not self.is_negative and not self.operands[0][1]

    def _head_of(self, term: Term) -> str:
        """The op of a chain; none where it is none. A negative sum is one of negatives."""
        op = term.more["op"]
        if op != "neg":
            return HEADS.get(op, "")
        (inner,) = term.operands
        is_sum = inner.kind == "op" and self._is_link(inner) and self._head_of(inner) == "add"
        return "add" if is_sum else "mul"

    def _is_link(self, term: Term) -> bool:
        """Whether a term is nothing but a part of the chain; what occurs twice is one value."""
        return self._uses[id(term)] == 1

    def _open(self, term: Term, is_inverse: bool) -> None:
        op, operands = term.more["op"], term.operands
        if op == "neg":
            self.is_negative ^= self.head == "mul"
            self._add(operands[0], is_inverse ^ (self.head == "add"))
        elif op == "reciprocal":
            self._add(operands[0], not is_inverse)
        elif op in ("sub", "div"):
            # What is subtracted from nothing, and what divides one.
            if not _is_number(operands[0], 0.0 if op == "sub" else 1.0):
                self._add(operands[0], is_inverse)
            self._add(operands[1], not is_inverse)
        else:
            for operand in operands:
                self._add(operand, is_inverse)

    def _add(self, term: Term, is_inverse: bool) -> None:
        if self.head == "mul" and _is_number(term, -1.0):
            self.is_negative = not self.is_negative
            return
        if term.kind == "op" and self._is_link(term):
            goes_on = term.more["op"] == "neg" if self.head in ("add", "mul") else False
            if goes_on or self._head_of(term) == self.head:
                self._open(term, is_inverse)
                return
        self.operands.append((term, is_inverse))


def _is_number(term: Term, value: float) -> bool:
    return term.kind == "number" and term.more == {"value": value, "tolerance": 0.0}
