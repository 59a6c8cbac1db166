"""Signals and series: filters, transforms, peaks."""

from __future__ import annotations

import cmath
import math

import numpy as np
from benchmarks.scripts.program import script


@script(3000, 60, lambda r, n: (r.normal(size=n), [0.2, 0.3, 0.2], [0.5, -0.2]))
def biquad(x, b, a):
    y = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for n in range(len(x)):
        y[n] = b[0] * x[n] + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2
        x2, x1 = x1, x[n]
        y2, y1 = y1, y[n]
    return y


@script(64, 6, lambda r, n: (r.normal(size=n).tolist(),))
def slow_fourier(samples):
    n = len(samples)
    spectrum = []
    for k in range(n):
        total = 0j
        for t, x in enumerate(samples):
            total += x * cmath.exp(-2j * math.pi * k * t / n)
        spectrum.append(abs(total))
    return spectrum


@script(8000, 80, lambda r, n: (r.normal(size=n).cumsum(),))
def peaks(signal):
    found, last = [], -10
    for k in range(1, len(signal) - 1):
        if signal[k] > signal[k - 1] and signal[k] >= signal[k + 1] and k - last > 5:
            found.append(k)
            last = k
    return found


@script(3000, 60, lambda r, n: (r.normal(size=n).cumsum(), 0.01, 0.5))
def kalman(measured, process, noise):
    estimate, spread = measured[0], 1.0
    out = np.empty_like(measured)
    for k, z in enumerate(measured):
        spread += process
        gain = spread / (spread + noise)
        estimate += gain * (z - estimate)
        spread *= 1 - gain
        out[k] = estimate
    return out
