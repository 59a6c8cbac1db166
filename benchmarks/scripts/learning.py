"""Training and fitting in plain NumPy, with classes and without."""

from __future__ import annotations

import numpy as np
from benchmarks.scripts.program import script


class Adam:
    def __init__(self, shapes, rate=0.01):
        self.rate, self.t = rate, 0
        self.m = [np.zeros(shape) for shape in shapes]
        self.v = [np.zeros(shape) for shape in shapes]

    def update(self, parameters, gradients):
        self.t += 1
        for k, (p, g) in enumerate(zip(parameters, gradients)):
            self.m[k] = 0.9 * self.m[k] + 0.1 * g
            self.v[k] = 0.999 * self.v[k] + 0.001 * g**2
            m = self.m[k] / (1 - 0.9**self.t)
            v = self.v[k] / (1 - 0.999**self.t)
            p -= self.rate * m / (np.sqrt(v) + 1e-8)


class Perceptron:
    def __init__(self, r, inputs, hidden):
        self.w1 = r.normal(0, 0.5, (inputs, hidden))
        self.b1 = np.zeros(hidden)
        self.w2 = r.normal(0, 0.5, (hidden, 1))
        self.b2 = np.zeros(1)

    def parameters(self):
        return [self.w1, self.b1, self.w2, self.b2]

    def forward(self, x):
        self.x = x
        self.h = np.tanh(x @ self.w1 + self.b1)
        return self.h @ self.w2 + self.b2

    def backward(self, d):
        dh = (d @ self.w2.T) * (1 - self.h**2)
        return [self.x.T @ dh, dh.sum(0), self.h.T @ d, d.sum(0)]


def make_training(r, n):
    x = r.normal(size=(n, 4))
    return Perceptron(r, 4, 16), Adam([(4, 16), (16,), (16, 1), (1,)]), x, x[:, :1] * x[:, 1:2]


@script(512, 64, make_training)
def train_with_adam(net, adam, x, y):
    losses = []
    for begin in range(0, len(x), 16):
        batch, wanted = x[begin : begin + 16], y[begin : begin + 16]
        error = net.forward(batch) - wanted
        losses.append(float((error**2).mean()))
        adam.update(net.parameters(), net.backward(2 * error / len(batch)))
    return losses


@script(300, 10, lambda r, n: (r.normal(size=(200, 5)), r.random(200) < 0.5, n))
def logistic_regression(x, y, rounds):
    w, b = np.zeros(x.shape[1]), 0.0
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-(x @ w + b)))
        error = p - y
        w = w - 0.1 * x.T @ error / len(x)
        b = b - 0.1 * error.mean()
    return w, b


@script(20, 3, lambda r, n: (r.random((300, 2)), n))
def k_means(points, rounds):
    centers = points[:5].copy()
    for _ in range(rounds):
        apart = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
        nearest = apart.argmin(axis=1)
        for k in range(len(centers)):
            own = points[nearest == k]
            if len(own) > 0:
                centers[k] = own.mean(axis=0)
    return centers, nearest


@script(1500, 40, lambda r, n: (r.random(n), r.random(n), 0.01))
def line_by_descent(x, y, rate):
    slope = bias = 0.0
    for _ in range(3):
        for a, b in zip(x, y):
            error = slope * a + bias - b
            slope -= rate * error * a
            bias -= rate * error
    return slope, bias
