"""The graph of one path, and how its values reach the host.

All tensor operations of the path go into one graph. When a value is needed outside of it (a
branch, an opaque call, the result), the part that computes it becomes a *segment*: a graph of its
own, which the native core compiles into one Plan. Values of earlier segments that later ones need
are handed on as arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.libraries import LIBRARIES, is_array, library_of
from dvm.magpy_capture.library import DTYPES, Array, Library
from dvm.magpy_capture.path import numbers
from dvm.magpy_capture.path.layer import PathPart
from dvm.magpy_capture.path.spec import refuse

#: name of a dtype as libraries of arrays have it -> name in the graph


#: Ops that are made again in every segment that needs them: they cost nothing.
FREE = frozenset({"constant", "dim", "scalar", "broadcast", "reshape", "transpose", "slice"})
#: Ops with checks at run time, which must happen even if nothing uses the result.
CHECKED = frozenset(
    {"broadcast", "reshape", "slice", "max", "min", "nanmax", "nanmin", "argmax", "argmin"}
    | {"gather", "take_along", "update", "fold_at", "scatter", "put_along", "compress", "nonzero"}
)

#: Steps that a segment whose results they do not read may as well follow.
MOVABLE = frozenset({"constant", "shape", "operator"})
#: How many of them, and how many results of one segment: a kernel has no more arrays either.
REACH = 32

#: Reductions whose result may be either of two zeros.
EXTREMES = frozenset({"max", "min", "nanmax", "nanmin", "max_or_lowest", "min_or_highest"})

#: of np.geterr(): its bit in what a replay is told to look at
FLAG_BITS = _dvm.fp_flags
#: of np.geterr(), in its order, and the modes in which somebody is told
ERRORS = ("divide", "over", "under", "invalid")
TOLD = ("warn", "raise", "call", "print", "log")

Modes = tuple[str, str, str, str]  # of np.geterr(): divide, over, under, invalid
SILENT: Modes = ("ignore", "ignore", "ignore", "ignore")


may_raise = functools.cache(_dvm.may_raise)


@dataclass
class Segment:
    """A part of the graph that runs as one Plan."""

    modes: Modes
    outputs: list[tuple[int, int, str, Any]] = field(default_factory=list)  # value, register, ...
    inputs: list[int] = field(default_factory=list)
    flags: int = 0  # that drop a replay
    only_warns: int = 0  # those of which nothing is seen where warnings are ignored
    # register of an output -> of the caller's array that it may be written into at once
    targets: dict[int, int] = field(default_factory=dict)


class Graphs(PathPart):
    """The path's graph with value numbering, and its segments."""

    needs = "program settled varying"

    def __init__(self, modes: Modes) -> None:
        self.native = _dvm.Graph()
        self.array_library: Library = LIBRARIES[0]  # of all its arrays
        self.shape = self.native.shape  # of a value
        self.dtype = self.native.dtype
        self.modes = self._outer_modes = modes
        self.asked_modes = False  # whether the path says what they are
        self._symbols = 0
        self.ops: list[tuple[str, tuple[int, ...]]] = []  # by value
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._fallible: list[int] = []
        self._segment_of: dict[int, Segment] = {}
        self._input_of: dict[str, int] = {}  # symbol -> the input value that has it as a size
        self._homes: dict[int, int] = {}  # value -> register of an array with it
        self._scalars: dict[int, int] = {}  # value of op scalar -> register of the number
        self.scalar_of_array: dict[int, int] = {}  # 0-d array -> the NumPy scalar it was made of
        self._made: dict[tuple[int, str, Any], int] = {}  # (value, kind, order) -> register
        self.empties = 0
        self.taken: set[int] = set()  # graph values whose memory belongs to one array
        self.unowned: set[int] = set()  # and those that have left with no array to belong to
        self.scalar_owners: dict[int, Any] = {}  # register of a NumPy scalar -> whose it is
        self.opaque_calls: list[tuple[str, Any]] = []
        self.broadcast_of: dict[_dvm.Dim, frozenset[_dvm.Dim]] = {}  # -> what it is broadcast from
        self.product_sizes: set[_dvm.Dim] = set()  # open ones of rows and columns of products
        self.symbol_values: dict[str, int] = {}  # in the recorded call
        # Of integers: an invalid operation has another value than NumPy's in any error state.
        self._undefined: set[int] = set()
        self.covered: set[int] = set()  # values that some segment computes
        self._shapeable: set[int] = set()
        self.scattered: set[int] = set()  # inputs whose elements do not lie densely
        self.literals: dict[int, Array] = {}  # value of op constant -> the library's scalar
        self.sets_filters = False  # of warnings, within the path
        self.initials: set[int] = set()  # arrays of the caller as they were at entry
        # Contents that the path has written over -> the first event of the loop that did, and the
        # loops of which something before them was read behind them.
        self.overwritten: dict[int, int] = {}
        self.read_late: set[int] = set()
        self._kept: set[int] = set()  # views of such contents that were copied in time

    # ---- nodes

    def node(
        self,
        op: str,
        inputs: SequenceOf[int],
        make: Callable[[], int],
        attributes: Iterable[Any] = (),
        arithmetic: str = "",
    ) -> int:
        """The value of an op; an equal one that exists is taken again.

        arithmetic: the op that it computes with, if that is another one.
        """
        key = (op, *inputs, *attributes)
        if key in self._numbers:
            return self._numbers[key]
        try:
            value = make()
        except _dvm.Error as error:  # an op, dtype or size that the core does not have
            raise refuse(reasons.CORE, error) from None
        self._record(op, tuple(inputs), value, arithmetic or op)
        self._numbers[key] = value
        return value

    def adopt(self, first: int) -> None:
        """Take in the nodes from this one on, which somebody else has appended."""
        for value in range(first, len(self.native)):
            op, inputs, *_ = _dvm.node_of(self.native, value)
            self._record(op, tuple(inputs), value)

    def _record(self, op: str, inputs: tuple[int, ...], value: int, arithmetic: str = "") -> None:
        while len(self.ops) <= value:
            self.ops.append((op, inputs))
        does, dtype = arithmetic or op, self.dtype(value)
        if does in ("cast", "power", "reciprocal") and dtype[0] != "f":
            self._undefined.add(value)
        if op in CHECKED or may_raise(does, dtype):
            self._fallible.append(value)

    def symbol(self) -> _dvm.Dim:
        self._symbols += 1
        return self.native.symbol(f"s{self._symbols - 1}")

    def size(self, n: int | _dvm.Dim) -> _dvm.Dim:
        if not isinstance(n, int):
            return n
        if not -numbers.MOST < n < numbers.MOST:
            raise refuse(reasons.SIZE, n)
        return self.native.size(n)

    def product(self, dims: Iterable[_dvm.Dim]) -> _dvm.Dim:
        total = self.native.size(1)
        for dim in dims:
            total = total * dim
        return total

    def input_value(
        self,
        register: int,
        array: Array,
        order: SequenceOf[int],
        sizes: SequenceOf[_dvm.Dim] | None = None,
    ) -> int:
        """The graph value of a host array in a register, its axes in order of memory.

        sizes: of its axes, where they are known; else each gets a symbol of its own.
        """
        self.meet(library_of(array))
        # `array` may stand for others of its kind
        kept: Any = self.settled.value_of(register) if self.settled.is_settled(register) else None
        is_settled = is_array(kept)
        if is_settled:
            sizes = [self.size(int(n)) for n in kept.shape]
        if sizes is None:
            symbols = {axis: self.symbol() for axis in order}
            stored = list(symbols.values())
        else:
            symbols, stored = {}, [sizes[axis] for axis in order]
        dtype = DTYPES[library_of(array).dtype_of(array)]
        if is_settled:
            name = self.settled.keep(register, kept, order)
            given = value = self.native.named_tensor(dtype, stored, name, at=self.program.at)
        else:
            given, value = self._given_value(register, dtype, stored, order)
        self._record("input", (), value)
        for axis, symbol in symbols.items():
            self.program.symbol_homes[str(symbol)] = (register, axis)
            self.symbol_values[str(symbol)] = array.shape[axis]
            self._input_of[str(symbol)] = given
        if list(order) != sorted(order):
            register = self.program.step(
                "call",
                self.program.constant(self.array_library.transpose),
                [register, self.program.constant(tuple(order))],
                (),
            )
        self._homes[value] = register
        return value

    def _given_value(
        self, register: int, dtype: str, stored: SequenceOf[_dvm.Dim], order: SequenceOf[int]
    ) -> tuple[int, int]:
        """An input, and its value; that of a file has its axes as the program does."""
        if not self.settled.is_saved or list(order) == sorted(order):
            given = self.native.input(dtype, stored, at=self.program.at)
            return given, given
        shape = [stored[order.index(axis)] for axis in range(len(order))]
        given = self.native.input(dtype, shape, at=self.program.at)
        self._homes[given] = register
        return given, self.native.transpose(given, list(order), at=self.program.at)

    def symbol_of_int(self, kind: str, register: int, seen: int, low: int) -> _dvm.Dim:
        """A symbol for the int in a register."""
        if abs(seen) >= numbers.MOST:
            raise refuse(reasons.SIZE, seen)
        if self.settled.is_settled(register):
            return self.native.size(seen)
        if self.settled.is_saved and not self.settled.is_given(register):
            size = numbers.size_of(self, register)
            if size is not None:
                return size
        for name, home in self.program.int_homes.items():
            if home == register:
                return self.program.int_dims[name]
        name = f"{kind}{len(self.program.int_homes)}"
        self.program.int_homes[name] = register
        self.symbol_values[name] = seen
        made = self.native.symbol(name, lo=low)
        self.program.int_sizes[register] = self.program.int_dims[name] = made
        return made

    def meet(self, library: Library) -> None:
        """A path has arrays of one library: its rules, and its arrays as results."""
        if library is self.array_library:
            return
        if self.ops:
            raise refuse(reasons.TWO_LIBRARIES, self.array_library.name, library.name)
        self.array_library = library
        if not library.tells_errors:
            self.modes = self._outer_modes = SILENT

    def scalar_value(self, dtype: str, register: int) -> int:
        """The number in a register, of rank 0."""
        if not self.settled.is_saved:
            return self.given_scalar(dtype, register)
        known = self.settled.value_of(register)
        if self.settled.is_settled(register) and known is not _dvm.MISSING:
            return self.constant_value(dtype, known)
        size = numbers.size_of(self, register) if dtype == "int64" else None
        if size is not None:
            return self.dim_value(dtype, size)
        double = numbers.double_of(self, register) if dtype == "float64" else None
        return self.given_scalar(dtype, register) if double is None else double

    def order_numbers(self) -> None:
        """Of a path for a file: its numbers are inputs by their place among the arguments."""
        given = [*self.settled.given()]
        arrays = [value for _, value in given if is_array(value)]
        if not arrays:
            return
        self.meet(library_of(arrays[0]))
        for register, value in given:
            if self.settled.name_of(register) in self.settled.pinned:
                continue
            if type(value) is float:
                self.given_scalar("float64", register)
            elif type(value) is int and abs(value) < numbers.MOST:
                self.symbol_of_int("k", register, value, -numbers.MOST)

    def given_scalar(self, dtype: str, register: int) -> int:
        def make() -> int:
            value = self.native.scalar(DTYPES[dtype], at=self.program.at)
            self._scalars[value] = register
            return value

        return self.node("scalar", (), make, (dtype, register))

    def constant_value(self, dtype: str, literal: Any) -> int:
        if dtype not in DTYPES:
            raise refuse(reasons.CONSTANT_DTYPE, dtype)
        try:
            typed = self.array_library.number(literal, dtype)
        except FloatingPointError as error:
            raise refuse(reasons.CONSTANT, error) from None
        value = self.node(
            "constant",
            (),
            lambda: self.native.constant(DTYPES[dtype], typed.item(), at=self.program.at),
            (dtype, typed.tobytes()),
        )
        if self.array_library.has_scalars:
            self.literals[value] = typed
        return value

    def dim_value(self, dtype: str, dim: _dvm.Dim) -> int:
        return self.node(
            "dim",
            (),
            lambda: self.native.dim_value(DTYPES[dtype], dim, at=self.program.at),
            (dtype, dim),
        )

    def elementwise_value(self, op: str, inputs: SequenceOf[int]) -> int:
        return self.node(
            op, inputs, lambda: self.native.elementwise(op, list(inputs), at=self.program.at)
        )

    def cast_value(self, value: int, dtype: str) -> int:
        if self.dtype(value) == DTYPES[dtype]:
            return value
        return self.node(
            "cast",
            (value,),
            lambda: self.native.cast(value, DTYPES[dtype], at=self.program.at),
            (dtype,),
        )

    def broadcast_value(self, value: int, shape: SequenceOf[_dvm.Dim]) -> int:
        if same_shape(self.shape(value), shape):
            return value
        return self.copy_value(value, shape)

    def copy_value(self, value: int, shape: SequenceOf[_dvm.Dim] | None = None) -> int:
        """The same elements as new memory (of a broadcast shape, when given)."""
        sizes = list(self.shape(value) if shape is None else shape)
        return self.node(
            "broadcast",
            (value,),
            lambda: self.native.broadcast(value, sizes, at=self.program.at),
            sizes,
        )

    def reduce_value(self, op: str, value: int, axes: list[int]) -> int:
        made = self.node(
            op, (value,), lambda: self.native.reduce(op, value, axes, at=self.program.at), axes
        )
        self._shapeable.add(made)
        return made

    def matmul_value(self, a: int, b: int, dtype: str) -> int:
        """The products of matrices of one shape but for the last two axes."""
        made = self.node(
            "matmul",
            (a, b),
            lambda: self.native.matmul(a, b, DTYPES[dtype], at=self.program.at),
            (dtype,),
        )
        self._shapeable.add(made)
        sizes = self.shape(made)[-2:]
        self.product_sizes.update(size for size in sizes if size.constant is None)
        return made

    def along_value(
        self, op: str, inputs: SequenceOf[int], axis: int, combined_by: str = ""
    ) -> int:
        """An op that works along one axis: argmax, gather ..., or scan and fold by another op."""
        made = self.node(
            op,
            inputs,
            lambda: self.native.along(op, list(inputs), axis, combined_by, at=self.program.at),
            (axis, combined_by),
            combined_by,
        )
        self._shapeable.add(made)
        return made

    def compress_value(self, value: int, mask: int, axis: int, size: _dvm.Dim) -> int:
        """The elements along an axis at which a mask is true, of which there are `size`."""
        made = self.node(
            "compress",
            (value, mask),
            lambda: self.native.compress(value, mask, axis, size, at=self.program.at),
            (axis, size),
        )
        self._shapeable.add(made)
        return made

    def nonzero_value(self, mask: int, size: _dvm.Dim) -> int:
        """Where a mask is true, which is so at `size` positions."""
        return self.node(
            "nonzero", (mask,), lambda: self.native.nonzero(mask, size, at=self.program.at), (size,)
        )

    def iota_value(self, dtype: str, size: _dvm.Dim) -> int:
        """0, 1, 2 ... of one axis."""
        return self.node(
            "iota",
            (),
            lambda: self.native.iota(DTYPES[dtype], [size], 0, at=self.program.at),
            (dtype, size),
        )

    def reshaped_node(self, value: int, shape: SequenceOf[_dvm.Dim]) -> int:
        if same_shape(self.shape(value), shape):
            return value
        sizes = list(shape)
        return self.node(
            "reshape",
            (value,),
            lambda: self.native.reshape(value, sizes, at=self.program.at),
            sizes,
        )

    def transpose_value(self, value: int, axes: SequenceOf[int]) -> int:
        order = list(axes)
        if order == sorted(order):
            return value
        return self.node(
            "transpose",
            (value,),
            lambda: self.native.transpose(value, order, at=self.program.at),
            order,
        )

    def sliced_node(
        self,
        value: int,
        starts: SequenceOf[_dvm.Dim],
        steps: SequenceOf[int],
        shape: SequenceOf[_dvm.Dim],
    ) -> int:
        return self.node(
            "slice",
            (value,),
            lambda: self.native.slice(
                value, list(starts), list(steps), list(shape), at=self.program.at
            ),
            (*starts, *steps, *shape),
        )

    @staticmethod
    def dtype_text(dtype: str) -> str:
        return DTYPES[dtype]

    # ---- segments

    def leave(self, value: int, kind: str = "array", order: tuple[int, ...] | None = None) -> int:
        """A register with the value as a host object.

        kind: "array", "numpy" (a NumPy scalar), "float", "int" or "bool" (of Python).
        order: its axes from outermost to innermost, where that is not C order.
        """
        key = (value, kind, order)
        if kind == "array":
            self._require_kept(value)
        if key not in self._made and value in self._homes and order is None:
            return self._home_as(self._homes[value], kind)
        if key not in self._made:
            segment = self._segment_of.get(value) or self._cut(value)
            register = self.program.register()
            place = None if order is None else tuple(order.index(a) for a in range(len(order)))
            segment.outputs.append((value, register, kind, place))
            self._made[key] = register
            if kind == "array" and place is None:
                self._homes[value] = register
        return self._made[key]

    def _require_kept(self, value: int) -> None:
        """Refuses what is, or is a view of, a content that is no more."""
        if not self.overwritten or value in self._kept:
            return
        loop = self.overwritten.get(self.root(value))
        if loop is not None:
            self.read_late.add(loop)
            self.require_none_late()

    def require_none_late(self) -> None:
        """Refuses a path that has read what it had written over: it is lowered again."""
        if self.read_late:
            raise refuse(reasons.LOOP_STATE, "an array that is read behind it as it was")

    def _home_as(self, register: int, kind: str) -> int:
        if kind == "array":
            return register
        scalar = self.scalar_of_array.get(register)
        if scalar is None:
            scalar = self.program.operate("getitem", register, self.program.constant(()))
        return scalar if kind == "numpy" else self.program.operate(kind, scalar)

    def root(self, value: int) -> int:
        """The value whose memory `value` is a view of."""
        while self.ops[value][0] in ("reshape", "transpose", "slice"):
            value = self.ops[value][1][0]
        return value

    def is_shapeable(self, value: int) -> bool:
        """Whether a Plan writes the value straight into another shape of it, if that leaves."""
        return value in self._shapeable or self.ops[value][0] in ("broadcast", "update")

    def home_of(self, value: int) -> int:
        """The register of an array that has the value."""
        return self._homes[value]

    def is_home(self, value: int) -> bool:
        return value in self._homes

    def is_anothers(self, value: int) -> bool:
        """Whether its memory is an array's that is not the path's alone."""
        root = self.root(value)
        return root in self._homes and root not in self.unowned

    def is_computed(self, value: int) -> bool:
        """Whether a segment has it already, so that another shape of it would be a view."""
        return value in self._segment_of

    def _cut(self, value: int) -> Segment:
        """The segment of all that `value` needs and no earlier one has computed.

        The latest one, if it can: results that do not wait for one another are one graph, which
        reads what they share once.
        """
        needed = self._needed(value)
        place = self._last_segment()
        if place is not None and self._may_join(place, value, needed):
            self.program.steps.move_to_end(place)
        else:
            flags, only_warns = self._flags(*TOLD), self._flags("warn")
            self.program.steps.append(
                ("segment", Segment(self.modes, flags=flags, only_warns=only_warns))
            )
        segment: Segment = self.program.steps[-1][1]
        for node in needed:
            if self._segment_of.get(node) is segment:
                continue
            if node in self._homes:
                self._require_kept(node)
                segment.inputs.append(node)
            elif node in self._segment_of:
                segment.inputs.append(node)
                if self.varying.in_turn and not self.shape(node):
                    self.leave(node, "numpy")  # for the next turn: Python would make it of that
                self.leave(node)
            elif self.ops[node][0] not in FREE:
                self._segment_of[node] = segment
        self._segment_of[value] = segment
        if needed & self._undefined and self.array_library.tells_errors:
            segment.flags |= FLAG_BITS["invalid"]  # NumPy has another result
            segment.only_warns &= ~FLAG_BITS["invalid"]
        if self.array_library.tells_errors and any(self._may_tie_zeros(node) for node in needed):
            segment.flags |= _dvm.tied_zeros_flag
        self.covered |= needed
        segment.inputs = sorted(set(segment.inputs))
        return segment

    def _may_tie_zeros(self, node: int) -> bool:
        """Whether NumPy's loops decide which of two zeros an extreme is."""
        return self.ops[node][0] in EXTREMES and self.dtype(node).startswith("f")

    def _needed(self, value: int) -> set[int]:
        """What computes `value`, back to what the host or a segment has already."""
        needed: set[int] = set()
        stack = [value]
        while stack:
            node = stack.pop()
            if node in needed:
                continue
            needed.add(node)
            if node not in self._homes and node not in self._segment_of:
                stack.extend(self.ops[node][1])
        return needed

    def _last_segment(self) -> int | None:
        """The place of a segment with nothing behind it but steps that only compute."""
        for place in range(
            len(self.program.steps) - 1, max(-1, len(self.program.steps) - REACH), -1
        ):
            name, operand, *_ = self.program.steps[place]
            if name == "segment":
                return place if len(operand.outputs) < REACH else None
            if name not in MOVABLE:
                break
        return None

    def _may_join(self, place: int, value: int, needed: set[int]) -> bool:
        """Whether nothing behind a segment, nor what computes `value`, reads its results.

        A view of what it computes stays apart: it is made of the array that leaves.
        """
        segment: Segment = self.program.steps[place][1]
        if segment.modes != self.modes or self._segment_of.get(self.root(value)) is segment:
            return False
        made = {register for _, register, *_ in segment.outputs}
        read = {self._scalars[node] for node in needed if node in self._scalars}
        read |= {
            self._homes[node]
            for node in needed
            if node in self._homes and self._segment_of.get(node) is not segment
        }
        read.update(self.program.int_homes.values())
        read.update(register for register, _ in self.program.symbol_homes.values())
        for step in self.program.steps[place + 1 :]:
            read.update(operand for operand in step[2:] if isinstance(operand, int))
        return not made & read

    def _flags(self, *modes: str) -> int:
        """The flags for which the error state has one of these modes at present."""
        return sum(
            FLAG_BITS[name] for name, mode in zip(ERRORS, self.modes, strict=True) if mode in modes
        )

    def compute_unused(self) -> None:
        """Compute what nothing used so far, if it can fail or raise a floating-point flag."""
        for value in self._fallible:
            if value in self.covered or value in self._homes:
                continue
            if self.ops[value][0] in ("reshape", "broadcast"):
                self._require_fit(value)
            else:
                self.leave(value)
        self._fallible.clear()

    def compute_pending(self) -> None:
        """Compute what the program has computed so far: what comes next looks at the clock.

        From the last value to the first, so that what others need becomes part of theirs.
        """
        for value in reversed(range(len(self.ops))):
            known = value in self.covered or value in self._homes
            if not known and self.ops[value][0] not in FREE | {"input"}:
                self.leave(value)
                self.unowned.add(value)

    def compute_readers(self, contents: set[int]) -> set[int]:
        """Compute what has been computed of these so far; all values that read them."""
        readers = set(contents)
        for value, (_, inputs) in enumerate(self.ops):
            if value not in self._segment_of and not readers.isdisjoint(inputs):
                readers.add(value)
        for value in sorted(readers, reverse=True):
            known = value in self.covered or value in self._homes
            if not known and self.ops[value][0] not in FREE:
                self.leave(value)
                self.unowned.add(value)
        return readers

    def keep(self, value: int) -> None:
        """Copy a view, for what reads it later."""
        self._homes[value] = self.leave(self.copy_value(value))
        self._kept.add(value)

    def put_segment_last(self) -> None:
        """Let the latest segment follow the steps behind it, if they do not read its results."""
        place = self._last_segment()
        if place is None:
            return
        made = {register for _, register, *_ in self.program.steps[place][1].outputs}
        if not made & {
            word for step in self.program.steps[place + 1 :] for word in numbers_of(step[2:])
        }:
            self.program.steps.move_to_end(place)

    def _require_fit(self, value: int) -> None:
        """The path is for calls in which the shape of a reshape or a broadcast is possible."""
        op, (source,) = self.ops[value]
        before, after = self.shape(source), self.shape(value)
        if op == "reshape":
            self.program.require_all_equal([self.product(before)], [self.product(after)])
        else:
            for old, new in zip(reversed(before), reversed(after), strict=False):
                if old.constant != 1 and old != new:  # 1, or equal
                    self.program.require_all_equal([(old - 1) * (old - new)], [self.native.size(0)])

    @property
    def leaves_modes(self) -> bool:
        """Whether the error state is what it was when the function was called."""
        return self.modes == self._outer_modes

    def check_modes(self) -> None:
        """NumPy on the host runs in the caller's error state: it must not ignore too much."""
        if any(
            inner != "ignore" == outer
            for inner, outer in zip(self.modes, self._outer_modes, strict=True)
        ):
            raise refuse(reasons.CALL_NUMPY_ERROR_STATE_IGNORES)

    def finish_segments(self) -> None:
        """Turn segments into run steps, each with the graph of what it computes."""
        computes = ("segment", "call", "operator", "raises")
        asks = self.asked_modes or any(step[0] in computes for step in self.program.steps)
        if asks and self.array_library.tells_errors:
            self.program.steps.insert(0, ("guard_errstate", self._outer_modes))
        for index, step in enumerate(self.program.steps):
            if step[0] != "segment":
                continue
            segment: Segment = step[1]
            outputs = list(dict.fromkeys(value for value, *_ in segment.outputs))
            graph, arrays, numbers = self.extracted(segment.inputs, outputs)
            by_output = sorted(segment.outputs, key=lambda output: outputs.index(output[0]))
            run = (
                "run",
                graph,
                arrays,
                numbers,
                [
                    (graph.outputs[outputs.index(value)], *rest, segment.targets.get(rest[0], -1))
                    for value, *rest in by_output
                ],
                segment.flags,
                0 if self.sets_filters else segment.only_warns,
                self.array_library.name,
            )
            self.program.steps.replace(index, run)

    def extracted(
        self, inputs: SequenceOf[int], outputs: SequenceOf[int], asked: Iterable[str] = ()
    ) -> tuple[_dvm.Graph, list[int], list[int]]:
        """What computes the outputs, and the registers of its arrays and of its numbers.

        asked: symbols that it is to be told besides.
        """
        arrays = list(inputs)
        graph, scalars, unbound = self.native.extract(arrays, outputs)
        unbound = list(dict.fromkeys([*unbound, *asked]))
        ints = [symbol for symbol in self.program.int_homes if symbol in unbound]
        if len(unbound) > len(ints):
            arrays += self._binders(unbound, arrays)
            graph, scalars, _ = self.native.extract(arrays, outputs)
        for symbol in ints:
            graph.scalar("i64", size=self.program.int_dims[symbol])
        numbers = [self._scalars[value] for value in scalars]
        numbers += [self.program.int_homes[symbol] for symbol in ints]
        return graph, [self._homes[value] for value in arrays], numbers

    def _binders(self, unbound: Iterable[str], present: list[int]) -> list[int]:
        """Inputs that the segment does not read, but whose sizes it needs."""
        binders: list[int] = []
        for symbol in unbound:
            value = self._input_of.get(symbol)
            if value is not None and value not in present and value not in binders:
                binders.append(value)
        return binders


def numbers_of(operands: Iterable[Any]) -> Iterable[int]:
    """All integers among the operands of steps, registers with others."""
    for operand in operands:
        if isinstance(operand, int):
            yield operand
        elif isinstance(operand, (list, tuple)):
            yield from numbers_of(operand)


def same_shape(a: SequenceOf[_dvm.Dim], b: SequenceOf[_dvm.Dim]) -> bool:
    return list(a) == list(b)
