"""What is measured, and what is said of it: figures, ratios of them, verdicts against a bar."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One number that was measured.

    group: the cases that are judged together. name: the contender that took `value` microseconds;
    or, where it has a unit in brackets, another quantity: "compile [us]", "peak [MiB]".
    """

    section: str
    group: str
    case: str
    threads: int
    name: str
    value: float


@dataclass(frozen=True)
class Verdict:
    """What a group of cases shows.

    average: the geometric mean, unless `what` says otherwise, and the least that it should be.
    worst: of the cases, by name, and the least that each should be. A bar of 0 asks for nothing.
    """

    section: str
    what: str
    threads: int
    average: float
    bar: float
    worst: float
    worst_bar: float
    worst_case: str
    cases: int

    def holds(self) -> bool:
        return self.average >= self.bar and self.worst >= self.worst_bar


# case -> name -> value
Cases = dict[str, dict[str, float]]


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


def by_case(figures: Iterable[Figure]) -> dict[tuple[str, int], Cases]:
    """Return the cases of each group and number of threads."""
    groups: dict[tuple[str, int], Cases] = defaultdict(lambda: defaultdict(dict))
    for f in figures:
        groups[f.group, f.threads][f.case][f.name] = f.value
    return groups


def ratios(cases: Cases, name: str, others: Sequence[str]) -> dict[str, float]:
    """Return how many times faster `name` is than the best of `others`, where both took part."""
    found = {}
    for case, values in cases.items():
        peers = [values[other] for other in others if other in values]
        if name in values and peers:
            found[case] = min(peers) / values[name]
    return found


def verdict(
    section: str,
    what: str,
    threads: int,
    values: dict[str, float],
    bar: float = 0,
    worst_bar: float = 0,
) -> list[Verdict]:
    """Judge one value for each case; nothing is said of no case."""
    if not values:
        return []
    case, worst = min(values.items(), key=lambda item: item[1])
    average = geometric_mean(values.values())
    return [Verdict(section, what, threads, average, bar, worst, worst_bar, case, len(values))]


def judged(
    section: str,
    figures: Iterable[Figure],
    group: str,
    what: str,
    name: str,
    others: Sequence[str],
    bar: float = 0,
    worst_bar: float = 0,
) -> list[Verdict]:
    """Judge the ratios of one group, for each number of threads."""
    return [
        found
        for (of, threads), cases in by_case(figures).items()
        if of == group
        for found in verdict(section, what, threads, ratios(cases, name, others), bar, worst_bar)
    ]
