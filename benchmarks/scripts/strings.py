"""Dynamic programming over strings, codes, patterns."""

from __future__ import annotations

import numpy as np
from benchmarks.loops import longest_common
from benchmarks.scripts.program import letters, script


@script(70, 8, lambda r, n: (letters(r, "abcd", n), letters(r, "abcd", n)))
def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        last, row[0] = row[0], i
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + cost)
    return row[-1]


script(70, 8, lambda r, n: (letters(r, "ACGT", n), letters(r, "ACGT", n)))(longest_common)


@script(60, 8, lambda r, n: (letters(r, "ACGT", n), letters(r, "ACGT", n)))
def needleman_wunsch(a, b):
    score = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        score[i][0] = -2 * i
    for j in range(len(b) + 1):
        score[0][j] = -2 * j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            match = score[i - 1][j - 1] + (1 if a[i - 1] == b[j - 1] else -1)
            score[i][j] = max(match, score[i - 1][j] - 2, score[i][j - 1] - 2)
    return score[-1][-1]


@script(20000, 100, lambda r, n: (letters(r, "abcdefgh", n),))
def runs_of_letters(text):
    longest = length = 1
    for k in range(1, len(text)):
        length = length + 1 if text[k] == text[k - 1] else 1
        if length > longest:
            longest = length
    return longest


@script(12000, 100, lambda r, n: (letters(r, "ab", n), letters(r, "ab", 8)))
def pattern_search(text, pattern):
    fail = [0] * len(pattern)
    k = 0
    for i in range(1, len(pattern)):
        while k > 0 and pattern[i] != pattern[k]:
            k = fail[k - 1]
        if pattern[i] == pattern[k]:
            k += 1
        fail[i] = k
    found, k = 0, 0
    for c in text:
        while k > 0 and c != pattern[k]:
            k = fail[k - 1]
        if c == pattern[k]:
            k += 1
        if k == len(pattern):
            found += 1
            k = fail[k - 1]
    return found


@script(15000, 100, lambda r, n: (bytes(r.integers(0, 256, n, np.uint8)),))
def fletcher(data):
    low, high = 0, 0
    for byte in data:
        low = (low + byte) % 255
        high = (high + low) % 255
    return high << 8 | low


@script(8000, 100, lambda r, n: (letters(r, "GC AT", n).replace(" ", "A"),))
def gc_content(sequence, window=100):
    best, at = 0, 0
    count = sum(1 for c in sequence[:window] if c in "GC")
    for k in range(window, len(sequence)):
        if sequence[k] in "GC":
            count += 1
        if sequence[k - window] in "GC":
            count -= 1
        if count > best:
            best, at = count, k
    return best, at
