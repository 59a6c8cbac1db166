"""What patterns find, and what they leave alone."""

import numpy as np
import pytest

import dvm
from dvm import _dvm
from dvm.passes import DecomposePass, PatternPass, Value, ops, pattern
from passes.rewriting import graph_of, notes_of


def marked(function, made=abs):
    """A pass whose replacement is the absolute of the first variable, or what `made` says."""

    class Marks(PatternPass):
        pattern = staticmethod(function)

        def replacement(self, x, **_):
            return made(x)

    return Marks()


def count(graph, *passes):
    return sum(verdict == "yes" for verdict, _ in notes_of(graph, *passes))


def binary(*lines, result):
    return graph_of("input f32[m, n]", "input f32[m, n]", *lines, result=result)


@pytest.mark.parametrize(
    "lines",
    [
        ["mul(%0, %1) f32[m, n]", "add(%2, %0) f32[m, n]"],
        ["mul(%1, %0) f32[m, n]", "add(%2, %0) f32[m, n]"],
        ["mul(%0, %1) f32[m, n]", "add(%0, %2) f32[m, n]"],
        ["mul(%1, %0) f32[m, n]", "add(%0, %2) f32[m, n]"],
    ],
)
def test_operands_that_commute_stand_in_any_order(lines):
    assert count(binary(*lines, result="%3"), marked(lambda x, y: x * y + x)) == 1


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["sub(%0, %1) f32[m, n]"], 1),
        (["neg(%1) f32[m, n]", "add(%0, %2) f32[m, n]"], 1),
        (["neg(%1) f32[m, n]", "add(%2, %0) f32[m, n]"], 1),
        (["neg(%1) f32[m, n]", "sub(%0, %2) f32[m, n]"], 1),
        (["add(%0, %1) f32[m, n]"], 0),
    ],
)
def test_a_difference_is_a_sum_with_the_negative(lines, found):
    graph = binary(*lines, result=f"%{len(lines) + 1}")
    assert count(graph, marked(lambda x, y: x - y)) == found


def test_chains_are_put_together_in_any_way():
    three = marked(lambda x, y: 0.5 * x * ops.exp(y))
    for lines in (
        ["mul(%3, %0) f32[m, n]", "mul(%5, %4) f32[m, n]"],
        ["mul(%4, %0) f32[m, n]", "mul(%3, %5) f32[m, n]"],
        ["mul(%4, %3) f32[m, n]", "mul(%0, %5) f32[m, n]"],
    ):
        graph = binary(
            "constant f32[] {value = 0x1p-1}",
            "broadcast(%2) f32[m, n]",
            "exp(%1) f32[m, n]",
            *lines,
            result="%6",
        )
        assert count(graph, three) == 1


def test_numbers_are_rounded_to_the_dtype():
    tenth = {
        "f64": "0x1.999999999999ap-4",
        "f32": "0x1.99999ap-4",
        "f16": "0x1.998p-4",
        "bf16": "0x1.9ap-4",
    }
    for dtype, value in tenth.items():
        for given, found in ((value, 1), ("0x1.9p-4", 0)):
            graph = graph_of(
                f"input {dtype}[n]",
                f"constant {dtype}[] {{value = {given}}}",
                f"broadcast(%1) {dtype}[n]",
                f"mul(%0, %2) {dtype}[n]",
                result="%3",
            )
            assert count(graph, marked(lambda x: x * 0.1)) == found
            assert count(graph, marked(lambda x: x * ops.near(0.1, 0.05))) == 1
            assert count(graph, marked(lambda x: x / 10)) == found


@pytest.mark.parametrize("greatest", ["max", "max_or_lowest"])
def test_the_softmax_of_any_library_is_one(greatest):
    graph = graph_of(
        "input f32[m, n]",
        f"{greatest}(%0) f32[m, 1] {{axes = [1]}}",
        "broadcast(%1) f32[m, n]",
        "sub(%0, %2) f32[m, n]",
        "exp(%3) f32[m, n]",
        "sum(%4) f32[m, 1] {axes = [1]}",
        "broadcast(%5) f32[m, n]",
        "div(%4, %6) f32[m, n]",
        result="%7",
    )
    assert count(graph, marked(lambda x: ops.softmax(x))) == 1


@pytest.mark.parametrize(("written", "found"), [("0.0", 1), ("-0.0", 0)])
def test_a_zero_has_a_sign(written, found):
    graph = graph_of(
        "input f32[n]",
        f"constant f32[] {{value = {written}}}",
        "broadcast(%1) f32[n]",
        "copysign(%0, %2) f32[n]",
        result="%3",
    )
    assert count(graph, marked(lambda x: ops.copysign(x, 0.0))) == found


def test_any_constant_is_given_as_its_value():
    class Adds(PatternPass):
        def pattern(self, x, c: float):
            return x + c

        def replacement(self, x, c):
            assert type(c) is float
            return x - -2 * c

    graph = graph_of(
        "input f32[n]",
        "constant f32[] {value = 0x1.8p+0}",
        "broadcast(%1) f32[n]",
        "add(%0, %2) f32[n]",
        "add(%3, %0) f32[n]",
        result="%4",
    )
    (y,) = dvm.CompiledGraph(graph, passes=[Adds])(np.float32([1, 2]))
    assert list(y) == [1 + 3 + 1, 2 + 3 + 2]


NORM = marked(lambda x, eps: x / ops.sqrt(ops.mean(x * x) + eps))


def test_axes_of_size_1_come_and_go():
    rows = ["input f32[m, n]", "mul(%0, %0) f32[m, n]", "sum(%1) f32[m, 1] {axes = [1]}"]
    tail = ["sqrt({}) f32[m, 1]", "broadcast({}) f32[m, n]", "div(%0, {}) f32[m, n]"]
    kept = [
        *rows,
        "dim f32[] {size = n}",
        "broadcast(%3) f32[m, 1]",
        "div(%2, %4) f32[m, 1]",
        "scalar f32[]",
        "broadcast(%6) f32[m, 1]",
        "add(%5, %7) f32[m, 1]",
        tail[0].format("%8"),
        tail[1].format("%9"),
        tail[2].format("%10"),
    ]
    assert count(graph_of(*kept, result="%11"), NORM) == 1
    dropped = [
        *rows,
        "reshape(%2) f32[m]",
        "dim f32[] {size = n}",
        "broadcast(%4) f32[m]",
        "div(%3, %5) f32[m]",
        "scalar f32[]",
        "broadcast(%7) f32[m]",
        "add(%6, %8) f32[m]",
        "reshape(%9) f32[m, 1]",
        tail[0].format("%10"),
        tail[1].format("%11"),
        tail[2].format("%12"),
    ]
    assert count(graph_of(*dropped, result="%13"), NORM) == 1


def test_a_row_is_no_column():
    """Means of rows that stand where those of columns would: shapes alone do not tell."""
    graph = graph_of(
        "input f32[n, n]",
        "sum(%0) f32[n, 1] {axes = [1]}",
        "reshape(%1) f32[n]",
        "broadcast(%2) f32[n, n]",
        "sub(%0, %3) f32[n, n]",
        result="%4",
    )
    by_row = marked(lambda x: x - x.sum())
    assert count(graph, by_row) == 0
    assert ("no", "other-shapes") in notes_of(graph, by_row)
    right = graph.replace("broadcast(%2)", "broadcast(%1)").replace(
        "  %2 = reshape(%1) f32[n]\n", ""
    )
    right = right.replace("%3", "%2").replace("%4", "%3")
    assert count(right, by_row) == 1


def test_a_sum_over_what_repeats_is_no_sum_of_it():
    graph = graph_of(
        "input f32[m, 1]",
        "exp(%0) f32[m, 1]",
        "broadcast(%1) f32[m, n]",
        "sum(%2) f32[m, 1] {axes = [1]}",
        "input f32[n]",
        result="%3, %4",
    )
    assert count(graph, marked(lambda x: ops.exp(x).sum(), Value.max)) == 0


def test_means_are_told_by_their_count():
    for value, found in ((8, 1), (7, 0)):
        graph = graph_of(
            "input f32[m, 8]",
            "sum(%0) f32[m, 1] {axes = [1]}",
            f"constant f32[] {{value = {float(value).hex()}}}",
            "broadcast(%2) f32[m, 1]",
            "div(%1, %3) f32[m, 1]",
            result="%4",
        )
        assert count(graph, marked(lambda x: ops.mean(x), Value.max)) == found
        assert count(graph, marked(lambda x: x.mean(axis=0), Value.max)) == 0


def test_what_is_needed_outside_stays():
    """A diamond: the exponential is a result as well."""
    graph = binary("exp(%0) f32[m, n]", "mul(%2, %1) f32[m, n]", result="%3, %2")
    product = marked(lambda x, y: ops.exp(x) * y)
    assert count(graph, product) == 0
    graph = binary(
        "exp(%0) f32[m, n]",
        "tanh(%2) f32[m, n]",
        "abs(%3) f32[m, n]",
        "add(%4, %3) f32[m, n]",
        result="%5",
    )
    inner = marked(lambda x: abs(ops.tanh(ops.exp(x))))
    assert count(graph, inner) == 0
    assert ("no", "needed-outside") in notes_of(graph, inner)


def test_values_computed_twice_are_one():
    graph = binary(
        "exp(%0) f32[m, n]",
        "exp(%0) f32[m, n]",
        "mul(%2, %3) f32[m, n]",
        result="%4",
    )
    assert count(graph, marked(lambda x: x * x)) == 1
    assert count(graph.replace("%3 = exp(%0)", "%3 = exp(%1)"), marked(lambda x: x * x)) == 0


def test_what_is_within_twice_is_no_use_outside():
    graph = binary(
        "neg(%0) f32[m, n]",
        "exp(%2) f32[m, n]",
        "neg(%0) f32[m, n]",
        "exp(%4) f32[m, n]",
        "mul(%3, %5) f32[m, n]",
        result="%6",
    )
    assert count(graph, marked(lambda x: ops.exp(-x) ** 2)) == 1
    assert count(graph.replace("%5 = exp(%4)", "%5 = exp(%2)"), marked(lambda x: ops.exp(-x) ** 2))


def test_a_replacement_is_computed_in_the_dtype_of_the_result():
    class Sum(PatternPass):
        def pattern(self, x, y):
            return ops.exp(x * y).sum()

        def replacement(self, x, y):
            assert (x.dtype, y.dtype) == ("f32", "f32")
            return ops.exp(x * y).sum()

    graph = graph_of(
        "input f16[m, n]",
        "input f16[m, n]",
        "mul(%0, %1) f16[m, n]",
        "cast(%2) f32[m, n]",
        "exp(%3) f32[m, n]",
        "sum(%4) f32[m, 1] {axes = [1]}",
        result="%5",
    )
    assert count(graph, Sum()) == 1


def test_several_roots_are_replaced_together():
    class SinCos(PatternPass):
        def pattern(self, x):
            return ops.sin(x), ops.cos(x)

        def replacement(self, x):
            return x + 1, x + 2

    graph = binary("sin(%0) f32[m, n]", "exp(%2) f32[m, n]", "cos(%0) f32[m, n]", result="%3, %4")
    first, second = dvm.CompiledGraph(graph, passes=[SinCos])(*np.zeros((2, 1, 1), np.float32))
    assert np.allclose([first, second], [np.exp([[1]]), [[2]]])
    # Where one root is computed of the other, they cannot be made at once.
    graph = binary("sin(%0) f32[m, n]", "cos(%2) f32[m, n]", "add(%2, %3) f32[m, n]", result="%4")
    assert count(graph, SinCos()) == 0


def test_halves_and_parts_along_an_axis():
    swapped = marked(lambda x: ops.join(x.split(2)[::-1]))
    lines = [
        "input f32[m, n]",
        "slice(%0) f32[m, floordiv(n, 2)] {starts = [0, 0], steps = [1, 1]}",
        "slice(%0) f32[m, n - floordiv(n, 2)] {starts = [0, floordiv(n, 2)], steps = [1, 1]}",
        "empty f32[m, n]",
        "update(%3, %2) f32[m, n] {starts = [0, 0], steps = [1, 1]}",
        "update(%4, %1) f32[m, n] {starts = [0, n - floordiv(n, 2)], steps = [1, 1]}",
    ]
    assert count(graph_of(*lines, result="%5"), swapped) == 1
    assert count(graph_of(*lines, result="%5"), marked(lambda x: ops.join(x.split(2)))) == 0


def test_bodies_of_loops_are_graphs_too():
    graph = """graph v1 {
      %0 = input f32[n]
      %1 = scalar i64[] {size = k}
      %2 = loop(%0) i64[] {results = 2, count = k} do {
        %0 = scalar i64[] {size = t}
        %1 = input f32[n]
        %2 = exp(%1) f32[n]
        return %2
      }
      %3 = result(%2) f32[n] {index = 1}
      return %3
    }"""

    class Twice(PatternPass):
        def pattern(self, x):
            return ops.exp(x)

        def replacement(self, x):
            return x + x

    (y,) = dvm.CompiledGraph(graph, passes=[Twice])(np.float32([1, 2]), 3)
    assert list(y) == [8, 16]


def test_several_patterns_have_one_replacement():
    class Both(PatternPass):
        @pattern
        def by_exp(self, x):
            return ops.exp(x)

        @pattern
        def by_log(self, x):
            return ops.log(x)

        def replacement(self, x):
            return x + 1

    graph = binary("exp(%0) f32[m, n]", "log(%2) f32[m, n]", result="%3")
    (y,) = dvm.CompiledGraph(graph, passes=[Both])(*np.zeros((2, 1, 1), np.float32))
    assert y == 2


def test_a_thousand_planted_are_found():
    lines = ["input f32[n]", "input f32[n]"]
    for k in range(1000):
        last = len(lines) - 1
        lines.append(f"mul(%{last}, %1) f32[n]" if k % 2 else f"mul(%1, %{last}) f32[n]")
        lines.append(f"add(%{last + 1}, %{k % 2}) f32[n]")
    graph = graph_of(*lines, result=f"%{len(lines) - 1}")
    assert count(graph, marked(lambda x, y, z: x * y + z)) == 1000


def test_three_folds_take_one_run():
    class Halves(PatternPass):
        again = True

        def pattern(self, x, a: float, b: float):
            return (x * a) * b

        def replacement(self, x, a, b):
            return x * (a * b)

    lines = ["input f32[n]", "constant f32[] {value = 0x1p-1}", "broadcast(%1) f32[n]"]
    lines += [f"mul(%{0 if k == 0 else k + 2}, %2) f32[n]" for k in range(4)]
    made = dvm.CompiledGraph(graph_of(*lines, result="%6"), passes=[Halves])
    assert made(np.float32([16]))[0] == 1
    assert made._compiled.describe()["passes"][0][2].count("mul") == 1


def test_a_chain_of_folds_is_one_round(monkeypatch):
    """What a node is computed of has been replaced when it is looked at."""
    rewrite, rounds = _dvm.rewrite, []

    def counted(*given):
        made = rewrite(*given)
        rounds.append(made[1:3])
        return made

    class Fold(DecomposePass):
        ops = "neg"

        def decompose(self, node):
            (x,) = node.operands
            op, _, attributes, _ = _dvm.node_of(x.graph, x.node)
            return -attributes["value"] if op == "constant" else None

    monkeypatch.setattr(_dvm, "rewrite", counted)
    for length in (3, 1000):
        lines = ["input f32[]", "constant f32[] {value = 0x1p+0}"]
        lines += [f"neg(%{k + 1}) f32[]" for k in range(length)]
        graph = graph_of(*lines, f"add(%0, %{length + 1}) f32[]", result=f"%{length + 2}")
        made = dvm.CompiledGraph(graph, passes=[Fold])
        assert made(np.float32(2))[0] == 2 + (-1) ** length
        assert rounds.pop() == (length, 1)
