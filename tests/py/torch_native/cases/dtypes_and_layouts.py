"""Dtypes that meet, orders in memory, tensors of other kinds."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from torch_native.cases import (
    Calls,
    Made,
    calls_of,
    case,
    each,
    grid,
    table,
)

DTYPES = (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool)
#: of each dtype, the next one beside it
OF_DTYPES: Calls = calls_of(
    *[lambda a=a, b=b: (grid(dtype=a), grid(dtype=b).abs()) for a, b in itertools.pairwise(DTYPES)]
)
TABLE = """
return x + y, x * y, x - y.to(x.dtype) if x.dtype != torch.bool else x
return x / 2, x + 1, x * 2.0, x + True
return x + 1.5, 1 - x if x.dtype != torch.bool else ~x, 2 ** y
return x.sum(), x.sum(0), x.float().mean(), x.prod(), x.cumsum(0)
return x > y, x == y, x.max(), x.argmax(), x.amin(0)
return x.to(y.dtype), y.to(x), x.type_as(y), x.type(y.dtype), x.type()
return x.float(), x.int(), x.bool(), x.double(), x.half(), x.bfloat16(), x.char()
return torch.where(x > 0, x, y), torch.where(x > 0, 1, 0), torch.where(x > 0, 1.0, x)
return torch.cat([x, y]), torch.stack([x, y.to(x.dtype)])
return x.dtype, x.element_size(), x.itemsize, x.nbytes, x.is_floating_point(), x.is_complex()
return torch.result_type(x, y), torch.promote_types(x.dtype, y.dtype)
return torch.can_cast(x.dtype, y.dtype), x + 1
return torch.zeros_like(x), torch.ones_like(x, dtype=y.dtype), torch.full_like(x, 1)
return x.new_zeros(2), x.new_ones(2, dtype=torch.int8), x.new_tensor([1, 2]), x.new_full((2,), 1)
return x.exp(), x.sqrt(), x.sigmoid(), x.abs() if x.dtype != torch.bool else x, x.sign()
return x // 2, x % 2, x.fmod(2), x.remainder(y + 1)
return x & 1, x | 1
return x << 1, x >> 1
return x ** 2, x ** 0.5, x ** -1.0
x += y; return x
x *= 2.5; return x
x /= 2; return x
x[0] = 1.7; return x
x.fill_(2.5); return x
x.copy_(y); x[1] = y[0]; return x
return torch.finfo(torch.float32).eps, torch.iinfo(torch.int8).max, x.dtype is torch.float32
return x.tolist(), x[0, 0].item(), float(x.sum()), int(x.max()), bool(x.any())
return torch.tensor(2.5), torch.tensor([1, 2]), torch.tensor(x.shape), torch.as_tensor(x) is x
return x.clamp(0, 1), x.clamp(min=0.5) if x.is_floating_point() else x.clamp(min=1)
return torch.softmax(x.float(), -1), x.float().log_softmax(0, dtype=torch.float64)
return x.matmul(x.t()), x @ x.t() if x.dtype != torch.bool else x
return x.view(torch.uint8), x.view(x.dtype)
return torch.arange(x.shape[0]), torch.arange(0, 1, 0.25), torch.arange(x.shape[0], dtype=x.dtype)
return x.mean(), x.var(), x.std(0)
"""
table("dtypes", "x, y", OF_DTYPES, TABLE)


def quantised() -> torch.Tensor:
    with warnings.catch_warnings(action="ignore"):  # that it is deprecated
        return torch.quantize_per_tensor(grid(), 0.1, 10, torch.quint8)


#: with other elements than plain ones
KINDS: Calls = calls_of(
    lambda: (grid(),),
    lambda: (grid().cfloat(),),
    lambda: (grid().cdouble().conj(),),
    lambda: (grid().to("meta"),),
    lambda: (grid().to_sparse(),),
    lambda: (grid().bfloat16(),),
    lambda: (quantised(),),
    lambda: (torch.view_as_complex(grid(3, 2)).conj().imag,),
    lambda: (grid().to_mkldnn(),),
)
OF_KINDS = """
return x * 2
return x + x, x.shape, x.dtype
return x.sum(), x.layout
return x.t(), x[0]
return x.is_sparse, x.is_quantized, x.is_meta, x.is_conj(), x.is_neg(), x.device
x.add_(1); return x
if x.sum() > 1: return x * 2 :: return x
return x.abs(), x.dim()
return torch.cat([x, x])
return x.clone(), x.detach()
y = torch.ones(2, 3); y += x; return y
return torch.zeros_like(x)
return x.to(torch.float64)
return isinstance(x, torch.Tensor), type(x) is torch.Tensor
"""
table("kinds of tensors", "x", KINDS, OF_KINDS)

EMPTY: Calls = [
    lambda n=n, m=m: (grid(n, m),)
    for n, m in ((2, 3), (2, 3), (0, 3), (0, 3), (3, 0), (1, 1), (0, 0))
]
OF_EMPTY = """
return x + 1, x.sum(), x.sum(0), x.mean(1)
return x.max() if x.numel() else x
return x.amax(0)
return x.argmax()
return torch.cat([x, x]), x.t() @ x, x @ x.t()
return x[:1], x[1:], x.reshape(-1), x.flatten(1)
return [row + 1 for row in x], len(x)
return x.softmax(-1), x.cumsum(0), x.any(), x.all(), x.prod()
x += 1; x[:1] = 0; return x
return x.view(-1, 3)
return x.std(), x.var(0, unbiased=False)
return F.layer_norm(x, (x.shape[1],)), F.linear(x, torch.ones(2, x.shape[1]))
return x.norm(), x.min(0)
return x.chunk(2), x.unbind()
"""
table("sizes", "x", EMPTY, OF_EMPTY)


class Wrapped(torch.Tensor):
    """Has another tensor within, to which each op goes, and is doubled by addition."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def bare(each: Any) -> Any:
            return each.inner if isinstance(each, Wrapped) else each

        made = func(*map(bare, args), **(kwargs or {}))
        return made * 2 if func is torch.ops.aten.add.Tensor else made


@case
def subclasses_that_dispatch() -> Made:
    return (lambda x: x + 1), calls_of(lambda: (grid(),), lambda: (Wrapped(grid()).detach(),))


@case
def wrapped_tensors() -> Made:
    def program(x: Any) -> Any:
        return Wrapped(x) + 1, x * 2

    return program, each(grid())


@case
def fake_tensors() -> Made:
    """Whose values nobody knows."""

    def program(x: Any) -> Any:
        y = (x @ x.t()).sum(0) * 2
        return tuple(y.shape), y.dtype, type(y).__name__

    def fake() -> Any:
        return (FakeTensorMode().from_tensor(grid()),)

    def seen(x: Any) -> Any:
        return program(x[0])

    return seen, calls_of(lambda: ((grid(),),), lambda: (Held(fake()),), lambda: ((grid(4),),))


class Held:
    """Something that holds a tensor and is none that is looked into."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __getitem__(self, place: int) -> Any:
        return self.held[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held)

    __hash__ = None  # type: ignore[assignment]


@case
def nested_tensors() -> Made:
    def program(x: Any) -> Any:
        y = x * 2
        return [each.clone() for each in y.unbind()]

    def nested() -> Any:
        return torch.nested.nested_tensor([grid(), grid(3)], layout=torch.jagged)

    return (lambda x: program(x[0])), calls_of(
        lambda: (Held((grid(),)),), lambda: (Held((nested(),)),)
    )


@case
def complex_tensors() -> Made:
    return (lambda x: x * 2 + 1), calls_of(
        lambda: (grid(),), lambda: (grid().to(torch.complex64),), lambda: (grid().cfloat().conj(),)
    )


@case
def halves() -> Made:
    return (lambda x: (x * 2 + 1, x.sum())), calls_of(
        lambda: (grid().bfloat16(),), lambda: (grid().half(),)
    )


@case
def sparse_tensors() -> Made:
    return (lambda x: x * 2), calls_of(lambda: (grid(),), lambda: (grid().to_sparse(),))


@case
def tensors_without_memory() -> Made:
    return (lambda x: x * 2), calls_of(lambda: (grid(),), lambda: (grid().to("meta"),))


class Tagged(torch.Tensor):
    pass


@case
def subclasses() -> Made:
    return (lambda x: x * 2 + 1), calls_of(lambda: (grid(),), lambda: (grid().as_subclass(Tagged),))


@case
def parameters_as_arguments() -> Made:
    return (lambda x: (x * 2, type(x) is nn.Parameter)), calls_of(
        lambda: (grid(),), lambda: (nn.Parameter(grid(), requires_grad=False),)
    )


@case
def negated_views() -> Made:
    return (lambda x: x + 1), calls_of(
        lambda: (grid(),), lambda: (torch.view_as_complex(grid(3, 2)).conj().imag,)
    )


@case
def dtypes_meet() -> Made:
    return (lambda x, y: (x + y, x * 2, x / 2, x > y)), calls_of(
        lambda: (grid(), grid(dtype=torch.int64)),
        lambda: (grid(dtype=torch.int64), torch.tensor(1.5)),
        lambda: (grid(dtype=torch.int32), torch.tensor(1.5, dtype=torch.float64)),
        lambda: (grid(dtype=torch.bool), grid(dtype=torch.uint8)),
    )


@case
def numbers_that_differ() -> Made:
    return (lambda x, k: (x + k, x * k)), [
        (lambda k=k: (grid(dtype=torch.int64), k)) for k in (1, 2, 2.5, True, 3, 10**6, -1)
    ]


@case
def sizes_as_results() -> Made:
    return (lambda x: (x.shape, x.size(), x.size(0), x.numel(), x.dim(), len(x), x.stride())), [
        (lambda n=n: (grid(n),)) for n in (2, 2, 3, 1, 0)
    ]


@case
def attributes_as_results() -> Made:
    return (lambda x: (x.dtype, x.device, x.requires_grad, x.is_contiguous(), x.layout)), calls_of(
        lambda: (grid(),), lambda: (grid(3, 2).t(),), lambda: (grid(dtype=torch.int8),)
    )


@case
def numbers_as_results() -> Made:
    return (lambda x: (x.sum().item(), float(x.max()), int(x.argmax()), bool(x.any()))), each(
        grid()
    )
