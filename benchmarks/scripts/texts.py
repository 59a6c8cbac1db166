"""Texts and parsers: words, numbers, expressions."""

from __future__ import annotations

from collections import Counter

from benchmarks.scripts.program import letters, script


@script(3000, 20, lambda r, n: (letters(r, "aeimnst ", n * 4),))
def word_counts(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    best = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return best[:10]


@script(20000, 100, lambda r, n: (letters(r, "abcdefghij", n),))
def letter_pairs(text):
    pairs = Counter()
    for a, b in zip(text, text[1:]):
        pairs[a + b] += 1
    return pairs.most_common(5)


@script(6000, 60, lambda r, n: (letters(r, "abcdefghijklmnopqrstuvwxyz ", n), 3))
def caesar(text, shift):
    out = []
    for c in text:
        if c.isalpha():
            out.append(chr((ord(c) - 97 + shift) % 26 + 97))
        else:
            out.append(c)
    return "".join(out)


def expression(r, n):
    return ("+".join(f"{a}*({b}-{c})" for a, b, c in r.integers(1, 99, (n, 3))),)


@script(150, 4, expression)
def calculator(text):
    values, operators = [], []
    order = {"+": 1, "-": 1, "*": 2, "/": 2}

    def reduce():
        op, b, a = operators.pop(), values.pop(), values.pop()
        if op == "+":
            values.append(a + b)
        elif op == "-":
            values.append(a - b)
        elif op == "*":
            values.append(a * b)
        else:
            values.append(a / b)

    k = 0
    while k < len(text):
        c = text[k]
        if c.isdigit():
            number = 0
            while k < len(text) and text[k].isdigit():
                number = number * 10 + int(text[k])
                k += 1
            values.append(number)
            continue
        if c == "(":
            operators.append(c)
        elif c == ")":
            while operators[-1] != "(":
                reduce()
            operators.pop()
        else:
            while operators and operators[-1] != "(" and order[operators[-1]] >= order[c]:
                reduce()
            operators.append(c)
        k += 1
    while operators:
        reduce()
    return values[0]


def table_of(r, n):
    return (
        "\n".join(
            f"{a},{b:.3f},{c}"
            for a, b, c in zip(r.integers(0, 9, n), r.random(n), r.integers(0, 5, n))
        ),
    )


@script(1500, 20, table_of)
def table_totals(text):
    totals = {}
    for line in text.splitlines():
        key, value, weight = line.split(",")
        totals[key] = totals.get(key, 0.0) + float(value) * int(weight)
    return sorted(totals.items())
