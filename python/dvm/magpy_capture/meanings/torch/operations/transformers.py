"""Configurations of the package transformers, whose attributes have second names."""

from __future__ import annotations

from typing import Any

from transformers import configuration_utils

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import looks_up, means
from dvm.magpy_capture.values import Abstract, Instance, Literal
from dvm.magpy_capture.values.kinds import class_attribute

NONE = Literal(None)


def attribute_of_configuration(lower: TorchPart, base: Instance, name: str, seen: Any) -> Abstract:
    """It is looked at on each call, as the program does.

    It may go by any of the others, so none may have been set; and properties are the package's.
    """
    found = class_attribute(base.cls, name)
    getter = getattr(found, "fget", None)
    known = not hasattr(type(found), "__get__") or module_of(getter).startswith("transformers.")
    if base.register < 0 or base.changed or not known:
        raise refuse(reasons.ATTRIBUTE_OF, name, describe(base))
    return lower.instances.read(base, name, "getattr", seen)


def part_of_configuration(
    lower: TorchPart,
    self: Abstract,
    decoder: Abstract = NONE,
    encoder: Abstract = NONE,
    *,
    seen: Any,
) -> Abstract:
    """It is asked for on each call: of an encoder and decoder in one, another copy each time."""
    given = [lower.program.register_of(each) for each in (self, decoder, encoder)]
    asked = lower.program.constant(CONFIGURATION.get_text_config)
    made = lower.program.step("call", asked, given, ())
    return lower.heap.reach(lambda: made, seen)


def module_of(function: Any) -> str:
    return str(getattr(function, "__module__", ""))


#: its name is another one in older versions of the package
CONFIGURATION: Any = getattr(configuration_utils, "PreTrainedConfig", None) or vars(
    configuration_utils
).get("PretrainedConfig")
if CONFIGURATION is not None:
    looks_up(CONFIGURATION.__getattribute__)(attribute_of_configuration)
    if hasattr(CONFIGURATION, "get_text_config"):
        means(CONFIGURATION.get_text_config)(part_of_configuration)
