"""Models of many families, captured without fallbacks, beside themselves in eager torch."""

from __future__ import annotations

import pytest
import torch

import dvm
from torch_door.models import Mobilenet
from torch_native.families import FAMILIES
from torch_native.more_families import MORE
from torch_native.observing import observe
from whole import WHOLE

#: whether each model is called with all of its inputs
FEW = 8


@pytest.mark.parametrize("name", FAMILIES | MORE)
def test_a_model_is_captured_for_all_sizes(name: str) -> None:
    torch.manual_seed(0)
    family = (FAMILIES | MORE)[name]
    module, calls = family.make().eval(), family.calls()
    compiled = dvm.compile(lambda *given: module(*given))
    with torch.no_grad(), dvm.stance("force_capture"):
        for number, given in enumerate(calls if WHOLE else calls[:FEW]):
            torch.manual_seed(number)
            wanted = observe(module, list(given))
            torch.manual_seed(number)
            found = observe(compiled, list(given))
            assert not found.difference(wanted), found.difference(wanted)
            assert torch.equal(torch.get_rng_state(), state_behind(module, given, number))
    stats = compiled.stats
    assert stats.fallbacks == 0, compiled.fallback_reasons
    assert stats.captures <= family.captures, compiled.why_recompiled()
    assert stats.hits == stats.calls - stats.captures


def state_behind(module: torch.nn.Module, given: tuple[object, ...], seed: int) -> torch.Tensor:
    """Of torch's generator, behind an eager call."""
    before = torch.get_rng_state()
    torch.manual_seed(seed)
    module(*given)
    after = torch.get_rng_state()
    torch.set_rng_state(before)
    return after


def test_no_convolution_is_a_call_of_torchs_own() -> None:
    module = Mobilenet().eval()
    compiled = dvm.compile(lambda x: module(x))
    with torch.no_grad(), dvm.stance("force_capture"):
        for batch in (2, 2, 3):
            x = torch.rand(batch, 3, 12, 10)
            assert not (text := observe(compiled, [x]).difference(observe(module, [x]))), text
    stats = compiled.stats
    assert (stats.captures, stats.hits, stats.fallbacks, stats.opaque) == (1, 2, 0, 0)
