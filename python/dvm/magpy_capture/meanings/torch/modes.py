"""What PyTorch is told for all that it does from then on, and whether it keeps gradients."""

from __future__ import annotations

import sys
from typing import Any

from dvm import reasons
from dvm.magpy_capture.libraries import LIBRARIES
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.spec import refuse


def modes() -> tuple[Any, ...]:
    """What functions of PyTorch go by beside their arguments."""
    torch = sys.modules["torch"]
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_default_dtype(),
        torch._C._len_torch_function_stack(),
        torch._C._len_torch_dispatch_stack(),
        torch._C._functorch.maybe_current_level(),
        torch.get_default_device() if torch._GLOBAL_DEVICE_CONTEXT.__dict__ else None,
        torch._C._get_tracing_state(),
    )


class TorchModes(TorchPart):
    """A path is for calls under the modes of the recorded one."""

    needs = "graph program"

    def guard_modes(self) -> None:
        """Refuses a path under modes that change what functions mean.

        Where gradients are kept, the signature of each tensor tells whether it wants one.
        """
        self.graph.meet(next(each for each in LIBRARIES if each.name == "torch"))
        now = modes()
        asked = self.program.step("call", self.program.constant(modes), [], (), key=("modes",))
        self.program.guard("guard_value", asked, now, key=(asked,))
        if (
            now[2]
            or any(now[4:6])
            or now[6] is not None
            or now[7] is not None
            or now[8] is not None
        ):
            raise refuse(reasons.TORCH_FORM, "a function of torch", "a mode that changes it")

    def refuse_gradient(self, tensor: Any) -> None:
        if tensor.requires_grad and sys.modules["torch"].is_grad_enabled():
            raise refuse(reasons.GRADIENTS)


__all__ = ["TorchModes", "modes"]
