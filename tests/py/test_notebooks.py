"""The tutorials of docs/notebooks run from first cell to last, and print what they show."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def shown(path: Path) -> list[str]:
    """Return what each cell shows, numbers and rules apart; one print may come in two pieces."""
    cells: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    texts = [
        " ".join(
            "".join(output.get("text") or output.get("data", {}).get("text/plain", ""))
            for output in cell.get("outputs", [])
        )
        for cell in cells
    ]
    return [re.sub(r"\s+|-{3,}", " ", re.sub(r"[\d.,]+", "N", text)).strip() for text in texts]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    for needed in ("nbclient", "nbformat", "ipykernel"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"there is no {needed}")
    command = [sys.executable, str(ROOT / "tools/notebooks.py"), "--to", str(tmp_path), str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=290)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert sum(map(bool, shown(path))) >= 3
    words, now = shown(path), shown(tmp_path / path.name)
    assert now == words, "make docs writes the outputs anew"


def test_there_are_four() -> None:
    assert len(NOTEBOOKS) == 4
