"""Sets and dicts with tensors in them, which are told apart by who they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dvm

LAYERS = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
LAYERS[2].bias = LAYERS[0].bias  # type: ignore[assignment]  # which one loop then meets once


def own(x: Any, y: Any, _s: Any, _d: Any) -> Any:
    made = {x, y, x * 1}
    made.discard(y)
    return x in made, y in made, len(made), {x: 1, y: 2}[x], y + 1


def into_a_set(x: Any, y: Any, s: Any, _d: Any) -> Any:
    z = x + 1
    s.add(z)
    s.add(x)
    s.add(7)
    return len(s), z, y in s


def out_of_a_set(x: Any, _y: Any, s: Any, _d: Any) -> Any:
    s.add(x)
    s.discard(x)
    return len(s), x * 2


def many_into_a_set(x: Any, y: Any, s: Any, _d: Any) -> Any:
    s.update({x, y})
    return len(s), x * 2


def into_a_dict(x: Any, y: Any, _s: Any, d: Any) -> Any:
    d[x] = x * 2
    d["a"] = y
    return x in d, y in d, d[x], len(d)


def of_a_module(x: Any, _y: Any, _s: Any, _d: Any) -> Any:
    first = next(LAYERS.parameters())
    return x.to(first.dtype) + sum(each.sum() for each in LAYERS.parameters())


PROGRAMS = [own, into_a_set, out_of_a_set, many_into_a_set, into_a_dict, of_a_module]
HELD: list[Callable[[], set[Any]]] = [set, lambda: {1, "b"}, lambda: {torch.ones(1)}]


def shown(things: Any, names: dict[int, str]) -> Any:
    """To compare: of tensors that are given, who they are."""
    if isinstance(things, torch.Tensor):
        return names.get(id(things), [f"{each:.4g}" for each in things.tolist()])
    if isinstance(things, dict):
        return [(shown(key, names), shown(each, names)) for key, each in things.items()]
    if isinstance(things, (list, tuple)):
        return [shown(each, names) for each in things]
    if isinstance(things, set):
        return sorted(str(shown(each, names)) for each in things)
    return things


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("held", HELD)
def test_it_is_as_in_eager_torch(program: Any, held: Any) -> None:
    compiled = dvm.compile(program)
    with dvm.stance("force_capture"), torch.no_grad():
        for same in (False, False, True, False, True):
            seen = []
            for function in (program, compiled):
                x, s, d = torch.ones(2), held(), {"b": 1}
                y = x if same else torch.ones(2)
                made = function(x, y, s, d)
                seen.append(shown([made, s, d], {id(x): "x", id(y): "y"}))
            assert seen[0] == seen[1]
    if program not in (many_into_a_set, of_a_module) and held is not HELD[-1]:
        assert compiled.stats.fallbacks == 0, compiled.fallback_reasons
        assert compiled.stats.hits >= 2
