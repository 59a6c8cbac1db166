"""Captured models over many calls: no memory that grows, threads that share one and run on."""

from __future__ import annotations

import gc
import threading
import time

import torch
from torch import nn

import dvm
from torch_native.cases import Layer, grid

CALLS = 5000


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * 4096


def model_of(width: int) -> nn.Module:
    torch.manual_seed(0)
    layers = (
        nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)) for _ in range(4)
    )
    return nn.Sequential(*layers).eval()


def test_memory_stays_as_it_is_over_thousands_of_calls() -> None:
    """Of another number of rows in each call, whose results are kept for a while."""
    model = model_of(64)
    buffer = torch.zeros(64)

    def program(x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = model(x)
        buffer.add_(y.sum(0))
        return y if y.sum() > 0 else -y

    compiled = dvm.compile(program)
    kept: list[torch.Tensor] = []
    sizes: list[int] = []
    with torch.no_grad(), dvm.stance("force_capture"):
        for call in range(CALLS + CALLS // 5):
            kept = [*kept[-8:], compiled(torch.ones(1 + call % 37, 64) * (-1) ** call)]
            if call % (CALLS // 5) == CALLS // 5 - 1:
                gc.collect()
                sizes.append(resident_bytes())
    assert compiled.stats.hits > CALLS
    assert sizes[-1] - sizes[0] < 1 << 20, sizes  # bytes, behind a fifth to warm up


def test_threads_share_a_program() -> None:
    module = Layer().eval()
    compiled = dvm.compile(lambda x: module(x) + x.sum())
    wrong: list[int] = []

    def work(rows: int) -> None:
        with torch.no_grad():
            for turn in range(200):
                x = grid(rows + turn % 3)
                if not torch.allclose(compiled(x), module(x) + x.sum(), 1e-4, 1e-5):
                    wrong.append(rows)

    threads = [threading.Thread(target=work, args=(rows,)) for rows in (1, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert compiled.stats.hits > 300


def test_threads_change_what_a_program_reads() -> None:
    """One calls, the other replaces a weight: each result is of one of the weights."""
    module = nn.Linear(3, 3, bias=False).eval()
    compiled = dvm.compile(lambda x: module(x) * 2)
    weights = [nn.Parameter(torch.eye(3) * factor, requires_grad=False) for factor in (1, 5)]
    module.weight = weights[0]
    ended = threading.Event()

    def replace() -> None:
        turn = 0
        while not ended.is_set():
            turn += 1
            module.weight = weights[turn % 2]

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        with torch.no_grad(), dvm.stance("force_capture"):
            for _ in range(500):
                made = compiled(torch.ones(2, 3))
                assert made.unique().tolist() in ([2.0], [10.0])
    finally:
        ended.set()
        thread.join()


def test_others_run_while_a_model_does() -> None:
    """A thread that counts gets far in the time of a few long calls, on one processor, too."""
    model = model_of(512)
    compiled = dvm.compile(lambda x: model(x))
    x = torch.ones(512, 512)
    counts: list[float] = []
    ended = threading.Event()

    def count() -> None:
        while not ended.is_set():
            counts.append(time.perf_counter())
            time.sleep(0.0005)

    with torch.no_grad(), dvm.stance("force_capture"):
        for _ in range(3):
            compiled(x)
        assert compiled.stats.hits == 2
        thread = threading.Thread(target=count)
        thread.start()
        while not counts:
            time.sleep(0.001)
        for _ in range(5):
            begin = time.perf_counter()
            compiled(x)
            end = time.perf_counter()
            within = sum(begin < at < end for at in counts)
            counts.clear()
            if within >= 3:
                break
        ended.set()
        thread.join()
    assert within >= 3, f"{within} turns of another thread in {end - begin:.3f} s"
