"""The pool of tiles: in files, in use, and what calls take of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm
from dvm.__main__ import main
from dvm.tuning import Kind, Measurer, Pool, Tile, Waves, Workload, tune
from dvm.tuning.pool import EVERYDAY, predicted

TARGET = "ascend910b3"
KIND = Kind()
TILES = [Tile(m, n, 64) for m in (16, 64, 128, 256) for n in (16, 64, 128, 256) if m * n <= 32768]


@pytest.fixture
def shipped() -> Iterator[Pool]:
    """What is in use, again in the end."""
    pool = Pool.in_use(TARGET)
    yield pool
    pool.use()


@pytest.fixture(scope="module")
def pool() -> Pool:
    made = Pool(TARGET)
    for kind in (KIND, Kind("f16", by_columns=True)):
        measurer = Measurer(TARGET, kind)
        made.add(kind, {tile: measurer.waves(tile) for tile in TILES})
    return made


def test_each_tile_is_the_best_for_some_product(pool: Pool) -> None:
    tiles = pool.tiles[KIND]
    assert len(tiles) >= 4
    measurer = Measurer(TARGET)
    for tile in tiles:
        assert any(
            predicted(tile, tiles[tile], each, measurer.cubes)
            <= min(predicted(t, tiles[t], each, measurer.cubes) for t in tiles)
            for each in EVERYDAY
        )


def test_no_everyday_product_takes_much_longer_than_in_the_best_tile() -> None:
    measurer, small = Measurer(TARGET), Pool(TARGET)
    measured = {tile: measurer.waves(tile) for tile in TILES}
    small.add(KIND, measured, most=4)
    assert len(small.tiles[KIND]) == 4
    losses = [
        predicted(picked, measured[picked], each, measurer.cubes)
        / min(predicted(t, waves, each, measurer.cubes) for t, waves in measured.items())
        for each in EVERYDAY
        if (picked := small.pick(each))
    ]
    assert np.mean(losses) < 1.2


@given(st.integers(1, 700), st.integers(2, 700), st.integers(2, 700), st.booleans())
@settings(deadline=None, max_examples=60)
def test_calls_take_the_tile_that_the_pool_picks(
    pool: Pool, m: int, n: int, k: int, by_columns: bool
) -> None:
    kind = Kind("f16", by_columns)
    before = Pool.in_use(TARGET)
    pool.use()
    try:
        _, taken = Measurer(TARGET, kind).chosen(m, n, k)
    finally:
        before.use()
    tiles, workload = pool.tiles[kind], Workload(m, n, k)
    cubes = Measurer(TARGET).cubes
    picked = pool.pick(workload, kind)
    least = predicted(picked, tiles[picked], workload, cubes)
    equal = [t for t in tiles if predicted(t, tiles[t], workload, cubes) <= least * (1 + 1e-9)]
    assert taken in [Tile(min(t.m, m), min(t.n, n), min(t.k, k)) for t in equal]


def test_results_are_the_same_in_any_tile(shipped: Pool) -> None:
    random = np.random.default_rng(1)
    x = random.integers(-4, 5, (70, 40)).astype(np.float16)
    w = random.integers(-4, 5, (40, 90)).astype(np.float16)
    expected = x @ w
    for tile in (Tile(16, 16, 16), Tile(64, 32, 32), Tile(128, 256, 64)):
        one = Pool(TARGET, {KIND: {tile: Waves((10.0, 1.0), (10.0, 1.0))}})
        one.use()
        f = dvm.compile(lambda a, b: a @ b, target=TARGET)
        with dvm.stance("force_capture"):
            np.testing.assert_array_equal(f(x, w), expected)
    assert shipped.target == TARGET


def test_a_file_holds_the_pool(pool: Pool, tmp_path: Path) -> None:
    pool.save(tmp_path / "pool.json")
    read = Pool.load(tmp_path / "pool.json")
    assert read.target == pool.target
    assert {kind: list(tiles) for kind, tiles in read.tiles.items()} == {
        kind: list(tiles) for kind, tiles in pool.tiles.items()
    }
    for kind, tiles in pool.tiles.items():
        for tile, waves in tiles.items():
            assert np.allclose(read.tiles[kind][tile].next, waves.next, atol=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("format"),
        lambda data: data.update(format=2),
        lambda data: data.update(tiles=[{"dtype": "f16"}]),
        lambda data: data["tiles"][0].update(tile=[1, 2]),
        lambda data: data["tiles"][0].update(next="soon"),
        lambda data: data.update(tiles=3),
    ],
)
def test_other_files_are_refused(pool: Pool, tmp_path: Path, change: Any) -> None:
    path = tmp_path / "pool.json"
    pool.save(path)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(dvm.errors.FormatError, match=r"pool\.json is no pool of tiles"):
        Pool.load(path)
    path.write_text("no JSON")
    with pytest.raises(dvm.errors.FormatError, match="is no pool of tiles"):
        Pool.load(path)


@pytest.mark.parametrize(
    ("tile", "waves", "why"),
    [
        (Tile(256, 256, 64), Waves((1.0, 1.0), (1.0, 1.0)), "bytes of L0C"),
        (Tile(0, 16, 16), Waves((1.0, 1.0), (1.0, 1.0)), "are none"),
        (Tile(16, 16, 16), Waves((1.0, 1.0), (0.0, 0.0)), "take no time"),
        (Tile(16, 16, 16), Waves((1.0, -1.0), (1.0, 1.0)), "take no time"),
    ],
)
def test_tiles_that_are_none_are_not_used(
    shipped: Pool, tile: Tile, waves: Waves, why: str
) -> None:
    with pytest.raises(dvm.errors.UnsupportedError, match=why):
        Pool(TARGET, {KIND: {tile: waves}}).use()
    assert Pool.in_use(TARGET).tiles == shipped.tiles


def test_a_kind_that_was_not_tuned_has_no_tile(pool: Pool) -> None:
    with pytest.raises(dvm.errors.UnsupportedError, match="no tile for i8"):
        pool.pick(Workload(1, 1, 1), Kind("i8"))


def test_tuning_finds_tiles_for_small_and_large_products() -> None:
    told: list[str] = []
    pool = tune(TARGET, kinds=[KIND], trials=6, tell=told.append)
    assert len(told) == 12
    assert "right factor by rows" in told[0]
    small, large = pool.pick(Workload(64, 256, 512)), pool.pick(Workload(8192, 8192, 512))
    assert small.m * small.n < large.m * large.n
    assert list(pool.tiles) == [KIND]
    assert tune(TARGET, kinds=[KIND], trials=6).tiles == pool.tiles
    assert tune(TARGET, kinds=[KIND], trials=99, minutes=0).tiles[KIND]


def test_the_command_writes_a_pool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pool.json"
    options = ["--trials", "2", "--minutes", "0", "--seed", "3", "--dtype", "f16"]
    assert main(["tune", "--target", "ascend910b1", "-o", str(path), *options]) == 0
    out, told = capsys.readouterr()
    assert f"{path}: " in out
    assert "f16, right factor by columns" in told
    assert len(Pool.load(path).tiles) == 2
    assert main(["tune", "--target", "cpu", "-o", str(path)]) == 2
    assert "cpu is not simulated" in capsys.readouterr().err
    assert main(["tune", "--target", TARGET, "-o", str(tmp_path / "no" / "x"), *options]) == 2


#: sizes of which what is shipped is compared with every tile of a grid
SIZES = [(96, 3072, 1024), (544, 3072, 1024), (96, 1024, 4096), (700, 700, 700), (16, 4096, 1024)]


@pytest.mark.parametrize("by_columns", [False, True])
def test_what_is_shipped_is_near_the_best_tile(by_columns: bool) -> None:
    measurer = Measurer(TARGET, Kind("f16", by_columns))
    shares = []
    for m, n, k in SIZES:
        grid = itertools.product((16, 48, 96, 128, 192, 256), repeat=2)
        tiles = [Tile(a, b, 64) for a, b in grid if a * b <= 32768]
        best = min(measurer.time(m, n, k, tile) for tile in tiles)
        shares.append(best / measurer.time(m, n, k))
    assert min(shares) > 0.8
    assert np.mean(shares) > 0.93
