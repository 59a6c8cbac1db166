"""Thirty kernels as they are published for NumPy: solvers, stencils, dynamic programs, products.

Each is a function, what its arguments are at a size, and three sizes at which a plain call takes
1 to 10 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Random = np.random.Generator


class Kernel(NamedTuple):
    function: Callable[..., Any]
    make: Callable[[Random, int], tuple[Any, ...]]
    sizes: tuple[int, ...]


KERNELS: dict[str, Kernel] = {}


def kernel(*sizes: int, make: Callable[[Random, int], tuple[Any, ...]]) -> Any:
    return lambda function: KERNELS.update({function.__name__: Kernel(function, make, sizes)})


def square(r: Random, n: int) -> Any:
    return r.random((n, n))


def dominant(r: Random, n: int) -> Any:
    """A symmetric matrix that every solver can do."""
    a = r.random((n, n))
    return a @ a.T + n * np.eye(n)


@kernel(12, 18, 26, make=lambda r, n: (square(r, n), n // 4))
def adi(u, steps):
    v, p, q = np.ones_like(u), np.zeros_like(u), np.zeros_like(u)
    for _ in range(steps):
        for x, y in ((u, v), (v, u)):
            q[:, 0] = y[0, :]
            for j in range(1, len(u) - 1):
                p[1:-1, j] = 0.3 / (1.6 - 0.3 * p[1:-1, j - 1])
                near = 0.2 * x[j, :-2] + 0.6 * x[j, 1:-1] + 0.2 * x[j, 2:]
                q[1:-1, j] = (near + 0.3 * q[1:-1, j - 1]) / (1.6 - 0.3 * p[1:-1, j - 1])
            for j in range(len(u) - 2, 0, -1):
                y[j, 1:-1] = p[1:-1, j] * y[j + 1, 1:-1] + q[1:-1, j]
    return u


@kernel(21, 41, 61, make=lambda r, n: (*(0 * r.random((3, n, n))), 4))
def cavity_flow(u, v, p, steps):
    d = 2.0 / (len(u) - 1)
    for _ in range(steps):
        b = (u[1:-1, 2:] - u[1:-1, :-2] + v[2:, 1:-1] - v[:-2, 1:-1]) / (0.002 * d)
        for _ in range(10):
            near = p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]
            p[1:-1, 1:-1] = near / 4 - d * d / 4 * b
            p[:, -1], p[0, :], p[:, 0], p[-1, :] = p[:, -2], p[1, :], p[:, 1], 0
        u[1:-1, 1:-1] -= u[1:-1, 1:-1] * (u[1:-1, 1:-1] - u[1:-1, :-2]) * 0.001 / d
        v[1:-1, 1:-1] -= v[1:-1, 1:-1] * (v[1:-1, 1:-1] - v[:-2, 1:-1]) * 0.001 / d
        u[1:-1, 1:-1] -= 0.0005 / d * (p[1:-1, 2:] - p[1:-1, :-2])
        v[1:-1, 1:-1] -= 0.0005 / d * (p[2:, 1:-1] - p[:-2, 1:-1])
        u[0, :], u[:, 0], u[:, -1], u[-1, :] = 0, 0, 0, 1
    return u, v, p


@kernel(36, 55, 80, make=lambda r, n: (dominant(r, n),))
def cholesky(a):
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))
    return a


@kernel(24, 34, 48, make=lambda r, n: (dominant(r, n),))
def lu(a):
    for i in range(len(a)):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, len(a)):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


@kernel(220, 400, 600, make=lambda r, n: (r.random((n, n // 2)),))
def covariance(data):
    data -= np.mean(data, axis=0)
    cov = np.zeros((data.shape[1], data.shape[1]))
    for i in range(data.shape[1]):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (len(data) - 1.0)
    return cov


@kernel(500, 1200, 2400, make=lambda r, n: (r.random((n, 100)),))
def correlation(data):
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data = (data - np.mean(data, axis=0)) / (np.sqrt(len(data)) * stddev)
    corr = np.eye(data.shape[1])
    for i in range(data.shape[1] - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


@kernel(60, 120, 250, make=lambda r, n: (r.random((n, n)),))
def deriche(x):
    y1, y2 = 0.35 * x, np.zeros_like(x)
    for j in range(2, x.shape[1]):
        y1[:, j] = 0.3 * x[:, j] + 0.1 * x[:, j - 1] + 0.6 * y1[:, j - 1] - 0.1 * y1[:, j - 2]
    for j in range(x.shape[1] - 3, -1, -1):
        y2[:, j] = 0.3 * x[:, j + 1] - 0.2 * x[:, j + 2] + 0.6 * y2[:, j + 1]
    return y1 + y2


@kernel(220, 420, 800, make=lambda r, n: (r.random(n) / n,))
def durbin(r):
    y = np.empty_like(r)
    alpha, beta, y[0] = -r[0], 1.0, -r[0]
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@kernel(40, 80, 120, make=lambda r, n: (*r.random((3, n, n)), 40))
def fdtd(ex, ey, hz, steps):
    for t in range(steps):
        ey[0, :] = t
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return hz


@kernel(24, 38, 50, make=lambda r, n: (r.random((n + 20, n)),))
def gram_schmidt(a):
    q, upper = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        upper[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / upper[k, k]
        for j in range(k + 1, a.shape[1]):
            upper[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * upper[k, j]
    return q, upper


@kernel(10, 16, 24, make=lambda r, n: (r.random((n, n, n)), r.random((n, n, n)), 12))
def heat_3d(a, b, steps):
    for _ in range(steps):
        for x, y in ((a, b), (b, a)):
            mid = x[1:-1, 1:-1, 1:-1]
            near = x[2:, 1:-1, 1:-1] + x[:-2, 1:-1, 1:-1] + x[1:-1, 2:, 1:-1] + x[1:-1, :-2, 1:-1]
            near = near + x[1:-1, 1:-1, 2:] + x[1:-1, 1:-1, :-2]
            y[1:-1, 1:-1, 1:-1] = 0.125 * (near - 6.0 * mid) + mid
    return a


@kernel(1000, 5000, 15000, make=lambda r, n: (r.random(n), r.random(n), 150))
def jacobi_1d(a, b, steps):
    for _ in range(steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a


@kernel(30, 60, 100, make=lambda r, n: (square(r, n), square(r, n), 60))
def jacobi_2d(a, b, steps):
    for _ in range(steps):
        near = a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        b[1:-1, 1:-1] = 0.2 * (near + a[2:, 1:-1] + a[:-2, 1:-1])
        near = b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:]
        a[1:-1, 1:-1] = 0.2 * (near + b[2:, 1:-1] + b[:-2, 1:-1])
    return a


@kernel(50, 80, 110, make=lambda r, n: (r.random((n, 1)), r.random((n, 3)), r.random((n, 3)), 10))
def n_body(mass, pos, vel, steps):
    for _ in range(steps):
        dx, dy, dz = (pos[:, k : k + 1].T - pos[:, k : k + 1] for k in range(3))
        inverse = (dx**2 + dy**2 + dz**2 + 0.01) ** (-1.5)
        vel += 0.01 * np.hstack(
            ((dx * inverse) @ mass, (dy * inverse) @ mass, (dz * inverse) @ mass)
        )
        pos += 0.01 * vel
    return pos, 0.5 * np.sum(mass * vel**2)


@kernel(18, 24, 31, make=lambda r, n: (r.integers(0, 4, n),))
def nussinov(seq):
    table = np.zeros((len(seq), len(seq)), np.int64)
    for i in range(len(seq) - 1, -1, -1):
        for j in range(i + 1, len(seq)):
            table[i, j] = max(table[i, j - 1], table[i + 1, j])
            pair = int(seq[i] + seq[j] == 3) if i < j - 1 else 0
            table[i, j] = max(table[i, j], table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@kernel(16, 24, 32, make=lambda r, n: (1.5, 1.2, square(r, n), square(r, n), square(r, n)))
def symm(alpha, beta, c, a, b):
    c *= beta
    for i in range(len(c)):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            c[i, j] += alpha * (b[:i, j] @ a[i, :i] + b[i, j] * a[i, i])
    return c


@kernel(30, 45, 60, make=lambda r, n: (1.5, square(r, n), square(r, n)))
def trmm(alpha, a, b):
    for i in range(len(b)):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    b *= alpha
    return b


@kernel(40, 70, 100, make=lambda r, n: tuple(r.random((5, n, n, 12))))
def vadv(utens, u_stage, wcon, u_pos, utens_stage):
    ccol, dcol = np.zeros_like(u_stage), np.zeros_like(u_stage)
    for k in range(1, u_stage.shape[2]):
        gav = 0.2 * wcon[:, :, k]
        dcol[:, :, k] = 0.15 * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k]
        dcol[:, :, k] -= 0.4 * gav * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        dcol[:, :, k] -= dcol[:, :, k - 1] * gav * 0.4
        under = 2.15 - 0.4 * gav - ccol[:, :, k - 1] * gav * 0.4
        ccol[:, :, k] = gav * 0.3 / under
        dcol[:, :, k] /= under
    data = dcol[:, :, -1].copy()
    for k in range(u_stage.shape[2] - 1, -1, -1):
        data = dcol[:, :, k] - ccol[:, :, k] * data
        utens_stage[:, :, k] = 0.15 * (data - u_pos[:, :, k])
    return utens_stage


@kernel(15, 22, 32, make=lambda r, n: (r.random((2, n, n, 3)), r.random((3, 3, 3, 8))))
def conv2d(image, weights):
    k, h, w = len(weights), image.shape[1] - len(weights) + 1, image.shape[2] - len(weights) + 1
    out = np.empty((len(image), h, w, weights.shape[3]))
    for i in range(h):
        for j in range(w):
            part = image[:, i : i + k, j : j + k, :, np.newaxis]
            out[:, i, j, :] = np.sum(part * weights[np.newaxis], axis=(1, 2, 3))
    return out


@kernel(13, 14, 16, make=lambda r, n: (1j * r.random(2**n), n))
def stockham_fft(y, k):
    for i in range(k):
        z = y.reshape(2, len(y) // 2 ** (i + 1), 2**i)
        odd = z[1] * np.exp(-2j * np.pi * np.arange(2**i) / 2 ** (i + 1))
        y = np.stack((z[0] + odd, z[0] - odd), axis=1).reshape(len(y))
    return y


@kernel(28, 50, 80, make=lambda r, n: (r.random((3, n, n)) + 1j * r.random((3, n, n)), 16))
def contour_integral(matrices, points):
    n, p0 = matrices.shape[1], np.zeros(matrices.shape[1:], complex)
    for k in range(points):
        z = 2.0 * np.exp(2j * np.pi * (k + 0.5) / points)
        total = 3 * n * np.eye(n, dtype=complex)
        for power in range(len(matrices)):
            total += z ** (power - 1) * matrices[power]
        p0 += z * np.linalg.inv(total)
    return p0


@kernel(900, 2500, 6000, make=lambda r, n: (r.integers(0, 256, n, np.uint8),))
def crc16(data):
    crc = 0xFFFF
    for byte in data:
        b = 0xFF & int(byte)
        for _ in range(8):
            crc = (crc >> 1) ^ 0x8408 if (crc & 1) ^ (b & 1) else crc >> 1
            b >>= 1
    return crc


@kernel(80, 130, 220, make=lambda r, n: (r.random(n) * 3 - 2.25, r.random(n) * 2.5 - 1.25, 30))
def mandelbrot(x, y, steps):
    c = x + y[:, None] * 1j
    count, z = np.zeros(c.shape, np.int64), np.zeros(c.shape, np.complex128)
    for k in range(steps):
        inside = np.less(abs(z), 2.0)
        count[inside] = k
        z[inside] = z[inside] ** 2 + c[inside]
    return z, count


@kernel(
    100, 300, 700, make=lambda r, n: (r.random((n, 200)) - 0.5, *(r.random((3, 200, 200)) - 0.5))
)
def mlp(x, w1, w2, w3):
    for w in (w1, w2):
        x = np.maximum(x @ w + 0.1, 0)
    x = x @ w3
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@kernel(1300, 1600, 2100, make=lambda r, n: (square(r, n), r.random(n), r.random(n)))
def bicg(a, p, r):
    return r @ a, a @ p


@kernel(1300, 1600, 2100, make=lambda r, n: (square(r, n), r.random(n)))
def atax(a, x):
    return (a @ x) @ a


@kernel(600, 800, 1000, make=lambda r, n: (1.5, 1.2, square(r, n), *r.random((8, n))))
def gemver(alpha, beta, a, u1, v1, u2, v2, w, x, y, z):
    a += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ a + z
    w += alpha * a @ x
    return w


@kernel(80, 120, 200, make=lambda r, n: (1.5, 1.2, square(r, n), r.random((n, n // 2))))
def syrk(alpha, beta, c, a):
    for i in range(len(a)):
        c[i, : i + 1] *= beta
        for k in range(0, a.shape[1], 8):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c


@kernel(75, 120, 180, make=lambda r, n: (r.integers(1, 100, (n, n)),))
def floyd_warshall(path):
    for k in range(len(path)):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))
    return path


@kernel(35, 55, 80, make=lambda r, n: (square(r, n), 2))
def seidel_2d(a, steps):
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            near = a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:]
            a[i, 1:-1] += near + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            for j in range(1, len(a) - 1):
                a[i, j] = (a[i, j] + a[i, j - 1]) / 9.0
    return a
