"""What PyTorch rules of results: the order of their axes in memory; operators and subscripts."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
from collections.abc import Sequence as SequenceOf
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.torch.iteration import Operand, is_settled, order_of
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import NotCapturable, refuse
from dvm.magpy_capture.registry import METHODS, Meaning
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.tensors.indexing import index_parts
from dvm.magpy_capture.tensors.rules import Put
from dvm.magpy_capture.values import (
    Abstract,
    FlatValue,
    Host,
    Literal,
    Named,
    Size,
    Strides,
    Tensor,
    is_none,
    resolve,
)


@functools.cache
def without_gradients(function: Any) -> Any:
    """The function as it is within torch.no_grad()."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        set_grad = sys.modules["torch"]._C._set_grad_enabled
        set_grad(False)
        try:
            return function(*args, **kwargs)
        finally:
            set_grad(True)

    return called


@functools.cache
def under_autocast(function: Any, dtype: Any) -> Any:
    """The function as it is within torch.autocast of that dtype, or within a disabled one."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        enabled = dtype is not None
        with sys.modules["torch"].autocast("cpu", dtype, enabled, cache_enabled=False):
            return function(*args, **kwargs)

    return called


#: what a tensor says by that it is a buffer, whatever its class is
IS_BUFFER = "_is_buffer"
#: (kind of operator, operator of the language) -> what it means; filled by `operations`
OPERATORS: dict[tuple[str, str], Meaning] = {}


class TorchRules(TorchPart):
    """Asked for where a path has tensors (tensors/rules.py)."""

    needs = (
        "arrays elementwise graph indexing layouts meanings opaque program sizes torch_modes "
        "torch_strides torch_tensors writes"
    )

    # ---- memory order

    def result_order(self, operands: SequenceOf[Tensor], rank: int) -> Order:
        """The order in memory that an elementwise op gives its result, as TensorIterator does.

        It is that of the operands, or the one that iteration.py tells of.
        """
        if rank < 2:
            return c_order(rank)
        speaking = [t for t in operands if sum(dim.constant != 1 for dim in t.shape) > 1]
        orders = [self.layouts.order_in_memory(t) for t in speaking]
        if orders == [c_order(t.rank) for t in speaking]:
            return c_order(rank)
        shape = self.elementwise.common_shape(operands)
        laid = [self._operand(t, order, shape) for t, order in zip(speaking, orders, strict=True)]
        open_axes = [axis for axis, dim in enumerate(shape) if dim.constant is None]
        ones = frozenset(a for a, dim in enumerate(shape) if self.sizes.observed(dim) == 1)
        if not is_settled(rank, laid, ones, open_axes):
            for axis in open_axes:
                self.sizes.is_not_one(shape[axis])
        return order_of(rank, laid, ones)

    def _operand(self, t: Tensor, order: Order, shape: SequenceOf[_dvm.Dim]) -> Operand:
        lead, repeated = len(shape) - t.rank, self.layouts.repeated_axes(t)
        along = frozenset(lead + axis for axis in range(t.rank) if repeated >> axis & 1)
        single = frozenset(self.broadcast_axes(t, shape)) - along
        return Operand(tuple(lead + axis for axis in order), single, along, t.contiguous)

    def broadcast_axes(self, t: Tensor, shape: SequenceOf[_dvm.Dim]) -> list[int]:
        """The axes of a result along which it is repeated, which the path then is for."""
        lead, found = len(shape) - t.rank, []
        for axis, own in enumerate(t.shape, lead):
            if own == shape[axis]:
                continue
            if self.sizes.observed(own) == self.sizes.observed(shape[axis]):
                self.sizes.require_equal(own, shape[axis])
            else:
                self.sizes.require_equal(own, self.graph.size(1))
                found.append(axis)
        return found

    def copied_order(self, t: Tensor) -> Order:
        """That of a copy in torch.preserve_format."""
        return self.result_order([t], t.rank)

    def strides_of(
        self, register: int, array: Any, order: Order, shape: SequenceOf[_dvm.Dim]
    ) -> Strides:
        return self.torch_strides.of_array(register, array, order, shape)

    def leaving_order(self, t: Tensor) -> Order:
        return self.torch_strides.leaving_order(t)

    def laid(self, t: Tensor, register: int) -> int:
        return self.torch_strides.laid(t, register)

    # ---- operands

    def operand(self, operand: Abstract, dtype: str) -> Tensor:
        value = resolve(operand)
        if isinstance(value, Tensor):
            return self.elementwise.cast(value, dtype)
        return self.torch_tensors.number_value(self.torch_tensors.number(value), dtype)

    def element_of(self, value: Abstract, dtype: str) -> Tensor:
        return self.operand(value, dtype)

    def is_integer_scalar(self, *values: Abstract) -> bool:
        return False

    # ---- operators

    def compute(
        self, kind: str, name: str, operands: list[Abstract], seen: Any, *, in_place: bool = False
    ) -> Abstract:
        meaning = OPERATORS.get((kind, name))
        if meaning is None:
            raise refuse(reasons.OPERATOR, name, describe(operands[0]))
        if name == "@":
            operands, _ = self.given("matmul", operands, {})
        made: Abstract = meaning(self.meanings.holder(meaning), *operands, seen=seen)
        if in_place:
            return self.write(operands[0], made, operands[1:])
        return made

    def elementwise_of_two(self, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        """An elementwise function by its name, of two tensors."""
        meaning = OPERATORS["function", name]
        made: Abstract = meaning(self.meanings.holder(meaning), a, b, seen=seen)
        return made

    def known_sizes(self, register: int, seen: Any) -> list[_dvm.Dim] | None:
        """Of a parameter: its module is made for them."""
        if type(seen) is self.graph.array_library.array:
            return None
        for axis, size in enumerate(seen.shape):
            own = self.program.step("shape", register, axis, key=("shape", register, axis))
            self.program.guard("guard_value", own, size, key=(own,))
        return [self.graph.size(size) for size in seen.shape]

    def met(self, seen: Any) -> bool:
        """A tensor comes into the path: its signature tells of it where gradients are kept."""
        self.torch_modes.guard_modes()
        return self.torch_modes.kept_at_entry and bool(seen.requires_grad)

    @property
    def keeps_gradients(self) -> bool:
        return self.torch_modes.keeps_gradients

    def as_called(self, function: Any) -> Any:
        """The call keeps no gradients where the program's does not."""
        without = self.torch_modes.kept_at_entry and not self.torch_modes.keeps_gradients
        dtype = self.torch_modes.autocast
        if dtype != self.torch_modes.autocast_at_entry:
            function = under_autocast(function, dtype)
        return without_gradients(function) if without else function

    def given(
        self, name: str, positional: list[Abstract], named: Named
    ) -> tuple[list[Abstract], Named]:
        """Arguments of a function with a meaning, as modes of the program cast them."""
        dtype = self.torch_modes.autocast
        if dtype is None:
            return positional, named
        own: Any = sys.modules[f"{__package__}.operations.autocast"]
        name = name.rpartition(".")[2]
        if name in own.LEFT:
            raise refuse(reasons.TORCH_FORM, name, "is_autocast_enabled")
        if name not in own.LOWERED:
            return positional, named
        cast = functools.partial(
            own.lowered_argument, self.meanings.holder(own.lowered_argument), dtype=dtype
        )
        return list(map(cast, positional)), {name: cast(each) for name, each in named.items()}

    def write(
        self, target: Abstract, value: Abstract, operands: SequenceOf[Abstract] = ()
    ) -> Abstract:
        """What an operation in place does with what it has computed, of these and the target."""
        assert isinstance(target, Tensor)
        assert isinstance(value, Tensor)
        for operand in operands:
            self.check_overlap(target, operand)
        self.writes.write(target, value)
        return target

    def check_overlap(self, target: Tensor, source: Abstract) -> None:
        """PyTorch raises where a part of what is written is read besides."""
        source = resolve(source)
        if not isinstance(source, Tensor) or source is target:
            return
        if source.storage is target.storage and not (
            self._is_again(target, source) or self._lie_apart(target, source)
        ):
            raise refuse(reasons.TORCH_WRITE)

    def _is_again(self, t: Tensor, other: Tensor) -> bool:
        """Whether both are the same view, as in `x[0] += 1`, which stores what it has written."""
        value = self.arrays.value_of(t)
        is_filled = self.graph.ops[value][0] in ("constant", "broadcast")
        return value == self.arrays.value_of(other) and not is_filled

    def _lie_apart(self, t: Tensor, other: Tensor) -> bool:
        """Whether both are parts of one tensor without a place in common, in calls of the path."""
        if t.base is None or t.base is not other.base:
            return False
        recipes = [each.remake for each in (t, other) if each.remake is not None]
        if [recipe[0] for recipe in recipes] != ["getitem"] * 2:
            return False
        one, two = (self.indexing.select(t.base, index_parts(keys[0])) for _, keys in recipes)
        for first, second in itertools.permutations((one, two)):
            for start, step, count, begin in zip(
                first.starts, first.steps, first.counts, second.starts, strict=True
            ):
                end = start + count * step
                if self.sizes.observed(end) <= self.sizes.observed(begin):
                    return self.sizes.is_at_most(end, begin)
        return False

    def operator(self, name: str, operands: list[Abstract]) -> Tensor:
        kind = "unary" if name == "abs" else "binary"
        made = self.compute(kind, name, operands, None)
        assert isinstance(made, Tensor)
        return made

    def applied(self, function: Any, operands: list[Abstract]) -> Tensor:
        raise refuse(reasons.CALL, describe(operands[0]))

    # ---- parts

    def subscript(self, base: Tensor, key: Abstract, seen: Any) -> Abstract:
        places = [part for part in index_parts(key) if isinstance(part, Tensor)]
        numbers = [place for place in places if place.rank == 0 and place.dtype != "bool"]
        if numbers and len(numbers) == len(places):
            raise refuse(reasons.TORCH_FORM, "x[key]", "a number in a tensor, which gives a view")
        if not numbers:  # beside places they are axes of a view, not places
            meaning = OPERATORS["subscript", "[]"]
            with contextlib.suppress(NotCapturable):
                made: Abstract = meaning(self.meanings.holder(meaning), base, key, seen)
                return made
        tensor: Any = base.library.array  # torch itself takes the elements
        return self.opaque.call(tensor.__getitem__, [base, key], {}, seen)

    def store_subscript(self, base: FlatValue | Tensor, key: Abstract, value: Abstract) -> None:
        """`base[mask] = number` is computed; other writes at places are torch's own."""
        assert isinstance(base, Tensor)
        if not self._is_masked(base, key, value):
            plain: Any = base.library.array
            self.opaque.call(plain.__setitem__, [base, key, value], {}, None)
            return
        meaning = METHODS["torch", "masked_fill_"]
        meaning(self.meanings.holder(meaning), base, index_parts(key)[0], value, seen=None)

    def _is_masked(self, base: Tensor, key: Abstract, value: Abstract) -> bool:
        """Whether a write is one of a number through a mask, as the graph has it."""
        parts = [resolve(part) for part in index_parts(key)]
        mask, number = parts[0], resolve(value)
        if len(parts) != 1 or not isinstance(mask, Tensor) or mask.dtype != "bool":
            return False
        # A number of another kind is cast as torch's own rules have it.
        if mask.rank != base.rank or not (base.is_integer or base.dtype.startswith("float")):
            return False
        if not isinstance(number, (Literal, Host, Size)):
            return False
        if (
            base.is_integer
            and self.torch_tensors.kind_of(self.torch_tensors.number(number)) is not int
        ):
            return False
        sizes = [*zip(base.shape, mask.shape, strict=True)]
        if any(self.sizes.observed(own) != self.sizes.observed(other) for own, other in sizes):
            return False
        for own, other in sizes:
            self.sizes.require_equal(own, other)
        return True

    def set_attribute(self, base: Tensor, name: str, value: Abstract) -> None:
        raise refuse(reasons.SETTING_ATTRIBUTE, name, describe(base))

    # ---- what torch computes itself

    def written(self, function: Any, positional: list[Abstract], named: Named) -> list[Abstract]:
        found: list[Abstract] = self._schemas().written(
            self.indexing.plain, function, positional, named
        )
        return found

    def counts_writes(self, function: Any) -> bool:
        return function is not sys.modules["torch"].batch_norm

    def drawn_from(self, function: Any, positional: list[Abstract], named: Named) -> Any:
        return self._schemas().drawn_from(function, positional, named)

    def guard_instance(self, value: Abstract, cls: type) -> None:
        """A tensor that is no buffer by its class may say that it is one."""
        if not isinstance(value, Tensor) or value.base is not None or not value.storage.external:
            return
        if hasattr(value.object, IS_BUFFER):
            raise refuse(reasons.ISINSTANCE, cls)
        self.program.guard("guard_lacks", value.storage.register, IS_BUFFER)

    def put_out(self, named: Named) -> Put | None:
        if "out" not in named or is_none(named["out"]):
            return None
        put: Any = sys.modules[f"{__package__}.operations.outputs"].put
        return functools.partial(put, self.meanings.holder(put), resolve(named["out"]))

    @staticmethod
    def _schemas() -> Any:
        return sys.modules[f"{__package__}.operations.schemas"]

    # ---- what only other libraries have

    def written_at(self, function: Any, positional: list[Abstract]) -> bool:
        return False

    def is_opaque_class(self, cls: type) -> bool:
        return cls in self.graph.array_library.plain

    def is_array_class(self, thing: Any) -> bool:
        return False

    def require_plain(self, function: Any) -> None:
        """No function of PyTorch's calls one of the user's for each element."""


__all__ = ["OPERATORS", "TorchRules"]
