"""All that can be seen of one call on tensors: results, memory, arguments, errors, random state."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

Function = Callable[..., Any]
#: functions of torch that write into what they give, which it counts as it does a program's writes
WRITE_THEIR_RESULT = ("isclose",)
#: relative and absolute error that a result may have
TOLERANCE = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
    torch.float32: (1e-4, 1e-5),
    torch.float64: (1e-7, 1e-7),
}


COMPARED = [
    "error",
    "warned",
    "structure",
    "layouts",
    "same",
    "memory",
    "written",
    "state",
    "random",
]


@dataclass
class Seen:
    """Of one call."""

    error: str = ""
    warned: list[str] = field(default_factory=list)
    structure: Any = None
    #: of each tensor: class, dtype, shape, strides, whether it wants a gradient
    layouts: list[Any] = field(default_factory=list)
    #: which arguments and results are one object, and which lie in one memory, and where in it
    same: list[int] = field(default_factory=list)
    memory: list[Any] = field(default_factory=list)
    #: how many writes into each torch has counted, new memory among them
    written: list[int] = field(default_factory=list)
    #: which of them torch takes for views
    views: list[bool] = field(default_factory=list)
    #: what modules and numbers beside tensors are, and the generator of random numbers
    state: Any = None
    random: int = 0
    values: list[torch.Tensor] = field(default_factory=list)

    def difference(self, other: Seen, values: bool = True, counts: bool = True) -> str:
        """The first thing that is another one in `other`; nothing if there is none.

        values: whether what tensors hold is compared, too; counts: how often they were written.
        """
        for name in COMPARED if counts else [each for each in COMPARED if each != "written"]:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                return f"{name}: {mine} instead of {theirs}"
        # What torch makes in several steps may be a view of memory that nobody else has.
        if any(mine and not theirs for mine, theirs in zip(self.views, other.views, strict=True)):
            return f"views: {self.views} instead of {other.views}"
        compared = zip(self.values, other.values, strict=True) if values else ()
        for place, (mine, theirs) in enumerate(compared):
            if text := unlike(mine, theirs):
                return f"value {place}: {text}"
        return ""


def unlike(mine: torch.Tensor, theirs: torch.Tensor) -> str:
    """How one tensor differs from the other of its dtype and shape, if it does."""
    rtol, atol = TOLERANCE.get(theirs.dtype, (0, 0))
    if mine.layout is not torch.strided or mine.is_meta:
        mine, theirs = (torch.zeros(t.shape) if t.is_meta else t.to_dense() for t in (mine, theirs))
    if mine.is_quantized:
        mine, theirs = mine.dequantize(), theirs.dequantize()
    if torch.allclose(mine.flatten(), theirs.flatten(), rtol, atol, equal_nan=True):
        return ""
    return f"{mine.tolist()} instead of {theirs.tolist()}"


def observe(function: Function, arguments: list[Any], beside: Callable[[], Any] = list) -> Seen:
    """Call a function; beside: gives what it may change without being given it."""
    seen = Seen()
    around = [arguments, beside()]
    given = [*tensors_in(around)]
    before = [t._version if not t.is_inference() else 0 for t in given]
    made: Any = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            made = function(*arguments)
        except Exception as error:  # whatever the program raises
            seen.error = f"{type(error).__name__}: {first_line(error)}"
    seen.warned = [f"{each.category.__name__}: {each.message}" for each in warned]
    seen.structure = structure_of(made)
    left = [arguments, beside()]
    seen.state = structure_of(left)
    seen.random = hash(torch.get_rng_state().numpy().tobytes())
    given_and_made = [*given, *tensors_in(made), *tensors_in(left)]
    seen.layouts = [layout_of(t) for t in given_and_made]
    ids = [id(t) for t in given_and_made]
    seen.same = [ids.index(each) for each in ids]
    seen.memory = places_of(given_and_made)
    counts = [0 if t.is_inference() else t._version for t in given_and_made]
    # Views of what was given count with that, and what is given out as its `data` by itself.
    before += [
        0 if place is None or place[0] >= len(given) else count
        for place, count in zip(seen.memory[len(given) :], counts[len(given) :], strict=True)
    ]
    seen.written = [count - was for count, was in zip(counts, before, strict=True)]
    seen.views = [t._is_view() for t in given_and_made]
    with warnings.catch_warnings(action="ignore"):  # quantised ones are deprecated
        seen.values = [t.detach().clone() for t in given_and_made]
    return seen


def first_line(error: Exception) -> str:
    """Of its message: behind it torch may say where in C++ it was raised."""
    return str(error).partition("\n")[0]


def tensors_in(thing: Any) -> Iterator[torch.Tensor]:
    """All of a tree of containers and modules, one behind the other."""
    if isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, torch.nn.Module):
        yield from thing.state_dict(keep_vars=True).values()
    elif isinstance(thing, dict):
        for each in thing.values():
            yield from tensors_in(each)
    elif isinstance(thing, (list, tuple)):
        for each in thing:
            yield from tensors_in(each)
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        yield from tensors_in(vars(thing))


def structure_of(thing: Any) -> Any:
    """Containers and what in them is no tensor."""
    if isinstance(thing, torch.Tensor):
        return "tensor"
    if isinstance(thing, dict):
        return type(thing), [(key, structure_of(each)) for key, each in thing.items()]
    if isinstance(thing, (list, tuple)):
        return type(thing), [structure_of(each) for each in thing]
    if isinstance(thing, torch.Generator):
        return "generator", thing.get_state().tolist()
    if isinstance(thing, np.ndarray):
        return "array", thing.tolist()
    if isinstance(thing, float):
        return float, f"{thing:.4g}"
    if isinstance(thing, torch.nn.Module):
        return [state_of(name, module) for name, module in thing.named_modules()]
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return type(thing).__name__, structure_of(vars(thing))
    return type(thing), thing


def state_of(name: str, module: torch.nn.Module) -> Any:
    """What a module is, but for its tensors."""
    own = vars(module)
    hooks = [len(own[key]) for key in own if key.endswith("_hooks")]
    plain = {key: each for key, each in own.items() if type(each) in (bool, int, float, str)}
    return name, type(module).__name__, hooks, plain, list(module._buffers)


def layout_of(tensor: torch.Tensor) -> Any:
    about = type(tensor), tensor.dtype, tuple(tensor.shape), tensor.requires_grad
    return (*about, tensor.stride()) if tensor.layout is torch.strided else about


def places_of(tensors: list[torch.Tensor]) -> list[Any]:
    """For each the first in whose memory it is, and how far in it from there."""
    memory: dict[int, tuple[int, int]] = {}
    places: list[Any] = []
    for number, tensor in enumerate(tensors):
        if tensor.layout is not torch.strided or tensor.is_meta or tensor.numel() == 0:
            places.append(None)
            continue
        start = tensor.untyped_storage().data_ptr()
        first, offset = memory.setdefault(start, (number, tensor.storage_offset()))
        places.append((first, tensor.storage_offset() - offset))
    return places


__all__ = ["TOLERANCE", "WRITE_THEIR_RESULT", "Function", "Seen", "observe", "tensors_in", "unlike"]
