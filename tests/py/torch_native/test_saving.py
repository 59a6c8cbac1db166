"""Modules of PyTorch in files, which run where PyTorch is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
(y,) = graph(np.load(sys.argv[2]))
np.save(sys.argv[3], y)
"""


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.nn.Sequential(torch.nn.Linear(16, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)),
        lambda: torch.nn.Sequential(
            torch.nn.LayerNorm(16), torch.nn.Linear(16, 8), torch.nn.GELU()
        ),
    ],
)
def test_a_module_runs_without_torch(make: type[torch.nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = make().eval()
    compiled = dvm.compile(model)
    with torch.no_grad():
        dvm.save(compiled, tmp_path / "model.dvm")(torch.ones(2, 3, 16))
        x = torch.randn(4, 7, 16)
        with dvm.stance("force_capture"):
            expected = compiled(x).numpy()
    np.save(tmp_path / "x.npy", x.numpy())
    paths = [tmp_path / "model.dvm", tmp_path / "x.npy", tmp_path / "y.npy"]
    subprocess.run([sys.executable, "-c", ELSEWHERE, *map(str, paths)], check=True)
    y = np.load(tmp_path / "y.npy")
    assert y.tobytes() == dvm.load(tmp_path / "model.dvm")(x.numpy())[0].tobytes()
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


def test_half_precision(tmp_path: Path) -> None:
    model = torch.nn.Linear(16, 4).bfloat16()
    with torch.no_grad():
        dvm.save(model, tmp_path / "half.dvm")(torch.ones(2, 16, dtype=torch.bfloat16))
    x = torch.randn(3, 16).bfloat16()
    (y,) = dvm.load(tmp_path / "half.dvm")(x.view(torch.uint16).numpy())
    expected = model(x).detach().float()
    got = torch.from_numpy(y).view(torch.bfloat16).float()
    torch.testing.assert_close(got, expected, rtol=2e-2, atol=2e-2)
