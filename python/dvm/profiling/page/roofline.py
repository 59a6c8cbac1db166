"""The roofline: kernels by operations per byte, under what memory and arithmetic allow."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from dvm import _dvm
from dvm.profiling.measured import MeasuredProfile
from dvm.profiling.simulated import SimulatedProfile

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile

WIDTH, HEIGHT, LEFT, BELOW = 560, 260, 70, 36


@dataclass(frozen=True)
class Roofline:
    """gigabytes, gigaops: per second, at most. points: name, operations per byte, Gop/s."""

    gigabytes: float
    gigaops: float
    source: str
    points: list[tuple[str, float, float]]


def roofline_of(profile: Profile) -> Roofline | None:
    """Return where the kernels are; None where nothing is computed."""
    if isinstance(profile, MeasuredProfile):
        points = [
            (kernel.name, place["intensity"], place["gigaflops"])
            for kernel in profile.kernels
            if (place := profile.place(kernel)) and kernel.operations
        ]
        roofs = profile.roofs
        source = "copies and f32 products of NumPy on this machine"
        return (
            Roofline(roofs.gigabytes_per_second, roofs.gigaflops, source, points)
            if points
            else None
        )
    assert isinstance(profile, SimulatedProfile)
    rows = {name: value for name, value, *_ in _dvm.timing_table(profile.target, profile.overrides)}
    operations: dict[int, int] = defaultdict(int)
    for label, _, _, count, _ in profile.watched.programs:
        operations[label] += count
    points = []
    cores = 1
    cube = False
    for kernel in profile.kernels:
        found = kernel.describe(rows["mhz"])
        cores = max(cores, found["cores"])
        cube = cube or "cube" in found["pipes"]
        if operations[kernel.label] and found["hbm_bytes"]:
            rate = operations[kernel.label] / found["microseconds"] / 1000
            points.append((kernel.name, operations[kernel.label] / found["hbm_bytes"], rate))
    if not points:
        return None
    # Of f32: 64 elements in 2 cycles; of halves on the cube 4096 multiply-adds in one.
    per_cycle = cores * (8192 / rows["cube_cycles"] if cube else 32)
    what = "products of halves on the cube" if cube else "additions of f32"
    source = f"{what} on {cores} cores, and global memory"
    return Roofline(
        rows["hbm_bytes"] * rows["mhz"] / 1000, per_cycle * rows["mhz"] / 1000, source, points
    )


def roofline_section(profile: Profile) -> str:
    """Return the roofline as SVG, and its kernels as a table."""
    found = roofline_of(profile)
    if found is None:
        return ""
    ridge = found.gigaops / found.gigabytes
    xs = [math.log10(x) for _, x, _ in found.points] + [math.log10(ridge)]
    ys = [math.log10(y) for *_, y in found.points] + [math.log10(found.gigaops)]
    low_x, high_x = math.floor(min(xs) - 0.3), math.ceil(max(xs) + 0.3)
    low_y, high_y = math.floor(min(ys) - 0.3), math.ceil(max(ys) + 0.1)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (math.log10(x) - low_x) / (high_x - low_x) * (WIDTH - LEFT - 24),
            HEIGHT - BELOW - (math.log10(y) - low_y) / (high_y - low_y) * (HEIGHT - BELOW - 10),
        )

    left = 10.0**low_x
    roof = [
        at(max(left, 10.0**low_y / found.gigabytes), max(found.gigabytes * left, 10.0**low_y)),
        at(ridge, found.gigaops),
        at(10.0**high_x, found.gigaops),
    ]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in roof)
    parts = [f'<path class="roof" d="{path}"/>']
    for power in range(low_x, high_x + 1):
        x, y = at(10.0**power, 10.0**low_y)
        parts.append(
            f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{10.0**power:g}</text>'
        )
    for power in range(low_y, high_y + 1):
        x, y = at(left, 10.0**power)
        parts.append(
            f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
        )
    parts.append(
        f'<text x="{WIDTH // 2}" y="{HEIGHT - 4}" text-anchor="middle">operations per byte</text>'
        f'<text x="{LEFT + 6}" y="12">Gop/s</text>'
    )
    rows = []
    for name, x, y in found.points:
        across, up = at(x, y)
        parts.append(
            f'<a href="#k={escape(name)}" data-k="{escape(name)}" aria-label="{escape(name)}">'
            f'<circle cx="{across:.1f}" cy="{up:.1f}" r="6"/>'
            f'<text x="{across + 9:.1f}" y="{up + 4:.1f}">{escape(name)}</text></a>'
        )
        most = min(found.gigaops, found.gigabytes * x)
        # Above its roof it reads less than is counted: from a cache that is larger than it seems.
        over = " (operands from caches)" if y > most else ""
        rows.append(
            f"<tr><td>{escape(name)}</td><td>{x:.2f}</td><td>{y:.1f}</td>"
            f"<td>{100 * y / most:.0f} %{over}</td></tr>"
        )
    svg = (
        f'<svg id="roofline" role="group" aria-label="roofline" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}">{"".join(parts)}</svg>'
    )
    heads = ("kernel", "operations per byte", "Gop/s", "of the roof")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f"<p>The roofs are {escape(found.source)}: {found.gigabytes:.0f} GB/s, "
        f'{found.gigaops:,.0f} Gop/s.</p><div class="wide">{svg}</div>'
        f"<table><tr>{head}</tr>{''.join(rows)}</table>"
    )
