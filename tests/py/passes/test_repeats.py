"""Passes on functions of arrays that repeat to one shape, where each array has its own sizes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm
from dvm.passes import PatternPass, ops
from passes.rewriting import graph_of


class Greater(PatternPass):
    def pattern(self, a, b):
        return ops.maximum(a, b)

    def replacement(self, a, b):
        return ops.maximum(a, b)


class ByRoot(PatternPass):
    def pattern(self, a, b):
        return a / ops.sqrt(b)

    def replacement(self, a, b):
        return a * ops.rsqrt(b)


FUNCTIONS = {
    "sums": (Greater, lambda x, y, z: np.maximum(x + z, y + z)),
    "affine": (ByRoot, lambda x, bias, scale: (x + bias) / np.sqrt(scale * scale + bias)),
    "centred": (ByRoot, lambda x, m, v: (x - m) / np.sqrt(v + m * m)),
    "three": (Greater, lambda x, y, z: np.maximum(np.maximum(x, y) * z, x + y)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_what_repeats_in_the_program_repeats_in_the_replacement(name: str, data: Any) -> None:
    """Sizes of the match are of two arrays, those of the replacement of three."""
    each, f = FUNCTIONS[name]
    shapes = [(6, 8), (8,), (6, 1), (1, 8), (1,), ()]
    drawn = [(6, 8), *(data.draw(st.sampled_from(shapes)) for _ in range(2))]
    drawn = data.draw(st.permutations(drawn))
    rng = np.random.default_rng(0)
    x = [np.asarray(rng.random(shape), np.float32) + 1 for shape in drawn]
    made = dvm.compile(lambda *x: f(*x), passes=[each])
    for _ in range(3):
        y = made(*x)
    assert not made.fallback_reasons
    assert made.stats.hits
    np.testing.assert_allclose(y, f(*x), rtol=1e-6)


def test_each_call_checks_what_is_repeated() -> None:
    """What an assumption about sizes is made of is checked where it is used."""
    graph = graph_of(
        "input f32[a]",
        "input f32[b]",
        "input f32[c]",
        "broadcast(%0) f32[bcast(a, b)]",
        "broadcast(%1) f32[bcast(a, b)]",
        "add(%3, %4) f32[bcast(a, b)]",
        "broadcast(%1) f32[bcast(b, c)]",
        "broadcast(%2) f32[bcast(b, c)]",
        "add(%6, %7) f32[bcast(b, c)]",
        "broadcast(%8) f32[bcast(a, b)]",
        "maximum(%5, %9) f32[bcast(a, b)]",
        result="%10",
    )
    made, plain = dvm.CompiledGraph(graph, passes=[Greater]), dvm.CompiledGraph(graph)
    for sizes in ((4, 4, 4), (4, 1, 1), (4, 4, 1), (1, 4, 4), (4, 1, 4)):
        x = [np.arange(size, dtype=np.float32) for size in sizes]
        assert np.array_equal(made(*x)[0], plain(*x)[0])
    for sizes in ((1, 1, 4), (4, 4, 3)):
        x = [np.arange(size, dtype=np.float32) for size in sizes]
        for each in (made, plain):
            with pytest.raises(dvm.Error):
                each(*x)
