"""Sentences of any length through an LSTM (paper Nimble, table 1) and through BERT (table 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import dvm

from .turns import Contenders, in_turns

INPUT, HIDDEN = 300, 512


class Cells(nn.Module):
    """Layers of LSTM cells in a loop over the words, as the paper has them."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.cells = nn.ModuleList(
            nn.LSTMCell(HIDDEN if layer else INPUT, HIDDEN) for layer in range(layers)
        )

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        states = [(words.new_zeros(1, HIDDEN), words.new_zeros(1, HIDDEN)) for _ in self.cells]
        for word in words:
            x = word
            for layer, cell in enumerate(self.cells):
                states[layer] = cell(x, states[layer])
                x = states[layer][0]
        return x


def lstm(layers: int) -> tuple[nn.Module, Callable[[int], tuple[torch.Tensor, ...]]]:
    return Cells(layers).eval(), lambda length: (torch.randn(length, 1, INPUT),)


def bert() -> tuple[nn.Module, Callable[[int], tuple[torch.Tensor, ...]]]:
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    return BertModel(config).eval(), lambda length: (torch.randint(0, 30000, (1, length)),)


def table(name: str, lengths: list[int], with_inductor: bool) -> dict[str, float]:
    """Microseconds per token of each contender."""
    torch.manual_seed(0)
    model, words = bert() if name == "BERT" else lstm(2 if "2" in name else 1)
    inputs = [words(length) for length in lengths]
    with dvm.stance("force_capture"):
        compiled = dvm.compile(model)

        def last(run: Callable[..., Any]) -> Callable[[int], Any]:
            def of(k: int) -> Any:
                result = run(*inputs[k])
                return result if isinstance(result, torch.Tensor) else result.last_hidden_state

            return of

        ways: Contenders = {"eager": last(model), "dvm": last(compiled)}
        if with_inductor:
            ways["torch.compile"] = last(torch.compile(model, dynamic=True))
        return in_turns(ways, lengths)
