"""What a region of tiles takes, guessed from those of it that were measured: a Gaussian process."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.tuning.space import Point

Array = np.ndarray[Any, np.dtype[np.float64]]

#: how far measured tiles tell of others, in lengths of the space; the likeliest is taken
REACHES = (0.1, 0.2, 0.4, 0.8)
NOISE = 1e-4  # what is measured is smooth but for steps of whole tiles


class Surrogate:
    """Fitted to points and what was measured there; draws what other points may take.

    By scikit-learn's GaussianProcessRegressor (Matern 5/2).
    """

    def __init__(self, points: list[Point], values: list[float]) -> None:
        """values: the logarithms of times. ImportError, with what to install."""
        try:
            from sklearn.gaussian_process import GaussianProcessRegressor
            from sklearn.gaussian_process.kernels import Matern
        except ImportError as missing:
            raise ImportError(
                "tuning guesses by scikit-learn, which is not there: pip install scikit-learn"
            ) from missing
        fitted = [
            GaussianProcessRegressor(
                Matern(reach, nu=2.5), alpha=NOISE, optimizer=None, normalize_y=True
            ).fit(np.stack(points), np.array(values))
            for reach in REACHES
        ]
        self._likeliest = max(fitted, key=lambda model: model.log_marginal_likelihood_value_)

    def draw(self, points: list[Point], random: np.random.Generator) -> Array:
        """Return one function of those that what was measured allows, at the points."""
        seed = int(random.integers(1 << 31))
        drawn: Array = self._likeliest.sample_y(np.stack(points), random_state=seed)
        return drawn[:, 0]


__all__ = ["Surrogate"]
