"""The parts that walk through the events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.meanings.python.layer import PythonPart

if TYPE_CHECKING:
    from dvm.magpy_capture.walk.callbacks import Callbacks
    from dvm.magpy_capture.walk.calls import Calls
    from dvm.magpy_capture.walk.effects import Effects
    from dvm.magpy_capture.walk.flow_events import FlowEvents
    from dvm.magpy_capture.walk.followed import FollowedFunctions
    from dvm.magpy_capture.walk.generators import Generators
    from dvm.magpy_capture.walk.lookups import Lookups
    from dvm.magpy_capture.walk.methods import Methods
    from dvm.magpy_capture.walk.operator_events import OperatorEvents
    from dvm.magpy_capture.walk.pattern_events import PatternEvents
    from dvm.magpy_capture.walk.recorded import Events
    from dvm.magpy_capture.walk.walk import Walk


class WalkPart(PythonPart):
    """Has what functions mean, and the way through the events."""

    effects: Effects
    calls: Calls
    methods: Methods
    lookups: Lookups
    recorded: Events
    followed: FollowedFunctions
    operator_events: OperatorEvents
    flow: FlowEvents
    patterns: PatternEvents
    callbacks: Callbacks
    generators: Generators
    walk: Walk


__all__ = ["WalkPart"]
