"""Results of compiled functions live in pooled memory, and are arrays like any other."""

import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

import dvm
from dvm import _dvm

LARGE = 1 << 19  # elements of f32: 2 MiB


@pytest.fixture(autouse=True)
def empty_pool():
    gc.collect()
    dvm.clear_cache()
    yield
    dvm.clear_cache()


def doubled():
    return dvm.compile(lambda x: x + x)


def ready(compiled, x):
    compiled(x)  # captured: the original's own result
    return compiled


def test_a_large_result_owns_pooled_memory() -> None:
    x = np.ones(LARGE, np.float32)
    compiled = ready(doubled(), x)
    before = dvm.stats()
    y = compiled(x)
    assert compiled.stats.hits == 1
    assert y.flags.owndata
    assert y.flags.writeable
    assert y.base is None
    assert dvm.stats().used_bytes - before.used_bytes >= y.nbytes
    np.testing.assert_array_equal(y, x + x)
    del y
    assert dvm.stats().used_bytes == before.used_bytes
    assert dvm.stats().cached_bytes >= x.nbytes


def test_memory_of_a_dead_result_is_used_again() -> None:
    x = np.ones(LARGE, np.float32)
    compiled = ready(doubled(), x)
    address = compiled(x).ctypes.data
    assert compiled(x).ctypes.data == address
    assert dvm.stats().reused >= 1


def test_memory_of_a_living_result_is_not() -> None:
    x = np.ones(LARGE, np.float32)
    compiled = ready(doubled(), x)
    results = [compiled(x * np.float32(i)) for i in range(5)]
    views = [result[1:] for result in results]
    del results
    for i, view in enumerate(views):
        assert (view == 2 * i).all()


def test_small_results_are_not_pooled() -> None:
    x = np.ones(1000, np.float32)
    compiled = ready(doubled(), x)
    before = dvm.stats().taken
    compiled(x)
    assert dvm.stats().taken == before


@pytest.mark.parametrize("shape", [(LARGE // 2,), (LARGE * 3,), (4, LARGE)])
def test_a_result_can_be_resized_in_place(shape) -> None:
    x = np.arange(LARGE, dtype=np.float32)
    compiled = ready(doubled(), x)
    y = compiled(x)
    y.resize(shape, refcheck=False)
    flat = y.reshape(-1)
    n = min(flat.size, x.size)
    np.testing.assert_array_equal(flat[:n], 2 * x[:n])
    assert (flat[n:] == 0).all()


def test_a_reshaped_result_takes_the_memory_over() -> None:
    x = np.arange(2.0 * LARGE, dtype=np.float32)
    compiled = ready(dvm.compile(lambda x: (x * x).reshape(2, -1).copy()), x)
    y = compiled(x)
    assert y.flags.owndata
    np.testing.assert_array_equal(y, (x * x).reshape(2, -1))
    used = dvm.stats().used_bytes
    del y
    assert dvm.stats().used_bytes < used


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.argmax(x, axis=1),
        lambda x: np.argmin(x, axis=0),
        lambda x: np.bitwise_or.reduce(x, axis=0),
        lambda x: np.subtract.reduce(x, axis=1),
        lambda x: np.maximum.accumulate(x, axis=0),
        lambda x: x.sum(axis=0),
    ],
)
def test_what_an_axis_was_dropped_of_owns_its_memory_without_a_copy(program) -> None:
    x = np.arange(35).reshape(5, 7) % 11
    compiled = ready(dvm.compile(program), x)
    y = compiled(x)
    assert compiled.stats.hits == 1
    assert y.flags.owndata
    np.testing.assert_array_equal(y, program(x))
    (path,) = _dvm.paths(compiled)
    assert "call" not in path["steps"]


def test_results_are_copied_pickled_and_collected_like_others() -> None:
    x = np.ones(LARGE, np.float32)
    compiled = ready(doubled(), x)
    y = compiled(x)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(y)), y)
    np.testing.assert_array_equal(y.copy(), y)
    holder = {"y": y}
    holder["self"] = holder
    del y, holder
    gc.collect()
    assert dvm.stats().used_bytes == 0


def test_the_limit_is_kept() -> None:
    x = np.ones(LARGE, np.float32)
    compiled = ready(doubled(), x)
    former = dvm.set_cache_limit(0)
    try:
        compiled(x)
        assert dvm.stats().cached_bytes == 0
        assert dvm.stats().cache_limit == 0
    finally:
        assert dvm.set_cache_limit(former) == 0
    compiled(x)
    assert dvm.stats().cached_bytes > 0
    dvm.clear_cache()
    assert dvm.stats().cached_bytes == 0


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="a cache limit is a number of bytes, not -1"):
        dvm.set_cache_limit(-1)


@pytest.mark.captures
def test_results_outlive_the_interpreter_quietly() -> None:
    program = (
        "import dvm, numpy as np, builtins\n"
        "f = dvm.compile(lambda x: x + x)\n"
        "x = np.ones(1 << 20)\n"
        "f(x); builtins.kept = f(x)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
