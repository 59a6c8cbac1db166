"""Modules of torch.nn, captured: one path or two for all sizes, and what eager torch gives."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

import dvm
from torch_native.observing import observe
from whole import WHOLE

#: whether each module is called with all of its sizes
FEW = 4
Calls = list[tuple[Any, ...]]
MODULES: dict[str, tuple[nn.Module, Calls]] = {}
WIDTH = 8
draw = torch.randn


def add(name: str, module: nn.Module, calls: Calls) -> None:
    MODULES[name] = module.eval(), calls


def rows(*tail: int, counts: tuple[int, ...] = (2, 3, 1, 4, 0, 7, 5)) -> Calls:
    return [(draw(count, *tail),) for count in counts]


def sequences(batch_first: bool = True, width: int = WIDTH) -> Calls:
    """24 sizes: batches and lengths."""
    sizes = [(batch, length) for length in (5, 3, 1, 8, 2, 13) for batch in (2, 1, 3, 5)]
    return [(draw(*(size if batch_first else size[::-1]), width),) for size in sizes]


def grids(axes: int, counts: tuple[int, ...] = (2, 1, 3, 5)) -> Calls:
    sizes = ((8, 8, 6), (9, 12, 8), (16, 7, 7), (8, 11, 9), (12, 6, 6))
    return [(draw(count, 4, *size[:axes]),) for size in sizes for count in counts]


def pairs(kind: str) -> Calls:
    def second(count: int) -> Any:
        if kind == "classes":
            return torch.randint(0, 4, (count,))
        if kind == "signs":
            return draw(count, 4).sign()
        return torch.rand(count, 4) if kind == "chances" else draw(count, 4)

    first = torch.rand if kind == "chances" else draw
    return [(first(count, 4), second(count)) for count in (2, 5, 3, 1, 4)]


class Called(nn.Module):
    """A module called with what belongs to its inputs."""

    def __init__(self, module: nn.Module, how: Any) -> None:
        super().__init__()
        self.module = module
        self.how = [how]  # which is no part of the module's state

    def forward(self, *given: torch.Tensor) -> Any:
        return self.how[0](self.module, *given)


def causal(length: int) -> torch.Tensor:
    return nn.Transformer.generate_square_subsequent_mask(length)


def to_itself(module: Any, x: torch.Tensor, **named: Any) -> Any:
    return module(x, x, x, **named)


def encoded(module: Any, x: torch.Tensor) -> Any:
    return module(x, mask=causal(x.shape[1]), is_causal=True)


def decoded(module: Any, x: torch.Tensor, y: torch.Tensor) -> Any:
    return module(x, y, tgt_mask=causal(x.shape[1]), tgt_is_causal=True)


def padded(module: Any, x: torch.Tensor, y: torch.Tensor) -> Any:
    mask = (torch.arange(7) > 4).expand(x.shape[0], 7)
    return module(x, y, y, key_padding_mask=mask)


def add_recurrent() -> None:
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        for batch_first in (True, False):
            for both in (True, False):
                layers = 2 if both is batch_first else 1
                name = f"{kind.__name__} {layers}{' both ways' * both}{' batch' * batch_first}"
                module = kind(WIDTH, 6, layers, batch_first=batch_first, bidirectional=both)
                add(name, module, sequences(batch_first))
    lengths = [(length, batch) for length in (3, 1, 8) for batch in (2, 1, 5)]
    state = [(draw(n, b, WIDTH), (draw(4, b, 6), draw(4, b, 6))) for n, b in lengths]
    add("LSTM from a state", nn.LSTM(WIDTH, 6, 2, bidirectional=True), state)
    add("LSTM of one sequence", nn.LSTM(WIDTH, 6), [(draw(n, WIDTH),) for n in (5, 3, 1, 9)])
    add("LSTM with dropout", nn.LSTM(WIDTH, 6, 2, dropout=0.3), sequences(False))
    given = [(draw(b, n, WIDTH), draw(2, b, 6)) for n, b in lengths]
    add("GRU from a state", nn.GRU(WIDTH, 6, 2, batch_first=True), given)
    add("RNN of relu", nn.RNN(WIDTH, 6, nonlinearity="relu"), sequences(False))
    for cell in (nn.GRUCell, nn.LSTMCell, nn.RNNCell):
        add(cell.__name__, cell(WIDTH, 6), rows(WIDTH))
    add("GRUCell from a state", nn.GRUCell(4, 6), [(draw(n, 4), draw(n, 6)) for n in (2, 1, 5, 0)])


def add_transformers() -> None:
    for batch_first in (True, False):
        x, own = sequences(batch_first), {"batch_first": batch_first}
        both = [(each[0], draw(*each[0].shape)) for each in x]
        text = " batch" * batch_first
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, **own)
        add(f"TransformerEncoderLayer{text}", layer, x)
        stack = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        add(f"TransformerEncoder{text}", stack, x)
        decoder = nn.TransformerDecoderLayer(WIDTH, 2, 16, **own)
        add(f"TransformerDecoderLayer{text}", decoder, both)
        add(f"TransformerDecoder{text}", nn.TransformerDecoder(decoder, 2), both)
        add(
            f"Transformer{text}",
            nn.Transformer(WIDTH, 2, 1, 1, 16, custom_encoder=stack, **own),
            both,
        )
        for weights in (True, False):
            module = nn.MultiheadAttention(WIDTH, 2, bias=batch_first, **own)
            how = functools.partial(to_itself, need_weights=weights)
            add(f"MultiheadAttention{text}{' weights' * weights}", Called(module, how), x)
    first = nn.TransformerEncoderLayer(
        WIDTH, 2, 16, batch_first=True, norm_first=True, activation="gelu"
    )
    add("TransformerEncoderLayer norm first", first, sequences())
    stack = nn.TransformerEncoder(first, 2, enable_nested_tensor=False)
    add("TransformerEncoder causal", Called(stack, encoded), sequences())
    decoder = nn.TransformerDecoderLayer(WIDTH, 2, 16, batch_first=True)
    both = [(each[0], draw(each[0].shape[0], 7, WIDTH)) for each in sequences()]
    add("TransformerDecoder causal", Called(nn.TransformerDecoder(decoder, 2), decoded), both)
    module = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
    add("MultiheadAttention padded", Called(module, padded), both)


def add_activations() -> None:
    names = """
        ReLU ReLU6 ELU SELU CELU GELU SiLU Mish Sigmoid Tanh LeakyReLU Softplus Softshrink
        Hardshrink Hardtanh Hardsigmoid Hardswish LogSigmoid Softsign Tanhshrink PReLU RReLU
        Identity Flatten AlphaDropout FeatureAlphaDropout
    """
    for name in names.split():
        add(name, getattr(nn, name)(), rows(3, 4))
    add("Threshold", nn.Threshold(0.1, 0), rows(4))
    add("GLU", nn.GLU(), rows(4))
    for name in ("Softmax", "Softmin", "LogSoftmax"):
        add(name, getattr(nn, name)(-1), rows(4))
    add("Softmax2d", nn.Softmax2d(), grids(2))


def add_layers() -> None:
    add("Linear", nn.Linear(4, 5), rows(4))
    add("Bilinear", nn.Bilinear(4, 4, 3), pairs("numbers"))
    places = [(torch.randint(0, 10, (n, k)),) for n in (2, 1, 4) for k in (3, 5)]
    add("Embedding", nn.Embedding(10, 4, padding_idx=0), places)
    add("EmbeddingBag", nn.EmbeddingBag(10, 4), places)
    for axes in (1, 2, 3):
        x = grids(axes)

        def layer(name: str, *given: Any, axes: int = axes, x: Calls = x, **named: Any) -> None:
            add(f"{name}{axes}d", getattr(nn, f"{name}{axes}d")(*given, **named), x)

        layer("Conv", 4, 6, 3, padding="same", groups=2)
        layer("ConvTranspose", 4, 6, 2, stride=2)
        for pool in ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool"):
            layer(pool, 2)
        layer("LPPool", 2, 2)
        layer("BatchNorm", 4)
        layer("InstanceNorm", 4, affine=True)
        layer("Dropout")
        for pad in ("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"):
            layer(pad, 1)
        layer("ConstantPad", 1, 2.0)
        add(f"Upsample {axes}", nn.Upsample(scale_factor=2), x)
    add("MaxPool2d places", nn.MaxPool2d(2, return_indices=True), grids(2))
    add("Conv2d reflect", nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), grids(2))
    for mode in ("bilinear", "bicubic"):
        add(f"Upsample {mode}", nn.Upsample(scale_factor=2, mode=mode), grids(2))
    add("BatchNorm2d of the batch", nn.BatchNorm2d(4, track_running_stats=False), grids(2))
    for name, module in {
        "LayerNorm": nn.LayerNorm(4), "RMSNorm": nn.RMSNorm(4),
        "Unflatten": nn.Unflatten(1, (2, 2)),
        "spectral_norm": parametrizations.spectral_norm(nn.Linear(4, 5)),
        "weight_norm": parametrizations.weight_norm(nn.Linear(4, 5)),
    }.items():  # fmt: skip
        add(name, module, rows(4))
    for name, module in {
        "GroupNorm": nn.GroupNorm(2, 4), "LocalResponseNorm": nn.LocalResponseNorm(2),
        "PixelShuffle": nn.PixelShuffle(2), "ChannelShuffle": nn.ChannelShuffle(2),
        "Unfold": nn.Unfold(3, padding=1),
    }.items():  # fmt: skip
        add(name, module, grids(2))
    add("Fold", nn.Fold((4, 5), 2), rows(8, 12, counts=(2, 1, 3)))


def add_losses() -> None:
    for name in (
        *("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCEWithLogitsLoss"),
        *("SoftMarginLoss", "PoissonNLLLoss", "CosineSimilarity", "PairwiseDistance"),
    ):
        add(name, getattr(nn, name)(), pairs("numbers"))
    add("KLDivLoss", nn.KLDivLoss(reduction="batchmean"), pairs("numbers"))
    add("BCELoss", nn.BCELoss(), pairs("chances"))
    add("HingeEmbeddingLoss", nn.HingeEmbeddingLoss(), pairs("signs"))
    for name in ("CrossEntropyLoss", "NLLLoss", "MultiMarginLoss"):
        add(name, getattr(nn, name)(), pairs("classes"))
    smoothed = nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=2, weight=torch.rand(4))
    add("CrossEntropyLoss smoothed", smoothed, pairs("classes"))
    three = [(*each, draw(*each[0].shape).abs() + 0.1) for each in pairs("numbers")]
    add("TripletMarginLoss", nn.TripletMarginLoss(), three)
    add("GaussianNLLLoss", nn.GaussianNLLLoss(), three)


torch.manual_seed(0)
for _add in (add_recurrent, add_transformers, add_activations, add_layers, add_losses):
    _add()


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.no_grad(), dvm.stance("force_capture"):
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_captured_once_for_all_sizes(name: str) -> None:
    module, calls = MODULES[name]
    compiled = dvm.compile(lambda *given: module(*given))
    for given in calls if WHOLE else calls[:FEW]:
        wanted = observe(module, list(given))
        found = observe(compiled, list(given)).difference(wanted)
        assert not found, found
    stats = compiled.stats
    assert stats.fallbacks == 0, compiled.fallback_reasons
    assert stats.captures <= 2, compiled.why_recompiled()
    assert stats.hits == stats.calls - stats.captures


@pytest.mark.filterwarnings("ignore")
def test_an_encoder_with_padding_keeps_its_nested_tensors() -> None:
    """They are torch's own between its calls; masks that do not begin on the left are a path."""
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True)
    module = nn.TransformerEncoder(layer, 2).eval()

    def program(x: torch.Tensor, padding: torch.Tensor) -> Any:
        made = module(x * 2, src_key_padding_mask=padding)
        return made + 1, made.shape

    program(draw(1, 2, WIDTH), torch.zeros(1, 2, dtype=torch.bool))  # torch warns of it once
    compiled = dvm.compile(program)
    for turn in range(2):
        for batch, length in ((2, 5), (3, 6), (2, 7), (1, 4)):
            padding = torch.zeros(batch, length, dtype=torch.bool)
            padding[0, 0 if turn and batch == 3 else length - 1 :] = True
            padding[0, 1:2] = False
            given = [draw(batch, length, WIDTH), padding]
            found = observe(compiled, given).difference(observe(program, given))
            assert not found, found
    assert compiled.stats.fallbacks == 0, compiled.fallback_reasons
    assert compiled.stats.captures == 2, compiled.why_recompiled()
