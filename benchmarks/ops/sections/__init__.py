"""What is shown, a module for each subject.

Each has `NAME`; `run(bench)`, which measures; `verdicts(figures)`, which says what came out, on its
own figures; and maybe `tables(figures, notes)`, a text to print besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from . import attention, cliffs, encoder, epilogues, matmul, narrow_and_wide, suites, tilings

ALL = (matmul, narrow_and_wide, epilogues, attention, suites, cliffs, tilings, encoder)


def chosen(names: Sequence[str]) -> list[ModuleType]:
    """Return the sections of these names, all without any; raises ValueError for an unknown one."""
    known = {section.NAME: section for section in ALL}
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"no section {', '.join(unknown)}; there are {', '.join(known)}")
    return [section for name, section in known.items() if not names or name in names]
