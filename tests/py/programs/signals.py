"""Signals: filters, transforms, envelopes, features of frames."""

import math

import numpy as np

from programs.registry import Program
from programs.shapes import in_turn, laid_out, lengths, sizes


def windowed_spectrum(x, rate):
    """Return the frequencies and the power spectrum in decibels of a Hann-windowed signal."""
    n = len(x)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / max(n - 1, 1))
    spectrum = np.fft.rfft(x * window)
    power = np.abs(spectrum) ** 2 / n
    power[1:] *= 2
    decibels = 10 * np.log10(np.maximum(power, 1e-12))
    frequencies = np.arange(len(power)) * (rate / n)
    return frequencies, decibels - decibels.max()


def windowed_spectrum_cases(rng):
    for n in lengths(rng, 300):
        yield rng.normal(size=n), float(rng.integers(8, 48) * 1000)


def fir_filter(x, taps, gain=1.0):
    """Convolve with a few taps, causally, starting from silence."""
    order = len(taps) - 1
    padded = np.concatenate([np.zeros(order, x.dtype), x])
    y = np.zeros_like(x)
    for k, tap in enumerate(taps):
        start = order - k
        y += tap * padded[start : start + len(x)]
    if gain != 1.0:
        y *= gain
    return y


def fir_filter_cases(rng):
    layout = in_turn("c", "strided", "reversed")
    for index, n in enumerate(lengths(rng)):
        x = rng.normal(size=n).astype(np.float32)
        taps = [float(t) for t in rng.normal(size=5)]
        yield laid_out(x, next(layout)), taps, (1.0, 0.5, 2.0)[index // 3 % 3]


def smooth_channels(frames, alpha):
    """Run a one-pole low-pass over eight frames of many channels; return the trace and the end."""
    state = np.zeros_like(frames[0])
    trace = []
    for frame in frames:
        state = alpha * frame + (1 - alpha) * state
        trace.append(state)
    energy = sum([(y * y).sum() for y in trace])
    return np.array(trace), state, energy / max(frames.size, 1)


def smooth_channels_cases(rng):
    layout = in_turn("c", "strided")
    for n in lengths(rng):
        yield laid_out(rng.normal(size=(8, n)), next(layout)), float(rng.uniform(0.1, 0.9))


def haar_transform(x, levels=3):
    """Split a signal into a coarse part and details, coarsest last."""
    details = []
    approximation = x
    for _ in range(levels):
        n = approximation.size - approximation.size % 2
        even, odd = approximation[:n:2], approximation[1:n:2]
        details.append((even - odd) / math.sqrt(2))
        approximation = (even + odd) / math.sqrt(2)
    return approximation, details


def haar_transform_cases(rng):
    for n in lengths(rng):
        yield (rng.normal(size=n),)


def frame_features(frames, threshold=0.1):
    """Describe each frame: energy, crossings of zero, peak, and whether it is voiced."""
    n = frames.shape[1]
    energy = np.sum(frames**2, axis=1) / n
    crossings = np.count_nonzero(np.diff(np.signbit(frames), axis=1), axis=1)
    peak = np.abs(frames).max(axis=1, initial=0.0)
    crest = np.divide(peak, np.sqrt(energy), out=np.zeros_like(peak), where=energy > 0)
    voiced = (energy > threshold) & (crossings < n // 2)
    features = np.column_stack([energy, crossings, crest])
    return features, voiced, f"{np.count_nonzero(voiced)} of {len(frames)} voiced"


def frame_features_cases(rng):
    layout = in_turn("c", "fortran", "reversed")
    for shape in sizes(rng, 2, 50):
        yield laid_out(rng.normal(scale=0.5, size=shape), next(layout)), float(rng.uniform(0, 0.5))


def normalize_peak(audio, target=0.9):
    """Remove the offset of each channel and scale the loudest peak to the target, in place."""
    audio -= audio.mean(axis=-1, keepdims=True)
    peak = np.abs(audio).max(initial=0)
    if peak < 1e-6:
        return audio, 0.0
    gain = target / float(peak)
    audio *= gain
    if gain > 1.0:
        np.clip(audio, -1.0, 1.0, out=audio)
    return audio, gain


def normalize_peak_cases(rng):
    for index, (channels, n) in enumerate(sizes(rng, 2, 100)):
        loudness = (0.0, 0.1, 5.0)[index % 3]
        yield ((rng.uniform(-1, 1, (channels, n)) * loudness).astype(np.float32),)


PROGRAMS = [
    Program(
        windowed_spectrum,
        windowed_spectrum_cases,
        captures=1,
        # complex arrays are not compiled
        opaque=frozenset({"rfft", "absolute"}),
        scale=10.0,
    ),
    # two memory orders, and gain is 1 or not; the value of gain and taps is no matter
    Program(fir_filter, fir_filter_cases, captures=4),
    Program(smooth_channels, smooth_channels_cases, captures=2),
    Program(haar_transform, haar_transform_cases, captures=1, exact=True),
    Program(frame_features, frame_features_cases, captures=3),
    # silent, amplified, attenuated
    Program(normalize_peak, normalize_peak_cases, captures=3, single=True),
]
