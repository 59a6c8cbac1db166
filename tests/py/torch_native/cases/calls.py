"""How programs are called, what they are given, what they go by besides, and what they return."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import itertools
import operator
import pickle
from typing import Any, NamedTuple

import torch
from torch import nn

from torch_native.cases import ONE, Calls, Layer, Made, calls_of, case, each, grid, table


class Pair(NamedTuple):
    first: Any
    second: Any = None


@dataclasses.dataclass
class Output:
    logits: Any
    hidden: Any = None
    extra: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: Any


class Mapping(collections.OrderedDict[str, Any]):
    """As ModelOutput of transformers: by name, by attribute and by place."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)


SCALE = {"factor": 2.0}
NUMBERS = [1, 2, 3]


class Holder:
    """Has tensors as attributes, and methods of several kinds."""

    def __init__(self) -> None:
        self.weight = torch.ones(3)
        self.calls = 0

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.weight

    @property
    def half(self) -> torch.Tensor:
        return self.weight / 2

    @staticmethod
    def plus(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @classmethod
    def named(cls, x: torch.Tensor) -> Any:
        return x, cls.__name__


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) * 2

    return inner


@decorated
def plus_two(x: torch.Tensor, *, more: int = 2) -> torch.Tensor:
    return x + more


def rows_of(x: torch.Tensor) -> Any:
    for row in x:
        yield row * 2


NAMES = {
    "Pair": Pair, "Output": Output, "Frozen": Frozen, "Mapping": Mapping, "SCALE": SCALE,
    "NUMBERS": NUMBERS, "Holder": Holder, "plus_two": plus_two, "rows_of": rows_of,
    "functools": functools, "itertools": itertools, "operator": operator, "copy": copy,
    "dataclasses": dataclasses, "pickle": pickle, "holder": Holder(), "Layer": Layer,
}  # fmt: skip
TABLE = """
return Pair(x + 1, x), Pair(x).second
return Output(x * 2, hidden=(x,)), Output(x).extra
o = Output(x * 2); o.hidden = o.logits + 1; return o
return dataclasses.replace(Output(x), logits=x + 1), dataclasses.asdict(Output(1, 2))
return Frozen(x + 1)
f = Frozen(x); f.value = 2; return f
m = Mapping(a=x, b=x + 1); return m.a + m["b"], list(m), m
m = Mapping(a=x); return m.nothing
return {"x": x, 1: [x + 1, (x,)], None: ()}, [], ()
return {k: x * k for k in NUMBERS}, {n for n in NUMBERS}
a, *rest = x; return a, rest, len(rest)
return [row.sum() for row in x], sum(row for row in x), max(row.max() for row in x)
return list(rows_of(x)), next(rows_of(x)), list(enumerate(x))
return list(zip(x, NUMBERS)), list(map(torch.relu, x)), list(reversed([*x]))
return functools.reduce(operator.add, x), functools.partial(torch.add, x)(1)
return list(itertools.chain(x, x)), [*itertools.accumulate(NUMBERS)], x + 1
return x * SCALE["factor"] + len(SCALE)
SCALE["factor"] += 1; return x * SCALE["factor"]
NUMBERS.append(x.shape[0]); return x + sum(NUMBERS)
NUMBERS.append(x + 1); return len(NUMBERS)
holder.calls += 1; holder.weight = holder.weight + x[0]; return holder.weight, holder.calls
return holder(x), holder.calls, holder.half, holder.plus(x), holder.named(x)
h = Holder(); return h(x), h.calls
return plus_two(x), plus_two(x, more=5), plus_two.__name__
return (lambda y, k=3: y * k)(x), (lambda *a, **k: (a, k))(x, z=x)
f = lambda y: y + x.sum() :: return f(x)
return sorted(NUMBERS, key=lambda n: -n), sorted([3, 1]), x + 1
return copy.copy(x), copy.deepcopy(x), copy.deepcopy([x, x])
return pickle.loads(pickle.dumps(x))
return f"{x.shape[0]} rows", str(x.dtype), repr(x.shape), x
return str(x), x + 1
return isinstance(x, torch.Tensor), type(x), hasattr(x, "nothing"), callable(x), x + 1
return x.__class__.__name__, getattr(x, "shape")[0], getattr(x, "none", 3), x * 2
return hash(x) == hash(x), x in [x], id(x) == id(x)
return torch.is_tensor(x), torch.is_tensor(1), torch.numel(x)
y = x :: for _ in range(3): y = y * 2 if y.sum() < 9 else y - 1 :: return y
y = x :: while y.abs().sum() > 1: y = y / 2 :: return y
y = x :: while y.min() <= 3: y, z = y + 1, y :: return y, z
return x.sum() if x.shape[0] > 2 else x.mean(), not x.any(), x.shape[0] > 1 and x.max() > 1
return torch.tensor([row.sum() for row in x]), torch.tensor(x.shape[0] * 2.0)
return torch.tensor([[1, 2], [3, 4]]) @ torch.ones(2, dtype=torch.int64), x * 2
return x if x.is_contiguous() else x.contiguous(), x.stride(0) == 3
import math :: return x * math.sqrt(x.shape[1]), math.ceil(x.shape[0] / 2)
x.tag = 3; return x.tag, x + 1
x.tag = x * 2; return x
del x.tag; return x
return x.grad_fn, x.grad, x.name, x.names, x.output_nr, x.is_leaf, x * 2
return torch.jit.is_scripting(), torch.compiler.is_compiling(), x + 1
return torch.onnx.is_in_onnx_export(), x + 1
return torch.overrides.is_tensor_like(x), torch.is_same_size(x, x), x + 1
print(x.shape[0]); return x + 1
global counter; counter = 5; return x * counter
return Layer().eval()(x)
return next(iter([x * 2])), next(r for r in x if r.sum() > 0)
async def g(): return x :: return x + 1
with torch.profiler.record_function("part"): y = x * 2 :: return y
return torch.utils.checkpoint.checkpoint(torch.relu, x, use_reentrant=False)
return torch.einsum("ij,kj->ik", x, x), torch.tensordot(x, x, 2)
return x.to_dense(), x.to_sparse().to_dense()
return torch.broadcast_tensors(x, x[0]), torch.meshgrid(x[0], x[0], indexing="ij")
return torch.atleast_1d(x), torch.block_diag(x, x), torch.unique(x), x.nonzero()
return x.apply_(lambda v: v + 1), x.map_(x, lambda a, b: a + b)
"""
table("calls", "x", ONE, TABLE, **NAMES)

OF_MANY: Calls = calls_of(
    lambda: (grid(),),
    lambda: (grid(), 2),
    lambda: (grid(), 2.5),
    lambda: (grid(), grid() + 1),
    lambda: (grid(), None, grid(3)),
    lambda: (grid(), True, [grid(), grid(1)], 4),
    lambda: (grid(), {"a": grid(), "b": 3}),
    lambda: (),
)
MANY = """
return len(args), args
return args[0] * 2, args[1:]
x, *rest = args; return [x + r for r in rest if isinstance(r, (int, float))]
return [type(a).__name__ for a in args]
return torch.add(*args[:2])
t = 0 :: for a in args: t = t + (a.sum() if torch.is_tensor(a) else 1) :: return t
return (lambda x, y=1, *z: (x * 2, y, z))(*args)
return args[-1] if args else None
"""
table("calls", "*args", OF_MANY, MANY)


def keywords() -> list[dict[str, Any]]:
    return [
        {},
        {},
        {"k": 2},
        {"k": 2.5},
        {"k": grid()},
        {"k": None, "more": grid()},
        {"more": grid()},
    ]


@case
def by_keyword() -> Made:
    def program(x: Any, named: Any) -> Any:
        return inner(x, **named)

    def inner(x: Any, k: Any = 1, **rest: Any) -> Any:
        return (x if k is None else x * k), sorted(rest), [v + 1 for v in rest.values()]

    return program, [lambda each=each: (grid(), each) for each in keywords()]


@case
def closures_rebound() -> Made:
    factor = 2.0
    offset = torch.ones(3)

    def program(x: Any) -> Any:
        return x * factor + offset

    def rebind() -> Any:
        nonlocal factor, offset
        factor, offset = factor + 1, offset * 2
        return (grid(),)

    return program, [lambda: (grid(),)] * 2 + [rebind] * 3


@case
def closures_written() -> Made:
    count = 0
    total = torch.zeros(3)

    def program(x: Any) -> Any:
        nonlocal count, total
        count += 1
        total = total + x[0]
        return total, count

    return program, each(grid()), lambda: (count, total)


@case
def functions_patched() -> Made:
    class Helper:
        scale = staticmethod(lambda x: x * 2)

    def patch(function: Any) -> Any:
        Helper.scale = staticmethod(function)
        return (grid(),)

    return (lambda x: Helper.scale(x) + 1), calls_of(
        lambda: (grid(),), lambda: patch(lambda x: x * 3), lambda: patch(torch.relu)
    )


@case
def torch_patched() -> Made:
    """By a program that wants another `relu`, for as long as it runs."""
    plain = torch.relu

    def patch(function: Any) -> Any:
        torch.relu = function
        return (grid(),)

    return (lambda x: torch.relu(x) + 1), [
        lambda: (grid(),),
        lambda: (grid(),),
        lambda: patch(lambda x: x * 3),
        lambda: patch(plain),
    ]


@case
def a_method_of_the_class_patched() -> Made:
    plain = nn.Linear.forward
    module = Layer().eval()

    def patch(function: Any) -> Any:
        nn.Linear.forward = function
        return (grid(),)

    return (lambda x: module(x)), [
        lambda: (grid(),),
        lambda: (grid(),),
        lambda: patch(lambda self, x: x + self.in_features),
        lambda: patch(plain),
        lambda: (grid(),),
    ]


@case
def a_class_changed_between_calls() -> Made:
    class Own(nn.Module):
        scale = 2

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

    own = Own()

    def change(**named: Any) -> Any:
        for name, value in named.items():
            setattr(Own, name, value)
        return (grid(),)

    return (lambda x: own(x)), calls_of(
        lambda: (grid(),),
        lambda: change(scale=3),
        lambda: change(forward=lambda self, x: x - self.scale),
        lambda: change(__call__=lambda _self, x: x),
    )


@case
def an_argument_kept_between_calls() -> Made:
    x = grid()
    kept: list[Any] = []

    def program(y: Any) -> Any:
        if kept and kept[0] is y:
            return y * 2
        kept[:] = [y]
        return y + 1

    return program, [lambda: (x,), lambda: (x,), lambda: (grid(),), lambda: (x,)], lambda: kept


@case
def results_given_again() -> Made:
    state: list[Any] = [grid()]

    def program(x: Any) -> Any:
        state[0] = torch.tanh(x + 1)
        return state[0]

    return program, [lambda: (state[0],)] * 4, lambda: state


@case
def recursive() -> Made:
    def depth(x: Any, k: int) -> Any:
        return x if k == 0 else depth(x * 2, k - 1) + 1

    return depth, [lambda k=k: (grid(), k) for k in (0, 1, 1, 3, 3)]


@case
def a_copy_of_the_program() -> Made:
    """Deep copies and pickles of what the program is given, made between calls."""
    module = Layer().eval()

    def program(m: Any, x: Any) -> Any:
        return m(x), m.first.weight is module.first.weight

    def copied() -> Any:
        other = copy.deepcopy(module)
        other.first.weight.data.add_(1)
        return other, grid()

    def pickled() -> Any:
        return pickle.loads(pickle.dumps(module)), grid()

    return program, calls_of(lambda: (module, grid()), copied, pickled)


@case
def a_bound_method() -> Made:
    holder = Holder()
    return holder.__call__, each(grid()), lambda: (holder.weight, holder.calls)


@case
def a_partial() -> Made:
    return functools.partial(lambda k, x: x * k, 3), each(grid())
