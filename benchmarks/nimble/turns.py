"""Contenders that take turns on the same inputs, and are compared."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Contenders = dict[str, Callable[[int], Any]]  # each gives the result for the input of that number


def in_turns(ways: Contenders, lengths: list[int], rounds: int = 3) -> dict[str, float]:
    """Return microseconds per token of each contender, the median over the inputs.

    Of each input the least of the rounds behind the first counts. The results have to agree.
    """
    times: dict[str, list[float]] = {name: [] for name in ways}
    with torch.inference_mode():
        for k, length in enumerate(lengths):
            results: list[Any] = []
            least = dict.fromkeys(ways, float("inf"))
            for again in range(rounds + 1):
                for name, run in ways.items():
                    begin = time.perf_counter()
                    result = run(k)
                    took = time.perf_counter() - begin
                    if again:
                        least[name] = min(least[name], took)
                    else:
                        results.append(np.asarray(result))
            for name, result in zip(ways, results, strict=True):
                np.testing.assert_allclose(result, results[0], 1e-3, 1e-4, err_msg=name)
                times[name].append(least[name] * 1e6 / length)
    return {name: statistics.median(of) for name, of in times.items()}
