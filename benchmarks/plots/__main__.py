"""The plots and the text of docs/benchmarks.md, measured and written.

    python -m benchmarks.plots                       # measures all of it (half an hour), and writes
    python -m benchmarks.plots --only loops lazy     # measures these again
    python -m benchmarks.plots --write               # writes what was measured before

On a quiet machine. What was measured stays in benchmarks/plots/measured.json, which all of the page
is made of.
"""

from __future__ import annotations

import argparse
import json

from . import measuring, page


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.plots", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=measuring.MEASURED)
    parser.add_argument("--write", action="store_true", help="measure nothing")
    options = parser.parse_args()
    found = json.loads(page.FIGURES.read_text("utf-8")) if page.FIGURES.exists() else {}
    if not options.write:
        found["machine"] = measuring.machine()
        for name in options.only or measuring.MEASURED:
            found[name] = measuring.apart(name)
            page.FIGURES.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    for path, content in page.files(found).items():
        path.write_text(content, "utf-8")
        print(path)


if __name__ == "__main__":
    main()
