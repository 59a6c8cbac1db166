"""Documentation that cannot rot: examples run, generated pages are what the tables say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import docs as generator  # noqa: E402  (tools/docs.py, which `make docs` runs)

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path) -> None:
    """Blocks of one page share their variables; `>>>`-free, asserts speak for themselves."""
    variables: dict[str, object] = {"__name__": page.stem}
    for match in re.finditer(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M):
        line = page.read_text("utf-8")[: match.start()].count("\n") + 1
        exec(compile("\n" * line + match[1], str(page), "exec"), variables)


def test_the_readme_has_an_example() -> None:
    assert "```python\n" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", generator.PAGES)
def test_generated_pages_are_current(name: str) -> None:
    assert (ROOT / "docs" / name).read_text("utf-8") == generator.page(name), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    # Paths in backticks; <...> and * stand for many files.
    for name in re.findall(r"`((?:cpp|python|tests|docs|examples|tools|scripts)/[\w./-]*)`", text):
        assert (ROOT / name).exists(), name


def test_the_commands_of_the_readme_exist() -> None:
    listed = subprocess.check_output(["make", "--silent", "help"], cwd=ROOT, text=True)
    for command in re.findall(r"`make (\w+)`", (ROOT / "README.md").read_text("utf-8")):
        assert f"make {command}" in listed
