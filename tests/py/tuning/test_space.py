"""Tiles of products: what there is room for, and waves of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm
from dvm.tuning import Kind, Measurer, Space, Tile

TARGET = "ascend910b3"
SPACES = {dtype: Space(TARGET, dtype) for dtype in ("f16", "f32", "i8", "f64")}
points = st.lists(st.floats(-0.5, 1.5), min_size=3, max_size=3).map(np.array)


@given(points, st.sampled_from(sorted(SPACES)))
@settings(deadline=None)
def test_the_nearest_tile_is_one_and_nearest_to_itself(point: np.ndarray, dtype: str) -> None:
    space = SPACES[dtype]
    tile = space.nearest(point)
    assert not space.why_not(tile)
    assert all(side in axis for side, axis in zip(tile, space.axes, strict=True))
    assert space.nearest(space.point(tile)) == tile


@pytest.mark.parametrize("dtype", sorted(SPACES))
def test_no_tile_of_the_space_exceeds_a_memory(dtype: str) -> None:
    size = {"f16": 2, "f32": 4, "i8": 1, "f64": 8}[dtype]
    tiles = list(SPACES[dtype].tiles())
    assert len(tiles) > 200
    for m, n, k in tiles:
        assert m * n * max(4, size) <= 131072  # L0C
        assert 2 * size * max(m, n) * k <= 65536  # L0A and L0B, in two slots
        assert 4 * size * (m + n) * k <= 524288  # L1, in four


def test_why_not_names_the_memory() -> None:
    space = SPACES["f16"]
    assert "of L0C, and ascend910b3 has 131072" in space.why_not(Tile(256, 256, 16))
    assert "of L0B" in space.why_not(Tile(16, 256, 128))
    assert "are none" in space.why_not(Tile(0, 16, 16))
    assert space.why_not(Tile(128, 256, 64)) == ""


def test_targets_without_a_cube_are_refused() -> None:
    with pytest.raises(dvm.errors.UnsupportedError, match="cpu is not simulated"):
        Space("cpu")
    with pytest.raises(dvm.errors.Error, match="no target is named 'gpu'"):
        Measurer("gpu")
    with pytest.raises(dvm.errors.UnsupportedError, match="no dtype is named 'f8'"):
        Space(TARGET, "f8")


@pytest.mark.parametrize("dtype", sorted(SPACES))
def test_calls_of_each_dtype_get_a_tile_that_fits(dtype: str) -> None:
    for by_columns in (False, True):
        measurer = Measurer(TARGET, Kind(dtype, by_columns))
        for m, n, k in ((1, 1, 1), (17, 300, 40), (300, 17, 33)):
            cycles, tile = measurer.chosen(m, n, k)
            assert cycles > 0
            assert not SPACES[dtype].why_not(tile)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("tile", [Tile(128, 256, 64), Tile(64, 96, 128), Tile(16, 16, 512)])
def test_a_product_takes_as_long_as_its_waves(tile: Tile, by_columns: bool) -> None:
    measurer = Measurer(TARGET, Kind("f16", by_columns))
    waves = measurer.waves(tile)
    assert measurer.waves(tile) is waves
    assert measurer.trials == 1
    for count, k in ((1, 768), (3, 768), (4, 1536)):
        m, n = measurer.rows * tile.m * count, measurer.columns * tile.n
        taken = measurer.time(m, n, k, tile)
        assert abs(waves.cycles(count, k) / taken - 1) < 0.1


def test_a_transposed_right_factor_takes_about_as_long() -> None:
    """L1 has fractals, which are turned on their way to the cube."""
    times = [
        Measurer(TARGET, Kind("f16", by_columns)).time(1024, 1024, 1024, Tile(128, 256, 64))
        for by_columns in (False, True)
    ]
    assert max(times) < 1.3 * min(times)
