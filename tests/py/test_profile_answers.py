"""What profiles say of roofs, units, outliers, memory, other profiles, and what to change."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from dvm.profiling.machine import Roofs, agreed
from dvm.profiling.measured import MeasuredProfile, _typical
from dvm.profiling.page.roofline import roofline_of
from dvm.profiling.simulated import UNITS, SimulatedProfile, bound_by

Array = np.ndarray[Any, Any]
SIM = "ascend910b3"


def product(a: Array, b: Array) -> Array:
    return np.tanh(a @ b)


def chain(x: Array) -> Array:
    return np.exp(x * 2 + 1) - x


def attention(q: Array, k: Array, v: Array) -> Array:
    scores = q @ np.swapaxes(k, -1, -2)
    scores = scores - scores.max(axis=-1, keepdims=True)
    e = np.exp(scores)
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ v


def simulated(fn: Any, *args: Any, target: str = SIM) -> SimulatedProfile:
    profile = dvm.profile(fn, target=target)(*args)
    assert isinstance(profile, SimulatedProfile)
    return profile


def ones(*shape: int, dtype: Any = np.float32) -> Array:
    return np.ones(shape, dtype)


# ---- roofs


@pytest.mark.parametrize(("target", "cubes"), [("ascend910b3", 20), ("ascend910b1", 24)])
@pytest.mark.parametrize("size", [64, 512])
def test_the_roof_is_the_chips_however_few_cores_a_program_uses(
    target: str, cubes: int, size: int
) -> None:
    halves = roofline_of(
        simulated(product, *[ones(size, size, dtype=np.float16)] * 2, target=target)
    )
    floats = roofline_of(simulated(product, *[ones(size, size)] * 2, target=target))
    assert halves is not None
    assert floats is not None
    rows = {name: value for name, value, *_ in _dvm.timing_table(target)}
    assert halves.points[0].peak.gigaops == pytest.approx(cubes * 8192 * rows["mhz"] / 1000)
    # Products of f32 take the cube four times as long.
    assert floats.points[0].peak.gigaops == pytest.approx(halves.points[0].peak.gigaops / 4)
    assert all(
        point.gigaops <= found.most(point) for found in (halves, floats) for point in found.points
    )


def test_vector_kernels_are_under_the_roof_of_vectors_of_their_dtype() -> None:
    peaks = [
        roofline_of(simulated(chain, ones(512, 512, dtype=dtype))).points[0].peak.gigaops  # type: ignore[union-attr]
        for dtype in (np.float32, np.float16)
    ]
    assert peaks[0] == pytest.approx(40 * 32 * 1800 / 1000)
    assert peaks[1] >= peaks[0]


def test_a_roof_is_known_once_its_best_rates_agree() -> None:
    assert agreed([10.0, 11.0]) is None
    assert agreed([10.0, 3.0, 10.5, 1.0, 10.2]) == 10.2
    assert agreed([100.0, 10.0, 10.0, 10.0]) is None  # one that no other confirms
    assert "unknown" in Roofs(None, 5.0).note
    assert Roofs(5.0, 5.0).note == ""


@pytest.mark.parametrize(
    ("roofs", "bound"),
    [
        (Roofs(None, None), "unknown"),
        (Roofs(1e9, 1e-6), "compute"),
        (Roofs(1e6, 1e12), "memory"),
        (Roofs(1e-6, 1e12), "caches"),
    ],
)
def test_a_measured_kernel_is_placed_under_the_roofs_that_are_known(
    roofs: Roofs, bound: str
) -> None:
    profile = dvm.profile(chain)(ones(256, 256))
    assert isinstance(profile, MeasuredProfile)
    placed = replace(profile, roofs=roofs)
    (kernel,) = placed.kernels
    place = placed.place(kernel)
    assert place["bound_by"] == bound
    assert (place["share_of_roof"] is None) == (bound in ("unknown", "caches"))
    assert json.loads(json.dumps(placed.to_dict()))
    assert "%" not in str(placed).split("roof")[-1] or bound in ("compute", "memory")
    placed.page()


# ---- units


def test_every_unit_that_a_text_names_is_explained_below_it() -> None:
    text = str(simulated(product, ones(256, 256), ones(256, 256)))
    for _, unit, _, what in _dvm.pipe_table:
        if f"{unit} " in text:
            assert f"{unit}: {what}" in text
    assert not any(f"bound by {pipe}" in text for pipe in UNITS)


def test_waiting_for_each_other_is_not_blamed_on_the_unit_that_only_issues() -> None:
    def pipe(busy: float) -> dict[str, Any]:
        waits = {"load": 0.5, "done": 0.2}
        return {"busy": busy, "waits": waits, "slowed_by_hbm": 0, "slowed_by_l2": 0}

    timings = [{"begin": 0, "end": 100, "launch": 10}]
    word, says = bound_by(timings, {"scalar": pipe(0.3), "simd": pipe(0.1)})
    assert word == "latency"
    assert says.startswith("V, the busiest unit,")
    assert bound_by(timings, {"scalar": pipe(0.8), "simd": pipe(0.1)})[0] == "S"


def test_a_fused_attention_names_the_lines_of_its_softmax() -> None:
    first = attention.__code__.co_firstlineno
    profile = simulated(attention, ones(128, 64), ones(128, 64), ones(128, 64))
    numbers = {int(line.location.rpartition(":")[2]) for line in profile.lines()}
    assert numbers == {first + k for k in range(1, 6)}
    assert sum(line.share for line in profile.lines()) == pytest.approx(1)
    assert len(profile.kernels[-1].lines) == 5


# ---- what if


def test_a_tile_that_there_is_not_is_refused_and_the_nearest_named() -> None:
    large = simulated(chain, ones(4, 1 << 20))
    with pytest.raises(dvm.UnsupportedError, match="the nearest that its sizes and"):
        large.what_if(tile=1 << 20)
    with pytest.raises(dvm.UnsupportedError, match="can't have tiles of 128 x 128"):
        simulated(product, ones(64, 64), ones(64, 64)).what_if(tile=(128, 128))


# ---- spread, memory, comparisons, advice


class Call:
    """As much of a watched call as finding the typical one takes."""

    def __init__(self, **spans: int):
        self.wall = sum(spans.values())
        self.spans = [(what, 0, 0, 0, time, 0) for what, time in spans.items()]


def test_the_typical_call_has_no_outlier_in_any_part() -> None:
    # The first two have the median wall time, each by an outlier of one part.
    calls = [Call(step=90, encode=10), Call(step=10, encode=90), Call(step=48, encode=47)]
    calls += [Call(step=45, encode=45), Call(step=60, encode=60), Call(step=50, encode=50)]
    assert _typical(calls) in calls[2:4] + calls[5:]  # type: ignore[arg-type]


def test_half_of_the_calls_lie_within_the_spread() -> None:
    profile = dvm.profile(chain)(ones(64, 64))
    assert isinstance(profile, MeasuredProfile)
    low, high = profile.spread
    assert 0 < low <= high
    assert f"{low / 1000:.1f} to {high / 1000:.1f} us" in str(profile)


def test_the_peak_is_of_what_a_call_had_at_one_time() -> None:
    x = ones(1024, 1024)
    profile = dvm.profile(product)(x, x)
    assert isinstance(profile, MeasuredProfile)
    assert x.nbytes <= profile.peak <= 3 * x.nbytes
    assert dvm.profile(chain)(ones(8, 8)).to_dict()["peak_bytes"] == 0


def test_two_profiles_stand_side_by_side() -> None:
    x = ones(512, 1024)
    before, after = simulated(chain, x), simulated(chain, x, target="ascend910b1")
    both = before.compare(after)
    assert both.ratio == pytest.approx((after.cycles / after.mhz) / (before.cycles / before.mhz))
    text = str(both)
    assert "ascend910b1" in text
    assert "g0.r0" in text
    assert f"{both.ratio:.2f}" in text
    assert json.loads(json.dumps(both.to_dict()))["rows"][0]["name"] == "call"
    assert "<script" not in both._repr_html_()
    assert dvm.profile(chain)(x).compare(before).ratio > 0


def test_what_to_change_first_is_what_saves_most() -> None:
    def two_sums(x: Array) -> Array:
        return np.tanh(x / x.sum(axis=0)) * 2

    found = simulated(two_sums, ones(512, 1024)).change_first()
    assert found
    assert [change.saves for change in found] == sorted((c.saves for c in found), reverse=True)
    assert "sum and div" in str(found)

    def with_sort(x: Array) -> Array:
        return np.tanh(np.sort(x, axis=0) * 2)

    measured = dvm.profile(with_sort)(np.random.default_rng(0).random((512, 512)))
    first = measured.change_first()[0]
    assert "sort" in first.what
    assert "is not compiled" in first.what
    assert str(first)[:20] in measured.page()


def test_the_page_has_graphs_before_and_after_each_pass() -> None:
    page = simulated(attention, ones(128, 64), ones(128, 64), ones(128, 64)).page()
    assert "<summary>g0 attention</summary>" in page
    assert "<ins>+  %" in page
    assert "<del>-  %" in page
    assert "Changed nothing: g0 " in page
