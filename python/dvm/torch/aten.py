"""The one table of torch's ops: a row per overload that dvm knows.

A row either has a lowering, which makes nodes of the Graph of it, or is a library op, which torch
itself computes between the Regions: ops of which dvm has no kernel, and those that draw random
numbers from torch's generator. What has no row is a fallback: it runs the same way and is told of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dvm.building.activations import gelu, relu, sigmoid
from dvm.torch import convolutions, indexing, losses, norms, pointwise, products, reductions, shapes

KINDS = ("compiled", "library", "fallback")


@dataclass(frozen=True)
class Row:
    """One overload of an op.

    lower: makes what a `Builder` and the op's arguments say; None for a library op.
    note: for which arguments torch computes it after all, in a few words.
    """

    name: str
    lower: Callable[..., Any] | None = None
    note: str = ""


def _rows() -> list[Row]:
    p, r, s, n = pointwise, reductions, shapes, norms
    row = Row
    same = {
        "abs": "abs", "neg": "neg", "ceil": "ceil", "floor": "floor", "trunc": "trunc",
        "bitwise_not": "invert", "reciprocal": "reciprocal", "sqrt": "sqrt", "exp": "exp",
        "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
        "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin",
        "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
        "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "erf": "erf",
    }  # fmt: skip
    composed: dict[str, p.Lowering] = {
        "relu": relu, "sigmoid": sigmoid, "gelu": gelu, "hardtanh": p.hardtanh,
        "leaky_relu": p.leaky_relu, "elu": p.elu, "softplus": p.softplus, "mish": p.mish,
        "hardsigmoid": p.hardsigmoid, "hardswish": p.hardswish,
        "rsqrt": lambda b, x: b.div(1, b.sqrt(x)),
        "silu": lambda b, x: b.mul(x, sigmoid(b, x)),
        "square": lambda b, x: b.mul(x, x),
    }  # fmt: skip
    binary = {
        "mul.Tensor": "mul", "mul.Scalar": "mul", "maximum.default": "maximum",
        "minimum.default": "minimum", "fmax.default": "fmax", "fmin.default": "fmin",
        "atan2.default": "arctan2", "hypot.default": "hypot", "copysign.Tensor": "copysign",
        "nextafter.default": "nextafter", "logaddexp.default": "logaddexp",
        "bitwise_and.Tensor": "bitwise_and", "bitwise_and.Scalar": "bitwise_and",
        "bitwise_or.Tensor": "bitwise_or", "bitwise_or.Scalar": "bitwise_or",
        "bitwise_xor.Tensor": "bitwise_xor", "bitwise_xor.Scalar": "bitwise_xor",
    }  # fmt: skip
    zero = "integers, unless divided by a number"
    few = "fewer places along other axes"
    two = "operands of two shapes"
    return [
        *(row(f"aten.{name}.default", p.unary(op)) for name, op in same.items()),
        *(row(f"aten.{name}.default", p.composed(make)) for name, make in composed.items()),
        *(row(f"aten.{name}", p.binary(op)) for name, op in binary.items()),
        *(row(f"aten.is{name}.default", p.test(f"is{name}")) for name in ("nan", "inf")),
        *(
            row(f"aten.{op}.{kind}", p.compare(op))
            for op in ("eq", "ne", "lt", "le", "gt", "ge")
            for kind in ("Tensor", "Scalar")
        ),
        *(
            row(f"aten.logical_{op}.default", p.logical(f"logical_{op}"))
            for op in ("and", "or", "xor")
        ),
        row("aten.logical_not.default", lambda b, x: b.logical_not(b.cast(x, "bool"))),
        row("aten.add.Tensor", p.scaled("add")),
        row("aten.add.Scalar", p.scaled("add")),
        row("aten.sub.Tensor", p.scaled("sub")),
        row("aten.sub.Scalar", p.scaled("sub")),
        row("aten.addcmul.default", p.addcmul, "integers"),
        row("aten.addcdiv.default", p.addcdiv, "integers"),
        row("aten.lerp.Scalar", p.lerp),
        row("aten.lerp.Tensor", p.lerp),
        row("aten.rsub.Scalar", p.reversed_sub),
        row("aten.div.Tensor", p.div),
        row("aten.div.Scalar", p.div),
        row("aten.true_divide.Tensor", p.div),
        row("aten.div.Tensor_mode", p.div, zero),
        row("aten.div.Scalar_mode", p.div, zero),
        row("aten.fmod.Tensor", p.integer_division("fmod"), zero),
        row("aten.fmod.Scalar", p.integer_division("fmod")),
        row("aten.remainder.Tensor", p.integer_division("remainder"), zero),
        row("aten.remainder.Scalar", p.integer_division("remainder")),
        row("aten.pow.Tensor_Scalar", p.power, "integers to a negative power"),
        row("aten.pow.Tensor_Tensor", p.power, "integers"),
        row("aten.pow.Scalar", p.power, "integers"),
        row("aten.round.default", p.rounded),
        row("aten.sign.default", p.sign_of),
        row("aten.where.self", p.where),
        row("aten.where.ScalarSelf", p.where),
        row("aten.where.ScalarOther", p.where),
        row("aten.where.Scalar", p.where),
        row("aten.clamp.default", p.clamp),
        row("aten.clamp.Tensor", p.clamp),
        row("aten.clamp_min.default", p.clamp),
        row("prims.fma.default", p.fma),
        # Casts and copies
        row("prims.convert_element_type.default", p.cast),
        row("aten._to_copy.default", p.cast),
        row("aten.clone.default", p.identity),
        row("aten.alias.default", p.identity),
        row("aten.detach.default", p.identity),
        row("aten.lift_fresh_copy.default", p.identity),
        row("aten.copy.default", p.copy),
        # Sources
        row("aten.full.default", p.full),
        row("aten.full_like.default", p.full_like),
        row("aten.scalar_tensor.default", p.scalar_tensor),
        row("aten.fill.Scalar", p.fill),
        row("aten.zeros_like.default", p.filled(0)),
        row("aten.ones_like.default", p.filled(1)),
        row("aten.empty.memory_format", p.empty),
        row("aten.empty_permuted.default", p.empty),
        row("aten.arange.start_step", p.arange),
        row("prims.iota.default", p.iota),
        # Views and joins
        row("aten.view.default", s.reshape),
        row("aten._unsafe_view.default", s.reshape),
        row("aten.reshape.default", s.reshape),
        row("aten.unsqueeze.default", s.reshape),
        row("aten.squeeze.dim", s.reshape),
        row("aten.squeeze.dims", s.reshape),
        row("aten.expand.default", s.expand),
        row("aten.permute.default", s.permute),
        row("aten.transpose.int", s.transpose),
        row("aten.t.default", s.t),
        row("aten.slice.Tensor", s.slice_along),
        row("aten.select.int", s.select),
        row("aten.split.Tensor", s.split),
        row("aten.split_with_sizes.default", s.split),
        row("aten.unbind.int", s.unbind),
        row("aten.cat.default", s.cat),
        row("aten.stack.default", s.stack),
        row("aten.slice_scatter.default", s.slice_scatter),
        row("aten.select_scatter.default", s.select_scatter),
        row("aten.flip.default", s.flip),
        row("aten.repeat.default", s.repeat),
        row("aten.constant_pad_nd.default", s.constant_pad),
        # Reductions
        row("aten.sum.dim_IntList", r.reduction("sum")),
        row("aten.sum.default", r.reduction("sum")),
        row("aten.prod.dim_int", r.reduction("prod")),
        row("aten.prod.default", r.reduction("prod")),
        row("aten.mean.dim", r.mean),
        row("aten.mean.default", r.mean),
        row("aten.amax.default", r.extremum("max")),
        row("aten.amin.default", r.extremum("min")),
        row("aten.max.default", r.extremum("max")),
        row("aten.min.default", r.extremum("min")),
        row("aten.any.default", r.truth("any")),
        row("aten.any.dim", r.truth("any")),
        row("aten.any.dims", r.truth("any")),
        row("aten.all.default", r.truth("all")),
        row("aten.all.dim", r.truth("all")),
        row("aten.argmax.default", r.place_of_extremum("argmax")),
        row("aten.argmin.default", r.place_of_extremum("argmin")),
        row("aten.max.dim", r.extremum_and_place("max")),
        row("aten.min.dim", r.extremum_and_place("min")),
        row("aten.var.correction", r.var),
        row("aten.var.dim", r.var),
        row("aten.var_mean.correction", r.var_mean),
        row("aten.linalg_vector_norm.default", r.vector_norm, "orders but 1, 2 and infinity"),
        row("aten.cumsum.default", r.running("add")),
        row("aten.cumprod.default", r.running("mul")),
        row("aten._softmax.default", r.softmax),
        row("aten._log_softmax.default", r.log_softmax),
        row("aten._safe_softmax.default", products.softmax_or_zeros),
        row("aten._softmax_backward_data.default", r.softmax_backward),
        row("aten._log_softmax_backward_data.default", r.log_softmax_backward),
        # Products
        row("aten.mm.default", products.mm, "integers"),
        row("aten.bmm.default", products.mm, "integers"),
        row("aten.mv.default", products.mv, "integers"),
        row("aten.dot.default", products.dot, "integers"),
        row("aten.addmm.default", products.addmm, "integers"),
        row(
            "aten.convolution.default",
            convolutions.convolution,
            "channels last; without a batch; of sizes that a call tells",
        ),
        row("aten.baddbmm.default", products.addmm, "integers"),
        row("aten.linear.default", products.linear, "integers"),
        row(
            "aten._scaled_dot_product_flash_attention_for_cpu.default",
            products.attention,
            "with dropout",
        ),
        row(
            "aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
            products.attention_backward,
            "with dropout",
        ),
        # Normalisations
        row("aten.native_layer_norm.default", n.layer_norm),
        row("aten.native_layer_norm_backward.default", n.layer_norm_backward),
        row("aten.native_group_norm.default", n.group_norm),
        row("aten._native_batch_norm_legit_no_training.default", n.batch_norm_inference),
        row("aten._native_batch_norm_legit.no_stats", n.batch_norm),
        row("aten._native_batch_norm_legit_functional.default", n.batch_norm_functional),
        # Losses
        row("aten.mse_loss.default", losses.loss(losses.squared), two),
        row("aten.smooth_l1_loss.default", losses.loss(losses.smooth), two),
        row("aten.huber_loss.default", losses.loss(losses.huber), two),
        # Places
        row("aten.embedding.default", indexing.embedding),
        row("aten.index_select.default", indexing.index_select),
        row("aten.gather.default", indexing.gather),
        row("aten.index.Tensor", indexing.index, "masks"),
        row("aten.index_put.default", indexing.index_put, "masks"),
        row("aten.index_add.default", indexing.index_add, "truth values"),
        row("aten.index_copy.default", indexing.index_copy, "truth values"),
        row("aten.index_fill.int_Scalar", indexing.index_fill),
        row("aten.index_fill.int_Tensor", indexing.index_fill),
        row("aten.nll_loss_forward.default", indexing.nll_loss, "one target"),
        row("aten.nll_loss2d_forward.default", indexing.nll_loss, "one target"),
        row("aten.embedding_dense_backward.default", indexing.embedding_backward, "scaled ones"),
        row("aten.scatter.src", indexing.scatter(), few),
        row("aten.scatter.value", indexing.scatter(), few),
        row("aten.scatter_add.default", indexing.scatter("add"), few),
        row(
            "aten.scatter_reduce.two", indexing.scatter_reduce, f"{few}; means; include_self=False"
        ),
    ]


# Ops that torch computes: no kernel of dvm's does, or they draw random numbers.
LIBRARY = """
_adaptive_avg_pool2d.default _adaptive_avg_pool2d_backward.default _embedding_bag.default
_embedding_bag_backward.default _grouped_mm.default as_strided.default avg_pool1d.default
avg_pool2d.default avg_pool2d_backward.default bernoulli.default bernoulli.p col2im.default
convolution_backward.default grid_sampler_2d.default histc.default
im2col.default linspace.default max_pool2d_with_indices.default
max_pool2d_with_indices_backward.default mkldnn_rnn_layer.default multinomial.default
native_dropout.default native_group_norm_backward.default normal_functional.default rand.default
rand_like.default randint.default randint.low randn.default randn_like.default randperm.default
reflection_pad2d.default replication_pad2d.default sort.default topk.default tril_indices.default
triu_indices.default uniform.default upsample_bilinear2d.vec upsample_nearest2d.vec
"""
# The library transformers multiplies the tokens of each expert by ops of its own.
EXPERTS = ("grouped_mm_fallback", "grouped_mm_fallback_backward")

ROWS = {row.name: row for row in _rows()} | {
    name: Row(name)
    for name in (
        *(f"aten.{op}" for op in LIBRARY.split()),
        *(f"transformers.{op}.default" for op in EXPERTS),
    )
}
