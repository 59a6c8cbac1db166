"""Two profiles side by side: before and after a change, two targets, two sizes."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from dvm.profiling.profile import table

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile


@dataclass(frozen=True)
class Comparison:
    """What `Profile.compare` returns; it prints, and shows itself in notebooks.

    before, after: the profiles.
    """

    before: Profile
    after: Profile

    @property
    def ratio(self) -> float:
        """The time of the call after in relation to before; below 1 it is faster."""
        return self.after.headline()[0][1] / self.before.headline()[0][1]

    def rows(self) -> list[tuple[str, float | None, float | None, str]]:
        """Return name, both numbers and unit; kernels are the same where their names are."""
        sides = [{name: (number, unit) for name, number, unit in one.headline()}
                 for one in (self.before, self.after)]  # fmt: skip
        nothing = (None, "")
        return [
            (name, *(side.get(name, nothing)[0] for side in sides), unit)  # type: ignore[misc]
            for name, unit in {n: u for side in sides for n, (_, u) in side.items()}.items()
            if any(side.get(name, nothing)[0] for side in sides)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison in JSON types."""
        return {
            "before": self._name(self.before),
            "after": self._name(self.after),
            "ratio": round(self.ratio, 6),
            "rows": [
                {"name": name, "before": a, "after": b, "unit": unit}
                for name, a, b, unit in self.rows()
            ],
        }

    def __str__(self) -> str:
        head = ["", self._name(self.before), self._name(self.after), "ratio"]
        return "\n".join(table(head, map(self._cells, self.rows())))

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col">{escape(name)}</th>'
            for name in ("", self._name(self.before), self._name(self.after), "ratio")
        )
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in self._cells(row)) + "</tr>"
            for row in self.rows()
        )
        pictures = "".join(one.picture() for one in (self.before, self.after))
        return f"<table><tr>{head}</tr>{rows}</table>{pictures}"

    @staticmethod
    def _name(profile: Profile) -> str:
        return f"{profile.function} on {profile.target}"

    @staticmethod
    def _cells(row: tuple[str, float | None, float | None, str]) -> list[str]:
        name, before, after, unit = row
        shown = ["" if one is None else f"{one:.2f} {unit}" for one in (before, after)]
        return [name, *shown, f"{after / before:.2f}" if before and after is not None else ""]
