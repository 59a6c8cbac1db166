"""Memory of what a call makes for itself: one block for sizes met before, gone with the call."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm

# Products, sums and rows by index: each leaves temporaries to the next.
TEXT = """graph v1 {
  %0 = input f32[rows, n]
  %1 = input f32[n, n]
  %2 = input i64[picked]
  %3 = matmul(%0, %1) f32[rows, n]
  %4 = gather(%3, %2) f32[picked, n] {axes = [0]}
  %5 = sum(%4) f32[1, n] {axes = [0]}
  %6 = broadcast(%5) f32[picked, n]
  %7 = add(%4, %6) f32[picked, n]
  %8 = matmul(%7, %1) f32[picked, n]
  return %8, %4
}"""
MIB = 1 << 20


def arguments(rows: int, n: int, picked: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.arange(rows * n, dtype=np.float32).reshape(rows, n) % 5
    return x, np.eye(n, dtype=np.float32)[::-1].copy(), np.arange(picked) * 7 % rows


def expected(x: np.ndarray, w: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = (x @ w)[at]
    return (rows + rows.sum(axis=0)) @ w, rows


def check(compiled, given: tuple[np.ndarray, ...]) -> None:
    for ours, numpys in zip(compiled(*given), expected(*given), strict=True):
        np.testing.assert_array_equal(ours, numpys)


@settings(deadline=None, max_examples=40)
@given(
    sizes=st.lists(
        st.tuples(st.integers(1, 60), st.integers(1, 40), st.integers(1, 80)),
        min_size=1,
        max_size=4,
    ),
    order=st.lists(st.integers(0, 3), min_size=1, max_size=12),
)
def test_sizes_that_change_and_come_again(sizes, order):
    compiled = dvm.CompiledGraph(TEXT)
    calls = [arguments(*some) for some in sizes]
    for k in order:
        check(compiled, calls[k % len(calls)])


def test_results_are_never_in_the_block():
    compiled = dvm.CompiledGraph(TEXT)
    given = arguments(300, 64, 500)
    kept = [compiled(*given) for _ in range(4)]
    arrays = [array for results in kept for array in results]
    for k, array in enumerate(arrays):
        assert array.flags.owndata
        assert not any(np.shares_memory(array, other) for other in arrays[:k])
    for results in kept:
        for ours, numpys in zip(results, expected(*given), strict=True):
            np.testing.assert_array_equal(ours, numpys)


def test_memory_is_let_go_of_with_the_call_and_the_results():
    compiled = dvm.CompiledGraph(TEXT)
    given = arguments(3000, 200, 5000)
    before = dvm.stats().used_bytes
    for _ in range(3):
        results = compiled(*given)
        held = sum(array.nbytes for array in results)
        assert dvm.stats().used_bytes <= before + held + 4 * MIB
        del results
        assert dvm.stats().used_bytes == before


def test_an_index_out_of_range_leaves_nothing_behind():
    compiled = dvm.CompiledGraph(TEXT)
    x, w, at = arguments(3000, 200, 5000)
    check(compiled, (x, w, at))
    before = dvm.stats().used_bytes
    for _ in range(2):
        with pytest.raises(dvm.ShapeError):
            compiled(x, w, at + 3000)
        assert dvm.stats().used_bytes == before
        check(compiled, (x, w, at))


def test_threads_have_blocks_of_their_own():
    compiled = dvm.CompiledGraph(TEXT)
    former = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    together = threading.Barrier(3)

    def calls(rows: int) -> None:
        given = arguments(rows, 32, 200)
        together.wait()
        for _ in range(60):
            check(compiled, given)

    try:
        with ThreadPoolExecutor(3) as pool:
            for done in [pool.submit(calls, rows) for rows in (50, 51, 50)]:
                done.result()
    finally:
        sys.setswitchinterval(former)
