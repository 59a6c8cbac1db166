"""What modules of PyTorch call in evaluation: whole attentions and layers, as one function of C++.

They are what the modules' own Python code computes otherwise, without masks.
"""

from __future__ import annotations

from typing import Any

import torch

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.elementwise import row_of
from dvm.magpy_capture.meanings.torch.operations.lowered import (
    builder_of,
    lowered,
    node_of,
    result,
    tensor,
)
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import (
    Abstract,
    Content,
    Literal,
    Sequence,
    Storage,
    Tensor,
    is_none,
    resolve,
)
from dvm.torch import norms, reductions
from dvm.torch import products as rows
from dvm.torch.builder import Tensor as Node

NONE, TRUE = Literal(None), Literal(True)
FORM = "a whole attention"


class Layer:
    """Computes with nodes [batch, row, feature] of one dtype.

    packed: the weights of query, key and value, one below the other.
    """

    def __init__(
        self, lower: TorchPart, x: Tensor, packed: Abstract, mask: Abstract, dtype: torch.dtype
    ) -> None:
        lower.torch_tensors.equal_sizes(x, -1, tensor(lower, packed), 1)
        if not is_none(mask) or x.rank != 3:
            raise refuse(reasons.TORCH_FORM, FORM, "a mask, or other than three axes")
        self.lower, self.dtype, self.b = lower, dtype, builder_of(lower)
        self.batch, self.rows, self.width = x.shape
        self.x = x

    def linear(self, x: Node, weight: Abstract, bias: Abstract) -> Node:
        w, v = tensor(self.lower, weight), tensor(self.lower, bias)
        if w.rank != 2 or self.lower.graph.size(x.shape[-1]) != w.shape[1]:
            raise refuse(reasons.TORCH_FORM, FORM, "sizes that calls differ in")
        shape = [self.batch, self.rows, w.shape[0]]
        nodes = node_of(self.lower, w), node_of(self.lower, v)
        made: Node = lowered(self.lower, rows.linear, [(self.dtype, shape)], x, *nodes)
        return made

    def norm(self, x: Node, weight: Abstract, bias: Abstract, eps: Abstract) -> Node:
        affine = [node_of(self.lower, tensor(self.lower, each)) for each in (weight, bias)]
        expected: Any = [(self.dtype, [])] * 3
        about = self.lower.indexing.plain(eps)
        made = lowered(self.lower, norms.layer_norm, expected, x, [self.width], *affine, about)
        normal: Node = made[0]
        return normal

    def heads(self, x: Node, count: int, weight: Abstract, bias: Abstract) -> list[Node]:
        """Query, key and value, [batch, head, row, feature]."""
        b, packed = self.b, self.linear(x, weight, bias)
        width = packed.shape[-1]
        if not isinstance(width, int) or width % (3 * count):
            raise refuse(reasons.TORCH_FORM, FORM, "sizes that calls differ in")
        shape = [*packed.shape[:2], 3, count, width // (3 * count)]
        apart = b.transpose(b.reshape(packed, shape), [2, 0, 3, 1, 4])
        return [b.squeeze(b.narrow(apart, 0, each, 1), [0]) for each in range(3)]

    def attended(self, heads: list[Node], weight: Abstract, bias: Abstract) -> Node:
        made, _ = lowered(self.lower, rows.attention, [(self.dtype, [])], *heads)
        joined = self.b.transpose(made, [0, 2, 1, 3])
        flat = self.b.reshape(joined, [*joined.shape[:2], made.shape[1] * made.shape[3]])
        return self.linear(flat, weight, bias)

    def weights(self, heads: list[Node], averaged: bool) -> Node:
        """How much each row looks at each other one."""
        b, (query, key, _) = self.b, heads
        scale = rows.scale_of(b, query, None)
        logits = rows.scores(b, query, key, None, False, scale)
        made: Node = lowered(self.lower, reductions.softmax, [(self.dtype, [])], logits, 3)
        return b.squeeze(b.mean(made, [1]), [1]) if averaged else made


@means(torch._native_multi_head_attention)
def attention(
    lower: TorchPart,
    query: Abstract,
    key: Abstract,
    value: Abstract,
    embed_dim: Abstract,
    num_head: Abstract,
    qkv_weight: Abstract,
    qkv_bias: Abstract,
    proj_weight: Abstract,
    proj_bias: Abstract,
    mask: Abstract = NONE,
    need_weights: Abstract = TRUE,
    average_attn_weights: Abstract = TRUE,
    mask_type: Abstract = NONE,
    *,
    seen: Any,
) -> Sequence:
    x = tensor(lower, query)
    if resolve(key) is not x or resolve(value) is not x:
        raise refuse(reasons.TORCH_FORM, FORM, "another key than query")
    layer = Layer(lower, x, qkv_weight, mask, seen[0].dtype)
    heads = layer.heads(node_of(lower, x), lower.indexing.integer(num_head), qkv_weight, qkv_bias)
    made = result(lower, layer.attended(heads, proj_weight, proj_bias))
    if seen[1] is None:
        return Sequence([made, NONE])
    averaged = lower.indexing.plain(average_attn_weights)
    count = [] if averaged else [lower.graph.size(heads[0].shape[1])]
    shape = [layer.batch, *count, layer.rows, layer.rows]
    # Mostly nobody looks at them.
    content = Content(make=lambda: layer.weights(heads, averaged).node)
    weights = Tensor(Storage(content, x.library), x.dtype, shape, c_order(len(shape)))
    return Sequence([made, weights])


@means(torch._transformer_encoder_layer_fwd)
def encoder_layer(
    lower: TorchPart,
    src: Abstract,
    embed_dim: Abstract,
    num_heads: Abstract,
    qkv_weight: Abstract,
    qkv_bias: Abstract,
    proj_weight: Abstract,
    proj_bias: Abstract,
    use_gelu: Abstract,
    norm_first: Abstract,
    eps: Abstract,
    norm_weight_1: Abstract,
    norm_bias_1: Abstract,
    norm_weight_2: Abstract,
    norm_bias_2: Abstract,
    ffn_weight_1: Abstract,
    ffn_bias_1: Abstract,
    ffn_weight_2: Abstract,
    ffn_bias_2: Abstract,
    mask: Abstract = NONE,
    mask_type: Abstract = NONE,
    *,
    seen: Any,
) -> Tensor:
    x = tensor(lower, src)
    layer, plain = Layer(lower, x, qkv_weight, mask, seen.dtype), lower.indexing.plain
    b, count = layer.b, lower.indexing.integer(num_heads)

    def attended(x: Node) -> Node:
        return layer.attended(layer.heads(x, count, qkv_weight, qkv_bias), proj_weight, proj_bias)

    def forward(x: Node) -> Node:
        inner = layer.linear(x, ffn_weight_1, ffn_bias_1)
        row, how = ("gelu", {"approximate": "none"}) if plain(use_gelu) else ("relu", {})
        active = lowered(lower, row_of(f"{row}.default"), [(seen.dtype, [])], inner, **how)
        return layer.linear(active, ffn_weight_2, ffn_bias_2)

    def first(x: Node) -> Node:
        return layer.norm(x, norm_weight_1, norm_bias_1, eps)

    def second(x: Node) -> Node:
        return layer.norm(x, norm_weight_2, norm_bias_2, eps)

    given = node_of(lower, x)
    if plain(norm_first):
        between = b.add(given, attended(first(given)))
        return result(lower, b.add(between, forward(second(between))))
    between = first(b.add(given, attended(given)))
    return result(lower, second(b.add(between, forward(between))))
