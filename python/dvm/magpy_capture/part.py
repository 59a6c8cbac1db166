"""What the parts of a lowering have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from dvm.magpy_capture.annotated import AnnotatedCalls
    from dvm.magpy_capture.array_attributes import ArrayAttributes
    from dvm.magpy_capture.array_classes import ArrayClasses
    from dvm.magpy_capture.arrays import Arrays
    from dvm.magpy_capture.caches import Caches
    from dvm.magpy_capture.callbacks import Callbacks
    from dvm.magpy_capture.callees import Callees
    from dvm.magpy_capture.calls import Calls
    from dvm.magpy_capture.containers import Containers
    from dvm.magpy_capture.contexts import Contexts
    from dvm.magpy_capture.contractions import Contractions
    from dvm.magpy_capture.counters import Counters
    from dvm.magpy_capture.deep_copies import DeepCopies
    from dvm.magpy_capture.deques import Deques
    from dvm.magpy_capture.events import Events
    from dvm.magpy_capture.exceptions import Exceptions
    from dvm.magpy_capture.fancy_indexing import FancyIndexing
    from dvm.magpy_capture.flow_events import FlowEvents
    from dvm.magpy_capture.graphs import Graphs
    from dvm.magpy_capture.heaps import Heaps
    from dvm.magpy_capture.host_arrays import HostArrays
    from dvm.magpy_capture.indexing import Indexing
    from dvm.magpy_capture.iterators import Iterators
    from dvm.magpy_capture.locks import Locks
    from dvm.magpy_capture.lowering import Lowering
    from dvm.magpy_capture.maybe_views import MaybeViews
    from dvm.magpy_capture.numpy_functions import NumpyFunctions
    from dvm.magpy_capture.numpy_picks import NumpyPicks
    from dvm.magpy_capture.numpy_products import NumpyProducts
    from dvm.magpy_capture.numpy_reductions import Reductions
    from dvm.magpy_capture.numpy_shapes import Shapes
    from dvm.magpy_capture.numpy_ufuncs import Ufuncs
    from dvm.magpy_capture.objects import Objects
    from dvm.magpy_capture.opaque import Opaque
    from dvm.magpy_capture.operator_events import OperatorEvents
    from dvm.magpy_capture.ordered_folds import OrderedFolds
    from dvm.magpy_capture.outputs import Outputs
    from dvm.magpy_capture.package_objects import PackageObjects
    from dvm.magpy_capture.pattern_events import PatternEvents
    from dvm.magpy_capture.program import Program
    from dvm.magpy_capture.python_functions import PythonFunctions
    from dvm.magpy_capture.randoms import Randoms
    from dvm.magpy_capture.sets import Sets
    from dvm.magpy_capture.sorting import Sorting
    from dvm.magpy_capture.ufunc_methods import UfuncMethods
    from dvm.magpy_capture.walk import Walk
    from dvm.magpy_capture.written_parts import WrittenParts
    from dvm.magpy_capture.written_places import WrittenPlaces


class Part:
    """A part of the lowering of one recording.

    It is handed those of the other parts that it names in `needs`, when all are made, and no more
    (lowering.py; tests/py/test_parts.py).
    """

    needs: ClassVar[str] = ""

    program: Program
    graph: Graphs
    updates: WrittenParts
    views: MaybeViews
    arrays: Arrays
    heap: Objects
    indexing: Indexing
    containers: Containers
    sets: Sets
    copies: DeepCopies
    python: PythonFunctions
    iterators: Iterators
    deques: Deques
    caches: Caches
    sorting: Sorting
    counters: Counters
    heaps: Heaps
    ufuncs: Ufuncs
    folds: OrderedFolds
    ufunc_methods: UfuncMethods
    reductions: Reductions
    shapes: Shapes
    conversions: NumpyFunctions
    places: WrittenPlaces
    fancy: FancyIndexing
    picks: NumpyPicks
    contractions: Contractions
    products: NumpyProducts
    attributes: ArrayAttributes
    array_classes: ArrayClasses
    host_arrays: HostArrays
    opaque: Opaque
    exceptions: Exceptions
    locks: Locks
    contexts: Contexts
    outputs: Outputs
    annotated: AnnotatedCalls
    packages: PackageObjects
    randoms: Randoms
    calls: Calls
    recorded: Events
    callees: Callees
    operators: OperatorEvents
    flow: FlowEvents
    patterns: PatternEvents
    callbacks: Callbacks
    walk: Walk
    lowering: Lowering


__all__ = ["Part"]
