"""A function of a few lines, to try `python -m dvm explain` and the other commands on."""

import numpy as np


def normalise(x, weight):
    centered = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centered * centered, axis=-1, keepdims=True)
    return centered / np.sqrt(variance + 1e-5) * weight
