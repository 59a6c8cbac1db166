"""Run the Python blocks of a page of documentation, as a reader types them into one session.

    python tests/py/read_page.py docs/numpy-programs.md

In order, with one namespace, in a process of its own and with dvm as it is by default: nothing that
the tests set is set here.
"""

import re
import sys
from pathlib import Path


def main(page: Path) -> None:
    text = page.read_text("utf-8")
    variables: dict[str, object] = {"__name__": "__main__"}
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M):
        line = text[: block.start()].count("\n") + 1
        exec(compile("\n" * line + block[1], str(page), "exec"), variables)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
