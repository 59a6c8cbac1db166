"""dvm behind torch.compile: `torch.compile(model, backend="dvm")`.

    compiled = torch.compile(model, backend="dvm", dynamic=True)
    compiled = dvm.compile(model)    # the same, and still the module that it was
    dvm.explain(compiled)(x)         # which graphs ran, what of them is compiled, library, fallback
    dvm.profile(compiled)(x)         # what a call of them takes, on the cpu or simulated AI Cores
    dvm.torch.profile(train)(x)      # of whatever calls what is compiled
    dvm.torch.report()               # all graphs of the process

Needs the extra `torch`: pip install '.[torch]'. docs/torch.md has more.
"""

from dvm.torch.backend import Options
from dvm.torch.modules import compile
from dvm.torch.profiled import profile
from dvm.torch.reports import GraphRecord, Report, explain, report

__all__ = ["GraphRecord", "Options", "Report", "compile", "explain", "profile", "report"]
