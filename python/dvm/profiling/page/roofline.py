"""The roofline: kernels by operations per byte, under what memory and arithmetic allow."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from dvm import _dvm
from dvm.profiling.measured import MeasuredProfile
from dvm.profiling.simulated import SimulatedProfile

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile

WIDTH, HEIGHT, LEFT, BELOW = 620, 280, 70, 36
#: of an element
BYTES = {name: np.dtype(numpy).itemsize for numpy, name in _dvm.dtype_table} | {"bf16": 2}


@dataclass(frozen=True)
class Peak:
    """The most operations per second of one unit. name: what it computes. gigaops: of all cores."""

    name: str
    gigaops: float


@dataclass(frozen=True)
class Point:
    """A kernel: operations per byte from memory, Gop/s, and the peak that it is under."""

    name: str
    intensity: float
    gigaops: float
    peak: Peak


@dataclass(frozen=True)
class Roofline:
    """gigabytes: per second from memory, at most. source: who says so."""

    gigabytes: float
    source: str
    points: list[Point]

    def most(self, point: Point) -> float:
        """Return the Gop/s that memory and arithmetic allow at the intensity of a point."""
        return min(point.peak.gigaops, self.gigabytes * point.intensity)

    @property
    def peaks(self) -> list[Peak]:
        """Those that some kernel is under, the highest first."""
        return sorted({point.peak for point in self.points}, key=lambda peak: -peak.gigaops)


def roofline_of(profile: Profile) -> Roofline | None:
    """Return where the kernels are; None where nothing is computed, or no roof is known."""
    if isinstance(profile, MeasuredProfile):
        return _measured(profile)
    assert isinstance(profile, SimulatedProfile)
    return _simulated(profile)


def _measured(profile: MeasuredProfile) -> Roofline | None:
    roofs = profile.roofs
    points = [
        Point(kernel.name, place["intensity"], place["gigaflops"], Peak(f"{dtype} products", most))
        for kernel in profile.kernels
        for dtype in [kernel.dtype]
        if (place := profile.place(kernel)) and kernel.operations
        if (most := roofs.gigaflops_of(dtype)) is not None
    ]
    if not points or roofs.gigabytes_per_second is None:
        return None
    return Roofline(
        roofs.gigabytes_per_second, "copies and products of NumPy on this machine", points
    )


def _simulated(profile: SimulatedProfile) -> Roofline | None:
    rows = {name: value for name, value, *_ in _dvm.timing_table(profile.target, profile.overrides)}
    operations: dict[int, int] = defaultdict(int)
    for label, _, _, count, _ in profile.watched.programs:
        operations[label] += count
    points = []
    for kernel in profile.kernels:
        found = kernel.describe(rows["mhz"])
        peak = _peak(found, profile.target, rows)
        if peak is not None and operations[kernel.label] and found["hbm_bytes"]:
            rate = operations[kernel.label] / found["microseconds"] / 1000
            intensity = operations[kernel.label] / found["hbm_bytes"]
            points.append(Point(kernel.name, intensity, rate, peak))
    gigabytes = rows["hbm_bytes"] * rows["mhz"] / 1000
    return Roofline(gigabytes, "the model of this chip", points) if points else None


def _peak(kernel: dict[str, Any], target: str, rows: dict[str, float]) -> Peak | None:
    """Return the peak of what a kernel computes most with, on all cores of the chip."""
    working = [one for one in kernel["instructions"] if one["pipe"] in ("cube", "simd")]
    if not working:
        return None
    # A kernel with a product is under the cube's roof, though steps behind it are not.
    most = max(working, key=lambda one: (one["pipe"] == "cube", one["busy"]))
    # A product is named after its sums; its factors are what the cube is fed.
    fed = [one for one in kernel["instructions"] if one["pipe"] == "feed"]
    dtype = (fed[0] if fed else most)["name"].rpartition(".")[2]
    size = BYTES[dtype]
    vector, cube = _dvm.target_cores[target]
    if most["pipe"] == "cube":
        # 16 x 16 x 16 multiplications and additions, of f32 in parts (cpp/sim/timing/cost.cpp).
        cycles = rows["cube_cycles"] * (1 if size <= 2 else 2 * rows["cube_wide"])
        name, per_cycle = f"{dtype} products on {cube} cubes", cube * 8192 / cycles
    else:
        # Additions: a repeat of 256 bytes in two cycles.
        name, per_cycle = f"{dtype} additions on {vector} vector cores", vector * 256 / size / 2
    return Peak(name, per_cycle * rows["mhz"] / 1000)


def roofline_section(profile: Profile) -> str:
    """Return the roofline as SVG, and its kernels as a table."""
    found = roofline_of(profile)
    if found is None:
        if isinstance(profile, MeasuredProfile) and profile.roofs.note:
            return f"<p>{escape(profile.roofs.note)}</p>"
        return ""
    ridges = [peak.gigaops / found.gigabytes for peak in found.peaks]
    xs = [math.log10(x) for x in [point.intensity for point in found.points] + ridges]
    ys = [math.log10(point.gigaops) for point in found.points]
    ys += [math.log10(peak.gigaops) for peak in found.peaks]
    low_x, high_x = math.floor(min(xs) - 0.3), math.ceil(max(xs) + 0.3)
    low_y, high_y = math.floor(min(ys) - 0.3), math.ceil(max(ys) + 0.1)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (math.log10(x) - low_x) / (high_x - low_x) * (WIDTH - LEFT - 24),
            HEIGHT - BELOW - (math.log10(y) - low_y) / (high_y - low_y) * (HEIGHT - BELOW - 10),
        )

    left = 10.0**low_x
    slope = at(max(left, 10.0**low_y / found.gigabytes), max(found.gigabytes * left, 10.0**low_y))
    parts = []
    for ridge, peak in zip(ridges, found.peaks, strict=True):
        roof = [slope, at(ridge, peak.gigaops), at(10.0**high_x, peak.gigaops)]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in roof)
        parts.append(
            f'<path class="roof" d="{path}"/><text x="{WIDTH - 24}" y="{roof[2][1] - 5:.1f}" '
            f'text-anchor="end">{escape(peak.name)}</text>'
        )
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
    for point in found.points:
        name, x, y = point.name, point.intensity, point.gigaops
        across, up = at(x, y)
        parts.append(
            f'<a href="#k={escape(name)}" data-k="{escape(name)}" aria-label="{escape(name)}">'
            f'<circle cx="{across:.1f}" cy="{up:.1f}" r="6"/>'
            f'<text x="{across + 9:.1f}" y="{up + 4:.1f}">{escape(name)}</text></a>'
        )
        most = found.most(point)
        # Above the roof of memory it read what caches still held.
        share = f"{100 * y / most:.0f} %" if y <= most else "its operands came from caches"
        rows.append(
            f"<tr><td>{escape(name)}</td><td>{x:.2f}</td><td>{y:,.1f}</td><td>{share}</td>"
            f"<td>{escape(point.peak.name)}</td></tr>"
        )
    svg = (
        f'<svg id="roofline" role="group" aria-label="roofline" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}">{"".join(parts)}</svg>'
    )
    heads = ("kernel", "operations per byte", "Gop/s", "of the roof", "under the roof of")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f"<p>The roofs are those of {escape(found.source)}: {found.gigabytes:,.0f} GB/s; "
        + "; ".join(f"{peak.gigaops:,.0f} Gop/s of {escape(peak.name)}" for peak in found.peaks)
        + f'.</p><div class="wide">{svg}</div>'
        f"<table><tr>{head}</tr>{''.join(rows)}</table>"
    )
