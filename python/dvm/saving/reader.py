"""Reads the steps of a path: where the arrays of its graph come from, and what it asks of sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dvm import _dvm, errors
from dvm.saving.values import Compared, Container, Foreign, Given, Known, Made, Size

#: comparisons of sizes, and what holds where one does not
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
OPPOSITES = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
#: arithmetic of sizes as texts have it
ARITHMETIC = {
    "+": "({} + {})",
    "-": "({} - {})",
    "*": "({} * {})",
    "//": "floordiv({}, {})",
    "%": "mod({}, {})",
}
#: guards, by how many registers they look at
GUARDS = {
    **dict.fromkeys(("guard_names", "guard_code", "guard_errstate"), 0),
    **dict.fromkeys(("guard_same", "guard_overlap", "guard_shared", "guard_view"), 2),
    **dict.fromkeys(
        (
            *("guard_is", "guard_type", "guard_signature", "guard_layout", "guard_value"),
            *("guard_length", "guard_truth", "guard_writeable", "guard_function", "guard_lacks"),
            *("guard_bare", "guard_keys"),
        ),
        1,
    ),
}
#: what others see of it, though a path may take it back
VISIBLE = ("call_random", "lend", "put", "lock")
#: how a fetched object is reached from the one before it
REACH: dict[str, Callable[[Any, Any], Any]] = {
    "attribute": lambda owner, name: _dvm.own_attribute(owner, name),
    "getattr": getattr,
    "item": lambda owner, index: owner[index],
    "key": lambda owner, key: owner[key],
}
#: what attributes of arrays say of their kind alone, which is that of the inputs of a graph
KINDS = ("device", "dtype", "layout", "ndim", "requires_grad", "is_nested", "is_cuda", "is_sparse")
#: between an object and what it holds, and no part of a name
HOLDERS = ("_modules", "_parameters", "_buffers", "__dict__")
NODE = re.compile(r"^  %(\d+) = (input|scalar) (\w+)\[(.*?)\](?: \{size = (\w+)\})?", re.M)
RETURN = re.compile(r"^  return.*$", re.M)
QUOTED_OR_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|\b[A-Za-z_]\w*\b')
RANGE = re.compile(r"^  symbol (\w+) in .*\n", re.M)
#: an axis of the array in a register, in the text of a size
AXIS = re.compile(r"<(\d+):(\d+)>")
CATEGORIES = {name: category for name, category, _ in _dvm.step_table}
SYNOPSES = {name: synopsis for name, _, synopsis in _dvm.step_table}


def refused(reason: str, at: tuple[str, int] = ("", 0)) -> errors.Error:
    """Return the exception for a call that is no graph alone."""
    where = f"{at[0]}:{at[1]}: " if at[0] else ""
    return errors.make(
        "capture_refused",
        f"{where}the call cannot be saved: {reason}",
        "save a function that computes arrays of its arguments and nothing else",
    )


@dataclass
class _Reader:
    """Reads the steps of a path, in their order."""

    arguments: dict[str, Any]
    registers: dict[int, Any] = field(default_factory=dict)
    checks: list[tuple[str, str, str]] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    inputs: dict[int, str] = field(default_factory=dict)  # by node of the graph
    results: dict[str, int] = field(default_factory=dict)  # nodes, by name
    at: tuple[str, int] = ("", 0)
    graph: str = ""
    sizes: dict[str, str] = field(default_factory=dict)  # of symbols that constants tell
    dims: dict[int, list[str]] = field(default_factory=dict)  # of arrays, by register
    fixed: set[int] = field(default_factory=set)  # registers that are as in the example

    def read(self, step: tuple[Any, ...]) -> None:
        name, *operands = step
        if name == "at":
            self.at = (operands[0], operands[1])
        elif name in GUARDS:
            self.guard(name, *operands)
        elif method := getattr(self, f"on_{name}", None):
            method(*operands)
        elif name in REACH:
            self.reach(name, *operands)
        elif CATEGORIES[name] in ("fetch", "compute") and name not in VISIBLE:
            self.registers[operands[0]] = Foreign(f"the step '{name}'", self.is_given(operands[1:]))
        else:
            raise self.refuse(f"it has the step '{name}', {SYNOPSES[name]}")

    def refuse(self, reason: str) -> errors.Error:
        return refused(reason, self.at)

    def is_given(self, operands: Any) -> bool:
        """Whether registers among the operands depend on the arguments of the call."""
        flat = [r for each in operands for r in (each if isinstance(each, list) else [each])]
        values = (self.registers.get(r) for r in flat if type(r) is int)
        return any(
            value.is_given if isinstance(value, Foreign) else not isinstance(value, Known | None)
            for value in values
        )

    # Where objects come from.

    def on_argument(self, register: int, slot: int) -> None:
        name = list(self.arguments)[slot]
        self.registers[register] = Given(self.arguments[name], name)

    def on_constant(self, register: int, value: Any) -> None:
        self.registers[register] = Known(value)

    def on_variable(self, register: int, namespace: dict[str, Any], name: str) -> None:
        self.registers[register] = Known(namespace[name], name)

    def on_cell(self, register: int, cell: Any) -> None:
        self.registers[register] = Known(cell.cell_contents)

    def on_contents(self, register: int, cell: int) -> None:
        held = self.registers[cell]
        is_known = isinstance(held, Known)
        self.registers[register] = (
            Known(held.object.cell_contents) if is_known else Foreign("a closure cell", True)
        )

    def reach(self, name: str, register: int, owner: int, key: Any) -> None:
        source = self.registers[owner]
        if not isinstance(source, Given | Known):
            self.registers[register] = Foreign(f"the step '{name}'", True)
            return
        is_part = isinstance(source, Given) and type(source.object) in (tuple, list, dict)
        if isinstance(source, Given) and not is_part and _is_array(source.object):
            if key in KINDS:
                self.registers[register] = Known(getattr(source.object, key))
                return
            self.registers[register] = Foreign(f"'{key}' of an array", True)
            return
        value = REACH[name](source.object, key)
        path = source.name if key in HOLDERS else f"{source.name}.{key}".lstrip(".")
        self.registers[register] = Given(value, path) if is_part else Known(value, path)

    # Sizes, and what is asked of them.

    def on_shape(self, register: int, array: int, axis: int) -> None:
        source = self.registers[array]
        if isinstance(source, Known):
            self.registers[register] = Known(int(source.object.shape[axis]))
        elif isinstance(source, Given):
            self.registers[register] = Size(f"<{array}:{axis}>")
        else:
            self.registers[register] = Foreign("the size of a result", True)

    def size(self, register: int) -> str | None:
        value = self.registers[register]
        if isinstance(value, Size):
            return value.text
        return str(value.object) if isinstance(value, Known) and type(value.object) is int else None

    def on_operator(self, register: int, operator: str, a: int, b: int = -1) -> None:
        left, right = self.size(a), None if b < 0 else self.size(b)
        if left is None or right is None or not self.is_given([a, b]):
            given = self.is_given([a] if b < 0 else [a, b])
            self.registers[register] = Foreign(f"the operator '{operator}'", given)
        elif operator in COMPARISONS:
            self.registers[register] = Compared(left, COMPARISONS[operator], right)
        elif operator in ARITHMETIC:
            self.registers[register] = Size(ARITHMETIC[operator].format(left, right))
        else:
            self.registers[register] = Foreign(f"the operator '{operator}' on sizes", True)

    def on_call(
        self, register: int, function: int, args: list[int], _: Any, unknown: bool = False
    ) -> None:
        called = self.registers[function]
        name = getattr(getattr(called, "object", None), "__name__", "a function")
        if unknown:
            raise self.refuse(f"it calls {name}, which dvm does not know")
        texts = [self.size(each) for each in args]
        if name == "bcast" and None not in texts and self.is_given(args):
            self.registers[register] = Size("bcast({}, {})".format(*texts))
        else:
            self.registers[register] = Foreign(f"a call of {name}", self.is_given([function, args]))

    def on_require(self, register: int) -> None:
        self.guard("guard_truth", register, True)

    def guard(self, name: str, *operands: Any) -> None:
        if GUARDS[name] == 2 and (name == "guard_view" or operands[2]):
            one, other = (self.registers[r] for r in operands[:2])
            if isinstance(one, Given) and isinstance(other, Given):
                raise self.refuse(f"'{one.name}' and '{other.name}' of the example share memory")
        for register in operands[: GUARDS[name]]:
            value = self.registers[register]
            if name in ("guard_value", "guard_truth", "guard_is"):
                self.fixed.add(register)
            if isinstance(value, Size) and name == "guard_value":
                self.checks.append((value.text, "eq", str(operands[1])))
            elif isinstance(value, Size) and name == "guard_truth":
                self.checks.append((value.text, "ne" if operands[1] else "eq", "0"))
            elif isinstance(value, Compared) and name in ("guard_truth", "guard_value", "guard_is"):
                compare = value.compare if operands[1] else OPPOSITES[value.compare]
                self.checks.append((value.left, compare, value.right))
            elif isinstance(value, Foreign) and value.is_given:
                raise self.refuse(f"which way it goes depends on {value.what}")
            elif isinstance(value, Made):
                raise self.refuse("which way it goes depends on what it computes")

    # The graph.

    def on_run(
        self, graph: Any, inputs: list[int], scalars: list[int], outputs: Any, *_: Any
    ) -> None:
        if self.graph:
            raise self.refuse("it has several graphs, with steps of Python in between")
        self.graph = str(graph)
        registers = {"input": iter(inputs), "scalar": iter(scalars)}
        replaced: dict[str, str] = {}
        for node, kind, dtype, sizes, symbol in NODE.findall(self.graph):
            register = next(registers[kind])
            source = self.registers[register]
            dims = self.dims.setdefault(register, _split(sizes))
            if isinstance(source, Given) and register not in self.fixed:
                self.inputs[int(node)] = self.unique(source.name, self.inputs.values())
            elif kind == "input" and isinstance(source, Known):
                replaced[node] = self.constant(source, dtype, dims)
            elif kind == "scalar" and not symbol and isinstance(source, Known):
                replaced[node] = f"constant {dtype}[] {{value = {_number(source.object)}}}"
            elif kind == "scalar" and not symbol and isinstance(source, Size):
                replaced[node] = f"dim {dtype}[] {{size = {self.told(source.text)}}}"
            else:
                what = getattr(source, "what", "a number that the way it goes depends on")
                raise self.refuse(f"its graph is given {what}")
        for value, register, _, axes, target in outputs:
            usual = axes is None and target < 0
            self.registers[register] = (
                Made(value) if usual else Foreign("the memory order of its results", True)
            )
        self.graph = NODE.sub(
            lambda m: f"  %{m[1]} = {replaced[m[1]]}" if m[1] in replaced else m[0], self.graph
        )

    def told(self, text: str) -> str:
        """A size with the symbols of the graph for those of arrays."""

        def dim(match: re.Match[str]) -> str:
            if (known := self.dims.get(int(match[1]))) is None:
                raise self.refuse("it looks at the size of an array that its graph does not read")
            return f"({known[int(match[2])]})"

        return AXIS.sub(dim, text)

    def settled(self, text: str) -> str:
        """A text with the numbers for symbols that are sizes of constants."""
        return QUOTED_OR_NAME.sub(lambda m: self.sizes.get(m[0], m[0]), text)

    def constant(self, source: Known, dtype: str, dims: list[str]) -> str:
        elements = _elements_of(source.object)
        shape = [str(int(size)) for size in elements.shape]
        for dim, size in zip(dims, shape, strict=True):
            if re.fullmatch(r"[A-Za-z_]\w*", dim):
                self.sizes[dim] = size
        name = self.unique(source.name or "constant", self.constants)
        self.constants[name] = elements
        return f'tensor {dtype}[{", ".join(shape)}] {{name = "{name}"}}'

    @staticmethod
    def unique(name: str, taken: Any) -> str:
        name = re.sub(r"[^\w.]", "_", name)
        names = [name, *(f"{name}_{k}" for k in range(1, len(taken) + 1))]
        return next(each for each in names if each not in taken)

    # What the call gives.

    def on_forget(self, register: int | None = None) -> None:
        pass

    def on_commit(self) -> None:
        pass

    def on_tuple(self, register: int, items: list[int]) -> None:
        self.registers[register] = Container(
            {f"y{k}": self.registers[r] for k, r in enumerate(items)}
        )

    on_list = on_tuple

    def on_dict(self, register: int, items: list[int]) -> None:
        keys = [getattr(self.registers[r], "object", None) for r in items[::2]]
        values = [self.registers[r] for r in items[1::2]]
        self.registers[register] = Container(dict(zip(map(str, keys), values, strict=True)))

    def on_dict_fill(self, register: int, items: list[int]) -> None:
        if not isinstance(self.registers[register], Container):
            raise self.refuse("it changes a dict that is not its own")
        self.on_dict(register, items)

    def on_return(self, register: int) -> None:
        value = self.registers[register]
        items = value.items if isinstance(value, Container) else {"y": value}
        for name, item in items.items():
            if not isinstance(item, Made):
                why = f": {item.what}" if isinstance(item, Foreign) else ""
                raise self.refuse(f"its result '{name}' is no array that it computes{why}")
            self.results[name] = item.value

    def finish(self) -> str:
        """The text of the graph, with the results of the call as its own; checks are final then."""
        if not self.graph:
            raise self.refuse("it computes no array")
        returned = ", ".join(f"%{value}" for value in self.results.values())
        text = self.settled(RETURN.sub(f"  return {returned}", self.graph))
        asked = [
            (self.settled(self.told(a)), c, self.settled(self.told(b))) for a, c, b in self.checks
        ]
        self.checks = list(dict.fromkeys(asked))
        return RANGE.sub(lambda m: "" if m[1].isdigit() else m[0], text)


def read(steps: list[tuple[Any, ...]], arguments: dict[str, Any]) -> _Reader:
    """Return what the steps of a path say; CaptureError where they need Python.

    arguments: of the recorded call, by name, in the order of their slots.
    """
    reader = _Reader(arguments)
    for step in steps:
        reader.read(step)
    return reader


def _split(sizes: str) -> list[str]:
    """The sizes of a shape, which may have commas within brackets."""
    parts, depth = [""], 0
    for letter in sizes:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts] if sizes.strip() else []


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _number(value: Any) -> str:
    """A Python number as the text of a graph has it."""
    if isinstance(value, float):
        return value.hex() if value - value == 0 else str(value)
    return str(int(value))


def _elements_of(array: Any) -> Any:
    """What NumPy reads of an array or a tensor, whose bits a bfloat16 is to NumPy."""
    if not hasattr(array, "detach"):
        return array
    import torch

    tensor = array.detach()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
