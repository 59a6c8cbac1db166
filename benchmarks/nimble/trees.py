"""A Tree-LSTM over trees shaped like sentences (paper Nimble, table 2).

The model is that of Tai et al. (2015), for binary trees: words of 300 numbers, 150 of memory. It is
written three times: as a recursion in NumPy, the same in PyTorch, and as a module of functions and
data types, `dvm.CompiledGraph`. The first two are compiled as they are, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

import dvm

from .turns import Contenders, in_turns

WORD, MEMORY = 300, 150
Array = np.ndarray[Any, Any]


class Leaf(NamedTuple):
    word: Array


class Node(NamedTuple):
    left: Leaf | Node
    right: Leaf | Node


class Weights(NamedTuple):
    """Of the gates i, o, u of a word; of i, left f, right f, o, u of two memories."""

    word: Array
    word_bias: Array
    left: Array
    right: Array
    bias: Array


def weights(seed: int = 0) -> Weights:
    draw = np.random.default_rng(seed)

    def of(*shape: int) -> Array:
        return draw.normal(0, 0.1, shape).astype(np.float32)

    return Weights(
        of(WORD, 3 * MEMORY),
        of(3 * MEMORY),
        of(MEMORY, 5 * MEMORY),
        of(MEMORY, 5 * MEMORY),
        of(5 * MEMORY),
    )


def sentence(draw: np.random.Generator, words: int) -> Leaf | Node:
    """A binary tree over so many words, split anywhere."""
    if words == 1:
        return Leaf(draw.normal(size=(1, WORD)).astype(np.float32))
    left = int(draw.integers(1, words))
    return Node(sentence(draw, left), sentence(draw, words - left))


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def by_numpy(tree: Leaf | Node, w: Weights) -> tuple[Array, Array]:
    n = MEMORY
    if isinstance(tree, Leaf):
        gates = tree.word @ w.word + w.word_bias
        memory = sigmoid(gates[:, :n]) * np.tanh(gates[:, 2 * n :])
        return sigmoid(gates[:, n : 2 * n]) * np.tanh(memory), memory
    left, left_memory = by_numpy(tree.left, w)
    right, right_memory = by_numpy(tree.right, w)
    gates = left @ w.left + right @ w.right + w.bias
    i, f, g, o, u = (gates[:, k * n : (k + 1) * n] for k in range(5))
    memory = sigmoid(i) * np.tanh(u) + sigmoid(f) * left_memory + sigmoid(g) * right_memory
    return sigmoid(o) * np.tanh(memory), memory


def by_torch(w: Weights) -> Callable[[Any], Any]:
    """The same with PyTorch's own operations on its tensors."""
    word, word_bias, left_w, right_w, bias = (torch.from_numpy(x) for x in w)

    def run(tree: Any) -> Any:
        if isinstance(tree, Leaf):
            i, o, u = torch.addmm(word_bias, tree.word, word).chunk(3, 1)
            memory = i.sigmoid() * u.tanh()
            return o.sigmoid() * memory.tanh(), memory
        left, left_memory = run(tree.left)
        right, right_memory = run(tree.right)
        gates = torch.addmm(bias, left, left_w).addmm(right, right_w)
        i, f, g, o, u = gates.chunk(5, 1)
        memory = i.sigmoid() * u.tanh() + f.sigmoid() * left_memory + g.sigmoid() * right_memory
        return o.sigmoid() * memory.tanh(), memory

    return run


def as_tensors(tree: Leaf | Node) -> Leaf | Node:
    if isinstance(tree, Leaf):
        return Leaf(torch.from_numpy(tree.word))
    return Node(as_tensors(tree.left), as_tensors(tree.right))


class Lines:
    """The nodes of one graph's text, numbered."""

    def __init__(self) -> None:
        self.text: list[str] = []

    def __call__(self, node: str) -> str:
        self.text.append(f"%{len(self.text)} = {node}")
        return f"%{len(self.text) - 1}"

    def many(self, *nodes: str) -> list[str]:
        return [self(node) for node in nodes]

    def gate(self, gates: str, index: int, function: str) -> str:
        """One gate out of all."""
        row = f"f32[1, {MEMORY}]"
        start = f"starts = [0, {index * MEMORY}], steps = [1, 1]"
        x = self(f"slice({gates}) {row} {{{start}}}")
        if function == "tanh":
            return self(f"tanh({x}) {row}")
        x = self(f"exp({self(f'neg({x}) {row}')}) {row}")
        one = self("constant f32[] {value = 0x1p+0}")
        ones = self(f"broadcast({one}) {row}")
        x = self(f"add({ones}, {x}) {row}")
        return self(f"div({ones}, {x}) {row}")

    def memory(self, gate: str, value: str) -> str:
        return self(f"mul({gate}, {value}) f32[1, {MEMORY}]")

    def returned(self, out: str, memory: str, indent: int) -> str:
        """Text of all, which gives what the gate lets out of the memory, and the memory."""
        seen = self.memory(out, self(f"tanh({memory}) f32[1, {MEMORY}]"))
        lines = [*self.text, f"return {seen}, {memory}"]
        return "".join(" " * indent + line + "\n" for line in lines)


TYPES = {
    "word": f"f32[{WORD}, {3 * MEMORY}]",
    "word_bias": f"f32[{3 * MEMORY}]",
    "left": f"f32[{MEMORY}, {5 * MEMORY}]",
    "right": f"f32[{MEMORY}, {5 * MEMORY}]",
    "bias": f"f32[{5 * MEMORY}]",
}


def leaf_case() -> str:
    body = Lines()
    x, word, bias, *_ = body.many(f"input f32[1, {WORD}]", *(f"input {t}" for t in TYPES.values()))
    wide = f"f32[1, {3 * MEMORY}]"
    product = body(f"matmul({x}, {word}) {wide}")
    gates = body(f"add({product}, {body(f'broadcast({bias}) {wide}')}) {wide}")
    memory = body.memory(body.gate(gates, 0, "sigmoid"), body.gate(gates, 2, "tanh"))
    return body.returned(body.gate(gates, 1, "sigmoid"), memory, 6)


def node_case() -> str:
    body = Lines()
    left, right, *w = body.many("input Tree", "input Tree", *(f"input {t}" for t in TYPES.values()))
    row, wide = f"f32[1, {MEMORY}]", f"f32[1, {5 * MEMORY}]"

    def states(tree: str) -> tuple[str, str]:
        given = ", ".join([tree, *w])
        state = body(f'invoke({given}) {row} {{callee = "lstm", results = 2}}')
        return state, body(f"result({state}) {row} {{index = 1}}")

    (a, a_memory), (b, b_memory) = states(left), states(right)
    products = body.many(f"matmul({a}, {w[2]}) {wide}", f"matmul({b}, {w[3]}) {wide}")
    gates = body(f"add({', '.join(products)}) {wide}")
    gates = body(f"add({gates}, {body(f'broadcast({w[4]}) {wide}')}) {wide}")
    memory = body.memory(body.gate(gates, 0, "sigmoid"), body.gate(gates, 4, "tanh"))
    for index, of in ((1, a_memory), (2, b_memory)):
        kept = body.memory(body.gate(gates, index, "sigmoid"), of)
        memory = body(f"add({memory}, {kept}) {row}")
    return body.returned(body.gate(gates, 3, "sigmoid"), memory, 6)


def module_text() -> str:
    inputs = "".join(f"    %{k + 1} = input {t}\n" for k, t in enumerate(TYPES.values()))
    constants = "".join(
        f'    %{k} = tensor {t} {{name = "{name}"}}\n'
        for k, (name, t) in enumerate(TYPES.items(), start=1)
    )
    given = ", ".join(f"%{k}" for k in range(1 + len(TYPES)))
    row = f"f32[1, {MEMORY}]"
    return (
        "module v1 {\n"
        "  data Tree = Leaf(word: f32[?, ?]) | Node(left: Tree, right: Tree)\n"
        f"  function lstm = graph v1 {{\n    %0 = input Tree\n{inputs}"
        f"    %6 = match({given}) {row} {{results = 2}} case Leaf {{\n{leaf_case()}"
        f"    }} case Node {{\n{node_case()}    }}\n"
        f"    %7 = result(%6) {row} {{index = 1}}\n    return %6, %7\n  }}\n"
        f"  graph v1 {{\n    %0 = input Tree\n{constants}"
        f'    %6 = invoke({given}) {row} {{callee = "lstm", results = 2}}\n'
        "    return %6\n  }\n}\n"
    )


def compiled(w: Weights) -> dvm.CompiledGraph:
    return dvm.CompiledGraph(
        module_text(), types={"Leaf": Leaf, "Node": Node}, constants=w._asdict()
    )


def table(lengths: list[int]) -> dict[str, float]:
    """Microseconds per token of each contender."""
    draw = np.random.default_rng(1)
    w = weights()
    graph, eager = compiled(w), by_torch(w)
    of_numpy, of_torch = dvm.compile(by_numpy), dvm.compile(eager)
    sentences = [sentence(draw, n) for n in lengths]
    tensors = [as_tensors(tree) for tree in sentences]
    ways: Contenders = {
        "numpy": lambda k: by_numpy(sentences[k], w)[0],
        "eager": lambda k: eager(tensors[k])[0],
        "dvm": lambda k: graph(sentences[k])[0],
        "dvm of numpy": lambda k: of_numpy(sentences[k], w)[0],
        "dvm of torch": lambda k: of_torch(tensors[k])[0],
    }
    with dvm.stance("force_capture"), torch.no_grad():
        times = in_turns(ways, lengths)
    for name, function in (("numpy", of_numpy), ("torch", of_torch)):
        stats = function.stats
        print(
            f"  of {name}: {stats.captures} captures, {stats.hits} of {stats.calls} calls replayed"
        )
    return times
