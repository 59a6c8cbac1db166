"""Run the tutorials of docs/notebooks and write them with what their cells print (`make docs`).

A reader on a page of the repository sees outputs without running anything. Pages in frames are left
out: what shows notebooks there drops them, and they are long.

    python tools/notebooks.py [--to FOLDER] [NOTEBOOK ...]
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from jupyter_client.manager import KernelManager

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs/notebooks"
FRAME = re.compile(r"<iframe.*?</iframe>", re.DOTALL)
#: where a kernel keeps the text of a cell, another place each time
CELL = re.compile(r"[^\s\"]*/ipykernel_\d+/\d+\.py")


def executed(path: Path) -> Any:
    """Return the notebook with the outputs of its cells, run by this interpreter."""
    notebook = nbformat.read(path, as_version=4)
    manager = KernelManager(kernel_name="python3")
    manager.kernel_spec.argv[0] = sys.executable
    nbclient.NotebookClient(notebook, km=manager, timeout=100, record_timing=False).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                data["text/html"] = FRAME.sub("", data["text/html"])
            for texts in (data, output):
                for kind in ("text", "text/plain", "text/html"):
                    if kind in texts:
                        texts[kind] = CELL.sub("cell.py", texts[kind])
    # What differs from one installation to the next.
    notebook.metadata.pop("language_info", None)
    return notebook


def main() -> None:
    """Run and write what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "notebooks", nargs="*", type=Path, default=sorted(NOTEBOOKS.glob("*.ipynb"))
    )
    parser.add_argument(
        "--to", type=Path, help="a folder for the results, in place of the notebooks"
    )
    asked = parser.parse_args()
    for path in asked.notebooks:
        nbformat.write(executed(path), (asked.to / path.name) if asked.to else path)


if __name__ == "__main__":
    main()
