"""Sums, products and the like: one expression, whichever way it is written."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm
from dvm import _dvm
from dvm.building.builder import NUMPY_DTYPES
from dvm.passes import PatternPass, ops
from passes.rewriting import graph_of, notes_of

#: one unary op each, so that every operand is another one
OPS = ("exp", "sin", "cos", "tanh", "abs")
#: what joins, what takes away, by the kind of chain
KINDS = {"sum": ("add", "sub"), "product": ("mul", "div")}


class Written:
    """A chain of given operands, put together in a drawn way out of drawn operations."""

    def __init__(self, draw: Any, kind: str, apply: Any, number: Any) -> None:
        self.draw = draw
        self.kind = kind
        self.apply = apply
        self.number = number

    def write(self, parts: list[tuple[Any, bool]], is_inverse: bool, is_negative: bool) -> Any:
        """The sum or product, or its inverse; only products are negative beside."""
        if self.kind == "product" and self.draw(st.integers(0, 5)) == 5:
            inner = self.write(parts, is_inverse, not is_negative)
            if self.draw(st.booleans()):
                return self.apply("neg", inner)
            return self.apply("mul", inner, self.number(-1.0))
        if len(parts) == 1:
            return self.one(*parts[0], is_inverse, is_negative)
        cut = self.draw(st.integers(1, len(parts) - 1))
        parts = self.draw(st.permutations(parts))
        join, part_from = KINDS[self.kind]
        takes_away = self.draw(st.booleans())
        first_is_negative = self.kind == "product" and self.draw(st.booleans())
        first = self.write(parts[:cut], is_inverse, first_is_negative)
        second = self.write(parts[cut:], is_inverse != takes_away, is_negative != first_is_negative)
        return self.apply(part_from if takes_away else join, first, second)

    def one(self, operand: Any, inverse: bool, is_inverse: bool, is_negative: bool) -> Any:
        if inverse != is_inverse:
            if self.kind == "sum":
                operand = self.apply("neg", operand)
            elif self.draw(st.booleans()):
                operand = self.apply("reciprocal", operand)
            else:
                operand = self.apply("div", self.number(1.0), operand)
        return self.apply("neg", operand) if is_negative else operand


def written_twice(data: Any, kind: str, rest: int) -> tuple[Any, ...]:
    """A graph that has the pattern's operands and so many more; and its pass.

    With them arguments, whether each that is left is taken away, and whether all is negative.
    """
    count = data.draw(st.integers(2, 4))
    inverse = [data.draw(st.booleans()) for _ in OPS]
    inverse[0] = False  # a chain of nothing but inverses is the inverse of one
    # A sign that only what is left has is not for the pattern to take.
    is_negative = kind == "product" and not rest and data.draw(st.booleans())

    def found(x, *others):
        terms = [getattr(ops, op)(v) for op, v in zip(OPS, (x, *others), strict=False)]
        written = Written(
            data.draw, kind, lambda op, *given: getattr(ops, op)(*given), lambda number: number
        )
        return written.write(list(zip(terms, inverse, strict=False)), False, is_negative)

    namespace: dict[str, Any] = {"found": found}
    names = ", ".join(f"x{k}" for k in range(count))
    exec(f"def pattern(self, {names}): return found({names})", namespace)
    replacement = {"replacement": lambda _, x0: x0 + 100.0}
    each = type("Each", (PatternPass,), {"pattern": namespace["pattern"], **replacement})

    g = _dvm.Graph()
    n = g.symbol("n", 1)
    values = [g.elementwise(op, [g.input("f64", [n])]) for op in OPS[:count]]
    others = [g.input("f64", [n]) for _ in range(rest)]
    parts = list(zip(values, inverse, strict=False))
    parts += [(v, data.draw(st.booleans())) for v in others]
    written = Written(
        data.draw,
        kind,
        lambda op, *given: g.elementwise(op, list(given)),
        lambda number: g.broadcast(g.constant("f64", number), [n]),
    )
    of_rest = kind == "product" and rest > 0 and data.draw(st.booleans())
    g.outputs = [written.write(parts, False, is_negative or of_rest)]
    given = [np.full(3, 2.0 + k) for k in range(count + rest)]
    return g, each, given, [inverse for _, inverse in parts[count:]], of_rest


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_way_to_write_a_chain_is_found(kind, data):
    g, each, given, *_ = written_twice(data, kind, rest=0)
    assert list(dvm.CompiledGraph(g, passes=[each])(*given)[0]) == [102.0] * 3, str(g)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_part_of_a_longer_chain_is_found(kind, data):
    """What is left stays as it is, with its signs."""
    g, each, given, inverse, is_negative = written_twice(
        data, kind, rest=data.draw(st.integers(1, 3))
    )
    wanted = -102.0 if is_negative else 102.0
    for x, is_inverse in zip(given[-len(inverse) :], inverse, strict=True):
        if kind == "sum":
            wanted = wanted - x[0] if is_inverse else wanted + x[0]
        else:
            wanted = wanted / x[0] if is_inverse else wanted * x[0]
    (y,) = dvm.CompiledGraph(g, passes=[each])(*given)
    np.testing.assert_allclose(y, wanted, rtol=1e-12, err_msg=str(g))


def count(graph: str, each: Any) -> int:
    return sum(verdict == "yes" for verdict, _ in notes_of(graph, each))


def made_of(pattern: Any, replacement: Any) -> PatternPass:
    members = {"pattern": staticmethod(pattern), "replacement": staticmethod(replacement)}
    return type("Made", (PatternPass,), members)()


def test_a_sign_of_the_chain_is_the_patterns() -> None:
    lines = [
        "input f32[n]",
        "exp(%0) f32[n]",
        "sin(%0) f32[n]",
        "input f32[n]",
        "mul(%1, %3) f32[n]",
    ]
    negative = made_of(lambda x, y: -(ops.exp(x) * ops.sin(y)), lambda x: x)
    plain = graph_of(*lines, "mul(%4, %2) f32[n]", result="%5")
    assert count(plain, negative) == 0
    signed = graph_of(*lines, "neg(%4) f32[n]", "mul(%5, %2) f32[n]", result="%6")
    assert count(signed, negative) == 1
    (y,) = dvm.CompiledGraph(signed, passes=[negative])(np.float32([3]), np.float32([5]))
    assert list(y) == [15]


def test_what_is_left_is_put_together_as_it_was() -> None:
    """Bits are those of the replacement, times what is left, from the left."""
    lines = ["input f32[n]" for _ in range(4)]
    lines += ["exp(%0) f32[n]", "tanh(%1) f32[n]", "mul(%2, %4) f32[n]", "mul(%6, %3) f32[n]"]
    graph = graph_of(*lines, "mul(%7, %5) f32[n]", result="%8")
    product = made_of(lambda x, y: ops.exp(x) * ops.tanh(y), lambda x, y: ops.exp(x) * ops.tanh(y))
    rng = np.random.default_rng(0)
    given = rng.standard_normal((4, 1000)).astype(np.float32)
    wanted = dvm.CompiledGraph(
        graph_of(
            *lines[:6],
            "mul(%4, %5) f32[n]",
            "mul(%6, %2) f32[n]",
            "mul(%7, %3) f32[n]",
            result="%8",
        )
    )(*given)
    assert np.array_equal(dvm.CompiledGraph(graph, passes=[product])(*given)[0], wanted[0])
    assert count(graph, product) == 1


def test_several_parts_of_one_chain() -> None:
    """Every pair of the chain is replaced, and then there is an end to it."""
    pairs = 4
    lines = ["input f32[n]", *(f"{op}(%0) f32[n]" for op in ("exp", "tanh") for _ in range(pairs))]
    last = 1
    for k in range(2, 2 * pairs + 1):
        lines.append(f"mul(%{last}, %{k}) f32[n]")
        last = len(lines) - 1
    graph = graph_of(*lines, result=f"%{last}")
    same = made_of(lambda x, y: ops.exp(x) * ops.tanh(y), lambda x, y: ops.tanh(y) * ops.exp(x))
    assert count(graph, same) == pairs


def test_what_is_left_is_looked_at_once_more_and_no_oftener() -> None:
    """A product that is added twice is the part once, and then what is left of the chain."""
    lines = ["input f32[n]", "input f32[n]", "mul(%0, %1) f32[n]"]
    graph = graph_of(*lines, "add(%2, %1) f32[n]", "add(%3, %2) f32[n]", result="%4")
    same = made_of(lambda x, y, z: x * y + z, lambda x, y, z: x * y + z)
    assert count(graph, same) == 2
    x, y = np.float32([2, 3]), np.float32([5, 7])
    assert np.array_equal(dvm.CompiledGraph(graph, passes=[same])(x, y)[0], 2 * x * y + y)


@pytest.mark.parametrize("dtype", ["f32", "i64"])
@pytest.mark.parametrize("op", ["maximum", "minimum", "add", "mul"])
def test_chains_of_each_op_have_parts(op: str, dtype: str) -> None:
    lines = [f"input {dtype}[n]", f"abs(%0) {dtype}[n]", f"square(%0) {dtype}[n]"]
    lines += [f"input {dtype}[n]", f"{op}(%3, %1) {dtype}[n]", f"{op}(%2, %4) {dtype}[n]"]
    join = getattr(ops, op)
    each = made_of(lambda x, y: join(ops.abs(x), y * y), lambda x, y: join(ops.abs(x), y * y))
    graph, x = graph_of(*lines, result="%5"), np.arange(-3, 3, dtype=NUMPY_DTYPES[dtype])
    assert count(graph, each) == 1
    (y,) = dvm.CompiledGraph(graph, passes=[each])(x, x + 2)
    assert np.array_equal(y, dvm.CompiledGraph(graph)(x, x + 2)[0])


def test_a_link_that_others_need_is_not_taken_apart() -> None:
    lines = ["input f32[n]", "exp(%0) f32[n]", "tanh(%0) f32[n]", "input f32[n]"]
    lines += ["mul(%1, %3) f32[n]", "mul(%4, %2) f32[n]"]
    product = made_of(lambda x, y: ops.exp(x) * ops.tanh(y), lambda x: x)
    assert count(graph_of(*lines, result="%5"), product) == 1
    assert count(graph_of(*lines, result="%5, %4"), product) == 0


def test_a_part_has_its_own_shape() -> None:
    """What is left is of more axes: the part is computed before it is repeated."""

    class Part(PatternPass):
        def pattern(self, x, y):
            return ops.exp(x) * ops.tanh(y)

        def replacement(self, x, y, result):
            assert [str(size) for size in result.shape] == ["1", "n"]
            return (x * y).reshape(*result.shape)

    graph = graph_of(
        "input f32[n]",
        "exp(%0) f32[n]",
        "broadcast(%1) f32[m, n]",
        "input f32[m, n]",
        "mul(%2, %3) f32[m, n]",
        "tanh(%0) f32[n]",
        "broadcast(%5) f32[m, n]",
        "mul(%4, %6) f32[m, n]",
        result="%7",
    )
    (y,) = dvm.CompiledGraph(graph, passes=[Part])(np.float32([2, 3]), np.ones((2, 2), np.float32))
    assert y.tolist() == [[4, 9], [4, 9]]
    assert count(graph, Part()) == 1


@pytest.mark.parametrize(("value", "found"), [(49, 1), (48, 0)])
def test_numbers_divide_as_their_inverses_multiply(value: int, found: int) -> None:
    for op, number in (("div", float(value)), ("mul", 1 / value)):
        for dtype in ("f32", "f64"):
            written = float(np.float32(number)) if dtype == "f32" else number
            graph = graph_of(
                f"input {dtype}[n]",
                f"constant {dtype}[] {{value = {written.hex()}}}",
                f"broadcast(%1) {dtype}[n]",
                f"{op}(%0, %2) {dtype}[n]",
                result="%3",
            )
            assert count(graph, made_of(lambda x: x / 49, lambda x: x)) == found
            assert count(graph, made_of(lambda x: x * (1 / 49), lambda x: x)) == found


@pytest.mark.parametrize("op", ["square(%0)", "power(%0, %2)"])
@pytest.mark.parametrize(
    "pattern",
    [
        lambda x: x * x,
        lambda x: x**2,
        lambda x: ops.square(x),
        lambda x: ops.power(x, 2),
    ],
)
def test_powers_are_products(op: str, pattern: Any) -> None:
    lines = ["input f32[n]", "constant f32[] {value = 2.0}", "broadcast(%1) f32[n]", f"{op} f32[n]"]
    assert count(graph_of(*lines, result="%3"), made_of(pattern, lambda x: x)) == 1


@pytest.mark.parametrize("pattern", [lambda x: -(0 - x), lambda x: -(x * -1), lambda x: -(x / -1)])
def test_what_changes_nothing_is_found_as_it_is_written(pattern: Any) -> None:
    found = dvm.compile(pattern, passes=[made_of(pattern, lambda x: x + 5)])
    x = np.linspace(0, 1, 100_000, dtype=np.float32)
    for _ in range(3):
        y = found(x)
    assert np.array_equal(y, x + 5)
    assert (
        count(graph_of("input f32[n]", "neg(%0) f32[n]", result="%1"), made_of(pattern, abs)) == 0
    )
