"""dvm.profile: simulated and measured calls, their parts, and their timelines."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from dvm.profiling.measured import MeasuredProfile
from dvm.profiling.simulated import SimulatedProfile

Array = np.ndarray[Any, Any]
X = np.linspace(-1, 1, 96 * 256, dtype=np.float32).reshape(96, 256)
SIM = "ascend910b3"


def layer_norm(x: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5)


def twice(x: Array) -> Array:
    return np.tanh(np.sort(np.tanh(x + 1)) * 2)


def product(x: Array) -> Array:
    return np.tanh(x @ x.T)


def simulated(fn: Any, *args: Any, **options: Any) -> SimulatedProfile:
    profile = dvm.profile(fn, target=SIM, **options)(*args)
    assert isinstance(profile, SimulatedProfile)
    return profile


def measured(fn: Any, *args: Any) -> MeasuredProfile:
    profile = dvm.profile(fn)(*args)
    assert isinstance(profile, MeasuredProfile)
    return profile


def test_a_simulated_call_returns_what_the_function_does() -> None:
    profile = simulated(layer_norm, X)
    assert np.allclose(profile.value, layer_norm(X), atol=1e-5)
    assert profile.target == SIM
    assert profile.function.endswith("layer_norm")


def test_cycles_are_the_same_every_time() -> None:
    first, second = simulated(layer_norm, X), simulated(layer_norm, X.copy())
    assert first.to_dict() == second.to_dict()
    assert first.trace_events() == second.trace_events()


def test_shares_of_a_pipe_add_up_to_all_of_its_time() -> None:
    for fn in (layer_norm, twice, product):
        for kernel in simulated(fn, X).to_dict()["kernels"]:
            assert kernel["pipes"]
            for pipe, share in kernel["pipes"].items():
                assert share["busy"] + sum(share["waits"].values()) == pytest.approx(1, abs=1e-4), (
                    pipe
                )


def test_a_kernel_names_its_lines_and_what_binds_it() -> None:
    profile = simulated(layer_norm, X)
    (kernel,) = profile.to_dict()["kernels"]
    assert kernel["name"] == "g0.r0"
    assert len(kernel["lines"]) == 3
    assert kernel["bound_by"] in ("launch", "latency", "memory", "l2", "simd", "load", "store")
    assert kernel["why"] in str(profile)
    assert kernel["hbm_bytes"] >= 2 * X.nbytes
    assert {one["pipe"] for one in kernel["instructions"]} >= {"load", "simd", "store"}


def test_products_run_on_the_cores_of_the_cube() -> None:
    kernels = simulated(product, X.astype(np.float16)).to_dict()["kernels"]
    assert any("cube" in kernel["pipes"] for kernel in kernels)
    columns = simulated(product, X.astype(np.float16)).pipe_utilization()
    cube = [row for row in columns if row["sub_block_id"] == "aic"]
    assert cube
    assert {"aic_time(us)", "aic_cube_ratio", "aic_mte1_ratio", "aic_fixpipe_time(us)"} <= set(
        cube[0]
    )


def test_utilization_has_the_columns_of_msprof() -> None:
    rows = simulated(layer_norm, X).pipe_utilization()
    names = ["vec", "scalar", "mte2", "mte3"]
    expected = [f"aiv_{name}_{what}" for name in names for what in ("time(us)", "ratio")]
    assert set(rows[0]) == {
        "kernel", "launch", "block_id", "sub_block_id", "aiv_time(us)", "aiv_total_cycles",
        "aiv_icache_miss_rate", *expected,
    }  # fmt: skip
    assert all(0 <= row["aiv_vec_ratio"] <= 1 for row in rows)


def test_overrides_change_the_cycles_as_they_should() -> None:
    usual = simulated(layer_norm, X).cycles
    assert simulated(layer_norm, X, profile_overrides={"launch_cycles": 0}).cycles == usual - 3600
    slow = {"hbm_bytes": 1.0}
    least = 2 * X.nbytes
    assert simulated(layer_norm, X, profile_overrides=slow).cycles > least


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(dvm.UnsupportedError, match="hbm_bites"):
        dvm.profile(layer_norm, target=SIM, profile_overrides={"hbm_bites": 1})
    with pytest.raises(dvm.UnsupportedError, match="at least"):
        dvm.profile(layer_norm, target=SIM, profile_overrides={"hbm_bytes": 0})
    with pytest.raises(dvm.UnsupportedError, match="measured"):
        dvm.profile(layer_norm, profile_overrides={"hbm_bytes": 1})
    with pytest.raises(dvm.UnsupportedError, match="ascend1"):
        dvm.profile(layer_norm, target="ascend1")


def test_what_never_replays_has_no_profile() -> None:
    def evaluates(x: Array) -> Array:
        return x * eval("3")

    with pytest.raises(dvm.CaptureError, match="runs uncompiled"):
        dvm.profile(evaluates)(X)


def test_exceptions_of_the_function_pass_through() -> None:
    def raises(x: Array) -> Array:
        raise KeyError(f"mine: {x.shape}")

    with pytest.raises(KeyError, match="mine"):
        dvm.profile(raises)(X)


@pytest.mark.parametrize("fn", [layer_norm, twice, product])
def test_parts_add_up_to_the_wall_time(fn: Any) -> None:
    profile = measured(fn, X)
    parts = profile.parts()
    assert all(part >= 0 for part in parts.values()), parts
    assert sum(parts.values()) == pytest.approx(profile.wall, rel=0.05)
    assert np.allclose(profile.value, fn(X), atol=1e-4)


def test_calls_that_stay_numpys_are_named() -> None:
    profile = measured(twice, X)
    kinds = {kernel.name: kernel.kind for kernel in profile.kernels}
    calls = [name for name, kind in kinds.items() if kind != "region"]
    assert any("sort" in name for name in calls), kinds
    assert profile.parts()["not compiled"] + profile.parts()["other steps"] > 0


def test_a_measured_kernel_has_its_work_and_its_place() -> None:
    profile = measured(layer_norm, X)
    (kernel,) = profile.kernels
    assert kernel.name == "g0.r0"
    assert kernel.lines
    # Two sums, a difference, a square, a division, and what is done per row.
    assert 5 * X.size <= kernel.operations <= 8 * X.size
    assert kernel.bytes == 2 * X.nbytes
    assert sum(kernel.threads.values()) > 0
    place = profile.place(kernel)
    assert place["intensity"] == pytest.approx(kernel.operations / kernel.bytes, rel=1e-4)
    assert place["bound_by"] in ("memory", "compute", "caches", "unknown")
    assert profile.first.keys() == {"plan", "bind", "tile", "encode"}


def test_profiles_are_plain_data_and_text() -> None:
    for profile in (simulated(layer_norm, X), measured(layer_norm, X)):
        assert json.loads(json.dumps(profile.to_dict())) == profile.to_dict()
        assert profile.summary() in str(profile)
        html = profile._repr_html_()
        assert "g0.r0" in html
        assert "<script" not in html
        assert profile.summary() in repr(profile)


def slices(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[tuple[float, float]]]:
    found = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            found[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    return found


@pytest.mark.parametrize("fn", [layer_norm, twice, product])
def test_slices_of_a_thread_nest(fn: Any) -> None:
    for profile in (simulated(fn, X), measured(fn, X)):
        events = profile.trace_events()
        threads = slices(events)
        assert threads
        for rows in threads.values():
            open_until: list[float] = []
            for begin, end in sorted(rows, key=lambda row: (row[0], -row[1])):
                while open_until and open_until[-1] <= begin + 1e-6:
                    open_until.pop()
                assert not open_until or end <= open_until[-1] + 1e-6
                open_until.append(end)


def test_flags_are_arrows_between_slices() -> None:
    events = simulated(layer_norm, X).trace_events()
    threads = slices(events)
    ends = [event for event in events if event["ph"] in "sf"]
    by_id = defaultdict(list)
    for event in ends:
        by_id[event["id"]].append(event)
        assert any(
            begin - 1e-6 <= event["ts"] <= end + 1e-6
            for begin, end in threads[event["pid"], event["tid"]]
        )
    assert len(by_id) > 10
    for start, finish in by_id.values():
        assert (start["ph"], finish["ph"], finish["bp"]) == ("s", "f", "e")
        assert start["ts"] <= finish["ts"]


def test_traces_are_files_of_json(tmp_path: Path) -> None:
    profile = simulated(layer_norm, X)
    profile.export_chrome_trace(tmp_path / "trace.json")
    profile.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    text = (tmp_path / "trace.json").read_text()
    assert "traceEvents" in json.loads(text)
    assert "e-" not in text.split('"traceEvents"')[1]  # Perfetto reads no exponents
    assert gzip.decompress((tmp_path / "trace.json.gz").read_bytes()).decode() == text


def test_nobody_watches_calls_that_are_not_profiled() -> None:
    f = dvm.compile(layer_norm)
    for _ in range(3):
        f(X)
    _, watched = _dvm.watch_call(f, [], False, 1 << 12, X)
    before = watched.spans
    f(X)
    assert watched.spans == before
    assert watched.lost == 0
    _, small = _dvm.watch_call(f, [], False, 1, X)
    assert len(small.spans) == 1
    assert small.lost == len(before) - 1 or small.lost > 0


GRAPH = """graph v1 {
  %0 = input f32[s0, s1]
  %1 = exp(%0) f32[s0, s1]
  %2 = sum(%1) f32[1, s1] {axes = [0]}
  %3 = neg(%2) f32[1, s1]
  return %3
}
"""


@pytest.mark.parametrize("target", [SIM, "cpu"])
def test_graphs_made_from_text_have_profiles(target: str, tmp_path: Path) -> None:
    graph = dvm.CompiledGraph(GRAPH)
    profile = dvm.profile(graph, target=target)(X)
    (value,) = profile.value
    assert np.allclose(value, -np.exp(X).sum(axis=0, keepdims=True), rtol=1e-5)
    assert (profile.function, profile.target) == ("graph", target)
    assert profile.to_dict()["kernels"][0]["name"] == "g0.r0"
    assert graph.target == "cpu"
    assert "g0.r0" in str(profile)
    assert "exp" in profile.page()
    profile.export_chrome_trace(tmp_path / "trace.json")
    if isinstance(profile, SimulatedProfile):
        assert profile.what_if(cores=1).ratio != 1
        assert len(profile.what_if(split=("exp", "sum")).after.kernels) > len(profile.kernels)


def test_decoding_is_hidden_but_for_the_first_instructions() -> None:
    x = np.ones((4096, 256), np.float32)  # some tiles for each core
    usual = simulated(layer_norm, x)
    free = simulated(layer_norm, x, profile_overrides={"decode_cycles": 0, "tile_cycles": 0})
    (kernel,) = usual.kernels
    decoded = sum(core["pipes"]["scalar"]["busy"] for core in kernel.timings[0]["cores"]) / 40
    # Of the cycles of a scalar unit, those before its first load and what is loaded last.
    assert decoded > 700
    assert usual.cycles - free.cycles < 0.25 * decoded


@pytest.mark.usefixtures("captures_at_its_cost")
def test_a_profile_compiles_at_any_cost():
    def f(x):
        for _ in range(40):
            x = np.sqrt(x * x + 1)
        return x

    compiled = [dvm.compile(lambda x, k=k: f(x) + k) for k in range(12)]
    for one in compiled:
        assert dvm.profile(one)(X[:1]).kernels


def test_a_call_that_no_path_takes_says_why():
    f = dvm.compile(lambda x: x.max(axis=0))
    f(X)
    with pytest.raises(dvm.CaptureError, match="zeros of both signs tie"):
        dvm.profile(f)(np.array([[0.0], [-0.0]], X.dtype))
