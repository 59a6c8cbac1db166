"""What another choice would cost, and five questions, each answered by one call."""

import time
from typing import Any

import numpy as np
import pytest

import dvm
from dvm.measured_profile import MeasuredProfile
from dvm.page.lines import line_times
from dvm.simulated_profile import SimulatedProfile

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
    profile = simulated(chain, X)
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


# ---- five questions


def test_which_pipe_waits_and_for_what() -> None:
    why = simulated(chain, X).summary()
    assert "waits" in why
    assert "flag of" in why


def test_which_fusion_was_refused_by_which_rule() -> None:
    f = dvm.compile(two_sums, target=SIM)
    profile = dvm.profile(f)(X)
    page = profile.page()
    answer = str(f.why_not_fused("sum", "div"))
    assert answer
    decisions = [d for d in dvm.explain(f)(X).paths[0]["decisions"] if d["verdict"] == "no"]
    for decision in decisions:
        assert decision["rule"] in page


def test_what_a_tile_of_512_would_cost() -> None:
    answer = simulated(chain, X).what_if(tile=512)
    assert "tile 512 of g0.r0" in str(answer)
    assert answer.after.cycles > 0


def test_which_line_of_mine_costs_most() -> None:
    def costly(x: Array) -> Array:
        y = x + 1
        return np.exp(np.tanh(np.exp(np.tanh(y))))

    first = line_times(simulated(costly, X))[0]
    assert first.location.endswith(f":{costly.__code__.co_firstlineno + 2}")
    assert first.share > 0.5
    assert sum(line.share for line in line_times(simulated(costly, X))) == pytest.approx(1)


def test_what_the_first_call_of_a_new_shape_cost() -> None:
    profile = dvm.profile(chain)(X)
    assert isinstance(profile, MeasuredProfile)
    assert set(profile.first) == {"plan", "bind", "tile", "encode"}
    assert all(ns > 0 for ns in profile.first.values())
