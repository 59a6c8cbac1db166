"""A text encoder in PyTorch, over sentences of every length: eager torch and dvm in turns.

Needs the extra `torch`: pip install '.[torch]'
"""

import time

import torch
from torch import nn

import dvm

WORDS, WIDTH, HEADS, LAYERS = 500, 64, 4, 2


class Encoder(nn.Module):
    """A small transformer, which makes one vector of a sentence."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(512, WIDTH)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, activation="gelu")
            for _ in range(LAYERS)
        )

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words) + self.places(torch.arange(words.shape[0]))
        for layer in self.layers:
            x = layer(x)
        return x.mean(0)


def total(model: nn.Module, sentences: list[torch.Tensor]) -> tuple[float, list[torch.Tensor]]:
    begin = time.perf_counter()
    made = [model(sentence) for sentence in sentences]
    return time.perf_counter() - begin, made


def main() -> None:
    torch.manual_seed(0)
    model = Encoder().eval()
    compiled = dvm.compile(model)
    lengths = torch.randint(2, 60, (200,)).tolist()
    sentences = [torch.randint(0, WORDS, (length,)) for length in lengths]
    with torch.no_grad():
        begin = time.perf_counter()
        compiled(sentences[0])
        first = time.perf_counter() - begin
        eager, expected = total(model, sentences)
        ours, made = total(compiled, sentences)
        difference = max((a - b).abs().max().item() for a, b in zip(made, expected, strict=True))
        report = dvm.explain(compiled)(sentences[0])
    print(f"sentences           {len(sentences)}, of {len(set(lengths))} lengths")
    print(f"first call          {first * 1e3:.0f} ms, compilation included")
    print(f"torch, all          {eager * 1e3:.0f} ms")
    print(f"dvm, all            {ours * 1e3:.0f} ms")
    print(f"largest difference  {difference:.1e}")
    print(report)


if __name__ == "__main__":
    main()
