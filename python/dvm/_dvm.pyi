"""Types of the native extension (cpp/bindings). Use the package dvm, not this module."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Generic, Literal, ParamSpec, TypedDict, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dvm.compiled import Stats
from dvm.compiling import Options
from dvm.explaining.lines import Answers
from dvm.explaining.why_not_fused import Separation
from dvm.explaining.why_recompiled import Recompilation
from dvm.magpy_capture.loops.histories import LoopHistories
from dvm.reasons import Reason
from dvm.splitting.compiled_parts import Cut
from dvm.torch.modules import Captured

_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)
_Location = tuple[str, int]

__version__: str
can_capture: bool

# Tables, so that Python repeats no list of the core's.
ufunc_table: list[tuple[str, str]]  # op, ufunc
# Of the ops that are no comparisons: arity, dtypes of the operands, whether the result is bool.
ufunc_rules: dict[str, tuple[int, tuple[str, ...], bool]]
numeric_ops: frozenset[str]
view_ops: frozenset[str]
target_cores: dict[str, tuple[int, int]]  # vector and cube cores of a chip
fp_flags: dict[str, int]  # name in np.geterr(): bit
tied_zeros_flag: int  # as one of them: an extreme may be either of two zeros
dtype_table: list[tuple[str, str]]  # NumPy name, spelling in text
target_names: list[str]
error_table: list[tuple[str, str, str, str]]  # code, class, row, hint

class Error(Exception):
    code: str
    hint: str
    location: str

class FormatError(Error): ...
class GraphError(Error): ...
class ShapeError(Error): ...
class DtypeError(Error): ...
class UnsupportedError(Error): ...
class SimulationError(Error): ...
class HostCallError(Error): ...
class CaptureError(Error): ...
class InternalError(Error): ...

@final
class Compiled(Generic[_P, _R]):
    """A function made by dvm.compile."""

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: object, owner: type | None = ..., /) -> Callable[..., _R]: ...
    @property
    def __wrapped__(self) -> Callable[_P, _R]: ...
    __name__: str
    __qualname__: str
    __module__: str
    # Set by dvm.compile and dvm.compiled.
    given: Callable[_P, _R]
    options: Options
    label: str
    recorded: dict[str, dict[str, int]]
    parts: tuple[Callable[..., Any], ...] | None
    cut: Cut | Captured | None  # how it came to its parts
    moved_from: Cut | None  # it is a part that a Cut moved out of another
    loops: LoopHistories
    def save(self, path: str | PathLike[str]) -> Callable[_P, None]: ...
    @property
    def stats(self) -> Stats: ...
    @property
    def fallback_reasons(self) -> list[str]: ...
    def inspect(self, stage: str, *args: _P.args, **kwargs: _P.kwargs) -> str: ...
    def why_recompiled(self) -> Answers[Recompilation]: ...
    def why_not_fused(self, a: str | int, b: str | int) -> Answers[Separation]: ...

class DecisionRecord(TypedDict):
    what: str
    verdict: str
    rule: str
    reason: str
    cost: float
    location: str
    graph: int  # of the path's graphs, which one it is about

class OpaqueRecord(TypedDict):
    name: str
    location: str

class CutRecord(TypedDict):
    step: str
    callee: str
    location: str

class PathRecord(TypedDict):
    hits: int
    reason: Reason | Literal[""]
    location: str
    steps: str
    # Of a compiled path (empty reason) only:
    target: str
    graph: str
    plan: str
    opaque_calls: list[OpaqueRecord]
    cuts: list[list[CutRecord]]  # for each graph, the steps since the one before
    decisions: list[DecisionRecord]
    passes: list[tuple[str, int, str]]  # name, nanoseconds, text

class MissRecord(TypedDict):
    step: str
    what: str
    wanted: str
    seen: str
    text: str
    code: str  # of a drop: a key of dvm.explaining.advice.DROPS
    location: str

class EventRecord(TypedDict):
    kind: str  # "capture", "fallback" or "drop"
    path: int
    call: int
    count: int
    missed: list[MissRecord]

def set_lower(
    hook: Callable[[Compiled[..., Any], dict[str, Any], tuple[Any, ...], int], Any],
) -> None: ...
def compile(function: Callable[_P, _R]) -> Compiled[_P, _R]: ...
def stats(compiled: Compiled[..., Any]) -> dict[str, int]: ...
def begin_part() -> None: ...
def set_parts(
    compiled: Compiled[..., Any], parts: tuple[type | tuple[Callable[..., Any], int], ...] | None
) -> None: ...
def after_fork() -> None: ...
def refusal(compiled: Compiled[..., Any]) -> Reason | Literal[""]: ...
def limit(compiled: Compiled[..., Any]) -> Reason | Literal[""]: ...
def paths(compiled: Compiled[..., Any]) -> list[PathRecord]: ...
def explain_miss(compiled: Compiled[..., Any], *args: Any, **kwargs: Any) -> list[MissRecord]: ...
def history(compiled: Compiled[..., Any]) -> list[EventRecord]: ...
def set_observer(hook: Callable[[Compiled[..., Any], EventRecord], None] | None) -> None: ...
def timed_call(
    compiled: Compiled[..., Any], *args: Any, **kwargs: Any
) -> tuple[Any, dict[str, int]] | None: ...

step_table: list[tuple[str, str, str, str]]  # name, category, operands, synopsis

def call_each(callables: tuple[Callable[[], Any], ...]) -> tuple[Any, ...]: ...
def strides_decrease(tensor: Any) -> bool: ...
def may_overlap(one: Any, other: Any) -> bool: ...
def is_plain_tensor(tensor: Any) -> bool: ...
def capture_torch(
    tensor: type,
    parameter: type,
    elements_of: Callable[..., Any],
    is_grad_enabled: Callable[..., Any],
    quiet: tuple[Any, ...],
) -> None: ...
def layout(
    array: object,
) -> tuple[str, tuple[int, ...]]: ...  # class, axes from outermost to innermost
def repeated_axes(array: object) -> int: ...  # a bit per axis of stride 0 around one that moves
def is_overlapping(array: object) -> bool: ...  # its views may have another order than it says
def check_index(array: Any, key: Any, value: Any) -> None: ...  # raises where a write would
def distinct_places(array: Any, key: Any) -> tuple[Any, Any]: ...  # and which of them each is
def read_through(array: Any, key: Any, *writes: Any) -> Any: ...  # array[key], once written

MISSING: object  # in a guard: the name is absent

def own_attribute(
    object: object, name: str
) -> Any: ...  # in its own __dict__, which this does not make; or MISSING
def run_pass(name: str, options: str, text: str) -> str: ...
def pass_names() -> list[str]: ...
def thread_count() -> int: ...
def simd_level() -> str: ...
def may_raise(op: str, dtype: str) -> bool: ...  # a status flag, where the op makes that dtype
def region_members(graph: str, target: str) -> list[list[int]]: ...
def region_operands(graph: str, target: str) -> list[list[int]]: ...

# fused, rule, reason
def explain_pair(graph: str, target: str, a: int, b: int) -> tuple[bool, str, str]: ...
def reference(graph: str, *inputs: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]: ...
def assemble(text: str) -> bytes: ...
def disassemble(program: bytes) -> str: ...
def disassemble_launch(launch: bytes) -> list[str]: ...  # the Program, and those that follow it
def isa_markdown() -> str: ...
def ops_markdown() -> str: ...

# Watched calls and simulated time (cpp/bindings/bind_profile.cpp).
pipe_table: list[tuple[str, str, str, str]]  # name, the hardware's name, cores, synopsis

# dim and elements of it, or of a product "sums", rows and columns
_Tile = tuple[int, int] | tuple[Literal["sums"], int, int]

@final
class WatchedCall:
    wall: int  # nanoseconds
    lost: int
    spans: list[tuple[str, int, int, int, int, int]]  # what, step, thread, begin, end, tiles
    steps: list[dict[str, Any]]
    # step, bytecode, buffers, operations, bytes of operands
    programs: list[tuple[int, bytes, list[int], int, int]]
    def retile(
        self,
        label: int,
        target: str,
        *,
        tile: _Tile | None = None,
        cores: int = 0,
        local_bytes: int = 0,
    ) -> tuple[list[tuple[bytes, list[int]]], list[dict[str, Any]]]: ...
    def sizes(self, path: int, segment: int) -> dict[str, int]: ...  # of symbols

def watch_call(
    f: Callable[..., Any],
    graphs: Sequence[CompiledGraph | TorchGraph],
    keeps: bool,
    room: int,
    *args: Any,
    **kwargs: Any,
) -> tuple[Any, WatchedCall]: ...

# Simulations of this thread within it tell how far they are, about every .05 s: what is done
# ("tiles", "operations"), how many are, and of how many. Signals are minded.
class Pace:
    def __init__(self, tell: Callable[[str, int, int], object]) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: object) -> None: ...

def time_programs(
    programs: Sequence[tuple[bytes, list[int]]],
    target: str,
    overrides: Mapping[str, float] = ...,
    events: bool = ...,
    verified: bool = ...,
    stacked: set[int] = ...,
) -> list[dict[str, Any]]: ...

# regions (name, members, operands, programs, tilings), what is assumed, and nanoseconds
def fuse_otherwise(
    graph: str,
    target: str,
    sizes: Mapping[str, int],
    *,
    together: list[tuple[int, int]] = ...,
    apart: list[tuple[int, int]] = ...,
    tiles: Mapping[int, _Tile] = ...,
) -> dict[str, Any]: ...

# name, value, origin, synopsis
def timing_table(
    target: str, overrides: Mapping[str, float] = ...
) -> list[tuple[str, float, str, str]]: ...

# Policies of the process (cpp/bindings/bind_policies.cpp).
stances: list[tuple[str, str]]  # name, what it means
log_topics: list[tuple[str, str]]  # of the driver: name, what it prints

class Policy:
    """cpp/capture/policy.h, of what is bought beside captures; in nanoseconds."""

    def may_capture(self, expected: int) -> bool: ...
    def wants_plain(self) -> bool: ...
    def plain(self, nanos: int) -> None: ...

def stance() -> str: ...
def set_stance(name: str) -> str: ...
def set_thread_stance(name: str | None) -> str | None: ...
def enable_logs(topics: list[str]) -> None: ...
def send_logs_to(hook: Callable[[str, str], None]) -> None: ...

class Dim:
    """A symbolic size."""

    def __add__(self, other: Dim | int) -> Dim: ...
    def __radd__(self, other: Dim | int) -> Dim: ...
    def __sub__(self, other: Dim | int) -> Dim: ...
    def __rsub__(self, other: Dim | int) -> Dim: ...
    def __mul__(self, other: Dim | int) -> Dim: ...
    def __rmul__(self, other: Dim | int) -> Dim: ...
    def __floordiv__(self, other: Dim | int) -> Dim: ...
    def __mod__(self, other: Dim | int) -> Dim: ...
    def bcast(self, other: Dim | int) -> Dim: ...
    def max(self, other: Dim | int) -> Dim: ...
    def min(self, other: Dim | int) -> Dim: ...
    def evaluate(self, values: dict[str, int]) -> int: ...
    @property
    def constant(self) -> int | None: ...
    @property
    def terms(self) -> tuple[tuple[int, tuple[Dim, ...]], ...]: ...
    @property
    def symbol(self) -> str | None: ...
    @property
    def function(self) -> tuple[str, Dim, Dim] | None: ...
    @property
    def is_polynomial(self) -> bool: ...
    @property
    def is_natural(self) -> bool: ...

class Module:
    """Functions, data types, and a graph that uses them."""

class CompiledGraph:
    """The native half of dvm.CompiledGraph."""

    def __init__(
        self,
        graph: str | Graph | Module,
        *,
        target: str = ...,
        numerics: str = ...,
        precision: str = ...,
        checks: Sequence[tuple[str, str, str]] = ...,
        functions: Mapping[str, Callable[..., Any]] = ...,
        constants: Mapping[str, Any] = ...,
        types: Mapping[str, type] = ...,
    ) -> None: ...
    def __call__(self, *arguments: Any) -> tuple[NDArray[Any], ...]: ...
    def describe(self) -> PathRecord: ...  # the graph as a path of its own
    def save(
        self,
        path: bytes,
        *,
        target: str,
        numerics: str,
        precision: str,
        checks: Sequence[tuple[str, str, str]],
        inputs: Sequence[str],
        results: Sequence[str],
    ) -> None: ...
    @property
    def arguments(self) -> list[tuple[str, str, str]]: ...  # kind, dtype and sizes
    @property
    def results(self) -> list[tuple[str, str, str]]: ...
    @property
    def types(self) -> dict[str, type]: ...
    @property
    def plan(self) -> str: ...
    @property
    def target(self) -> str: ...

# settings, the graph, its constants by name, and sections: kind, offset, size
OpenedGraph = tuple[dict[str, Any], Module, dict[str, NDArray[Any]], list[tuple[str, int, int]]]

def open_graph(path: bytes, name: str, check: bool) -> OpenedGraph: ...
def use_torch(
    tensor: type, parameter: type, forward_mode: ModuleType, examples: Iterable[Any]
) -> None: ...
def use_placement(place_copy: Callable[[Any, tuple[int, ...], int], Any]) -> None: ...
def forget_packed(tensors: Iterable[Any]) -> None: ...
def use_profiler(module: ModuleType, record_function: type) -> None: ...

# axes, the outermost first, of what has no gaps; or strides and the offset, None: a call tells
_Layout = tuple[Sequence[int], Sequence[int | None]]

class TorchGraph:
    """A graph compiled for tensors of torch; a call takes one list and empties it."""

    record: Any  # a dvm.torch.GraphRecord
    def __init__(
        self,
        graph: Graph,
        *,
        target: str,
        strict: bool,
        precision: str,
        threads: int,
        functions: Mapping[str, tuple[Callable[..., Any], Sequence[_Layout | None]]],
        arguments: Sequence[tuple[str, int]],
        results: Sequence[tuple[str, int, Sequence[int], _Layout | None]],
        returned: int | None,
        written: Sequence[int],
        held: Sequence[Any],
        frozen: Sequence[int],
        label: str,
        otherwise: Callable[[tuple[Any, ...], str], list[Any]],
    ) -> None: ...
    def __call__(self, arguments: list[Any], /) -> list[Any]: ...
    def describe(self) -> PathRecord: ...  # the graph as a path of its own
    @property
    def target(self) -> str: ...
    def stats(self) -> dict[str, Any]: ...
    @property
    def plan(self) -> str: ...

class Graph:
    """A graph under construction; values are node numbers."""

    outputs: list[int]
    def unused(self) -> list[str]: ...
    def __init__(self) -> None: ...
    def symbol(self, name: str, lo: int = 0, hi: int = ...) -> Dim: ...
    def size(self, n: int) -> Dim: ...
    def locate(self, first: int, at: _Location) -> None: ...
    def __len__(self) -> int: ...
    def input(self, dtype: str, shape: Sequence[Dim | int], at: _Location = ...) -> int: ...
    def scalar(self, dtype: str, at: _Location = ..., size: Dim | None = ...) -> int: ...
    def constant(self, dtype: str, value: float, at: _Location = ...) -> int: ...
    def dim_value(self, dtype: str, size: Dim, at: _Location = ...) -> int: ...
    def tensor(self, dtype: str, values: NDArray[Any], at: _Location = ...) -> int: ...
    def named_tensor(
        self, dtype: str, shape: Sequence[Dim | int], name: str, at: _Location = ...
    ) -> int: ...
    def elementwise(self, op: str, inputs: Sequence[int], at: _Location = ...) -> int: ...
    def cast(self, value: int, dtype: str, at: _Location = ...) -> int: ...
    def broadcast(self, value: int, shape: Sequence[Dim | int], at: _Location = ...) -> int: ...
    def reduce(self, op: str, value: int, axes: Sequence[int], at: _Location = ...) -> int: ...
    def matmul(self, a: int, b: int, dtype: str, at: _Location = ...) -> int: ...
    def attention(
        self,
        inputs: Sequence[int],
        scale: float = ...,
        fill: float = ...,
        causal: Dim | int | None = ...,
        at: _Location = ...,
    ) -> int: ...
    def reshape(self, value: int, shape: Sequence[Dim | int], at: _Location = ...) -> int: ...
    def transpose(self, value: int, axes: Sequence[int], at: _Location = ...) -> int: ...
    def slice(
        self,
        value: int,
        starts: Sequence[Dim | int],
        steps: Sequence[int],
        shape: Sequence[Dim | int],
        at: _Location = ...,
    ) -> int: ...
    def empty(self, dtype: str, shape: Sequence[Dim | int], at: _Location = ...) -> int: ...
    def update(
        self,
        value: int,
        part: int,
        starts: Sequence[Dim | int],
        steps: Sequence[int],
        at: _Location = ...,
    ) -> int: ...
    def iota(
        self, dtype: str, shape: Sequence[Dim | int], axis: int = 0, at: _Location = ...
    ) -> int: ...
    def along(
        self, op: str, inputs: Sequence[int], axis: int, with_op: str = "", at: _Location = ...
    ) -> int: ...
    def compress(
        self, a: int, mask: int, axis: int, size: Dim | int, at: _Location = ...
    ) -> int: ...
    def nonzero(self, mask: int, size: Dim | int, at: _Location = ...) -> int: ...
    def body(self) -> Graph: ...
    def loop(
        self,
        body: Graph,
        *,
        carried: Sequence[int],
        used: Sequence[int] = ...,
        count: Dim | int | None = ...,
        trips: Dim | None = ...,
        at: _Location = ...,
    ) -> list[int]: ...
    def branch(
        self,
        condition: int,
        then: Graph,
        otherwise: Graph,
        used: Sequence[int] = ...,
        at: _Location = ...,
    ) -> list[int]: ...
    def leave(self, condition: int, carried: Sequence[int], at: _Location = ...) -> int: ...
    def extract(
        self, inputs: Sequence[int], outputs: Sequence[int]
    ) -> tuple[Graph, list[int], list[str]]: ...
    def call(
        self,
        callee: str,
        inputs: Sequence[int],
        dtype: str,
        shape: Sequence[Dim | int],
        at: _Location = ...,
        into: bool = ...,
        results: int = ...,
        sizes: Sequence[Dim | int] = ...,
        numbers: int = ...,
        fresh: bool = ...,
    ) -> int: ...
    def result(
        self,
        call: int,
        index: int,
        dtype: str,
        shape: Sequence[Dim | int],
        at: _Location = ...,
    ) -> int: ...
    def inputs_of(self, values: Sequence[int]) -> list[int]: ...
    def shape(self, value: int) -> list[Dim]: ...
    def dtype(self, value: int) -> str: ...

# Loops and recursive functions of captured functions (cpp/capture/replay/subroutine.h).
class Subroutine: ...

def new_loop(variables: int, carried: list[int], at_end: list[int], end: int) -> Subroutine: ...
def new_recursion(parameters: int) -> Subroutine: ...
def take_missed(recursion: Subroutine) -> bool: ...  # whether the last run went no known way
def add_way(body: Subroutine, spec: Any) -> bool: ...  # whether it is compiled to its end
def ways_of(body: Subroutine) -> list[PathRecord]: ...  # one for each way that turns go
def loop_changed(loop: Subroutine) -> None: ...
def watch_count(loop: Subroutine) -> None: ...  # whether all calls have as many turns
def loop_is_steady(loop: Subroutine) -> bool: ...  # so many of them had that the next ones will

# version, missed_turn, paths, turns_of_numbers, turns_replayed
def loop_state(loop: Subroutine) -> dict[str, int]: ...
def loop_replayed_at(loop: Subroutine) -> str | None: ...  # the line for which turns are replayed

# events that open or close frames and loops; that lay arrays out anew; nodes with a snapshot
def index_recording(
    nodes: list[Any], events: list[Any]
) -> tuple[list[int], list[int], list[int]]: ...

class TurnNodes:  # what a turn of a recorded loop uses (cpp/capture/record/turn_nodes.h)
    outside: int  # a node it uses that is none of its own; -1: none
    def __init__(
        self, nodes: list[Any], events: list[Any], begin: int, end: int, given: list[int]
    ) -> None: ...
    def is_inside(self, node: int) -> bool: ...
    def first(self, node: int) -> int: ...

# own shape, and those of turns of the rolled loops within, which have these variables; called: of
# activations that are steps, the first events and the last ones
def shape_of_turn(
    nodes: list[Any],
    events: list[Any],
    begin: int,
    end: int,
    rolled: dict[int, tuple[str, ...]],
    called: dict[int, int],
) -> tuple[int, set[int]]: ...

# The recorder (cpp/capture/record/recorder.h). What recordings hold: cpp/core/graph/recording.def.
UNSEEN: object  # an empty slot of the interpreter, in what peek returns

class Dropped:
    """Stands in a recording for an object that the program has dropped, and the recording, too."""

def record(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> dict[str, Any]: ...
def set_leaf_packages(names: list[str]) -> None: ...
def set_trampolines(pairs: list[tuple[Callable[..., Any], Callable[[Any], Any]]]) -> None:
    """Functions of which a recording leaves the body out, and what says where a call of one leads.

    What says so is asked of the first argument: a function of Python, or None where the body has
    more to do than to call that.
    """

def set_leaves(callables: Iterable[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """Make these callables single events of a recording; returns those that were."""

def is_leaf(callable: object) -> bool: ...
def asked_by_exit(code: CodeType) -> tuple[str, ...]: ...
def peek(frame: FrameType) -> tuple[FunctionType, tuple[Any, ...], tuple[Any, ...]]: ...

# The pool of buffers (cpp/runtime/memory/buffer_pool.h).
def memory_stats() -> dict[str, int]: ...

class FrozenBytes:
    def __init__(self, bytes: Any) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

def fail_at(number: int) -> int: ...
def set_cache_limit(bytes: int) -> int: ...
def trim_memory(bytes: int) -> None: ...

# The constants of the cost model (cpp/vm/target/cost.def).
def cost_table() -> list[tuple[str, float, float, str]]: ...  # name, default, in use, synopsis
def use_calibration(text: str) -> bool: ...  # whether it is of this machine
def reset_costs() -> None: ...
def calibrate() -> str: ...
