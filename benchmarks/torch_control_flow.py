"""Control flow of PyTorch programs, captured: what all calls of one program cost together.

    python -m benchmarks.torch_control_flow [--only NAMES]

Each program is called once with each of its inputs, at sizes that it has not seen before. Columns:
calls; milliseconds of thread time that all of them take in eager torch, and captured, captures
among them; captures, and how many of them there may be; calls that ran uncompiled. Exits with 1 if
a result is another one, a call ran uncompiled, or there are more captures.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

import dvm

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "py"))
from torch_native.families import FAMILIES, Calls, Family, Scan
from torch_native.more_families import MORE

LENGTHS = (16, 5, 33, 64, 12, 100, 7, 48)
COLUMNS = "{:28}{:>8}{:>12}{:>12}{:>12}{:>12}"


class Mamba(nn.Module):
    """That of transformers, whose layers go from token to token in Python."""

    def __init__(self) -> None:
        super().__init__()
        config = transformers.MambaConfig(vocab_size=200, hidden_size=64, num_hidden_layers=4)
        self.model = transformers.MambaModel(config)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.model(words, use_cache=False).last_hidden_state
        return made


def tokens() -> Calls:
    return [(torch.randint(0, 200, (1, length)),) for length in LENGTHS]


PROGRAMS = {
    "LSTM, lengths 1 to 200": FAMILIES["LSTM as a loop"],
    "while on a value": MORE["until nothing changes"],
    "early exit of 4 layers": FAMILIES["early exit"],
    "scan, 8 lengths": Family(Scan, lambda: [(torch.randn(1, n, 8),) for n in LENGTHS], 2),
    "Mamba, 8 lengths": Family(Mamba, tokens, 2),
}


def timed(program: Callable[..., Any], calls: Calls) -> tuple[float, list[Any]]:
    """Milliseconds of thread time, and the results."""
    begin = time.thread_time()
    made = [program(*given) for given in calls]
    return 1e3 * (time.thread_time() - begin), made


def run(name: str, family: Family) -> bool:
    """Print a row; whether it is as it should be."""
    torch.manual_seed(0)
    module, calls = family.make().eval(), family.calls()
    module(*calls[0])  # what the process does once is nobody's
    eager, wanted = timed(module, calls)
    compiled = dvm.compile(lambda *given: module(*given))
    captured, made = timed(compiled, calls)
    torch.testing.assert_close(made, wanted, rtol=1e-4, atol=1e-5)
    stats = compiled.stats
    captures = f"{stats.captures} of {family.captures}"
    times = f"{eager:.0f}", f"{captured:.0f}"
    print(COLUMNS.format(name, len(calls), *times, captures, stats.fallbacks), flush=True)
    return stats.captures <= family.captures and not stats.fallbacks


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help="beginnings of rows, with commas between")
    only = parser.parse_args().only
    torch.set_num_threads(1)
    print(COLUMNS.format("", "calls", "eager ms", "captured", "captures", "fallbacks"))
    with torch.no_grad(), dvm.stance("force_capture"):
        right = [
            run(name, family)
            for name, family in PROGRAMS.items()
            if only is None or any(name.startswith(each) for each in only.split(","))
        ]
    sys.exit(not all(right))


if __name__ == "__main__":
    main()
