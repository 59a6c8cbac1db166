"""Control flow: dispatch, recursion, closures, early exits, loops until convergence."""

import math

import numpy as np

from programs.registry import Keywords, Program
from programs.shapes import in_turn, laid_out, lengths, sizes

STEPS = {
    "center": lambda x, **_: x - x.mean(axis=0),
    "scale": lambda x, factor=2.0, **_: x * factor,
    "absolute": lambda x, **_: np.abs(x),
    "clip": lambda x, low=-1.0, high=1.0, **_: np.clip(x, low, high),
}


def pipeline(x, *steps, verbose=False, **options):
    """Apply named steps in order, with options for all of them; keep a log when verbose."""
    log = []
    for number, step in enumerate(steps, start=1):
        x = STEPS[step](x, **options)
        if verbose:
            log.append(f"{number}: {step:>8} -> {x.ndim} axes")
    return (x, "\n".join(log)) if verbose else x


def pipeline_cases(rng):
    layout = in_turn("c", "strided")
    orders = ("center", "clip"), ("scale", "absolute", "center")
    for index, n in enumerate(lengths(rng, 80)):
        x = laid_out(rng.normal(size=(n, 3)), next(layout))
        options = Keywords(factor=float(rng.uniform(1, 3)), verbose=index % 4 >= 2)
        yield x, *orders[index // 4 % 2], options


def pairwise(arrays, combine, depth=0):
    """Combine a list of arrays by halves, recursively; return the result and the depth reached."""
    if len(arrays) == 1:
        return arrays[0], depth
    middle = len(arrays) // 2
    left, reached = pairwise(arrays[:middle], combine, depth + 1)
    right, other = pairwise(arrays[middle:], combine, depth + 1)
    return combine(left, right), max(reached, other)


def combine_all(arrays, how):
    """Reduce arrays pairwise with a chosen operation; the only one of a list comes back itself."""
    operations = {
        "sum": np.add,
        "maximum": np.maximum,
        "hypot": lambda a, b: np.sqrt(a * a + b * b),
    }
    result, depth = pairwise(arrays, operations[how])
    return {"result": result, "depth": depth, "same": result is arrays[0]}


def combine_all_cases(rng):
    for index, shape in enumerate(sizes(rng, 2, 20)):
        how = ("sum", "maximum", "hypot")[index % 3]
        yield [rng.normal(size=shape) for _ in range(1 + index // 3 % 5)], how


def leading_direction(matrix, tolerance=1e-3, limit=25):
    """Find the dominant eigenvector by power iteration; say whether it converged, and when."""
    n = len(matrix)
    vector = np.full(n, 1 / math.sqrt(n) if n else 0.0)
    value = 0.0
    for iteration in range(limit):
        image = (matrix * vector).sum(axis=1)
        norm = np.sqrt((image**2).sum())
        if not norm:
            break
        vector, previous = image / norm, vector
        value = float(vector @ (matrix @ vector))
        if np.linalg.norm(vector - previous) < tolerance:
            return vector, value, iteration + 1
    else:
        return vector, value, "no convergence"
    return vector, value, None


def leading_direction_cases(rng):
    for index, n in enumerate(lengths(rng, 25)):
        root = rng.normal(size=(n, n)) / max(n, 1)
        matrix = root @ root.T + (0.0, 2.0, 20.0)[index % 3] * np.ones((n, n)) / max(n, 1)
        yield (matrix * (index % 5 != 4),)


def group_report(groups, minimum=2, until=None):
    """Summarise named samples in order of name; skip small ones, stop after a given one."""
    rows, skipped = [], set()
    overall = None
    for rank, (name, sample) in enumerate(sorted(groups.items())):
        if not isinstance(sample, np.ndarray) or sample.size < minimum:
            skipped.add(name)
            continue
        low, *_, high = np.sort(sample)[[0, 1, -1]]
        rows.append({"rank": rank, "name": name.title(), "mean": sample.mean(), "span": high - low})
        overall = sample if overall is None else np.concatenate([overall, sample])
        if name == until:
            break
    spread = overall.std() if overall is not None else None
    return rows, sorted(skipped), spread


def group_report_cases(rng):
    for index, (n, m) in enumerate(sizes(rng, 2, 40)):
        # The sizes of "b" and "c" are 0, 1 or more; "d" is no array.
        groups = {
            "c": rng.normal(size=m),
            "b": rng.normal(size=n),
            "a": rng.normal(size=5),
            "d": [],
        }
        yield groups, Keywords(until="b") if index % 2 else Keywords()


def iterate(function, times):
    def iterated(x):
        for _ in range(times):
            x = function(x)
        return x

    return iterated


def make_schedule(start, decay=0.5):
    step = 0

    def schedule():
        nonlocal step
        step += 1
        return start * decay**step

    return schedule


def annealed(x, start=1.0, rounds=4):
    """Pull values towards zero with a decaying closure; return them and its next value."""
    schedule = make_schedule(start)
    seen = []

    def shrink(values):
        amount = schedule()
        seen.append(amount)
        return np.sign(values) * np.maximum(np.abs(values) - amount, 0)

    y = iterate(shrink, rounds)(x)
    return y, seen, schedule(), np.count_nonzero(y)


def annealed_cases(rng):
    layout = in_turn("c", "fortran")
    for shape in sizes(rng, 2, 30):
        yield laid_out(rng.normal(size=shape).astype(np.float32), next(layout)), float(rng.random())


def repair(series, low=-5.0, high=5.0):
    """Replace what is missing or out of range, by whichever way the damage asks for."""
    finite = np.isfinite(series)
    if not finite.any():
        return np.zeros_like(series), "empty"
    bad = ~finite | (series < low) | (series > high)
    if not bad.any():
        return series, "clean"
    share = bad.mean()
    good = np.where(bad, 0.0, series)
    if share > 0.5:
        mean = good.sum() / max(int(series.size - bad.sum()), 1)
        return np.where(bad, mean, series), f"{share:.0%} replaced"
    index = np.where(bad, 0, np.arange(series.size))
    np.maximum.accumulate(index, out=index)
    result = np.take(good, index)
    result[0] = good[0]
    return result, f"{np.count_nonzero(bad)} held"


def repair_cases(rng):
    for index, n in enumerate(lengths(rng)):
        series = rng.normal(size=n)
        damage = (0.0, 0.2, 0.9, 1.0)[index % 4]
        series[rng.random(n) < damage] = (
            (np.nan, np.inf, -99.0)[index % 3] if damage < 1 else np.nan
        )
        yield (series,)


PROGRAMS = [
    # two memory orders, two orders of steps, verbose or not
    Program(pipeline, pipeline_cases, captures=8, rolled=10, scale=3.0),
    # three operations on one to five arrays
    Program(combine_all, combine_all_cases, captures=15),
    # one for each number of iterations, a matrix of zeros, none and no convergence
    Program(
        leading_direction,
        leading_direction_cases,
        captures=10,
        rolled=4,
        opaque=frozenset({"norm"}),
        scale=1.0,
    ),
    # b and c large enough or not, until b or the end
    Program(group_report, group_report_cases, captures=7, opaque=frozenset({"sort", "getitem"})),
    Program(annealed, annealed_cases, captures=2, exact=True),
    # empty, clean, mostly bad, somewhat bad
    Program(repair, repair_cases, captures=4),
]
