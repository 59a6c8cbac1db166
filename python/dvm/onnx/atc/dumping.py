"""What the steps of the compiler made, as texts in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dvm import errors
from dvm.graphs import Step


def chosen(made: Sequence[Step], stages: str) -> list[tuple[int, Step]]:
    """Return the steps that `--dump-stages` names, with their places in the order."""
    numbered = list(enumerate(made))
    if stages == "all":
        return numbered
    if stages == "first":
        return numbered[:1]
    if stages == "final":
        return numbered[-1:]
    valid = [*dict.fromkeys(s.stage for s in made), *dict.fromkeys(s.name for s in made)]
    wanted = stages.split(",")
    for name in wanted:
        if name not in valid:
            valid = ["all", "first", "final", *valid]
            raise errors.unknown("unknown_name", "step or stage", name, valid)
    return [(k, s) for k, s in numbered if s.stage in wanted or s.name in wanted]


def dump(made: Sequence[Step], stages: str, folder: Path) -> list[Path]:
    """Write a text for each chosen step, `07_optimise_cse.txt`; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for k, step in chosen(made, stages):
        files.append(folder / f"{k:02}_{step.stage}_{step.name}.txt")
        files[-1].write_text(step.text, "utf-8")
    return files
