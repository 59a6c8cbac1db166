"""The parts of the program's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.tensors.layer import TensorPart

if TYPE_CHECKING:
    from dvm.magpy_capture.objects.adopted import Adopted
    from dvm.magpy_capture.objects.caller import Caller
    from dvm.magpy_capture.objects.containers import Containers
    from dvm.magpy_capture.objects.heap import Objects
    from dvm.magpy_capture.objects.host_arrays import HostArrays
    from dvm.magpy_capture.objects.host_operations import HostOperations
    from dvm.magpy_capture.objects.identity import Identity
    from dvm.magpy_capture.objects.instances import Instances
    from dvm.magpy_capture.objects.lengths import Lengths
    from dvm.magpy_capture.objects.list_changes import ListChanges
    from dvm.magpy_capture.objects.made_lists import MadeLists
    from dvm.magpy_capture.objects.open_lists import OpenLists
    from dvm.magpy_capture.objects.operators import Operators
    from dvm.magpy_capture.objects.sets import Sets
    from dvm.magpy_capture.registry import Meanings


class ObjectPart(TensorPart):
    """Has tensors, and objects of Python."""

    adopted: Adopted
    identity: Identity
    meanings: Meanings
    operators: Operators
    caller: Caller
    heap: Objects
    instances: Instances
    host_operations: HostOperations
    containers: Containers
    sets: Sets
    lengths: Lengths
    list_changes: ListChanges
    made_lists: MadeLists
    open_lists: OpenLists
    host_arrays: HostArrays


__all__ = ["ObjectPart"]
