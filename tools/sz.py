"""Print the size of the source tree, one line per folder (`make size`).

Columns: files, lines, comment lines in % (docstrings count as code), median lines of a file, and
the largest file. Only what git knows or would add is counted.
"""

import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median

COMMENT = {".cpp": "//", ".h": "//", ".c": "//", ".def": "//", ".py": "#", ".pyi": "#"}
Sizes = dict[Path, tuple[int, int]]  # file -> lines, comment lines


def measure(root: Path, names: Iterable[str]) -> Sizes:
    """Return the sizes of those files under `root` that hold source code."""
    sizes = {}
    for path in map(Path, names):
        mark = COMMENT.get(path.suffix)
        # git still lists a file that was removed but not committed
        if mark and (root / path).exists():
            lines = (root / path).read_text().splitlines()
            sizes[path] = len(lines), sum(line.lstrip().startswith(mark) for line in lines)
    return sizes


def row(name: str, sizes: Sizes) -> str:
    """Return one line of the table; `sizes` is not empty."""
    lines = sum(total for total, _ in sizes.values())
    share = 100 * sum(comment for _, comment in sizes.values()) / max(lines, 1)
    largest = max(sizes, key=lambda path: sizes[path][0])
    middle = median(total for total, _ in sizes.values())
    return (
        f"{name:<32}{len(sizes):>6}{lines:>8}{share:>6.0f} %{middle:>8.0f}"
        f"   {largest.name} {sizes[largest][0]}"
    )


def main() -> None:
    """Print the table of the repository this file is in."""
    root = Path(__file__).resolve().parent.parent
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    sizes = measure(root, names.splitlines())
    folders: dict[Path, Sizes] = defaultdict(dict)
    for path in sorted(sizes):
        folders[path.parent][path] = sizes[path]
    print(f"{'folder':<32}{'files':>6}{'lines':>8}{'notes':>8}{'median':>8}   largest")
    for folder, inside in folders.items():
        print(row(str(folder), inside))
    print(row("all", sizes))


if __name__ == "__main__":
    main()
