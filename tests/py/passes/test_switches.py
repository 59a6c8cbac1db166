"""Passes of dvm's own that are switched off, and the table of them."""

from pathlib import Path

import numpy as np
import pytest

import dvm
from dvm import _dvm
from dvm.passes import PatternPass, graph_passes, ops

ROOT = Path(__file__).parents[3]
OPTIONAL = [name for name, is_needed, _ in _dvm.graph_pass_table if not is_needed]
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
    return [name for name, _, _ in graph._compiled.describe()["passes"]]


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
    with pytest.raises(TypeError, match="a list of passes"):
        dvm.CompiledGraph(GRAPH, passes="cse:off")


def test_the_page_has_the_table() -> None:
    page = (ROOT / "docs" / "passes.md").read_text("utf-8")
    for name, is_needed, synopsis in _dvm.graph_pass_table:
        assert f"| `{name}` | {'needed' if is_needed else 'optional'} | {synopsis} |" in page
    assert graph_passes() == _dvm.pass_names()[: len(graph_passes())]
