"""Programs: chains of operations over one to three arrays, as text.

Each step is chosen for the array that it will meet, and kept if plain NumPy computes it.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from layouts.arrays import DTYPES, Array, Shape, array

#: Sizes of the axes of small and of large arrays: what threads, tiles and tails divide.
SMALL = (0, 1, 1, 2, 3, 4, 5, 8, 17)
LARGE = (1, 3, 64, 1023, 1024, 1025, 8192)

ELEMENTWISE = (
    "{x} + {y}", "{x} * {y}", "{x} - {y}", "np.maximum({x}, {y})", "np.minimum({x}, {y})",
    "{x} < {y}", "{x} == {y}", "np.where({x} > {y}, {x}, {y})", "np.where({y} > 0, {x}, 0)",
    "np.copysign({x}, {y})", "np.logical_and({x}, {y})",
)  # fmt: skip
UNARY = (
    "abs({x})", "-{x}", "{x} * 2", "np.sign({x})", "np.clip({x}, 0, 1)", "{x}.astype('{dtype}')",
    "{x}.copy()", "{x} != 0", "np.floor({x})", "np.square({x})", "np.array({x})", "+{x}",
    "np.zeros_like({x})", "np.isnan({x})", "np.signbit({x})", "np.nan_to_num({x})",
)  # fmt: skip
ROUNDING = ("{x} / 3", "np.sqrt(abs({x}))", "{x}.mean({axis})", "{x} / {y}")
REDUCTIONS = (
    "{x}.sum({axis})", "{x}.max({axis})", "{x}.min({axis})", "{x}.any({axis})", "{x}.all({axis})",
    "{x}.sum({axis}, keepdims=True)", "{x}.max({axis}, keepdims=True)", "{x}.argmax({one})",
    "{x}.argmin({one})", "np.cumsum({x}, {one})", "np.count_nonzero({x}, {axis})",
    "np.diff({x}, axis={one})", "np.nanmax({x}, {axis})", "np.logical_or.reduce({x}, {one})",
    "np.maximum.accumulate({x}, {one})", "np.sort({x}, {one})", "np.add.reduce({x}, {one})",
)  # fmt: skip
MOVES = (
    "{x}.T", "{x}.transpose({axes})", "{x}.reshape(-1)", "{x}.ravel()", "np.flip({x}, {one})",
    "np.roll({x}, 1, {one})", "np.concatenate([{x}, {x}], {one})", "np.stack([{x}, {x}], {one})",
    "np.take({x}, [0, -1], {one})", "{x}[1:]", "{x}[::-1]", "{x}[..., ::2]", "{x}[..., :-1]",
    "{x}[None]", "np.broadcast_to({x}, (2, *{x}.shape))", "np.ascontiguousarray({x})",
    "{x}.reshape({x}.shape[::-1])", "{x}.flatten()", "np.swapaxes({x}, 0, {one})", "{x}[..., 0]",
    "{x}[:1]", "np.expand_dims({x}, {one})", "np.repeat({x}, 2, {one})", "np.tile({x}, 2)",
    "np.asfortranarray({x})", "{x}[..., 1:] - {x}[..., :-1]", "np.pad({x}, 1)", "{x}[{x} > 0]",
    "np.moveaxis({x}, 0, {one})", "np.rot90({x})", "np.squeeze({x})", "np.array({x}, order='F')",
    "np.vstack([{x}, {x}])", "np.hstack([{x}, {x}])", "{x}.copy('K')",
    "{x}.reshape({x}.shape, order='F')", "np.einsum('i...->...i', {x})",
)  # fmt: skip
OPAQUE = ("np.sort({x}, axis=-1)",)
#: Their last bits are dvm's own: nothing is computed from them.
CLOSE = (
    "np.exp({x})", "np.tanh({x})", "np.log(abs({x}))", "{x}.var({axis})", "{x}.prod({axis})",
    "np.std({x}, {axis})", "{x} @ {x}.T", "np.inner({x}, {x})",
    "np.einsum('...i,...i->...', {x}, {x})", "np.einsum('i...,i...', {x}, {x})",
)  # fmt: skip
#: What adds up elements in their own dtype (a mean of halves is one of floats).
SUMS = (".sum", "np.add.reduce", ".var", "np.std", ".prod")


@dataclass
class Chain:
    """A program and what its calls are given.

    forms: per argument its axes among "n", "m", "k", or "1" for one of size 1.
    close: its last bits may differ. halves: it computes in float16, which rounds in strict mode.
    added: it adds up halves. NumPy rounds each of these sums to a half where it goes along an outer
        axis, and none along an inner one; dvm's are floats in either case, and round once.
    nothing: a step makes an array of several axes and no elements, of whose strides NumPy's
        functions may make something else than of dvm's.
    signs: it asks for signs, and the one of a NaN is not NumPy's promise.
    """

    lines: list[str] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    close: bool = False
    halves: bool = False
    added: bool = False
    nothing: bool = False
    signs: bool = False

    @property
    def source(self) -> str:
        names = ", ".join(f"x{i}" for i in range(len(self.forms)))
        body = [*self.lines, f"return {', '.join(self.returned)},"]
        return f"def f({names}):\n" + "".join(f"    {line}\n" for line in body)

    def function(self) -> Callable[..., Any]:
        scope: dict[str, Any] = {"np": np}
        exec(compile(self.source, "<layouts>", "exec"), scope)
        made: Callable[..., Any] = scope["f"]
        return made

    def arguments(self, rng: random.Random, sizes: dict[str, int]) -> list[Array]:
        return [
            array(rng, shape_of(form, sizes), dtype)
            for form, dtype in zip(self.forms, self.dtypes, strict=True)
        ]


def shape_of(form: str, sizes: dict[str, int]) -> Shape:
    return tuple(1 if axis == "1" else sizes[axis] for axis in form)


def sizes_of(rng: random.Random, large: bool) -> dict[str, int]:
    """Return sizes of the axes, of which at most two are large."""
    if not large:
        return {axis: rng.choice(SMALL) for axis in "nmk"}
    drawn = {axis: rng.choice((1, 2, 3)) for axis in "nmk"}
    drawn[rng.choice("nmk")] = rng.choice((*LARGE, 300_000))
    if max(drawn.values()) <= 1025:
        drawn[rng.choice("nmk")] = rng.choice((17, 64, 100))
    return drawn


def chain(rng: random.Random, sizes: dict[str, int]) -> tuple[Chain, list[Array]]:
    """Return a program of one to six steps, and arguments with which NumPy runs it."""
    made = Chain()
    whole = rng.choice(("n", "nm", "nm", "nm", "nmk"))
    for i in range(rng.choice((1, 2, 2, 3))):
        made.forms.append(whole if i == 0 else form_like(rng, whole))
        made.dtypes.append(rng.choice(DTYPES) if i == 0 or rng.random() < 0.2 else made.dtypes[0])
    arguments = made.arguments(rng, sizes)
    values: dict[str, Any] = {f"x{i}": argument for i, argument in enumerate(arguments)}
    rounded = False
    for _ in range(rng.choice((1, 2, 3, 4, 5, 6))):
        last = list(values)[-1] if made.lines else "x0"
        tables = [UNARY, ELEMENTWISE, ELEMENTWISE, REDUCTIONS, MOVES, MOVES, ROUNDING, CLOSE]
        table = rng.choice([*tables, OPAQUE] if rng.random() < 0.1 else tables)
        if rounded and table in (REDUCTIONS, ROUNDING, CLOSE, OPAQUE):
            continue
        text = filled(rng, rng.choice(table), last, values)
        name = f"t{len(made.lines)}"
        if text is None or not keeps(text, values, name):
            continue
        made.lines.append(f"{name} = {text}")
        rounded |= table is ROUNDING or "nan_to_num" in text  # which makes the largest numbers
        made.signs |= "sign" in text
        made.added = values[last].dtype == np.float16 and any(name in text for name in SUMS)
        if table is CLOSE or made.added:
            made.close = True
            break
    made.nothing = any(value.size == 0 and value.ndim > 2 for value in values.values())
    made.halves = any(value.dtype == np.float16 for value in values.values())
    made.returned = [list(values)[-1]]
    if rng.random() < 0.3:
        made.returned.append(rng.choice(list(values)))
    return made, arguments


def form_like(rng: random.Random, whole: str) -> str:
    form = "".join("1" if rng.random() < 0.2 else axis for axis in whole)
    return form[rng.choice((0, 0, 0, 1)) :]


def filled(rng: random.Random, form: str, last: str, values: dict[str, Any]) -> str | None:
    x = values[last]
    rank = x.ndim
    if rank == 0 and ("{one}" in form or "[" in form):
        return None
    one = rng.randrange(rank) if rank else 0
    axis: Any = rng.choice((one, one, None, tuple(range(rank))[-2:])) if rank else None
    axes = tuple(rng.sample(range(rank), rank))
    return form.format(
        x=last, y=rng.choice(list(values)), one=one, axis=axis, axes=axes, dtype=rng.choice(DTYPES)
    )


def keeps(text: str, values: dict[str, Any], name: str) -> bool:
    """Whether NumPy computes the step, and it makes an array that is not too large."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = eval(text, {"np": np}, values)
        except Exception:
            return False
    if not isinstance(made, np.ndarray | np.generic) or made.size > 10**6 or made.ndim > 5:
        return False
    values[name] = made
    return str(made.dtype) in DTYPES
