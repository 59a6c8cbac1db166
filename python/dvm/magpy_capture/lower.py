"""From recorded events to a graph: one method per kind of event.

Every event is lowered to an abstract value; arrays and NumPy scalars are checked against the object
that the recorded execution really produced (dtype, rank, memory order), so that a misunderstanding
ends in a named fallback, not in a wrong result.
"""

from __future__ import annotations

import builtins
import inspect
import types
from typing import Any

import numpy as np

from dvm.magpy_capture.builder import DTYPES, describe, supported
from dvm.magpy_capture.functions import Functions
from dvm.magpy_capture.spec import NotCapturable, PathSpec, Source
from dvm.magpy_capture.tables import (
    BINARY_OPERATORS,
    COMPARE_OPERATORS,
    FOLDED,
    FUNCTIONS,
    METHODS,
    OPAQUE,
    UFUNCS,
    UNARY_OPERATORS,
)
from dvm.magpy_capture.values import (
    Abstract,
    Literal,
    Method,
    Number,
    Sequence,
    Size,
    Slice,
    Tensor,
)

PURE_LITERALS = (int, float, bool, complex, str, bytes, tuple, type(None), np.generic, np.dtype)


class Lowering(Functions):
    """Lowers one recording into the path it describes."""

    def __init__(self, spec: PathSpec, recording: dict[str, Any]) -> None:
        super().__init__(spec)
        self.recording = recording
        self.nodes = recording["nodes"]
        self.values: dict[int, Abstract] = {}
        self.guarded: set[tuple[Any, ...]] = set()

    def run(self) -> None:
        handlers = {
            "call": self.call,
            "binary": self.binary,
            "unary": self.unary,
            "compare": self.compare,
            "subscript": self.subscript,
            "attribute": self.attribute,
            "tuple": self.tuple,
            "slice": self.slice,
            "branch": self.branch,
            "followed": self.followed,
        }
        for kind, name, operands, keywords, result, at in self.recording["events"]:
            self.at = at
            value = handlers[kind](name, operands, keywords, self.object_of(result))
            if value is not None:
                self.check(value, self.object_of(result))
                self.values[result] = value
        self.emit(self.value(self.recording["result"]), self.object_of(self.recording["result"]))
        # Dead code would take its checks along, but NumPy raises for unfit sizes all the same.
        can_fail = {"broadcast", "reshape", "slice", "max", "call"}.intersection(
            self.graph.unused()
        )
        if can_fail:
            raise NotCapturable(f"a result that nothing uses ({', '.join(sorted(can_fail))})")

    # ---- nodes

    def object_of(self, node: int) -> Any:
        return self.nodes[node][4] if node >= 0 else None

    def value(self, node: int) -> Abstract:
        if node not in self.values:
            if node < 0:
                raise NotCapturable("a value of unknown origin", self.at)
            origin, index, name, scope, seen = self.nodes[node]
            if origin == "argument":
                self.values[node] = self.reached(seen, ("argument", index))
            elif origin == "global":
                self.values[node] = self.global_variable(scope, name, seen)
            elif origin == "closure":
                cell = scope.__closure__[index]
                self.values[node] = self.reached(seen, ("cell", cell))
            else:
                self.values[node] = Literal(seen)
        return self.values[node]

    def global_variable(self, scope: dict[str, Any], name: str, seen: Any) -> Abstract:
        if name in scope:
            return self.reached(seen, ("variable", scope, name))
        self.guard_absent(scope, name)
        return self.reached(seen, ("variable", vars(builtins), name))

    def reached(self, seen: Any, source: Source) -> Abstract:
        """An object found at `source`: arrays and numbers stay variable, the rest is guarded."""
        is_argument = source[0] == "argument"  # its signature is compared by the guard tree
        if type(seen) in (np.ndarray, float, int):
            if not is_argument:
                self.spec.signature_guards.append((source, seen))
            if isinstance(seen, np.ndarray):
                return self.input(seen, source)
            return Number(type(seen), source, seen)
        if is_argument:
            if seen is None or isinstance(seen, (bool, str, type)) or seen is Ellipsis:
                return Literal(seen)  # its identity is part of the signature
            raise NotCapturable(f"an argument of type {type(seen).__name__}", self.at)
        self.guard_identity(source, seen)
        return Literal(seen)

    def guard_identity(self, source: Source, seen: Any) -> None:
        key = (source[0], id(source[1]), source[2:])
        if key not in self.guarded:
            self.guarded.add(key)
            self.spec.identity_guards.append((source, seen))

    def guard_absent(self, scope: dict[str, Any], name: str) -> None:
        key = ("absent", id(scope), name)
        if key not in self.guarded:
            self.guarded.add(key)
            self.spec.identity_guards.append((("variable", scope, name),))

    # ---- events

    def followed(self, _name: str, operands: list[int], _keywords: Any, _seen: Any) -> None:
        # The body is recorded; the function, and that its code stays this code, are guarded.
        self.value(operands[0])
        function = self.object_of(operands[0])
        self.guard_identity(("code", function), function.__code__)

    def branch(self, name: str, operands: list[int], _keywords: Any, _seen: Any) -> None:
        value = self.value(operands[0])
        never_none = name == "is None"
        if not isinstance(value, Literal) and not never_none:
            raise NotCapturable(f"a branch on {describe(value)}", self.at)

    def call(self, _name: str, operands: list[int], keywords: list[str], seen: Any) -> Abstract:
        callee, *rest = (self.value(node) for node in operands)
        positional = rest[: len(rest) - len(keywords)]
        named = dict(zip(keywords, rest[len(positional) :], strict=True))
        if isinstance(callee, Method):
            if callee.takes_self:
                positional = positional[1:]
            return self.invoke(
                METHODS.get(callee.name), callee.name, [callee.base, *positional], named
            )
        if not isinstance(callee, Literal):
            raise NotCapturable(f"a call of {describe(callee)}", self.at)
        function = callee.object
        literal = all(isinstance(argument, Literal) for argument in rest)
        if literal and (function in FOLDED or isinstance(function, np.ufunc)) and _is_pure(seen):
            return Literal(seen)
        if isinstance(function, np.ufunc) and function in UFUNCS:
            if named:
                raise NotCapturable(f"{function.__name__} with {', '.join(named)}", self.at)
            return self.ufunc(function, positional)
        if function in OPAQUE and not named:
            return self.opaque(function, [self.tensor(argument) for argument in positional], seen)
        name = getattr(function, "__qualname__", repr(function))
        return self.invoke(FUNCTIONS.get(function), name, positional, named)

    def invoke(
        self, handler: str | None, name: str, positional: list[Abstract], named: dict[str, Abstract]
    ) -> Abstract:
        if handler is None:
            raise NotCapturable(f"a call of {name}", self.at)
        method = getattr(self, handler)
        try:
            inspect.signature(method).bind(*positional, **named)
        except TypeError as mismatch:
            raise NotCapturable(f"{name}: {mismatch}", self.at) from None
        result: Abstract = method(*positional, **named)
        return result

    def opaque(self, function: Any, tensors: list[Tensor], seen: Any) -> Tensor:
        """One host call; a matrix product keeps the sizes it shares with its operands."""
        if len(tensors) != 2:
            raise NotCapturable(f"{function.__name__} with {len(tensors)} arguments", self.at)
        array = np.asarray(seen)
        if function in (np.matmul, np.dot) and all(len(t.shape) == 2 for t in tensors):
            shape = [tensors[0].shape[0], tensors[1].shape[1]]
        else:
            shape = [self.symbol() for _ in range(array.ndim)]
        self.spec.callees.append(function)
        callee = f"{function.__name__}#{len(self.spec.callees) - 1}"
        dtype = supported(array.dtype, self.at)
        value = self.graph.call(
            callee, [t.value for t in tensors], DTYPES[dtype], shape, at=self.at
        )
        return Tensor(value, dtype, shape)

    def binary(self, name: str, operands: list[int], _keywords: Any, seen: Any) -> Abstract:
        a, b = (self.value(node) for node in operands)
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            function = BINARY_OPERATORS[name]
            if function in OPAQUE:
                return self.opaque(function, [self.tensor(a), self.tensor(b)], seen)
            if name == "**" and isinstance(a, Tensor) and _is_two(b):
                # ndarray.__pow__ computes the square of a float array by multiplication.
                return self.ufunc(np.multiply, [a, a])
            return self.ufunc(function, [a, b])
        return self.python_number(name, [a, b], seen)

    def unary(self, name: str, operands: list[int], _keywords: Any, seen: Any) -> Abstract:
        a = self.value(operands[0])
        if isinstance(a, Tensor):
            return self.ufunc(UNARY_OPERATORS[name], [a])
        return self.python_number(name, [a], seen)

    def python_number(self, name: str, operands: list[Abstract], seen: Any) -> Abstract:
        """Arithmetic of Python itself: folded, or done on symbolic sizes."""
        if all(isinstance(a, Literal) for a in operands) and _is_pure(seen):
            return Literal(seen)
        if name in ("+", "-", "*") and len(operands) == 2:
            sizes = [self.as_size(a) for a in operands]
            if None not in sizes:
                a, b = sizes
                return Size({"+": a.__add__, "-": a.__sub__, "*": a.__mul__}[name](b))
        kinds = " and ".join(describe(a) for a in operands)
        raise NotCapturable(f"Python arithmetic ({name}) on {kinds}", self.at)

    def as_size(self, value: Abstract) -> Any:
        if isinstance(value, Size):
            return value.dim
        if isinstance(value, Literal) and type(value.object) is int:
            return self.size(value.object)
        return None

    def compare(self, name: str, operands: list[int], _keywords: Any, seen: Any) -> Abstract:
        a, b = (self.value(node) for node in operands)
        if name in ("is", "is not"):
            return self.identity(a, b, seen)
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return self.ufunc(COMPARE_OPERATORS[name], [a, b])
        return self.python_number(name, [a, b], seen)

    def identity(self, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        """`a is b`, where every call of the path gives the recorded answer."""
        literals = [value for value in (a, b) if isinstance(value, Literal)]
        # A fetched array or number may be any object, but never one of the singletons.
        if len(literals) == 2 or any(_is_singleton(value.object) for value in literals):
            return Literal(seen)
        raise NotCapturable(f"the identity of {describe(a)} and {describe(b)}", self.at)

    def subscript(self, _name: str, operands: list[int], _keywords: Any, seen: Any) -> Abstract:
        base, key = (self.value(node) for node in operands)
        if isinstance(base, Tensor):
            return self.index(base, key)
        if isinstance(base, Sequence):
            element: Abstract = base.elements[int(self.plain(key))]
            return element
        if isinstance(base, Literal) and isinstance(base.object, tuple):
            self.plain(key)
            return Literal(seen)
        raise NotCapturable(f"indexing {describe(base)}", self.at)

    def attribute(self, name: str, operands: list[int], _keywords: Any, seen: Any) -> Abstract:
        base = self.value(operands[0])
        if isinstance(base, Tensor):
            return self.array_attribute(base, name, seen)
        if isinstance(base, Literal) and isinstance(base.object, types.ModuleType):
            return self.reached(seen, ("variable", vars(base.object), name))
        raise NotCapturable(f"attribute {name} of {describe(base)}", self.at)

    def array_attribute(self, base: Tensor, name: str, seen: Any) -> Abstract:
        if name == "shape":
            return Sequence([Size(dim) for dim in base.shape])
        if name == "ndim" or name == "dtype":
            return Literal(seen)
        if name == "size":
            return Size(self.product(base.shape))
        if name == "T":
            return self.transpose(base)
        if name in METHODS:
            return Method(base, name, isinstance(seen, types.MethodDescriptorType))
        raise NotCapturable(f"array attribute {name}", self.at)

    def tuple(self, _name: str, operands: list[int], _keywords: Any, _seen: Any) -> Abstract:
        return Sequence([self.value(node) for node in operands])

    def slice(self, _name: str, operands: list[int], _keywords: Any, _seen: Any) -> Abstract:
        parts = [self.value(node) for node in operands]
        return Slice(parts[0], parts[1], parts[2] if len(parts) > 2 else Literal(None))

    # ---- results

    def check(self, value: Abstract, seen: Any) -> None:
        """Compares the lowered value with what the execution produced."""
        if not isinstance(value, Tensor):
            return
        if not isinstance(seen, np.generic) and type(seen) is not np.ndarray:
            raise NotCapturable(f"a result of type {type(seen).__name__}", self.at)
        if seen.dtype.name != value.dtype or seen.ndim != len(value.shape):
            raise NotCapturable(
                f"NumPy gave {seen.dtype.name} of rank {seen.ndim} where the graph has "
                f"{value.dtype} of rank {len(value.shape)}",
                self.at,
            )
        value.is_scalar = isinstance(seen, np.generic)
        if not value.is_view and value.source is None and not seen.flags.c_contiguous:
            raise NotCapturable("a result that is not in C order", self.at)

    def emit(self, value: Abstract, seen: Any) -> None:
        """Appends the mock program that rebuilds `value` after a replay."""
        mocks = self.spec.mocks
        if isinstance(value, Sequence) and type(seen) is tuple:
            for element, part in zip(value.elements, seen, strict=True):
                self.emit(element, part)
            mocks.append(("tuple", len(value.elements)))
        elif isinstance(value, Literal) and _is_pure(value.object):
            mocks.append(("constant", len(self.spec.constants)))
            self.spec.constants.append(value.object)
        elif isinstance(value, (Tensor, Number)) and value.source is not None:
            mocks.append(("fetch", len(self.spec.returned)))
            self.spec.returned.append(value.source)
        elif isinstance(value, Tensor):
            if value.is_view:
                raise NotCapturable("returning a view", self.at)
            outputs = list(self.graph.outputs)
            if value.value not in outputs:
                outputs.append(value.value)
                self.graph.outputs = outputs
            mocks.append(("scalar" if value.is_scalar else "result", outputs.index(value.value)))
        else:
            raise NotCapturable(f"returning {describe(value)}", self.at)


def _is_pure(value: Any) -> bool:
    return isinstance(value, PURE_LITERALS)


def _is_singleton(value: Any) -> bool:
    return value is None or value is Ellipsis or isinstance(value, (bool, type))


def _is_two(value: Abstract) -> bool:
    return isinstance(value, Literal) and type(value.object) in (int, float) and value.object == 2
