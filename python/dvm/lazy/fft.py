"""The extension `fft` of the standard: NumPy's functions."""

from __future__ import annotations

import numpy as np

from dvm.lazy.door import through_numpy

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

fft = through_numpy(np.fft.fft)
fftn = through_numpy(np.fft.fftn)
fftshift = through_numpy(np.fft.fftshift)
hfft = through_numpy(np.fft.hfft)
ifft = through_numpy(np.fft.ifft)
ifftn = through_numpy(np.fft.ifftn)
ifftshift = through_numpy(np.fft.ifftshift)
ihfft = through_numpy(np.fft.ihfft)
irfft = through_numpy(np.fft.irfft)
irfftn = through_numpy(np.fft.irfftn)
rfft = through_numpy(np.fft.rfft)
rfftn = through_numpy(np.fft.rfftn)


@through_numpy
def fftfreq(n: int, /, *, d: float = 1.0, dtype: object = None, device: object = None) -> object:
    """Return the frequencies of the elements of a transform."""
    made = np.fft.fftfreq(n, d, device=device)  # type: ignore[call-overload]
    return made if dtype is None else made.astype(dtype)


@through_numpy
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: object = None, device: object = None) -> object:
    """Return the frequencies of the elements of a transform of real numbers."""
    made = np.fft.rfftfreq(n, d, device=device)  # type: ignore[call-overload]
    return made if dtype is None else made.astype(dtype)
