"""Elementwise functions, and losses, that torch composes of ops which have rows (dvm.torch.aten).

What a function is composed of, torch itself says: it is called once on tensors of one element, and
the ops that it comes to, or that its decompositions do, are written down. That takes a millisecond,
once per process for the same dtypes and numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from dvm import reasons
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.in_place import in_place
from dvm.magpy_capture.meanings.torch.operations.library import NAMES, TORCH_DTYPES
from dvm.magpy_capture.meanings.torch.operations.lowered import (
    Row,
    lowered,
    node_of,
    pointwise,
    result,
)
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import Meaning, means
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import Abstract, Host, Tensor, resolve
from dvm.magpy_capture.values.kinds import name_of
from dvm.torch.aten import ROWS
from dvm.torch.builder import DTYPES, Builder
from dvm.torch.builder import Tensor as Node

#: sizes and strides by which ops are told apart that lay their results in different ways
LAYOUTS = (
    ((1, 1), (6, 2)), ((5, 0), (2, 2)), ((0, 5), (0, 1)), ((0, 1), (6, 2)), ((2, 3), (1, 2)),
    ((2, 3, 2), (2, 4, 1)),
)  # fmt: skip
#: where lowerings are that compute element by element, and those that may reduce all to a number
ELEMENTWISE = ("dvm.torch.pointwise", "dvm.torch.aten", "dvm.torch.losses")
REDUCING = ("dvm.torch.reductions", "dvm.torch.losses")


@dataclass(frozen=True)
class Place:
    """Of a tensor, in the order in which a function meets them: its operands come first."""

    number: int


@dataclass(frozen=True)
class Step:
    """An op that has a row. Tensors among its arguments are Places."""

    row: Row
    args: Any
    kwargs: Any
    like: torch.Tensor  # the result, for an element
    made: Place


@dataclass
class Part:
    """An op that a function calls, which torch computes at once, and lays its result for all.

    lies: "iterated" as of all elementwise ops, "like" its operand, "plain" in C order, "there" in
        the memory of its first operand; "" of a number.
    """

    given: list[Place]
    lies: str = ""
    steps: list[Step] = field(default_factory=list)
    made: Place = Place(-1)

    @property
    def like(self) -> torch.Tensor:
        return next(step.like for step in self.steps if step.made == self.made)


@dataclass(frozen=True)
class Composition:
    """The last part's result is the function's."""

    parts: list[Part]
    dtype: torch.dtype


class NotComposed(Exception):
    """An op is neither elementwise with a row, nor composed of such."""


class Composing(TorchDispatchMode):  # type: ignore[misc]
    """Writes down what functions of tensors of one element call."""

    def __init__(self, given: list[torch.Tensor]) -> None:
        super().__init__()
        self.parts: list[Part] = []
        self.met = [*given]  # which stay alive, for they are told by id
        self.places = {id(t): Place(number) for number, t in enumerate(given)}
        self.within = False  # an op that the function has called

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No, or it would be imported, which takes two seconds."""
        return False

    def place(self, t: Any) -> Place:
        if id(t) not in self.places:
            raise NotComposed("a tensor from elsewhere")
        return self.places[id(t)]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.within:
            return self.step(func, args, kwargs)
        leaves = pytree.tree_leaves((args, kwargs))
        given = [self.place(t) for t in leaves if isinstance(t, torch.Tensor)]
        self.parts.append(Part(given))
        self.within = True
        made = self.step(func, args, kwargs)
        self.within = False
        part, (result, *_) = self.parts[-1], pytree.tree_leaves(made)
        part.made = self.place(result)
        if not part.steps:  # of the dtype that was wanted
            self.parts.pop()
        elif result.ndim:
            part.lies = "there" if "_." in str(func) else lying(func, args, kwargs, len(given))
        return made

    def step(self, func: Any, args: Any, kwargs: Any) -> Any:
        name = str(func)
        known = ROWS.get(name) or ROWS.get(name.replace("_.", "."))
        if known is None or known.lower is None:
            make = decomposition_table.get(func, func.decompose)
            with self:
                made = make(*args, **kwargs)
            if made is NotImplemented:
                raise NotComposed(name)
            return made
        made = func(*args, **kwargs)
        if not isinstance(made, torch.Tensor) or made.dtype not in NAMES:
            raise NotComposed(name)
        own = known.lower.__module__
        if own not in (REDUCING if made.ndim == 0 and own in REDUCING else ELEMENTWISE):
            raise NotComposed(name)
        args, kwargs = pytree.tree_map_only(torch.Tensor, self.place, (args, kwargs))
        if Place(0) in args[:1] and name not in ROWS:
            raise NotComposed("a write into what it is given")
        self.met.append(made)
        place = self.places[id(made)] = Place(len(self.met) - 1)
        self.parts[-1].steps.append(Step(known.lower, args, kwargs, made, place))
        return made


def in_c_order(t: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(t, memory_format=torch.contiguous_format)


def lying(func: Any, args: Any, kwargs: Any, tensors: int) -> str:
    """How an op of so many tensors lays its results, by some that it is given."""
    ways: dict[str, Any] = {"iterated": torch.logical_not, "plain": in_c_order}
    if tensors == 1:
        ways["like"] = torch.empty_like
    for size, strides in LAYOUTS:

        def laid(t: torch.Tensor, size: Any = size, strides: Any = strides) -> torch.Tensor:
            return torch.empty_strided(size, strides, dtype=t.dtype).fill_(1) if t.ndim else t

        given = pytree.tree_map_only(torch.Tensor, laid, (args, kwargs))
        made, *_ = pytree.tree_leaves(func(*given[0], **given[1]))
        one = laid(made)
        ways = {name: way for name, way in ways.items() if way(one).stride() == made.stride()}
    if not ways:
        raise NotComposed(f"how {func} lays its results")
    return next(iter(ways))


def composition(function: Any, args: list[Any], named: dict[str, Any]) -> Composition:
    """What the function comes to for such arguments."""
    given = [t for t in pytree.tree_leaves((args, named)) if isinstance(t, torch.Tensor)]
    mode = Composing(given)
    try:
        with torch.no_grad(), mode:
            made = function(*args, **named)
    except Exception as error:  # of any kind, of arguments that torch does not take either
        raise NotComposed(str(error)) from None
    if not isinstance(made, torch.Tensor) or not mode.parts:
        raise NotComposed("no new tensor")
    known = {Place(number) for number in range(len(given))}
    for part in mode.parts:
        if not known.issuperset(part.given):
            raise NotComposed("an op of several results")
        known.add(part.made)
    if mode.parts[-1].made != mode.place(made):
        raise NotComposed("another tensor's memory")
    return Composition(mode.parts, made.dtype)


#: a function, its arguments and modes as a text -> what it is composed of
_known: dict[tuple[Any, ...], Composition | NotComposed] = {}


def composed(function: Any) -> Meaning:
    """What torch composes of ops that have rows; where it does not, torch's own call."""

    def meaning(lower: TorchPart, *args: Abstract, seen: Any, **named: Abstract) -> Tensor:
        tensors: list[Tensor] = []

        def stand_in(value: Abstract) -> Any:
            x = resolve(value)
            if not isinstance(x, Tensor):
                if isinstance(x, Host) and not lower.torch_tensors.is_held(x.register):
                    raise refuse(reasons.TORCH_FORM, name_of(function), describe(x))
                return lower.indexing.plain(value)
            tensors.append(x)
            return torch.ones((1,) * min(x.rank, 1), dtype=TORCH_DTYPES[x.dtype])

        given = [*map(stand_in, args)], {name: stand_in(each) for name, each in named.items()}
        key = (function, *map(_text, pytree.tree_leaves(given)), *named)
        key = (*key, torch.get_default_dtype(), lower.torch_modes.autocast)
        if key not in _known:
            try:
                _known[key] = composition(lower.torch_rules.as_called(function), *given)
            except NotComposed as error:
                _known[key] = error
        known = _known[key]
        if isinstance(known, NotComposed) or known.dtype != seen.dtype:
            raise refuse(reasons.TORCH_FORM, name_of(function), str(known))
        values = {Place(number): t for number, t in enumerate(tensors)}
        for part in known.parts:
            values[part.made] = computed(lower, part, [values[place] for place in part.given])
        return values[known.parts[-1].made]

    return meaning


def _text(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.dtype, argument.ndim
    return type(argument), repr(argument)


def computed(lower: TorchPart, part: Part, operands: list[Tensor]) -> Tensor:
    """An op, as if the program had called it."""

    def row(b: Builder, *nodes: Node) -> Node:
        whole, found = b.out.shape, dict(zip(part.given, nodes, strict=True))
        for step in part.steps:
            is_whole = step.like.ndim > 0
            spread = not is_whole and step.row.__module__ in REDUCING

            def operand(place: Place, spread: bool = spread) -> Node:
                return b.broadcast(found[place], whole) if spread else found[place]

            args, kwargs = pytree.tree_map_only(Place, operand, (step.args, step.kwargs))
            b.expected = [Node(-1, DTYPES[step.like.dtype], whole if is_whole else ())]
            found[step.made] = step.row(b, *args, **kwargs)
        return found[part.made]

    if not part.lies:
        shape = lower.elementwise.common_shape(operands)
        nodes = [node_of(lower, t) for t in operands]
        return result(lower, lowered(lower, row, [(part.like.dtype, shape)], *nodes))
    rank = max(t.rank for t in operands)
    order = c_order(rank) if part.lies == "plain" else None
    made = pointwise(lower, row, part.like, *operands, order=order)
    if part.lies == "there":
        made.strides = operands[0].strides
    elif part.lies == "like":
        made.strides = lower.torch_strides.of_copy(operands[0])
    return made


# ---- the table

PLACES = (torch, torch.Tensor, torch._C._nn, torch._C._special)
FUNCTIONS_TEXT = """
    addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh celu copysign deg2rad elu
    fix float_power frac greater greater_equal hardshrink hardsigmoid hardswish hardtanh heaviside
    isclose isfinite isneginf isposinf isreal less less_equal lerp log_sigmoid logaddexp2 logit
    mish nan_to_num negative nextafter not_equal rad2deg relu6 selu sgn sinc softplus softshrink
    threshold xlogy
    special_entr special_erf special_exp2 special_expit special_expm1 special_log1p special_logit
    special_ndtr special_sinc special_xlog1py special_xlogy
    binary_cross_entropy_with_logits hinge_embedding_loss huber_loss kl_div l1_loss
    margin_ranking_loss mse_loss smooth_l1_loss soft_margin_loss
"""
for _name in FUNCTIONS_TEXT.split():
    for _place in PLACES:
        if (_function := getattr(_place, _name, None)) is not None:
            _meaning = means(_function)(composed(_function))
            if (_writing := getattr(_place, f"{_name}_", None)) is not None:
                means(_writing)(in_place(_meaning))

__all__ = ["composed"]
