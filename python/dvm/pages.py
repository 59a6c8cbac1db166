"""The pages of the documentation that messages name: the package has them, `dvm/docs/ops.md`."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "docs"


def titles() -> dict[str, str]:
    """Return the heading of each page, by its name."""
    return {path.stem: _title(path) for path in sorted(FOLDER.glob("*.md"))}


def text(name: str) -> str:
    """Return a page as it is written, in Markdown."""
    return (FOLDER / f"{name}.md").read_text("utf-8").rstrip("\n")


def _title(path: Path) -> str:
    lines = path.read_text("utf-8").splitlines()
    return next((line.lstrip("# ") for line in lines if line.startswith("# ")), "")
