"""Programs with loops as people write them, each with arguments for a size and a trip count.

A program is `rolled` where all trip counts are the same few captures; the others only have to be
right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Random = np.random.Generator
Make = Callable[[Random, int, int], tuple[Any, ...]]


@dataclass(frozen=True)
class Program:
    """A function, its arguments for (random, size, count), and the captures that it may take."""

    function: Callable[..., Any]
    make: Make
    captures: int | None  # None: any number


PROGRAMS: dict[str, Program] = {}


def program(make: Make, captures: int | None = None) -> Callable[[Any], Any]:
    """Register a program."""

    def register(function: Any) -> Any:
        PROGRAMS[function.__name__] = Program(function, make, captures)
        return function

    return register


def vector_and_count(r: Random, n: int, k: int) -> tuple[Any, ...]:
    return r.random(n), r.random(n), k


def matrix_and_vector(r: Random, n: int, k: int) -> tuple[Any, ...]:
    return r.random((k, n)), r.random(n)


def square(r: Random, n: int, k: int) -> tuple[Any, ...]:
    a = r.random((k, k))
    return (a @ a.T + k * np.eye(k),)


def square_and_vector(r: Random, n: int, k: int) -> tuple[Any, ...]:
    return (*square(r, n, k), r.random(k))


# ---- values that are carried


@program(vector_and_count, 2)
def recurrence(x, a, n):
    for _ in range(n):
        x = x * 0.5 + a
    return x


@program(vector_and_count, 2)
def gradient_descent(x, a, n):
    rate = 0.1
    for _ in range(n):
        gradient = 2 * (x - a)
        x = x - rate * gradient
    return x


@program(vector_and_count, 2)
def momentum(x, a, n):
    v = np.zeros_like(x)
    for _ in range(n):
        v = 0.9 * v - 0.1 * (x - a)
        x = x + v
    return x, v


@program(vector_and_count, 2)
def runge_kutta(x, a, n):
    h = 0.01
    for i in range(n):
        t = i * h
        k1 = -a * x + t
        k2 = -a * (x + h / 2 * k1) + t + h / 2
        k3 = -a * (x + h / 2 * k2) + t + h / 2
        k4 = -a * (x + h * k3) + t + h
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


@program(vector_and_count, 2)
def counts_along(x, a, n):
    total = 0
    for i in range(1, n + 1):
        total = total + i
        x = x + a / i
    return x, total


@program(vector_and_count, 3)
def fibonacci(x, a, n):
    for _ in range(n):
        x, a = a, x + a
    return x, a


@program(matrix_and_vector, 2)
def sum_of_rows(A, x):
    for i in range(A.shape[0]):
        x = x + A[i]
    return x


@program(matrix_and_vector, 2)
def recurrent_cell(A, h):
    for row in A:
        h = np.tanh(row + 0.5 * h)
    return h


@program(matrix_and_vector, 2)
def horner(A, x):
    y = np.zeros_like(x)
    for c in A:
        y = y * x + c
    return y


@program(matrix_and_vector, 2)
def numbered_rows(A, x):
    for i, row in enumerate(A):
        x = x * 0.9 + row * i
    return x


@program(matrix_and_vector, 2)
def pairs_of_rows(A, x):
    for a, b in zip(A, A[::-1]):
        x = x + a * b
    return x


@program(square_and_vector, 2)
def power_iteration(A, x):
    for _ in range(len(x)):
        y = A @ x
        x = y / np.sqrt((y * y).sum())
    return x


@program(square_and_vector, 2)
def conjugate_gradients(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r
    rs = r @ r
    for _ in range(len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
    return x


@program(lambda r, n, k: (r.random((k, 3)), r.random((3, 3)), r.random((3, 3)), r.random(3)), 2)
def hidden_markov_forward(E, T, P, p):
    a = p
    for e in E:
        a = (a @ T) * e
        a = a / a.sum()
    return a


@program(lambda r, n, k: (r.random((k, 2)), np.eye(2), np.eye(2), r.random((2, 2))), 2)
def kalman(Z, F, H, P):
    x = np.zeros(2)
    for z in Z:
        x = F @ x
        P = F @ P @ F.T + 0.1
        S = H @ P @ H.T + np.eye(2)
        K = P @ H.T / S
        x = x + K @ (z - H @ x)
        P = (np.eye(2) - K @ H) @ P
    return x, P


@program(lambda r, n, k: (r.random((n, 2)), k), 2)
def n_body(x, n):
    v = np.zeros_like(x)
    for _ in range(n):
        d = x[:, None, :] - x[None, :, :]
        far = (d * d).sum(axis=2) + 0.1
        v = v - 0.01 * (d / far[:, :, None]).sum(axis=1)
        x = x + v * 0.01
    return x, v


# ---- until something holds


@program(lambda r, n, k: (r.random(n) * 2.0**k + 1.0,), 3)
def while_large(x):
    while x.max() > 1:
        x = np.sqrt(x) * 0.5
    return x


@program(lambda r, n, k: (r.random(n) + 0.1, k), 5)
def newton(a, n):
    x = a
    k = 0
    while k < n and abs(x * x - a).max() > 1e-12:
        x = 0.5 * (x + a / x)
        k += 1
    return x, k


@program(lambda r, n, k: (r.random(n) * 2.0**k, 0.3), 4)
def break_when_small(x, eps):
    for _ in range(100):
        x = x / 2
        if x.max() < eps:
            break
    else:
        x = -x
    return x


@program(lambda r, n, k: (0.0, float(k) + 1.0), 4)
def bisection(lo, hi):
    while hi - lo > 1e-6:
        mid = (lo + hi) / 2
        if mid * mid < 2.0:
            lo = mid
        else:
            hi = mid
    return lo


@program(lambda r, n, k: (r.random((4, 4)), r.random(4), k), 4)
def page_rank(A, x, n):
    A = A / A.sum(axis=0)
    x = x / x.sum()
    for _ in range(n):
        y = 0.85 * (A @ x) + 0.15 / len(x)
        change = np.abs(y - x).sum()
        x = y
        if change < 1e-3:
            break
    return x


@program(lambda r, n, k: (r.random(n) - 0.5, k), 4)
def mandelbrot(c, n):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.int64)
    for _ in range(n):
        z = z * z + c
        count = count + (np.abs(z) < 2)
    return z, count


# ---- writes


@program(lambda r, n, k: (r.random(n + 2), k), 3)
def heat_with_copies(u, n):
    u = u.copy()
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@program(lambda r, n, k: (r.random(n + 2), k), 3)
def heat_in_place(u, n):
    for _ in range(n):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@program(lambda r, n, k: (r.random(n + 2), k), 4)
def swapped_buffers(u, n):
    a, b = u.copy(), u.copy()
    for _ in range(n):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a, b = b, a
    return a


@program(lambda r, n, k: (r.random(n + 2), r.random(n + 2), k), 4)
def swapped_arguments(a, b, n):
    for _ in range(n):
        b[1:-1] = a[:-2] + a[2:]
        a, b = b, a
    return a, b


@program(lambda r, n, k: (r.random((n + 2, n + 3)), k), 3)
def laplace(u, n):
    u = u.copy()
    for _ in range(n):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


@program(lambda r, n, k: (r.random(n + 2), np.zeros(n + 1), k), 3)
def fdtd(e, h, n):
    for _ in range(n):
        h += 0.5 * (e[1:] - e[:-1])
        e[1:-1] += 0.5 * (h[1:] - h[:-1])
    return e


@program(lambda r, n, k: (r.random((k, n)),), 3)
def fill_rows(A):
    out = np.zeros_like(A)
    for i in range(A.shape[0]):
        out[i] = A[i] * i
    return out


@program(lambda r, n, k: (r.random((k, n)),), 3)
def running_sums(A):
    for i in range(1, A.shape[0]):
        A[i] += A[i - 1]
    return A


@program(square, 3)
def mirror(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i, n):
            A[j, i] = A[i, j] * 2
    return A


@program(square, 4)
def cholesky(A):
    n = A.shape[0]
    L = np.zeros_like(A)
    for j in range(n):
        s = A[j, j] - (L[j, :j] * L[j, :j]).sum()
        L[j, j] = np.sqrt(s)
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return L


@program(square, 4)
def elimination(A):
    A = A.copy()
    n = A.shape[0]
    for k in range(n - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k : k + 1] * A[k : k + 1, k + 1 :]
    return A


@program(square_and_vector, 4)
def forward_substitution(A, b):
    n = len(b)
    x = np.zeros_like(b)
    for i in range(n):
        x[i] = (b[i] - A[i, :i] @ x[:i]) / A[i, i]
    return x


@program(square, 3)
def floyd_warshall(D):
    for k in range(D.shape[0]):
        D = np.minimum(D, D[:, k : k + 1] + D[k : k + 1, :])
    return D


@program(square, 4)
def gram_schmidt(A):
    Q = A.copy()
    for j in range(Q.shape[1]):
        for i in range(j):
            Q[:, j] -= (Q[:, i] @ Q[:, j]) * Q[:, i]
        Q[:, j] /= np.sqrt(Q[:, j] @ Q[:, j])
    return Q


@program(lambda r, n, k: (r.integers(1, 9, k), r.random(k), n + 8), 4)
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for i in range(len(weights)):
        w = int(weights[i])
        best[w:] = np.maximum(best[w:], best[: capacity + 1 - w] + values[i])
    return best


@program(lambda r, n, k: ((r.random((n + 3, n + 4)) > 0.5).astype(np.int64), k), 3)
def game_of_life(g, n):
    for _ in range(n):
        s = sum(np.roll(g, d, a) for d, a in ((1, 0), (-1, 0), (1, 1), (-1, 1)))
        g = ((s == 3) | ((g == 1) & (s == 2))).astype(np.int64)
    return g


# ---- scalars


@program(lambda r, n, k: (r.random(k),))
def largest_gap(x):
    best = 0.0
    for i in range(1, len(x)):
        gap = abs(x[i] - x[i - 1])
        if gap > best:
            best = gap
    return best


@program(lambda r, n, k: (r.integers(0, 256, k),))
def checksum(data):
    crc = 0
    for b in data:
        crc = (crc * 31 + int(b)) % 65521
    return crc


@program(lambda r, n, k: (r.random(k),))
def gauss_seidel(b):
    x = np.zeros(len(b) + 2)
    for _ in range(3):
        for i in range(1, len(x) - 1):
            x[i] = 0.5 * (x[i - 1] + x[i + 1] + b[i - 1])
    return x


# ---- containers


@program(lambda r, n, k: (r.random(n), k))
def history(x, n):
    out = []
    for _ in range(n):
        x = x * 0.5
        out.append(x)
    return out


@program(lambda r, n, k: (r.random(n), k))
def stacked(x, n):
    out = []
    for i in range(n):
        out.append(x * i)
    return np.array(out)


@program(lambda r, n, k: ([r.random(n) for _ in range(k)], r.random(n)), 3)
def over_a_list(xs, y):
    for x in xs:
        y = y + x
    return y


@program(lambda r, n, k: (r.random(n), k))
def comprehension(x, n):
    return sum([x * i for i in range(n)])
