"""Modules, memory formats, what follows, and an op that tells how what it is given lies."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

Tensor = torch.Tensor

#: what the probe was given: shape, strides, offset in its storage
PROBED: list[tuple[tuple[int, ...], tuple[int, ...], int]] = []


def _from_raw_memory(x: Tensor) -> Tensor:
    """A copy in C order, element by element from the address where the tensor begins."""
    PROBED.append((tuple(x.shape), x.stride(), x.storage_offset()))
    last = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    out = torch.empty(x.shape, dtype=x.dtype)
    if x.numel() == 0:
        return out
    memory = (ctypes.c_byte * ((last + 1) * x.element_size())).from_address(x.data_ptr())
    raw = torch.frombuffer(memory, dtype=x.dtype)
    return out.copy_(raw.as_strided(x.shape, x.stride()))


@torch.library.custom_op("dvm_test::probe", mutates_args=())
def probe(x: Tensor) -> Tensor:
    """The tensor, read as C code reads it: by address and strides."""
    return _from_raw_memory(x)


@probe.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype)


def _keep_nothing(ctx: Any, inputs: Any, output: Any) -> None:
    pass


def _probe_gradient(_ctx: Any, gradient: Tensor) -> Tensor:
    return probe(gradient)


probe.register_autograd(_probe_gradient, setup_context=_keep_nothing)


@torch.library.custom_op("dvm_test::in_c_order", mutates_args=())
def in_c_order(x: Tensor) -> Tensor:
    """What takes its operand for C order, whatever its strides say, as much C code does."""
    PROBED.append((tuple(x.shape), x.stride(), x.storage_offset()))
    raw = torch.frombuffer(
        (ctypes.c_byte * (x.numel() * x.element_size())).from_address(x.data_ptr()), dtype=x.dtype
    )
    return raw.clone().view(x.shape)


@in_c_order.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype)


in_c_order.register_autograd(lambda _ctx, gradient: gradient * 1, setup_context=_keep_nothing)

SHAPE = (2, 4, 6, 8)  # batch, channels, height, width


def _order(*axes: int) -> Callable[[Tensor], Tensor]:
    """The same elements, with memory in another order of axes."""
    back = [axes.index(axis) for axis in range(len(axes))]
    return lambda x: x.permute(axes).contiguous().permute(back)


def _within(*, pad: tuple[int, ...]) -> Callable[[Tensor], Tensor]:
    """The middle of something larger."""

    def place(x: Tensor) -> Tensor:
        room = x.new_full([size + 2 * p for size, p in zip(x.shape, pad, strict=True)], 9.0)
        part = room[tuple(slice(p, p + size) for size, p in zip(x.shape, pad, strict=True))]
        return part.copy_(x)

    return place


def _every_second(axis: int) -> Callable[[Tensor], Tensor]:
    def place(x: Tensor) -> Tensor:
        shape = list(x.shape)
        shape[axis] *= 2
        room = x.new_full(shape, 9.0)
        steps = tuple(slice(None, None, 2) if i == axis else slice(None) for i in range(x.dim()))
        return room[steps].copy_(x)

    return place


def _at(offset: int) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.cat([x.new_zeros(offset), x.flatten()])[offset:].view(x.shape)


def _repeated(*axes: int) -> Callable[[Tensor], Tensor]:
    """Of one element along some axes."""

    def place(x: Tensor) -> Tensor:
        part = x[tuple(slice(0, 1) if i in axes else slice(None) for i in range(x.dim()))]
        return part.clone().expand(x.shape)

    return place


#: how four axes lie; each gives a tensor of SHAPE
FORMATS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x.clone(),
    "channels last": lambda x: x.clone().contiguous(memory_format=torch.channels_last),
    "channels first of all": _order(1, 0, 2, 3),
    "width before height": _order(0, 1, 3, 2),
    "rows in the middle": _order(0, 2, 1, 3),
    "reversed axes": _order(3, 2, 1, 0),
    "batch innermost": _order(1, 2, 3, 0),
    "turned": _order(2, 3, 0, 1),
    "sliced rows": _within(pad=(0, 0, 1, 0)),
    "sliced columns": _within(pad=(0, 0, 0, 2)),
    "sliced channels": _within(pad=(0, 1, 0, 0)),
    "sliced all over": _within(pad=(1, 1, 1, 1)),
    "every second column": _every_second(3),
    "every second channel": _every_second(1),
    "sliced channels last": lambda x: _within(pad=(0, 1, 1, 0))(
        x.contiguous(memory_format=torch.channels_last)
    ),
    "at an offset": _at(3),
    "channels last at an offset": lambda x: _at(5)(x.permute(0, 2, 3, 1).contiguous()).permute(
        0, 3, 1, 2
    ),
    "one batch repeated": _repeated(0),
    "one channel repeated": _repeated(1),
    "flipped": lambda x: x.flip(3).permute(0, 2, 3, 1).flip(0).permute(0, 3, 1, 2),
}


class Called(nn.Module):
    """A function as a module, with a parameter to have a gradient."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.scale = nn.Parameter(torch.tensor(1.25))

    def forward(self, x: Tensor) -> Any:
        return self.function(x * self.scale)


def _attention(x: Tensor) -> Tensor:
    """Over places, with channels as features, as diffusers' blocks do it."""
    batch, channels, height, width = x.shape
    tokens = x.reshape(batch, channels, height * width).transpose(1, 2)
    made = F.scaled_dot_product_attention(tokens, tokens, tokens)
    return made.transpose(-1, -2).reshape(batch, channels, height, width)


def _heads(x: Tensor) -> Tensor:
    q = x.transpose(1, 2)
    return F.scaled_dot_product_attention(q, q * 0.5, q + 1).transpose(1, 2)


def _square(x: Tensor) -> Tensor:
    return x[..., :6] * 0.3 + torch.eye(6) * 2


def _seq(*modules: nn.Module) -> nn.Sequential:
    return nn.Sequential(*modules)


_F: dict[str, Callable[[Tensor], Any]] = {
    "relu": torch.relu,
    "silu": F.silu,
    "gelu": F.gelu,
    "hardswish": F.hardswish,
    "leaky relu": F.leaky_relu,
    "softplus": F.softplus,
    "softmax of channels": lambda x: x.softmax(1),
    "log softmax of columns": lambda x: x.log_softmax(3),
    "normalize": lambda x: F.normalize(x, dim=1),
    "group norm": lambda x: F.group_norm(x, 2),
    "instance norm": F.instance_norm,
    "layer norm": lambda x: F.layer_norm(x, x.shape[-2:]),
    "rms norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "average pool": lambda x: F.avg_pool2d(x, 2),
    "max pool": lambda x: F.max_pool2d(x, 2),
    "adaptive pool": lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
    "nearest": lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "pixel shuffle": lambda x: F.pixel_shuffle(torch.cat([x, -x], 1), 2),
    "pixel unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "unfold": lambda x: F.unfold(x, 3, padding=1),
    "reflection pad": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "constant pad": lambda x: F.pad(x, (1, 2)),
    "replication pad": lambda x: F.pad(x, (1, 1, 2, 0), mode="replicate"),
    "dropout": lambda x: F.dropout(x, 0.5, True),
    "dropout of channels": lambda x: F.dropout2d(x, 0.5, True),
    "mish": F.mish,
    "log sigmoid": F.logsigmoid,
    "noise": lambda x: x + torch.randn_like(x),
    "uniform noise": lambda x: x * torch.rand_like(x),
    "bernoulli": lambda x: x * torch.bernoulli(x.sigmoid()),
    "exponential": lambda x: x + torch.empty_like(x).exponential_(),
    "attention": _attention,
    "heads": _heads,
    "products": lambda x: x @ x.transpose(-1, -2),
    "einsum": lambda x: torch.einsum("bchw,bdhw->bcd", x, x),
    "det": lambda x: torch.linalg.det(_square(x)),
    "slogdet": lambda x: torch.linalg.slogdet(_square(x))[1],
    "inverse": lambda x: torch.linalg.inv(_square(x)),
    "cholesky": lambda x: torch.linalg.cholesky(_square(x) @ _square(x).mT + torch.eye(6)),
    "singular values": lambda x: torch.linalg.svdvals(x[:, 1:3]),
    "solve": lambda x: torch.linalg.solve(_square(x), x),
    "sort": lambda x: x.sort(1)[0],
    "top": lambda x: x.topk(2, 3)[0],
    "cumsum": lambda x: x.cumsum(1),
    "cat": lambda x: torch.cat([x, x * 2], 1),
    "stack": lambda x: torch.stack([x, x.sin()], 2),
    "roll": lambda x: x.roll(1, 2),
    "flip": lambda x: x.flip(1),
    "chunks": lambda x: x.chunk(2, 1)[0] * x.chunk(2, 1)[1].sigmoid(),
    "gather": lambda x: x.gather(1, x.argsort(1)),
    "masked": lambda x: x.masked_fill(x > 0.5, -1.0),
}

#: by name: what makes a module of tensors of SHAPE
MODULES: dict[str, Callable[[], nn.Module]] = {
    **{name: (lambda f=f: Called(f)) for name, f in _F.items()},  # type: ignore[misc]
    "convolution": lambda: nn.Conv2d(4, 6, 3, padding=1),
    "strided convolution": lambda: nn.Conv2d(4, 4, 3, stride=2, padding=1, bias=False),
    "convolution of each channel": lambda: nn.Conv2d(4, 8, 3, padding=1, groups=4),
    "transposed convolution": lambda: nn.ConvTranspose2d(4, 3, 2, stride=2),
    "batch norm": lambda: nn.BatchNorm2d(4),
    "group norm, silu, convolution": lambda: _seq(
        nn.GroupNorm(2, 4), nn.SiLU(), nn.Conv2d(4, 4, 3, padding=1)
    ),
    "convolution, group norm": lambda: _seq(nn.Conv2d(4, 4, 1), nn.GroupNorm(4, 4)),
    "convolution, batch norm, relu": lambda: _seq(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.ReLU()),
    "linear": lambda: nn.Linear(8, 5),
}


#: what is done with a module's result
FOLLOWERS: dict[str, Callable[[Tensor], Any]] = {
    "nothing": lambda x: x,
    "turned": lambda x: x.transpose(0, -1) * 1.0,
    "channels to the end": lambda x: x.movedim(1, -1) * 1.0,
    "silu": F.silu,
    "probe": probe,
    "probe of a view": lambda x: probe(x.transpose(1, -1)),
    "probe of a part": lambda x: probe(x[:, 1:]) * 2,
    "probe of one": lambda x: probe(x.select(1, 1)),
    "probe of a turned sum": lambda x: probe((x + 1).transpose(0, -1)),
    "probe of C order": lambda x: in_c_order((x + 1).transpose(0, -1).contiguous()),
    "probe of a copy": lambda x: probe(x.transpose(0, 1).clone()),
    "probe of repeated": lambda x: probe((x * 2)[None].expand(3, *x.shape)),
    "dropout": lambda x: F.dropout(x.transpose(0, -1) * 2, 0.5, True),
    "noise": lambda x: x + torch.rand_like((x * 2).transpose(0, 1)).transpose(0, 1),
    "several": lambda x: (x * 2, x.transpose(0, 1), (x * 2).sum(1), x[..., :1]),
    "written": lambda x: x.transpose(0, -1).mul(2).add_(1),
}


@dataclass(frozen=True)
class Case:
    """A module on arguments in several formats, each with what follows, in one graph."""

    module: str
    pairs: tuple[tuple[str, str], ...]  # formats and followers
    dynamic: bool
    seed: int

    def __str__(self) -> str:
        return f"{self.module}{', dynamic' * self.dynamic}"

    def function(self) -> nn.Module:
        torch.manual_seed(self.seed)
        return Followed(MODULES[self.module](), [FOLLOWERS[name] for _, name in self.pairs])

    def arguments(self, batch: int = SHAPE[0]) -> list[Tensor]:
        drawn = torch.Generator().manual_seed(self.seed + batch)
        shape = batch, *SHAPE[1:]
        return [FORMATS[name](torch.randn(shape, generator=drawn)) for name, _ in self.pairs]


class Followed(nn.Module):
    def __init__(self, module: nn.Module, followers: list[Callable[[Tensor], Any]]) -> None:
        super().__init__()
        self.module, self.followers = module, followers

    def forward(self, *given: Tensor) -> list[Any]:
        return [follow(self.module(x)) for follow, x in zip(self.followers, given, strict=True)]


def every_case() -> Iterator[Case]:
    """Each module in all formats, with what follows going around."""
    followers = list(FOLLOWERS)
    for i, module in enumerate(MODULES):
        turns = range(i * 7, i * 7 + 7 * len(FORMATS), 7)
        after = [followers[turn % len(followers)] for turn in turns]
        yield Case(module, tuple(zip(FORMATS, after, strict=True)), i % 3 == 0, i)


def some_cases(modules: int, formats: int, seed: int) -> list[Case]:
    rng = random.Random(seed)
    cases = rng.sample(list(every_case()), modules)
    return [replace(case, pairs=tuple(rng.sample(case.pairs, formats))) for case in cases]
