"""A plain NumPy text encoder, unmodified, over the sentences of Python's own reference manual.

Each sentence has its own number of words, so nearly every call brings shapes never seen before. dvm
captures `TextEncoder.encode` once and compiles for each length anew, in microseconds. Then the same
capture takes whole pages of the manual. NumPy and dvm take turns on every text; what dvm did not
compile, and when it is slower, is printed too. The exit status is not zero if an embedding differs.

    python examples/demo.py [--sentences N] [--passes N]
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any

# Read when NumPy is imported: matrices this small gain nothing by its threads, which stand still
# whenever another program takes one of their cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from text_encoder import TextEncoder, tokenize

import dvm

# Embeddings are of order 1; sums in another order, exp, tanh, sin and cos differ in the last bits.
TOLERANCE = 1e-5
PATIENCE = 8  # seconds, after which no further warm pass begins
PAGES, LONGEST = 12, 2000  # whole pages to encode, and the most words of one

Array = np.ndarray[Any, Any]
Encode = Callable[[TextEncoder, Array], Array]


def sentences() -> list[str]:
    """Return the sentences of the manual's paragraphs, without headings, lists and code."""
    from pydoc_data.topics import topics

    found: dict[str, None] = {}
    for text in topics.values():
        for paragraph in text.split("\n\n"):
            if paragraph[0:1].isupper():
                parts = re.split(r"(?<=[.!?])\s+(?=[A-Z(])", paragraph)
                found |= {" ".join(part.split()): None for part in parts if part[-1] in ".!?"}
    return list(found)


def pages() -> list[str]:
    """Return the manual's pages, headings and all, the longest first."""
    from pydoc_data.topics import topics

    fitting = (text for text in topics.values() if len(tokenize(text)) <= LONGEST)
    return sorted(fitting, key=len, reverse=True)


def spread(items: list[str], count: int) -> list[str]:
    """Take `count` items evenly from all of the list."""
    count = max(1, min(count, len(items)))
    return [items[i * len(items) // count] for i in range(count)]


@dataclass
class Run:
    """What the passes over all texts gave; times[pass][text] are seconds."""

    plain: list[list[float]] = field(default_factory=list)
    compiled: list[list[float]] = field(default_factory=list)
    difference: float = 0.0
    embeddings: list[Array] = field(default_factory=list)


def timed(encode: Encode, encoder: TextEncoder, tokens: Array) -> tuple[Array, float]:
    start = time.perf_counter()
    result = encode(encoder, tokens)
    return result, time.perf_counter() - start


def progress(label: str, done: int, total: int) -> None:
    """One line that counts up on a terminal; elsewhere a line when a pass is done."""
    line = f"  {label}: {done} of {total}"
    if done == total:
        print(f"\r{line}" if sys.stdout.isatty() else line, flush=True)
    elif sys.stdout.isatty() and done % 16 == 0:
        print(f"\r{line}", end="", flush=True)


def measure(
    compiled: Encode, encoder: TextEncoder, tokens: list[Array], passes: int, what: str
) -> Run:
    """Encode every text by both, in turns: a first pass, then at most `passes` warm ones."""
    plain = TextEncoder.encode
    run = Run()
    start = time.perf_counter()
    for number in range(passes + 1):
        if number > 1 and time.perf_counter() - start > PATIENCE:
            break
        run.plain.append([])
        run.compiled.append([])
        for i, words in enumerate(tokens):
            if i % 2:  # who comes second finds the weights in the cache
                expected, plain_spent = timed(plain, encoder, words)
                result, compiled_spent = timed(compiled, encoder, words)
            else:
                result, compiled_spent = timed(compiled, encoder, words)
                expected, plain_spent = timed(plain, encoder, words)
            run.plain[-1].append(plain_spent)
            run.compiled[-1].append(compiled_spent)
            if number == 0:
                run.embeddings.append(result)
            run.difference = max(run.difference, float(np.abs(result - expected).max()))
            label = "first pass" if number == 0 else f"warm pass {number}"
            progress(f"{what}, {label}", i + 1, len(tokens))
    return run


def typical(times: list[list[float]]) -> float:
    """Seconds of a pass whose every call takes the median of its times."""
    return float(np.median(times, axis=0).sum())


def table(run: Run, lengths: list[int], stats: dvm.Stats, opaque_calls: int) -> str:
    """Return the figures of the sentences, one per line."""
    plain, warm = typical(run.plain[1:]), typical(run.compiled[1:])
    ratio = warm / plain
    verdict = "faster than" if ratio < 0.97 else "slower than" if ratio > 1.03 else "as fast as"
    verdict = f"dvm is {verdict} NumPy" if stats.hits else "nothing was compiled, both are NumPy"
    per_sentence = 1e6 / len(lengths)
    first = run.compiled[0][0]
    rows = {
        "sentences": f"{len(lengths)}",
        "distinct lengths": f"{len(set(lengths))}, from {min(lengths)} to {max(lengths)} words",
        "captures": f"{stats.captures}",
        "recaptures": f"{stats.recaptures}",
        "fallbacks": f"{stats.fallbacks + stats.drops} of {stats.calls} calls ran uncompiled",
        "opaque calls": f"{opaque_calls} steps of the compiled path stay NumPy's own",
        "largest difference": f"{run.difference:.1e}",
        "NumPy, a pass": f"{plain:.3f} s, {plain * per_sentence:.0f} us a sentence",
        "dvm, the first pass": f"{sum(run.compiled[0]):.3f} s, NumPy {sum(run.plain[0]):.3f} s",
        "dvm, the first call": f"{1e3 * first:.1f} ms, NumPy {1e3 * run.plain[0][0]:.1f} ms",
        "dvm, a warm pass": f"{warm:.3f} s, {warm * per_sentence:.0f} us a sentence",
        "dvm / NumPy": f"{ratio:.2f}: {verdict}",
    }
    return lines(rows)


def pages_table(run: Run, lengths: list[int]) -> str:
    """Return the figures of the pages, each of which was new to dvm in the first pass."""
    first, warm = 1e3 * sum(run.compiled[0]), 1e3 * typical(run.compiled[1:])
    plain, longest = 1e3 * typical(run.plain), 1e3 * np.median(run.plain, axis=0)[0]
    rows = {
        "pages": f"{len(lengths)}, from {min(lengths)} to {max(lengths)} words",
        "NumPy, all pages": f"{plain:.0f} ms, {longest:.0f} the longest",
        "dvm, never seen": f"{first:.0f} ms, {1e3 * run.compiled[0][0]:.0f} the longest",
        "dvm, seen before": f"{warm:.0f} ms: {warm / plain:.2f} of NumPy's time",
    }
    return lines(rows)


def lines(rows: dict[str, str]) -> str:
    return "\n".join(f"  {name:<22}{value}" for name, value in rows.items())


def nearest(embeddings: list[Array], texts: list[str], count: int) -> str:
    """Return the sentence that has the closest neighbours, and these."""
    vectors = np.stack(embeddings)
    vectors -= vectors.mean(axis=0)  # what all sentences share says nothing
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    ranked = np.argsort(-cosines, axis=1, kind="stable")[:, : min(count, len(texts) - 1)]
    query = int(np.take_along_axis(cosines, ranked, axis=1).sum(axis=1).argmax())
    lines = [
        f"    {cosines[query, i]:.2f}  {shorten(texts[i], 90, placeholder=' ...')}"
        for i in ranked[query]
    ]
    return "\n".join([f"  {shorten(texts[query], 94, placeholder=' ...')}", *lines])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sentences", type=int, default=800, help="how many to encode")
    parser.add_argument("--passes", type=int, default=5, help="how many warm passes at most")
    options = parser.parse_args()
    if min(options.sentences, options.passes) < 1:
        parser.error("--sentences and --passes count from 1")

    texts = spread(sentences(), options.sentences)
    tokens = [tokenize(text) for text in texts]
    print("A NumPy text encoder over Python's reference manual, plain and compiled by dvm")
    encoder = TextEncoder()
    encode = dvm.compile(TextEncoder.encode)
    dvm.set_stance("force_capture")  # at the first call, not once it is known to be worth it
    run = measure(encode, encoder, tokens, options.passes, "sentences")
    whole = [tokenize(text) for text in spread(pages(), PAGES)]
    pages_run = measure(encode, encoder, whole, 1, "pages")
    stats = encode.stats

    report = dvm.explain(encode)(encoder, tokens[0])
    opaque_calls = max(len(path.get("opaque_calls", ())) for path in report.paths)
    print(f"\n{table(run, [len(words) for words in tokens], stats, opaque_calls)}")
    print(pages_table(pages_run, [len(words) for words in whole]))
    for reason in encode.fallback_reasons:
        print(f"  uncompiled because    {reason}")

    print(f"\nNearest to one of the sentences:\n{nearest(run.embeddings, texts, 3)}")
    print("\nGo on with: README.md, docs/architecture.md, and")
    print("  python -m dvm explain examples/text_encoder.py:softmax --arg f32[8,100]")
    if max(run.difference, pages_run.difference) > TOLERANCE:
        print(f"FAILED: an embedding differs by more than {TOLERANCE}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
