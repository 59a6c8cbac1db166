"""Small models as people write them, with weights made on the spot."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Mmoe(nn.Module):
    """A recommender: experts that tasks mix through gates of their own."""

    def __init__(self, experts: int = 3, tasks: int = 2, width: int = 16) -> None:
        super().__init__()
        self.items = nn.EmbeddingBag(50, width, mode="sum")
        self.experts = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(experts))
        self.gates = nn.ModuleList(nn.Linear(2 * width, experts) for _ in range(tasks))
        self.towers = nn.ModuleList(nn.Linear(width, 1) for _ in range(tasks))
        self.dense = nn.Linear(5, width)

    def forward(self, items: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        x = torch.cat([self.items(items), self.dense(dense)], -1)
        made = torch.stack([expert(x).relu() for expert in self.experts], 1)
        tasks = []
        for gate, tower in zip(self.gates, self.towers, strict=True):
            weights = gate(x).softmax(-1).unsqueeze(-1)
            tasks.append(tower((made * weights).sum(1)).sigmoid())
        return torch.cat(tasks, -1)


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.last = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(self.norm(self.first(x)).relu())
        x = x + self.second(x)
        return self.last(x.mean((2, 3)))


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.lstm = nn.LSTM(8, 12, batch_first=True)
        self.last = nn.Linear(12, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.lstm(self.embed(tokens))
        return self.last(hidden[:, -1]).log_softmax(-1)


class Unet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.down = nn.Conv2d(8, 16, 3, padding=1, stride=2)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last = nn.Conv2d(16, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left = nn.functional.silu(self.norm(self.first(x)))
        right = self.up(self.down(left).relu())
        return self.last(torch.cat([left, right], 1))


class GraphAttention(nn.Module):
    """Nodes attend to those that edges lead from; how many there are changes."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes = nn.Linear(6, 8)
        self.edges = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        nodes, (source, target) = self.nodes(x), edges
        pairs = torch.cat([nodes[source], nodes[target]], -1)
        scores = nn.functional.leaky_relu(self.edges(pairs).squeeze(-1), 0.2)
        weights = (scores - scores.max()).exp()
        total = torch.zeros(x.shape[0]).index_add(0, target, weights)
        weights = weights / total[target].clamp_min(1e-9)
        return torch.zeros_like(nodes).index_add(0, target, weights[:, None] * nodes[source])


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(12, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 12))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.inner(x) - x).square().mean(-1)


def transformer(name: str) -> nn.Module:
    """A model of the library transformers, two tiny layers of it."""
    import transformers as t

    small: dict[str, Any] = {"vocab_size": 99, "bos_token_id": 1, "eos_token_id": 2}
    layers = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    match name:
        case "bert":
            config = t.BertConfig(**small, **layers, intermediate_size=48)
            return t.BertModel(config, add_pooling_layer=False)
        case "albert":
            config = t.AlbertConfig(**small, **layers, embedding_size=16, intermediate_size=48)
            return t.AlbertModel(config, add_pooling_layer=False)
        case "opt":
            config = t.OPTConfig(**small, **layers, ffn_dim=48, word_embed_proj_dim=32)
            return t.OPTForCausalLM(config)
        case "distilbert":
            return t.DistilBertModel(
                t.DistilBertConfig(**small, dim=32, n_layers=2, n_heads=4, hidden_dim=48)
            )
        case "gpt2":
            return t.GPT2LMHeadModel(t.GPT2Config(**small, n_embd=32, n_layer=2, n_head=4))
        case "llama":
            config = t.LlamaConfig(
                **small, **layers, num_key_value_heads=2, intermediate_size=48, pad_token_id=0
            )
            return t.LlamaForCausalLM(config)
    raise ValueError(name)


def tokens(batch: int, length: int) -> tuple[torch.Tensor, ...]:
    return (torch.randint(3, 30, (batch, length)),)


TRANSFORMERS = ("bert", "albert", "distilbert", "opt", "gpt2", "llama")
#: by name: what makes the model, and what makes its arguments of a batch and a length
MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int, int], tuple[Any, ...]]]] = {
    **{name: (lambda name=name: transformer(name), tokens) for name in TRANSFORMERS},
    "lstm": (Lstm, tokens),
    "cnn": (Cnn, lambda batch, size: (torch.rand(batch, 3, 2 * size, 2 * size),)),
    "unet": (Unet, lambda batch, size: (torch.rand(batch, 3, 4 * size, 4 * size),)),
    "graph": (
        GraphAttention,
        lambda batch, n: (torch.rand(n + 2, 6), torch.randint(0, n + 2, (2, 3 * n * batch))),
    ),
    "mmoe": (Mmoe, lambda batch, n: (torch.randint(0, 50, (batch, n)), torch.rand(batch, 5))),
    "autoencoder": (Autoencoder, lambda batch, n: (torch.rand(batch, n, 12),)),
}
