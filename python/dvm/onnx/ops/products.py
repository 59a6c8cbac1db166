"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from dvm.building.builder import FLOATS, Size, Tensor, is_same
from dvm.onnx.context import Context
from dvm.onnx.registry import op
from dvm.onnx.values import product_of

MULTIPLIED = FLOATS | {"i8", "i32", "i64", "u64"}


def multiplied(c: Context, x: Tensor, y: Tensor, dtype: str | None = None) -> Tensor:
    """Products of matrices of rank 2 and more, broadcast, in a dtype."""
    b = c.b
    made_of = x.dtype
    dtype = dtype or made_of
    if x.dtype not in MULTIPLIED:
        x, y = (b.cast(t, "i64") for t in (x, y))
        return b.cast(multiplied(c, x, y), dtype)
    if x.rank > 2 and y.rank == 2:
        # One product of all rows.
        flat = b.reshape(x, [product_of(x.shape[:-1]), x.shape[-1]])
        y = b.reshape(y, [x.shape[-1], y.shape[-1]])  # the same size, by another name maybe
        made = b.wrap(b.graph.matmul(flat.node, y.node, dtype))
        return b.reshape(made, [*x.shape[:-1], y.shape[-1]])
    batch = c.broadcast_shape(x.shape[:-2], y.shape[:-2])
    x = b.broadcast(x, [*batch, *x.shape[-2:]])
    y = b.broadcast(y, [*batch, *y.shape[-2:]])
    if not is_same(x.shape[-1], y.shape[-2]):
        y = b.reshape(y, [*batch, x.shape[-1], y.shape[-1]])
    return b.wrap(b.graph.matmul(x.node, y.node, dtype))


@op("MatMul")
def matmul(c: Context, x: Tensor, y: Tensor) -> Tensor:
    return matmul_of(c, x, y)


def matmul_of(c: Context, x: Tensor, y: Tensor, dtype: str | None = None) -> Tensor:
    """Of vectors, too, as NumPy has it."""
    b = c.b
    dropped = []
    if y.rank == 1:
        y = b.unsqueeze(y, 1)
        dropped.append(-1)
    if x.rank == 1:
        x = b.unsqueeze(x, 0)
        dropped.append(-2)
    made = multiplied(c, x, y, dtype)
    return b.squeeze(made, [made.rank + axis for axis in dropped]) if dropped else made


@op("Gemm")
def gemm(
    c: Context, x: Tensor, y: Tensor, added: Tensor | None = None, alpha: float = 1.0,
    beta: float = 1.0, transA: int = 0, transB: int = 0, broadcast: int = 0,
) -> Tensor:  # fmt: skip
    b = c.b
    x = b.transpose(x, [1, 0]) if transA else x
    y = b.transpose(y, [1, 0]) if transB else y
    dtype = x.dtype
    wide = b.wide(x).dtype if x.is_float else dtype
    made = multiplied(c, x, y, wide)
    if alpha != 1:
        made = (
            b.mul(made, alpha) if x.is_float else b.cast(b.mul(b.cast(made, "f64"), alpha), dtype)
        )
    if added is not None and beta != 0:
        added = b.broadcast(b.cast(added, wide), made.shape)
        made = b.add(made, b.mul(added, beta) if beta != 1 else added)
    return b.cast(made, dtype)


@op("Einsum")
def einsum(c: Context, *tensors: Tensor, equation: str) -> Tensor:
    """By products of two at a time, with letters as axes."""
    left, _, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = [_letters(term, t.rank) for term, t in zip(terms, tensors, strict=True)]
    widest = max((len([x for x in ls if x.isdigit()]) for ls in letters), default=0)
    dots = [str(k) for k in range(widest)][::-1]
    if "->" in equation:
        out = _spread(right, dots)
    else:
        flat = [x for ls in letters for x in ls if not x.isdigit()]
        out = dots + sorted(x for x in set(flat) if flat.count(x) == 1)
    parts = [_diagonals(c, t, ls) for t, ls in zip(tensors, letters, strict=True)]
    made, have = parts[0]
    for k, (other, others) in enumerate(parts[1:]):
        later = {x for _, ls in parts[k + 2 :] for x in ls} | set(out)
        made, have = _contracted(c, made, have, other, others, later)
    gone = [k for k, x in enumerate(have) if x not in out]
    if gone:
        made = c.b.squeeze(c.b.cast(c.b.reduce("sum", c.b.wide(made), gone), made.dtype), gone)
        have = [x for x in have if x in out]
    return c.b.transpose(made, [have.index(x) for x in out])


def _letters(term: str, rank: int) -> list[str]:
    named = len(term.replace("...", ""))
    return _spread(term, [str(k) for k in range(rank - named)][::-1])


def _spread(term: str, dots: list[str]) -> list[str]:
    before, found, behind = term.partition("...")
    return [*before, *(dots if found else []), *behind]


def _diagonals(c: Context, x: Tensor, letters: list[str]) -> tuple[Tensor, list[str]]:
    b = c.b
    for letter in set(letters):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            one, other = b.iota("i64", x.shape, first), b.iota("i64", x.shape, second)
            kept = b.select(b.eq(one, other), x, b.constant(0, x.dtype, x.shape))
            x = b.squeeze(b.reduce("sum", kept, [second]), [second])
            letters = letters[:second] + letters[second + 1 :]
    return x, letters


def _contracted(
    c: Context, x: Tensor, a: list[str], y: Tensor, d: list[str], later: set[str]
) -> tuple[Tensor, list[str]]:
    b = c.b
    size: dict[str, Size] = {}
    for t, letters in ((x, a), (y, d)):
        for letter, extent in zip(letters, t.shape, strict=True):
            known = size.get(letter, 1)
            size[letter] = c.broadcast_shape([known], [extent])[0]
    both = [z for z in a if z in d and z in later]
    summed = [z for z in a if z in d and z not in later]
    rows, columns = [z for z in a if z not in d], [z for z in d if z not in a]

    def laid(t: Tensor, letters: list[str], order: list[str]) -> Tensor:
        turned = b.transpose(t, [letters.index(z) for z in order])
        return b.broadcast(turned, [size[z] for z in order])

    def of(letters: Sequence[str]) -> Size:
        return product_of(size[z] for z in letters)

    left = b.reshape(laid(x, a, both + rows + summed), [of(both), of(rows), of(summed)])
    right = b.reshape(laid(y, d, both + summed + columns), [of(both), of(summed), of(columns)])
    made = multiplied(c, left, right)
    order = both + rows + columns
    return b.reshape(made, [size[z] for z in order]), order


@op("Det", note="host")
def det(c: Context, x: Tensor) -> Tensor:
    import numpy as np

    (made,) = c.host(
        "det", lambda a: np.asarray(np.linalg.det(a), a.dtype), [x], [(x.dtype, x.shape[:-2])]
    )
    return made
