"""The steps of one path under construction: registers, guards, host operations.

Guards and fetches are emitted where the lowering first needs them. Nothing that a step before
`commit` does is visible, so their order is free; it follows the recorded execution, and paths that
differ late share their beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from typing import Any

from dvm import _dvm, classes, reasons
from dvm.magpy_capture.libraries import is_told
from dvm.magpy_capture.path.deadline import Deadline
from dvm.magpy_capture.path.layer import PathPart
from dvm.magpy_capture.path.spec import (
    Location,
    NotCapturable,
    PathSpec,
    Step,
    Steps,
    refuse,
)
from dvm.magpy_capture.values import (
    Abstract,
    DictValue,
    FunctionValue,
    Hidden,
    Host,
    IdNumber,
    Instance,
    ListValue,
    Literal,
    OpenSet,
    Raised,
    RangeValue,
    Sequence,
    SetValue,
    Size,
    SliceValue,
    Tensor,
    caller_register,
    of_key,
    resolve,
)

#: Steps in which NumPy itself may run.
CALLS = frozenset({"call", "call_random", "raises", "operator"})

#: Of a path: reads of a list that an unrolled loop changes are compared with all changes before.
MOST_STEPS = 200_000

#: Text of more characters is data, which a path that compares it would keep alive.
LONG_TEXT = 256

#: In guards on names: the name must not exist.

#: Exact types of which equal values are interchangeable.
PINNED = (int, float, bool, str, bytes, complex, type(None), tuple, range, slice)


def bcast(a: int, b: int) -> int:
    """The size two broadcast sizes give: the other one where one is 1."""
    return b if a == 1 else a


def is_long_text(seen: Any) -> bool:
    """Whether it is one, or holds one that would be compared with it."""
    if type(seen) in (tuple, set, frozenset):
        return any(map(is_long_text, seen))
    return type(seen) in (str, bytes) and len(seen) > LONG_TEXT


#: function of sizes -> the operator of Python that it is, or what computes it
DIM_OPERATORS = {"floordiv": "//", "mod": "%"}
DIM_FUNCTIONS: dict[str, Callable[[int, int], int]] = {"max": max, "min": min, "bcast": bcast}

#: steps that may find something else behind a call of which nothing is known
STALE = ("operator", "getattr", "class_attribute", "remake")


class Program(PathPart):
    """Steps, and the registers that hold what they made."""

    needs = "materialiser"

    def __init__(self, spec: PathSpec, deadline: Deadline) -> None:
        self.spec = spec
        self.deadline = deadline
        self.steps = Steps()
        self._makers: dict[int, Step] = {}  # register -> the step whose result it holds
        self._registers = 0
        self.calls_made = 0  # of the host, which may warn
        self.known_steps: dict[tuple[Any, ...], int] = {}  # pure step -> its register
        self._names: list[tuple[Any, ...]] | None = None
        self._guarded: set[tuple[Any, ...]] = set()
        self.kept: list[Any] = []  # objects whose identity is part of a key
        self._local: dict[
            int, tuple[str, Location]
        ] = {}  # by id: of what only the recorded call has
        self.symbol_homes: dict[str, tuple[int, int]] = {}  # symbol -> (array's register, axis)
        self._dim_registers: dict[_dvm.Dim, int] = {}  # -> register of a Python int
        self.int_sizes: dict[int, _dvm.Dim] = {}  # that registers hold as Python ints
        self.int_homes: dict[str, int] = {}  # symbol -> register of a Python int
        self.int_dims: dict[str, _dvm.Dim] = {}

    # ---- steps

    @property
    def at(self) -> Location:
        """The line of the event being lowered."""
        return self.steps.at

    def register(self) -> int:
        if self._registers == MOST_STEPS:
            raise refuse(reasons.PATH_MORE_STEPS, MOST_STEPS)
        self._registers += 1
        return self._registers - 1

    def step(self, name: str, *operands: Any, key: tuple[Any, ...] | None = None) -> int:
        """Emit a step with a result, or reuse the register of an equal pure one."""
        if key is not None and key in self.known_steps:
            return self.known_steps[key]
        self.calls_made += name in CALLS
        result = self.register()
        self._makers[result] = (name, result, *operands)
        self.steps.append(self._makers[result])
        if key is not None:
            self.known_steps[key] = result
        return result

    def constant(self, value: Any) -> int:
        self.check_shared(value)
        self.kept.append(value)
        return self.step("constant", value, key=("constant", id(value)))

    def maker_of(self, register: int) -> Step | None:
        """The step whose only result a register holds."""
        return self._makers.get(register)

    def forget_results(self) -> None:
        """What was read from host arrays so far is to be read again."""
        for key in [key for key in self.known_steps if key[0] in STALE]:
            del self.known_steps[key]

    # ---- what only the recorded call has

    def make_local(self, thing: Any, name: str) -> None:
        """A class that the program defines, or a part of it: another call has another one."""
        self.kept.append(thing)
        self._local.setdefault(id(thing), (name, self.at))

    def is_local(self, thing: Any) -> bool:
        return id(thing) in self._local

    def check_shared(self, thing: Any) -> None:
        """What a step holds is the same on every call."""
        if self._local and id(thing) in self._local:
            name, at = self._local[id(thing)]
            raise NotCapturable(reasons.LOCAL_CLASS_LEAVES(name), at)

    def argument(self, place: int) -> int:
        """The register of an argument of the call, by parameter slot."""
        return self.step("argument", place, key=("argument", place))

    def item(self, container: int, place: int) -> int:
        """The register of an element of a tuple or a list."""
        return self.step("item", container, place, key=("item", container, place))

    # ---- guards

    def guard(self, name: str, *operands: Any, key: tuple[Any, ...] | None = None) -> None:
        """Emit a guard once; after it other paths may branch off."""
        mark = (name, *(key if key is not None else operands))
        if mark in self._guarded:
            return
        if name == "guard_value" and is_long_text(operands[1]):
            raise refuse(reasons.LONG_TEXT, LONG_TEXT)
        self._guarded.add(mark)
        self.steps.append((name, *operands))
        if name in ("guard_truth", "guard_same", "guard_overlap", "guard_shared", "guard_value"):
            self._names = None

    def guard_name(self, scope: dict[str, Any] | type, name: str, seen: Any) -> None:
        """`name` in a dict or a class is bound to `seen` (MISSING: is not bound)."""
        mark = ("name", id(scope), name)
        if mark in self._guarded:
            return
        self._guarded.add(mark)
        if self._names is None:
            self._names = []
            self.steps.append(("guard_names", self._names))
        self._names.append((scope, name, seen))

    def guard_is(self, register: int, seen: Any) -> None:
        self.kept.append(seen)
        self.guard("guard_is", register, seen, key=(register, id(seen)))

    def guard_type(self, register: int, seen: Any) -> None:
        self.guard("guard_type", register, type(seen), key=(register, id(type(seen))))

    # ---- host values

    def by_identity(self, value: Abstract) -> Abstract:
        """A function as the one object that it is on every call."""
        value = resolve(value)
        if not isinstance(value, FunctionValue):
            return value
        self.guard_is(value.register, value.object)
        return Literal(value.object)

    def register_of(self, value: Abstract) -> int:
        """A register with `value` as a host object of its present content.

        Containers that the program made or changed are built anew, which is right for pure
        callees only.
        """
        value = resolve(value)
        if isinstance(value, Literal):
            return self.constant(value.object)
        if isinstance(value, (Host, Raised, FunctionValue)):
            return value.register
        if isinstance(value, Size):
            return self.register_of_dim(value.dim)
        if isinstance(value, Tensor):
            return self.materialiser.tensor_register(value)
        if isinstance(value, Sequence):
            if value.register >= 0 and not self.holds_written(value):
                len(value.elements)  # what a callee sees of it is guarded
                return value.register
            parts = [self.register_of(part) for part in value.elements]
            made = self.step("tuple", parts)
            if value.cls is tuple:
                return made
            maker = self.constant(value.maker)
            return self.step("call", maker, [made], ())
        if isinstance(value, (ListValue, SetValue, DictValue, Instance)):
            return self.container_register(value)
        if isinstance(value, IdNumber) and (own := caller_register(value.of)) >= 0:
            return self.step("call", self.constant(id), [own], ())
        if isinstance(value, OpenSet) and not value.changed:
            return value.register
        if isinstance(value, SliceValue):
            if value.register < 0:
                parts = [self.register_of(part) for part in (value.start, value.stop, value.step)]
                value.register = self.step("slice", parts)
            return value.register
        if isinstance(value, RangeValue):
            parts = [self.register_of(part) for part in (value.start, value.stop, value.step)]
            return self.step("call", self.constant(range), parts, ())
        raise refuse(reasons.HOST_OBJECT, describe(value))

    def container_register(self, value: Abstract) -> int:
        if isinstance(value, Instance):
            if value.register < 0 or value.changed or getattr(value.content, "changed", False):
                raise refuse(reasons.OBJECT_TYPE_CALL_RECEIVES, classes.name_of(value.cls))
            return value.register
        if value.register >= 0 and not value.changed and not self.holds_written(value):
            if isinstance(value, ListValue):
                len(value.elements)  # what a callee sees of it is guarded
            return int(value.register)
        if isinstance(value, DictValue) and value.cls is not dict:
            raise refuse(reasons.DEFAULTDICT_CALL_RECEIVES)
        if isinstance(value, ListValue):
            return self.step("list", [self.register_of(part) for part in value.elements])
        if isinstance(value, SetValue):
            parts = [self.register_of(of_key(part)) for part in value.elements]
            return self.step("set", parts)
        flat: list[int] = []
        for key, item in value.items.items():
            flat += [self.register_of(of_key(key)), self.register_of(item)]
        return self.step("dict", flat)

    def holds_written(self, container: Abstract) -> bool:
        """Whether a container of the caller holds arrays that the path has written since.

        The writes reach the caller's arrays at the end; until then a callee needs others.
        """
        if not self.materialiser.has_written_arrays():
            return False
        seen: set[int] = set()
        stack = [container]
        while stack:
            value = resolve(stack.pop())
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Tensor) and value.storage.external and value.storage.written:
                return True
            if isinstance(value, (Sequence, ListValue)):
                stack.extend(value.elements)
            elif isinstance(value, DictValue):
                stack.extend(value.items.values())
        return False

    def operator(self, name: str, operands: list[Abstract], *, shared: bool = True) -> int:
        """`shared`: whether two of the same may be one object."""
        registers = [self.register_of(operand) for operand in operands]
        key = ("operator", name, *registers) if shared else None
        return self.step("operator", name, *registers, key=key)

    # ---- sizes on the host

    def register_of_dim(self, dim: _dvm.Dim) -> int:
        """A register with the size as a Python int."""
        if dim.constant is not None:
            return self.constant(dim.constant)
        if dim not in self._dim_registers:
            self._dim_registers[dim] = self._computed_dim(dim)
            self.int_sizes[self._dim_registers[dim]] = dim
        return self._dim_registers[dim]

    def _computed_dim(self, dim: _dvm.Dim) -> int:
        """Its terms, added up from the first to the last, or the one symbol or function it is."""
        if dim.symbol is not None:
            if dim.symbol in self.int_homes:
                return self.int_homes[dim.symbol]
            array, axis = self.symbol_homes[dim.symbol]
            return self.step("shape", array, axis, key=("shape", array, axis))
        if dim.function is not None:
            name, *operands = dim.function
            registers = [self.register_of_dim(operand) for operand in operands]
            if name in DIM_OPERATORS:
                return self.operate(DIM_OPERATORS[name], *registers)
            function = self.constant(DIM_FUNCTIONS[name])
            return self.step("call", function, registers, (), key=("dim", name, *registers))
        if not dim.terms:
            raise refuse(reasons.SIZE, dim)
        total = -1
        for coefficient, factors in dim.terms:
            term = self._product_of(abs(coefficient), factors)
            if total >= 0:
                term = self.operate("+" if coefficient > 0 else "-", total, term)
            elif coefficient < 0:
                term = self.operate("-", term)
            total = term
        return total

    def _product_of(self, magnitude: int, factors: SequenceOf[_dvm.Dim]) -> int:
        registers = [self.constant(magnitude)] if magnitude != 1 or not factors else []
        registers += map(self.register_of_dim, factors)
        product, *others = registers
        for register in others:
            product = self.operate("*", product, register)
        return product

    def operate(self, name: str, *registers: int) -> int:
        return self.step("operator", name, *registers, key=("operator", name, *registers))

    def require_all_equal(self, a: SequenceOf[_dvm.Dim], b: SequenceOf[_dvm.Dim]) -> None:
        """Sizes that must agree, or NumPy raises: other calls leave the path."""
        for x, y in zip(a, b, strict=True):
            if x != y:
                test = self.operate("==", self.register_of_dim(x), self.register_of_dim(y))
                self.guard("guard_truth", test, True)

    def require_positive(self, dim: _dvm.Dim) -> None:
        """Drops a replay for which the size is not above zero: it divides by it."""
        if dim.constant is None:
            self.require(self.register_of_dim(dim if dim.is_natural else dim.max(0)))
        elif dim.constant <= 0:
            raise refuse(reasons.SIZE_MUST_BE_ABOVE_ZERO)

    def require(self, register: int) -> None:
        """Drops a replay in which the register holds 0 or False."""
        self.guard("require", register)

    # ---- outcomes

    def pin(self, value: Abstract, seen: Any) -> Literal:
        """`value` as a literal: every call of the path has the recorded value."""
        value = resolve(value)
        if isinstance(value, Literal):
            return value
        if isinstance(value, Size) and value.dim.constant is not None:
            return Literal(value.dim.constant)
        if type(seen) not in PINNED and not is_told(seen):
            raise refuse(reasons.CONSTANT_OF_TYPE, classes.name_of(type(seen)))
        register = self.register_of(value)
        self.guard("guard_value", register, seen, key=(register,))
        return Literal(seen, identical=False)


def describe(value: Abstract) -> str:
    """For reasons: what kind of value this is."""
    if isinstance(value, Tensor):
        return f"{'a NumPy scalar' if value.is_scalar else 'an array'} of {value.dtype}"
    if isinstance(value, Literal):
        kind = classes.name_of(type(value.object))
        if isinstance(value.object, type):
            return f"{kind} {classes.qualname_of(value.object)}"
        if classes.is_mutable_class(type(value.object)):
            return f"an object of type {kind}"
        if callable(value.object):
            return f"{kind} {getattr(value.object, '__qualname__', repr(value.object))}"
        return f"{kind} {value.object!r}"[:60]
    if isinstance(value, Host):
        return f"a computed value of type {classes.name_of(type(value.object))}"
    if isinstance(value, FunctionValue):
        return f"function {value.object.__qualname__}"
    if isinstance(value, Instance):
        return f"an object of type {classes.name_of(value.cls)}"
    if isinstance(value, Raised):
        return f"an exception of type {classes.name_of(type(value.object))}"
    if isinstance(value, Hidden):
        return value.what
    if isinstance(value, Sequence):
        return (
            "a tuple" if value.cls is tuple else f"an object of type {classes.name_of(value.cls)}"
        )
    kind = classes.name_of(type(value)).lower().removesuffix("value")
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
