"""Documentation that cannot rot: examples run, generated pages are what the tables say."""

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import docs as generator  # noqa: E402  (tools/docs.py, which `make docs` runs)

from whole import WHOLE  # noqa: E402

NEEDS_TORCH = ("passes.md", "torch.md", "torch-ops.md")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


READ = [page for page in PAGES if "```python\n" in page.read_text("utf-8")]
#: how often each page is read: what a block says must not depend on the machine's mood
TIMES = 10 if WHOLE else 1


@pytest.mark.timeout(300)  # a page of PyTorch takes ten seconds on a quiet machine
@pytest.mark.parametrize("time", range(TIMES))
@pytest.mark.parametrize("page", READ, ids=lambda page: page.name)
def test_blocks_run_as_a_reader_runs_them(page: Path, time: int, tmp_path: Path) -> None:
    if page.name in NEEDS_TORCH:
        pytest.importorskip("torch")
    script = Path(__file__).with_name("read_page.py")
    done = subprocess.run(
        [sys.executable, "-I", script, page],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("DVM_")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"reading {time}: {done.stderr[-3000:]}"


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    """As they stand there, but for the one that takes long and writes where users keep settings."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = (ROOT / "README.md").read_text("utf-8")
    found = re.findall(r"^    \.venv/bin/python (-m dvm .*?)(?:  #.*)?$", text, re.M)
    assert len(found) > 3
    for command in found:
        if "calibrate" in command:
            continue
        line = [sys.executable, "-I", *shlex.split(command)]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_the_readme_has_an_example() -> None:
    assert "```python\n" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", generator.PAGES)
def test_generated_pages_are_current(name: str) -> None:
    if name in NEEDS_TORCH:
        pytest.importorskip("torch")
    assert (ROOT / "docs" / name).read_text("utf-8") == generator.page(name), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    # Paths in backticks; <...> and * stand for many files.
    for name in re.findall(r"`((?:cpp|python|tests|docs|examples|tools|scripts)/[\w./-]*)`", text):
        assert (ROOT / name).exists(), name
    for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", text):
        there = page.parent / target if target else page
        headings = re.findall(r"^#+ (.*)$", there.read_text("utf-8"), re.M)
        assert heading in [name.lower().replace(" ", "-") for name in headings], heading


def test_documents_cite_what_a_reader_can_open() -> None:
    """No notes that are not in the tree; and a page links a paper where it first speaks of it."""
    folders = ("cpp", "python", "tests", "benchmarks", "examples", "tools", "cmake", "docs")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    text_files = (".cpp", ".h", ".def", ".inc", ".py", ".cmake", ".md", ".dvmtest")
    notes = re.compile(r"\bDESIGN\b(?:,| section|\.md)|\bfacts/[a-z-]+\.md")
    for path in [*files, *ROOT.glob("*.md")]:
        if path.suffix in text_files and path != Path(__file__).resolve():
            assert not notes.search(path.read_text("utf-8")), path
    for page in PAGES:
        text = page.read_text("utf-8")
        cited = re.search(r"\bpaper\b", text)
        link = re.search(r"\[[^\]]*\]\(https://(?:arxiv\.org|doi\.org|www\.usenix\.org)/", text)
        assert not cited or (link and link.start() <= cited.start()), page


def rows_of(text: str) -> list[list[str]]:
    """The columns of each row DVM_...(...) of a table, the macro's name first."""
    rows = []
    for start in re.finditer(r"^(DVM_\w+)\(", text, re.M):
        columns, depth = [start[1], ""], 1
        for token in re.findall(r'"[^"]*"|[^"]', text[start.end() :]):
            depth += {"(": 1, ")": -1}.get(token, 0)
            if depth == 0:
                break
            if token == "," and depth == 1:
                columns.append("")
            else:
                columns[-1] += token
        rows.append([" ".join(column.split()) for column in columns])
    return rows


def test_diffs_shown_fit_the_tables() -> None:
    """A row in a diff has the columns of its table, and says what the row of its name says."""
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    shown = 0
    for block in re.findall(r"^```diff\n(.*?)^```", page, re.S | re.M):
        for part in re.split("^ (?=cpp/)", block, flags=re.M)[1:]:
            name, _, added = part.partition("\n")
            table = rows_of((ROOT / name).read_text("utf-8"))
            for row in rows_of(re.sub("^[+]", "", added, flags=re.M)):
                alike = [known for known in table if known[0] == row[0]]
                assert len(row) in {len(known) for known in alike}, (name, row)
                same = [known for known in alike if known[1] == row[1]]
                assert not same or row in same, (name, row)
                shown += 1
    assert shown > 8


def test_python_shown_as_added_is_there() -> None:
    """What a newcomer would write, line by line."""
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    shown = 0
    for block in re.findall(r"^```diff\n(.*?)^```", page, re.S | re.M):
        for part in re.split(r"^ (?=\S+/)", block, flags=re.M)[1:]:
            name, _, added = part.partition("\n")
            if name.endswith(".py"):
                text = (ROOT / name).read_text("utf-8")
                for line in re.findall(r"^[+](.+)$", added, re.M):
                    assert line in text, (name, line)
                    shown += 1
    assert shown > 30


def commands(page: Path) -> list[str]:
    """The commands of a page: indented lines, without what explains them, and `make ...`."""
    text = page.read_text("utf-8")
    lines = [line.partition("  #")[0] for line in re.findall(r"^    (.*)$", text, re.M)]
    begins = re.compile(r"([A-Z_]+=\S+ )*(make|cmake|ctest|build/|\.venv/)")
    return [line for line in lines if begins.match(line)] + re.findall(r"`(make [^`]+)`", text)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name
)
def test_what_commands_name_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    presets = json.loads((ROOT / "CMakePresets.json").read_text("utf-8"))["configurePresets"]
    programs = {f"test_{folder.name}" for folder in (ROOT / "tests/cpp").iterdir()}
    programs |= {file.stem for file in ROOT.glob("tests/cpp/fuzz/fuzz_*.cpp")}
    programs |= {file.stem for file in ROOT.glob("benchmarks/cpp/bench_*.cpp")}
    read = [ROOT / "Makefile", ROOT / "scripts/lint.sh", *ROOT.glob("tests/*/**/*_test.cpp")]
    read += ROOT.glob("tests/py/*/test_*.py")
    variables = {name for file in read for name in re.findall("[A-Z_]+", file.read_text("utf-8"))}
    found = commands(page)
    assert len(found) > 4
    for command in found:
        for before, word in itertools.pairwise(["", *shlex.split(command)]):
            if before == "make":
                assert re.search(f"^{re.escape(word)}:", makefile, re.M), command
            elif before == "--preset":
                assert word in [preset["name"] for preset in presets], command
            elif before == "--target" or word.startswith("build/"):
                assert word.rpartition("/")[2] in programs, command
            elif before == "-m" and word != "dvm":
                module = ROOT / word.replace(".", "/")
                assert module.with_suffix(".py").exists() or (module / "__main__.py").exists()
            elif word.startswith(("tests/", "benchmarks/")):
                assert (ROOT / word).exists(), command
            elif re.match(r"[A-Z_]+=", word):
                assert word.partition("=")[0] in variables, command
