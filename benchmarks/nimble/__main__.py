"""Tables 1 to 3 of the paper Nimble: microseconds per token, on sentences of 4 to 60 words.

    python -m benchmarks.nimble [--sentences 40] [--inductor] [--json FILE] [--plot FILE]

One thread, all contenders in turns in one process. torch.compile unrolls the loops of the LSTM for
each length, which takes minutes: it is there with --inductor.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from . import sequences, trees

TABLES = ("LSTM, 1 layer", "LSTM, 2 layers", "Tree-LSTM", "BERT")


def plot(path: Path, found: dict[str, dict[str, float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(found), figsize=(3 * len(found), 3), layout="constrained")
    for axis, (name, row) in zip(np.atleast_1d(axes), found.items(), strict=True):
        axis.bar(list(row), list(row.values()))
        axis.set_title(name)
        axis.set_ylabel("us per token")
        axis.tick_params(axis="x", rotation=45)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=40)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=TABLES)
    parser.add_argument("--inductor", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lengths = np.random.default_rng(0).integers(4, 61, options.sentences).tolist()
    found: dict[str, dict[str, float]] = {}
    for name in options.tables:
        if name == "Tree-LSTM":
            found[name] = trees.table(lengths)
        else:
            found[name] = sequences.table(name, lengths, options.inductor)
        cells = "".join(f"  {way} {time:.1f}" for way, time in found[name].items())
        print(f"{name:16}{cells}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    if options.plot:
        plot(options.plot, found)


if __name__ == "__main__":
    main()
