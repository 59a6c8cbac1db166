"""What lowerings of one recording have found out."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Findings:
    """What lowerings of the recording that were given up have found out.

    whole: ids of functions of NumPy that are called as they are.
    on_host: ids of arrays of which no view may be in the graph.
    joint: ids of arrays that are views of another.
    unrolled: first events of loops that are not rolled.
    copied: first events of loops that are given copies, for what they would write is read behind.
    """

    whole: set[int] = field(default_factory=set)
    on_host: set[int] = field(default_factory=set)
    joint: set[int] = field(default_factory=set)
    unrolled: set[int] = field(default_factory=set)
    copied: set[int] = field(default_factory=set)


__all__ = ["Findings"]
