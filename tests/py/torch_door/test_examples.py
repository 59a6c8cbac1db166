import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("torch_*.py")), ids=lambda path: path.stem)
def test_an_example_runs(example, capsys):
    torch._dynamo.reset()
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr().out
    assert "0 fallback" in printed or "this call: hit" in printed  # of the backend, or of its own
    assert "runs as torch does" not in printed


def test_the_demo_runs():
    command = [
        sys.executable,
        EXAMPLES / "demo_torch.py",
        "--sentences",
        "4",
        "--only",
        "eager,dvm",
    ]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "BERT (4 layers of 256) over 4 sentences" in printed
    assert "largest difference of dvm's embeddings from eager torch's" in printed
