"""What another choice would cost: kernels of a simulated call encoded anew, and timed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeGuard

from dvm import _dvm, errors
from dvm.explaining.operations import Operation
from dvm.profiling.fusion_trials import OtherFusion, Pair, Price, stacked_places
from dvm.profiling.profile import percent, table

if TYPE_CHECKING:
    from dvm.profiling.simulated import Kernel, SimulatedProfile


@dataclass(frozen=True)
class RefusedFusion:
    """Two operations that could not share a kernel: by which rule, and what that would save.

    a, b: the operations, with their lines. answer: that of `what_if(fuse=(a, b))`.
    """

    a: Operation
    b: Operation
    rule: str
    reason: str
    answer: WhatIf

    @property
    def saves(self) -> float:
        """Microseconds of the call."""
        before, after = self.answer.before, self.answer.after
        return (before.cycles - after.cycles) / before.mhz

    def __str__(self) -> str:
        return (
            f"{self.a} and {self.b}: refused [{self.rule}] {self.reason}; one kernel would save "
            f"{self.saves:.2f} us"
        )


#: elements of the dim that is cut, or rows and columns of a product
Tile = int | tuple[int, int]


def shown(tile: Tile) -> str:
    """Return a tile as text."""
    return " x ".join(map(str, tile)) if isinstance(tile, tuple) else str(tile)


@dataclass(frozen=True)
class WhatIf:
    """What a call would cost with another choice.

    what: the choice, in words. before, after: the Profiles. note: what to know about the answer.
    price: what a fusion that was forced costs where it is wrong; None without one.
    """

    what: str
    before: SimulatedProfile
    after: SimulatedProfile
    note: str = ""
    price: Price | None = None

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
            "price": self.price.to_dict() if self.price else None,
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
        lines += [f"  {says}" for says in (self.note, self.price and self.price.says) if says]
        return "\n".join(lines)


@dataclass(frozen=True)
class Tiles:
    """Tiles of a kernel beside each other, the tiler's choice among them.

    kernel: its name. cut: what is cut, and how long that is. chosen: the tiler's tile, of a product
    its rows and columns. cycles: by tile.
    """

    kernel: str
    cut: str
    chosen: Tile
    cycles: dict[Tile, float]

    @property
    def best(self) -> Tile:
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
            "cut": self.cut,
            "chosen": shown(self.chosen),
            "best": shown(self.best),
            "loss": round(self.loss, 6),
            "cycles": {shown(tile): round(cycles, 3) for tile, cycles in self.cycles.items()},
        }

    def __str__(self) -> str:
        least = self.cycles[self.best]
        marks = {self.best: "best", self.chosen: "chosen by the tiler"}
        rows = [
            [shown(tile), f"{cycles:,.0f}", percent(cycles / least), marks.get(tile, "")]
            for tile, cycles in self.cycles.items()
        ]
        head = f"{self.kernel}: tiles of {self.cut}"
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
    profile: SimulatedProfile, kernel: Kernel, target: str, tile: Tile | None, **traits: Any
) -> Kernel:
    """Return the kernel encoded anew."""
    asked: dict[str, Any] = {}
    if tile is not None:
        asked["tile"] = _asked(kernel, own_tiling(profile, kernel, target, **traits), tile)
    programs, tilings = profile.watched.retile(kernel.label, target, **asked, **traits)
    wanted = (tile, tile) if isinstance(tile, int) and tilings[0]["split"] is None else tile
    if tile is not None and (made := _tile_of(tilings[0])) != wanted:
        raise errors.make(
            "unsupported",
            f"{kernel.name} can't have tiles of {shown(tile)}: the nearest that its sizes and "
            f"local memory allow are of {shown(made)}",
        )
    # Operands stand first among the globals, workspaces behind them: those are its own.
    known = kernel.programs[0][1]
    numbered = [
        (program, [known[g] if g < len(known) else _own_buffer(kernel, g) for g in buffers])
        for program, buffers in programs
    ]
    return replace(kernel, programs=numbered, timings=[])


def own_tiling(
    profile: SimulatedProfile, kernel: Kernel, target: str, **traits: Any
) -> dict[str, Any]:
    """Return how the tiler cuts the first Program of a kernel."""
    _, tilings = profile.watched.retile(kernel.label, target, **traits)
    if not tilings:
        raise errors.make("unsupported", f"{kernel.name} is an attention, which is tiled otherwise")
    return tilings[0]


def _tile_of(tiling: dict[str, Any]) -> Tile:
    """Return the tile of a tiling: of the dim that is cut, or rows and columns of a product."""
    split = tiling["split"]
    if split is None:
        return (tiling["tile"][0], tiling["tile"][1])
    return int(tiling["tile"][split])


def _asked(kernel: Kernel, own: dict[str, Any], tile: Tile) -> Any:
    """Return what retile() is asked for."""
    split = own["split"]
    if split is None:
        sides = tile if isinstance(tile, tuple) else (tile, tile)
        if len(sides) == 2 and all(is_count(side) for side in sides):
            return ("sums", *sides)
        what = "of rows and columns, as (128, 256)"
    else:
        size = own["sizes"][split]
        if is_count(tile) and tile <= size:
            return (split, tile)
        what = f"a whole number from 1 to {size}"
    raise errors.make("unsupported", f"a tile of {kernel.name} is {what}, not {tile!r}")


def is_count(value: object) -> TypeGuard[int]:
    """Whether it is a whole number of at least 1."""
    return isinstance(value, Integral) and int(value) >= 1


def _own_buffer(kernel: Kernel, place: int) -> int:
    return (kernel.label + 1) * 1_000_000 + place


def timed(profile: SimulatedProfile, kernels: list[Kernel], **options: Any) -> SimulatedProfile:
    """Return the profile with these kernels, timed."""
    programs = [program for kernel in kernels for program in kernel.programs]
    changed = replace(profile, **options)
    timings = iter(
        _dvm.time_programs(
            programs,
            changed.target,
            changed.overrides,
            verified=True,
            stacked=stacked_places(kernels),
        )
    )
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
    tile: Tile | None,
    cores: int | None,
    slots: int | None,
    target: str | None,
    fuse: Pair | None,
    split: Pair | None,
    profile_overrides: Mapping[str, float] | None,
) -> WhatIf:
    """See `SimulatedProfile.what_if`."""
    for name, pair in (("fuse", fuse), ("split", split)):
        if pair is not None and (isinstance(pair, str) or len(pair) != 2):
            raise errors.make(
                "unsupported", f"{name} takes two operations, as ('sum', 'sqrt'), not {pair!r}"
            )
    if fuse is not None or split is not None:
        if any(given is not None for given in (kernel, tile, cores, slots, target)):
            raise errors.make(
                "unsupported",
                "fuse and split may be given with profile_overrides, but with no other choice",
            )
        return fused_otherwise(profile, fuse, split, profile_overrides or {})
    where = target or profile.target
    if where == "cpu":
        raise errors.make(
            "unsupported",
            "what another choice costs is modelled of simulated cores, and the cpu is measured",
            "dvm.profile(f, target='cpu')(x) measures it",
        )
    overrides = {**profile.overrides, **(profile_overrides or {})}
    _dvm.timing_table(where, overrides)
    traits: dict[str, int] = {}
    for name, value in (("cores", cores), ("local_bytes", slots)):
        if value is None:
            continue
        if not is_count(value):
            given = {"local_bytes": "slots"}.get(name, name)
            raise errors.make(
                "unsupported", f"{given} is a whole number of at least 1, not {value!r}"
            )
        traits[name] = value
    words = []
    chosen = None
    if tile is not None or kernel is not None:
        chosen = pick(profile, kernel)
        words += [f"tile {shown(tile)} of {chosen.name}"] if tile is not None else [chosen.name]
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
        kernels.append(retiled(profile, one, where, own_tile, **traits))
    after = timed(profile, kernels, target=where, overrides=overrides)
    note = f"as they are: {', '.join(kept)}" if kept else ""
    return WhatIf(", ".join(words) or "nothing else", profile, after, note)


def fused_otherwise(
    profile: SimulatedProfile,
    fuse: Pair | None,
    split: Pair | None,
    profile_overrides: Mapping[str, float],
) -> WhatIf:
    """Return what the call costs with one pair of operations fused, or another one split."""
    overrides = {**profile.overrides, **profile_overrides}
    _dvm.timing_table(profile.target, overrides)
    other = OtherFusion(profile)
    words, price = [], None
    if split is not None:
        other.split(split)
        words.append(f"{split[0]} and {split[1]} in two kernels")
    if fuse is not None:
        price = other.fuse(fuse)
        words.append(f"{fuse[0]} and {fuse[1]} in one kernel")
    words += [f"{name} {value:g}" for name, value in profile_overrides.items()]
    after = timed(profile, other.kernels, overrides=overrides)
    return WhatIf(", ".join(words), profile, after, price=price)


def refused(profile: SimulatedProfile) -> list[RefusedFusion]:
    """See `SimulatedProfile.refused`."""
    answers: dict[tuple[str, str], RefusedFusion] = {}
    for edge in OtherFusion(profile).refusals():
        kernels = (edge.kernels[0].name, edge.kernels[1].name)
        if kernels not in answers:
            pair = (edge.a.reference, edge.b.reference)
            answer = fused_otherwise(profile, pair, None, {})
            answers[kernels] = RefusedFusion(edge.a, edge.b, edge.rule, edge.reason, answer)
    return sorted(answers.values(), key=lambda one: -one.saves)


def tiles(profile: SimulatedProfile, kernel: str | None) -> Tiles:
    """See `SimulatedProfile.tiles`."""
    chosen = pick(profile, kernel)
    own = own_tiling(profile, chosen, profile.target)
    split = own["split"]
    candidates: set[Tile]
    taken = _tile_of(own)
    if split is None:
        sides = [16 << k for k in range(6)]
        candidates = {(m, n) for m in sides for n in sides}
        cut = "sums of a product, rows by columns"
    else:
        size = own["sizes"][split]
        candidates = {size, *(2**k for k in range(size.bit_length()))}
        cut = f"dim {split}, which has {size} elements"
    cycles: dict[Tile, float] = {}
    for tile in sorted({taken, *candidates}):
        try:
            other = retiled(profile, chosen, profile.target, tile)
        except errors.UnsupportedError:
            continue  # other sizes than its own, or more than local memory holds
        if other.programs:
            cycles[tile] = timed(profile, [other]).kernels[0].cycles
    return Tiles(chosen.name, cut, taken, cycles)
