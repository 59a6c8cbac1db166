"""dvm behind torch.compile: `torch.compile(model, backend="dvm")`.

    compiled = torch.compile(model, backend="dvm", dynamic=True)
    compiled = dvm.torch.compile(model)    # the same, and still the module that it was
    compiled = dvm.compile(model)    # captured by dvm itself where that can be
    dvm.explain(compiled)(x)         # which graphs ran, what of them is compiled, library, fallback
    dvm.profile(compiled)(x)         # what a call of them takes, on the cpu or simulated AI Cores
    dvm.torch.profile(train)(x)      # of whatever calls what is compiled
    dvm.torch.report()               # all graphs of the process

Needs the extra `torch`: pip install '.[torch]'. docs/torch.md has more.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dvm.torch.backend import Options
    from dvm.torch.profiled import profile
    from dvm.torch.reports import GraphRecord, Report, explain, report
    from dvm.torch.traced import compile

#: Where what is offered here lies. It comes with Dynamo, whose import takes seconds, when it is
#: asked for: what tensors mean to dvm's own capture does without.
_PLACES = {
    "Options": "backend",
    "compile": "traced",
    "profile": "profiled",
    **dict.fromkeys(("GraphRecord", "Report", "explain", "report"), "reports"),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)


__all__ = ["GraphRecord", "Options", "Report", "compile", "explain", "profile", "report"]
