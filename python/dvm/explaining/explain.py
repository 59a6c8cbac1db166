"""`dvm.explain`: makes one call of a function and reports everything that happened to it.

The report itself (text, dict, HTML) is in `report`, which is only imported when asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Never

from dvm import _dvm, errors
from dvm.compiling import compile, has_tensors, is_by_torch_compile, is_module


def explain(
    fn: Callable[..., Any], *misplaced: Never, verbose: bool = False, **named: Never
) -> Callable[..., Any]:
    """Return a function that calls `fn` with its arguments and returns a `Report` of the call.

    `fn` is a compiled function, or a plain one, which is compiled for the cpu first. The call is a
    real one: it counts in `fn.stats`, and its exceptions pass through. If a compiled path served
    it, that path is run once more with clocks on. With `verbose` the report prints what the fuser
    decided and how long compilation took; it holds that anyway.

    Calls that torch.compile serves have a report of their own, `dvm.torch.explain`: what it made,
    calls of modules that keep gradients or that dvm does not capture itself.

    Raises:
        TypeError: for arguments of the call, which go to what is returned: `dvm.explain(f)(x)`.
    """
    if misplaced or named:
        raise errors.misplaced("explain")
    if is_by_torch_compile(fn):
        from dvm import torch

        return torch.explain(fn)
    if is_module(fn):
        from dvm.torch.explained import explain_module

        return explain_module(fn, verbose)
    compiled = fn if isinstance(fn, _dvm.Compiled) else compile(fn)

    def explained(*args: Any, **kwargs: Any) -> Any:
        from dvm.explaining.report import explain_call

        if not has_tensors(args, kwargs) or compiled.stats.captures:
            return explain_call(compiled, args, kwargs, verbose=verbose)
        from dvm import torch

        own: list[Any] = []
        run = functools.partial(explain_call, compiled, args, kwargs, verbose=verbose)
        by_torch = torch.explain(lambda: own.append(run()))()
        return by_torch if by_torch.graphs and not compiled.stats.captures else own[0]

    return explained
