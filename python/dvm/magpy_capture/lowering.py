"""One recording on its way to a path: the parts that lower it, and what they are handed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dvm import _dvm
from dvm.magpy_capture.loops.gathering import gather
from dvm.magpy_capture.loops.histories import LoopHistories
from dvm.magpy_capture.loops.rolling import Loops
from dvm.magpy_capture.part import CLASSES, Part
from dvm.magpy_capture.path.deadline import Deadline
from dvm.magpy_capture.path.graphs import Graphs, Modes
from dvm.magpy_capture.path.program import Program
from dvm.magpy_capture.path.settled import Settled
from dvm.magpy_capture.path.spec import PathSpec
from dvm.magpy_capture.path.varying import ValueHistory, Varying
from dvm.magpy_capture.recording.findings import Findings
from dvm.magpy_capture.recording.record import Record
from dvm.magpy_capture.registry import Meaning, all_meanings
from dvm.magpy_capture.tensors.layouts import Layouts
from dvm.magpy_capture.walk.recorded import Events
from dvm.magpy_capture.walk.walk import Walk

# Parts and meanings are registered when they are imported.
HOUSE = Path(__file__).parent
#: the folder of what is imported once PyTorch is there (meanings/torch/arrival.py)
LATE = "operations"
for file in sorted(HOUSE.glob("*/**/*.py")):
    if file.parent.name == LATE:
        continue
    name = file.relative_to(HOUSE).with_suffix("").as_posix().replace("/", ".")
    importlib.import_module(f"{__package__}.{name.removesuffix('.__init__')}")


def index(recording: dict[str, Any]) -> None:
    """What is asked of all its events and nodes: once, whatever is lowered of it.

    marks: events between which frames and loops are what they are.
    layouts: those that give an array another shape or dtype.
    snapshots: what containers held when they were first seen, and arrays as they came; by id.
    """
    nodes, events = recording["nodes"], recording["events"]
    marks, layouts, seen = _dvm.index_recording(nodes, events)
    if any(events[mark][0] == "resumes" for mark in marks):
        gather(recording)
        nodes, events = recording["nodes"], recording["events"]
        marks, layouts, seen = _dvm.index_recording(nodes, events)
    recording["marks"], recording["layouts"] = marks, layouts
    recording["snapshots"] = {id(nodes[node][4]): nodes[node][5] for node in seen}


class RulesOfPath:
    """The rules (tensors/rules.py) of the library whose arrays the path has."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parts[self._parts["graph"].array_library.rules], name)


class Lowering:
    """The parts by name. Each is handed those of them that its class names, and no more.

    What a part is handed is the same for each recording, and one lowering at a time is enough but
    where a loop is lowered within another: so parts are made once, and used again.
    Annotated are those that are asked for here, in lower.py and where a path is read for a file.
    """

    graph: Graphs
    layouts: Layouts
    loops: Loops
    program: Program
    record: Record
    recorded: Events
    settled: Settled
    varying: Varying
    walk: Walk

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {name: kind.__new__(kind) for name, kind in MADE.items()}
        every = {**self._parts, "meanings": self}
        every["rules"] = RulesOfPath(self._parts)
        self._stateful: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for name, part in self._parts.items():
            handed = {need: every[OFFERS.get(NAMED[need], need)] for need in HANDED[name]}
            vars(part).update(handed)
            if name in STATEFUL:
                self._stateful.append((vars(part), handed))
        vars(self).update(self._parts)
        #: kind of event -> what lowers it
        self.handlers: dict[str, Any] = {
            kind: getattr(self._parts[name], method) for kind, (name, method) in HANDLERS.items()
        }

    @staticmethod
    def begin(
        spec: PathSpec,
        recording: dict[str, Any],
        function: Any,
        modes: Modes,
        found: Findings,
        deadline: Deadline,
        has_paths: bool,
        loops: LoopHistories,
        varying: ValueHistory,
        lower: Callable[..., None],
    ) -> Lowering:
        if "snapshots" not in recording:
            index(recording)
        given: dict[str, tuple[Any, ...]] = {
            "program": (spec, deadline),
            "graph": (modes,),
            "settled": (spec.example,),
            "heap": (dict(recording["snapshots"]),),
            # As they are now: what turns find out counts for what is lowered behind them.
            "memory": (frozenset(found.joint),),
            "host_arrays": (frozenset(found.on_host),),
            "caches": (has_paths,),
            "outputs": (function,),
            "record": (recording,),
            "recorded": (function.__builtins__, frozenset(found.whole)),
            "callbacks": (recording.get("begin", 0),),
            "lent": (recording.get("variables"),),
            "loop_lists": ("begin" in recording,),
            "written_beside": ("begin" in recording,),
            "loops": (recording, function, found, loops, lower),
            "recursions": (recording, function, found, loops, lower),
            "left_behind": (found.told_apart,),
            "varying": (recording, varying),
        }
        try:
            lowering = IDLE.pop()
        except IndexError:
            lowering = Lowering()
        for name in STATEFUL:
            lowering._parts[name].__init__(*given.get(name, ()))
        return lowering

    def holder(self, meaning: Meaning) -> Any:
        """The part whose method it is; of a function, one that has all that its layer may use."""
        name = HOLDERS.get(meaning)
        if name is None:  # registered since
            name = HOLDERS[meaning] = next(iter(meaning.__annotations__.values()))
        return self._parts[name]

    def close(self) -> None:
        """Nothing of the call stays alive by what a part knows of it."""
        for own, handed in self._stateful:
            own.clear()
            own.update(handed)
        IDLE.append(self)


#: Lowerings that are not in use, of any thread.
IDLE: list[Lowering] = []
#: the layers, bottom up: each has the names of its parts and of the interfaces that it relies on
LAYERS: list[type[Part]] = [
    layer for layer in CLASSES.values() if layer.__module__.endswith(".layer")
]
#: name -> its class
NAMED: dict[str, str] = {
    name: kind for layer in LAYERS for name, kind in vars(layer)["__annotations__"].items()
}
PARTS: dict[str, type[Part]] = {
    name: CLASSES[kind] for name, kind in NAMED.items() if kind in CLASSES
}
#: interface that lower layers rely on -> the part that has it
OFFERS: dict[str, str] = {
    base.__name__: name for name, kind in PARTS.items() for base in kind.__bases__[1:]
}
#: meaning of a function -> the part that it is given first
HOLDERS: dict[Meaning, str] = {
    meaning: next(iter(meaning.__annotations__.values())) for meaning in all_meanings()
} | {
    value: name for name, kind in PARTS.items() for value in vars(kind).values() if callable(value)
}
#: the layer of which functions are registered late
WITH_LATE_MEANINGS = "TorchPart"
#: What is made for a lowering: its parts, and for functions of a layer that are no methods one
#: that is handed all that the layer may use.
MADE: dict[str, type[Part]] = PARTS | {
    layer.__name__: layer
    for layer in LAYERS
    if layer.__name__ in HOLDERS.values() or layer.__name__ == WITH_LATE_MEANINGS
}
#: part -> what it is handed
HANDED: dict[str, list[str]] = {
    name: kind.needs.split()
    if name in PARTS
    else [
        need for each in LAYERS if issubclass(kind, each) for need in vars(each)["__annotations__"]
    ]
    for name, kind in MADE.items()
}
NEEDS = {name: HANDED[name] for name in PARTS}
#: those that know something of the recording
STATEFUL: list[str] = [name for name, kind in PARTS.items() if "__init__" in vars(kind)]
#: kind of a recorded event -> the part that lowers it, and its method
HANDLERS: dict[str, tuple[str, str]] = {
    method.removeprefix("on_"): (name, method)
    for name, kind in PARTS.items()
    for method in vars(kind)
    if method.startswith("on_")
}

__all__ = ["Lowering"]
