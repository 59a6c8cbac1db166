"""What PyTorch tells of its own functions: which write, draw random numbers, or do neither.

Every op of torch's has a schema, which says what a call writes, and tags. A function in C is known
by the schemas of the op of its name.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from dvm import reasons
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import Abstract, Host, Literal, Named, Tensor, resolve
from dvm.magpy_capture.values.kinds import name_of

#: where functions in C are, and what stands before their name in that of the op
PLACES = (
    torch._C._VariableFunctions,
    torch._C._nn,
    torch._C._linalg,
    torch._C._special,
    torch._C._fft,
)
#: what batch norms write without a word in their schema, where the statistics are the batch's
STATISTICS = frozenset({"running_mean", "running_var"})
#: ops of which it is known whether torch counts these writes: rules.py, `counts_writes`
KEEPING = frozenset({"batch_norm", "instance_norm"})
#: what says whether a function draws, or writes statistics, at all
TRAINING = frozenset({"train", "training", "use_input_stats"})
#: what a call must not be told: where its result is to be, that it wants a gradient
REFUSED = frozenset({"out", "requires_grad"})
#: ops whose names stand for something within torch, and mean no more than others
INNER = frozenset(
    """
    _weight_norm _transformer_encoder_layer_fwd _native_multi_head_attention _grouped_mm
    _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned
    """.split()
)
#: what asks for elements, and is not tagged so
UNTAGGED = frozenset({"aten::_nested_tensor_from_mask_left_aligned"})
#: What depends on more of the memory than the tensor itself, may or may not give a view (which
#: meanings know), leaves this machine's memory, or has gradients kept.
LEFT_OUT = frozenset(
    """
    as_strided as_strided_ as_strided_scatter contiguous reshape reshape_as flatten unflatten ravel
    to type_as cpu cuda pin_memory requires_grad_ coalesce
    """.split()
)


@dataclass(frozen=True)
class Told:
    """What the schemas of one function tell."""

    #: places and names of the arguments that it may write
    written: tuple[tuple[int, str], ...] = ()
    #: those in which it keeps statistics
    statistics: tuple[tuple[int, str], ...] = ()
    #: of the argument without which it neither draws nor keeps statistics
    training: tuple[int, str] | None = None
    draws: bool = False
    #: whether it gives tensors, or a truth about them, and does nothing that is not told here
    is_known: bool = False


UNKNOWN = Told()
NONE = Literal(None)


def op_of(function: Any) -> str | None:
    """The name of the op that a function in C calls."""
    kind = type(function)
    if kind is types.MethodDescriptorType:
        return function.__name__ if function.__objclass__ is torch._C.TensorBase else None
    if kind is types.BuiltinFunctionType:
        name = function.__name__
        if any(getattr(place, name, None) == function for place in PLACES):
            return str(name)
    return None


@functools.cache
def told(function: Any) -> Told:
    """What is known of a function of torch's in C."""
    name = op_of(function)
    if name is None or name in LEFT_OUT or (name.startswith("_") and name not in INNER):
        return UNKNOWN
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    return _told(name, [each for each in schemas if _is_op(each) and not _has_out(each)])


def _told(name: str, schemas: list[Any]) -> Told:
    if not schemas or not all(map(_gives_tensors, schemas)):
        return UNKNOWN
    packet = getattr(torch.ops.aten, name)
    tags = {
        tag for each in schemas for tag in getattr(packet, each.overload_name or "default").tags
    }
    draws = torch.Tag.nondeterministic_seeded in tags
    if torch.Tag.inplace_view in tags or not (draws or all(map(_takes_tensors, schemas))):
        return UNKNOWN
    written, statistics = set[tuple[int, str]](), set[tuple[int, str]]()
    training = None
    for schema in schemas:
        for place, argument in enumerate(schema.arguments):
            if argument.name in TRAINING:
                training = place, argument.name
            if _is_written(argument):
                written.add((place, argument.name))
            elif argument.name in STATISTICS:
                statistics.add((place, argument.name))
    return Told(tuple(sorted(written)), tuple(sorted(statistics)), training, draws, True)


def _is_op(schema: Any) -> bool:
    """Else only TorchScript has it, of numbers or lists."""
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    return bool(torch._C._dispatch_has_kernel(name))


def _has_out(schema: Any) -> bool:
    """Whether it is the form that is told where to put its result."""
    return any(argument.kwarg_only and _is_written(argument) for argument in schema.arguments)


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _is_tensor(kind: Any) -> bool:
    return "Tensor" in str(kind)


def _takes_tensors(schema: Any) -> bool:
    return any(_is_tensor(argument.type) for argument in schema.arguments)


def _gives_tensors(schema: Any) -> bool:
    kinds = [str(each.type) for each in schema.returns]
    return bool(kinds) and (all(map(_is_tensor, kinds)) or (kinds == ["bool"] and _asks(schema)))


def _asks(schema: Any) -> bool:
    """Whether it asks for elements."""
    if schema.name in UNTAGGED:
        return True
    packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::"))
    overload = getattr(packet, schema.overload_name or "default")
    return torch.Tag.data_dependent_output in overload.tags


def is_pure(function: Any) -> bool:
    """Whether a call changes nothing, and gives the same for the same arguments."""
    known = told(function)
    return known.is_known and not known.draws and not known.written


# ---- calls


def written(
    plain: Callable[[Abstract], Any], function: Any, positional: list[Abstract], named: Named
) -> list[Abstract]:
    """The tensors that a call writes into.

    plain: gives the object that a value is in each call of the path.
    """
    for name in REFUSED & set(named):
        value = resolve(named[name])
        if isinstance(value, Tensor) or plain(value) not in (None, False):
            raise refuse(reasons.TORCH_FORM, name_of(function), name)
    if function is torch.Tensor.__setitem__:
        return positional[:1]
    known = told(function)
    kept = [_given(argument, positional, named) for argument in known.statistics]
    found = [_given(argument, positional, named) for argument in known.written]
    if any(isinstance(each, Tensor) for each in kept) and _trains(function, positional, named):
        if op_of(function) not in KEEPING:
            raise refuse(reasons.TORCH_WRITE)  # which torch does not even count
        found += kept
    return [each for each in found if isinstance(each, (Tensor, Host))]


def drawn_from(
    function: Any, positional: list[Abstract], named: Named
) -> torch.Generator | Host | None:
    """The generator that a call draws from: torch's, or one that it is given."""
    if not told(function).draws or not _trains(function, positional, named):
        return None
    given = resolve(named.get("generator", NONE))
    return given if isinstance(given, Host) else torch.default_generator


def _trains(function: Any, positional: list[Abstract], named: Named) -> bool:
    """Whether it is told to do what it does in training, where it asks for that."""
    training = told(function).training
    value = None if training is None else _given(training, positional, named)
    return not (isinstance(value, Literal) and value.object is False)


def _given(argument: tuple[int, str], positional: list[Abstract], named: Named) -> Abstract | None:
    place, name = argument
    found = positional[place] if place < len(positional) else named.get(name)
    return None if found is None else resolve(found)


__all__ = ["Told", "drawn_from", "is_pure", "told", "written"]
