"""The parts that walk through the events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.numpy.layer import NumpyPart

if TYPE_CHECKING:
    from dvm.magpy_capture.events.callbacks import Callbacks
    from dvm.magpy_capture.events.callees import Callees
    from dvm.magpy_capture.events.calls import Calls
    from dvm.magpy_capture.events.effects import Effects
    from dvm.magpy_capture.events.flow_events import FlowEvents
    from dvm.magpy_capture.events.generators import Generators
    from dvm.magpy_capture.events.lookups import Lookups
    from dvm.magpy_capture.events.methods import Methods
    from dvm.magpy_capture.events.operator_events import OperatorEvents
    from dvm.magpy_capture.events.pattern_events import PatternEvents
    from dvm.magpy_capture.events.recorded import Events
    from dvm.magpy_capture.events.walk import Walk


class WalkPart(NumpyPart):
    """Has what functions mean, and the way through the events."""

    effects: Effects
    calls: Calls
    methods: Methods
    lookups: Lookups
    recorded: Events
    callees: Callees
    operator_events: OperatorEvents
    flow: FlowEvents
    patterns: PatternEvents
    callbacks: Callbacks
    generators: Generators
    walk: Walk


__all__ = ["WalkPart"]
