"""`dvm.explain` of modules."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch

from dvm import reasons
from dvm.compiling import compile
from dvm.explaining.report import explain_call
from dvm.stances import stance
from dvm.torch import modules, reports


def explain_module(module: torch.nn.Module, verbose: bool) -> Callable[..., Any]:
    """See `dvm.explain`; one that is not compiled yet is compiled for the cpu."""
    if not isinstance(module, modules.CompiledModule):
        module = compile(module)
    if isinstance(module.call, modules.Captured):
        return _explain_captured(module.call, verbose)
    return reports.explain(module)


def _explain_captured(call: modules.Captured, verbose: bool) -> Callable[..., Any]:
    def explained(*args: Any, **kwargs: Any) -> Any:
        if call.goes_through_torch(args, kwargs):
            with stance("force_capture"):
                report = reports.explain(call)(*args, **kwargs)
            return dataclasses.replace(report, why=str(reasons.GRADIENTS()))
        own: list[Any] = []

        def run() -> None:
            found_out = call.finding_out() if call.keeps_gradients(args, kwargs) else nullcontext()
            with found_out:
                own.append(explain_call(call.compiled, args, kwargs, verbose=verbose))

        report = reports.explain(run)()
        if own[0].outcome != "split":
            return own[0]
        return dataclasses.replace(report, why=own[0].paths[own[0].path]["reason"])

    return explained
