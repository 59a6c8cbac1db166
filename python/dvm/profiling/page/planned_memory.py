"""The memory that a call's Plan asks for, from instruction to instruction, as a picture.

A Plan computes the sizes of its arrays of those of the arguments, so what a call takes is known of
its sizes alone. Inputs and constants are the caller's, and are not counted; nor is what loops,
branches and functions make within.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dvm import _dvm
from dvm.profiling.page.picture import WIDTH, image

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile

#: pixels: of the curve's height, and around it
HEIGHT, MARGIN = 160, 24
#: arrays that are listed where most is taken
MOST_LISTED = 12
SIZES = {spelling: np.dtype(name).itemsize for name, spelling in _dvm.dtype_table} | {"bf16": 2}
LINE = re.compile(
    r"  (?:(?P<made>[ib]\d+) = )?(?P<op>\w+) ?(?P<operands>[^#]*?)\s*(?:# (?P<note>.*))?"
)
OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
    "bcast": lambda a, b: b if a == 1 else a,
}


class Block(NamedTuple):
    """An array that a Plan makes: its bytes, and the instructions that it lives from and until."""

    name: str
    bytes: int
    begin: int
    end: int


class UnknownSizeError(Exception):
    """A size that is no matter of the arguments' sizes, such as how often a loop ran."""


def blocks_of(plan: str, sizes: Mapping[str, int]) -> tuple[list[Block], int]:
    """Return the arrays that a Plan makes for sizes of symbols, and how many instructions it has.

    Raises UnknownSizeError where that cannot be said.
    """
    values: dict[str, int] = {}
    made: dict[str, tuple[int, int]] = {}
    blocks: list[Block] = []
    count = 0
    for line in _code(plan):
        count += 1
        found = LINE.fullmatch(line)
        if found is None:
            continue
        name, op, operands, note = found["made"], found["op"], found["operands"], found["note"]
        words = re.findall(r"[\w-]+", operands)
        if op == "literal":
            values[name] = int(words[0])
        elif op in ("size", "number") and note:
            known = int(note) if note.isdecimal() else sizes.get(note)
            values |= {} if known is None else {name: known}
        elif op in OPERATORS and words[0] in values and words[1] in values:
            values[name] = OPERATORS[op](values[words[0]], values[words[1]])
        elif op in ("alloc", "host_alloc"):
            total = SIZES[words[0]]
            for size in words[1:]:
                if size not in values:
                    raise UnknownSizeError(f"{name} of the plan: {line.strip()}")
                total *= values[size]
            made[name] = count, total
        elif op == "free" and words[0] in made:
            begin, total = made.pop(words[0])
            blocks.append(Block(words[0], total, begin, count))
    blocks += [Block(name, total, begin, count + 1) for name, (begin, total) in made.items()]
    return sorted(blocks, key=lambda block: block.begin), count


def _code(plan: str) -> list[str]:
    """The instructions of a Plan itself, without its regions, bodies and functions."""
    lines = [line for line in plan.splitlines() if re.match(r"  \w", line)]
    heads = ("input ", "scalar ", "constant ", "region ", "body ", "function ", "type ", "callee ")
    return [line for line in lines if not line[2:].startswith(heads)]


def memory_section(profile: Profile) -> str:
    """Return the pictures of the Plans of a call; empty where sizes are not known of one."""
    parts = []
    for number, path in enumerate(profile.subject.paths()):
        if path["reason"]:
            continue
        for segment, plan in enumerate(re.split(r"(?m)^(?=plan v1)", path["plan"])[1:]):
            try:
                sizes = profile.watched.sizes(number, segment)
                blocks, count = blocks_of(plan, sizes)
            except (UnknownSizeError, IndexError) as unknown:
                parts.append(f'<p class="help">Not known of g{segment}: {escape(str(unknown))}</p>')
                continue
            if blocks:
                parts.append(_drawn(f"g{segment}", blocks, count))
    return "".join(parts)


def _drawn(name: str, blocks: list[Block], count: int) -> str:
    taken = [0] * (count + 2)
    for block in blocks:
        for place in range(block.begin, min(block.end, count + 1)):
            taken[place] += block.bytes
    peak = max(taken)
    at = taken.index(peak)
    alive = sorted((b for b in blocks if b.begin <= at < b.end), key=lambda b: (-b.bytes, b.begin))
    listed = ", ".join(f"{b.name} {_shown(b.bytes)}" for b in alive[:MOST_LISTED])
    if len(alive) > MOST_LISTED:
        listed += f" and {len(alive) - MOST_LISTED} more"
    title = f"planned memory of {name}: {_shown(peak)} at most, at instruction {at} of {count}"
    return (
        f"{image(_curve(title, taken[1:-1], peak), title)}"
        f"<p>{escape(title)}. There: {escape(listed)}. Inputs, constants, and what loops, branches "
        "and functions make within are not counted.</p>"
    )


def _curve(title: str, taken: list[int], peak: int) -> str:
    """Steps, one for each instruction."""
    wide = (WIDTH - 2 * MARGIN) / max(len(taken), 1)
    path = [f"M{MARGIN} {HEIGHT + MARGIN}"]
    for place, each in enumerate(taken):
        y = HEIGHT + MARGIN - HEIGHT * each / max(peak, 1)
        path.append(f"L{MARGIN + place * wide:.1f} {y:.1f}H{MARGIN + (place + 1) * wide:.1f}")
    path.append(f"V{HEIGHT + MARGIN}Z")
    whole = HEIGHT + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {whole}" width="{WIDTH}" '
        f'height="{whole}" role="img" font-family="sans-serif" font-size="11" fill="#1a1a1a">'
        f"<title>{escape(title)}</title>"
        f'<rect width="{WIDTH}" height="{whole}" fill="#ffffff"/>'
        f'<path d="{"".join(path)}" fill="#d7e3f4" stroke="#555555" stroke-width="0.5"/>'
        f'<text x="{MARGIN}" y="{MARGIN - 8}">{escape(_shown(peak))}</text>'
        f'<text x="{MARGIN}" y="{whole - 6}">instructions of the plan: {len(taken)}</text></svg>'
    )


def _shown(size: int) -> str:
    """Bytes for a person."""
    for unit, step in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= step:
            return f"{size / step:,.1f} {unit}"
    return f"{size} bytes"
