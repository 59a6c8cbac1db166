"""Sizes that torch computes, as sympy expressions, against what Dims make of them."""

from typing import Any

import sympy
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._sympy import functions

from dvm import _dvm
from dvm.torch.symbols import Symbols, Untranslatable

NAMES = ("s0", "s1")
SYMBOLS = st.sampled_from([sympy.Symbol(name, positive=True, integer=True) for name in NAMES])
NUMBERS = st.integers(1, 9).map(sympy.Integer)
DIVISORS = st.one_of(SYMBOLS, NUMBERS, st.builds(lambda a, b: a * b, SYMBOLS, SYMBOLS | NUMBERS))


def combined(parts: Any) -> Any:
    return st.one_of(
        st.builds(lambda a, b: a + b, parts, parts),
        st.builds(lambda a, b: a * b, parts, parts),
        st.builds(lambda a: a**2, parts),
        st.builds(functions.FloorDiv, parts, DIVISORS),
        st.builds(functions.CeilDiv, parts, DIVISORS),
        st.builds(functions.PythonMod, parts, DIVISORS),
        st.builds(functions.ModularIndexing, parts, NUMBERS, NUMBERS),
        st.builds(functions.Max, parts, parts),
        st.builds(functions.Min, parts, parts),
    )


@given(st.recursive(SYMBOLS | NUMBERS, combined, max_leaves=6), st.data())
def test_a_size_is_what_sympy_says(size, data):
    graph = _dvm.Graph()
    try:
        made = Symbols(graph, None, []).dim(size)
    except Untranslatable:
        return
    for _ in range(4):
        values = {name: data.draw(st.integers(1, 40)) for name in NAMES}
        known = {symbol: values[symbol.name] for symbol in size.free_symbols}
        try:
            wanted = int(size.subs(known))
        except (ZeroDivisionError, TypeError):
            continue  # no size at all
        got = made if isinstance(made, int) else made.evaluate(values)
        assert got == wanted
