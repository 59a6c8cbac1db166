"""A pattern means the same wherever it is found: replaced by itself it changes no value.

The graphs have what patterns look through, in all combinations: broadcasts, reductions, axes of
size 1 that come and go, square arrays whose rows fit where columns would.
"""

import random
from collections import Counter

import numpy as np
import pytest

import dvm
from dvm import _dvm
from dvm.passes import PatternPass, ops
from passes.rewriting import notes_of
from whole import WHOLE


def by_itself(name, expression):
    """A pass whose replacement is its pattern."""
    members = {"pattern": staticmethod(expression), "replacement": staticmethod(expression)}
    return type(name, (PatternPass,), members)


#: with the ops that graphs for them have: unary, binary, reductions
PASSES = {
    by_itself("Fma", lambda x, y, z: x * y + z): (["tanh"], ["mul", "add"], ["sum"]),
    by_itself("Shift", lambda x, y: abs(x) - y): (["abs"], ["sub"], ["sum"]),
    by_itself("Centred", lambda x: x - x.max()): (["abs"], ["sub"], ["max"]),
    by_itself("ByRow", lambda x, y: ops.tanh(x) * y.sum()): (["tanh"], ["mul"], ["sum"]),
    by_itself("SumOfSum", lambda x, y: (x + y).sum()): (["tanh"], ["add"], ["sum"]),
    by_itself("SumOfTanh", lambda x: ops.tanh(x).sum(axis=-2)): (["tanh"], ["mul"], ["sum"]),
    by_itself("OfSum", lambda x: ops.tanh(x.sum()) - x): (["tanh"], ["sub"], ["sum"]),
    by_itself("PartOfSum", lambda x, y: abs(x) - ops.tanh(y)): (
        ["abs", "tanh"],
        ["add", "sub"],
        ["sum"],
    ),
    by_itself("PartOfProduct", lambda x, y: abs(x) * y.sum()): (["abs", "neg"], ["mul"], ["sum"]),
    by_itself("Two", lambda x, y: (ops.tanh(x), abs(y) + x)): (["tanh", "abs"], ["add"], ["max"]),
}


class Drawn:
    """A graph under construction, of values that have one of these shapes."""

    def __init__(self, seed, menu):
        self.rng = random.Random(seed)
        self.unaries, self.binaries, self.reductions = menu
        self.graph = g = _dvm.Graph()
        m = g.symbol("m", 1)
        self.is_square = self.flip()
        n = m if self.is_square else g.symbol("n", 1)
        one = g.size(1)
        self.shapes = {"mn": [m, n], "m1": [m, one], "1n": [one, n], "n": [n], "m": [m]}
        self.values = [(g.input("f64", self.shapes[key]), key) for key in ("mn", "m1", "n", "m")]

    def flip(self):
        return self.rng.random() < 0.5

    def pick(self):
        return self.rng.choice(self.values[:4] + self.values[-3:])

    def fit(self, value, kind):
        """The value repeated to all of it, as NumPy does it, or another one where it cannot."""
        if kind == "mn":
            return value
        if kind == "m" and not self.is_square:
            value = self.values[1][0]
        return self.graph.broadcast(value, self.shapes["mn"])

    def unary(self, value):
        if self.flip():
            return value
        return self.graph.elementwise(self.rng.choice(self.unaries), [value])

    def binary(self, value, other):
        op = self.rng.choice(self.binaries)
        return self.graph.elementwise(op, [value, other])

    def turn(self, value, kind):
        """Without the axis of size 1, or with it, or as it is."""
        other = {"m1": "m", "m": "m1", "1n": "n", "n": "1n"}.get(kind)
        if other is None or not self.flip():
            return value, kind
        return self.graph.reshape(value, self.shapes[other]), other

    def step(self):
        value, kind = self.pick()
        which = self.rng.choice(["unary", "binary", "small", "reduced", "reduced"])
        if which == "unary":
            self.values.append((self.unary(value), kind))
        elif which == "small":  # of one shape that is not all of it
            others = [v for v, k in self.values if k == kind]
            made = self.unary(self.binary(value, self.rng.choice(others)))
            self.values.append((made, kind))
        elif which == "binary":
            other = self.fit(*self.pick())
            self.values.append((self.binary(self.fit(value, kind), other), "mn"))
        else:
            self.reduced(self.fit(value, kind))

    def reduced(self, value):
        """A reduction of one value that another is computed with, its axis in any state."""
        axis = self.rng.randrange(2)
        op = self.rng.choice(self.reductions)
        made = self.graph.reduce(op, self.unary(value), [axis])
        made, kind = self.turn(made, "1n" if axis == 0 else "m1")
        made, kind = self.turn(self.unary(made), kind)
        if self.flip():
            self.values.append((made, kind))
            return
        other = self.unary(self.rng.choice([value, self.fit(*self.pick())]))
        operands = [other, self.fit(made, kind)]
        self.rng.shuffle(operands)
        self.values.append((self.binary(*operands), "mn"))


@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.__name__)
def test_replaced_by_itself(each):
    rules = Counter()
    for seed in range(8000 if WHOLE else 1000):
        drawn = Drawn(seed, PASSES[each])
        for _ in range(drawn.rng.randrange(2, 8)):
            drawn.step()
        drawn.graph.outputs = [v for v, _ in drawn.values[-2:]]
        m, n = drawn.rng.randrange(1, 5), drawn.rng.randrange(1, 5)
        n = m if drawn.is_square else n
        values = np.random.default_rng(seed)
        x = [values.standard_normal(shape) for shape in ((m, n), (m, 1), (n,), (m,))]
        made = dvm.CompiledGraph(drawn.graph, passes=[each])
        for a, b in zip(made(*x), dvm.CompiledGraph(drawn.graph)(*x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=str(drawn.graph))
        rules.update(rule for _, rule in notes_of(drawn.graph, each()))
    assert rules["replaced"] > 3, rules
