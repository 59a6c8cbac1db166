"""The parts that say what Python's functions mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.objects.layer import ObjectPart

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.python.annotated import AnnotatedCalls
    from dvm.magpy_capture.meanings.python.caches import Caches
    from dvm.magpy_capture.meanings.python.context_variables import ContextVariables
    from dvm.magpy_capture.meanings.python.contexts import Contexts
    from dvm.magpy_capture.meanings.python.counters import Counters
    from dvm.magpy_capture.meanings.python.data_classes import DataClasses
    from dvm.magpy_capture.meanings.python.deep_copies import DeepCopies
    from dvm.magpy_capture.meanings.python.deques import Deques
    from dvm.magpy_capture.meanings.python.exceptions import Exceptions
    from dvm.magpy_capture.meanings.python.functions import PythonFunctions
    from dvm.magpy_capture.meanings.python.graph_bodies import GraphBodies
    from dvm.magpy_capture.meanings.python.heap_queues import HeapQueues
    from dvm.magpy_capture.meanings.python.iterators import Iterators
    from dvm.magpy_capture.meanings.python.local_classes import LocalClasses
    from dvm.magpy_capture.meanings.python.locks import Locks
    from dvm.magpy_capture.meanings.python.opaque import Opaque
    from dvm.magpy_capture.meanings.python.outputs import Outputs
    from dvm.magpy_capture.meanings.python.package_objects import PackageObjects
    from dvm.magpy_capture.meanings.python.randoms import Randoms
    from dvm.magpy_capture.meanings.python.signatures import Signatures
    from dvm.magpy_capture.meanings.python.sorting import Sorting


class PythonPart(ObjectPart):
    """Has objects, and what Python's functions do."""

    copies: DeepCopies
    python: PythonFunctions
    iterators: Iterators
    deques: Deques
    caches: Caches
    sorting: Sorting
    counters: Counters
    heap_queues: HeapQueues
    opaque: Opaque
    exceptions: Exceptions
    local_classes: LocalClasses
    locks: Locks
    context_variables: ContextVariables
    contexts: Contexts
    outputs: Outputs
    annotated: AnnotatedCalls
    graph_bodies: GraphBodies
    packages: PackageObjects
    randoms: Randoms
    signatures: Signatures
    data_classes: DataClasses


__all__ = ["PythonPart"]
