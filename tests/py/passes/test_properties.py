"""Passes that mean nothing change nothing: bits of results are as without."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm
from dvm import _dvm
from dvm.passes import DecomposePass, PatternPass, ops

UNARY = ("neg", "abs", "exp", "tanh")
BINARY = ("add", "mul", "sub", "maximum", "minimum")


class Turned(PatternPass):
    """What commutes, the other way round."""

    def pattern(self, x, y, c: float):
        return x * c + y

    def replacement(self, x, y, c):
        return y + c * x


class Negated(PatternPass):
    def pattern(self, x, y):
        return x - y

    def replacement(self, x, y):
        return x + -y


class Same(DecomposePass):
    ops = (*UNARY, *BINARY)

    def decompose(self, node):
        return getattr(ops, node.op)(*node.operands)


@st.composite
def graphs(draw):
    """Arithmetic on matrices, rows, columns, constants and their sums."""
    g = _dvm.Graph()
    m, n = g.symbol("m", 1), g.symbol("n", 1)
    shapes = [[m, n], [n], [m, 1]]
    values = [(g.input("f32", shape), k) for k, shape in enumerate(shapes)]
    whole = [g.broadcast(v, [m, n]) for v, _ in values]
    for _ in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(["unary", "binary", "constant", "sum", "fma"]))
        a, b = draw(st.sampled_from(whole)), draw(st.sampled_from(whole))
        if kind == "unary":
            whole.append(g.elementwise(draw(st.sampled_from(UNARY)), [a]))
        elif kind == "binary":
            whole.append(g.elementwise(draw(st.sampled_from(BINARY)), [a, b]))
        elif kind == "sum":
            whole.append(g.broadcast(g.reduce("sum", a, [draw(st.integers(0, 1))]), [m, n]))
        else:
            number = g.constant("f32", draw(st.sampled_from([0.5, 3.0, 0.1])))
            constant = g.broadcast(number, [m, n])
            whole.append(constant)
            if kind == "fma":
                factors = draw(st.permutations([a, constant]))
                product = g.elementwise("mul", list(factors))
                whole.append(g.elementwise("add", list(draw(st.permutations([product, b])))))
    g.outputs = [whole[-1], draw(st.sampled_from(whole[3:]))]
    return g


class Chain(PatternPass):
    def pattern(self, a, b, c, d):
        return ops.exp(a) * ops.sin(b) * ops.cos(c) * ops.tanh(d)

    def replacement(self, a):
        return a


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_order_and_grouping_of_a_chain_matches(data):
    g = _dvm.Graph()
    n = g.symbol("n", 1)
    factors = [g.elementwise(op, [g.input("f32", [n])]) for op in ("exp", "sin", "cos", "tanh")]
    while len(factors) > 1:
        factors = data.draw(st.permutations(factors))
        k = data.draw(st.integers(0, len(factors) - 2))
        factors[k : k + 2] = [g.elementwise("mul", factors[k : k + 2])]
    g.outputs = factors
    given = [np.full(2, k, np.float32) for k in range(4)]
    assert list(dvm.CompiledGraph(g, passes=[Chain])(*given)[0]) == [0, 0]


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(1, 3), st.integers(1, 3))
def test_the_same_bits(graph, m, n):
    rng = np.random.default_rng(0)
    x = [rng.standard_normal(s).astype(np.float32) for s in ((m, n), (n,), (m, 1))]
    wanted = dvm.CompiledGraph(graph)(*x)
    for passes in ([Turned], [Negated], [Same], [Turned, Negated, Same]):
        made = dvm.CompiledGraph(graph, passes=passes)(*x)
        for a, b in zip(made, wanted, strict=True):
            assert a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=True)
