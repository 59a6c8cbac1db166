"""Print the requirements that pyproject.toml lists, for `pip install -r`, without building dvm.

Each argument is `build`, `run`, or the name of an optional extra.
"""

import sys
import tomllib
from pathlib import Path


def requirements(group: str) -> list[str]:
    """Return the requirement strings of one group; raises KeyError for an unknown one."""
    pyproject = tomllib.loads(Path(__file__).parent.with_name("pyproject.toml").read_text())
    groups: dict[str, list[str]] = pyproject["project"]["optional-dependencies"]
    groups["build"] = pyproject["build-system"]["requires"]
    groups["run"] = pyproject["project"]["dependencies"]
    return groups[group]


if __name__ == "__main__":
    print(*(line for group in sys.argv[1:] for line in requirements(group)), sep="\n")
