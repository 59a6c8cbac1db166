"""Arguments for each row of the table of ops, for a dtype and two sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

FLOATS = (torch.float32, torch.float64, torch.bfloat16)
CPU = torch.device("cpu")
INTEGERS = (torch.int64, torch.int32)
NO_BOOLS = (*FLOATS, *INTEGERS)
ALL = (*NO_BOOLS, torch.bool)


@dataclass
class Maker:
    """Makes tensors of one dtype, whose sizes are named `m` and `n`."""

    dtype: torch.dtype
    m: int
    n: int

    def __call__(
        self, *shape: int, dtype: torch.dtype | None = None, low: float = -3, high: float = 3
    ):
        dtype = dtype or self.dtype
        if dtype == torch.bool:
            return torch.rand(shape) > 0.5
        if not dtype.is_floating_point:
            return torch.randint(int(low), int(high) + 1, shape, dtype=dtype)
        return (torch.rand(shape, dtype=torch.float64) * (high - low) + low).to(dtype)

    @property
    def x(self) -> torch.Tensor:
        return self(self.m, self.n)

    def places(self, *shape: int, size: int, low: int = 0) -> torch.Tensor:
        return torch.randint(low, max(size, low + 1), shape)


@dataclass(frozen=True)
class Samples:
    """make: the arguments, a tuple, of one or several calls, each with keywords as a dict last."""

    make: Callable[[Maker], Any]
    dtypes: tuple[torch.dtype, ...] = FLOATS
    is_defined: bool = True  # whether elements are
    shares_sizes: bool = False  # equal sizes are one symbol
    least: int = 0  # size that torch, or a comparison of its results, needs


def each(*makes: Callable[[Maker], tuple[Any, ...]]) -> Callable[[Maker], Any]:
    return lambda s: [make(s) for make in makes]


def put(*others: Any, values: bool = True) -> Callable[[Maker], Any]:
    """Each place once, for the order of several is torch's own; the elements are in front."""

    def make(s: Maker) -> Any:
        of_rows, of_columns = (
            torch.stack([torch.randperm(size) for _ in range(count)], axis)
            for size, count, axis in ((s.m, s.n, 1), (s.n, s.m, 0))
        )
        return [
            (s.x, 0, of_rows, s.x if values else 2, *others),
            (s.x, -1, of_columns[:, : s.n - 1], s.x if values else 1, *others),
        ]

    return make


def added(*others: Any) -> Callable[[Maker], Any]:
    """Places that come several times."""
    return lambda s: [
        (s.x, 0, s.places(2 * s.m, s.n, size=s.m), s(2 * s.m, s.n), *others),
        (s.x, -1, s.places(s.m, 3, size=s.n), s(s.m, 3), *others),
    ]


def index_put(s: Maker) -> Any:
    rows, columns = s.places(4, size=s.m, low=-s.m), s.places(4, size=s.n)
    return [
        (s.x, [torch.randperm(s.m)], s(s.m, s.n)),
        (s.x, [None, torch.randperm(s.n)], s(1)),
        (s.x, [rows], s(4, s.n), True),
        (s.x, [rows, columns], s(4), True),
        (s(2, s.m, s.n), [None, rows, columns], s(2, 4), True),
        (s(s.m, 3, s.n), [rows, None, columns], s(4, 3), True),
        (s.x, [rows[:, None], columns], s(4, 4), True),
        (s.x, [torch.rand(s.m) > 0.5], s(1)),
    ]


def domain(low: float, high: float) -> Callable[[Maker], Any]:
    return lambda s: [(s(s.m, s.n, low=low, high=high),)]


def one(s: Maker) -> Any:
    return [(s.x,), (s(s.n, s.m).t(),), (s(s.m, 1, s.n)[:, 0, ::2],), (s(),)]


def two(s: Maker) -> Any:
    return [(s.x, s.x), (s.x, s(s.n)), (s(s.m, 1), s.x), (s.x, s())]


def with_number(s: Maker) -> Any:
    return [(s.x, 2), (s.x, 0.3), (s.x, -1)]


def positive(s: Maker) -> Any:
    return domain(0.1, 4)(s)


def attention(s: Maker, **named: Any) -> Any:
    q, k, v = s(2, 4, s.m, 8), s(2, 2, s.n, 8), s(2, 2, s.n, 8)
    return (q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), 0.0, False, named)


def attention_backward(s: Maker) -> Any:
    query, key, value = (s(2, 2, size, 8) for size in (s.m, s.n, s.n))
    out, log_total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(query, key, value)
    return [(torch.rand_like(out), query, key, value, out, log_total, 0.0, False)]


def layer_norm_backward(s: Maker) -> Any:
    x, weight, bias = s.x, s(s.n), s(s.n)
    _, mean, scale = torch.ops.aten.native_layer_norm(x, [s.n], weight, bias, 1e-5)
    grad = s.x
    return [
        (grad, x, [s.n], mean, scale, weight, bias, [True, True, True]),
        (grad, x, [s.n], mean, scale, None, None, [True, False, False]),
    ]


def softmax_backward(op: Any) -> Callable[[Maker], Any]:
    def make(s: Maker) -> Any:
        x, grad = s.x, s.x
        return [(grad, op(x, axis), axis, x.dtype) for axis in (0, -1)]

    return make


def gathered(s: Maker) -> Any:
    return [
        (s.x, 0, s.places(2, s.n, size=s.m)),
        (s.x, -1, s.places(s.m, 3, size=s.n)),
        (s.x, 1, s.places(s.m, 1, size=s.n)),
    ]


def indexed(s: Maker) -> Any:
    x = s(s.m, s.n, 3)
    rows, columns = s.places(4, size=s.m, low=-s.m), s.places(2, 1, size=s.n)
    return [
        (x, [rows]),
        (x, [None, columns]),
        (x, [rows, columns]),
        (x, [s.places(2, 1, size=s.m), None, s.places(4, size=3)]),
        (x, [None, rows % max(s.n, 1), s.places(2, 4, size=3)]),
    ]


def nll_loss(shape: tuple[int, ...]) -> Callable[[Maker], Any]:
    """With and without weights, each reduction, and places that are ignored."""
    return lambda s: [
        (s(s.m, s.n, *shape), s.places(s.m, *shape, size=s.n), weight, reduction, ignored)
        for weight in (None, s(s.n, low=0.5))
        for reduction, ignored in ((0, -100), (1, -100), (2, 0))
    ]


def channels(s: Maker) -> tuple[torch.Tensor, ...]:
    return tuple(s(4, low=0.5, high=2) for _ in range(4))


SAME = {
    "abs": one, "neg": one, "ceil": one, "floor": one, "trunc": one, "sign": one, "relu": one,
    "reciprocal": positive, "sqrt": positive, "rsqrt": positive, "exp": one, "exp2": one,
    "expm1": one, "log": positive, "log2": positive, "log10": positive, "log1p": positive,
    "sin": one, "cos": one, "tan": domain(-1, 1), "asin": domain(-1, 1), "acos": domain(-1, 1),
    "atan": one, "sinh": one, "cosh": one, "tanh": one, "asinh": one, "acosh": domain(1.1, 9),
    "atanh": domain(-0.9, 0.9), "erf": one, "sigmoid": one, "silu": one, "square": one,
    "round": one, "isnan": one, "isinf": one, "logical_not": one, "bitwise_not": one,
    "clone": one, "alias": one, "detach": one, "lift_fresh_copy": one, "zeros_like": one,
    "ones_like": one,
}  # fmt: skip
BOTH = """
    mul maximum minimum fmax fmin atan2 hypot copysign nextafter logaddexp bitwise_and bitwise_or
    bitwise_xor eq ne lt le gt ge logical_and logical_or logical_xor add sub div true_divide
"""
DEFAULTS = """
    maximum minimum fmax fmin atan2 hypot nextafter logaddexp logical_and logical_or logical_xor
"""
WITH_NUMBER = """
    mul eq ne lt le gt ge add sub rsub div bitwise_and bitwise_or bitwise_xor fmod remainder
"""

ROWS: dict[str, Samples] = {
    **{f"aten.{op}.default": Samples(make, ALL) for op, make in SAME.items()},
    **{
        f"aten.{op}.{'default' if op in DEFAULTS.split() else 'Tensor'}": Samples(two, ALL)
        for op in BOTH.split()
    },
    **{f"aten.{op}.Scalar": Samples(with_number, ALL) for op in WITH_NUMBER.split()},
    "aten.add.Tensor": Samples(
        lambda s: [*two(s), (s.x, s.x, {"alpha": 2}), (s.x, 2)], (*FLOATS, *INTEGERS, torch.bool)
    ),
    "aten.sub.Tensor": Samples(lambda s: [*two(s), (s.x, s.x, {"alpha": 2})], (*FLOATS, *INTEGERS)),
    "aten.fmod.Tensor": Samples(lambda s: [(s.x, s(s.m, s.n, low=1))], (*FLOATS, *INTEGERS)),
    "aten.remainder.Tensor": Samples(lambda s: [(s.x, s(s.m, s.n, low=1))], (*FLOATS, *INTEGERS)),
    **{
        f"aten.div.{kind}_mode": Samples(
            lambda s, y=y: [
                (s.x, y(s), {"rounding_mode": mode}) for mode in (None, "floor", "trunc")
            ],
            (*FLOATS, *INTEGERS),
        )
        for kind, y in (
            ("Tensor", lambda s: s(s.m, s.n, low=1)),
            ("Scalar", lambda _: 2),
        )
    },
    "aten.pow.Tensor_Scalar": Samples(
        lambda s: [(s(s.m, s.n, low=1), y) for y in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 1.7, -2.5)],
        (*FLOATS, *INTEGERS),
    ),
    "aten.pow.Tensor_Tensor": Samples(
        lambda s: [(s(s.m, s.n, low=1), s(s.n, low=0))], (*FLOATS, *INTEGERS)
    ),
    "aten.pow.Scalar": Samples(lambda s: [(2, s.x), (0.5, s.x)], FLOATS),
    "aten.hardtanh.default": Samples(each(lambda s: (s.x,), lambda s: (s.x, -0.5, 2.0))),
    "aten.leaky_relu.default": Samples(each(lambda s: (s.x,), lambda s: (s.x, 0.2))),
    "aten.elu.default": Samples(each(lambda s: (s.x,), lambda s: (s.x, 1.5, 1.1))),
    "aten.softplus.default": Samples(each(lambda s: (s.x,), lambda s: (s.x, 2, 0.5))),
    "aten.mish.default": Samples(each(lambda s: (s.x,)), FLOATS),
    "aten.hardsigmoid.default": Samples(each(lambda s: (s.x,)), FLOATS),
    "aten.hardswish.default": Samples(each(lambda s: (s.x,)), FLOATS),
    "aten.lerp.Scalar": Samples(
        each(lambda s: (s.x, s(s.n), 0.25), lambda s: (s.x, s.x, 2)), FLOATS
    ),
    "aten.lerp.Tensor": Samples(each(lambda s: (s.x, s(s.m, 1), s(s.n))), FLOATS),
    "aten.gelu.default": Samples(each(lambda s: (s.x,), lambda s: (s.x, {"approximate": "tanh"}))),
    **{
        f"aten.where.{kind}": Samples(
            lambda s, x=x, y=y: [(s(s.m, s.n, dtype=torch.bool), x(s), y(s))], ALL
        )
        for kind, x, y in (
            ("self", lambda s: s.x, lambda s: s(s.n)),
            ("ScalarSelf", lambda _: 1, lambda s: s.x),
            ("ScalarOther", lambda s: s.x, lambda _: 1.5),
        )
    },
    "aten.where.Scalar": Samples(
        lambda s: [(s(s.m, s.n, dtype=torch.bool), 2.0, 1.0)], (torch.float32,)
    ),
    "aten.clamp.default": Samples(
        each(lambda s: (s.x, -1, 1), lambda s: (s.x, None, 0.5), lambda s: (s.x, 1)),
        (*FLOATS, *INTEGERS),
    ),
    "aten.clamp.Tensor": Samples(
        each(lambda s: (s.x, s(s.n)), lambda s: (s.x, s(s.n), s.x)), (*FLOATS, *INTEGERS)
    ),
    "aten.clamp_min.default": Samples(lambda s: [(s.x, 0)], (*FLOATS, *INTEGERS)),
    "aten.addcmul.default": Samples(
        lambda s: [(s.x, s(s.n), s(s.m, 1)), (s.x, s.x, s.x, {"value": 2})], (*FLOATS, *INTEGERS)
    ),
    "aten.addcdiv.default": Samples(
        lambda s: [
            (s.x, s(s.n), s(s.m, s.n, low=1, high=9)),
            (s.x, s.x, s(s.m, s.n, low=1, high=9), {"value": 2}),
        ],
        FLOATS,
    ),
    **{
        f"aten.{name}.default": Samples(
            lambda s, numbers=numbers: [
                (s.x, s(s.m, s.n), kind, *more) for kind in range(3) for more in numbers
            ],
            FLOATS,
        )
        for name, numbers in (
            ("mse_loss", [()]),
            ("smooth_l1_loss", [(), (2.0,)]),
            ("huber_loss", [(), (2.0,)]),
        )
    },
    "prims.fma.default": Samples(lambda s: [(s.x, s.x, s.x)], FLOATS[:2]),
    "prims.convert_element_type.default": Samples(lambda s: [(s.x, dtype) for dtype in ALL], ALL),
    "aten._to_copy.default": Samples(lambda s: [(s.x, {"dtype": dtype}) for dtype in ALL], ALL),
    "aten.copy.default": Samples(lambda s: [(s.x, s.x), (s.x, s(s.n, dtype=torch.int64))], ALL),
    "aten.full.default": Samples(
        lambda s: [([3, 2], 1.5, {"dtype": s.dtype}), ([0], 1, {"dtype": s.dtype})], ALL
    ),
    "aten.full_like.default": Samples(lambda s: [(s.x, 1), (s.x, -2)], ALL),
    "aten.empty.memory_format": Samples(
        lambda s: [([3, 2], {"dtype": s.dtype})], ALL, is_defined=False
    ),
    "aten.empty_permuted.default": Samples(
        lambda s: [([3, 2], [1, 0], {"dtype": s.dtype})], ALL, is_defined=False
    ),
    "aten.fill.Scalar": Samples(lambda s: [(s.x, 1)], ALL),
    "aten.scalar_tensor.default": Samples(lambda s: [(1, {"dtype": s.dtype})], ALL),
    "aten.arange.start_step": Samples(
        lambda s: [(0, 7, {"dtype": s.dtype}), (3, 20, 4, {"dtype": s.dtype}), (0, 0)],
        (*FLOATS, *INTEGERS),
    ),
    "prims.iota.default": Samples(
        lambda s: [
            (
                5,
                {"start": 1, "step": 2, "dtype": s.dtype, "device": CPU, "requires_grad": False},
            )
        ],
        INTEGERS,
    ),
    **{
        f"aten.{op}.default": Samples(lambda s: [(s(s.m, 6), [s.m, 2, 3]), (s(6), [2, -1])], ALL)
        for op in ("view", "_unsafe_view", "reshape")
    },
    "aten.unsqueeze.default": Samples(lambda s: [(s.x, 0), (s.x, -1), (s(), 0)], ALL),
    "aten.squeeze.dim": Samples(lambda s: [(s(s.m, 1), 1), (s(2, s.m), 0)], ALL),
    "aten.squeeze.dims": Samples(lambda s: [(s(1, s.m, 1), [0, 2]), (s(1, s.m), [0])], ALL),
    "aten.expand.default": Samples(lambda s: [(s(1, s.n), [4, s.n]), (s(s.n), [2, 3, -1])], ALL),
    "aten.permute.default": Samples(lambda s: [(s(s.m, s.n, 2), [2, 0, 1]), (s.x, [-1, 0])], ALL),
    "aten.transpose.int": Samples(lambda s: [(s.x, 0, 1), (s(2, s.m, s.n), 0, -1)], ALL),
    "aten.t.default": Samples(lambda s: [(s.x,), (s(s.n),), (s(),)], ALL),
    "aten.slice.Tensor": Samples(
        lambda s: [
            (s.x, 0, 1),
            (s.x, 1, 0, 2),
            (s.x, 1, -2),
            (s.x, 0, 0, 2**62, 2),
            (s.x, 0, 1, -1),
        ],
        ALL,
    ),
    "aten.select.int": Samples(lambda s: [(s.x, 0, 0), (s.x, 1, -1)], ALL, least=1),
    "aten.split.Tensor": Samples(lambda s: [(s(5, s.n), 2), (s(s.m, 4), 2, -1)], ALL),
    "aten.split_with_sizes.default": Samples(lambda s: [(s(5, s.n), [2, 0, 3])], ALL),
    "aten.unbind.int": Samples(lambda s: [(s(3, s.n),), (s(s.m, 2), 1)], ALL),
    "aten.cat.default": Samples(
        lambda s: [([s.x, s(2, s.n)],), ([s.x, s.x, s(s.m, 1)], -1), ([s(0), s.x],), ([s.x],)], ALL
    ),
    "aten.stack.default": Samples(lambda s: [([s.x, s.x],), ([s.x, s.x], -1)], ALL),
    "aten.slice_scatter.default": Samples(
        lambda s: [(s(4, s.n), s(2, s.n), 0, 1, 3), (s(4, s.n), s(2, s.n), 0, 0, 4, 2)], ALL
    ),
    "aten.select_scatter.default": Samples(lambda s: [(s(3, s.n), s(s.n), 0, -1)], ALL),
    "aten.flip.default": Samples(lambda s: [(s.x, [0]), (s.x, [0, -1])], ALL),
    "aten.repeat.default": Samples(lambda s: [(s.x, [2, 3]), (s.x, [2, 1, 1]), (s.x, [0, 1])], ALL),
    "aten.constant_pad_nd.default": Samples(
        lambda s: [(s.x, [1, 2]), (s.x, [0, 1, 2, 0], 1.0), (s(5, 4), [-1, 2, 1, -2], 2)],
        (*FLOATS, *INTEGERS),
    ),
    "aten.sum.dim_IntList": Samples(
        lambda s: [(s.x, [0]), (s.x, [1], True), (s(2, s.m, 3), [0, 2]), (s.x, None), (s(), [0])],
        ALL,
    ),
    "aten.prod.dim_int": Samples(lambda s: [(s.x, 0), (s.x, -1, True)], ALL),
    **{f"aten.{op}.default": Samples(lambda s: [(s.x,)], ALL) for op in ("sum", "prod")},
    "aten.mean.default": Samples(lambda s: [(s.x,)]),
    "aten.mean.dim": Samples(lambda s: [(s.x, [0]), (s.x, [-1], True), (s(2, s.m, 3), [0, 2])]),
    **{
        f"aten.{op}.default": Samples(
            lambda s: [(s.x, [0]), (s.x, [-1], True), (s.x,)], ALL, least=1
        )
        for op in ("amax", "amin")
    },
    **{
        f"aten.{op}.default": Samples(lambda s: [(s.x,), (s(),)], ALL, least=1)
        for op in ("max", "min")
    },
    **{f"aten.{op}.default": Samples(lambda s: [(s.x,), (s(),)], ALL) for op in ("any", "all")},
    **{
        f"aten.{op}.dim": Samples(lambda s: [(s.x, 0), (s.x, -1, True)], ALL)
        for op in ("any", "all")
    },
    "aten.any.dims": Samples(lambda s: [(s(2, s.m, 3), [0, 2])], ALL),
    **{
        f"aten.{op}.default": Samples(
            lambda s: [(s.x, 0), (s.x, -1, True), (s.x,)],
            (*FLOATS[:2], *INTEGERS),
            least=1,
        )
        for op in ("argmax", "argmin")
    },
    **{
        f"aten.{op}.dim": Samples(
            lambda s: [
                (torch.randperm(s.m * s.n).view(s.m, s.n).to(s.dtype), axis) for axis in (0, 1)
            ],
            (torch.float32, torch.float64, torch.int64),
            least=1,
        )
        for op in ("max", "min")
    },
    **{
        f"aten.{op}.correction": Samples(
            lambda s: [
                (s.x, [0], {"correction": 0}),
                (s.x, [-1], {"correction": 0, "keepdim": True}),
                (s(3, s.m, 4), [0, 2], {"correction": 1}),
                (s(3, s.m), [0], {"correction": 1.3}),
            ],
            least=1,
        )
        for op in ("var", "var_mean")
    },
    "aten.linalg_vector_norm.default": Samples(
        lambda s: [
            (s.x,),
            (s.x, 2, [0], True),
            (s.x, 1, [-1]),
            (s.x, torch.inf, [1]),
            (s.x, -torch.inf, [1]),
            (s.x, 3, [1]),
        ],
        least=1,
    ),
    "aten.var.dim": Samples(lambda s: [(s(3, s.m), [0]), (s(3, s.m), [0], False)], least=1),
    **{
        f"aten.{op}.default": Samples(lambda s: [(s.x, 0), (s.x, -1)], (*FLOATS, *INTEGERS))
        for op in ("cumsum", "cumprod")
    },
    **{
        f"aten.{op}.default": Samples(lambda s: [(s.x, 0, False), (s(2, s.m, s.n), -1, False)])
        for op in ("_softmax", "_log_softmax")
    },
    "aten._safe_softmax.default": Samples(
        lambda s: [(s.x, -1), (torch.full((s.m, s.n), -torch.inf, dtype=s.dtype), -1)]
    ),
    "aten._softmax_backward_data.default": Samples(softmax_backward(torch.softmax)),
    "aten._log_softmax_backward_data.default": Samples(softmax_backward(torch.log_softmax)),
    "aten.mm.default": Samples(
        lambda s: [(s(s.m, s.n), s(s.n, 5)), (s(s.n, s.m).t(), s(5, s.n).t())],
        (*FLOATS, torch.int64),
    ),
    "aten.bmm.default": Samples(lambda s: [(s(2, s.m, s.n), s(2, s.n, 3))], (*FLOATS, torch.int64)),
    "aten.mv.default": Samples(lambda s: [(s(s.m, s.n), s(s.n))], (*FLOATS, torch.int64)),
    "aten.dot.default": Samples(lambda s: [(s(s.n), s(s.n))], (*FLOATS, torch.int64)),
    "aten.addmm.default": Samples(
        lambda s: [
            (s(5), s(s.m, s.n), s(s.n, 5)),
            (s(s.m, 5), s(s.m, s.n), s(s.n, 5), {"beta": 0.5, "alpha": 2}),
            (s(s.m, 5), s(s.m, s.n), s(s.n, 5), {"beta": 0}),
        ]
    ),
    "aten.convolution.default": Samples(
        lambda s: [
            (s(2, 3, s.m, s.n), s(4, 3, 3, 3), s(4), [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
            (s(s.m, 4, s.n, 6), s(6, 2, 1, 2), None, [2, 1], [1, 0], [1, 2], False, [0, 0], 2),
            (s(s.m, 3, s.n), s(5, 3, 1), s(5), [2], [2], [1], False, [0], 1),
            (s(2, 3, s.m, s.n), s(6, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 3),
            (s(s.m, 4, s.n), s(4, 3, 3), s(3), [2], [0], [1], True, [1], 1),
        ]
    ),
    "aten.baddbmm.default": Samples(lambda s: [(s(2, s.m, 3), s(2, s.m, s.n), s(2, s.n, 3))]),
    "aten.linear.default": Samples(lambda s: [(s(2, s.m, s.n), s(5, s.n), s(5)), (s.x, s(5, s.n))]),
    "aten._scaled_dot_product_flash_attention_for_cpu.default": Samples(
        lambda s: [
            attention(s),
            (s(2, 2, s.m, 8), s(2, 2, s.m, 8), s(2, 2, s.m, 8), 0.0, True, {"scale": 0.3}),
            attention(s, attn_mask=s(s.m, s.n)),
            attention(s, attn_mask=torch.full((s.m, s.n), -torch.inf, dtype=s.dtype)),
        ],
        least=1,
        shares_sizes=True,
    ),
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default": Samples(
        attention_backward, least=1, shares_sizes=True
    ),
    "aten.native_layer_norm.default": Samples(
        lambda s: [
            (s.x, [s.n], s(s.n), s(s.n), 1e-5),
            (s.x, [s.n], None, None, 1e-5),
            (s(2, s.m, 3), [s.m, 3], None, None, 1e-5),
        ],
        least=1,
    ),
    "aten.native_layer_norm_backward.default": Samples(layer_norm_backward, least=2),
    "aten.native_group_norm.default": Samples(
        lambda s: [(s(s.m, 4, s.n), s(4), s(4), s.m, 4, s.n, 2, 1e-5)], least=1
    ),
    "aten._native_batch_norm_legit_no_training.default": Samples(
        lambda s: [(s(s.m, 4, s.n), *channels(s), 0.1, 1e-5)], FLOATS[:2], least=1
    ),
    "aten._native_batch_norm_legit.no_stats": Samples(
        lambda s: [(s(s.m + 1, 4, s.n), *channels(s)[:2], True, 0.1, 1e-5)], FLOATS[:2], least=1
    ),
    "aten._native_batch_norm_legit_functional.default": Samples(
        lambda s: [(s(s.m + 1, 4, s.n), *channels(s), True, 0.1, 1e-5)],
        FLOATS[:2],
        least=1,
    ),
    "aten.embedding.default": Samples(
        lambda s: [(s(s.m, s.n), s.places(2, 3, size=s.m)), (s.x, s.places(4, size=s.m), 0)],
        least=1,
    ),
    "aten.index_select.default": Samples(
        lambda s: [(s.x, 0, s.places(4, size=s.m)), (s.x, -1, s.places(2, size=s.n))],
        ALL,
        least=1,
    ),
    "aten.gather.default": Samples(gathered, ALL, least=1),
    "aten.index.Tensor": Samples(indexed, ALL, least=1),
    "aten.index_put.default": Samples(index_put, NO_BOOLS, least=1),
    "aten.embedding_dense_backward.default": Samples(
        lambda s: [
            (s(3, s.m, s.n), s.places(3, s.m, size=s.m), s.m, -1, False),
            (s(4, s.n), s.places(4, size=s.m), s.m, 0, False),
        ],
        least=1,
    ),
    "aten.index_add.default": Samples(
        lambda s: [
            (s.x, 0, s.places(4, size=s.m), s(4, s.n)),
            (s.x, -1, s.places(3, size=s.n), s(s.m, 3), {"alpha": 2}),
        ],
        NO_BOOLS,
        least=1,
    ),
    "aten.index_copy.default": Samples(
        lambda s: [
            (s.x, 0, torch.randperm(s.m), s.x),
            (s.x, 1, torch.randperm(s.n)[: s.n - 1], s(s.m, s.n - 1)),
        ],
        NO_BOOLS,
        least=1,
    ),
    **{
        f"aten.index_fill.int_{kind}": Samples(
            lambda s, value=value: [
                (s.x, axis, s.places(3, size=size, low=-size), value)
                for axis, size in ((0, s.m), (-1, s.n))
            ],
            NO_BOOLS,
            least=1,
        )
        for kind, value in (("Scalar", 2), ("Tensor", torch.tensor(1.5)))
    },
    **{
        f"aten.nll_loss{rank}_forward.default": Samples(nll_loss(shape), least=1)
        for rank, shape in (("", ()), ("2d", (2, 3)))
    },
    "aten.scatter.src": Samples(put(), ALL, least=1),
    "aten.scatter.value": Samples(put(values=False), ALL, least=1),
    "aten.scatter_add.default": Samples(added(), NO_BOOLS, least=1),
    "aten.scatter_reduce.two": Samples(
        lambda s: [
            call for name in ("sum", "prod", "amax", "amin", "mean") for call in added(name)(s)
        ],
        NO_BOOLS,
        least=1,
    ),
}
