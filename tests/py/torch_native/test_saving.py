"""Modules of PyTorch in files, which run where PyTorch is not."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dvm

torch = pytest.importorskip("torch")

ELSEWHERE = """
import sys
sys.modules["torch"] = None
import dvm
import numpy as np
graph = dvm.load(sys.argv[1])
np.savez(sys.argv[3], *graph(np.load(sys.argv[2])))
"""


def transformer(kind: str, **sizes: Any) -> torch.nn.Module:
    transformers = pytest.importorskip("transformers")
    config = getattr(transformers, f"{kind}Config")(vocab_size=100, **sizes)
    model: torch.nn.Module = getattr(transformers, f"{kind}Model")(config)
    return model


class Attending(torch.nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(16, 2, **options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keys = x[:, :3] if self.attention.batch_first else x[:1]
        return self.attention(x, keys, keys, need_weights=False)[0]


def encoder(**options: Any) -> torch.nn.Module:
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, **options)
    return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


WIDE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
MODELS: dict[str, Callable[[], torch.nn.Module]] = {
    "linear": lambda: torch.nn.Sequential(
        torch.nn.Linear(16, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)
    ),
    "normalised": lambda: torch.nn.Sequential(
        torch.nn.LayerNorm(16), torch.nn.Linear(16, 8), torch.nn.GELU()
    ),
    "attention": lambda: Attending(batch_first=True),
    "attention to rows": Attending,
    "encoder": encoder,
    "encoder, norm first": lambda: encoder(norm_first=True, activation="gelu"),
    "bert": lambda: transformer("Bert", **WIDE, intermediate_size=32),
    "distilbert": lambda: transformer("DistilBert", dim=16, n_layers=2, n_heads=2, hidden_dim=32),
    "gpt2": lambda: transformer("GPT2", n_embd=16, n_layer=2, n_head=2),
}


def arrays_of(value: Any) -> list[np.ndarray[Any, Any]]:
    """Those of a result, in the order in which a file has them."""
    if isinstance(value, torch.Tensor):
        return [value.numpy()]
    if hasattr(value, "layers"):  # the cache of a transformer
        return [each.numpy() for layer in value.layers for each in (layer.keys, layer.values)]
    parts = value.values() if isinstance(value, dict) else value
    return [array for part in parts for array in arrays_of(part)]


def named_by(model: torch.nn.Module) -> str:
    return next(iter(inspect.signature(model.forward).parameters))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_same_bits_without_torch(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    compiled = dvm.compile(model)
    of_tokens = name in ("bert", "distilbert", "gpt2")

    def batch(*sizes: int) -> torch.Tensor:
        return torch.randint(3, 100, sizes) if of_tokens else torch.randn(*sizes, 16)

    x = batch(3, 7)
    with torch.no_grad():
        dvm.save(compiled, tmp_path / "model.dvm")(batch(2, 4))
        with dvm.stance("force_capture"):
            compiled(x)  # which runs the original
            expected = arrays_of(compiled(x))
        assert compiled.call.compiled.stats.fallbacks == 0
    named = dvm.load(tmp_path / "model.dvm").arguments
    assert list(named) == ["input_ids" if of_tokens else named_by(model)]
    np.save(tmp_path / "x.npy", x.numpy())
    paths = [tmp_path / "model.dvm", tmp_path / "x.npy", tmp_path / "y.npz"]
    subprocess.run([sys.executable, "-c", ELSEWHERE, *map(str, paths)], check=True)
    with np.load(tmp_path / "y.npz") as made:
        results = [made[key] for key in made.files]
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        assert result.shape == value.shape
        assert result.tobytes() == value.tobytes()


def test_half_precision(tmp_path: Path) -> None:
    model = torch.nn.Linear(16, 4).bfloat16()
    with torch.no_grad():
        dvm.save(model, tmp_path / "half.dvm")(torch.ones(2, 16, dtype=torch.bfloat16))
    x = torch.randn(3, 16).bfloat16()
    (y,) = dvm.load(tmp_path / "half.dvm")(x.view(torch.uint16).numpy())
    expected = model(x).detach().float()
    got = torch.from_numpy(y).view(torch.bfloat16).float()
    torch.testing.assert_close(got, expected, rtol=2e-2, atol=2e-2)


class Cut(torch.nn.Module):
    def forward(self, x: Any, n: int, m: int, y: Any) -> Any:
        return x[:m] * 2, x[:n] + y[:1]


@pytest.mark.parametrize("by_name", [(), ("y",), ("y", "m", "n")])
def test_numbers_of_a_module_come_in_the_order_of_its_parameters(
    tmp_path: Path, by_name: tuple[str, ...]
) -> None:
    given = {"x": torch.arange(9.0), "n": 3, "m": 2, "y": torch.arange(4.0)}
    placed = [value for name, value in given.items() if name not in by_name]
    dvm.save(Cut(), tmp_path / "cut.dvm")(*placed, **{name: given[name] for name in by_name})
    loaded = dvm.load(tmp_path / "cut.dvm")
    assert list(loaded.arguments) == ["x", "y", "n", "m"]
    assert [len(each) for each in loaded(given["x"], given["y"], 5, 1)] == [1, 5]
