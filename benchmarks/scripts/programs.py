"""All of them."""

from benchmarks.scripts import (  # noqa: F401
    finance,
    graphs,
    grids,
    learning,
    matrices,
    monte_carlo,
    signals,
    simulations,
    strings,
    texts,
)
from benchmarks.scripts.program import SCRIPTS, Script

__all__ = ["SCRIPTS", "Script"]
