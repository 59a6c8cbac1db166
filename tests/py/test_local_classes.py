"""Programs that define classes and use them, written at random: as plain Python, and replayed."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

import dvm
from loops.generated import function_of

PROGRAMS = 100
METHODS = ("first", "second", "third")


class Writer:
    """Writes a function with up to three classes, some derived, and what it does with objects."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.classes: list[str] = []

    def write(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def expression(self, depth: int = 0) -> str:
        """Over self, the parameter y, and the variables x and mean of the function."""
        kinds = ["self.x", "y", "x", "mean", "self.shift", str(self.random.randint(1, 5))]
        if depth < 2 and self.random.random() < 0.6:
            operator = self.random.choice("+-*")
            return f"({self.expression(depth + 1)} {operator} {self.expression(depth + 1)})"
        return self.random.choice(kinds)

    def method(self, name: str, derived: bool) -> None:
        match self.random.choice(["plain", "plain", "default", "static", "updates", "super"]):
            case "static":
                self.write(2, "@staticmethod")
                self.write(2, f"def {name}(y=2):")
                self.write(3, f"return y * mean + {self.random.randint(1, 9)}")
                return
            case "default":
                self.write(2, f"def {name}(self, y={self.random.randint(1, 9)}):")
            case _:
                self.write(2, f"def {name}(self, y=1.5):")
        if derived and self.random.random() < 0.5:
            self.write(3, f"y = y + super().{self.random.choice(METHODS)}(y)")
        if self.random.random() < 0.3:
            self.write(3, f"self.x = {self.expression()}")
        self.write(3, f"return {self.expression()}")

    def definition(self) -> None:
        name = f"C{len(self.classes)}"
        base = self.random.choice(["", *self.classes, *self.classes])
        fields = not base and self.random.random() < 0.3
        if fields:
            self.write(1, "@dataclass")
        self.write(1, f"class {name}({base}):" if base else f"class {name}:")
        if fields:
            self.write(2, "x: object")
            self.write(2, "extra: float = 0.5")
        self.write(2, f"number = {len(self.classes)}")
        if not base or self.random.random() < 0.5:
            self.write(2, f"shift = {self.random.choice(['2', '0.5', 'SHIFT', 'np.pi'])}")
        if not base and not fields:
            self.write(2, "def __init__(self, x):")
            self.write(3, f"self.x = x * {self.random.randint(1, 4)} + mean")
        for method in METHODS:
            if not base or self.random.random() < 0.4:
                self.method(method, bool(base))
        if self.random.random() < 0.3:
            self.write(2, "@property")
            self.write(2, "def total(self):")
            self.write(3, "return self.x.sum() + self.shift")
        elif not base:
            self.write(2, "total = 3")
        if not base and self.random.random() < 0.4:
            self.write(2, "def __add__(self, other):")
            self.write(3, f"return {name}(self.x + other.x)")
        self.classes.append(name)

    def source(self) -> str:
        self.write(0, "def f(x, flag):")
        self.write(1, "mean = x.mean()")
        for _ in range(self.random.randint(1, 3)):
            self.definition()
        self.write(1, "out = []")
        for number in range(self.random.randint(1, 4)):
            made = f"o{number} = {self.random.choice(self.classes)}(x * {number + 1})"
            self.write(1, made)
            if self.random.random() < 0.3:
                self.write(1, f"o{number}.x = o{number}.x * 2")
            if self.random.random() < 0.3:
                self.write(1, "if flag:")
                self.write(2, f"o{number} = {self.random.choice(self.classes)}(x)")
            for method in self.random.sample(METHODS, 2):
                self.write(
                    1, f"out.append(o{number}.{method}({self.random.choice(['', 'x', '2'])}))"
                )
            self.write(1, f"out.append(o{number}.total)")
            self.write(1, f"out.append((type(o{number}).__name__, isinstance(o{number}, C0)))")
        if self.random.random() < 0.2:  # what is let out is another one on each call
            leaving = self.random.choice(["o0.first", "C0", "o0", "[o0]"])
            self.write(1, f"out.append(type({leaving}).__name__)")
            self.write(1, f"KEPT.append({leaving})")
        self.write(1, "return out")
        return "\n".join(self.lines)


@pytest.mark.parametrize("part", range(3))
def test_written_programs(part: int) -> None:
    hits = calls = 0
    for seed in range(part, 3 * PROGRAMS, 3):
        source = Writer(seed).source()
        function = function_of(source, seed)
        function.__globals__.update(SHIFT=1.5, KEPT=[], dataclass=dataclass)
        compiled = dvm.compile(function)
        for size, flag in ((3, False), (3, True), (4, False), (5, True), (4, True)):
            outcomes = []
            for call in (function, compiled):
                try:
                    with dvm.stance("force_capture"):
                        outcomes.append(repr(call(np.arange(1.0, 1.0 + size), flag)))
                except (AttributeError, TypeError) as error:
                    outcomes.append(repr(error))
            assert outcomes[0] == outcomes[1], source
            calls += "Error" not in outcomes[0]
        kept = function.__globals__["KEPT"]
        assert len(set(map(id, kept))) == len(kept), source
        hits += compiled.stats.hits
    assert calls > 300
    assert hits > 0.4 * calls


def test_a_class_that_no_path_knows_is_captured_once() -> None:
    """Not again on each call, behind a cut, where it would be another one."""

    def f(x: np.ndarray, n: int) -> np.ndarray:
        class OddError(ValueError):
            pass

        try:
            if n > 3:
                raise OddError("a")
            return np.tanh(x * 2)
        except OddError:
            return x * 3 + 1

    compiled = dvm.compile(f)
    with dvm.stance("force_capture"):
        for n in range(20):
            assert compiled(np.arange(4.0), n % 6).tobytes() == f(np.arange(4.0), n % 6).tobytes()
    assert compiled.parts is None
    assert compiled.stats.fallbacks == 20
    assert "a class definition" in compiled.fallback_reasons[0]


def test_unpacking_of_too_few_values() -> None:
    def f(x: np.ndarray, n: int) -> tuple[object, ...]:
        try:
            first, *_, last = x[:n]
        except ValueError as error:
            return str(error), x * 2
        return first, last

    compiled = dvm.compile(f)
    with dvm.stance("force_capture"):
        for n in (0, 1, 3, 0, 2):
            assert repr(compiled(np.arange(4.0), n)) == repr(f(np.arange(4.0), n))
    assert not any("DVM-X001" in reason for reason in compiled.fallback_reasons)


def test_annotations_of_a_class_that_is_defined_are_read_apart() -> None:
    def f(x):
        class P:
            a: int
            b: float

        names = list(P.__annotations__)
        y = x * len(names)
        return y + 1

    compiled = dvm.compile(f)
    for n in (3, 4, 3):
        assert np.array_equal(compiled(np.ones(n)), np.full(n, 3.0))
    assert compiled.stats.splits == 2
