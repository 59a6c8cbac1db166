"""A small transformer that turns a sentence into a vector, in plain NumPy.

    encoder = TextEncoder()
    encoder.encode(tokenize("Names refer to objects."))  # [128] float32

Words are hashed into a table of embeddings, so there is no vocabulary file; the weights are random,
but always the same. So nothing is learned, and still sentences that share words come out close to
each other: each block adds to the embeddings rather than replacing them.
"""

import math
import re
import zlib
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

VOCABULARY = 4096
WIDTH = 128  # of a word's vector
HEADS = 4
BLOCKS = 2


def tokenize(sentence: str) -> Array:
    """[words] int64: each word's row in the table of embeddings."""
    words = re.findall(r"\w+", sentence.lower())
    # hash() would give other numbers in every process.
    return np.array([zlib.crc32(word.encode()) % VOCABULARY for word in words])


def softmax(x: Array) -> Array:
    """Turns scores into shares along the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def gelu(x: Array) -> Array:
    """The smooth step of GPT-2, in its tanh form."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


class LayerNorm:
    """Brings each row to mean 0 and deviation 1, then scales and shifts its columns."""

    def __init__(self, rng: np.random.Generator):
        self.scale = 1 + 0.1 * rng.standard_normal(WIDTH, np.float32)
        self.shift = 0.1 * rng.standard_normal(WIDTH, np.float32)

    def __call__(self, x: Array) -> Array:
        mean = x.mean(axis=-1, keepdims=True)
        variance = x.var(axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + 1e-5) * self.scale + self.shift


class Linear:
    """x @ weight + bias."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int):
        self.weight = rng.standard_normal((inputs, outputs), np.float32) / math.sqrt(inputs)
        self.bias = 0.1 * rng.standard_normal(outputs, np.float32)

    def __call__(self, x: Array) -> Array:
        return x @ self.weight + self.bias


class Block:
    """Attention over all words, then a perceptron for each word; both add to their input."""

    def __init__(self, rng: np.random.Generator):
        self.norm1, self.norm2 = LayerNorm(rng), LayerNorm(rng)
        self.query, self.key = Linear(rng, WIDTH, WIDTH), Linear(rng, WIDTH, WIDTH)
        self.value, self.join = Linear(rng, WIDTH, WIDTH), Linear(rng, WIDTH, WIDTH)
        self.up, self.down = Linear(rng, WIDTH, 4 * WIDTH), Linear(rng, 4 * WIDTH, WIDTH)

    def heads(self, x: Array) -> Array:
        """[words, WIDTH] -> [HEADS, words, WIDTH / HEADS]."""
        return x.reshape(len(x), HEADS, -1).swapaxes(0, 1)

    def attention(self, x: Array) -> Array:
        q, k, v = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        mixed = softmax(scores) @ v
        return self.join(mixed.swapaxes(0, 1).reshape(x.shape))

    def __call__(self, x: Array) -> Array:
        x = x + self.attention(self.norm1(x))
        return x + self.down(gelu(self.up(self.norm2(x))))


class TextEncoder:
    """Embeddings, positional terms, BLOCKS blocks, a last norm, and the mean over all words."""

    def __init__(self, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.table = rng.standard_normal((VOCABULARY, WIDTH), np.float32)
        self.frequencies = 10000 ** -np.linspace(0, 1, WIDTH // 2, dtype=np.float32)
        self.blocks = [Block(rng) for _ in range(BLOCKS)]
        self.norm = LayerNorm(rng)

    def positions(self, words: int) -> Array:
        """[words, WIDTH] float32: sines and cosines of where a word stands."""
        angles = np.arange(words, dtype=np.float32)[:, None] * self.frequencies
        # Small, or the mean over all words would tell the length of a sentence before its meaning.
        return 0.1 * np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

    def encode(self, tokens: Array) -> Array:
        """[words] int64 -> [WIDTH] float32."""
        x = self.table[tokens] + self.positions(len(tokens))
        for block in self.blocks:
            x = block(x)
        return self.norm(x).mean(axis=0)
