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


class Dlrm(nn.Module):
    """A recommender: products of every pair of an item's and the dense features' vectors."""

    def __init__(self, tables: int = 3, width: int = 8) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(20, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, items: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        vectors = [x, *(table(items[:, k]) for k, table in enumerate(self.tables))]
        stacked = torch.stack(vectors, 1)
        products = stacked @ stacked.transpose(1, 2)
        rows, columns = torch.tril_indices(len(vectors), len(vectors), -1)
        return self.top(torch.cat([x, products[:, rows, columns]], 1)).sigmoid()


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.last = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.last(self.second(self.norm(self.first(x)).relu()))).relu()


class Resnet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8))
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.blocks = nn.Sequential(Residual(8), Residual(8))
        self.last = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(self.pool(self.stem(x).relu()))
        return self.last(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Mobilenet(nn.Module):
    """An inverted residual: channels are multiplied, filtered one by one, weighed and joined."""

    def __init__(self, channels: int = 8, inner: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.wide = nn.Sequential(nn.Conv2d(channels, inner, 1), nn.BatchNorm2d(inner), nn.ReLU6())
        self.depth = nn.Conv2d(inner, inner, 3, padding=1, groups=inner)
        self.norm = nn.BatchNorm2d(inner)
        self.weigh = nn.Sequential(nn.Conv2d(inner, inner, 1), nn.Hardsigmoid())
        self.narrow = nn.Conv2d(inner, channels, 1)
        self.last = nn.Linear(channels, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.hardswish(self.stem(x))
        made = nn.functional.hardswish(self.norm(self.depth(self.wide(x))))
        x = x + self.narrow(made * self.weigh(made.mean((2, 3), keepdim=True)))
        return self.last(x.mean((2, 3)))


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


class Recurrent(nn.Module):
    """An LSTM or a GRU over tokens."""

    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.layer = kind(8, 12, batch_first=True)
        self.last = nn.Linear(12, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.layer(self.embed(tokens))
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


class ResnetBlock(nn.Module):
    """As diffusers has it: what it computes depends on the step in time."""

    def __init__(self, inner: int, outer: int, times: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, inner), nn.GroupNorm(4, outer)
        self.conv1 = nn.Conv2d(inner, outer, 3, padding=1)
        self.conv2 = nn.Conv2d(outer, outer, 3, padding=1)
        self.time = nn.Linear(times, outer)
        self.shortcut = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        silu = nn.functional.silu
        hidden = self.conv1(silu(self.norm1(x))) + self.time(silu(time))[:, :, None, None]
        return self.shortcut(x) + self.conv2(silu(self.norm2(hidden)))


class SpatialAttention(nn.Module):
    def __init__(self, channels: int, heads: int = 2) -> None:
        super().__init__()
        self.norm, self.heads = nn.GroupNorm(4, channels), heads
        self.to_qkv, self.to_out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, channels, height, width = x.shape
        tokens = self.norm(x).view(batch, channels, height * width).transpose(1, 2)
        q, k, v = (
            part.view(batch, -1, self.heads, channels // self.heads).transpose(1, 2)
            for part in self.to_qkv(tokens).chunk(3, -1)
        )
        made = nn.functional.scaled_dot_product_attention(q, k, v)
        made = self.to_out(made.transpose(1, 2).reshape(batch, -1, channels))
        return made.transpose(-1, -2).reshape(x.shape) + x


class Diffusion(nn.Module):
    """The U-Net of a diffusion model: how much of a picture is noise, at a step in time."""

    def __init__(self, width: int = 8, depth: int = 3) -> None:
        super().__init__()
        times = 4 * width
        sizes = [width * min(level + 1, 2) for level in range(depth)]
        self.time = nn.Sequential(nn.Linear(width, times), nn.SiLU(), nn.Linear(times, times))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.down, self.smaller = nn.ModuleList(), nn.ModuleList()
        for inner, outer in zip([width, *sizes], sizes, strict=False):
            self.down.append(ResnetBlock(inner, outer, times))
            self.smaller.append(nn.Conv2d(outer, outer, 3, stride=2, padding=1))
        self.middle = nn.ModuleList([ResnetBlock(sizes[-1], sizes[-1], times) for _ in range(2)])
        self.attention = SpatialAttention(sizes[-1])
        self.up, self.larger = nn.ModuleList(), nn.ModuleList()
        for inner, outer in zip(sizes[::-1], [*sizes[-2::-1], width], strict=True):
            self.larger.append(nn.Conv2d(inner, inner, 3, padding=1))
            self.up.append(ResnetBlock(2 * inner, outer, times))
        self.norm, self.last = nn.GroupNorm(4, width), nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        width = self.first.out_channels
        waves = torch.exp(torch.arange(width // 2) * -0.5) * step[:, None]
        time = self.time(torch.cat([waves.sin(), waves.cos()], -1))
        x, skipped = self.first(x), []
        for block, smaller in zip(self.down, self.smaller, strict=True):
            x = block(x, time)
            skipped.append(x)
            x = smaller(x)
        x = self.middle[1](self.attention(self.middle[0](x, time)), time)
        for block, larger in zip(self.up, self.larger, strict=True):
            x = larger(nn.functional.interpolate(x, scale_factor=2.0, mode="nearest"))
            x = block(torch.cat([x, skipped.pop()], 1), time)
        return self.last(nn.functional.silu(self.norm(x)))


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
        total = torch.zeros(x.shape[0], dtype=x.dtype).index_add(0, target, weights)
        weights = weights / total[target].clamp_min(1e-9)
        return torch.zeros_like(nodes).index_add(0, target, weights[:, None] * nodes[source])


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(12, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 12))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.inner(x) - x).square().mean(-1)


class Gan(nn.Module):
    """A generator, and what its discriminator says of made and of given samples."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(
            nn.Linear(4, 16), nn.BatchNorm1d(16), nn.LeakyReLU(0.2), nn.Linear(16, 12), nn.Tanh()
        )
        self.discriminator = nn.Sequential(
            nn.Linear(12, 16), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(16, 1)
        )

    def forward(self, noise: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        made = self.discriminator(self.generator(noise))
        loss = nn.functional.binary_cross_entropy_with_logits
        of_given = self.discriminator(given)
        return loss(made, torch.zeros_like(made)) + loss(of_given, torch.ones_like(of_given))


def transformer(name: str, layers: int = 2) -> nn.Module:
    """A model of the library transformers, a few tiny layers of it."""
    import transformers as t

    small: dict[str, Any] = {"vocab_size": 99, "bos_token_id": 1, "eos_token_id": 2}
    sizes = {"hidden_size": 32, "num_hidden_layers": layers, "num_attention_heads": 4}
    match name:
        case "bert":
            config = t.BertConfig(**small, **sizes, intermediate_size=48)
            return t.BertModel(config, add_pooling_layer=False)
        case "roberta":
            config = t.RobertaConfig(**small, **sizes, intermediate_size=48, pad_token_id=0)
            return t.RobertaModel(config, add_pooling_layer=False)
        case "albert":
            config = t.AlbertConfig(**small, **sizes, embedding_size=16, intermediate_size=48)
            return t.AlbertModel(config, add_pooling_layer=False)
        case "opt":
            config = t.OPTConfig(**small, **sizes, ffn_dim=48, word_embed_proj_dim=32)
            return t.OPTForCausalLM(config)
        case "distilbert":
            return t.DistilBertModel(
                t.DistilBertConfig(**small, dim=32, n_layers=layers, n_heads=4, hidden_dim=48)
            )
        case "gpt2":
            return t.GPT2LMHeadModel(t.GPT2Config(**small, n_embd=32, n_layer=layers, n_head=4))
        case "llama":
            config = t.LlamaConfig(
                **small, **sizes, num_key_value_heads=2, intermediate_size=48, pad_token_id=0
            )
            return t.LlamaForCausalLM(config)
        case "mixtral":
            config = t.MixtralConfig(
                **small,
                **sizes,
                num_key_value_heads=2,
                intermediate_size=48,
                num_local_experts=4,
                pad_token_id=0,
            )
            return t.MixtralForCausalLM(config)
    raise ValueError(name)


def tokens(batch: int, length: int) -> tuple[torch.Tensor, ...]:
    return (torch.randint(3, 30, (batch, length)),)


def image(times: int) -> Callable[[int, int], tuple[torch.Tensor, ...]]:
    return lambda batch, size: (torch.rand(batch, 3, times * size, times * size),)


def rated(items: int) -> Callable[[int, int], tuple[torch.Tensor, ...]]:
    """Items and dense features of as many users as batch and length make."""
    return lambda batch, n: (torch.randint(0, 20, (batch * n, items)), torch.rand(batch * n, 5))


TRANSFORMERS = ("bert", "albert", "distilbert", "roberta", "opt", "gpt2", "llama", "mixtral")
RECURRENT = ("lstm", "gru")  # graph breaks of Dynamo's own
#: by name: what makes the model, and what makes its arguments of a batch and a length
MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int, int], tuple[Any, ...]]]] = {
    **{name: (lambda name=name: transformer(name), tokens) for name in TRANSFORMERS},
    "lstm": (lambda: Recurrent(nn.LSTM), tokens),
    "gru": (lambda: Recurrent(nn.GRU), tokens),
    "cnn": (Cnn, image(2)),
    "resnet": (Resnet, image(8)),
    "mobilenet": (Mobilenet, image(2)),
    "unet": (Unet, image(4)),
    "diffusion": (
        Diffusion,
        lambda batch, n: (torch.rand(batch, 3, 8 * n, 8 * n), torch.arange(batch) * 7.0),
    ),
    "graph": (
        GraphAttention,
        lambda batch, n: (torch.rand(n + 2, 6), torch.randint(0, n + 2, (2, 3 * n * batch))),
    ),
    "mmoe": (Mmoe, lambda batch, n: (torch.randint(0, 50, (batch, n)), torch.rand(batch, 5))),
    "dlrm": (Dlrm, rated(3)),
    "autoencoder": (Autoencoder, lambda batch, n: (torch.rand(batch, n, 12),)),
    "gan": (Gan, lambda batch, n: (torch.rand(batch * n + 1, 4), torch.rand(batch * n + 1, 12))),
}
