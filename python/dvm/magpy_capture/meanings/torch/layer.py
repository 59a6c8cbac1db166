"""The parts that say what PyTorch's functions mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.meanings.python.layer import PythonPart

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.torch.modes import TorchModes
    from dvm.magpy_capture.meanings.torch.rules import TorchRules
    from dvm.magpy_capture.meanings.torch.strides import TensorStrides
    from dvm.magpy_capture.meanings.torch.tensors import Tensors


class TorchPart(PythonPart):
    """Has what Python's functions do, and PyTorch's."""

    torch_rules: TorchRules
    torch_modes: TorchModes
    torch_tensors: Tensors
    torch_strides: TensorStrides


__all__ = ["TorchPart"]
