"""Draws recursive functions and the data that they go through.

A function is put together of pieces: how it tells a leaf, what it does there, what it hands on and
what it makes of what comes back. Calls go through trees of new shapes; between two of them
something that the function reads may be another thing.
"""

from __future__ import annotations

import random
import types
from collections.abc import Iterator
from typing import Any

import numpy as np


class Leaf:
    def __init__(self, value: Any) -> None:
        self.value, self.left, self.right, self.children = value, None, None, ()


class Inner:
    def __init__(self, *children: Any, weight: float = 1.0, name: str = "a") -> None:
        self.children, self.weight, self.name = list(children), weight, name
        self.left, self.right = children[0], children[-1]
        self.value = None


class Wide(Inner):
    """Another class of inner nodes, of which functions may tell nothing."""


#: how a leaf is told
TESTS = (
    "isinstance(node, Leaf)",
    "node.left is None",
    "not node.children",
    "len(node.children) == 0",
    "type(node) is Leaf",
    "getattr(node, 'weight', None) is None",
)
#: what a leaf gives
LEAVES = (
    "node.value",
    "node.value * scale",
    "np.tanh(node.value)",
    "node.value + depth",
    "node.value if depth < 3 else -node.value",
    "(node.value + extra) * 2",
    "helper(node.value)",
)
#: what becomes of two results, or of some
PAIRS = (
    "l + r",
    "np.maximum(l, r) - depth",
    "np.tanh(l * r + node.weight)",
    "l * node.weight + r",
    "(l + r) / 2 if node.name == 'a' else l - r",
    "helper(l) + r",
    "l + r if np.sum(l) > 0 else l - r",
    "np.where(np.asarray(l) > r, l, r)",
)
SUMS = ("h + r", "h * .5 + r * node.weight", "np.maximum(h, r)", "h + r if node.name != 'b' else r")
HANDED = ("depth + 1", "depth", "depth + len(node.children)", "2")
EXTRAS = (
    "extra",
    "extra * .5",
    "extra + node.weight",
    "extra if depth else extra + 1",
    "0.5",
    "scale",
)


def draw(choices: random.Random) -> str:
    """The source of a function `f(node)`, which calls itself or another one that does."""
    one = choices.choice
    name = one(["f", "g", "self.go"])
    hand = f"{one(HANDED)}, {one(EXTRAS)}"
    if choices.random() < 0.2:
        hand = f"depth={one(HANDED)}, extra={one(EXTRAS)}"
    elif choices.random() < 0.2:
        hand = "extra, depth"  # in turns
    lines = [f"if {one(TESTS)}:", f"    return {one(LEAVES)}"]
    if choices.random() < 0.3:
        lines += ["if node.name == 'c':", f"    return {name}(node.left, {hand})"]
    form = choices.random()
    if form < 0.2:
        brackets = one(["[]", "()"])
        each = f"{name}(child, {hand}) for child in node.children"
        lines += [f"return sum({brackets[0]}{each}{brackets[1]})"]
    elif form < 0.55:
        lines += [f"l = {name}(node.left, {hand})", f"r = {name}(node.right, {hand})"]
        lines += [f"return {one(PAIRS)}"]
    else:
        lines += ["h = extra", "for child in node.children:"]
        lines += [f"    r = {name}(child, {hand})", f"    h = {one(SUMS)}", "return h"]
    if choices.random() < 0.2:
        lines[-1] = "return " + lines[-1].removeprefix("return ").join(["np.abs(", ")"])
    parameters = "node, depth=0, extra=0.25"
    body = "\n".join(lines)
    if name == "self.go":
        inner = _indented(f"def go(self, {parameters}):\n" + _indented(body))
        return (
            f"class Walker:\n{inner}\nwalker = Walker()\ndef f(node):\n    return walker.go(node)\n"
        )
    made = f"def {name}({parameters}):\n" + _indented(body)
    return made if name == "f" else made + "\ndef f(node):\n    return g(node) * 2\n"


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def namespace(source: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "np": np, "Leaf": Leaf, "Inner": Inner, "scale": 1.5, "helper": np.sin,
    }  # fmt: skip
    exec(compile(source, "<drawn>", "exec"), made)
    return made


def value(choices: random.Random, kind: str) -> Any:
    number = choices.uniform(-2, 2)
    if kind == "float":
        return number
    if kind == "mixed":
        return choices.choice([number, choices.randrange(-3, 4), np.float32(number)])
    dtype = np.float32 if kind == "single" else np.float64
    return np.full(choices.choice([1, 3]) if kind == "sizes" else 3, number, dtype)


def tree(choices: random.Random, kind: str, depth: int) -> Any:
    if depth == 0 or choices.random() < 0.25:
        return Leaf(value(choices, kind))
    count = choices.choice([1, 2, 2, 2, 3])
    children = [tree(choices, kind, depth - 1) for _ in range(count)]
    cls = choices.choice([Inner, Inner, Inner, Wide])
    name = choices.choice("aaabc")
    return cls(*children, weight=choices.choice([0.5, 1.0, 2]), name=name)


def changes(choices: random.Random, scope: dict[str, Any]) -> Iterator[None]:
    """Between calls: something that the function reads is another thing, now and then."""
    while True:
        kind = choices.random()
        if kind < 0.1:
            scope["scale"] = choices.choice([1.5, 2, np.float32(0.5)])
        elif kind < 0.2:
            scope["helper"] = choices.choice([np.sin, np.cos, twice])
        elif kind < 0.25 and isinstance(scope.get("g"), types.FunctionType):
            scope["g"].__defaults__ = (choices.choice([0, 1]), 0.25)
        yield


def twice(x: Any) -> Any:
    return x * 2
