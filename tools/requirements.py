"""Print the requirements that pyproject.toml lists, for `pip install -r`, without building dvm.

Each argument is `build`, `run`, or the name of an optional extra; an extra may name others, as in
`dvm-compiler[check]`.
"""

import re
import sys
import tomllib
from pathlib import Path


def requirements(group: str) -> list[str]:
    """Return the requirement strings of one group; raises KeyError for an unknown one."""
    pyproject = tomllib.loads(Path(__file__).parent.with_name("pyproject.toml").read_text())
    groups: dict[str, list[str]] = pyproject["project"]["optional-dependencies"]
    groups["build"] = pyproject["build-system"]["requires"]
    groups["run"] = pyproject["project"]["dependencies"]
    of_extra = re.compile(rf"{pyproject['project']['name']}\[([\w-]+)\]")
    found = []
    for line in groups[group]:
        extra = of_extra.fullmatch(line)
        found += requirements(extra[1]) if extra else [line]
    return found


if __name__ == "__main__":
    print(*(line for group in sys.argv[1:] for line in requirements(group)), sep="\n")
