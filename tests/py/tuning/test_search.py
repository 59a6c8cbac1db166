"""The search for tiles: regions, what decides between them, and how few trials it takes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from dvm.tuning import Measurer, Search, Space, Tile, Workload
from dvm.tuning.search import FAILURES, LENGTH, LONGEST, SHORTEST, SUCCESSES, Region, starts
from dvm.tuning.surrogate import Surrogate
from dvm.tuning.tuner import cost

TARGET = "ascend910b3"
SPACE = Space(TARGET)
TILES = list(SPACE.tiles())


def bowl(middle: Tile) -> Callable[[Tile], float]:
    """Smooth, with one least place and a second, worse one."""
    places = (SPACE.point(middle), SPACE.point(Tile(16, 16, 16)))

    def value(tile: Tile) -> float:
        near, far = (float(np.square(SPACE.point(tile) - place).sum()) for place in places)
        return 1000.0 * (1 + min(near, far + 0.2))

    return value


def test_a_region_grows_by_better_tiles_and_shrinks_by_others() -> None:
    region, point = Region(), np.zeros(3)
    region.tell(point, 10.0)
    assert region.length == LENGTH
    value = 10.0
    for _ in range(SUCCESSES - 1):
        value -= 1
        region.tell(point, value)
    assert region.length == min(LONGEST, 2 * LENGTH)
    grown = region.length
    for _ in range(FAILURES):
        region.tell(point + 0.5, value + 1)
    assert region.length == grown / 2
    assert np.array_equal(region.centre, point)
    while not region.is_spent:
        region.tell(point, value + 1)
    assert region.length < SHORTEST


def test_points_of_a_region_lie_in_its_box_and_in_the_space() -> None:
    region, random = Region(), np.random.default_rng(1)
    region.tell(np.array([0.05, 0.5, 0.98]), 1.0)
    for _ in range(200):
        point = region.around(random)
        assert np.all((point >= 0) & (point <= 1))
        assert np.all(np.abs(point - region.centre) <= region.length / 2)
        assert np.any(point != region.centre)


def test_the_surrogate_knows_what_was_measured_and_doubts_what_is_far() -> None:
    points = [SPACE.point(tile) for tile in TILES[::150]]
    value = bowl(Tile(128, 128, 64))
    values = [math.log(value(tile)) for tile in TILES[::150]]
    surrogate, random = Surrogate(points, values), np.random.default_rng(1)
    drawn = np.stack([surrogate.draw([*points, np.full(3, 3.0)], random) for _ in range(50)])
    assert np.allclose(drawn[:, :-1].mean(axis=0), values, atol=0.05)
    assert drawn[:, -1].std() > 10 * drawn[:, :-1].std(axis=0).max()


def test_it_begins_with_tiles_that_keep_the_cube_busy() -> None:
    for dtype in ("f16", "f32"):
        begun = starts(space := Space(TARGET, dtype))
        assert len(begun) == len(set(begun)) >= 5
        assert not any(map(space.why_not, begun))
        assert max(tile.m * tile.n for tile in begun) == 131072 / 4


@pytest.mark.parametrize("seed", [0, 1])
def test_two_searches_of_one_seed_are_the_same_and_measure_tiles_once(seed: int) -> None:
    asked: list[Tile] = []

    def value(tile: Tile) -> float:
        asked.append(tile)
        return bowl(Tile(96, 160, 64))(tile)

    searches = [Search(SPACE, value, seed) for _ in range(2)]
    for search in searches:
        search.run(24)
    assert searches[0].trials == searches[1].trials
    assert len(searches[0].trials) == 24
    assert len(asked) == 48
    assert not any(map(SPACE.why_not, asked))
    assert Search(SPACE, value, seed + 2).run(24) is not None
    assert Search(SPACE, value, seed).run(24, stop=lambda: len(asked) > 80).cycles > 0


def test_a_space_of_few_tiles_ends_the_search() -> None:
    space = Space(TARGET)
    space.axes = ((16, 32), (16, 32), (16, 32))
    search = Search(space, lambda tile: float(sum(tile)), 0)
    assert search.run(1000).tile == Tile(16, 16, 16)
    assert len(search.trials) == 8


def test_it_takes_fewer_trials_than_drawing_tiles() -> None:
    """Of a product as simulated cores time it, until 95 % of the best (the paper's Table 4)."""
    measurer, workload = Measurer(TARGET), Workload(640, 1000, 1024)
    enough = min(cost(measurer, workload, tile) for tile in TILES[::8]) / 0.95
    ours, drawn = [], []
    for seed in range(3):
        search = Search(SPACE, partial(cost, measurer, workload), seed)
        search.run(60, stop=lambda search=search: search.best.cycles <= enough)
        ours.append(len(search.trials))
        order = np.random.default_rng(seed).permutation(len(TILES))
        drawn.append(
            next(k + 1 for k, i in enumerate(order) if cost(measurer, workload, TILES[i]) <= enough)
        )
    assert statistics.median(ours) < statistics.median(drawn)
