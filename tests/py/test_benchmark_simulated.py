"""The benchmark of simulated cores: few of its shapes, and what has to hold for any of them."""

import statistics

import numpy as np
import pytest
from benchmarks.simulated import suites, tiles
from benchmarks.simulated.graphs import graph_of


def test_chosen_tiles_are_near_the_best_of_a_sweep() -> None:
    losses = tiles.run(14, verbose=False)
    assert set(losses) == {"vector", "cube", "mix"}
    every = [loss for of_kind in losses.values() for loss in of_kind]
    assert min(every) >= 0
    assert statistics.mean(every) <= 0.1


@pytest.mark.parametrize("suite", suites.SUITES, ids=lambda suite: suite.name)
def test_a_suite_fused_is_no_slower_than_its_operations(suite: suites.Suite) -> None:
    for row in suites.run(suite, 2, divide=64):
        assert row.fused <= row.apart * (1 + 1e-9)
        assert (row.operations > 1) == (suite.name != "matmul")
        assert row.compiling > 0


def test_single_operations_are_kernels_of_their_own() -> None:
    x = np.ones((48, 56), np.float32)
    graph = graph_of(lambda x: np.exp(x * 2 + 1) - x, tiles.TARGET, x)
    sizes = graph.sizes([(100, 200)])
    split = graph.encode(sizes, apart=graph.apart())
    assert [len(region["members"]) for region in split] == [1, 1, 1, 1]
    (fused,) = graph.encode(sizes)
    assert sorted(node for region in split for node in region["members"]) == fused["members"]
    assert graph.time(split) > graph.time([fused])
