"""The programs that the benchmarks time are right, and compiled once for all their sizes."""

import numpy as np
import pytest
from benchmarks.peers.contenders import over
from benchmarks.peers.expressions import expression_of
from benchmarks.peers.measure import Timing
from benchmarks.peers.report import table
from benchmarks.peers.workloads import WORKLOADS, Workload

import dvm


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_workload_is_captured_once_and_right(workload: Workload) -> None:
    compiled = dvm.compile(over(workload, np))
    for n in (64, 64, 1000, 1, 3000, 257):
        arrays = workload.inputs(n)[:]
        arrays = [a[:50] if workload.kind == "rows" else a for a in arrays]
        expected = workload.function(np, *(a.astype(np.float64) for a in arrays))
        np.testing.assert_allclose(compiled(*arrays), expected, rtol=2e-4, atol=2e-4)
    assert compiled.stats.captures == 1
    assert compiled.stats.fallbacks == 0
    assert compiled.stats.opaque == 0


def test_an_expression_is_what_the_function_does() -> None:
    text, literals = expression_of(lambda xp, x, y: xp.maximum(0.5 * x + y, 2.0) - 0.5, 2)
    assert text == "(maximum(((c0 * x0) + x1), c1) - c0)"
    assert literals == {"c0": np.float32(0.5), "c1": np.float32(2)}


def test_the_table_gives_ratios_to_dvm() -> None:
    timings = [Timing("chain", 10, 1, "dvm", 2.0), Timing("chain", 10, 1, "numpy", 5.0)]
    assert table(timings, ["dvm", "numpy", "torch"]).splitlines()[1].split() == [
        *("chain", "10", "1", "2.0", "2.50x", "-")
    ]
