"""What the parts of a lowering have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from dvm.magpy_capture.events.callbacks import Callbacks
    from dvm.magpy_capture.events.callees import Callees
    from dvm.magpy_capture.events.calls import Calls
    from dvm.magpy_capture.events.flow_events import FlowEvents
    from dvm.magpy_capture.events.generators import Generators
    from dvm.magpy_capture.events.lookups import Lookups
    from dvm.magpy_capture.events.methods import Methods
    from dvm.magpy_capture.events.operator_events import OperatorEvents
    from dvm.magpy_capture.events.pattern_events import PatternEvents
    from dvm.magpy_capture.events.recorded import Events
    from dvm.magpy_capture.events.walk import Walk
    from dvm.magpy_capture.library import Library
    from dvm.magpy_capture.loops.lent import LentArrays
    from dvm.magpy_capture.loops.lists import LoopLists
    from dvm.magpy_capture.loops.rolling import Loops
    from dvm.magpy_capture.loops.written_beside import WrittenBeside
    from dvm.magpy_capture.lowering import Lowering
    from dvm.magpy_capture.numpy.array_attributes import ArrayAttributes
    from dvm.magpy_capture.numpy.array_classes import ArrayClasses
    from dvm.magpy_capture.numpy.conversions import NumpyFunctions
    from dvm.magpy_capture.numpy.fancy_indexing import FancyIndexing
    from dvm.magpy_capture.numpy.host_arrays import HostArrays
    from dvm.magpy_capture.numpy.k_order import KOrder
    from dvm.magpy_capture.numpy.ordered_folds import OrderedFolds
    from dvm.magpy_capture.numpy.per_element import PerElement
    from dvm.magpy_capture.numpy.picks import NumpyPicks
    from dvm.magpy_capture.numpy.products import NumpyProducts
    from dvm.magpy_capture.numpy.promotion import Promotion
    from dvm.magpy_capture.numpy.reductions import Reductions
    from dvm.magpy_capture.numpy.shapes import Shapes
    from dvm.magpy_capture.numpy.ufunc_methods import UfuncMethods
    from dvm.magpy_capture.numpy.ufuncs import Ufuncs
    from dvm.magpy_capture.numpy.written_arguments import WrittenArguments
    from dvm.magpy_capture.numpy.written_places import WrittenPlaces
    from dvm.magpy_capture.path.graphs import Graphs
    from dvm.magpy_capture.path.ledger import Ledger
    from dvm.magpy_capture.path.program import Program
    from dvm.magpy_capture.python.annotated import AnnotatedCalls
    from dvm.magpy_capture.python.caches import Caches
    from dvm.magpy_capture.python.containers import Containers
    from dvm.magpy_capture.python.contexts import Contexts
    from dvm.magpy_capture.python.counters import Counters
    from dvm.magpy_capture.python.deep_copies import DeepCopies
    from dvm.magpy_capture.python.deques import Deques
    from dvm.magpy_capture.python.exceptions import Exceptions
    from dvm.magpy_capture.python.functions import PythonFunctions
    from dvm.magpy_capture.python.heap import Objects
    from dvm.magpy_capture.python.heaps import Heaps
    from dvm.magpy_capture.python.host_operations import HostOperations
    from dvm.magpy_capture.python.instances import Instances
    from dvm.magpy_capture.python.iterators import Iterators
    from dvm.magpy_capture.python.lengths import Lengths
    from dvm.magpy_capture.python.list_changes import ListChanges
    from dvm.magpy_capture.python.local_classes import LocalClasses
    from dvm.magpy_capture.python.locks import Locks
    from dvm.magpy_capture.python.made_lists import MadeLists
    from dvm.magpy_capture.python.opaque import Opaque
    from dvm.magpy_capture.python.open_lists import OpenLists
    from dvm.magpy_capture.python.outputs import Outputs
    from dvm.magpy_capture.python.package_objects import PackageObjects
    from dvm.magpy_capture.python.randoms import Randoms
    from dvm.magpy_capture.python.sets import Sets
    from dvm.magpy_capture.python.sorting import Sorting
    from dvm.magpy_capture.python.varying import Varying
    from dvm.magpy_capture.tensors.arrays import Arrays
    from dvm.magpy_capture.tensors.contractions import Contractions
    from dvm.magpy_capture.tensors.elementwise import Elementwise
    from dvm.magpy_capture.tensors.indexing import Indexing
    from dvm.magpy_capture.tensors.layouts import Layouts
    from dvm.magpy_capture.tensors.maybe_views import MaybeViews
    from dvm.magpy_capture.tensors.reduced_axes import ReducedAxes
    from dvm.magpy_capture.tensors.shared_memory import SharedMemory
    from dvm.magpy_capture.tensors.writes import Writes
    from dvm.magpy_capture.tensors.written_parts import WrittenParts


class Part:
    """A part of the lowering of one recording.

    It is handed those of the other parts that it names in `needs`, when all are made, and no more
    (lowering.py; tests/py/test_parts.py).
    """

    needs: ClassVar[str] = ""

    ledger: Ledger
    program: Program
    graph: Graphs
    updates: WrittenParts
    views: MaybeViews
    arrays: Arrays
    layouts: Layouts
    writes: Writes
    elementwise: Elementwise
    reduced_axes: ReducedAxes
    promotion: Promotion
    k_order: KOrder
    heap: Objects
    memory: SharedMemory
    instances: Instances
    host_operations: HostOperations
    indexing: Indexing
    containers: Containers
    sets: Sets
    copies: DeepCopies
    python: PythonFunctions
    iterators: Iterators
    deques: Deques
    lengths: Lengths
    caches: Caches
    sorting: Sorting
    varying: Varying
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
    list_changes: ListChanges
    made_lists: MadeLists
    open_lists: OpenLists
    opaque: Opaque
    per_element: PerElement
    written_arguments: WrittenArguments
    exceptions: Exceptions
    local_classes: LocalClasses
    locks: Locks
    contexts: Contexts
    outputs: Outputs
    annotated: AnnotatedCalls
    packages: PackageObjects
    randoms: Randoms
    calls: Calls
    methods: Methods
    lookups: Lookups
    lent: LentArrays
    loop_lists: LoopLists
    written_beside: WrittenBeside
    loops: Loops
    recorded: Events
    callees: Callees
    operators: OperatorEvents
    flow: FlowEvents
    patterns: PatternEvents
    callbacks: Callbacks
    generators: Generators
    walk: Walk
    library: Library
    lowering: Lowering


__all__ = ["Part"]
