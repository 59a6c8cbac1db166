"""Training loops as people write them, which run an eager module and a compiled one alike.

What the loops have in common is `train`; a `Recipe` says what one does besides.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint

from torch_door import models

Batch = tuple[torch.Tensor, ...]
Compile = Callable[[nn.Module], nn.Module]


@dataclass(frozen=True)
class Recipe:
    """What a loop does besides steps.

    micro: how many batches make a step.
    clipped: to what norm gradients are clipped; 0: they are not.
    checkpoint: "" or where torch.utils.checkpoint is: "within" the compiled module, "around" it.
    averages: whether a shadow of the module follows its weights, and is what is validated.
    schedule: whether the rate changes from step to step.
    to_none: whether gradients are set to None between steps, or to zero.
    validates: every how many steps it is evaluated, under no_grad; 0: never.
    dropout: of transformers.
    """

    micro: int = 1
    clipped: float = 0
    checkpoint: str = ""
    averages: bool = False
    schedule: bool = False
    to_none: bool = True
    validates: int = 0
    dropout: float = 0


RECIPES = {
    "plain": Recipe(),
    "clipped": Recipe(clipped=0.1),
    "accumulated": Recipe(micro=3),
    "checkpoints within": Recipe(checkpoint="within"),
    "checkpoints around": Recipe(checkpoint="around"),
    "averaged": Recipe(averages=True, validates=5),
    "scheduled": Recipe(schedule=True),
    "gradients of zero": Recipe(to_none=False),
    "validated": Recipe(validates=3),
    "dropout": Recipe(dropout=0.2),
    "dropout, checkpoints": Recipe(dropout=0.2, checkpoint="within"),
    "dropout, checkpoints around": Recipe(dropout=0.2, checkpoint="around"),
    "all": Recipe(2, 0.5, "within", True, True, False, 3, 0.1),
}

OPTIMISERS: dict[str, Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, 0.02, momentum=0.9, nesterov=True),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, 0.005, weight_decay=0.05),
    "AdamW of many": lambda parameters: torch.optim.AdamW(parameters, 0.005, foreach=True),
}


class Checkpointed(nn.Module):
    """Keeps of what it computes only what it was given."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *given: torch.Tensor) -> Any:
        return checkpoint(self.inner, *given, use_reentrant=False)


class Dropping(nn.Module):
    def __init__(self, inner: nn.Module, share: float) -> None:
        super().__init__()
        self.inner, self.dropout = inner, nn.Dropout(share)

    def forward(self, *given: torch.Tensor) -> Any:
        return self.dropout(self.inner(*given))


def model(name: str, recipe: Recipe) -> nn.Module:
    """A model of that name, drawn from the same seed each time."""
    torch.manual_seed(1)
    made = models.MODELS[name][0]()
    if name not in models.TRANSFORMERS:
        made = Dropping(made, recipe.dropout) if recipe.dropout else made
        return Checkpointed(made) if recipe.checkpoint == "within" else made
    for each in made.modules():
        if isinstance(each, nn.Dropout):
            each.p = recipe.dropout
        for attribute in ("dropout_prob", "attn_dropout", "attention_dropout"):
            if isinstance(getattr(each, attribute, None), float):
                setattr(each, attribute, recipe.dropout)
    if recipe.checkpoint == "within":
        made.gradient_checkpointing_enable({"use_reentrant": False})
    return made


def batches(name: str, count: int) -> list[Batch]:
    """Batches of which each has another size and length than the one before."""
    torch.manual_seed(2)
    return [models.MODELS[name][1](2 + k % 4, 4 + 3 * k % 5) for k in range(count)]


@dataclass
class Trained:
    """losses: of each micro-batch. valid: what validation had. state: of all there is behind it."""

    losses: list[float] = field(default_factory=list)
    valid: list[torch.Tensor] = field(default_factory=list)
    state: dict[str, torch.Tensor | None] = field(default_factory=dict)


def train(
    name: str,
    recipe: Recipe,
    optimiser: str,
    data: list[Batch],
    dtype: torch.dtype,
    compile: Compile,
    moved: float = 0,
) -> tuple[Trained, nn.Module]:
    """What comes of a loop over the batches, and the compiled module.

    moved: by what share of themselves the weights are others at first, each by its own.
    """
    module = model(name, recipe).to(dtype)
    with torch.no_grad():
        torch.manual_seed(round(moved * 1e10))
        for parameter in module.parameters() if moved else ():
            parameter.mul_(1 + moved * torch.randn_like(parameter).clamp(-1, 1))
    compiled = compile(module)
    steps = OPTIMISERS[optimiser](compiled.parameters())
    schedule = (
        torch.optim.lr_scheduler.OneCycleLR(steps, 0.02, len(data)) if recipe.schedule else None
    )
    shadow = (
        AveragedModel(compiled, multi_avg_fn=get_ema_multi_avg_fn(0.8)) if recipe.averages else None
    )
    made = Trained()
    torch.manual_seed(3)
    compiled.train()
    for number, batch in enumerate(data):
        given = [each.to(dtype) if each.is_floating_point() else each for each in batch]
        loss = loss_of(called(compiled, given, recipe)) / recipe.micro
        made.losses.append(loss.item())
        loss.backward()
        if (number + 1) % recipe.micro:
            continue
        if recipe.clipped:
            nn.utils.clip_grad_norm_(compiled.parameters(), recipe.clipped)
        steps.step()
        if schedule is not None:
            schedule.step()
        if shadow is not None:
            shadow.update_parameters(compiled)
        if recipe.validates and number % recipe.validates == 0:
            made.valid.append(validated(compiled if shadow is None else shadow, given))
        if number + 1 < len(data):  # the last gradients are compared
            steps.zero_grad(set_to_none=recipe.to_none)
    made.state = state_of(compiled, steps, shadow)
    return made, compiled


def called(module: nn.Module, given: list[torch.Tensor], recipe: Recipe) -> Any:
    if recipe.checkpoint == "around":
        return checkpoint(module, *given, use_reentrant=False)
    return module(*given)


def loss_of(made: Any) -> torch.Tensor:
    made = made if isinstance(made, torch.Tensor) else made[0]
    wanted = torch.arange(made.numel(), dtype=made.dtype).sin().view_as(made)
    return nn.functional.mse_loss(made, wanted)


def validated(module: nn.Module, given: list[torch.Tensor]) -> torch.Tensor:
    was_training = module.training
    module.eval()
    with torch.no_grad():
        loss = loss_of(module(*given))
    module.train(was_training)
    return loss


def state_of(
    module: nn.Module, steps: torch.optim.Optimizer, shadow: nn.Module | None
) -> dict[str, torch.Tensor | None]:
    state: dict[str, torch.Tensor | None] = dict(copy.deepcopy(module.state_dict()))
    for name, parameter in module.named_parameters():
        state[f"gradient of {name}"] = parameter.grad
        for what, value in steps.state[parameter].items():
            state[f"{what} of {name}"] = value
    if shadow is not None:
        state |= {f"average of {name}": value for name, value in shadow.state_dict().items()}
    return state


__all__ = ["OPTIMISERS", "RECIPES", "Recipe", "Trained", "batches", "train"]
