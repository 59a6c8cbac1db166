"""Games and automata: cells, sand, boards, fractals."""

import sys

import numpy as np

from programs.registry import Program
from programs.shapes import in_turn, laid_out, lengths, sizes

#: Captures where the first test of a `while` is no part of its turns: until CPython 3.14.
FIRST_TEST_APART = 2 if sys.version_info < (3, 14) else 1


def life(board, generations=4):
    """Play Conway's game on a torus; return the board and how many lived in each generation."""
    living = [int(board.sum())]
    for _ in range(generations):
        cells = board.astype(np.int8)
        neighbours = np.zeros_like(cells)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy or dx:
                    neighbours += np.roll(cells, (dy, dx), axis=(0, 1))
        board = (neighbours == 3) | (board & (neighbours == 2))
        living.append(int(board.sum()))
    return board, living


def life_cases(rng):
    layout = in_turn("c", "fortran", "strided")
    for shape in sizes(rng, 2, 30):
        yield (laid_out(rng.random(shape) < 0.4, next(layout)),)


def elementary(row, rule=110, steps=8):
    """Run a one-dimensional automaton by Wolfram's number; return the rows as an image."""
    history = np.zeros((steps + 1, row.size), dtype=bool)
    history[0] = row
    for t in range(steps):
        current = history[t]
        padded = np.concatenate(([False], current, [False])).astype(np.int64)
        code = 4 * padded[:-2] + 2 * padded[1:-1] + padded[2:]
        history[t + 1] = (rule >> code) & 1
    density = history.mean(axis=1)
    return history, density, history[-1].any()


def elementary_cases(rng):
    for n in lengths(rng):
        yield rng.random(n) < 0.3, int(rng.integers(0, 256))


def topple(sand, limit=30):
    """Let a pile of sand fall, in place, until it is stable; count the rounds and what was lost."""
    total = sand.sum()
    rounds = 0
    while (sand >= 4).any() and rounds < limit:
        falling = sand // 4
        sand -= 4 * falling
        sand[1:] += falling[:-1]
        sand[:-1] += falling[1:]
        sand[:, 1:] += falling[:, :-1]
        sand[:, :-1] += falling[:, 1:]
        rounds += 1
    return sand, rounds, total - sand.sum()


def topple_cases(rng):
    for shape in sizes(rng, 2, 12):
        yield (rng.choice([0, 1, 2, 9], shape, p=[0.6, 0.25, 0.05, 0.1]),)


def mines_hints(mines, seen):
    """Count the mines around every cell of a field, and draw what the player sees."""
    padded = np.pad(mines, 1).astype(np.uint8)
    height, width = mines.shape
    hints = sum(
        [
            padded[dy : dy + height, dx : dx + width]
            for dy in range(3)
            for dx in range(3)
            if (dy, dx) != (1, 1)
        ]
    )
    hints[mines] = 9
    shown = np.where(seen, hints, 255)
    lost = bool(np.logical_or.reduce(mines & seen, axis=None))
    won = not lost and bool(np.all(mines | seen))
    state = "lost" if lost else "won" if won else "playing"
    return shown, hints, f"{state} with {int(mines.sum())} mines"


def mines_hints_cases(rng):
    layout = in_turn("c", "fortran")
    for index, shape in enumerate(sizes(rng, 2, 20)):
        mines = rng.random(shape) < 0.15
        seen = (~mines, rng.random(shape) < 0.5, ~mines & (rng.random(shape) < 0.9))[index // 2 % 3]
        yield laid_out(mines, next(layout)), seen


def slide_left(board):
    """Push every row of a game of 2048 to the left and merge pairs; return board and score."""
    order = np.argsort(board == 0, axis=1, kind="stable")
    tiles = np.take_along_axis(board, order, axis=1)
    score = 0
    for column in range(3):
        left, right = tiles[:, column], tiles[:, column + 1]
        merge = (left == right) & (left > 0)
        left[merge] *= 2
        score += left[merge].sum()
        tiles[:, column + 1 : 3] = np.where(
            merge[:, None], tiles[:, column + 2 :], tiles[:, column + 1 : 3]
        )
        tiles[:, 3] = np.where(merge, 0, tiles[:, 3])
    moved = not np.array_equal(tiles, board)
    return tiles, int(score), moved


def slide_left_cases(rng):
    for n in lengths(rng, 40):
        yield (rng.choice(np.array([0, 0, 2, 2, 4, 8]), (n, 4)),)


def mandelbrot(x, y, steps=15, escape=4.0):
    """Count for each point how many steps it stays near the origin, in real arithmetic."""
    cx, cy = np.meshgrid(x, y)
    zx, zy = np.zeros_like(cx), np.zeros_like(cy)
    count = np.zeros(cx.shape, dtype=np.int32)
    inside = np.ones(cx.shape, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            zx2, zy2 = zx * zx, zy * zy
            inside &= zx2 + zy2 <= escape
            count[inside] += 1
            zy = np.where(inside, 2 * zx * zy + cy, zy)
            zx = np.where(inside, zx2 - zy2 + cx, zx)
    shade = count.astype(np.float32) / steps
    return count, inside, np.sqrt(shade, out=shade)


def mandelbrot_cases(rng):
    for width, height in sizes(rng, 2, 40):
        yield np.linspace(-2.0, 0.6, width), np.linspace(-1.2, 1.2, height)


ADVANCED = frozenset({"getitem", "setitem"})

PROGRAMS = [
    Program(life, life_cases, captures=3, exact=True),
    Program(elementary, elementary_cases, captures=1),
    # one for each number of rounds that occurs
    Program(topple, topple_cases, captures=8, rolled=FIRST_TEST_APART, exact=True),
    # two memory orders; lost, won, playing
    Program(mines_hints, mines_hints_cases, captures=6, opaque=ADVANCED, exact=True),
    Program(slide_left, slide_left_cases, captures=1, opaque=ADVANCED | {"argsort"}, exact=True),
    Program(mandelbrot, mandelbrot_cases, captures=1, opaque=ADVANCED, exact=True),
]
