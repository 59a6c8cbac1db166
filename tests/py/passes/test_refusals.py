"""Passes that break graphs, fail, or come to no end: errors that name them."""

import gc
import re
import signal
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from dvm.passes import DecomposePass, Pass, PatternPass, graph_passes, ops
from passes.rewriting import graph_of

TANH = 'graph v1 {\n  %0 = input f32[n]\n  %1 = tanh(%0) f32[n] @ "model.py":7\n  return %1\n}'


class Tanh(PatternPass, base=True):
    def pattern(self, x):
        return ops.tanh(x)


class OtherDtype(Tanh):
    def replacement(self, x):
        return x > 0


class OtherShape(Tanh):
    def replacement(self, x):
        return ops.join([x, x])


class Raises(Tanh):
    def replacement(self):
        return 1 // 0


class WrongAxis(Tanh):
    def replacement(self, x):
        return ops.join([x.flip(0), x], axis=-2)


class NoValue(Tanh):
    def replacement(self):
        return "three"


class Kept(Tanh):
    before = None

    def replacement(self, x):
        Kept.before = x if Kept.before is None else Kept.before
        return Kept.before + x


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (OtherDtype, ["model.py:7", "%1 = tanh is f32[n], its replacement bool[n]"]),
        (OtherShape, ["model.py:7", "tanh is f32[n], its replacement f32[2*n]"]),
        (WrongAxis, ["raises IndexError", "axis -2 of a value of 1 axes"]),
        (Raises, ["model.py:7", "raises ZeroDivisionError", "test_refusals.py:"]),
        (
            NoValue,
            [
                "raises TypeError",
                "a replacement is a value of the graph or a constant, not 'three'",
            ],
        ),
    ],
)
def test_a_wrong_replacement_is_refused(wrong, words):
    with pytest.raises(dvm.PassError, match=f"DVM-G003 .*the pass {wrong.__name__}") as raised:
        dvm.CompiledGraph(TANH, passes=[wrong])
    for word in words:
        assert word in str(raised.value)
    assert raised.value.__cause__ is not None


def test_values_of_another_run_are_refused():
    Kept.before = None
    dvm.CompiledGraph(TANH, passes=[Kept])
    with pytest.raises(dvm.PassError, match="of another graph"):
        dvm.CompiledGraph(TANH, passes=[Kept])


class Forever(PatternPass):
    again = True

    def pattern(self, x, y):
        return x + y

    def replacement(self, x, y):
        return y + x


def test_one_that_comes_to_no_end_is_stopped():
    graph = graph_of("input f32[n]", "input f32[n]", "add(%0, %1) f32[n]", result="%2")
    with pytest.raises(dvm.PassError, match="the pass Forever: it comes to no end"):
        dvm.CompiledGraph(graph, passes=[Forever])


class Grows(PatternPass):
    again = True

    def pattern(self, x):
        return ops.tanh(x)

    def replacement(self, x):
        return ops.tanh(ops.tanh(x)) + ops.tanh(x)


def test_one_that_grows_is_stopped():
    with pytest.raises(dvm.PassError, match="the pass Grows: it comes to no end"):
        dvm.CompiledGraph(TANH, passes=[Grows])


class Drops(Pass):
    def run(self, graph):
        graph.outputs = []
        return graph


class Turns(Pass):
    name = "turns results round"

    def run(self, graph):
        graph.outputs = graph.outputs[::-1]
        return graph


class Elsewhere(Pass):
    def run(self, graph):
        return type(graph)()


class Nothing(Pass):
    def run(self, _):
        return None


class Undefined(Pass):
    def run(self, graph):
        graph.outputs = [len(graph) + 5]
        return graph


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (Drops, "the pass Drops gives a graph of 0 results, not 2"),
        (Turns, "the pass turns results round makes result 0"),
        (Elsewhere, "the pass Elsewhere gives a graph over other symbols"),
        (Nothing, "the pass Nothing raises TypeError: run returns None"),
        (Undefined, "the pass Undefined "),
    ],
)
def test_a_graph_that_is_another_is_refused(wrong, words):
    graph = graph_of("input f32[n]", "input f32[m]", result="%0, %1")
    with pytest.raises(dvm.PassError, match=words):
        dvm.CompiledGraph(graph, passes=[wrong])


def test_what_is_no_pass_is_refused():
    for given in ([int], [3], 3, OtherDtype(), [Tanh], [Tanh()]):
        with pytest.raises(TypeError, match="pass"):
            dvm.CompiledGraph(TANH, passes=given)

    class Misplaced(OtherDtype):
        after = "smiplify"

    with pytest.raises(dvm.UnsupportedError, match="did you mean 'simplify'"):
        dvm.CompiledGraph(TANH, passes=[Misplaced])
    assert "fuse" not in graph_passes()


def test_an_unknown_op_is_named():
    with pytest.raises(AttributeError, match="did you mean 'tanh'"):
        ops.tanhh  # noqa: B018
    for given in ("tanhh", ("exp", "tanhh")):
        with pytest.raises(
            dvm.UnsupportedError, match="there is no op 'tanhh'; did you mean 'tanh'"
        ):
            type("Unknown", (DecomposePass,), {"ops": given, "decompose": print})


class Misspelt(PatternPass):
    def pattern(self, x):
        return ops.tahn(x)

    def replacement(self, x):
        return x


class OtherSizes(Tanh):
    def replacement(self, x):
        return x * np.ones(3) + np.ones(4)


class TooMany(Tanh):
    def replacement(self, x):
        return x * np.ones(2000)


class NoArray(PatternPass):
    def pattern(self, x):
        return ops.tanh(x) * np.ones(3)

    def replacement(self, x):
        return x


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (Misspelt, "there is no op 'tahn'; did you mean 'tan'"),
        (OtherSizes, "do not go together"),
        (TooMany, "make it a variable of the pattern"),
        (NoArray, "a variable is any array"),
    ],
)
def test_what_a_pass_writes_is_an_error_at_its_line(wrong, words):
    method = wrong.pattern if "pattern" in vars(wrong) else wrong.replacement
    line = method.__code__.co_firstlineno + 1
    with pytest.raises(dvm.PassError, match=words) as raised:
        dvm.CompiledGraph(TANH, passes=[wrong])
    assert f"test_refusals.py:{line})" in str(raised.value)


def variable(_, x):
    return x


def nothing(*_):
    return None


def other(_, zz):
    return zz


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"pattern": variable, "replacement": variable}, "an op of its variables, not a variable"),
        ({"pattern": nothing, "replacement": variable}, "an op of its variables, not None"),
        (
            {"pattern": Tanh.pattern, "replacement": other},
            "takes 'zz', but the pattern has x, result",
        ),
    ],
)
def test_methods_that_do_not_fit_are_told_of_with_their_lines(members, words):
    wrong = type("Wrong", (PatternPass,), members)
    with pytest.raises(dvm.PassError, match=words) as raised:
        dvm.CompiledGraph(TANH, passes=[wrong])
    lines = [method.__code__.co_firstlineno for method in members.values()]
    assert any(f"test_refusals.py:{line})" in str(raised.value) for line in lines)


@pytest.mark.parametrize(
    ("base", "members", "words"),
    [
        (PatternPass, ["pattern"], "no method 'replacement': write `def replacement(self, x):`"),
        (PatternPass, ["replacement"], "no pattern: write `def pattern(self, x):`"),
        (DecomposePass, [], "no method 'decompose': write `def decompose(self, node):`"),
        (Pass, [], "no method 'run': write `def run(self, graph):`"),
    ],
)
def test_a_class_that_lacks_a_method_is_refused_when_it_is_made(base, members, words):
    def method(_, x):
        return x

    with pytest.raises(TypeError, match=re.escape(f"the pass Forgotten has {words}")):
        type("Forgotten", (base,), dict.fromkeys(members, method))
    made = type("Forgotten", (base,), dict.fromkeys(members, method), base=True)
    with pytest.raises(TypeError, match="Forgotten has no"):
        dvm.CompiledGraph(TANH, passes=[made])


def test_numbers_and_arrays_are_constants():
    class Constants(Tanh):
        def replacement(self, x):
            return np.array([1, 2]) * x + [[0.5], [1]] - x.shape[0] + np.float64(0)

    graph = graph_of("input f32[2, 2]", "tanh(%0) f32[2, 2]", result="%1")
    x = np.float32([[1, 2], [3, 4]])
    (y,) = dvm.CompiledGraph(graph, passes=[Constants])(x)
    assert y.dtype == np.float32
    assert np.array_equal(y, x * [1, 2] + [[0.5], [1]] - 2)
    for constant in (3.0, np.float64(2), np.array([5, 6]), True):
        each = type("Constant", (Tanh,), {"replacement": lambda _, c=constant: c})
        (y,) = dvm.CompiledGraph(graph, passes=[each])(x)
        assert y.dtype == np.float32
        assert np.array_equal(y, np.broadcast_to(constant, (2, 2)))


def test_an_open_size_is_said_to_be_that_of_an_array():
    class Scaled(Tanh):
        def replacement(self, x):
            return (x.reshape(3) * np.array([1, 2, 3])).reshape(*x.shape)

    made = dvm.CompiledGraph(TANH, passes=[Scaled])
    assert list(made(np.float32([1, 1, 1]))[0]) == [1, 2, 3]
    with pytest.raises(dvm.Error):
        made(np.float32([1, 1]))
    each = type("Wrong", (Tanh,), {"replacement": lambda _, x: x * np.array([1, 2, 3])})
    with pytest.raises(dvm.PassError, match=r"is f32\[n\], its replacement f32\[3\]"):
        dvm.CompiledGraph(TANH, passes=[each])


def test_halves_have_arrays_too():
    graph = graph_of("input bf16[2]", "tanh(%0) bf16[2]", result="%1")
    each = type("Scaled", (Tanh,), {"replacement": lambda _, x: x * np.array([1, 2])})
    dvm.CompiledGraph(graph, passes=[each])


def test_sizes_are_numbers():
    graph = graph_of("input f32[n]", "tanh(%0) f32[n]", result="%1")
    each = type("Scaled", (Tanh,), {"replacement": lambda _, x: x * x.shape[0]})
    (y,) = dvm.CompiledGraph(graph, passes=[each])(np.float32([1, 2, 3]))
    assert list(y) == [3, 6, 9]


def test_a_function_runs_uncompiled_with_a_warning():
    @dvm.compile(passes=[Raises])
    def f(x):
        return np.tanh(x) * 2

    x = np.linspace(0, 1, 100000, dtype=np.float32)
    with pytest.warns(RuntimeWarning, match="DVM-G003 .*the pass Raises raises ZeroDivisionError"):
        y = f(x)
    assert np.array_equal(y, f(x))
    assert np.array_equal(y, np.tanh(x) * 2)
    assert any("the pass Raises" in reason for reason in f.fallback_reasons)


def test_a_model_of_torch_names_the_pass():
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()
    f = torch.compile(torch.tanh, backend="dvm", options={"passes": [Raises]})
    with pytest.raises(Exception, match="the pass Raises raises ZeroDivisionError"):
        f(torch.ones(3))
    with pytest.raises(Exception, match="TypeError: passes is a list of passes"):
        torch.compile(torch.tanh, backend="dvm", options={"passes": 3})(torch.ones(3))


def test_an_onnx_file_names_the_pass():
    onnx = pytest.importorskip("onnx")
    import dvm.onnx

    text = (
        '<ir_version: 10, opset_import: ["" : 21]> g (float[n] x) => (float[n] y) { y = Tanh(x) }'
    )
    with pytest.raises(dvm.PassError, match="the pass Raises raises ZeroDivisionError"):
        dvm.onnx.load(onnx.parser.parse_model(text), passes=[Raises])


def test_passes_are_let_go():
    """What compiles with them holds them, and nothing else."""

    class Same(Tanh):
        def replacement(self, x):
            return x

    held = Same()
    seen = weakref.ref(held)
    made = dvm.CompiledGraph(TANH, passes=[held])
    f = dvm.compile(lambda x: np.tanh(x), passes=[held])
    x = np.linspace(0, 1, 100_000, dtype=np.float32)
    for _ in range(3):
        f(x)
    assert f.stats.captures == 1
    del held, made, f
    gc.collect()
    assert seen() is None


def test_a_file_has_what_passes_made(tmp_path):
    class Same(Tanh):
        def replacement(self, x):
            return x

    class Later(Same):
        after = "cse"

    path, x = tmp_path / "x.dvm", np.float32([2, 3])
    for given in ([Later], [Same, Later], [Same, "cse:resume"]):
        with pytest.raises(dvm.UnsupportedError, match="some of which come behind passes of dvm's"):
            dvm.CompiledGraph(TANH, passes=given).save(path)
    dvm.CompiledGraph(TANH, passes=[Same]).save(path)
    assert list(dvm.load(path)(x)[0]) == [2, 3]
    dvm.CompiledGraph(TANH).save(path)
    assert list(dvm.load(path, passes=[Same, Later])(x)[0]) == [2, 3]
    assert list(dvm.load(path)(x)[0]) != [2, 3]


def test_a_file_has_not_what_passes_make_of_bodies(tmp_path):
    graph = """graph v1 {
      %0 = input f32[n]
      %1 = scalar i64[] {size = k}
      %2 = loop(%0) i64[] {results = 2, count = k} do {
        %0 = scalar i64[] {size = t}
        %1 = input f32[n]
        %2 = tanh(%1) f32[n]
        return %2
      }
      %3 = result(%2) f32[n] {index = 1}
      return %3
    }"""
    made = dvm.CompiledGraph(graph, passes=[type("Same", (Tanh,), {"replacement": lambda _, x: x})])
    with pytest.raises(dvm.UnsupportedError, match="loops, branches and functions"):
        made.save(tmp_path / "x.dvm")


def test_a_result_is_never_the_argument_itself():
    """An array of its own was promised; what is replaced by an argument is a copy."""

    class Same(Tanh):
        def replacement(self, x):
            return x

    x = np.float32([2, 3])
    (y,) = dvm.CompiledGraph(TANH, passes=[Same])(x)
    assert list(y) == [2, 3]
    assert not np.may_share_memory(x, y)


def test_ops_are_written_as_others():
    class Shifts(DecomposePass):
        ops = "tanh"

        def decompose(self, node):
            assert node.op == "tanh"
            assert (node.dtype, str(node.shape[0]), node.at) == ("f32", "n", ("model.py", 7))
            (x,) = node.operands
            return ops.tanh(x + 1) if node.attributes == {} else None

    (y,) = dvm.CompiledGraph(TANH, passes=[Shifts])(np.float32([0, 1]))
    assert np.allclose(y, np.tanh([1, 2]))


class Ends(Pass):
    """Ends by what it is told to, or by a signal."""

    how: BaseException | None = None

    def run(self, graph: Any) -> Any:
        if self.how is None:
            signal.raise_signal(signal.SIGINT)
            return graph
        raise self.how


@pytest.mark.parametrize("how", [None, KeyboardInterrupt()])
def test_an_interruption_of_a_pass_is_one(how: BaseException | None) -> None:
    """Of a graph, and of a function, which is captured while its program runs."""
    mine = Ends()
    mine.how = how
    with pytest.raises(KeyboardInterrupt):
        dvm.CompiledGraph(TANH, passes=[mine])
    f = dvm.compile(lambda x: np.tanh(x) + 1, passes=[mine])
    with pytest.raises(KeyboardInterrupt):
        f(np.ones(3))


@pytest.mark.parametrize("how", [SystemExit(), SystemExit(0), GeneratorExit(), ValueError("no")])
def test_whatever_else_ends_a_pass_is_an_error_of_it(how: BaseException) -> None:
    mine = Ends()
    mine.how = how
    message = f"the pass Ends raises {type(how).__name__}"
    with pytest.raises(dvm.PassError, match=message):
        dvm.CompiledGraph(TANH, passes=[mine])
    f = dvm.compile(lambda x: np.tanh(x) + 1, passes=[mine])
    with pytest.warns(RuntimeWarning, match=message):
        y = f(np.ones(3))
    assert np.array_equal(y, np.tanh(np.ones(3)) + 1)


@pytest.mark.parametrize("again", [1, 3])
def test_a_pass_of_a_graph_is_run_once_whatever_is_asked_of_that(
    tmp_path: Path, again: int
) -> None:
    class Counts(Pass):
        runs = 0

        def run(self, graph: Any) -> Any:
            Counts.runs += 1
            return graph

    graph = dvm.CompiledGraph(TANH, passes=[Counts])
    for _ in range(again):
        assert graph.steps[0].name == "Counts"
        assert graph.steps[0].text.startswith("graph v1")
        graph.save(tmp_path / "made.dvm")
        graph(np.ones(3, np.float32))
    assert Counts.runs == 1
