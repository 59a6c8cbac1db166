"""Opaque calls: NumPy's own functions, called on the host on every replay and counted.

What such a call may do besides giving a result is known: it writes into the arguments that
`written` names, and its result may share memory with an argument. An array that the graph holds is
written as a copy, whose content it then takes; an array that the path itself made on the host
(`Host.owned`) is written in place, for steps keep the order of the program and nobody else sees it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

from dvm import reasons
from dvm.magpy_capture.libraries import (
    ELEMENTWISE,
    INEXACT,
    NUMPY,
    fits_graph,
    holds_objects,
    is_array,
    is_empty,
    is_scalar,
    library_of,
    makes_new,
)
from dvm.magpy_capture.library import Array
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Named,
    Raised,
    Sequence,
    Size,
    SliceValue,
    Tensor,
    resolve,
)
from dvm.magpy_capture.values.kinds import is_constant, is_fixed, name_of
from dvm.magpy_capture.values.tables import INPLACE_OPERATORS

NONE = Literal(None)
#: methods of arrays that store into one, and that give a list of numbers
STORES: tuple[Any, ...] = (vars(NUMPY.array)["__setitem__"],)
LISTINGS: tuple[Any, ...] = (vars(NUMPY.array)["tolist"],)
INPLACE = frozenset(INPLACE_OPERATORS.values())


class Opaque(PythonPart):
    """Calls of functions that have no meaning in the graph."""

    needs = "arrays graph heap host_arrays host_operations memory program rules views writes"

    def call(self, function: Any, positional: list[Abstract], named: Named, seen: Any) -> Abstract:
        """The host's own function, called on every replay and counted.

        seen: what it returned, or the exception that it raised.
        """
        self.graph.check_modes()
        self.rules.require_plain(getattr(function, "__self__", function))  # of v.reduce
        positional = [resolve(value) for value in positional]
        named = {name: resolve(value) for name, value in named.items()}
        arguments = [*positional, *named.values()]
        generator = self.rules.drawn_from(function, positional, named)
        for argument in arguments:
            if argument is not generator and not self.host_operations.is_pure(argument):
                raise refuse(reasons.FUNCTION_OF, name_of(function), describe(argument))
        if seen is None and not named and self.rules.written_at(function, positional):
            return NONE
        targets = self.rules.written(function, positional, named)
        computes = function in INPLACE or isinstance(function, ELEMENTWISE)
        if not computes and any(_holds_objects(target) for target in targets):
            self._require_plain(function, arguments, targets)
        raises = isinstance(seen, BaseException)
        if raises and targets:
            raise refuse(reasons.RAISES_WHERE_IT_WRITES, name_of(function))
        if raises and generator is not None:
            raise refuse(reasons.RAISES_WHERE_IT_WRITES, name_of(function))
        fixed = (
            not raises
            and generator is None
            and all(is_fixed(argument) for argument in arguments)
            and is_constant(seen)
            and not _is_inexact(seen)  # NumPy warns of some: the mean of nothing
        )
        if fixed and not targets and not isinstance(function, ELEMENTWISE):
            return Literal(seen, made=is_scalar(seen))
        copies = {id(target): self.writable(function, target, arguments) for target in targets}
        copies |= self._shared_for_good(arguments, seen)
        registers = [self.given_register(argument, copies) for argument in arguments]
        callee = self.program.constant(self.rules.as_called(function))
        self.graph.opaque_calls.append((name_of(function), self.program.at))
        if raises:
            made = self.program.step("raises", callee, registers, tuple(named), type(seen))
            result: Abstract = Raised(made, seen)
        else:
            made = self._called(callee, registers, tuple(named), generator)
            given = dict(zip(map(id, arguments), registers, strict=True))
            result = self._result(function, made, arguments, tuple(named), targets, seen, given)
        for target in targets:
            if isinstance(target, Tensor):
                counted = self.rules.counts_writes(function)
                self.take_over(target, copies[id(target)], counted=counted)
        if targets:
            self.program.forget_results()
        return result

    def _called(
        self, callee: int, registers: list[int], names: tuple[str, ...], generator: Any
    ) -> int:
        """The register of what a call gives; its draws are undone where a replay is given up."""
        if generator is None:
            return self.program.step("call", callee, registers, names, True)
        is_given = isinstance(generator, Host)
        holder = generator.register if is_given else self.program.constant(generator)
        return self.program.step("call_random", callee, registers, names, holder, True)

    # ---- what is written

    def _require_plain(
        self, function: Any, arguments: list[Abstract], targets: list[Abstract]
    ) -> None:
        """What is stored as an element is no array or list: it would have to be that very one."""
        for value in arguments[-1:] if function in STORES else arguments:
            stored = not isinstance(value, SliceValue) and not any(value is t for t in targets)
            if stored and not (isinstance(value, (Literal, Host, Size)) or _is_scalar(value)):
                raise refuse(reasons.KEEPS_ARGUMENT, name_of(function), describe(value))
            if stored and array_of(value) is not None and not _holds_objects(value):
                if not _is_scalar(value):
                    raise refuse(reasons.KEEPS_ARGUMENT, name_of(function), describe(value))

    def writable(self, function: Any, target: Abstract, arguments: list[Abstract]) -> int:
        """A register with an array to write into instead of `target`, or -1: itself."""
        if isinstance(target, Host) and is_array(target.object):
            self.host_arrays.writable_host(target, name_of(function))
            return -1
        if not isinstance(target, Tensor) or target.is_scalar or target.object is None:
            raise refuse(reasons.WRITES_INTO, name_of(function), describe(target))
        if target.storage.wants_gradient:
            raise refuse(reasons.GRADIENTS)
        for part in self.parts_of(arguments):
            if isinstance(part, Tensor) and part is not target and part.storage is target.storage:
                raise refuse(reasons.READS_WHAT_IT_WRITES, name_of(function))
        twice = sum(part is target for part in self.parts_of(arguments)) > 1
        if twice and not isinstance(function, ELEMENTWISE):  # which reads each element in time
            raise refuse(reasons.READS_WHAT_IT_WRITES, name_of(function))
        return self.program.step("own", self.arrays.tensor_register(target))

    def _shared_for_good(self, arguments: list[Abstract], seen: Any) -> dict[int, int]:
        """The arrays themselves that a result keeps in a form which the graph does not know.

        From here on nobody may write them.
        """
        if not is_array(seen) or fits_graph(seen):
            return {}
        shared = {}
        for part in self.parts_of(arguments):
            array = array_of(part)
            if not isinstance(part, Tensor) or part.is_scalar or array is None:
                continue
            if library_of(array).may_share(array, seen):
                if part.storage.external and part.storage.written:
                    raise refuse(reasons.VIEW_ARRAY_WRITTEN)
                shared[id(part)] = self.arrays.object_register(part)
                part.storage.frozen = True
        return shared

    def parts_of(self, arguments: list[Abstract]) -> Iterator[Abstract]:
        for argument in map(resolve, arguments):
            if isinstance(argument, (Sequence, ListValue)):
                yield from self.parts_of(argument.elements)
            else:
                yield argument

    def given_register(self, argument: Abstract, copies: dict[int, int]) -> int:
        """The register of an argument, with copies in place of what is written."""
        if copies.get(id(argument), -1) >= 0:
            return copies[id(argument)]
        if isinstance(argument, Sequence) and any(
            id(resolve(part)) in copies for part in argument.elements
        ):
            parts = [self.given_register(resolve(part), copies) for part in argument.elements]
            return self.program.step("tuple", parts)
        return self.program.register_of(argument)

    def take_over(self, target: Tensor, copy: int, *, counted: bool = True) -> None:
        """The written copy becomes the content of the array."""
        assert target.object is not None
        like = target.library.copy(target.object)
        self.program.guard("guard_signature", copy, like, key=(copy,))
        content = self.arrays.tensor_of_array(copy, like, external=False, sizes=target.shape)
        self.graph.unowned.add(content.storage.content.value)
        self.writes.write(target, content, counted=counted)

    # ---- results

    def _result(
        self,
        function: Any,
        made: int,
        arguments: list[Abstract],
        names: tuple[str, ...] | None,
        targets: list[Abstract],
        seen: Any,
        given: dict[int, int],
    ) -> Abstract:
        """names: of the last arguments; None if the result is a part of what the call gave.

        given: the registers of the arguments, by the id of their value.
        """
        for target in targets:
            if seen is target.object:
                return target
        if isinstance(seen, tuple) and any(t.object is part for t in targets for part in seen):
            return Sequence(
                [
                    self._result(
                        function,
                        self.program.step("item", made, i),
                        arguments,
                        None,
                        targets,
                        part,
                        given,
                    )
                    for i, part in enumerate(seen)
                ]
            )
        if is_array(seen):
            return self._array(function, made, arguments, names, seen, given)
        if self.shares_memory(seen, arguments):
            raise refuse(reasons.WHOSE_RESULT_SHARES_MEMORY_ARGUMENT, name_of(function))
        result = self.heap.computed(made, seen)
        gives_numbers = function in LISTINGS and isinstance(arguments[0], Tensor)
        if not gives_numbers and not makes_new(function):
            self._keep_apart(result, arguments)
        return result

    def _array(
        self,
        function: Any,
        made: int,
        arguments: list[Abstract],
        names: tuple[str, ...] | None,
        seen: Array,
        given: dict[int, int],
    ) -> Abstract:
        """An array that a call gave: new, one of the arguments, or a view of one."""
        arrays = [part for part in self.parts_of(arguments) if array_of(part) is not None]
        sharing = [
            part
            for part in arrays
            if array_of(part) is seen or library_of(array_of(part)).may_share(array_of(part), seen)
        ]
        if not sharing:
            result = self.heap.computed(made, seen)
            apart = makes_new(function) or not any(is_empty(array_of(a)) for a in arrays)
            if not makes_new(function):
                self._keep_apart(result, arrays)
            if isinstance(result, Host):
                result.owned = apart
            elif isinstance(result, Tensor):
                writeable = result.library.is_writeable(seen)
                result.storage.locked = not writeable
                if not makes_new(function):  # without elements it may be a view of what is locked
                    self.program.guard("guard_writeable", made, writeable)
            return result
        base = sharing[0]
        if not fits_graph(seen) and all(isinstance(part, Tensor) for part in sharing):
            return self.heap.computed(made, seen)  # of which all are frozen
        if len(sharing) > 1:
            raise refuse(reasons.WHOSE_RESULT_SHARES_MEMORY_ARGUMENTS, name_of(function))
        if seen is array_of(base):
            self.program.guard(
                "guard_same", made, self._register_given(base, arguments, given), True
            )
            return base
        remake = None
        if names is not None and arguments[0] is base and isinstance(base, Host):
            rest = arguments[1:]

            def remake(own: int) -> int:
                given = [own, *(self.program.register_of(argument) for argument in rest)]
                return self.program.step("call", self.program.constant(function), given, names)

        if names is not None and isinstance(base, Tensor) and arguments[0] is base:
            return self.made_again(function, made, base, arguments[1:], names, seen)
        return self.host_arrays.view_on_host(made, base, seen, remake)

    def _register_given(
        self, value: Abstract, arguments: list[Abstract], given: dict[int, int]
    ) -> int:
        """The register with the very object that the call was given: another may be a new view."""
        for argument in arguments:
            if argument is value:
                return given[id(argument)]
            if isinstance(argument, (Sequence, ListValue)):
                for i, part in enumerate(argument.elements):
                    if resolve(part) is value:
                        return self.program.step("item", given[id(argument)], i)
        return self.program.register_of(value)

    def made_again(
        self,
        function: Any,
        made: int,
        base: Tensor,
        arguments: list[Abstract],
        names: tuple[str, ...],
        seen: Array,
    ) -> Abstract:
        """A view that a host function makes of an array of the graph, and can make again.

        It is read as an input of the graph. After a write to its base, and where it leaves the
        path, the function is called on the new content, or on the array itself.
        """
        first = self.heap.computed(made, seen)
        if not isinstance(first, Tensor):
            raise refuse(reasons.WHOSE_RESULT_SHARES_MEMORY_ARGUMENT, name_of(function))
        shape = [first.shape[axis] for axis in first.order]

        def again(value: int) -> int:
            if value == source:
                content = self.arrays.value_of(first)
            else:
                order = None if base.order == c_order(base.rank) else base.order
                register = self.graph.leave(value, "array", order)
                given = [register, *(self.program.register_of(argument) for argument in arguments)]
                callee = self.program.constant(function)
                array = self.program.step("call", callee, given, names, True)
                content = self.graph.input_value(array, seen, first.order)
                content = self.views.reshape_value(content, shape)
            return self.graph.transpose_value(
                content, [first.order.index(a) for a in range(first.rank)]
            )

        source = self.arrays.value_of(base)
        remake = (function, [*arguments], names)
        view = self.views.maybe_view(base, first.shape, again, None, remake, order=first.order)
        assert view.maybe is not None
        view.dtype = first.dtype
        view.maybe.made = True  # the call has been made
        view.writeable = view.library.is_writeable(seen)
        return view

    def _keep_apart(self, result: Abstract, arguments: list[Abstract]) -> None:
        """The function may return its argument or a view of it: not on this path."""
        results = result.elements if isinstance(result, (Sequence, ListValue)) else [result]
        for made in map(resolve, results):
            if array_of(made) is None:
                continue
            for argument in self.parts_of(arguments):
                if (array := array_of(argument)) is not None:
                    register = self.program.register_of(made)
                    for other, _ in self.memory.memory_registers(
                        self.program.register_of(argument), array
                    ):
                        pair = (register, other)
                        self.program.guard("guard_overlap", *pair, False, key=pair)

    def shares_memory(self, seen: Any, arguments: list[Abstract]) -> bool:
        results = seen if isinstance(seen, (tuple, list)) else [seen]
        return any(
            is_array(result)
            and array_of(part) is not None
            and library_of(array_of(part)).may_share(array_of(part), result)
            for part in self.parts_of(arguments)
            for result in results
        )


def array_of(value: Abstract) -> Array | None:
    """The recorded array of an abstract value that is one."""
    seen = getattr(value, "object", None)
    return seen if isinstance(value, (Tensor, Host)) and is_array(seen) else None


def _holds_objects(value: Abstract) -> bool:
    array = array_of(value)
    return array is not None and holds_objects(array)


def _is_scalar(value: Abstract) -> bool:
    return isinstance(value, Tensor) and value.is_scalar


def _is_inexact(seen: Any) -> bool:
    """Whether there are numbers of floating-point arithmetic in it."""
    if isinstance(seen, tuple):
        return any(map(_is_inexact, seen))
    return isinstance(seen, (float, complex, *INEXACT))


def is_same(value: Abstract, wanted: Any) -> bool:
    return isinstance(value, Literal) and value.object is wanted


@functools.cache
def signature_of(function: Any) -> inspect.Signature:
    """As inspect has it, which takes longer than all else that a call is lowered with."""
    return inspect.signature(function)


@functools.cache
def mismatch_of(function: Any, count: int, names: tuple[str, ...]) -> str | None:
    """Why it takes no `count` arguments by position and these by name; None: it does."""
    try:
        signature_of(function).bind(*range(count), **dict.fromkeys(names))
    except TypeError as mismatch:
        return str(mismatch)
    return None


__all__ = ["Opaque", "array_of", "is_same", "mismatch_of", "signature_of"]
