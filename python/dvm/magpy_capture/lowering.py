"""One recording on its way to a path: the parts that lower it, and what they are handed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
from dvm.magpy_capture.loops.gathering import gather
from dvm.magpy_capture.loops.known import KnownLoops
from dvm.magpy_capture.loops.lent import LentArrays
from dvm.magpy_capture.loops.lists import LoopLists
from dvm.magpy_capture.loops.rolling import Loops
from dvm.magpy_capture.loops.written_beside import WrittenBeside
from dvm.magpy_capture.meanings import Meaning
from dvm.magpy_capture.numpy import averages as numpy_averages
from dvm.magpy_capture.numpy import differences as numpy_differences
from dvm.magpy_capture.numpy import einsum as numpy_einsum
from dvm.magpy_capture.numpy import errstate as numpy_errstate
from dvm.magpy_capture.numpy import joins as numpy_joins
from dvm.magpy_capture.numpy import moves as numpy_moves
from dvm.magpy_capture.numpy import nan as numpy_nan
from dvm.magpy_capture.numpy import norms as numpy_norms
from dvm.magpy_capture.numpy import questions as numpy_questions
from dvm.magpy_capture.numpy import ranges as numpy_ranges
from dvm.magpy_capture.numpy import writes as numpy_writes
from dvm.magpy_capture.numpy.array_attributes import ArrayAttributes
from dvm.magpy_capture.numpy.array_classes import ArrayClasses
from dvm.magpy_capture.numpy.conversions import NumpyFunctions
from dvm.magpy_capture.numpy.fancy_indexing import FancyIndexing
from dvm.magpy_capture.numpy.host_arrays import HostArrays
from dvm.magpy_capture.numpy.k_order import KOrder
from dvm.magpy_capture.numpy.library import NUMPY
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
from dvm.magpy_capture.part import Part
from dvm.magpy_capture.path.graphs import Graphs, Modes
from dvm.magpy_capture.path.ledger import Ledger
from dvm.magpy_capture.path.program import Program
from dvm.magpy_capture.path.spec import PathSpec
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
from dvm.magpy_capture.python.varying import KnownValues, Varying
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


@dataclass
class Findings:
    """What lowerings of the recording that were given up have found out.

    whole: ids of functions of NumPy that are called as they are.
    on_host: ids of arrays of which no view may be in the graph.
    joint: ids of arrays that are views of another.
    unrolled: first events of loops that are not rolled.
    copied: first events of loops that are given copies, for what they would write is read behind.
    told_apart: first events of loops of which it matters which arrays came out.
    """

    whole: set[int] = field(default_factory=set)
    on_host: set[int] = field(default_factory=set)
    joint: set[int] = field(default_factory=set)
    unrolled: set[int] = field(default_factory=set)
    copied: set[int] = field(default_factory=set)
    told_apart: set[int] = field(default_factory=set)


def first_snapshots(nodes: list[Any]) -> dict[int, Any]:
    """What containers held when they were first seen, and arrays as they came; by their ids."""
    snapshots: dict[int, Any] = {}
    for node in nodes:
        if node[5] is not None:
            snapshots.setdefault(id(node[4]), node[5])
    return snapshots


class Lowering:
    """The parts by name. Each is handed those of them that its class names, and no more."""

    program: Program
    ledger: Ledger
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
    list_changes: ListChanges
    made_lists: MadeLists
    open_lists: OpenLists
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

    def __init__(
        self,
        spec: PathSpec,
        recording: dict[str, Any],
        function: Any,
        modes: Modes,
        found: Findings,
        deadline: float,
        has_paths: bool,
        loops: KnownLoops,
        varying: KnownValues,
    ) -> None:
        if "snapshots" not in recording:
            gather(recording)
            recording["snapshots"] = first_snapshots(recording["nodes"])
        given: dict[str, tuple[Any, ...]] = {
            "program": (spec, deadline),
            "graph": (modes,),
            "heap": (dict(recording["snapshots"]),),
            "memory": (found.joint,),
            "host_arrays": (found.on_host,),
            "caches": (has_paths,),
            "outputs": (function,),
            "recorded": (recording, function.__builtins__, found.whole),
            "callbacks": (recording["events"], recording.get("begin", 0)),
            "lent": (recording.get("variables"),),
            "loop_lists": ("begin" in recording,),
            "written_beside": ("begin" in recording,),
            "loops": (recording, function, found.unrolled, found.copied, found.told_apart, loops),
            "varying": (varying, "begin" in recording),
        }
        parts = vars(self)
        for name, kind in PARTS.items():
            parts[name] = kind(*given.get(name, ()))
        handed = {**parts, "lowering": self, "library": NUMPY}
        for name, part in parts.items():
            vars(part).update((need, handed[need]) for need in NEEDS[name])

    def holder(self, meaning: Meaning) -> Any:
        """What the meaning of a function is given first: its part, or all of them."""
        name = HOLDERS.get(meaning)
        return self if name is None else getattr(self, name)

    def handler(self, kind: str) -> Any:
        """What lowers events of that kind."""
        name, method = HANDLERS[kind]
        return getattr(getattr(self, name), method)

    def close(self) -> None:
        """The parts refer to each other: nothing of the call stays alive by that."""
        for part in vars(self).values():
            vars(part).clear()
        vars(self).clear()


PARTS: dict[str, type[Part]] = {
    name: globals()[kind] for name, kind in Lowering.__annotations__.items()
}
#: part -> the parts that it is handed
NEEDS: dict[str, list[str]] = {name: kind.needs.split() for name, kind in PARTS.items()}
#: meaning of a function -> the part that has it, if it is a method of one
HOLDERS: dict[Meaning, str] = {
    value: name for name, kind in PARTS.items() for value in vars(kind).values() if callable(value)
}
#: Their functions are registered when they are imported.
FUNCTIONS = (
    numpy_averages,
    numpy_differences,
    numpy_einsum,
    numpy_errstate,
    numpy_joins,
    numpy_moves,
    numpy_nan,
    numpy_norms,
    numpy_questions,
    numpy_ranges,
    numpy_writes,
)
#: kind of a recorded event -> the part that lowers it, and its method
HANDLERS: dict[str, tuple[str, str]] = {
    method.removeprefix("on_"): (name, method)
    for name, kind in PARTS.items()
    for method in vars(kind)
    if method.startswith("on_")
}

__all__ = ["Findings", "Lowering"]
