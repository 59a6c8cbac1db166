"""Configurations of the package transformers, whose attributes have second names."""

from __future__ import annotations

from typing import Any

from transformers import configuration_utils

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import looks_up
from dvm.magpy_capture.values import Abstract, Instance


def attribute_of_configuration(lower: TorchPart, base: Instance, name: str, seen: Any) -> Abstract:
    """It is looked at on each call, as the program does."""
    if base.register < 0:
        raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))
    return lower.instances.read(base, name, "getattr", seen)


for _name in ("PreTrainedConfig", "PretrainedConfig"):
    if (_kind := getattr(configuration_utils, _name, None)) is not None:
        looks_up(_kind.__getattribute__)(attribute_of_configuration)
