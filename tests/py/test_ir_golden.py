"""Runs tests/ir/*.dvmtest: what each pass makes of a text, compared with what is written there.

A file holds cases separated by lines of ====. A case is

    # any words: why this case exists, how its numbers follow
    # pass: encode
    # options: target=ascend910b3 s0=32 s1=1024        (where the pass takes some)
    input text
    ----
    expected text

`pytest --update` rewrites what is expected; read the difference before committing it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from dvm import _dvm

FOLDER = Path(__file__).parents[1] / "ir"
FILES = sorted(FOLDER.glob("*.dvmtest"))
CASE_END, INPUT_END = "====\n", "----\n"


@dataclass
class Case:
    """One case of a file; `head` is its comment lines."""

    head: str
    input: str
    expected: str

    def header(self, key: str) -> str:
        found = re.findall(rf"^# {key}: *(.*)$", self.head, re.MULTILINE)
        assert len(found) <= 1, f"two lines `# {key}:` in one case"
        return found[0] if found else ""

    def run(self) -> str:
        try:
            text = _dvm.run_pass(self.header("pass"), self.header("options"), self.input)
        except _dvm.Error as error:
            text = f"{type(error).__name__}: {error}"
        return text.rstrip("\n") + "\n"


def parse(text: str) -> list[Case]:
    """Split a file into cases; a part that is missing or that nothing would read is an error."""
    cases = []
    for part in text.split(CASE_END):
        assert part.count(INPUT_END) == 1, f"a case has one line ---- : {part[:200]!r}"
        before, expected = part.split(INPUT_END)
        head, given = re.fullmatch(r"((?:#[^\n]*\n|\n)*)(.*)", before, re.DOTALL).groups()
        case = Case(head, given, expected)
        keys = re.findall(r"^# (\w+): ", head, re.MULTILINE)
        assert set(keys) <= {"pass", "options"}, f"unknown header among {keys}"
        assert case.header("pass") in _dvm.pass_names(), f"no such pass: {head!r}"
        assert given.strip(), f"a case without input: {head!r}"
        cases.append(case)
    return cases


def test_there_are_goldens_and_nothing_else_in_the_folder() -> None:
    assert FILES
    assert sorted(FOLDER.iterdir()) == FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path: Path, request: pytest.FixtureRequest) -> None:
    cases = parse(path.read_text("utf-8"))
    if request.config.getoption("--update"):
        parts = [case.head + case.input + INPUT_END + case.run() for case in cases]
        path.write_text(CASE_END.join(parts), "utf-8")
        return
    for case in cases:
        assert case.expected.strip(), "nothing is expected; run pytest --update and read it"
        assert case.run() == case.expected, case.head


@pytest.mark.parametrize(
    "broken",
    [
        "# pass: fuse\ngraph v1 {\n  return\n}\n",
        "# pass: fuse\n----\nexpected\n",
        "# pass: no_such_pass\ninput\n----\nexpected\n",
        "input\n----\nexpected\n",
        "# pass: fuse\n# pass: fuse\ninput\n----\nexpected\n",
        "# pass: fuse\n# option: misspelt\ninput\n----\nexpected\n",
        "# pass: fuse\ninput\n----\nexpected\n----\nmore\n",
    ],
)
def test_the_runner_refuses_a_broken_case(broken: str) -> None:
    with pytest.raises(AssertionError):
        parse(broken)
