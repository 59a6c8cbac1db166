"""dvm: a real-time compiler for NumPy programs.

    f = dvm.compile(function)      # an ordinary callable; compiles itself as it is called
    dvm.explain(f)(x, y)           # what happened on a call, and why
    dvm.profile(f)(x, y)           # where its time goes, on simulated cores or this machine
    f.stats, f.inspect("bytecode")
    f.why_recompiled(), f.why_not_fused("mul", "sum")
    dvm.stance(...), dvm.set_logs(...), dvm.annotate(...)
    dvm.freeze(weights)            # arrays that never change, arranged for products once
    dvm.CompiledGraph(text)(x, y)  # a graph that was written down, without capture
    g.save(path), dvm.load(path)   # in a file, to be run elsewhere
    dvm.save(f, path)(x, y)        # what a call of f computes, likewise
    dvm.asarray(numbers)           # a lazy array: no function, computed when a value is needed

Errors of dvm's own are subclasses of `dvm.Error`; exceptions of the compiled program are its own.
"""

from dvm._dvm import Compiled
from dvm._version import __version__
from dvm.annotating import annotate
from dvm.calibration import from_file
from dvm.compiled import Stats
from dvm.compiling import Options, compile
from dvm.errors import (
    CaptureError,
    DtypeError,
    Error,
    FormatError,
    GraphError,
    HostCallError,
    InternalError,
    PassError,
    ShapeError,
    SimulationError,
    UnsupportedError,
)
from dvm.explaining.explain import explain
from dvm.freezing import freeze
from dvm.graphs import CompiledGraph, load
from dvm.lazy import asarray, flush
from dvm.logs import from_environment, set_logs
from dvm.memory import MemoryStats, clear_cache, set_cache_limit, stats
from dvm.profiling.profile import profile
from dvm.saving import save
from dvm.stances import set_stance, stance

from_environment()
from_file()

__all__ = [
    "CaptureError",
    "Compiled",
    "CompiledGraph",
    "DtypeError",
    "Error",
    "FormatError",
    "GraphError",
    "HostCallError",
    "InternalError",
    "MemoryStats",
    "Options",
    "PassError",
    "ShapeError",
    "SimulationError",
    "Stats",
    "UnsupportedError",
    "__version__",
    "annotate",
    "asarray",
    "clear_cache",
    "compile",
    "explain",
    "flush",
    "freeze",
    "lazy",
    "load",
    "profile",
    "save",
    "set_cache_limit",
    "set_logs",
    "set_stance",
    "stance",
    "stats",
]


def load_ipython_extension(shell: object) -> None:
    """Register `%dvm` and `%%dvm`: what `%load_ext dvm` calls."""
    from dvm.ipython import load

    load(shell)  # type: ignore[arg-type]


def __dir__() -> list[str]:
    return __all__
