"""What is said of functions on tensors that dvm has captured itself."""

from __future__ import annotations

import torch
from torch import nn

import dvm

model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))


def test_a_captured_function_is_explained_by_its_path() -> None:
    f = dvm.compile(lambda x: model(x).softmax(-1))
    x = torch.ones(3, 4)
    with torch.no_grad():
        f(x)
        text = str(dvm.explain(f)(x))
    assert "this call: hit" in text
    assert "2 kernel(s)" in text
    assert "f = dvm.compile(lambda x: model(x).softmax(-1))" in text  # not a line of torch's


def test_what_keeps_gradients_is_told_the_way_to_the_backend() -> None:
    f = dvm.compile(lambda x: model(x))
    f(torch.ones(3, 4))
    (reason,) = f.fallback_reasons
    assert "gradients of tensors of PyTorch" in reason
