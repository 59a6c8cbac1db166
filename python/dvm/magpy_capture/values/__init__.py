"""Abstract values: what the lowering knows of each value that a recorded function handled.

A value is one of
    Literal   known: the same object on every call of the path (a constant, or guarded to be one)
    Host      a Python object in a register of the replay; its exact type is known
    Size      a Python int computed from sizes of arrays, symbolic
    Tensor    an array (or NumPy scalar): a value of the graph, perhaps a view of a Storage
    Sequence, ListValue, DictValue, SetValue, Instance, Closure ...: Python objects whose parts are
              abstract values; made by the program, or reached from its inputs and read on demand
"""

from __future__ import annotations

from dvm.magpy_capture.values.arrays import *  # noqa: F403
from dvm.magpy_capture.values.known import *  # noqa: F403
from dvm.magpy_capture.values.mappings import *  # noqa: F403
from dvm.magpy_capture.values.objects import *  # noqa: F403
from dvm.magpy_capture.values.of_values import *  # noqa: F403
from dvm.magpy_capture.values.sequences import *  # noqa: F403
