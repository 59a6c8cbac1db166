"""What the guards of a path ask: checks of sizes, or nothing, where a file fixes it anyway."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dvm import _dvm
from dvm.magpy_capture import Lowering
from dvm.magpy_capture.path.numbers import MOST, size_of
from dvm.magpy_capture.path.settled import CONTAINERS, is_number, registers_of
from dvm.saving.refusals import NeedsPythonError

#: comparisons of sizes as a graph has them, and what holds where one does not
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
OPPOSITES = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
#: guards on two arrays or objects, and whether these are one
OF_TWO = ("guard_same", "guard_overlap", "guard_shared", "guard_view")
#: guards on a value, and what it has to be; of all others, an argument is as in the example
OF_VALUES = {"guard_truth": None, "guard_value": None, "guard_is": None, "require": True}


def symbols_of(*sizes: _dvm.Dim | int) -> Iterator[str]:
    """Of which sizes are computed."""
    for size in sizes:
        if isinstance(size, int):
            continue
        if size.symbol is not None:
            yield size.symbol
        elif size.function is not None:
            yield from symbols_of(*size.function[1:])
        else:
            for _, factors in size.terms:
                yield from symbols_of(*factors)


Check = tuple[_dvm.Dim | int, str, _dvm.Dim | int]


class Checks:
    """The checks of one path.

    pinned: arguments that have to be as in the example, for something that is no check.
    """

    def __init__(self, lowering: Lowering) -> None:
        self._settled, self._makers = lowering.settled, lowering.program.maker_of
        self._graph = lowering.graph
        self.checks: list[Check] = []
        self.pinned: set[str] = set()

    def guard(self, name: str, *operands: Any) -> None:
        """Turn a guard on the call into checks; raises NeedsPythonError where it cannot be."""
        step = (name, *operands)
        open_ended = [r for r in registers_of(step) if not self._settled.is_settled(r)]
        if not open_ended:
            return
        if name in OF_TWO:
            if name == "guard_view" or operands[2]:
                names = [self._settled.name_of(r) or "a result" for r in operands[:2]]
                raise NeedsPythonError("'{}' and '{}' of the example share memory".format(*names))
            return
        if name not in OF_VALUES:
            if name in ("loop", "invoke", "raises"):
                raise NeedsPythonError(f"it has the step '{name}'")
            self._require_kind(name, open_ended[0])
            return
        register, wanted = operands[0], OF_VALUES[name] or operands[-1]
        if isinstance(self._settled.value_of(register), CONTAINERS):
            return  # what it has is among the arguments
        found = self._holds(register, wanted, is_truth=name in ("guard_truth", "require"))
        if found is None:
            self._pin(register)
        else:
            self.checks += found

    def _require_kind(self, name: str, register: int) -> None:
        """A guard on what a thing is, not on its value: it follows from what arguments are."""
        computed = self._makers(register)
        if self._settled.is_given(register) or computed is None:
            return
        if name != "guard_type" and self._size(register) is None:
            self._pin(register)

    def _pin(self, register: int) -> None:
        """Take the numbers among the arguments on which it depends as they are."""
        for each in self._origins(register):
            value = self._settled.value_of(each)
            name = self._settled.name_of(each)
            if not is_number(value):
                what = f"'{name}'" if name else "what it computes"
                raise NeedsPythonError(f"which way it goes depends on {what}")
            self.pinned.add(name)

    def _origins(self, register: int) -> list[int]:
        """What of the call the value in a register is computed of."""
        found: list[int] = []
        waiting, met = [register], {register}
        while waiting:
            each = waiting.pop()
            step = self._makers(each)
            parts = [] if step is None or self._settled.is_given(each) else registers_of(step)
            new = {part for part in parts if not self._settled.is_settled(part)}
            if not new:
                found.append(each)
            waiting += new - met
            met |= new
        return found

    def _holds(self, register: int, wanted: Any, *, is_truth: bool) -> list[Check] | None:
        """The checks that are as much as that the value is that one; None if none are."""
        step = self._makers(register)
        size = self._size(register)
        if isinstance(size, tuple):
            same = isinstance(wanted, tuple) and len(wanted) == len(size)
            return self._all_equal(size, wanted) if same else None
        if size is not None:
            if is_truth:
                return [(size, "ne" if wanted else "eq", 0)]
            return [(size, "eq", wanted)] if type(wanted) is int else None
        if step is None or step[0] != "operator" or not (is_truth or type(wanted) is bool):
            return None
        text, *operands = step[2:]
        if text in ("not", "bool", "truth"):
            return self._holds(operands[0], (text == "not") != bool(wanted), is_truth=True)
        if text not in COMPARISONS:
            return None
        left, right = map(self._size, operands)
        compare = COMPARISONS[text] if wanted else OPPOSITES[COMPARISONS[text]]
        if isinstance(left, tuple) and isinstance(right, tuple):
            fits = compare == "eq" and len(left) == len(right)
            return self._all_equal(left, right) if fits else None
        if any(self._is_beyond(each) for each in operands) and (left or right):
            return []  # of no size it can be otherwise
        if left is None or right is None or isinstance(left, tuple) or isinstance(right, tuple):
            return None
        return [(left, compare, right)]

    def _is_beyond(self, register: int) -> bool:
        """Whether it has an int that is none of a size."""
        known = self._settled.value_of(register)
        return self._settled.is_settled(register) and type(known) is int and abs(known) >= MOST

    @staticmethod
    def _all_equal(left: tuple[Any, ...], right: tuple[Any, ...]) -> list[Check]:
        return [(a, "eq", b) for a, b in zip(left, right, strict=True)]

    def _size(self, register: int) -> Any:
        """The size, or tuple of sizes, that a register has; None if it has another thing."""
        size = size_of(self._graph, register)
        if size is not None:
            return size
        step = self._makers(register)
        if step is None or step[0] not in ("tuple", "call"):
            return None
        if step[0] == "tuple":
            parts = tuple(map(self._size, step[2]))
            return None if None in parts else parts
        kind = self._settled.value_of(step[2])
        is_tuple = isinstance(kind, type) and issubclass(kind, tuple) and len(step[3]) == 1
        return self._size(step[3][0]) if is_tuple else None
