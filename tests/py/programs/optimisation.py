"""Optimisation: descent, root finding, projections, clustering, search."""

import numpy as np

from programs.registry import Keywords, Program
from programs.shapes import in_turn, laid_out, lengths, sizes


def fit_line(a, b, rate=0.1, steps=20, momentum=0.9):
    """Solve least squares by gradient descent with momentum; return solution, losses, residual."""
    x = np.zeros(a.shape[1])
    velocity = np.zeros_like(x)
    losses = []
    scale = rate / max(len(a), 1)
    for step in range(steps):
        residual = a @ x - b
        losses.append(0.5 * float((residual * residual).mean()))
        gradient = a.T @ residual
        velocity *= momentum
        velocity -= scale * gradient
        x += velocity
        if step == steps // 2:
            velocity[:] = 0
    return x, losses, residual


def fit_line_cases(rng):
    for rows, columns in sizes(rng, 2, 30):
        a = rng.normal(size=(rows, columns)) / np.sqrt(max(columns, 1))
        yield a, a @ rng.normal(size=columns) + 0.1 * rng.normal(size=rows)


def newton_roots(values, order=2, tolerance=1e-10):
    """Take the n-th root of every element at once by Newton's method; count the iterations."""
    guess = np.maximum(values, 1.0)
    iterations = 0
    while iterations < 100:
        power = guess ** (order - 1)
        update = (guess * power - values) / (order * power)
        guess = guess - update
        iterations += 1
        if np.all(np.abs(update) <= tolerance * guess):
            break
    return guess, iterations


def newton_roots_cases(rng):
    for index, n in enumerate(lengths(rng)):
        largest = (4.0, 50.0, 1000.0)[index % 3]
        yield rng.uniform(0.2, largest, n), 2 + index % 2


def conjugate_gradient(matrix, b, tolerance=1e-8):
    """Solve a symmetric system; stop when the residual is small, at the latest after six steps."""
    x = np.zeros_like(b)
    r = b - matrix @ x
    p = r.copy()
    squared = r @ r
    taken = 0
    for _ in range(6):
        if squared <= tolerance**2:
            break
        ap = matrix @ p
        alpha = squared / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        previous, squared = squared, r @ r
        p = r + (squared / previous) * p
        taken += 1
    return x, np.sqrt(squared), taken


def conjugate_gradient_cases(rng):
    for index, n in enumerate(lengths(rng, 20)):
        # As many distinct eigenvalues as steps are needed.
        values = 1.0 + np.arange(n) % (1 + index % 4)
        q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        yield (q * values) @ q.T, rng.normal(size=n)


class Adam:
    """Keeps two moments per parameter and moves the parameters in place."""

    def __init__(self, parameters, rate=0.05, betas=(0.9, 0.999)):
        self.parameters = parameters
        self.rate = rate
        self.betas = betas
        self.moments = [(np.zeros_like(p), np.zeros_like(p)) for p in parameters]
        self.steps = 0

    def step(self, gradients, clip=None):
        self.steps += 1
        beta1, beta2 = self.betas
        if clip is not None:
            norm = np.sqrt(sum([float((g * g).sum()) for g in gradients]))
            gradients = [g * min(1.0, clip / (norm + 1e-12)) for g in gradients]
        for p, g, (m, v) in zip(self.parameters, gradients, self.moments, strict=True):
            m *= beta1
            m += (1 - beta1) * g
            v *= beta2
            v += (1 - beta2) * g * g
            unbiased = m / (1 - beta1**self.steps)
            p -= self.rate * unbiased / (np.sqrt(v / (1 - beta2**self.steps)) + 1e-8)


def regress(weights, bias, x, y, clip=None):
    """Fit a logistic regression with a fresh Adam for four steps, weights and bias in place."""
    optimizer = Adam([weights, bias])
    for _ in range(4):
        z = (x * weights).sum(axis=1) + bias
        p = 1.0 / (1.0 + np.exp(-z))
        error = (p - y) / max(len(y), 1)
        optimizer.step([(error[:, None] * x).sum(axis=0), error.sum(keepdims=True)], clip)
    accuracy = np.mean((p > 0.5) == (y > 0.5)) if len(y) else None
    return optimizer, accuracy


def regress_cases(rng):
    for index, (rows, columns) in enumerate(sizes(rng, 2, 40)):
        x = rng.normal(size=(rows, columns))
        y = (x.sum(axis=1) > 0).astype(np.float64)
        clip = Keywords(clip=0.01) if index % 2 else Keywords()
        yield rng.normal(size=columns), np.zeros(1), x, y, clip


def project_to_simplex(points, total=1.0):
    """Project each row to the simplex: nothing negative, and a given sum."""
    n = points.shape[-1]
    ordered = -np.sort(-points, axis=-1)
    excess = np.cumsum(ordered, axis=-1) - total
    ranks = np.arange(1, n + 1)
    support = np.count_nonzero(ordered * ranks > excess, axis=-1, keepdims=True)
    threshold = np.take_along_axis(excess, support - 1, axis=-1) / support
    projected = np.maximum(points - threshold, 0.0)
    return projected, support[..., 0], np.abs(projected.sum(axis=-1) - total).max(initial=0)


def project_to_simplex_cases(rng):
    layout = in_turn("c", "fortran", "reversed")
    for shape in sizes(rng, 2, 30):
        yield laid_out(rng.normal(size=shape), next(layout)), float(rng.uniform(0.5, 2))


def k_means(points, centers, rounds=4):
    """Move the centers, in place, to the means of the points nearest to them; label the points."""
    k = len(centers)
    inertia = []
    for _ in range(rounds):
        offset = points[:, None, :] - centers[None, :, :]
        distance = (offset**2).sum(axis=2)
        labels = distance.argmin(axis=1)
        inertia.append(distance.min(axis=1).sum())
        member = labels[:, None] == np.arange(k)
        counts = member.sum(axis=0)
        totals = (member[:, :, None] * points[:, None, :]).sum(axis=0)
        filled = counts > 0
        np.divide(totals, counts[:, None], out=centers, where=filled[:, None])
    order = np.argsort(-counts, kind="stable")
    return labels, counts, order, np.diff(inertia)


def k_means_cases(rng):
    for n, k, dimensions in sizes(rng, 3, 12):
        yield rng.normal(size=(n * 4, dimensions)), rng.normal(size=(k, dimensions))


PROGRAMS = [
    Program(fit_line, fit_line_cases, captures=1),
    # one for each number of iterations that occurs
    Program(newton_roots, newton_roots_cases, captures=8, rolled=1),
    # one for each number of steps that occurs
    Program(
        conjugate_gradient,
        conjugate_gradient_cases,
        captures=5,
        rolled=1,
        scale=1.0,
    ),
    # clipped or not; no samples, no accuracy
    Program(regress, regress_cases, captures=4),
    Program(
        project_to_simplex,
        project_to_simplex_cases,
        captures=3,
        opaque=frozenset({"sort"}),
        scale=10.0,
    ),
    Program(k_means, k_means_cases, captures=1, opaque=frozenset({"argsort"}), scale=100.0),
]
