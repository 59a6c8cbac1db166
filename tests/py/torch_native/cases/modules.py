"""Modules whose parts, parameters, buffers and code change between calls, or within them."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize, prune

from torch_native.cases import CASES, Layer, Made, Program, case, changed, changing, each, grid


def renewed(shape: tuple[int, ...]) -> nn.Parameter:
    return nn.Parameter(torch.arange(float(torch.Size(shape).numel())).reshape(shape) / 4)


def saved_and_loaded(module: Layer) -> None:
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    loaded = torch.load(file)
    module.load_state_dict({name: value * 2 for name, value in loaded.items()}, assign=True)


def written_without_gradients(module: Layer) -> None:
    with torch.no_grad():
        module.first.weight.add_(1)
        module.second.bias.copy_(torch.ones(3))


def hooked(module: nn.Module) -> nn.Module:
    module.register_forward_hook(lambda _module, _given, made: made * 2)
    return module


def kept_by(module: Layer, made: nn.Module) -> nn.Module:
    module.kept = made
    return made


class Scaled(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * 2


class Symmetric(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight.triu() + weight.triu(1).T


#: what is done to a module of two layers between calls
CHANGES: dict[str, list[Any]] = {
    "weight of other sizes": [
        lambda m: setattr(m.first, "weight", renewed((5, 3))),
        lambda m: (
            setattr(m.first, "bias", renewed((5,))),
            setattr(m.second, "weight", renewed((2, 5))),
        ),
        lambda m: setattr(m.second, "bias", renewed((2,))),
    ],
    "weight of another dtype alone": [
        lambda m: setattr(m.first, "weight", nn.Parameter(torch.ones(3, 3).double()))
    ],
    "weight deleted": [
        lambda m: delattr(m.first, "weight"),
        lambda m: setattr(m.first, "weight", renewed((3, 3))),
    ],
    "weight as a plain tensor": [
        lambda m: (delattr(m.first, "weight"), setattr(m.first, "weight", torch.ones(3, 3)))
    ],
    "weight set to None": [lambda m: setattr(m.first, "weight", None)],
    "weights swapped": [
        lambda m: (
            w := m.first.weight,
            setattr(m.first, "weight", m.second.weight),
            setattr(m.second, "weight", w),
        )
    ],
    "weights tied by data": [
        lambda m: setattr(m.first.weight, "data", m.second.weight.data),
        lambda m: m.second.weight.data.add_(1),
    ],
    "weights tied and written": [
        lambda m: setattr(m.second, "weight", m.first.weight),
        written_without_gradients,
    ],
    "weight in other memory order": [
        lambda m: setattr(m.first.weight, "data", m.first.weight.data.t().contiguous().t())
    ],
    "written without gradients": [written_without_gradients],
    "saved, loaded and assigned": [saved_and_loaded],
    "layers swapped with each other": [
        lambda m: (a := m.first, setattr(m, "first", m.second), setattr(m, "second", a))
    ],
    "layer of a derived class": [lambda m: setattr(m, "first", Scaled(3, 3))],
    "class of a layer set": [lambda m: setattr(m.first, "__class__", Scaled)],
    "layer replaced by a sequence": [
        lambda m: setattr(m, "first", nn.Sequential(m.first, nn.ReLU(), nn.Linear(3, 3)))
    ],
    "layer deleted": [lambda m: delattr(m, "first"), lambda m: setattr(m, "first", nn.Identity())],
    "layer set to None": [lambda m: setattr(m, "second", None)],
    "layer replaced by a function": [
        lambda m: (delattr(m, "second"), setattr(m, "second", torch.tanh))
    ],
    "one layer for both": [lambda m: setattr(m, "second", m.first)],
    "forward of the module": [
        lambda m: setattr(m, "forward", lambda x: x - 1),
        lambda m: delattr(m, "forward"),
    ],
    "forward of the class": [lambda _m: setattr(Scaled, "forward", lambda _self, x: x * 5)],
    "dropout in training": [
        lambda m: m.drop.train(),
        lambda m: setattr(m.drop, "p", 0.0),
        lambda m: setattr(m.drop, "p", 1.0),
    ],
    "training of the whole": [lambda m: m.train(), lambda m: m.eval()],
    "requires_grad of one": [
        lambda m: m.first.weight.requires_grad_(False),
        lambda m: m.first.weight.requires_grad_(True),
    ],
    "to double and back": [lambda m: m.to(torch.float64), lambda m: m.float()],
    "to bfloat16": [lambda m: m.bfloat16()],
    "half of it double": [lambda m: m.second.double()],
    "to meta": [lambda m: m.to("meta")],
    "applied initialisation": [
        lambda m: m.apply(
            lambda each: nn.init.ones_(each.weight) if isinstance(each, nn.Linear) else None
        )
    ],
    "buffer replaced": [
        lambda m: setattr(m, "seen", torch.ones(3)),
        lambda m: m.register_buffer("seen", torch.zeros(3)),
    ],
    "attributes added": [
        lambda m: setattr(m, "extra", 3),
        lambda m: setattr(m, "extra", torch.ones(2)),
    ],
    "parametrised": [
        lambda m: parametrize.register_parametrization(m.first, "weight", Symmetric()),
        lambda m: parametrize.remove_parametrizations(m.first, "weight"),
    ],
    "weight norm": [
        lambda m: nn.utils.parametrizations.weight_norm(m.first),
        lambda m: m.first.parametrizations.weight.original0.data.mul_(2),
    ],
    "spectral norm": [lambda m: nn.utils.parametrizations.spectral_norm(m.first)],
    "pruned": [
        lambda m: prune.l1_unstructured(m.first, "weight", amount=2),
        lambda m: prune.remove(m.first, "weight"),
    ],
    "gradients set and zeroed": [
        lambda m: setattr(m.first.weight, "grad", torch.ones(3, 3)),
        lambda m: m.zero_grad(),
    ],
    "a step of an optimiser": [
        lambda m: (
            setattr(m.first.weight, "grad", torch.ones(3, 3)),
            torch.optim.SGD(m.parameters(), 0.1).step(),
        )
    ],
    "replaced by its copy": [
        lambda m: m._modules.update(first=copy.deepcopy(m.first)),
        lambda m: m.first.weight.data.add_(1),
    ],
    "replaced by its pickle": [
        lambda m: m._modules.update(first=pickle.loads(pickle.dumps(m.first)))
    ],
    "written through numpy": [lambda m: m.first.weight.detach().numpy().fill(2)],
    "written through a view of it": [lambda m: m.first.weight.data[0].fill_(3)],
    "share_memory": [lambda m: m.share_memory()],
}
for _name, _changes in CHANGES.items():
    CASES[f"modules: {_name}"] = lambda changes=_changes: changed(*changes)

#: what a program does with its module beside calling it
PROGRAMS: dict[str, Program] = {
    "counts in a buffer": lambda m, x: (m.seen.add_(x[0]), m.seen + 1),
    "sets a buffer": lambda m, x: (setattr(m, "seen", m.seen + x[0]), m.seen)[1],
    "sets an attribute": lambda m, x: (
        setattr(m, "count", getattr(m, "count", 0) + 1),
        x * m.count,
    )[1],
    "keeps a result": lambda m, x: (setattr(m, "kept", m(x)), m.kept)[1],
    "reads its state": lambda m, x: (list(m.state_dict()), x + 1),
    "sums its parameters": lambda m, x: sum(p.sum() for p in m.parameters()) + x,
    "walks over its modules": lambda m, x: [
        each(x) for each in m.children() if isinstance(each, nn.Linear)
    ],
    "asks for a parameter by name": lambda m, x: x @ m.get_parameter("first.weight").t(),
    "calls a layer's forward": lambda m, x: m.first.forward(x),
    "gives a parameter": lambda m, x: (m.first.weight, m.first.weight is m.second.weight, x + 1),
    "asks for training": lambda m, x: x + 1 if m.training else x - 1,
    "sets training": lambda m, x: (m.train(not m.training), x + 1)[1],
    "counts its parameters": lambda m, x: (sum(p.numel() for p in m.parameters()), x * 2),
    "writes a weight": lambda m, x: (m.first.weight.data.mul_(0.5), m(x))[1],
    "replaces a weight": lambda m, x: (
        setattr(m.first, "weight", nn.Parameter(m.first.weight * 2)),
        m(x),
    )[1],
    "adds a layer": lambda m, x: (m.add_module("third", nn.ReLU()), m.third(m(x)))[1],
    "registers a buffer": lambda m, x: (m.register_buffer("more", x[0] * 2), m.more + 1)[1],
    "asks for an attribute there is not": lambda m, x: x + getattr(m, "nothing", 3),
    "an attribute there is not": lambda m, x: x + m.nothing,
    "calls by keyword": lambda m, x: m.first(input=x),
    "calls with too many": lambda m, x: m.first(x, x),
    "its name and text": lambda m, x: (type(m).__name__, str(m.first), x + 1),
    "a copy of it": lambda m, x: copy.deepcopy(m)(x),
    "a layer made within": lambda _m, x: nn.ReLU()(x),
    "a linear made within": lambda _m, x: nn.Linear(3, 3)(x),
    "an activation made within": lambda _m, x: nn.LeakyReLU(0.2)(x * 2),
    "several made within": lambda m, x: nn.Sequential(nn.ReLU(), m.first, nn.Softmax(-1))(x),
    "a hook of what is made within": lambda _m, x: hooked(nn.Tanh())(x),
    "one made within that is kept": lambda m, x: kept_by(m, nn.Hardtanh(-0.5, 0.5))(x),
}
for _name, _program in PROGRAMS.items():
    CASES[f"modules: a program that {_name}"] = lambda program=_program: changed(
        lambda m: m.first.weight.data.add_(1), program=program
    )


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.parts = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.named = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Tanh()})
        self.weights = nn.ParameterList([torch.ones(3), torch.ones(3) * 2])
        self.chain = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.plain = [nn.Linear(3, 3)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for k, part in enumerate(self.parts):
            x = part(x) * (k + 1)
        for name, part in self.named.items():
            x = part(x) + len(name)
        for weight in self.weights:
            x = x * weight
        return self.plain[0](self.chain(x))


LISTED: dict[str, list[Any]] = {
    "appended": [
        lambda m: m.parts.append(nn.Linear(3, 3)),
        lambda m: m.parts.extend([nn.ReLU(), nn.Tanh()]),
    ],
    "inserted": [lambda m: m.parts.insert(0, nn.Sigmoid())],
    "popped": [lambda m: m.parts.pop(-1), lambda m: m.parts.pop(0)],
    "set": [
        lambda m: m.parts.__setitem__(1, nn.Tanh()),
        lambda m: m.named.__setitem__("b", nn.ReLU()),
    ],
    "sliced": [lambda m: setattr(m, "parts", m.parts[:1])],
    "added by name": [lambda m: m.named.update({"c": nn.Linear(3, 3)}), lambda m: m.named.pop("a")],
    "another order of names": [lambda m: m.named.update({"a": m.named.pop("a")})],
    "parameters appended": [
        lambda m: m.weights.append(torch.ones(3)),
        lambda m: m.weights.__setitem__(0, torch.zeros(3)),
    ],
    "a chain appended to": [
        lambda m: m.chain.append(nn.Linear(3, 3)),
        lambda m: m.chain.__delitem__(0),
    ],
    "a plain list": [lambda m: m.plain.__setitem__(0, nn.Tanh()), lambda m: m.plain.clear()],
    "emptied": [lambda m: setattr(m, "parts", nn.ModuleList()), lambda m: m.named.clear()],
}
for _name, _changes in LISTED.items():
    CASES[f"modules: a list {_name}"] = lambda changes=_changes: changing(Listed().eval(), *changes)


@case
def modules_whose_weight_is_replaced() -> Made:
    return changed(lambda m: setattr(m.first, "weight", nn.Parameter(torch.ones(3, 3))))


@case
def modules_whose_weight_is_written() -> Made:
    return changed(lambda m: m.first.weight.data.mul_(2), lambda m: m.first.bias.detach().zero_())


@case
def modules_whose_weights_are_tied() -> Made:
    return changed(lambda m: setattr(m.second, "weight", m.first.weight))


@case
def modules_whose_parts_are_swapped() -> Made:
    return changed(
        lambda m: setattr(m, "first", nn.Identity()), lambda m: setattr(m, "second", nn.Tanh())
    )


@case
def modules_that_are_hooked() -> Made:
    return changed(
        lambda m: m.first.register_forward_hook(lambda _m, _x, y: y * 2),
        lambda m: m.second.register_forward_pre_hook(lambda _m, x: (x[0] + 1,)),
        lambda m: m.first._forward_hooks.clear(),
    )


@case
def modules_with_a_hook_of_all() -> Made:
    handles: list[Any] = []
    hook = nn.modules.module.register_module_forward_hook
    return changed(
        lambda _m: handles.append(hook(lambda _m, _x, y: y + 1)), lambda _m: handles[0].remove()
    )


@case
def modules_in_training() -> Made:
    return changed(
        lambda m: (m.train(), torch.manual_seed(5)), lambda m: m.eval(), lambda m: m.drop.train()
    )


@case
def modules_of_another_dtype() -> Made:
    return changed(lambda m: m.double(), lambda m: m.float())


@case
def modules_without_a_bias() -> Made:
    return changed(lambda m: setattr(m.first, "bias", None))


@case
def modules_with_another_forward() -> Made:
    return changed(lambda m: setattr(m.first, "forward", lambda x: x * 3))


@case
def modules_that_are_loaded() -> Made:
    return changed(lambda m: m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()}))


@case
def modules_that_are_frozen() -> Made:
    return changed(lambda m: m.requires_grad_(False), lambda m: m.requires_grad_(True))


@case
def modules_that_are_copied() -> Made:
    def swap(module: Layer) -> None:
        module.first = copy.deepcopy(module.second)
        module.first.weight.data.add_(1)

    return changed(swap)


@case
def buffers_that_count() -> Made:
    module = Layer().eval()

    def program(x: Any) -> Any:
        module.seen += x.sum(0)
        module.seen = module.seen * 2
        return module.seen

    return program, each(grid())


@case
def buffers_that_are_replaced_in_a_call() -> Made:
    module = Layer().eval()

    def program(x: Any) -> Any:
        old = module.seen
        module.seen = x[0] + 1
        return old, module.seen

    return program, each(grid())


@case
def caches_that_grow() -> Made:
    kept: list[Any] = []

    def program(x: Any) -> Any:
        kept.append(x * 2)
        return torch.cat(kept, 0), len(kept)

    return program, each(grid())
