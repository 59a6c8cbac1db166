"""Passes of dvm's own that are switched off, and the table of them."""

from pathlib import Path

import numpy as np
import pytest

import dvm
from dvm import _dvm
from dvm.passes import PatternPass, graph_passes, ops, steps

ROOT = Path(__file__).parents[3]
OPTIONAL = [step.name for step in steps() if step.level]
GRAPH = """graph v1 {
  %0 = input f16[n, 8]
  %1 = exp(%0) f16[n, 8]
  %2 = exp(%0) f16[n, 8]
  %3 = constant f16[] {value = 0x1p+0}
  %4 = broadcast(%3) f16[n, 8]
  %5 = mul(%1, %4) f16[n, 8]
  %6 = tanh(%4) f16[n, 8]
  %7 = add(%5, %2) f16[n, 8]
  %8 = sum(%7) f16[n, 1] {axes = [1]}
  %9 = reshape(%8) f16[n]
  %10 = neg(%9) f16[n]
  return %10
}"""


def _passes(graph: dvm.CompiledGraph) -> list[str]:
    return [step.name for step in graph.steps]


@pytest.mark.parametrize("name", OPTIONAL)
def test_one_that_is_off_does_not_run(name: str) -> None:
    x = np.linspace(-1, 1, 24, dtype=np.float16).reshape(3, 8)
    plain, made = dvm.CompiledGraph(GRAPH), dvm.CompiledGraph(GRAPH, passes=[f"{name}:off"])
    assert _passes(made) == [n for n in _passes(plain) if n != name]
    assert np.array_equal(plain(x)[0], made(x)[0])


def test_all_of_them_may_be_off_beside_one_of_the_users() -> None:
    class Last(PatternPass):
        after = "cse"  # its place is there, whether cse runs or not

        def pattern(self, x):
            return ops.exp(x)

        def replacement(self, x):
            return ops.exp(x) + 0

    made = dvm.CompiledGraph(GRAPH, passes=[*(f"{name}:off" for name in OPTIONAL), Last])
    assert "Last" in _passes(made)
    assert not set(OPTIONAL) & set(_passes(made))
    assert np.allclose(made(np.zeros((2, 8), np.float16))[0], -16)


def test_what_is_needed_stays_on() -> None:
    for given in ("widen_half:off", "cse", "cse:on", "other:off"):
        with pytest.raises(dvm.UnsupportedError, match="valid are simplify:off"):
            dvm.CompiledGraph(GRAPH, passes=[given])
    with pytest.raises(dvm.UnsupportedError, match="did you mean 'simplify:off'"):
        dvm.CompiledGraph(GRAPH, passes=["simplfy:off"])
    with pytest.raises(TypeError, match="from behind one step"):
        dvm.CompiledGraph(GRAPH, passes=["cse:resume", "simplify:resume"])
    with pytest.raises(TypeError, match="a list of passes"):
        dvm.CompiledGraph(GRAPH, passes="cse:off")


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "passes.md").read_text("utf-8")
    words = "needed", "exact", "rounding"
    for step in steps():
        assert f"| {step.stage} | `{step.name}` | {words[step.level]} | {step.synopsis} |" in page
    names = [step.name for step in steps()]
    assert names == _dvm.pass_names()[: len(names)]
    assert graph_passes() == names[: len(graph_passes())]


def test_each_step_is_told_of_with_what_it_changed() -> None:
    """Of what is off, nothing."""
    found = {step.name: step for step in dvm.CompiledGraph(GRAPH).steps}
    assert [step.stage for step in found.values()] == sorted(
        [step.stage for step in found.values()],
        key=["prepare", "optimise", "partition", "build"].index,
    )
    assert found["simplify"].effects > 0  # a product with 1, and the tanh of a constant
    assert found["cse"].effects == 1  # the second exp
    assert found["attention"].matches == 0
    assert found["fuse"].matches >= found["fuse"].effects > 0
    assert found["cse"].text.count("exp(") == 1
    assert found["plan"].text.startswith("plan v1")
    off = dvm.CompiledGraph(GRAPH, passes=[f"{name}:off" for name in OPTIONAL]).steps
    assert sum(step.effects for step in off if step.name in OPTIONAL) == 0


@pytest.mark.parametrize("name", graph_passes())
def test_a_graph_is_stopped_behind_a_step_and_goes_on_from_there(name: str) -> None:
    """What is before it is not done again, users' passes included."""
    seen = []

    class Seen(dvm.passes.Pass):
        after = "cse"

        def run(self, graph):
            seen.append(graph)
            return graph

    first = dvm.CompiledGraph(GRAPH, passes=[Seen])
    names = [each for each in _passes(first) if each != "Seen"]
    if name not in names:
        return  # it does not apply here
    text = first.behind(name)
    assert text == _dvm.run_pass(f"..{name}", "", GRAPH)
    seen.clear()
    resumed = first.resumed(name, text)
    rest = [each for each in _passes(resumed) if each != "Seen"]
    assert rest == names[names.index(name) + 1 :]
    assert bool(seen) == (graph_passes().index(name) <= graph_passes().index("cse"))
    x = np.linspace(-1, 1, 24, dtype=np.float16).reshape(3, 8)
    assert np.array_equal(resumed(x)[0], first(x)[0])
    assert resumed.plan == first.plan


def test_what_is_edited_in_between_is_what_runs() -> None:
    made = dvm.CompiledGraph(GRAPH)
    edited = made.resumed("stored_dims", made.behind("stored_dims").replace("exp(", "sin("))
    with pytest.raises(dvm.UnsupportedError, match="did you mean 'stored_dims'"):
        made.behind("stored_dim")
    with pytest.raises(dvm.UnsupportedError, match="there is no switch 'fuse:resume'"):
        made.resumed("fuse", GRAPH)
    x = np.linspace(-1, 1, 24, dtype=np.float16).reshape(3, 8)
    expected = -(np.sin(x) + np.sin(x)).sum(-1)
    assert np.allclose(edited(x)[0], expected, atol=1e-2)


def test_a_function_is_shown_behind_each_step() -> None:
    f = dvm.compile(lambda x: np.exp(x * 1) + np.exp(x))
    f(np.ones(5, np.float32))
    assert f.inspect("simplify").count("exp(") == 2
    assert f.inspect("cse").count("exp(") == 1
    assert f.inspect("plan").startswith("plan v1")
    with pytest.raises(dvm.UnsupportedError, match="did you mean 'simplify'"):
        f.inspect("simplfy")
