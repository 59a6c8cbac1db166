"""Halves that are equal cancel: what is subtracted is rounded as what it is subtracted from."""

import numpy as np
import pytest

import dvm

# Of rows whose elements are equal: something computed, so that it need not be rounded.
COMPUTED = {
    "product": lambda x, s: x * s,
    "sum": lambda x, s: x / s + x,
    "root": lambda x, s: np.sqrt(np.abs(x * s)),
    "transposed": lambda x, s: (x.T * s.T).T,
    "sliced": lambda x, s: (x * s)[:, 1:],
}
# What each row would be without any error.
CENTRES = {
    "mean": lambda z: z.mean(1, keepdims=True),
    "function": lambda z: np.mean(z, axis=1)[:, None],
    "view": lambda z: z.T.mean(0)[:, None],
    "average": lambda z: np.average(z, axis=1)[:, None],
    "float": lambda z: z.mean(1, dtype="f4", keepdims=True).astype("f2"),
    "highest": lambda z: z.max(1, keepdims=True),
    "sorted": lambda z: np.sort(z, axis=1)[:, :1],
    "median": lambda z: np.median(z, axis=1)[:, None],
    "element": lambda z: z[:, :1],
    "cast": lambda z: z.astype("f8").astype("f2"),
    "copied": lambda z: z.copy(),
}
SPREADS = {
    "var": lambda z: np.sqrt(z.var(1)),
    "std": lambda z: np.std(z, axis=1),
    "squares": lambda z: np.sqrt(((z - z.mean(1, keepdims=True)) ** 2).mean(1)),
}


def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 9), rng.integers(2, 40)
    x = np.repeat(rng.uniform(0.5, 8, (height, 1)), width, 1).astype("f2")
    return x, rng.uniform(0.5, 8, (height, 1)).astype("f2")


def centred(computed: str, centre: str):
    compute, middle = COMPUTED[computed], CENTRES[centre]

    def f(x, s):
        z = compute(x, s)
        return z - middle(z)

    return f


@pytest.mark.parametrize("computed", COMPUTED)
@pytest.mark.parametrize("centre", CENTRES)
def test_equal_elements_have_no_distance_from_their_centre(computed, centre):
    f = centred(computed, centre)
    compiled = dvm.compile(f)
    for seed in range(6):
        x, s = rows(seed)
        np.testing.assert_array_equal(f(x, s), 0)
        np.testing.assert_array_equal(compiled(x, s), 0)


@pytest.mark.parametrize("computed", COMPUTED)
@pytest.mark.parametrize("spread", SPREADS)
def test_equal_elements_spread_by_what_their_mean_is_rounded_by(computed, spread):
    compute, measure = COMPUTED[computed], SPREADS[spread]
    compiled = dvm.compile(lambda x, s: measure(compute(x, s)))
    for seed in range(6):
        x, s = rows(seed)
        step = np.spacing(compute(x, s).max(1))
        assert (compiled(x, s) <= step).all()
