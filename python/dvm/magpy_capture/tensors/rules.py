"""What a library of arrays rules: the way up from tensors to what is its own."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from typing import Any, Protocol

from dvm import _dvm
from dvm.magpy_capture.tensors.fresh import Order
from dvm.magpy_capture.values import Abstract, Flags, FlatValue, Host, Named, Strides, Tensor

#: of a call, by position and by name
Arguments = tuple[list[Abstract], Named]
#: (call, function, arguments, seen) -> the output. call: the same without it, for what it gives
Put = Callable[[Callable[[Any], Abstract], Any, Arguments, Any], Abstract]


class Rules(Protocol):
    """Promotion, the order of results in memory, operators; attributes and parts of its objects.

    seen: what the program got in the recorded call.
    """

    def operand(self, operand: Abstract, dtype: str) -> Tensor:
        """`operand` as a tensor of `dtype`, as arithmetic has it."""

    def known_sizes(self, register: int, seen: Any) -> list[_dvm.Dim] | None:
        """Those of an array that is mostly of the same sizes; then the path is for these."""

    def met(self, seen: Any) -> bool:
        """An array that others have made comes into the path: whether it wants a gradient."""

    @property
    def keeps_gradients(self) -> bool:
        """Whether gradients are kept of what is computed now."""

    def as_called(self, function: Any) -> Any:
        """The function of the host for a path to call, which may be elsewhere in the program."""

    def given(
        self, name: str, positional: list[Abstract], named: Named
    ) -> tuple[list[Abstract], Named]:
        """Arguments of a function that has a meaning, as modes of the program change them."""

    def result_order(self, operands: SequenceOf[Tensor], rank: int) -> Order:
        """The memory order of an elementwise result."""

    def copied_order(self, t: Tensor) -> Order:
        """The memory order of a copy, where none is asked for."""

    def strides_of(
        self, register: int, array: Any, order: Order, shape: SequenceOf[_dvm.Dim]
    ) -> Strides:
        """What is known of the strides of an array of the host."""

    def leaving_order(self, t: Tensor) -> Order:
        """The order of axes in which new memory is handed out.

        It is `t.order`, but for where axes of one element are, or those of an array without any.
        """

    def laid(self, t: Tensor, register: int) -> int:
        """New memory in a register, with the strides that the program's own has."""

    def operator(self, name: str, operands: list[Abstract]) -> Tensor:
        """`a + b` and its kin, or `abs(a)`, of which one is a tensor."""

    def is_integer_scalar(self, *values: Abstract) -> bool:
        """Whether all are integer scalars (truths, too), at least one of them the library's own."""

    def written(self, function: Any, positional: list[Abstract], named: Named) -> list[Abstract]:
        """The arguments that a call of a function of the host writes into."""

    def counts_writes(self, function: Any) -> bool:
        """Whether a library that counts writes into its arrays counts those of the function."""

    def drawn_from(self, function: Any, positional: list[Abstract], named: Named) -> Any:
        """The generator of random numbers that a call of it draws from, or None.

        One that it is given is a Host.
        """

    def guard_instance(self, value: Abstract, cls: type) -> None:
        """isinstance(value, cls), by a metaclass of the library's, says what Python would."""

    def put_out(self, named: Named) -> Put | None:
        """What writes the result of a call where it is told to; None: its meaning does."""

    def is_opaque_class(self, cls: type) -> bool:
        """Whether operators on its arrays run the library's own code, on every call."""

    def is_array_class(self, thing: Any) -> bool:
        """Whether it is such a class itself, which the library is given to make arrays of."""

    def require_plain(self, function: Any) -> None:
        """Where it calls a function of the user's for each element: it may only compute."""

    def compute(
        self, kind: str, name: str, operands: list[Abstract], seen: Any, *, in_place: bool = False
    ) -> Abstract:
        """An operator of the language, of which one operand is a tensor: "binary", "compare"..."""

    def applied(self, function: Any, operands: list[Abstract]) -> Tensor:
        """What an elementwise function gives."""

    def called(
        self, owner: Any, name: str, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A method of an elementwise function."""

    def called_for_each(
        self, callee: Abstract, positional: list[Abstract], named: Named, seen: Any
    ) -> Abstract:
        """A call of what calls a function of the user's for each element."""

    def attribute(self, base: Host, name: str, seen: Any) -> Abstract:
        """An attribute that an array of a derived class has besides."""

    def set_attribute(self, base: Flags | Tensor | Host, name: str, value: Abstract) -> None:
        """`base.name = value`, of an array or of what says how one is."""

    def subscript(self, base: Flags | FlatValue | Tensor, key: Abstract, seen: Any) -> Abstract:
        """`base[key]`, of an array for a key that is no basic one."""

    def store_subscript(self, base: FlatValue | Tensor, key: Abstract, value: Abstract) -> None:
        """`base[key] = value`, likewise."""

    def element_of(self, value: Abstract, dtype: str) -> Tensor:
        """`value` as it is stored into elements of that dtype."""

    def check_overlap(self, target: Tensor, source: Abstract) -> None:
        """Refuse a write of what is computed of `source`, where the library raises for it."""

    def written_at(self, function: Any, positional: list[Abstract]) -> bool:
        """Write where a function of the host would, at places; False: that is left to it."""


__all__ = ["Rules"]
