"""Statistics: moments, scaling, moving windows, correlation, resampling."""

import numpy as np

from programs.registry import Program
from programs.shapes import in_turn, laid_out, lengths, sizes


def describe(x):
    """Summarise a sample: a dict of moments and extremes."""
    n = x.size
    mean = x.mean()
    centered = x - mean
    variance = np.mean(centered**2)
    std = np.sqrt(variance)
    z = centered / std
    summary = {
        "n": n,
        "mean": mean,
        "std": std,
        "stderr": x.std(ddof=1) / np.sqrt(n),
        "skewness": np.mean(z**3),
        "kurtosis": np.mean(z**4) - 3.0,
    }
    summary["min"], summary["max"] = x.min(), x.max()
    summary["range"] = summary["max"] - summary["min"]
    return summary


def describe_cases(rng):
    layout = in_turn("c", "strided", "reversed")
    for n in lengths(rng, 3000):
        yield (laid_out(rng.normal(2.0, 3.0, n), next(layout)),)


def standardize_columns(table, eps=1e-9):
    """Give each column zero mean and unit deviation, in place; return the table and what it had."""
    mean = table.mean(axis=0)
    table -= mean
    std = np.sqrt((table * table).mean(axis=0))
    constant = std < eps
    np.divide(table, std, out=table, where=~constant)
    table[:, 0] = np.where(constant[0], 0.0, table[:, 0])
    return table, {"mean": mean, "std": std, "constant": int(constant.sum())}


def standardize_columns_cases(rng):
    layout = in_turn("c", "fortran", "strided")
    for index, (rows, columns) in enumerate(sizes(rng, 2)):
        table = rng.normal(size=(rows, columns)) + 10.0
        if index % 5 == 0:
            table[:, columns // 2 :] = 7.0
        yield (laid_out(table, next(layout)),)


def moving_average(x, window=5, centered=False):
    """Average over a sliding window; NaN where it does not fit."""
    total = np.cumsum(np.concatenate([[0.0], x]))
    averages = (total[window:] - total[:-window]) / window
    result = np.full_like(x, np.nan)
    if centered:
        start = (window - 1) // 2
        result[start : start + averages.size] = averages
    else:
        result[x.size - averages.size :] = averages
    return result


def moving_average_cases(rng):
    for index, n in enumerate(lengths(rng)):
        window = int(rng.integers(1, 9))
        yield rng.uniform(0, 10, n), window, index % 3 == 2


def trimmed_mean(x, parts=10):
    """Average each column without its greatest and least tenth."""
    n = len(x)
    cut = n // parts
    ordered = np.sort(x, axis=0)
    middle = ordered[cut : n - cut]
    center = middle.mean(axis=0)
    spread = middle.std(axis=0) / np.sqrt(len(middle))
    return np.stack([center - 2 * spread, center, center + 2 * spread])


def trimmed_mean_cases(rng):
    for shape in sizes(rng, 2, 60):
        yield rng.standard_t(2, shape), int(rng.integers(3, 20))


def correlation_matrix(samples, names):
    """Correlate the columns; return the matrix and the most correlated pair's value by name."""
    n = samples.shape[0]
    centered = samples - samples.mean(axis=0, keepdims=True)
    covariance = centered.T @ centered / (n - 1)
    std = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(std, std)
    correlation = np.clip(correlation, -1.0, 1.0)
    strongest = np.abs(np.triu(correlation, 1)).max()
    pairs = {}
    for i, first in enumerate(names):
        for j, second in enumerate(names):
            if i < j:
                pairs[f"{first}/{second}"] = float(correlation[i, j])
    return correlation, pairs, strongest


def correlation_matrix_cases(rng):
    for n in lengths(rng, 60):
        yield rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)), ("a", "b", "c")


def bootstrap_interval(x, rng, draws=200, level=0.95):
    """Estimate the mean and its confidence interval by resampling."""
    picks = rng.integers(0, len(x), size=(draws, len(x)))
    means = np.sort(x[picks].mean(axis=1))
    tail = (1.0 - level) / 2
    z = (means - means.mean()) / (means.std() + 1e-12)
    bias = means.mean() - x.mean()
    return {
        "mean": x.mean(),
        "bias": bias,
        "low": means[draws // 40],
        "high": means[-(draws // 40)],
        "tail": tail,
        "outliers": int(np.count_nonzero(np.abs(z) > 2.5)),
    }


def bootstrap_interval_cases(rng):
    for n in lengths(rng, 90):
        draws = int(rng.integers(80, 200))
        yield rng.exponential(2.0, n), np.random.default_rng(int(rng.integers(1000))), draws


PROGRAMS = [
    Program(describe, describe_cases, captures=2),
    Program(standardize_columns, standardize_columns_cases, captures=3, scale=10.0),
    # centered is one bool or the other
    Program(moving_average, moving_average_cases, captures=2, scale=1000.0),
    Program(trimmed_mean, trimmed_mean_cases, captures=1, opaque=frozenset({"sort"})),
    Program(correlation_matrix, correlation_matrix_cases, captures=1),
    Program(
        bootstrap_interval,
        bootstrap_interval_cases,
        captures=1,
        opaque=frozenset({"sort", "integers", "getitem"}),
    ),
]
