"""The lowering against Algorithm 1: what it guards was reached, what it changes was changed.

The core searches the RefGraph for the objects that a guard must look at and those that a mock must
bring about (`guard_nodes`, `mock_nodes` of a recording). The lowering finds its own while it gives
each event its meaning. Here the two are compared on the programs.

In two places the lowering knows more than the graph of references can: what `zip` and `enumerate`
yield are parts of the containers they were given, and a write through a view is one into its base.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from dvm import _dvm, magpy_capture
from dvm.magpy_capture.objects.heap import Objects
from programs.registry import Program, programs

lowering: Any = importlib.import_module("dvm.magpy_capture.lower")

#: guards on values in registers -> how many of their first operands are registers
GUARDS = {
    **dict.fromkeys(("guard_is", "guard_type", "guard_signature", "guard_value"), 1),
    **dict.fromkeys(("guard_length", "guard_truth", "guard_writeable", "guard_lacks"), 1),
    **dict.fromkeys(("guard_keys", "guard_layout", "guard_bare"), 1),
    **dict.fromkeys(("guard_same", "guard_overlap", "guard_shared", "guard_view"), 2),
}
#: effects on an object in their first operand
EFFECTS = (
    *("copyto", "set_attribute", "delete_attribute", "set_item", "delete_item"),
    *("list_replace", "dict_fill"),
)
#: fetches of a part: step -> the register of the whole is its second operand
PARTS = ("item", "key", "attribute", "class_attribute", "getattr")
#: a view of an array, whose register comes next: it may be written for it
VIEW = ("operator", "getitem")
WHOLES = (list, tuple, dict)
#: objects that no effect changes
FIXED = (int, float, complex, str, bytes, type(None), tuple, np.generic)
#: effects on a variable: its namespace or cell, which Algorithm 1 counts to the state outside
VARIABLES = ("set_variable", "set_cell")


@dataclass
class Lowered:
    """A first call of a program: recorded, lowered, and what the lowering's registers hold."""

    recording: dict[str, Any]
    spec: magpy_capture.PathSpec
    objects: dict[int, Any] = field(default_factory=dict)  # register -> object of the caller

    def __post_init__(self) -> None:
        self.wholes = {step[1]: step[2] for step in self.spec.steps if step[0] in PARTS}
        self.views = {s[1]: s[3] for s in self.spec.steps if s[:1] + s[2:3] == VIEW}
        self.constants = {s[1]: s[2] for s in self.spec.steps if s[0] == "constant"}
        self.objects |= self.constants

    def is_reached(self, register: int, reached: set[int]) -> bool:
        """Whether Algorithm 1 guards what the register holds, or the container it is a part of."""
        if id(self.objects[register]) in reached:
            return True
        whole = self.wholes.get(register, -1)
        if whole in self.constants:  # a class or a function, which is a part of the code
            return True
        thing = self.objects.get(whole)
        # Of what a container gave away unseen, Algorithm 1 has not seen the parts either.
        held = isinstance(thing, WHOLES) or (thing is not None and id(thing) not in reached)
        return held and self.is_reached(whole, reached)

    def is_written_through_a_view(self, target: Any) -> bool:
        """Whether some event writes into other arrays that lie in the memory of the target."""
        nodes, events = self.recording["nodes"], self.recording["events"]
        written = [nodes[e[2][0]][4] for e in events if e[0] in ("store_subscript", "inplace")]
        written += [nodes[n][4] for e in events if e[0] == "call" for n in e[2][1:]]
        return isinstance(target, np.ndarray) and any(
            isinstance(one, np.ndarray) and one is not target and owner(one) is owner(target)
            for one in written
        )

    def found(self, nodes: str) -> set[int]:
        """The identities of the objects that Algorithm 1 names."""
        return {id(self.recording["nodes"][node][4]) for node in self.recording[nodes]}

    def targets(self) -> list[tuple[str, Any]]:
        """The caller's objects that effects change."""
        found = []
        for step in self.spec.steps:
            # A list that only grows is extended by a call.
            target = step[3][0] if step[0] == "effect" else step[1] if step[0] in EFFECTS else -1
            while target in self.views:
                target = self.views[target]
            if target in self.objects:
                found.append((str(step), self.objects[target]))
        return found


def owner(array: Any) -> Any:
    """The array whose memory it is; a view of nothing shares no address with its base."""
    return array if array.base is None else array.base


def lowered(program: Program, monkeypatch: pytest.MonkeyPatch) -> Lowered:
    """Record and lower the first call of the program that becomes a path."""
    reach = Objects.reach
    of: dict[int, dict[int, Any]] = {}  # one for each attempt, the last one counts
    attempts: list[Any] = []  # kept, so that their ids are

    def noting(self: Any, fetch: Any, seen: Any, name: Any = None) -> Any:
        def noted() -> int:
            register: int = fetch()
            attempts.append(self.reached)
            of.setdefault(id(self.reached), {})[register] = seen
            return register

        return reach(self, noted, seen, name)

    monkeypatch.setattr(Objects, "reach", noting)
    args, kwargs = next(iter(program.calls()))
    before = program.read_variables()
    recording = _dvm.record(program.function, *args, **kwargs)
    spec = magpy_capture.PathSpec()
    lowering.lower(spec, recording, program.function)
    program.write_variables(before)
    objects = of.popitem()[1] if of else {}
    return Lowered(recording, spec, objects)


each_program = pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)


@each_program
def test_what_is_guarded_was_reached(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lowered(program, monkeypatch)
    if path.spec.reason:
        pytest.skip(path.spec.reason)
    reached = path.found("guard_nodes")
    for step in path.spec.steps:
        for register in step[1 : 1 + GUARDS.get(step[0], 0)]:
            if register in path.objects and step[1] not in path.constants:
                assert path.is_reached(register, reached), (step, path.objects[register])


@each_program
def test_what_is_changed_was_changed(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lowered(program, monkeypatch)
    if path.spec.reason:
        pytest.skip(path.spec.reason)
    mocked = path.found("mock_nodes")
    targets = path.targets()
    for step, target in targets:
        assert id(target) in mocked or path.is_written_through_a_view(target), (step, target)
    # And what existed before and was changed is brought about.
    changed = {id(target) for _, target in targets}
    for node in path.recording["mock_nodes"]:
        thing = path.recording["nodes"][node][4]
        if id(thing) in path.found("guard_nodes") and not isinstance(thing, FIXED):
            assert id(thing) in changed, thing


def test_the_tables_name_every_guard_and_effect() -> None:
    """A step that is added has a place here."""
    guards = {name for name, category, *_ in _dvm.step_table if category in ("guard", "choice")}
    code = {"guard_names", "guard_code", "guard_function", "guard_errstate"}  # of no object of data
    assert guards - {"invoke", "iterate", "loop", "raises"} == GUARDS.keys() | code
    effects = {name for name, category, *_ in _dvm.step_table if category == "effect"}
    assert effects == {*EFFECTS, *VARIABLES, "effect", "unlock"}
