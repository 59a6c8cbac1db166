"""Small models of the kinds that people export, with sizes that calls choose."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from torch import nn
from torch.export import Dim

RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Case:
    """A model, an example, which axes are dynamic, and inputs of the k-th shape."""

    make: Callable[[], nn.Module]
    example: Callable[[], tuple[torch.Tensor, ...]]
    names: tuple[str, ...]
    dynamic: Mapping[str, Mapping[int, str]]
    inputs: Callable[[int], tuple[np.ndarray[Any, Any], ...]]
    tolerance: float = 2e-4


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def tokens(rows: int, length: int, most: int = 100) -> np.ndarray[Any, Any]:
    return RNG.integers(0, most, (rows, length))


class Tokens(nn.Module):
    """A model of transformers with tensors as results."""

    def __init__(self, inner: nn.Module, result: str) -> None:
        super().__init__()
        self.inner, self.result = inner, result

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        made = self.inner(input_ids=ids, attention_mask=mask)
        return getattr(made, self.result)


def bert() -> nn.Module:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=100, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=128, max_position_embeddings=64, attn_implementation="eager",
    )  # fmt: skip
    return Tokens(BertModel(config), "last_hidden_state")


def gpt2() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=100, n_embd=64, n_layer=2, n_head=4, n_positions=64, use_cache=False,
        attn_implementation="eager",
    )  # fmt: skip
    return Tokens(GPT2LMHeadModel(config), "logits")


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.other = nn.BatchNorm2d(outputs)
        self.short = nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.other(self.second(torch.relu(self.norm(self.first(x)))))
        return torch.relu(made + self.short(x))


def resnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 7, 2, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


class Inverted(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        wide = inputs * 4
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide),
            nn.Hardswish(), nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.layers(x)
        return x + made if self.adds else made


def mobilenet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish(), Inverted(8, 8, 1), Inverted(8, 16, 2),
        Inverted(16, 16, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(1, 8, 3, padding=1)
        self.deep = nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.join = nn.Conv2d(24, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.last = nn.Conv2d(8, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = torch.relu(self.down(x))
        deep = torch.relu(self.deep(nn.functional.max_pool2d(first, 2)))
        smooth = nn.functional.interpolate(deep, scale_factor=2.0, mode="bilinear")
        joined = torch.cat([first, self.up(deep), smooth[:, :8]], 1)
        return self.last(torch.nn.functional.silu(self.norm(self.join(joined))))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 24)
        self.lstm = nn.LSTM(24, 32, bidirectional=True, batch_first=True, num_layers=2)
        self.tags = nn.Linear(64, 7)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.tags(self.lstm(self.words(ids))[0]), -1)


class Detector(nn.Module):
    """Boxes and scores of all places; what is suppressed is added to the file."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU()
        )
        self.boxes, self.scores = nn.Conv2d(16, 4, 1), nn.Conv2d(16, 3, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        made = self.body(x)
        boxes = self.boxes(made).flatten(2).transpose(1, 2)
        low, size = boxes[..., :2], torch.sigmoid(boxes[..., 2:])
        return torch.cat([low, low + size], -1), self.scores(made).flatten(2)


def suppressed(model: onnx.ModelProto) -> onnx.ModelProto:
    """Give the detector's file the operator that picks boxes."""
    boxes, scores = (value.name for value in model.graph.output)
    helper = onnx.helper
    for name, array in {
        "most": np.array([5]), "overlap": np.array([0.5], np.float32),
        "least": np.array([0.0], np.float32),
    }.items():  # fmt: skip
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    inputs = [boxes, scores, "most", "overlap", "least"]
    model.graph.node.append(helper.make_node("NonMaxSuppression", inputs, ["picked"]))
    kind = onnx.TensorProto.INT64
    model.graph.output.append(helper.make_tensor_value_info("picked", kind, [None, 3]))
    return model


IMAGE = {"x": {0: "batch", 2: "height", 3: "width"}}
TEXT = {"ids": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"}}


def _text(k: int) -> tuple[np.ndarray[Any, Any], ...]:
    rows, length = 1 + k % 4, 3 + (k * 7) % 40
    mask = np.ones((rows, length), np.int64)
    mask[0, length // 2 :] = 0
    return tokens(rows, length), mask


def _image(channels: int, step: int = 1) -> Callable[[int], tuple[np.ndarray[Any, Any], ...]]:
    def make(k: int) -> tuple[np.ndarray[Any, Any], ...]:
        sizes = [step * (n // step) for n in (24 + 4 * (k % 7), 20 + (k * 6) % 28)]
        return (floats(1 + k % 3, channels, *sizes),)

    return make


CASES = {
    "bert": Case(bert, lambda: (torch.zeros(2, 8, dtype=torch.int64),
                                torch.ones(2, 8, dtype=torch.int64)),
                 ("ids", "mask"), TEXT, _text),
    "gpt2": Case(gpt2, lambda: (torch.zeros(2, 8, dtype=torch.int64),
                                torch.ones(2, 8, dtype=torch.int64)),
                 ("ids", "mask"), TEXT, _text),
    "resnet": Case(resnet, lambda: (torch.randn(2, 3, 40, 44),), ("x",), IMAGE, _image(3)),
    "mobilenet": Case(mobilenet, lambda: (torch.randn(2, 3, 40, 44),), ("x",), IMAGE, _image(3)),
    "unet": Case(UNet, lambda: (torch.randn(2, 1, 32, 48),), ("x",), IMAGE, _image(1, 4)),
    "tagger": Case(Tagger, lambda: (torch.zeros(2, 8, dtype=torch.int64),), ("ids",),
                   {"ids": TEXT["ids"]},
                   lambda k: (tokens(1 + k % 4, 2 + (k * 5) % 30),)),
    "detector": Case(Detector, lambda: (torch.randn(2, 3, 40, 44),), ("x",), IMAGE, _image(3)),
}  # fmt: skip


def exported(name: str, dynamo: bool) -> onnx.ModelProto:
    """Return a model as torch's exporter writes it."""
    case = CASES[name]
    torch.manual_seed(0)
    module = case.make().eval()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if dynamo:
            dims = {n: dict.fromkeys(axes, Dim.DYNAMIC) for n, axes in case.dynamic.items()}
            program = torch.onnx.export(
                module, case.example(), dynamo=True, dynamic_shapes=tuple(dims.values())
                if not isinstance(module, nn.Sequential) else ((*dims.values(),),)[0],
                input_names=list(case.names), verbose=False,
            )  # fmt: skip
            made = program.model_proto
        else:
            file = io.BytesIO()
            torch.onnx.export(
                module, case.example(), file, dynamo=False, input_names=list(case.names),
                dynamic_axes={n: dict(axes) for n, axes in case.dynamic.items()},
                opset_version=17,
            )  # fmt: skip
            made = onnx.load_from_string(file.getvalue())
    return suppressed(made) if name == "detector" else made
