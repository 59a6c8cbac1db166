"""What to change first: where a profile shows time that another program would not take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dvm.explaining.advice import advice_for_rule
from dvm.explaining.lines import Answers, quoted
from dvm.profiling.measured import MeasuredProfile
from dvm.profiling.simulated import SimulatedProfile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dvm.profiling.profile import Profile

#: changes that are told, and the share of the call below which one is not worth a word
MOST, LEAST = 3, 0.05
#: what is no advice
NOTHING = "nothing"


@dataclass(frozen=True)
class Change:
    """Something to change.

    saves: microseconds of the call, at most. what: where they go. how: what to do about it.
    """

    saves: float
    what: str
    how: str

    def __str__(self) -> str:
        return f"up to {self.saves:.1f} us: {self.what}; {self.how}"


def changes(profile: Profile) -> Answers[Change]:
    """See `Profile.change_first`."""
    if isinstance(profile, MeasuredProfile):
        found, call = list(_measured(profile)), profile.wall / 1000
    else:
        assert isinstance(profile, SimulatedProfile)
        found, call = list(_simulated(profile)), profile.cycles / profile.mhz
    worth = [change for change in found if change.saves >= LEAST * call]
    return Answers(sorted(worth, key=lambda change: -change.saves)[:MOST])


def _measured(profile: MeasuredProfile) -> Iterator[Change]:
    from dvm.profiling.page.graph import boxes_of

    for kernel in profile.kernels:
        if kernel.kind == "call":
            where = f" ({quoted(kernel.lines[0])})" if kernel.lines else ""
            what = f"{kernel.name} is not compiled{where}"
            yield Change(kernel.time / 1000, what, advice_for_rule("opaque-call"))
    times = {kernel.name: kernel.run / 1000 for kernel in profile.kernels}
    boxes, refused = boxes_of(profile.subject)
    for edge in refused:
        names = [boxes[k].name for k in (edge.source, edge.target)]
        how = advice_for_rule(edge.rule)
        if not how.startswith(NOTHING) and all(name in times for name in names):
            # One kernel takes as long as the longer of the two at least.
            saves = min(times[name] for name in names)
            yield Change(saves, f"{edge.pair} are two kernels ({edge.reason})", how)
    parts = profile.parts()
    around = sum(parts[name] for name in ("encode", "dispatch", "plan", "replay")) / 1000
    yield Change(around, "the call's own cost, besides its kernels", "do more work in one call")


def _simulated(profile: SimulatedProfile) -> Iterator[Change]:
    for edge in profile.refused():
        how = advice_for_rule(edge.rule)
        if not how.startswith(NOTHING):
            yield Change(edge.saves, f"{edge.a.op} and {edge.b.op} are two kernels "
                         f"({edge.reason})", how)  # fmt: skip
    for kernel in profile.kernels:
        found = kernel.describe(profile.mhz)
        if found["bound_by"] == "launch":
            launch = found["launch_cycles"] / profile.mhz
            yield Change(launch, f"launching {kernel.name}, which has little to do",
                         "do more work in one call")  # fmt: skip
