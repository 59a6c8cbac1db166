"""The shapes that are timed: drawn from a seed, the same on every run."""

from __future__ import annotations

import numpy as np

# (k, n) of layers as models have them.
LAYERS = ((768, 768), (768, 3072), (3072, 768), (1024, 1024), (4096, 1024), (1024, 4096))
RANDOM_SHAPES = 60


def logarithmic(rng: np.random.Generator, low: int, high: int) -> int:
    """Return a size from low to high, as many small ones as large ones."""
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def random_products(count: int, seed: int, largest: int) -> list[tuple[int, int, int]]:
    """Return m, k, n: any m up to `largest`; k and n of a layer or, one in four, any odd sizes."""
    rng = np.random.default_rng(seed)
    shapes = []
    for i in range(count):
        m = logarithmic(rng, 1, largest)
        if i % 4 == 3:
            k, n = (2 * int(rng.integers(50, 1000)) + 1 for _ in range(2))
        else:
            k, n = LAYERS[int(rng.integers(len(LAYERS)))]
        shapes.append((m, k, n))
    return shapes


def normal(rng: np.random.Generator, *shape: int, dtype: str = "f32") -> np.ndarray:
    """Return values around 0; bf16 as uint16, the upper halves of as many f32."""
    values = rng.standard_normal(shape, np.float32)
    if dtype == "bf16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype({"f32": np.float32, "f64": np.float64}[dtype])
