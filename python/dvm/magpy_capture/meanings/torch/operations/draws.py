"""Functions of PyTorch that draw random numbers: torch itself draws them, where the program does.

Those that are given a tensor are known by their schemas (schemas.py).
"""

from __future__ import annotations

from typing import Any

import torch

from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.sources import ALLOWED, check_options
from dvm.magpy_capture.registry import Meaning, means
from dvm.magpy_capture.values import Abstract, Literal, resolve


def drawn(function: Any) -> Meaning:
    """A new tensor of random numbers."""

    def meaning(lower: TorchPart, *given: Abstract, seen: Any, **named: Abstract) -> Abstract:
        check_options(lower, {name: value for name, value in named.items() if name in ALLOWED})
        return lower.opaque.call(function, list(given), named, seen)

    return meaning


for _function in (torch.rand, torch.randn, torch.randint, torch.randperm, torch.normal):
    means(_function)(drawn(_function))


def dropped(function: Any) -> Meaning:
    """Out of training: the very tensor that it was given."""

    def meaning(
        lower: TorchPart, input: Abstract, p: Abstract, train: Abstract, *, seen: Any
    ) -> Abstract:
        trains = resolve(train)
        if isinstance(trains, Literal) and trains.object is False:
            return resolve(input)
        return lower.opaque.call(function, [input, p, train], {}, seen)

    return meaning


for _name in ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"):
    means(getattr(torch, _name))(dropped(getattr(torch, _name)))
