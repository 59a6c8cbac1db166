"""Layers of neural networks in single precision."""

import math

import numpy as np

from programs.registry import Program
from programs.shapes import in_turn, laid_out, sizes


def normal(rng, *shape):
    return rng.standard_normal(shape, dtype=np.float32)


class Linear:
    def __init__(self, weight, bias=None):
        self.weight = weight
        self.bias = bias

    def __call__(self, x):
        y = x @ self.weight.T
        if self.bias is not None:
            y += self.bias
        return y


class Activation:
    def __init__(self, kind):
        self.kind = kind

    def __call__(self, x):
        return getattr(self, self.kind)(x)

    @staticmethod
    def relu(x):
        return np.maximum(x, 0)

    @staticmethod
    def gelu(x):
        return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


class Sequential:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def classify(model, x, labels, temperature=1.0):
    """Run a perceptron; return log-probabilities, mean loss and number of hits."""
    logits = model(x) / temperature
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    picked = np.take_along_axis(log_probabilities, labels[:, None], axis=-1)
    loss = -picked.mean()
    hits = (logits.argmax(axis=-1) == labels).sum()
    return log_probabilities, loss, int(hits)


def classify_cases(rng):
    for index, (batch, inputs, hidden) in enumerate(sizes(rng, 3)):
        model = Sequential(
            Linear(normal(rng, hidden, inputs), normal(rng, hidden)),
            Activation(("relu", "gelu")[index % 2]),
            Linear(normal(rng, 10, hidden)),
        )
        yield model, normal(rng, batch, inputs), rng.integers(0, 10, batch)


def layer_norm(x, gamma, beta, residual=None, eps=1e-5):
    """Normalise the last axis after adding a residual, if there is one."""
    if residual is not None:
        x = x + residual
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    y = (x - mean) / np.sqrt(variance + eps)
    return gamma * y + beta, (mean.squeeze(-1), 1 / np.sqrt(variance + eps))


def layer_norm_cases(rng):
    layout = in_turn("c", "c", "strided", "strided")
    for index, shape in enumerate(sizes(rng, 3, 20)):
        x = laid_out(normal(rng, *shape), next(layout))
        residual = normal(rng, *shape) if index % 2 else None
        yield x, normal(rng, shape[-1]), normal(rng, shape[-1]), residual


def attention(x, weights, heads, causal=False):
    """Attend with several heads, to the past alone if causal; return output and attention."""
    batch, length, width = x.shape
    size = width // heads
    q, k, v = np.split(x @ weights["qkv"], 3, axis=-1)

    def by_head(t):
        return t.reshape(batch, length, heads, size).transpose(0, 2, 1, 3)

    q, k, v = [by_head(t) for t in (q, k, v)]
    scores = q @ k.swapaxes(-1, -2) / np.float32(math.sqrt(size))
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, np.float32(-1e9))
    scores -= scores.max(axis=-1, keepdims=True, initial=-np.inf)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    context = (scores @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
    return context @ weights["out"] + x, scores


def attention_cases(rng):
    for index, (batch, length, size) in enumerate(sizes(rng, 3, 9)):
        heads = int(rng.integers(1, 5))
        width = heads * max(size, 1)
        weights = {"qkv": normal(rng, width, 3 * width), "out": normal(rng, width, width)}
        yield normal(rng, batch, length, width) / 4, weights, heads, index % 2 == 1


class BatchNorm:
    def __init__(self, features, momentum=0.1, eps=1e-5):
        self.mean = np.zeros(features, np.float32)
        self.variance = np.ones(features, np.float32)
        self.momentum = momentum
        self.eps = eps
        self.seen = 0
        self.training = True

    def __call__(self, x):
        if self.training:
            mean, variance = x.mean(axis=(0, 2)), x.var(axis=(0, 2))
            self.mean = (1 - self.momentum) * self.mean + self.momentum * mean
            self.variance += self.momentum * (variance - self.variance)
            self.seen += len(x)
        else:
            mean, variance = self.mean, self.variance
        return (x - mean[:, None]) / np.sqrt(variance[:, None] + self.eps)

    def eval(self):
        self.training = False
        return self


def convolve(norm, images, kernels, stride=2):
    """Convolve signals of several channels, normalise, and pool the maxima of pairs."""
    taps = kernels.shape[-1]
    steps = (images.shape[-1] - taps) // stride + 1
    y = np.zeros((images.shape[0], kernels.shape[0], steps), images.dtype)
    for tap in range(taps):
        window = images[:, :, tap : tap + (steps - 1) * stride + 1 : stride]
        y += np.einsum("oc,bct->bot", kernels[:, :, tap], window)
    y = norm(y)
    even = y[:, :, : steps // 2 * 2]
    pooled = np.maximum(even[:, :, ::2], even[:, :, 1::2])
    return pooled, norm.seen, norm.mean


def convolve_cases(rng):
    for index, (batch, channels, out) in enumerate(sizes(rng, 3, 8)):
        norm = BatchNorm(out)
        if index % 3 == 2:
            norm = norm.eval()
        images = normal(rng, batch, channels, int(rng.integers(5, 30)))
        yield norm, images, normal(rng, out, channels, 3)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(sequence, hidden, w, u, b):
    """Run a gated recurrent unit over a sequence of five steps; keep every state."""
    states = [hidden]
    width = hidden.shape[-1]
    for x in sequence:
        h = states[-1]
        gates = x @ w + b
        recurrent = h @ u
        r = sigmoid(gates[:, :width] + recurrent[:, :width])
        z = sigmoid(gates[:, width : 2 * width] + recurrent[:, width : 2 * width])
        candidate = np.tanh(gates[:, 2 * width :] + r * recurrent[:, 2 * width :])
        states.append((1 - z) * candidate + z * h)
    return np.moveaxis(np.stack(states[1:]), 0, 1), states[-1]


def gru_cases(rng):
    for batch, inputs, width in sizes(rng, 3, 16):
        yield (
            normal(rng, 5, batch, inputs),
            normal(rng, batch, width),
            normal(rng, inputs, 3 * width) / 4,
            normal(rng, width, 3 * width) / 4,
            np.zeros(3 * width, np.float32),
        )


def embed(table, tokens, rng=None, dropout=0.1, padding=0):
    """Look up tokens, add positions, drop some out when training, pool what is no padding."""
    length = tokens.shape[1]
    width = table.shape[1]
    x = table[tokens] * np.float32(math.sqrt(width))
    position = np.arange(length, dtype=np.float32)[:, None]
    rate = np.exp(np.arange(0, width, 2, dtype=np.float32) * np.float32(-math.log(1e4) / width))
    code = np.empty((length, width), np.float32)
    code[:, 0::2] = np.sin(position * rate)
    code[:, 1::2] = np.cos(position * rate)
    x = x + code
    if rng is not None:
        keep = rng.random(x.shape, dtype=np.float32) >= dropout
        x = x * keep / np.float32(1 - dropout)
    real = (tokens != padding)[:, :, None]
    count = real.sum(axis=1)
    return (x * real).sum(axis=1) / np.maximum(count, 1), count.ravel()


def embed_cases(rng):
    for index, shape in enumerate(sizes(rng, 2, 20)):
        width = 2 * int(rng.integers(1, 9))
        generator = np.random.default_rng(index) if index % 2 else None
        yield normal(rng, 50, width), rng.integers(0, 50, shape), generator


PROGRAMS = [
    # two activations
    Program(classify, classify_cases, captures=2, scale=10.0),
    # C order or strided, with a residual or without
    Program(layer_norm, layer_norm_cases, captures=4, scale=10.0),
    Program(attention, attention_cases, captures=2, scale=10.0),
    # training or not
    Program(convolve, convolve_cases, captures=2, scale=30.0),
    # over as many steps as it is given: its states are in a list that the loop fills
    Program(gru, gru_cases, captures=1, opaque=frozenset({"getitem", "stack"}), scale=10.0),
    Program(
        embed,
        embed_cases,
        captures=2,
        opaque=frozenset({"getitem", "random"}),
        single=True,
        scale=10.0,
    ),
]
