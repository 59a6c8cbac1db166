"""What a path knows of sizes, and what it asks of them on each call."""

from __future__ import annotations

import operator

from dvm import _dvm
from dvm.magpy_capture.path.layer import PathPart
from dvm.magpy_capture.path.numbers import MOST


class Sizes(PathPart):
    """Sizes of the recorded call, and for which others the path is."""

    needs = "graph program"

    def observed(self, dim: _dvm.Dim) -> int:
        """The size in the recorded call."""
        if dim.constant is not None:
            return int(dim.constant)
        return dim.evaluate(self.graph.symbol_values)

    def require_equal(self, a: _dvm.Dim, b: _dvm.Dim) -> None:
        """The path is for calls in which these sizes are equal."""
        self.program.require_all_equal([a], [b])

    def is_one(self, dim: _dvm.Dim) -> bool:
        """Whether the size is 1, which the path then is for."""
        return self.is_size(dim, 1)

    def is_size(self, dim: _dvm.Dim, size: int) -> bool:
        """Whether the size is that one, which the path then is for."""
        if dim.constant is not None:
            return bool(dim.constant == size)
        answer = self.observed(dim) == size
        test = self.program.operate(
            "==", self.program.register_of_dim(dim), self.program.constant(size)
        )
        self.program.guard("guard_truth", test, answer)
        return answer

    def exceeds_one(self, dim: _dvm.Dim) -> bool:
        """Whether the size is above 1, which the path then is for."""
        return self._asked(dim, ">")

    def is_not_one(self, dim: _dvm.Dim) -> bool:
        """Whether the size is not 1, which the path then is for: no elements have an order, too."""
        return self._asked(dim, "!=")

    def _asked(self, dim: _dvm.Dim, comparison: str) -> bool:
        compare = {">": operator.gt, "!=": operator.ne}[comparison]
        if dim.constant is not None:
            return bool(compare(dim.constant, 1))
        holds = bool(compare(self.observed(dim), 1))
        test = self.program.operate(
            comparison, self.program.register_of_dim(dim), self.program.constant(1)
        )
        self.program.guard("guard_truth", test, holds)
        return holds

    def is_at_most(self, a: _dvm.Dim, b: _dvm.Dim) -> bool:
        """Whether a <= b; where the sizes do not tell, the path is for one answer."""
        difference = b - a
        if difference.constant is not None:
            return bool(difference.constant >= 0)
        if difference.is_natural:
            return True
        holds = self.observed(difference) >= 0
        test = self.program.operate(
            "<=", self.program.register_of_dim(a), self.program.register_of_dim(b)
        )
        self.program.guard("guard_truth", test, holds)
        return holds

    def dim_of_int(self, register: int, seen: int) -> _dvm.Dim:
        """A computed or passed int as a size of either sign."""
        return self.graph.symbol_of_int("k", register, seen, -MOST)

    def size_of_int(self, register: int, seen: int) -> _dvm.Dim:
        """A computed int that is not negative, as a size."""
        return self.graph.symbol_of_int("n", register, seen, 0)

    def is_negative(self, dim: _dvm.Dim) -> bool:
        """Whether the size is below zero; where that is not plain, the path is for one answer."""
        if dim.constant is not None:
            return bool(dim.constant < 0)
        if dim.is_natural:
            return False
        negative = self.observed(dim) < 0
        test = self.program.operate(
            "<", self.program.register_of_dim(dim), self.program.constant(0)
        )
        self.program.guard("guard_truth", test, negative)
        return negative


__all__ = ["Sizes"]
