"""Runs programs compiled and plain, side by side, and reads the compiler's counters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import dvm
from dvm import _dvm
from programs.clone import Cloner
from programs.observe import TOLERANCE, Outcome, differences, observe
from programs.registry import Program

# What the compiler's own names for indexing by arrays stand for.
INDEXING = {"__getitem__": "getitem", "__setitem__": "setitem"}


@dataclass(frozen=True)
class Run:
    """All calls of one program: how compiled differed from plain, and what dvm counted.

    loud: how many calls raised or warned, which only the original function can do.
    """

    differences: list[str]
    loud: int
    stats: dvm.Stats
    opaque: frozenset[str]
    reasons: list[str]


def compare(program: Program, plain: Outcome, actual: Outcome) -> list[str]:
    """Return what differs between two outcomes of the program, as exactly as it allows."""
    options = {"exact": program.exact, "scale": program.scale}
    options["tolerance"] = TOLERANCE[np.dtype("f4")] if program.single else 0.0
    return differences(plain, actual, **options)


@cache
def run(program: Program, first: int) -> Run:
    """Make every call of the program, plain and compiled, each on its own arguments.

    first: the call to begin with; from the second on they are those of sizes 1 and 0.
    """
    compiled = dvm.compile(program.function)
    found, loud = [], 0
    calls = list(enumerate(program.calls()))
    for index, (args, kwargs) in calls[first:] + calls[:first]:
        plain = run_plain(program, args, kwargs)
        loud += bool(plain.error or plain.warnings)
        # Globals stay the module's own objects here, as they do for a user.
        copies = Cloner(keep=program.read_variables().values()).clone([args, kwargs])
        actual = observe(compiled, *copies, program.read_variables)
        shapes = [each.shape for each in args if isinstance(each, np.ndarray)]
        found += [f"call {index} {shapes}: {each}" for each in compare(program, plain, actual)]
    return Run(found, loud, compiled.stats, opaque_names(compiled), compiled.fallback_reasons)


def run_plain(program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    """Make one call without dvm, on copies of its arguments and of the globals it changes."""
    cloner = Cloner()
    copies = cloner.clone([args, kwargs])
    own = program.read_variables()
    program.write_variables(cloner.clone(own))
    try:
        return observe(program.function, *copies, program.read_variables)
    finally:
        program.write_variables(own)


def opaque_names(compiled: _dvm.Compiled[..., Any]) -> frozenset[str]:
    """Return what a compiled function's paths call instead of compiling it.

    Within a Graph that is a call's callee; among the steps of a path a call that it counts.
    """
    names: set[str] = set()
    for path in _dvm.paths(compiled):
        if not path["reason"]:
            names |= set(re.findall(r'callee = "([^"#]*)', path["graph"]))
            names |= {call["name"].rpartition(".")[2] for call in path["opaque_calls"]}
    return frozenset(INDEXING.get(name, name) for name in names)


def shortfalls(program: Program) -> list[str]:
    """Return in what the compiler does less than the program expects of it."""
    seen = run(program, 0)
    found = []
    wanted = program.captures if program.rolled is None else program.rolled
    if seen.stats.captures != wanted:
        found.append(f"{seen.stats.captures} captures instead of {wanted}")
    if seen.stats.recaptures != max(seen.stats.captures - 1, 0):
        found.append(f"{seen.stats.recaptures} recaptures of {seen.stats.captures} captures")
    if seen.stats.drops > seen.loud:
        found.append(f"{seen.stats.drops} drops, but {seen.loud} calls that raise or warn")
    if seen.stats.fallbacks:
        found.append(f"{seen.stats.fallbacks} fallbacks: {seen.reasons}")
    for name in sorted(seen.opaque - program.opaque):
        found.append(f"{name} is called, not compiled")
    return found
