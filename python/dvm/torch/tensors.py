"""Tells the core what PyTorch's tensors are; once, when it is first imported."""

import torch

from dvm import _dvm
from dvm.torch.builder import DTYPES

_dvm.use_torch(
    torch.Tensor,
    torch.nn.Parameter,
    torch.autograd.forward_ad,
    [torch.empty(0, dtype=dtype, device="cpu") for dtype in DTYPES],
)
