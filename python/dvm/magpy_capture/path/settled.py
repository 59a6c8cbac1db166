"""What of a path is the same in each call that a file is for: all but arrays and numbers given.

Where a path is for a file, objects of the program are what they are at that moment. Its arrays are
constants of the graph, its numbers and sizes are known, and no guard on them is needed again.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from collections.abc import Sequence as SequenceOf
from typing import Any

from dvm import _dvm, classes
from dvm.magpy_capture.libraries import CLOCKS_OF, LIBRARIES, is_array, is_scalar
from dvm.magpy_capture.library import Array
from dvm.magpy_capture.path.layer import PathPart
from dvm.magpy_capture.path.spec import Example, Step
from dvm.magpy_capture.values.tables import CLOCKS, OPERATORS

OPERANDS = {name: operands for name, _, operands, _ in _dvm.step_table}
CATEGORIES = {name: category for name, category, *_ in _dvm.step_table}
#: of category compute, and yet not told by their operands
UNTOLD = frozenset({"run", "call_random", "lend", "put", "lock"})
CONTAINERS = (tuple, list, dict)
#: numbers in longer containers are data, in whatever order the program meets them
MOST_BY_PLACE = 256
#: between an object and what it holds, and no part of a name
HOLDERS = ("_modules", "_parameters", "_buffers", "__dict__")
#: what attributes of arrays say of their kind alone
OF_KIND = frozenset("device dtype is_cuda is_nested is_sparse layout ndim requires_grad".split())
#: steps that reach a part of what their first operand is
PARTS = ("attribute", "class_attribute", "getattr", "item", "key")


def called(function: Any, given: list[Any], names: SequenceOf[str], *_: Any) -> Any:
    split = len(given) - len(names)
    return function(*given[:split], **dict(zip(names, given[split:], strict=True)))


ONE: dict[str, Any] = OPERATORS["unary"] | {
    each.__name__: each for each in (abs, bool, float, int, len, str)
}
TWO: dict[str, Any] = {**OPERATORS["binary"], **OPERATORS["compare"], "getitem": operator.getitem}


def operated(text: str, *operands: Any) -> Any:
    function = (ONE if len(operands) == 1 else TWO).get(text)
    return _dvm.MISSING if function is None else function(*operands)


#: step -> what it gives, of what its operands are; others are not asked for
MEANINGS: dict[str, Callable[..., Any]] = {
    "constant": lambda value: value,
    "variable": operator.getitem,
    "cell": lambda cell: cell.cell_contents,
    "cell_of": lambda function, place: function.__closure__[place],
    "contents": lambda cell: cell.cell_contents,
    "attribute": _dvm.own_attribute,
    "class_attribute": classes.lookup,
    "getattr": getattr,
    "item": operator.getitem,
    "key": operator.getitem,
    "shape": lambda array, axis: int(array.shape[axis]),
    "operator": operated,
    "tuple": tuple,
    "list": list,
    "slice": lambda parts: slice(*parts),
    "call": called,
}


def is_clock(function: Any) -> bool:
    return any(function is each for each in (*CLOCKS, *CLOCKS_OF))


def is_number(value: Any) -> bool:
    """Whether it is a number that a graph can be given."""
    return isinstance(value, (bool, int, float)) or is_scalar(value)


def is_of_same_array(function: Any) -> bool:
    """Whether it gives an array as the graph reads it."""
    return any(function is each for of in LIBRARIES for each in (of.as_array, of.transpose))


def registers_of(step: Step) -> Iterator[int]:
    """Those that the step reads."""
    name, *operands = step
    for letter, operand in zip(OPERANDS[name], operands, strict=False):
        if letter == "r" or (letter == "q" and operand is not None and operand >= 0):
            yield operand
        elif letter == "R":
            yield from operand


class Settled(PathPart):
    """Tells what of one path is settled; nothing is where the path is for no file.

    is_saved: whether it is for one. arguments: names and values, by slot. pinned: names of those
    that are as in the example in each call.
    """

    needs = "program"

    def __init__(self, example: Example | None) -> None:
        self.is_saved = example is not None
        self.arguments = [] if example is None else [*example.arguments]
        self.pinned = frozenset() if example is None else example.pinned
        self.constants: dict[str, tuple[Array, tuple[int, ...]]] = {}  # and its axes in memory
        self._is_settled: dict[int, bool] = {}
        self._values: dict[int, Any] = {}
        self.known_sizes: dict[int, _dvm.Dim | None] = {}  # what numbers.py has found, by register
        self.known_doubles: dict[int, int | None] = {}

    def is_settled(self, register: int) -> bool:
        """Whether each call has the same there."""
        if not self.is_saved:
            return False
        if register not in self._is_settled:
            step = self.program.maker_of(register)
            self._is_settled[register] = step is not None and self._tells_same(step)
        return self._is_settled[register]

    def _tells_same(self, step: Step) -> bool:
        name, register, *operands = step
        if CATEGORIES[name] not in ("fetch", "compute") or name in UNTOLD:
            return False
        if name == "call" and (operands[-1] is True or is_clock(self.value_of(operands[0]))):
            return False  # of a function of which nothing is known, or that tells the time
        if self.is_given(register):
            value = self.value_of(register)
            is_open = isinstance(value, CONTAINERS) or is_array(value) or is_number(value)
            return not is_open or self.name_of(register) in self.pinned
        if name in ("attribute", "getattr") and self.is_given(operands[0]):
            return operands[1] in OF_KIND or not is_array(self.value_of(operands[0]))
        return all(map(self.is_settled, registers_of(step)))

    def place_of(self, register: int) -> tuple[int, ...]:
        """Where it is among the arguments and what lies in them; behind all of them, if nowhere."""
        step = self.program.maker_of(register)
        if step is None:
            return (len(self.arguments),)
        name, _, *operands = step
        if name == "argument":
            return (operands[0],)
        if name == "call" and is_of_same_array(self.value_of(operands[0])):
            return self.place_of(operands[1][0])
        if name not in ("item", "key") or not self.is_given(register):
            return (len(self.arguments),)
        holder, key = self.value_of(operands[0]), operands[1]
        place = list(holder).index(key) if name == "key" else key % len(holder)
        return (*self.place_of(operands[0]), place)

    def given(self) -> Iterator[tuple[int, Any]]:
        """Arrays and numbers among the arguments and in containers there, by place."""
        for slot, (_, value) in enumerate(self.arguments):
            yield from self._within(("argument", slot), value, [])

    def _within(
        self, step: tuple[Any, ...], value: Any, around: list[Any]
    ) -> Iterator[tuple[int, Any]]:
        is_open = type(value) in CONTAINERS and len(value) <= MOST_BY_PLACE
        is_part = is_open or type(value) in (int, float) or is_array(value)
        if not is_part or any(value is each for each in around):
            return
        register = self.program.step(*step, key=step)
        if not is_open:
            yield register, value
            return
        is_dict = type(value) is dict
        for key, part in [*(value.items() if is_dict else enumerate(value))]:
            part_step = ("key" if is_dict else "item", register, key)
            yield from self._within(part_step, part, [*around, value])

    def is_given(self, register: int) -> bool:
        """Whether it is an argument, or lies in a container that is one."""
        step = self.program.maker_of(register)
        if step is None or not self.is_saved:
            return False
        if step[0] in ("item", "key"):
            return self.is_given(step[2])
        return bool(step[0] == "argument")

    def value_of(self, register: int) -> Any:
        """What is there in the example, of what is settled or given; MISSING if nothing tells."""
        if register not in self._values:
            step = self.program.maker_of(register)
            known = self.is_given(register) or self.is_settled(register)
            self._values[register] = self._value(*step) if step and known else _dvm.MISSING
        return self._values[register]

    def _value(self, name: str, _: int, *operands: Any) -> Any:
        if name == "argument":
            return self.arguments[operands[0]][1]
        if name not in MEANINGS:
            return _dvm.MISSING
        known: list[Any] = []
        for letter, operand in zip(OPERANDS[name][1:], operands, strict=False):
            of_registers = operand if letter == "R" else [operand] if letter in "rq" else []
            values = [self.value_of(each) for each in of_registers]
            if any(value is _dvm.MISSING for value in values):
                return _dvm.MISSING
            known.append(values if letter == "R" else values[0] if values else operand)
        return MEANINGS[name](*known)

    def name_of(self, register: int) -> str:
        """How the program comes by it: `layers.0.weight`; of what it computes, none."""
        step = self.program.maker_of(register)
        if step is None:
            return ""
        name, _, *operands = step
        if name == "argument":
            return self.arguments[operands[0]][0]
        if name == "call" and is_of_same_array(self.value_of(operands[0])):
            return self.name_of(operands[1][0])
        if not (self.is_given(register) or self.is_settled(register)):
            return ""
        if name == "variable":
            return str(operands[1])
        if name == "operator" and operands[0] == "getitem":
            return self.name_of(operands[1])
        if name not in PARTS:
            return ""
        before, key = self.name_of(operands[0]), operands[1]
        holder = self.value_of(operands[0])
        if name == "item" and key < 0 and isinstance(holder, CONTAINERS):
            key += len(holder)
        return before if key in HOLDERS else f"{before}.{key}".lstrip(".")

    # ---- what the graph is told

    def keep(self, register: int, array: Array, order: SequenceOf[int]) -> str:
        """The name of the constant that a settled array is, its axes in that order."""
        name = re.sub(r"[^\w.]", "_", self.name_of(register)) or "constant"
        names = [name, *(f"{name}_{k}" for k in range(1, len(self.constants) + 1))]
        name = next(each for each in names if each not in self.constants)
        self.constants[name] = array, tuple(order)
        return name


__all__ = ["CATEGORIES", "CONTAINERS", "UNTOLD", "Settled", "is_number", "registers_of"]
