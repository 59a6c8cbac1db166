"""Times the cases of one run: contenders made once per Program, checked, and taken in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from benchmarks.peers.contenders import Made
from benchmarks.peers.measure import block, interleaved, seconds_per_call

import dvm

from . import contenders
from .contenders import CONTENDERS
from .figures import Figure
from .limits import Limits
from .programs import Array, Program
from .shapes import random_products

ROUNDS = 3  # of medians; what is left of noise is averaged over many shapes
# How long other threads of a library go on to spin behind a call, OpenBLAS's longest; one alone has
# none. With .03 products of others took up to twice as long behind a call of NumPy's.
PAUSE_SECONDS = 0.1
# Relative to the largest magnitude of a double-precision result.
TOLERANCE = {"f32": 1e-4, "f64": 1e-11, "bf16": 2e-2}

Sample = Callable[[], float]  # seconds of a call


class Bench:
    """One run on `threads` threads.

    quick: a few cases, once each: whether all of it runs, not how fast.
    left_out: what does not take part, and why.
    """

    def __init__(self, threads: int, quick: bool) -> None:
        self.threads, self.quick = threads, quick
        self.figures: list[Figure] = []
        self.notes: dict[str, str] = {}
        self.left_out = contenders.missing()
        if quick:
            self.left_out |= dict.fromkeys(contenders.COMPILED, "takes seconds for each shape")
        self._made: dict[tuple[Program, str], Made] = {}
        self._pause = 0 if quick or threads == 1 else PAUSE_SECONDS
        self.limits: Limits | None = None
        try:
            self.limits = Limits(threads)
        except OSError:
            self.left_out["limits of the machine"] = (
                "benchmarks/cpp/machine_limits.cpp is not built"
            )

    def some(self, cases: Sequence[Any], few: int = 2) -> list[Any]:
        """Return all cases, or a few of them spread over all where it is to be quick."""
        if not self.quick:
            return list(cases)
        return [cases[i * (len(cases) - 1) // max(1, few - 1)] for i in range(few)]

    def products(self, count: int, seed: int, largest: int = 2048) -> list[tuple[int, int, int]]:
        """Return random shapes of products; where it is to be quick a few, of few rows."""
        return random_products(2, seed, 16) if self.quick else random_products(count, seed, largest)

    def random(self, seed: int) -> np.random.Generator:
        return np.random.default_rng(seed)

    def made(self, program: Program, name: str) -> Made | None:
        """Return a contender's callable, one for all cases; None where it does not take part."""
        if name in self.left_out or not CONTENDERS[name].accepts(program):
            return None
        if (program, name) not in self._made:
            self._made[program, name] = CONTENDERS[name].make(program)
        return self._made[program, name]

    def sample(self, call: Callable[..., Any], arrays: Sequence[Any]) -> Sample:
        if self.quick:
            return partial(_once, call, arrays)
        return partial(block, call, list(arrays), self._pause)

    def check(self, program: Program, arrays: Sequence[Array], results: dict[str, Any]) -> None:
        """Compare results with the same program in double precision."""
        wide = (contenders.as_double(program, array) for array in arrays)
        self.check_against(program, program.numpy(*wide), results)

    def check_against(self, program: Program, expected: Array, results: dict[str, Any]) -> None:
        scale = np.max(np.abs(expected), initial=np.finfo(np.float64).tiny)
        for name, result in results.items():
            difference = np.abs(contenders.as_array(program, result) - expected)
            error = np.max(difference, initial=0) / scale
            if not error <= TOLERANCE[program.dtype]:
                raise AssertionError(f"{name} computes {program.name} with an error of {error:.1e}")

    def samples(
        self, program: Program, arrays: Sequence[Array], names: Sequence[str]
    ) -> dict[str, Sample]:
        """Return the contenders that can run the program; each was called once and checked."""
        samples, results = {}, {}
        for name in names:
            made = self.made(program, name)
            if made is None:
                continue
            call, convert = made
            given = [convert(array) for array in arrays]
            results[name] = call(*given)
            samples[name] = self.sample(call, given)
        self.check(program, arrays, results)
        return samples

    def frozen_samples(self, program: Program, arrays: Sequence[Array]) -> dict[str, Sample]:
        """Return dvm and onnxruntime with all operands but the first made known beforehand."""
        weights, made = arrays[1:], {}
        call, _ = contenders.make_dvm(program)
        made["dvm frozen"] = call, [arrays[0], *map(dvm.freeze, weights)]
        if "onnxruntime" not in self.left_out:
            made["onnxruntime frozen"] = (
                contenders.make_onnxruntime(program, weights)[0],
                list(arrays[:1]),
            )
        self.check(program, arrays, {name: call(*given) for name, (call, given) in made.items()})
        return {name: self.sample(call, given) for name, (call, given) in made.items()}

    def time(
        self, section: str, group: str, case: str, samples: dict[str, Sample]
    ) -> dict[str, float]:
        """Keep the median of each in microseconds, print them, and return them in seconds."""
        medians = interleaved(samples, 1 if self.quick else ROUNDS)
        for name, seconds in medians.items():
            self.keep(section, group, case, name, seconds * 1e6)
        text = "  ".join(f"{name} {seconds * 1e6:.1f}" for name, seconds in medians.items())
        print(f"{section:9} {group:15} {case:24} {self.threads}T  {text}", flush=True)
        return medians

    def keep(self, section: str, group: str, case: str, name: str, value: float) -> None:
        self.figures.append(Figure(section, group, case, self.threads, name, float(value)))

    def note(self, section: str, case: str, text: str) -> None:
        """Keep what there is to say of a case."""
        self.notes[f"{section} {case} {self.threads}"] = text


def _once(call: Callable[..., Any], arrays: Sequence[Any]) -> float:
    return seconds_per_call(call, list(arrays), 0)
