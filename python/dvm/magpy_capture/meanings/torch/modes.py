"""What PyTorch is told for all that it does from then on, and whether it keeps gradients."""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.libraries import LIBRARIES
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import Abstract, Literal

#: what functions of PyTorch go by beside their arguments, and what it must be for them to mean what
#: they do; those in FREE may be any, the same in each call
PLAIN: dict[str, Any] = {
    "is_grad_enabled": None,
    "is_inference_mode_enabled": None,
    "get_default_dtype": None,
    "is_autocast_enabled": None,
    "get_autocast_dtype": None,
    "_C._len_torch_function_stack": 0,
    "_C._len_torch_dispatch_stack": 0,
    "_C._functorch.maybe_current_level": None,
    "_C._get_tracing_state": None,
}
FREE = frozenset(
    {"is_grad_enabled", "is_inference_mode_enabled", "get_default_dtype"}
    | {"is_autocast_enabled", "get_autocast_dtype"}
)
#: those that are asked for this machine's processor
OF_DEVICE = ("is_autocast_enabled", "get_autocast_dtype")


@functools.cache
def questions() -> tuple[Any, ...]:
    """The functions of PyTorch that say so."""
    torch = sys.modules["torch"]
    asked = {name: operator.attrgetter(name)(torch) for name in PLAIN}
    for name in OF_DEVICE:
        asked[name] = functools.partial(asked[name], "cpu")
    return tuple(asked.values())


class TorchModes(TorchPart):
    """A path is for calls under the modes of the recorded one."""

    needs = "graph program"

    def __init__(self) -> None:
        self.without = 0  # managers that keep none, which are open
        self.autocasts: list[Any] = []  # their dtypes, of those that are open
        self._kept_at_entry: bool | None = None

    @property
    def autocast_at_entry(self) -> Any:
        """The dtype of the mode that the call is made under; None: there is none."""
        torch = sys.modules["torch"]
        return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None

    @property
    def autocast(self) -> Any:
        """The same where the lowering is."""
        return self.autocasts[-1] if self.autocasts else self.autocast_at_entry

    @property
    def kept_at_entry(self) -> bool:
        """Whether they are kept where the call is, whose modes the lowering has."""
        if self._kept_at_entry is None:
            self._kept_at_entry = bool(sys.modules["torch"].is_grad_enabled())
        return self._kept_at_entry

    def guard_modes(self) -> None:
        """Refuses a path under modes that change what functions mean.

        Where gradients are kept, the signature of each tensor tells whether it wants one.
        """
        if ("modes",) in self.program.known_steps:
            return
        self.graph.meet(next(each for each in LIBRARIES if each.name == "torch"))
        now = _dvm.call_each(questions())
        given = [self.program.constant(questions())]
        asked = self.program.step(
            "call", self.program.constant(_dvm.call_each), given, (), key=("modes",)
        )
        self.program.guard("guard_value", asked, now, key=(asked,))
        for answer, (name, plain) in zip(now, PLAIN.items(), strict=True):
            if name not in FREE and answer != plain:
                raise refuse(reasons.TORCH_FORM, "a function of torch", name)

    @property
    def keeps_gradients(self) -> bool:
        """Whether the program keeps them where the lowering is."""
        return self.kept_at_entry and self.without == 0

    def asked(self, function: Any, given: list[Abstract], seen: Any) -> Literal:
        """What a function of torch tells of a mode: the same in each call of the path."""
        self.guard_modes()
        registers = [self.program.register_of(each) for each in given]
        callee = self.program.constant(function)
        answer = self.program.step("call", callee, registers, (), key=(callee, *registers))
        self.program.guard("guard_value", answer, seen, key=(answer,))
        return Literal(seen)


__all__ = ["TorchModes"]
