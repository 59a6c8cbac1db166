"""Lowerings of products of matrices, and of attention as products and a softmax."""

from __future__ import annotations

from typing import Any

from dvm.torch import reductions
from dvm.torch.builder import (
    FLOATS,
    Builder,
    NotCompiled,
    Number,
    Tensor,
    is_same,
    is_same_shape,
    wide_dtype,
)
from dvm.torch.sizes import Size


def product(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    if x.dtype not in FLOATS:
        raise NotCompiled("a product of integers")
    # Products of more axes come with all but the last two of them merged.
    apart = b.before_reshape(x), b.before_reshape(y)
    is_merged = all(
        whole.rank > t.rank == 3 and is_same_shape(whole.shape[-2:], t.shape[1:])
        for whole, t in zip(apart, (x, y), strict=True)
    )
    if is_merged and is_same_shape(apart[0].shape[:-2], apart[1].shape[:-2]):
        return b.reshape(b.matmul(*apart), [*x.shape[:-1], y.shape[-1]])
    return b.matmul(x, y)


def mm(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    return product(b, x, y)


def mv(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    return b.squeeze(product(b, x, b.unsqueeze(y, 1)), [1])


def dot(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    return b.reshape(product(b, b.unsqueeze(x, 0), b.unsqueeze(y, 1)), [])


def addmm(
    b: Builder, added: Tensor, x: Tensor, y: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """Beta * added + alpha * (x @ y), rounded once where they are halves."""
    if x.dtype not in FLOATS:
        raise NotCompiled("a product of integers")
    dtype = b.out.dtype
    wide = wide_dtype(dtype)
    made = b.wrap(b.graph.matmul(x.node, y.node, wide))
    if alpha != 1:
        made = b.mul(made, alpha)
    if beta != 0:
        added = b.broadcast(b.cast(added, wide), b.out.shape)
        made = b.add(made, added if beta == 1 else b.mul(added, beta))
    return b.cast(made, dtype)


def linear(b: Builder, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Rounded once where they are halves, behind the bias."""
    rows: Size = 1
    for size in x.shape[:-1]:
        rows = size * rows
    flat = b.reshape(x, [rows, x.shape[-1]])
    turned = b.transpose(weight, [1, 0])
    if bias is None:
        return b.reshape(product(b, flat, turned), b.out.shape)
    if x.dtype not in FLOATS:
        raise NotCompiled("a product of integers")
    wide = wide_dtype(b.out.dtype)
    made = b.reshape(b.wrap(b.graph.matmul(flat.node, turned.node, wide)), b.out.shape)
    made = b.add(made, b.broadcast(b.cast(bias, wide), b.out.shape))
    return b.cast(made, b.out.dtype)


def turned(b: Builder, x: Tensor) -> Tensor:
    """With its last two axes exchanged."""
    return b.transpose(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


def scores(
    b: Builder, query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: Any
) -> Tensor:
    """Query @ key^T * scale, with what may not be looked at at minus infinity, in f32 or f64."""
    wide = wide_dtype(query.dtype)
    made = b.wrap(b.graph.matmul(query.node, turned(b, key).node, wide))
    made = b.mul(made, scale)
    if is_causal:
        rows, columns = made.shape[-2:]
        row = b.broadcast(b.unsqueeze(b.iota("i64", [rows]), 1), [rows, columns])
        column = b.broadcast(b.iota("i64", [columns]), [rows, columns])
        hidden = b.broadcast(b.gt(column, row), made.shape)
        made = b.select(hidden, b.constant(float("-inf"), wide, made.shape), made)
    if mask is not None:
        made = b.add(made, b.broadcast(b.cast(mask, wide), made.shape))
    return made


def scale_of(b: Builder, query: Tensor, scale: Any) -> Any:
    if scale is not None:
        return scale
    width = query.shape[-1]
    if isinstance(width, int):
        return width**-0.5
    return Number(b.div(1, b.sqrt(b.number(width, "f64"))))


def shared_by(b: Builder, x: Tensor, query: Tensor) -> Tensor:
    """Keys or values with a head for each head of the query, several of which may share one."""
    heads, all_heads = x.shape[1], query.shape[1]
    if is_same(heads, all_heads):
        return x
    if not (isinstance(heads, int) and isinstance(all_heads, int)):
        raise NotCompiled("attention with heads of any number")
    batch, _, rows, columns = x.shape
    apart = b.reshape(x, [batch, heads, 1, rows, columns])
    repeated = b.broadcast(apart, [batch, heads, all_heads // heads, rows, columns])
    return b.reshape(repeated, [batch, all_heads, rows, columns])


def summed_of_shared(b: Builder, grad: Tensor, x: Tensor) -> Tensor:
    """The gradient of what `shared_by` was given."""
    if is_same(grad.shape[1], x.shape[1]):
        return grad
    batch, heads, rows, columns = x.shape
    all_heads = grad.shape[1]
    if not (isinstance(heads, int) and isinstance(all_heads, int)):
        raise NotCompiled("attention with heads of any number")
    sharing = all_heads // heads
    apart = b.reshape(grad, [batch, heads, sharing, rows, columns])
    return b.squeeze(b.reduce("sum", apart, [2]), [2])


def attention_alone(
    b: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    scale: Any,
) -> Tensor:
    """Without its sums: the op of the Graph, which has no memory for scores."""
    factor = scale_of(b, query, scale)
    # Sizes that torch has not compared by now; the call checks that they are equal.
    key = b.reshape(key, [query.shape[0], *key.shape[1:-1], query.shape[-1]])
    value = b.reshape(value, [*key.shape[:-1], value.shape[-1]])
    if isinstance(factor, Number):
        query, factor = b.mul(query, factor), 1.0
    if mask is None:
        return b.attention([query, key, value], float(factor), is_causal)
    scores = [*query.shape[:-1], key.shape[-2]]
    operands = [query, key, value, b.broadcast(mask, scores)]
    made = b.attention(operands, float(factor), is_causal)
    # A row that may look at nothing is zeros for torch.
    lowest = b.constant(float("-inf"), mask.dtype, mask.shape)
    nothing = b.reduce("all", b.eq(mask, lowest), [mask.rank - 1])
    return b.select(b.broadcast(nothing, made.shape), b.constant(0, made.dtype, made.shape), made)


def attention(
    b: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout: float = 0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: Any = None,
) -> list[Tensor | None]:
    """Also the logarithms of the sums, by which the backward pass finds the weights again."""
    if dropout:
        raise NotCompiled("attention with dropout")
    if 1 not in b.used and (attn_mask is None or attn_mask.dtype == query.dtype):
        return [attention_alone(b, query, key, value, attn_mask, is_causal, scale), None]
    key, value = shared_by(b, key, query), shared_by(b, value, query)
    logits = scores(b, query, key, attn_mask, is_causal, scale_of(b, query, scale))
    axis = logits.rank - 1
    most = b.reduce("max_or_lowest", logits, [axis])
    # Of a row that may look at nothing all is minus infinity; torch gives zeros for it.
    finite = b.select(
        b.eq(most, b.constant(float("-inf"), most.dtype, most.shape)),
        b.constant(0, most.dtype, most.shape),
        most,
    )
    powers = b.exp(b.sub(logits, b.broadcast(finite, logits.shape)))
    total = b.reduce("sum", powers, [axis])
    one = b.constant(1, total.dtype, total.shape)
    nothing = b.eq(total, b.constant(0, total.dtype, total.shape))
    total = b.select(nothing, one, total)
    weights = b.div(powers, b.broadcast(total, logits.shape))
    made = b.matmul(b.cast(weights, value.dtype), value)
    log_total = b.squeeze(b.add(finite, b.log(total)), [axis])
    return [made, log_total]


def attention_backward(
    b: Builder,
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    log_total: Tensor,
    dropout: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: Any = None,
) -> list[Tensor]:
    if dropout:
        raise NotCompiled("attention with dropout")
    scale = scale_of(b, query, scale)
    dtypes = [query.dtype, key.dtype, value.dtype]
    grad, query, of_keys, of_values, out = (b.wide(x) for x in (grad, query, key, value, out))
    key, value = shared_by(b, of_keys, query), shared_by(b, of_values, query)
    logits = scores(b, query, key, attn_mask, is_causal, scale)
    axis = logits.rank - 1
    log_total = b.broadcast(b.unsqueeze(b.cast(log_total, logits.dtype), axis), logits.shape)
    weights = b.exp(b.sub(logits, log_total))
    of_value = b.matmul(turned(b, weights), grad)
    of_weights = b.matmul(grad, turned(b, value))
    total = b.reduce("sum", b.mul(grad, out), [axis])
    of_logits = b.mul(b.mul(weights, b.sub(of_weights, b.broadcast(total, weights.shape))), scale)
    of_query = b.matmul(of_logits, key)
    of_key = b.matmul(turned(b, of_logits), query)
    of_key, of_value = (
        summed_of_shared(b, grad, x) for grad, x in ((of_key, of_keys), (of_value, of_values))
    )
    made = zip([of_query, of_key, of_value], dtypes, strict=True)
    return [b.cast(x, dtype) for x, dtype in made]


def softmax_or_zeros(b: Builder, x: Tensor, axis: int, dtype: Any = None) -> Tensor:
    """_safe_softmax: zeros where all is minus infinity."""
    made = reductions.softmax(b, x, axis)
    lowest = b.constant(float("-inf"), x.dtype, x.shape)
    axis = axis + x.rank if axis < 0 else axis
    none = b.broadcast(b.reduce("all", b.eq(x, lowest), [axis]), x.shape)
    return b.select(none, b.constant(0, made.dtype, made.shape), made)
