"""What is known of a model that was compiled: for lines, reports, texts of steps, and the cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dvm.graphs import Step
from dvm.onnx.model import Model


@dataclass
class Record:
    """Inputs, outputs and operators of a model, and what the compiler did with it.

    once_for_each: what the model is compiled for each value of; nothing is compiled then.
    seconds: what loading and compiling took.
    """

    inputs: dict[str, str]
    outputs: dict[str, str]
    once_for_each: dict[str, str]
    operators: dict[str, int]
    on_the_host: dict[str, int]
    seconds: float
    steps: list[Step] = field(default_factory=list)

    @classmethod
    def of(cls, model: Model, seconds: float) -> Record:
        """What there is to know of a model."""
        said = model.inputs, model.outputs, model.by_value, model.operators
        if model.by_value:  # a call has to tell what is compiled
            return cls(*said, {}, seconds)
        return cls(*said, model.host_calls, seconds, model.steps)

    def report(self) -> dict[str, Any]:
        """All but the texts."""
        return {**vars(self), "steps": [step.without_text() for step in self.steps]}

    def write(self, path: Path) -> None:
        """Write all of it into a file."""
        path.write_text(json.dumps(asdict(self) | {"steps": list(map(list, self.steps))}), "utf-8")

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """Return what `write` wrote; None where that is not there, or damaged."""
        try:
            said = json.loads(path.read_text("utf-8"))
            return cls(**said | {"steps": [Step(*step) for step in said["steps"]]})
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None

    def lines(self, with_operators: bool) -> list[str]:
        """What is printed of it."""
        lines = [line("input", f"{name}  {type_}") for name, type_ in self.inputs.items()]
        lines += [line("result", f"{name}  {type_}") for name, type_ in self.outputs.items()]
        lines += [line("once for each", f"{what} of {n}") for n, what in self.once_for_each.items()]
        if with_operators:
            lines.append(line("operators", counted(self.operators)))
        if self.on_the_host:
            lines.append(line("on the host", counted(self.on_the_host)))
        return lines

    def stages(self) -> list[str]:
        """What each stage took, found and changed; what is before them reads the model."""
        lines = []
        if self.steps:
            of_steps = sum(step.nanoseconds for step in self.steps) / 1e6
            lines.append(line("import", f"{1e3 * self.seconds - of_steps:.1f} ms"))
        for stage in dict.fromkeys(step.stage for step in self.steps):
            mine = [step for step in self.steps if step.stage == stage]
            milliseconds = sum(step.nanoseconds for step in mine) / 1e6
            changed = ", ".join(f"{s.name} {s.effects} of {s.matches}" for s in mine if s.matches)
            lines.append(line(stage, f"{milliseconds:.1f} ms" + (f"; {changed}" * bool(changed))))
        lines.append(line("compiled", f"in {1e3 * self.seconds:.0f} ms"))
        return lines


def line(what: str, text: str) -> str:
    """A line of what is printed."""
    return f"{what:12} {text}"


def counted(counts: Mapping[str, int]) -> str:
    """Names and how often, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered)
