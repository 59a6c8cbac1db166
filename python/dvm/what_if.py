"""What another choice would cost: kernels of a simulated call encoded anew, and timed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dvm import _dvm, errors
from dvm.profiling import percent, table

if TYPE_CHECKING:
    from dvm.simulated_profile import Kernel, SimulatedProfile


@dataclass(frozen=True)
class WhatIf:
    """What a call would cost with another choice.

    what: the choice, in words. before, after: the Profiles. note: what to know about the answer.
    """

    what: str
    before: SimulatedProfile
    after: SimulatedProfile
    note: str = ""

    @property
    def ratio(self) -> float:
        """Its cycles in relation to those of the call as it is; below 1 it would be faster."""
        return self.after.cycles / self.before.cycles

    def to_dict(self) -> dict[str, Any]:
        """Return the answer in JSON types."""
        return {
            "what": self.what,
            "cycles": round(self.after.cycles, 3),
            "instead_of": round(self.before.cycles, 3),
            "ratio": round(self.ratio, 6),
            "note": self.note,
            "after": self.after.to_dict(),
        }

    def __str__(self) -> str:
        before, after = self.before, self.after
        change = self.ratio - 1
        lines = [
            f"{self.what}: {after.cycles / after.mhz:.2f} us instead of "
            f"{before.cycles / before.mhz:.2f} us ({100 * change:+.0f} % cycles)",
            f"  {after.summary()}",
        ]
        return "\n".join([*lines, *([f"  {self.note}"] if self.note else [])])


@dataclass(frozen=True)
class Tiles:
    """Tiles of a kernel beside each other, the tiler's choice among them.

    kernel: its name. dim, size: what is cut, and how long that is. chosen: the tiler's tile.
    cycles: by tile.
    """

    kernel: str
    dim: int
    size: int
    chosen: int
    cycles: dict[int, float]

    @property
    def best(self) -> int:
        """The tile of least cycles."""
        return min(self.cycles, key=lambda tile: (self.cycles[tile], tile))

    @property
    def loss(self) -> float:
        """What the tiler's choice costs beyond the best one, as a share."""
        return self.cycles[self.chosen] / self.cycles[self.best] - 1

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep in JSON types."""
        return {
            "kernel": self.kernel,
            "dim": self.dim,
            "size": self.size,
            "chosen": self.chosen,
            "best": self.best,
            "loss": round(self.loss, 6),
            "cycles": {str(tile): round(cycles, 3) for tile, cycles in self.cycles.items()},
        }

    def __str__(self) -> str:
        least = self.cycles[self.best]
        marks = {self.best: "best", self.chosen: "chosen by the tiler"}
        rows = [
            [str(tile), f"{cycles:,.0f}", percent(cycles / least), marks.get(tile, "")]
            for tile, cycles in sorted(self.cycles.items())
        ]
        head = f"{self.kernel}: tiles of dim {self.dim}, which has {self.size} elements"
        return "\n".join([head, *table(["tile", "cycles", "of best", ""], rows)])


def pick(profile: SimulatedProfile, name: str | None) -> Kernel:
    """Return the Region of that name, or the one that takes longest."""
    regions = [kernel for kernel in profile.kernels if kernel.region]
    if name is None:
        if not regions:
            raise errors.make(
                "unsupported", f"{profile.function} has no Region to choose a tile of"
            )
        return max(regions, key=lambda kernel: kernel.cycles)
    for kernel in regions:
        if kernel.name == name:
            return kernel
    raise errors.unknown("unknown_name", "kernel", name, [kernel.name for kernel in regions])


def retiled(
    profile: SimulatedProfile, kernel: Kernel, target: str, tile: int | None, **traits: int
) -> tuple[Kernel, list[dict[str, Any]]]:
    """Return the kernel encoded anew, and how it is tiled."""
    split = None
    if tile is not None:
        _, tilings = profile.watched.retile(kernel.label, target, **traits)
        if not tilings:
            raise errors.make(
                "unsupported", f"{kernel.name} is a product, which is tiled otherwise"
            )
        split = tilings[0]["split"]
        size = tilings[0]["sizes"][split]
        if not 1 <= tile <= size:
            raise errors.make("unsupported", f"a tile of {kernel.name} is 1 to {size}, not {tile}")
    programs, tilings = profile.watched.retile(
        kernel.label, target, split=split, tile=tile, **traits
    )
    # Operands stand first among the globals, workspaces behind them: those are its own.
    known = kernel.programs[0][1]
    numbered = [
        (program, [known[g] if g < len(known) else _own_buffer(kernel, g) for g in buffers])
        for program, buffers in programs
    ]
    return replace(kernel, programs=numbered, timings=[]), tilings


def _own_buffer(kernel: Kernel, place: int) -> int:
    return (kernel.label + 1) * 1_000_000 + place


def timed(profile: SimulatedProfile, kernels: list[Kernel], **options: Any) -> SimulatedProfile:
    """Return the profile with these kernels, timed."""
    programs = [program for kernel in kernels for program in kernel.programs]
    changed = replace(profile, **options)
    timings = iter(_dvm.time_programs(programs, changed.target, changed.overrides, verified=True))
    return replace(
        changed,
        kernels=[
            replace(kernel, timings=[next(timings) for _ in kernel.programs]) for kernel in kernels
        ],
    )


def what_if(
    profile: SimulatedProfile,
    *,
    kernel: str | None,
    tile: int | None,
    cores: int | None,
    slots: int | None,
    target: str | None,
    profile_overrides: Mapping[str, float] | None,
) -> WhatIf:
    """See `SimulatedProfile.what_if`."""
    where = target or profile.target
    if where == "cpu":
        raise errors.make("unsupported", "the cpu is measured: dvm.profile(f, target='cpu')")
    overrides = {**profile.overrides, **(profile_overrides or {})}
    _dvm.timing_table(where, overrides)
    traits: dict[str, int] = {}
    for name, value in (("cores", cores), ("local_bytes", slots)):
        if value is None:
            continue
        if value < 1:
            raise errors.make("unsupported", f"{name} must be at least 1, not {value}")
        traits[name] = value
    words = []
    chosen = None
    if tile is not None or kernel is not None:
        chosen = pick(profile, kernel)
        words += [f"tile {tile} of {chosen.name}"] if tile is not None else [chosen.name]
    words += [f"{value} {name.replace('_', ' ')}" for name, value in traits.items()]
    words += [f"target {target}"] if target else []
    words += [f"{name} {value:g}" for name, value in (profile_overrides or {}).items()]
    kernels, kept = [], []
    for one in profile.kernels:
        encoded_anew = bool(traits or target or one is chosen)
        if not one.region or (chosen is not None and one is not chosen and not target):
            encoded_anew = False
        if not encoded_anew:
            kernels.append(one)
            kept += [one.name] if (traits or target) else []
            continue
        own_tile = tile if one is chosen else None
        kernels.append(retiled(profile, one, where, own_tile, **traits)[0])
    after = timed(profile, kernels, target=where, overrides=overrides)
    note = f"as they are: {', '.join(kept)}" if kept else ""
    return WhatIf(", ".join(words) or "nothing else", profile, after, note)


def tiles(profile: SimulatedProfile, kernel: str | None) -> Tiles:
    """See `SimulatedProfile.tiles`."""
    chosen = pick(profile, kernel)
    _, tilings = profile.watched.retile(chosen.label, profile.target)
    if not tilings:
        raise errors.make("unsupported", f"{chosen.name} is a product, which is tiled otherwise")
    split = tilings[0]["split"]
    size, own = tilings[0]["sizes"][split], tilings[0]["tile"][split]
    sizes = sorted({own, size, *(2**k for k in range(size.bit_length()))})
    cycles: dict[int, float] = {}
    for tile in sizes:
        try:
            other, _ = retiled(profile, chosen, profile.target, tile)
        except errors.UnsupportedError:
            continue  # does not fit local memory
        if other.programs:
            cycles[tile] = timed(profile, [other]).kernels[0].cycles
    return Tiles(chosen.name, split, size, own, cycles)
