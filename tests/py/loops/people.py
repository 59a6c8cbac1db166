"""Loops as people write them: programs of some milliseconds, each with what it is called with.

`make(number)` gives the arguments of a call, new ones each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.kernel_programs import KERNELS

PROGRAMS: list[Callable[..., Any]] = []


def called_with(make: Callable[[int], tuple[Any, ...]]) -> Callable[..., Any]:
    def note(program: Callable[..., Any]) -> Callable[..., Any]:
        program.make = make  # type: ignore[attr-defined]
        PROGRAMS.append(program)
        return program

    return note


def rng(number: int) -> np.random.Generator:
    return np.random.default_rng(number)


# ---- attributes in a loop


class Controller:
    def __init__(self, gain):
        self.gain, self.total, self.last, self.steps = gain, 0.0, 0.0, 0

    def step(self, wanted, found):
        error = wanted - found
        self.total += error * 0.01
        slope = (error - self.last) / 0.01
        self.last = error
        self.steps += 1
        return self.gain * error + 0.1 * self.total + 0.001 * slope


@called_with(lambda number: (Controller(1.5 + number), 3000))
def controlled(controller, count):
    x = 0.0
    for _ in range(count):
        x = x + 0.01 * controller.step(1.0, x)
    return x, controller.steps


class Walker:
    def __init__(self, n):
        self.x, self.y, self.path = 0.0, 0.0, np.zeros((n, 2))

    def run(self, headings):
        for k in range(len(headings)):
            self.x = self.x + np.cos(headings[k])
            self.y = self.y + np.sin(headings[k])
            self.path[k, 0] = self.x
            self.path[k, 1] = self.y
        return self.path


@called_with(lambda number: (Walker(1000), rng(number).uniform(0, 6.0, 1000)))
def walked(walker, headings):
    return walker.run(headings).sum(axis=0), walker.x


# ---- draws from a Generator


@called_with(lambda number: (rng(number), 3000))
def estimated_pi(generator, count):
    inside = 0
    for _ in range(count):
        x, y = generator.random(), generator.random()
        if x * x + y * y < 1.0:
            inside += 1
    return 4.0 * inside / count


@called_with(lambda number: (rng(number), 1500))
def metropolis(generator, count):
    x, kept = 0.0, np.empty(count)
    for i in range(count):
        proposed = x + generator.normal(0.0, 1.0)
        if generator.random() < np.exp(0.5 * (x * x - proposed * proposed)):
            x = proposed
        kept[i] = x
    return kept.mean(), kept.std()


# ---- max, min and conditional expressions of elements


BASES = "ACGT"


def text(number: int, length: int) -> str:
    return "".join(BASES[k] for k in rng(number).integers(0, 4, length))


@called_with(lambda number: (text(number, 60), text(number + 100, 60)))
def smith_waterman(a, b, match=3, mismatch=-3, gap=2):
    scores = np.zeros((len(a) + 1, len(b) + 1))
    best = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            diagonal = scores[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
            scores[i, j] = max(0, diagonal, scores[i - 1, j] - gap, scores[i, j - 1] - gap)
            best = max(best, scores[i, j])
    return best, scores


@called_with(lambda number: (rng(number).standard_normal(4000), -0.7, 0.7))
def clamped(x, low, high):
    out = np.empty_like(x)
    for i in range(len(x)):
        v = x[i]
        out[i] = low if v < low else high if v > high else v
    return out


# ---- elements of texts


@called_with(lambda number: (text(number, 20000), text(number + 50, 20000)))
def hamming(a, b):
    differing = 0
    for x, y in zip(a, b):
        if x != y:
            differing += 1
    return differing


@called_with(lambda number: (text(number, 6000), text(number + 50, 6000)))
def hamming_by_place(a, b):
    return sum(1 for i in range(len(a)) if a[i] != b[i])


@called_with(lambda number: (text(number, 20000).encode(),))
def checksum(data):
    a, b = 1, 0
    for byte in data:
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return b << 16 | a


# ---- bits, and elements that a loop within finds written


called_with(lambda number: (rng(number).integers(0, 256, 900, np.uint8),))(
    KERNELS["crc16"].function
)
called_with(lambda number: (rng(number).integers(0, 4, 24),))(KERNELS["nussinov"].function)


# ---- arrays in a loop


@called_with(
    lambda number: (rng(number).standard_normal((40, 3)), np.zeros((40, 3)), np.ones(40), 20)
)
def n_body(positions, velocities, masses, count):
    for _ in range(count):
        apart = positions[None, :, :] - positions[:, None, :]
        r = (apart**2).sum(axis=2) + 1e-3 * (1 - np.eye(len(masses)))
        r[r > 0] **= -1.5
        velocities += 0.01 * (apart * r[:, :, None] * masses[None, :, None]).sum(axis=1)
        positions += 0.01 * velocities
    return positions


@called_with(lambda number: ((rng(number).random((48, 48)) < 0.12).astype(np.int64), 90))
def settled(grid, most):
    steps = 0
    for steps in range(most):
        near = np.zeros_like(grid)
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx or dy:
                    near += np.roll(np.roll(grid, dx, axis=0), dy, axis=1)
        new = ((near == 3) | ((grid == 1) & (near == 2))).astype(np.int64)
        if np.array_equal(new, grid):
            break
        grid = new
    return grid, steps


@called_with(lambda number: (np.pad(np.ones((20, 20 + number % 3)), 6), 1e-4))
def relaxed(t, tolerance):
    steps = 0
    while True:
        new = t.copy()
        new[1:-1, 1:-1] = 0.25 * (t[:-2, 1:-1] + t[2:, 1:-1] + t[1:-1, :-2] + t[1:-1, 2:])
        steps += 1
        if np.abs(new - t).max() < tolerance or steps > 400:
            break
        t = new
    return t, steps


WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])


@called_with(lambda number: (1 + 0.01 * rng(number).random((9, 40, 60)), 20))
def lattice_boltzmann(f, count):
    for _ in range(count):
        for i, cx, cy in zip(range(9), CX, CY):
            f[i] = np.roll(f[i], cx, axis=0)
            f[i] = np.roll(f[i], cy, axis=1)
        rho = f.sum(axis=0)
        ux = (f * CX[:, None, None]).sum(axis=0) / rho
        uy = (f * CY[:, None, None]).sum(axis=0) / rho
        equal = np.zeros(f.shape)
        for i, cx, cy, w in zip(range(9), CX, CY, WEIGHTS):
            u = cx * ux + cy * uy
            equal[i] = rho * w * (1 + 3 * u + 9 * u**2 / 2 - 3 * (ux**2 + uy**2) / 2)
        f += -(1.0 / 0.6) * (f - equal)
    return f


@called_with(lambda number: (np.array([1.0, 0.0]), np.array([0.0, 0.9 + number / 100]), 0.01, 400))
def leapfrog(x, v, dt, count):
    energies = []
    a = -x / np.sum(x**2) ** 1.5
    for _ in range(count):
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = -x / np.sum(x**2) ** 1.5
        v = v + 0.5 * dt * a
        energies.append(0.5 * np.sum(v**2) - 1 / np.sqrt(np.sum(x**2)))
    return x, v, energies


# ---- a network with classes


class Layer:
    def __init__(self, generator, n, m):
        self.w = generator.standard_normal((n, m)) * np.sqrt(2 / n)
        self.b = np.zeros(m)

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, g):
        self.dw = self.x.T @ g
        self.db = g.sum(axis=0)
        return g @ self.w.T


class Relu:
    def forward(self, x):
        self.on = x > 0
        return x * self.on

    def backward(self, g):
        return g * self.on


class Network:
    def __init__(self, generator):
        self.layers = [Layer(generator, 8, 32), Relu(), Layer(generator, 32, 3)]

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, g):
        for layer in reversed(self.layers):
            g = layer.backward(g)


class Adam:
    def __init__(self, layers, lr=1e-3):
        self.layers, self.lr, self.t = layers, lr, 0
        self.m = [np.zeros_like(p) for layer in layers for p in (layer.w, layer.b)]
        self.v = [np.zeros_like(p) for layer in layers for p in (layer.w, layer.b)]

    def step(self):
        self.t += 1
        i = 0
        for layer in self.layers:
            for p, g in ((layer.w, layer.dw), (layer.b, layer.db)):
                self.m[i] = 0.9 * self.m[i] + 0.1 * g
                self.v[i] = 0.999 * self.v[i] + 0.001 * g * g
                first = self.m[i] / (1 - 0.9**self.t)
                second = self.v[i] / (1 - 0.999**self.t)
                p -= self.lr * first / (np.sqrt(second) + 1e-8)
                i += 1


def made_network(number: int) -> tuple[Any, ...]:
    generator = rng(number)
    network = Network(generator)
    adam = Adam([network.layers[0], network.layers[2]])
    return (network, adam, generator.standard_normal((256, 8)), generator.integers(0, 3, 256))


@called_with(made_network)
def trained(network, adam, x, y, batch=16):
    losses = []
    for begin in range(0, len(x), batch):
        xb, yb = x[begin : begin + batch], y[begin : begin + batch]
        scores = network.forward(xb)
        shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
        p = shifted / shifted.sum(axis=1, keepdims=True)
        losses.append(-np.log(p[np.arange(len(yb)), yb]).mean())
        p[np.arange(len(yb)), yb] -= 1
        network.backward(p / len(yb))
        adam.step()
    return losses


__all__ = ["PROGRAMS"]
