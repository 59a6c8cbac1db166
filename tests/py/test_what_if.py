"""What another choice would cost, and five questions, each answered by one call."""

import time
from typing import Any

import numpy as np
import pytest

import dvm
from dvm.profiling.measured import MeasuredProfile
from dvm.profiling.simulated import SimulatedProfile

Array = np.ndarray[Any, Any]
SIM = "ascend910b3"
X = np.linspace(-1, 1, 512 * 1024, dtype=np.float32).reshape(512, 1024)


def chain(x: Array) -> Array:
    return np.exp(x * 2 + 1) - x


def two_sums(x: Array) -> Array:
    rows = x / x.sum(axis=0)
    return np.tanh(rows) * 2


def simulated(fn: Any, *args: Any) -> SimulatedProfile:
    profile = dvm.profile(fn, target=SIM)(*args)
    assert isinstance(profile, SimulatedProfile)
    return profile


def test_nothing_else_costs_the_same() -> None:
    profile = simulated(chain, X)
    assert profile.what_if().ratio == 1


def test_another_tile_is_another_program() -> None:
    profile = simulated(chain, X[:128])
    sweep = profile.tiles()
    assert sweep.chosen in sweep.cycles
    assert sweep.cycles[sweep.chosen] == pytest.approx(profile.kernels[0].cycles)
    assert sweep.cycles[sweep.best] <= sweep.cycles[sweep.chosen]
    assert sweep.loss >= 0
    other = profile.what_if(tile=sweep.best)
    assert other.after.kernels[0].cycles == pytest.approx(sweep.cycles[sweep.best])
    assert "chosen by the tiler" in str(sweep)
    # Tiles of a few elements are many tiles.
    assert sweep.cycles[min(sweep.cycles)] > 2 * sweep.cycles[sweep.best]


def test_fewer_cores_take_longer() -> None:
    profile = simulated(chain, X)
    half = profile.what_if(cores=20)
    tenth = profile.what_if(cores=4)
    assert 1 < half.ratio < tenth.ratio
    assert half.after.to_dict()["kernels"][0]["cores"] <= 20


def test_less_local_memory_means_smaller_tiles() -> None:
    profile = simulated(chain, X)
    little = profile.what_if(slots=16384)
    before, after = (p.to_dict()["kernels"][0]["tiles"] for p in (little.before, little.after))
    assert after > before


def test_another_target_has_its_own_cores_and_clock() -> None:
    profile = simulated(chain, X)
    other = profile.what_if(target="ascend910b1")
    assert other.after.target == "ascend910b1"
    assert other.after.mhz == 1850
    again = simulated(chain, X)
    assert other.after.cycles == dvm.profile(chain, target="ascend910b1")(X).cycles  # type: ignore[attr-defined]
    assert again.cycles == profile.cycles


def test_other_parameters() -> None:
    profile = simulated(chain, X)
    answer = profile.what_if(profile_overrides={"launch_cycles": 0})
    assert answer.after.cycles == pytest.approx(profile.cycles - 3600)
    assert "launch_cycles 0" in str(answer)
    assert answer.to_dict()["ratio"] == pytest.approx(answer.ratio, abs=1e-6)


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"tile": 0}, "1 to"),
        ({"tile": 10**9}, "1 to"),
        ({"cores": 0}, "at least 1"),
        ({"target": "cpu"}, "measured"),
        ({"target": "ascend1"}, "ascend1"),
        ({"kernel": "g9.r9"}, "g9.r9"),
        ({"profile_overrides": {"nothing": 1}}, "nothing"),
    ],
)
def test_what_makes_no_sense_is_refused(choice: dict[str, Any], says: str) -> None:
    with pytest.raises(dvm.UnsupportedError, match=says):
        simulated(chain, X).what_if(**choice)


def test_what_if_is_quick() -> None:
    profile = simulated(chain, X[:64])
    begin = time.process_time()
    for tile in (64, 128, 256):
        profile.what_if(tile=tile)
    # Some milliseconds each; the bound is for machines that do other things, too.
    assert time.process_time() - begin < 1.5


# ---- other fusions


def two_sizes(x: Array, y: Array) -> tuple[Array, Array]:
    return np.tanh(x), np.exp(y)


def test_two_kernels_become_one_where_the_sizes_of_the_call_allow() -> None:
    profile = simulated(two_sizes, X, X.copy())
    assert len(profile.kernels) == 2
    answer = profile.what_if(fuse=("tanh", "exp"))
    (kernel,) = answer.after.to_dict()["kernels"]
    assert kernel["launches"] == 1
    assert kernel["name"] == "g0.r0+g0.r1"
    assert answer.ratio < 1
    # One launch less, and the rest about as before.
    assert answer.before.cycles - answer.after.cycles > 3000
    assert answer.price is not None
    assert "==" in answer.price.says
    assert answer.price.microseconds > 0
    assert answer.price.says in str(answer)
    assert answer.to_dict()["price"]["says"] == answer.price.says


def test_one_launch_where_no_tile_holds_what_is_needed() -> None:
    profile = simulated(two_sums, X)
    assert len(profile.kernels) == 2
    answer = profile.what_if(fuse=("sum", "div"))
    (kernel,) = answer.after.kernels
    assert kernel.one_launch
    assert [timing["launch"] for timing in kernel.timings[1:]] == [200.0] * (
        len(kernel.timings) - 1
    )
    assert answer.ratio < 1
    assert answer.price is not None
    assert "wait for each other" in answer.price.says
    slow = profile.what_if(fuse=("sum", "div"), profile_overrides={"barrier_cycles": 1200})
    barriers = len(kernel.timings) - 1
    assert slow.after.cycles == pytest.approx(answer.after.cycles + 1000 * barriers)


def test_a_kernel_that_is_split_stores_and_loads_what_passes() -> None:
    profile = simulated(chain, X)
    answer = profile.what_if(split=("mul", "exp"))
    kernels = answer.after.to_dict()["kernels"]
    assert len(kernels) == 2
    assert answer.ratio > 1.3
    moved = sum(kernel["moved_bytes"] for kernel in kernels)
    (before,) = profile.to_dict()["kernels"]
    # The product is stored once, and read by the second one with x.
    assert moved == before["moved_bytes"] + 3 * X.nbytes
    # What the first kernel leaves is still in the second cache.
    assert sum(k["hbm_bytes"] for k in kernels) <= before["hbm_bytes"] + X.nbytes


def test_splitting_and_fusing_undo_each_other() -> None:
    profile = simulated(two_sums, X)
    same = profile.what_if(split=("tanh", "mul"), fuse=("sum", "div"))
    assert "in two kernels" in str(same)
    assert "in one kernel" in str(same)


def test_another_fusion_is_quick() -> None:
    profile = simulated(chain, X[:64])
    begin = time.process_time()
    for _ in range(3):
        profile.what_if(split=("mul", "exp"))
    # Some milliseconds each; the bound is for machines that do other things, too.
    assert time.process_time() - begin < 1.5


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"fuse": ("mul", "exp")}, "are no two kernels"),
        ({"split": ("exp", "nothing")}, "nothing"),
        ({"split": ("mul", "mul")}, "Python runs|no one kernel"),
        ({"split": ("mul", "exp"), "tile": 4}, "no other choice"),
    ],
)
def test_fusions_that_make_no_sense_are_refused(choice: dict[str, Any], says: str) -> None:
    with pytest.raises(dvm.UnsupportedError, match=says):
        simulated(chain, X).what_if(**choice)


# ---- products


def test_tiles_of_a_product_are_of_rows_and_columns() -> None:
    a = np.ones((96, 80), np.float16)
    profile = simulated(lambda a: a @ a.T, a)
    sweep = profile.tiles()
    assert isinstance(sweep.chosen, tuple)
    assert sweep.cycles[sweep.chosen] == pytest.approx(
        profile.what_if(tile=sweep.chosen).after.cycles
    )
    assert profile.what_if(tile=(16, 16)).ratio > 1
    assert profile.what_if(tile=32).after.cycles == pytest.approx(
        profile.what_if(tile=(32, 32)).after.cycles
    )
    with pytest.raises(dvm.UnsupportedError, match="rows and columns"):
        profile.what_if(tile=(0, 16))


def test_what_follows_a_product_runs_beside_the_cube() -> None:
    a, b = np.ones((512, 384), np.float16), np.ones((384, 512), np.float16)
    profile = simulated(lambda a, b: np.tanh(a @ b), a, b)
    (kernel,) = profile.kernels
    (timing,) = kernel.timings
    assert timing["kernel_type"] == "mix"
    assert [core["type"] for core in timing["cores"][:3]] == ["aic", "aiv", "aiv"]
    assert [core["block"] for core in timing["cores"][:4]] == [0, 0, 0, 1]
    sweep = profile.tiles()
    assert sweep.cycles[sweep.chosen] == pytest.approx(kernel.cycles)
    assert len(set(sweep.cycles.values())) > 1
    for tile in sweep.cycles:
        ((_, events),) = profile.what_if(tile=tile).after.timelines()
        assert events["kernel_type"] == "mix"
    # Less launching, and nothing waits for the last tile of the product.
    assert profile.what_if(split=("matmul", "tanh")).ratio > 1.1


# ---- five questions, one call each


def test_which_pipe_waits_and_for_what() -> None:
    why = simulated(chain, X).summary()
    assert "waits" in why
    assert "flag of" in why


def test_which_fusion_was_refused_by_which_rule_and_what_it_would_save() -> None:
    (edge,) = simulated(two_sums, X).refused()
    assert (edge.a.op, edge.b.op) == ("sum", "div")
    assert edge.rule
    assert edge.reason in str(edge)
    assert edge.a.location.endswith(f":{two_sums.__code__.co_firstlineno + 1}")
    assert edge.saves > 0
    assert edge.saves == pytest.approx(
        (edge.answer.before.cycles - edge.answer.after.cycles) / 1800
    )
    assert f"{edge.saves:.2f} us" in str(edge)
    assert simulated(chain, X).refused() == []


def test_refused_edges_stand_in_the_page() -> None:
    f = dvm.compile(two_sums, target=SIM)
    page = dvm.profile(f)(X).page()
    assert str(f.why_not_fused("sum", "div"))
    rules = {edge.rule for edge in simulated(two_sums, X).refused()}
    assert rules
    assert all(rule in page for rule in rules)


def test_what_a_tile_of_512_would_cost() -> None:
    answer = simulated(chain, X).what_if(tile=512)
    assert "tile 512 of g0.r0" in str(answer)
    assert answer.after.cycles > 0


def test_which_line_of_mine_costs_most() -> None:
    def costly(x: Array) -> Array:
        y = x + 1
        return np.exp(np.tanh(np.exp(np.tanh(y))))

    lines = simulated(costly, X[:8]).lines()
    assert lines[0].location.endswith(f":{costly.__code__.co_firstlineno + 2}")
    assert lines[0].share > 0.5
    assert sum(line.share for line in lines) == pytest.approx(1)


def test_a_line_has_the_loads_and_stores_that_it_causes() -> None:
    def reads(x: Array, y: Array) -> Array:
        first = x + 1
        return first * y

    profile = simulated(reads, X, X.copy())
    (kernel,) = profile.to_dict()["kernels"]
    busy = dict.fromkeys(("add", "mul", "load x", "load y", "store"), 0.0)
    names = {0: "load x", 1: "load y", 2: "store"}
    for one in kernel["instructions"]:
        busy[names.get(one["global"], one["name"].partition(".")[0])] += one["busy"]
    first, second = sorted(profile.lines(), key=lambda line: line.location)
    total = sum(busy.values())
    assert first.share == pytest.approx((busy["add"] + busy["load x"]) / total)
    assert second.share == pytest.approx((busy["mul"] + busy["load y"] + busy["store"]) / total)


def test_what_the_first_call_of_a_new_shape_cost() -> None:
    profile = dvm.profile(chain)(X)
    assert isinstance(profile, MeasuredProfile)
    assert set(profile.first) == {"plan", "bind", "tile", "encode"}
    assert all(ns > 0 for ns in profile.first.values())
