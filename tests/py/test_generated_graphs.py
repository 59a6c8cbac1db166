"""Random graphs of constants, calls and what is between, against NumPy.

Every target, sizes of 0 and 1, halves, weights in any layout, and functions that fail somewhere.
"""

from __future__ import annotations

import gc
import random
import weakref
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from whole import WHOLE, how_many

Array = np.ndarray[Any, Any]
DTYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8", "bf16": "u2"}
#: of bf16 the bits, which only move
COMPUTED = [name for name in DTYPES if name != "bf16"]


#: how many requests for memory one that fails stands for
EVERY = 1 if WHOLE else 3


class RaisedError(Exception):
    pass


class Program:
    """A graph and what NumPy makes of it, grown side by side."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.graph = _dvm.Graph()
        self.n = self.random.choice([0, 1, 2, 5])
        symbol = self.graph.symbol("n")
        self.sizes = {self.n: symbol}
        self.arguments: list[Any] = []
        self.constants: dict[str, Array] = {}
        self.functions: dict[str, Any] = {}
        self.alive: list[weakref.ref[Array]] = []
        self.fails = -1  # the call that raises
        self.calls = 0
        self.values: list[tuple[int, str, Array]] = []
        first = self.fresh("f32", (self.n, 3))
        self.arguments.append(first)
        self.add(self.graph.input("f32", [symbol, 3]), "f32", first)
        self.number = self.random.randint(-3, 3)
        self.arguments.append(self.number)
        self.scalar = self.graph.scalar("i64")
        for _ in range(self.random.randint(3, 14)):
            self.random.choice([self.constant, self.compute, self.compute, self.call, self.write])()
        kept = self.random.sample(self.values, min(3, len(self.values)))
        self.graph.outputs = [value for value, _, _ in kept]
        self.expected = [array for _, _, array in kept]

    def add(self, value: int, dtype: str, array: Array) -> None:
        self.values.append((value, dtype, array))

    def shape(self) -> tuple[int, ...]:
        return tuple(self.random.choice([0, 1, 2, 3]) for _ in range(self.random.randint(0, 3)))

    def fresh(self, dtype: str, shape: tuple[int, ...]) -> Array:
        return self.numpy.integers(-8, 8, shape).astype(DTYPES[dtype])

    def constant(self) -> None:
        dtype = self.random.choice(list(DTYPES))
        array = self.fresh(dtype, self.shape())
        if self.random.random() < 0.5:
            self.add(self.graph.tensor(dtype, array), dtype, array)
            return
        name = f"w{len(self.constants)}"
        layout = self.random.randrange(3)
        if layout == 1:
            array = np.asfortranarray(array)
        elif layout == 2:
            array = np.repeat(array, 2, -1)[..., ::-2] if array.ndim else array
        self.constants[name] = array
        self.add(self.graph.named_tensor(dtype, list(array.shape), name), dtype, array)

    def compute(self) -> None:
        value, dtype, array = self.random.choice(self.values)
        if dtype == "bf16":
            return
        op, function = self.random.choice([("neg", np.negative), ("maximum", np.maximum)])
        operands = [(value, array)] * (1 if op == "neg" else 2)
        result = function(*[operand for _, operand in operands])
        self.add(self.graph.elementwise(op, [v for v, _ in operands]), dtype, result)

    def dims(self, array: Array) -> list[Any]:
        # The one symbol wherever its size is: a function tells no other.
        return [self.sizes.get(size, size) if self.n > 3 else size for size in array.shape]

    def given(self) -> tuple[list[int], list[Array]]:
        chosen = [self.random.choice(self.values) for _ in range(self.random.randint(1, 3))]
        return [value for value, _, _ in chosen], [array for _, _, array in chosen]

    def made(self) -> list[tuple[str, Array]]:
        types = [self.random.choice(list(DTYPES)) for _ in range(self.random.randint(1, 4))]
        return [(dtype, self.fresh(dtype, self.shape())) for dtype in types]

    def enter(self, index: int, wanted: list[Array], arguments: tuple[Any, ...]) -> None:
        arrays = arguments[: len(wanted)]
        for array, expected in zip(arrays, wanted, strict=True):
            np.testing.assert_array_equal(array, expected)
            if not any(array is lent for lent in (*self.constants.values(), *self.arguments)):
                self.alive.append(weakref.ref(array))
        assert arguments[len(wanted) :] == (2 * self.n - 1, 7, self.number)
        if index == self.fails:
            raise RaisedError(index)

    def call(self) -> None:
        values, arrays = self.given()
        results, index = self.made(), self.calls
        self.calls += 1

        def function(*arguments: Any) -> Any:
            self.enter(index, arrays, arguments)
            made = [array.copy() for _, array in results]
            self.alive.extend(map(weakref.ref, made))
            return made[0] if len(made) == 1 else tuple(made)

        self.functions[f"call {index}"] = function
        dtype, array = results[0]
        called = self.graph.call(
            f"call {index}",
            [*values, self.scalar],
            dtype,
            self.dims(array),
            results=len(results),
            sizes=[self.sizes[self.n] * 2 - 1, 7],
            numbers=1,
        )
        self.add(called, dtype, array)
        for k, (other, made) in enumerate(results[1:], 1):
            if self.random.random() < 0.7:
                self.add(self.graph.result(called, k, other, self.dims(made)), other, made)

    def write(self) -> None:
        values, arrays = self.given()
        results, index = self.made(), self.calls
        self.calls += 1

        def function(*arguments: Any, out: Any) -> Any:
            outs = out if isinstance(out, tuple) else (out,)
            for target, (_, array) in zip(outs[:-1], results, strict=False):
                target[...] = array
            self.alive.extend(map(weakref.ref, outs))
            self.enter(index, arrays, arguments)
            outs[-1][...] = results[-1][1]
            return out if index % 2 else None

        self.functions[f"write {index}"] = function
        dtype, array = results[0]
        called = self.graph.call(
            f"write {index}",
            [*values, self.scalar],
            dtype,
            self.dims(array),
            into=True,
            results=len(results),
            sizes=[self.sizes[self.n] * 2 - 1, 7],
            numbers=1,
        )
        self.add(called, dtype, array)
        for k, (other, made) in enumerate(results[1:], 1):
            self.add(self.graph.result(called, k, other, self.dims(made)), other, made)

    def compiled(self, graph: Any, target: str) -> dvm.CompiledGraph:
        return dvm.CompiledGraph(
            graph, target=target, functions=self.functions, constants=self.constants
        )

    def check(self, compiled: dvm.CompiledGraph) -> None:
        for result, expected in zip(compiled(*self.arguments), self.expected, strict=True):
            np.testing.assert_array_equal(result, expected)
            assert result.dtype == expected.dtype

    def check_failure(self, compiled: dvm.CompiledGraph) -> None:
        self.fails = self.random.randrange(self.calls)
        self.alive.clear()
        with pytest.raises(RaisedError):
            compiled(*self.arguments)
        gc.collect()
        assert not [array for array in self.alive if array() is not None]
        self.fails = -1

    def check_faults(self, compiled: dvm.CompiledGraph, seed: int) -> None:
        """Requests for memory fail, one in each run, until none is left to fail."""
        for number in range(seed % EVERY, 10_000, EVERY):
            self.alive.clear()
            _dvm.fail_at(number)
            try:
                results: Any = compiled(*self.arguments)
            except MemoryError:
                results = None
            left = _dvm.fail_at(-1)
            if left >= 0:
                return
            if results is None:
                gc.collect()
                assert not [array for array in self.alive if array() is not None], number
        raise AssertionError("faults without end")


TARGETS = ["cpu", *sorted(name for name in _dvm.target_names if name != "cpu")]


@pytest.mark.parametrize("seed", range(how_many(42, 2000)))
def test_a_generated_graph(seed: int) -> None:
    program = Program(seed)
    compiled = program.compiled(program.graph, TARGETS[seed % len(TARGETS)])
    for _ in range(3):
        program.check(compiled)
    if program.calls:
        program.check_failure(compiled)
        program.check(compiled)
    if seed % 4 == 0:
        program.check_faults(compiled, seed // 4)
        program.check(compiled)
    program.check(program.compiled(str(program.graph), TARGETS[0]))
