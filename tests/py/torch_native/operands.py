"""Tensors that samples and programs are given: of every dtype, of few sizes, in several layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Sizes = tuple[int, ...]
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
DTYPES = (*FLOATS, *WHOLE, torch.bool)


def values(shape: Sizes, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Of both signs, small, some of them equal."""
    random = torch.Generator().manual_seed(seed)
    drawn = torch.randint(-8, 9, shape, generator=random)
    if dtype.is_floating_point:
        return (drawn / 4).to(dtype)
    if dtype is torch.bool:
        return drawn > 0
    return (drawn.abs() if dtype is torch.uint8 else drawn).to(dtype)


def contiguous(make: Callable[[Sizes], torch.Tensor], shape: Sizes) -> torch.Tensor:
    return make(shape)


def transposed(make: Callable[[Sizes], torch.Tensor], shape: Sizes) -> torch.Tensor:
    if len(shape) < 2:
        return make(shape)
    return make((*shape[:-2], shape[-1], shape[-2])).transpose(-1, -2)


def sliced(make: Callable[[Sizes], torch.Tensor], shape: Sizes) -> torch.Tensor:
    whole = make(tuple(2 * size + 1 for size in shape))
    return whole[tuple(slice(1, None, 2) for _ in shape)]


def shifted(make: Callable[[Sizes], torch.Tensor], shape: Sizes) -> torch.Tensor:
    if not shape:
        return make((3,))[1]
    return make((shape[0] + 2, *shape[1:]))[1:-1]


def expanded(make: Callable[[Sizes], torch.Tensor], shape: Sizes) -> torch.Tensor:
    return make(tuple(1 if k == 0 else size for k, size in enumerate(shape))).expand(shape)


def folded(make: Callable[[Sizes], torch.Tensor], shape: Sizes) -> torch.Tensor:
    """The first axis innermost, as of images whose channels come last."""
    if len(shape) < 3:
        return transposed(make, shape)
    return make((*shape[1:], shape[0])).movedim(-1, 0)


LAYOUTS = (contiguous, transposed, sliced, shifted, expanded, folded)


def operand(name: str, shape: Sizes, dtype: torch.dtype, layout: Any, seed: int) -> Any:
    """By its name in a sample; shape: of `x`, two sizes."""
    rows_, columns = shape
    laid = {"x": shape, "y": shape, "cube": (3, *shape), "heads": (2, rows_, columns, 4),
            "weight": (4, columns), "column_row": shape}  # fmt: skip
    plain = {"row": (columns,), "column": (rows_, 1), "scalar": (), "bias": (4,),
             "row5": (5,)}  # fmt: skip

    def make(size: Sizes) -> torch.Tensor:
        return values(size, dtype, seed + len(name))

    if name in laid:
        return layout(make, laid[name])
    if name in plain:
        return make(plain[name])
    if name == "other":
        wanted = torch.float64 if dtype is torch.float32 else torch.float32
        return values(shape, torch.int64 if dtype is torch.float64 else wanted, seed)
    if name == "mask":
        return layout(lambda size: values(size, torch.bool, seed), shape)
    if name == "mask_row":
        return values((columns,), torch.bool, seed)
    if name == "mask_heads":
        return values((rows_, rows_), torch.bool, seed) | torch.eye(rows_, dtype=torch.bool)
    if name == "bias_heads":
        return values((rows_, columns, columns), dtype, seed)
    if name == "number":
        return 1 + seed % 3
    if name == "real":
        return 0.5 + seed % 3
    random = torch.Generator().manual_seed(seed)
    whole = {"rows": (rows_, (3,)), "columns": (columns, (2,)), "places0": (rows_, (2, columns)),
             "places1": (columns, (rows_, 3))}  # fmt: skip
    limit, size = whole[name]
    return torch.randint(0, max(limit, 1), size if limit else (0,) * len(size), generator=random)


NAMES_TEXT = """
    x y cube heads weight column_row row column scalar bias row5 other mask mask_row
    mask_heads bias_heads number real rows columns places0 places1
"""
NAMES = NAMES_TEXT.split()


__all__ = ["DTYPES", "LAYOUTS", "NAMES", "operand", "values"]
