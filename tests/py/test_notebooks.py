"""The tutorials of docs/notebooks run from their first cell to their last."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs/notebooks").glob("*.ipynb"))

#: In a process of its own, whose kernel is the interpreter under test.
RUN = """
import json, sys
import nbclient, nbformat
from jupyter_client.manager import KernelManager

notebook = nbformat.read(sys.argv[1], as_version=4)
manager = KernelManager(kernel_name="python3")
manager.kernel_spec.argv[0] = sys.executable
nbclient.NotebookClient(notebook, km=manager, timeout=100, record_timing=False).execute()
print(json.dumps([cell.get("outputs", []) for cell in notebook.cells]))
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path: Path) -> None:
    for needed in ("nbclient", "nbformat", "ipykernel"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"there is no {needed}")
    command = [sys.executable, "-c", RUN, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=290)
    assert ran.returncode == 0, ran.stderr[-3000:]
    outputs = json.loads(ran.stdout.splitlines()[-1])
    assert sum(map(bool, outputs)) >= 3
    # As it lies there a notebook has no outputs, which would go stale.
    cells = json.loads(path.read_text("utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)


def test_there_are_four() -> None:
    assert len(NOTEBOOKS) == 4
