"""Arguments of every kind that torch has: as eager torch takes them, or an error naming them."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

import dvm
import dvm.torch
from torch_door.one_op import OneOp
from whole import WHOLE

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def _from_nothing() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


class Subclass(torch.Tensor):
    pass


def quantised(x: torch.Tensor) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)


#: what no graph takes in place of a plain f32 tensor
OTHERS: dict[str, Callable[[torch.Tensor], Any]] = {
    "f64": lambda x: x.double(),
    "bf16": lambda x: x.bfloat16(),
    "i64": lambda x: x.long(),
    "bool": lambda x: x > 0.5,
    "complex": lambda x: x * (1 + 2j),
    "conjugated": lambda x: (x * (1 + 2j)).conj(),
    "float8": lambda x: x.to(torch.float8_e4m3fn),
    "meta": lambda x: x.to("meta"),
    "sparse": lambda x: x.to_sparse(),
    "sparse rows": lambda x: x.to_sparse_csr(),
    "quantised": quantised,
    "mkldnn": lambda x: x.to_mkldnn(),
    "subclass": lambda x: x.as_subclass(Subclass),
    "fake": lambda x: FakeTensorMode(allow_non_fake_inputs=True).from_tensor(x),
    "rank": lambda x: x[None],
    "array": lambda x: x.numpy(),
    "list": lambda x: x.tolist(),
    "none": lambda _: None,
}
#: plain tensors, however they lie in memory
LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t().contiguous().t(),
    "every other": lambda x: x.repeat_interleave(2, 1)[:, ::2],
    "expanded": lambda x: x[:1].expand(x.shape),
    "expanded from one": lambda x: x[0, 0].expand(x.shape),
    "overlapping": lambda x: x.flatten().as_strided(x.shape, (2, 1)),
    "offset": lambda x: torch.cat([x.new_zeros(3), x.flatten()])[3:].view(x.shape),
    "unaligned": lambda x: torch.frombuffer(bytearray(b"1" + x.numpy().tobytes()), dtype=x.dtype,
                                            offset=1).view(x.shape),
    "parameter": lambda x: torch.nn.Parameter(x),
    "no rows": lambda x: x[:0],
    "no columns": lambda x: x[:, :0],
    "negated": lambda x: torch._neg_view(x),
    "imaginary": lambda x: torch.complex(x, x).conj().imag,
}  # fmt: skip


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or the kind of its error."""
    try:
        return function(*args)
    except Exception as error:  # whatever torch has for such arguments
        return type(error)


def compare(got: Any, wanted: Any) -> None:
    if isinstance(wanted, type):
        assert isinstance(got, type), f"eager torch raises {wanted}"
        return
    for a, b in zip(pytree.tree_leaves(got), pytree.tree_leaves(wanted), strict=True):
        if not isinstance(b, torch.Tensor):
            np.testing.assert_allclose(a, b, rtol=1e-6)  # arrays, and results that are arguments
            continue
        assert (a.dtype, a.shape, a.layout, a.device) == (b.dtype, b.shape, b.layout, b.device)
        if a.device.type == "meta" or type(b).__name__ == "FakeTensor":
            continue
        if a.is_quantized or a.layout != torch.strided:
            a, b = (t.dequantize() if t.is_quantized else t.to_dense() for t in (a, b))
        torch.testing.assert_close(a, b, check_stride=False)


@pytest.mark.parametrize("kind", OTHERS)
def test_a_graph_gives_up_a_call_with_another_kind(kind):
    x = torch.rand(3, 4)
    other = OTHERS[kind](x)
    one, strict = (OneOp(aten.sin.default, (x,), {}, fallback=f) for f in ("torch", "error"))
    compare(outcome(lambda: one.compiled([3, 4, other])[0]), outcome(aten.sin.default, other))
    assert sum(one.compiled.record.given_up.values()) == 1
    with pytest.raises(dvm.ShapeError, match="argument 2 is") as caught:
        strict.compiled([3, 4, other])
    assert caught.value.code == "DVM-S003"


def compiled_by(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """By dvm, and by a backend that runs its graphs as they are: torch has the same front for both.

    That front takes no subclasses, for instance, and an array of NumPy for a tensor.
    """
    return [
        torch.compile(function, backend=backend, dynamic=True) for backend in ("dvm", "aot_eager")
    ]


def functions() -> list[Callable[..., Any]]:
    def chain(x, y):
        return (x * 2 + y).sin(), x + 1

    def rows(x, y):
        return torch.nn.functional.softmax(x + y, -1).sum(0)

    def product(x, y):
        return x @ y.transpose(-1, -2), x.reshape(-1)

    return [chain, rows, product]


# Which kind of argument it is, is asked in front of all graphs: one function for each kind.
@pytest.mark.parametrize(
    ("kind", "function"),
    [
        (kind, function)
        for k, kind in enumerate(OTHERS)
        for function in (functions() if WHOLE else functions()[k % 3 :][:1])
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_a_compiled_function_takes_every_kind(kind, function):
    """Behind Dynamo's guards, in turns with tensors that the graph was made for."""
    compiled, reference = compiled_by(function)
    x, y = torch.rand(3, 4), torch.rand(3, 4)
    compare(compiled(x, y), function(x, y))
    if kind == "fake":
        return  # there is one fake mode at a time, and Dynamo has its own
    for args in ((OTHERS[kind](x), y), (x, OTHERS[kind](y)), (x, y)):
        compare(outcome(compiled, *args), outcome(reference, *args))
    compare(compiled(x, y), function(x, y))


@pytest.mark.parametrize("grads", [False, True], ids=["inference", "gradients"])
@pytest.mark.parametrize("function", functions(), ids=lambda f: f.__name__)
def test_a_compiled_function_takes_every_layout(function, grads):
    compiled = torch.compile(function, backend="dvm", dynamic=True)
    x, y = torch.rand(3, 4), torch.rand(3, 4)
    with torch._dynamo.config.patch(recompile_limit=64):
        for layout in [*LAYOUTS.values(), LAYOUTS["contiguous"]]:
            pairs = [(layout(x).detach(), layout(y).detach()) for _ in range(2)]
            made = []
            for called, args in zip((compiled, function), pairs, strict=True):
                given = [a.requires_grad_(grads) for a in args]
                results = pytree.tree_leaves(called(*given))
                made.append(results)
                if grads:
                    made[-1] += torch.autograd.grad(
                        sum(r.sin().sum() for r in results), given, allow_unused=True
                    )
            for got, wanted in zip(*made, strict=True):
                torch.testing.assert_close(got, wanted)


def test_tangents_that_are_negated_when_they_are_read():
    """Backward graphs have no guards: what they are given is looked at by themselves."""
    x = torch.rand(5, requires_grad=True)
    compiled = torch.compile(lambda x: x * x, backend="dvm", dynamic=True)
    tangent = torch.rand(5)
    for given in (tangent, torch._neg_view(tangent), torch.complex(tangent, tangent).conj().imag):
        (got,) = torch.autograd.grad(compiled(x), x, given)
        (wanted,) = torch.autograd.grad(x * x, x, given)
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("kind", ["f64", "subclass", "expanded", "overlapping", "transposed"])
def test_tangents_of_every_kind(kind):
    x = torch.rand(3, 4, requires_grad=True)
    calls = compiled_by(lambda x: (x * 2).exp())
    make = OTHERS.get(kind) or LAYOUTS[kind]
    tangent = torch.rand(3, 4)
    for given in (tangent, make(tangent), tangent):
        got, wanted = (outcome(torch.autograd.grad, call(x), x, given) for call in calls)
        compare(got, wanted)


def test_writes_to_what_overlaps():
    def f(x, y):
        x.add_(y)
        return x * 2

    compiled, reference = compiled_by(f)
    for layout in LAYOUTS.values():
        base = torch.rand(3, 4)
        ours, theirs = layout(base.clone()).detach(), layout(base.clone()).detach()
        y = torch.rand(ours.shape)
        compare(outcome(compiled, ours, y), outcome(reference, theirs, y))
        torch.testing.assert_close(ours, theirs)


def test_arguments_that_share_memory():
    """One is written, the other is the same memory, or lies behind it, or overlaps it in part."""

    def f(x, y):
        z = y * 2
        x.mul_(3)
        return x + y + z

    compiled, reference = compiled_by(f)
    for size in (4, 6):
        base = torch.rand(12)
        ours, theirs = base.clone(), base.clone()
        for k in (0, 2, 6, 3):
            got = compiled(ours[:size], ours[k : k + size])
            wanted = reference(theirs[:size], theirs[k : k + size])
            torch.testing.assert_close(got, wanted)
            torch.testing.assert_close(ours, theirs)
