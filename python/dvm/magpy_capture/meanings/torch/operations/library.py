"""PyTorch as a library of arrays (dvm.magpy_capture.library.Library)."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

import torch

import dvm.torch.tensors  # noqa: F401  (tells the core what tensors are)
from dvm import _dvm
from dvm.magpy_capture.libraries import join
from dvm.magpy_capture.library import DTYPES
from dvm.magpy_capture.meanings.torch.operations import schemas
from dvm.magpy_capture.tensors.joint_memory import Lying, Place, place_in

DTYPES["bfloat16"] = "bf16"  # which NumPy has not
#: dtype of torch -> as DTYPES names it
NAMES: dict[torch.dtype, str] = {
    getattr(torch, name): name for name in DTYPES if isinstance(getattr(torch, name), torch.dtype)
}
TORCH_DTYPES = {name: dtype for dtype, name in NAMES.items()}
CLASSES = (torch.Tensor, torch.nn.Parameter)
MAX_RANK = 8  # of arrays in the graph
NOTHING: frozenset[Any] = frozenset()
FUNCTION_KINDS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.FunctionType)


#: Functions that torch itself computes between segments, besides those whose schemas tell that they
#: may be (schemas.py): they are in Python, or make tensors of numbers alone. They write nothing,
#: draw nothing, and give the same for the same arguments.
CALLED = frozenset(
    """
    adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d cdist einsum eye linspace logspace
    max_pool1d max_pool2d max_pool3d tril_indices triu_indices unique_consecutive
    """.split()
)
PLACES = (torch, torch._C._VariableFunctions, torch.Tensor, torch.nn.functional)
#: what is asked on each call; builds for a GPU have the last two, which raise where there is none
SETTINGS = tuple(
    found
    for name in (
        *("_get_deterministic_algorithms", "_is_tracing"),
        *("_cuda_isCurrentStreamCapturing", "_xpu_isCurrentStreamCapturing"),
    )
    if isinstance(found := getattr(torch._C, name, None), types.BuiltinFunctionType)
)
FUNCTIONS = frozenset(
    found for name in CALLED for place in PLACES if callable(found := getattr(place, name, None))
)


#: functions and methods in C that warn of nothing: those by which a path makes views again and asks
#: how tensors lie, those that draw reals, and what writes at places
QUIET = (
    *(
        getattr(torch.Tensor, name)
        for name in (
            *("detach", "expand", "permute", "reshape", "squeeze", "t", "transpose", "view"),
            *("clone", "contiguous", "is_contiguous", "stride", "size"),
            *("normal_", "uniform_", "bernoulli_", "exponential_"),
            *("index_copy_", "index_add_", "index_fill_", "scatter_add_"),
        )
    ),
    *(
        getattr(torch, name)
        for name in (
            *("view_as_complex", "view_as_real", "rand", "rand_like", "randn", "randn_like"),
            *("randperm", "bernoulli"),
        )
    ),
)


class Methods:
    """The names of tensors' methods of which the schemas tell something."""

    def __init__(self, condition: Callable[[schemas.Told], bool]) -> None:
        self._condition = condition

    def __contains__(self, name: object) -> bool:
        known = schemas.told(getattr(torch.Tensor, str(name), None))
        return known.is_known and self._condition(known)


def elements_of(tensor: torch.Tensor) -> tuple[Any, ...]:
    """What is the same of two tensors that no Graph can hold, where a path takes them for alike."""
    return type(tensor), tensor.dtype, tensor.layout, tensor.device, tensor.is_nested


def copy(tensor: torch.Tensor, order: str = "C") -> torch.Tensor:
    """New memory with the same elements: "C" as they are told, "K" and "F" as they lie."""
    kept = torch.contiguous_format if order == "C" else torch.preserve_format
    return tensor.clone(memory_format=kept)


def share_elements(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(_dvm.may_overlap(one, other))


def owner_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The tensor whose memory it is; None if that is not dense, or of another dtype."""
    owner = tensor if tensor._base is None else tensor._base
    alike = type(owner) in CLASSES and owner.dtype == tensor.dtype
    return owner if alike and owner.is_contiguous() else None


def place_of(tensor: torch.Tensor) -> Place | None:
    """Shape and key such that `owner.reshape(shape)[key]` is this tensor."""
    if (owner := owner_of(tensor)) is None:
        return None
    offset = tensor.storage_offset() - owner.storage_offset()
    return place_in(tuple(owner.shape), Lying(tuple(tensor.shape), tensor.stride(), offset))


def count_writes(tensor: torch.Tensor, times: int) -> None:
    if times > 0:
        torch._C._increment_version([tensor] * times)
    elif not tensor.is_inference():  # else it has no count
        torch._C._autograd._unsafe_set_version_counter((tensor,), (tensor._version + times,))


def number_writes(tensor: torch.Tensor, times: int, *others: torch.Tensor) -> None:
    if not tensor.is_inference():  # nor are the others then
        count = times + sum(other._version for other in others)
        torch._C._autograd._unsafe_set_version_counter((tensor,), (count,))


class Torch:
    """What the lowering asks of PyTorch."""

    name = "torch"
    base = "_base"
    rules = "torch_rules"
    array = torch.Tensor
    scalar = torch.Tensor
    classes = (torch.Tensor,)
    plain = CLASSES
    metaclasses = (type(torch.Tensor), type(torch.nn.Parameter), type(torch.nn.Buffer))
    has_scalars = tells_errors = reshapes_copies = False
    integer = inexact = fields = elementwise = type(None)
    dtype = torch.dtype
    plain_scalars: frozenset[type] = NOTHING
    describing = (torch.dtype, torch.device, torch.memory_format, torch.layout)
    unchanging = describing
    clocks: tuple[Any, ...] = ()
    bare: tuple[type, ...] = ()
    of_lists = frozenset({torch.stack, torch.cat, torch.concat, torch.concatenate})
    generators: tuple[type, ...] = ()
    pure_methods = Methods(lambda known: not known.written)
    writing_methods = Methods(lambda known: bool(known.written))
    own_methods = frozenset({"dim", "numel", "size", "is_complex", "is_floating_point"})
    facts = (torch.finfo, torch.iinfo, torch.device)
    function_types: tuple[type, ...] = ()

    strides = staticmethod(torch.Tensor.stride)
    layout = staticmethod(_dvm.layout)
    repeated_axes = staticmethod(_dvm.repeated_axes)
    overlaps_itself = staticmethod(_dvm.is_overlapping)
    may_share = staticmethod(_dvm.may_overlap)
    share_elements = staticmethod(share_elements)
    owner_of = staticmethod(owner_of)
    place_of = staticmethod(place_of)
    transpose = staticmethod(torch.Tensor.permute)
    reshape = staticmethod(torch.Tensor.reshape)
    copy = staticmethod(copy)
    like = staticmethod(torch.Tensor.clone)
    count_writes = staticmethod(count_writes)
    number_writes = staticmethod(number_writes)

    @staticmethod
    def is_single(seen: Any) -> bool:
        kinds = (torch.dtype, torch.memory_format, torch.layout)
        return type(seen) in kinds or type(seen) is torch._C._disabled_torch_function_impl

    @staticmethod
    def has_equals(seen: Any) -> bool:
        return False

    is_told = is_held = is_compound = is_whole = is_code = has_equals
    writes = makes_new = owns = has_equals

    @staticmethod
    def is_function(thing: Any) -> bool:
        if not isinstance(thing, FUNCTION_KINDS):
            return False
        return thing in FUNCTIONS or schemas.told(thing).is_known

    is_called = is_function

    @staticmethod
    def tells_state(function: Any) -> bool:
        return function in SETTINGS

    @staticmethod
    def beside(array: torch.Tensor) -> tuple[str, ...]:
        return ()

    @staticmethod
    def fits_graph(seen: Any) -> bool:
        if type(seen) not in CLASSES or seen.dtype not in NAMES or seen.ndim > MAX_RANK:
            return False
        return bool(_dvm.is_plain_tensor(seen))

    @staticmethod
    def is_foreign(seen: torch.Tensor) -> bool:
        """Complex and nested ones, which torch itself computes with."""
        is_here = seen.layout is torch.strided and seen.device.type == "cpu"
        is_other = type(seen) in CLASSES and (seen.is_complex() or seen.is_nested)
        return bool(is_other and is_here and not seen.requires_grad)

    @staticmethod
    def is_empty(array: torch.Tensor) -> bool:
        return bool(array.numel() == 0)

    @staticmethod
    def is_writeable(array: torch.Tensor) -> bool:
        return True

    @staticmethod
    def dtype_of(seen: torch.Tensor) -> str:
        return NAMES[seen.dtype]

    @staticmethod
    def class_of(dtype: str, is_scalar: bool) -> Any:
        return torch.Tensor

    @staticmethod
    def generator_of(function: Any) -> Any:
        return None

    @staticmethod
    def called_by(thing: Any) -> list[Any] | None:
        return None

    @staticmethod
    def number_classes() -> tuple[type, ...]:
        return ()

    @staticmethod
    def holds_plain(array: torch.Tensor) -> bool:
        return False

    @staticmethod
    def is_view_or_empty(array: torch.Tensor, base: torch.Tensor) -> bool:
        return array.numel() == 0 or share_elements(array, base)

    @staticmethod
    def as_array(scalar: torch.Tensor) -> torch.Tensor:
        return scalar

    @staticmethod
    def set_writeable(array: torch.Tensor, write: bool) -> None:
        raise TypeError("every tensor may be written")

    @staticmethod
    def scalar_type(dtype: str) -> Any:
        return torch.Tensor

    @staticmethod
    def error_state() -> tuple[str, str, str, str]:
        return ("ignore", "ignore", "ignore", "ignore")

    @staticmethod
    def quiet() -> contextlib.nullcontext[None]:
        return contextlib.nullcontext()

    @staticmethod
    def number(literal: Any, dtype: str) -> Any:
        """As an array of NumPy's, which has the bits that torch gives it."""
        rounded = torch.tensor(literal).to(TORCH_DTYPES[dtype])
        return (rounded.float() if dtype == "bfloat16" else rounded).numpy()


TORCH = Torch()
join(TORCH)
_dvm.capture_torch(torch.Tensor, torch.nn.Parameter, elements_of, torch.is_grad_enabled, QUIET)

__all__ = ["NAMES", "TORCH", "TORCH_DTYPES", "Torch"]
