"""Grids: automata, heat, mazes, images filtered by loops."""

from __future__ import annotations

import numpy as np
from benchmarks.scripts.program import script


@script(40, 6, lambda r, n: ((r.random((n, n)) < 0.3).astype(int),))
def life_by_hand(grid):
    rows, columns = grid.shape
    new = np.zeros_like(grid)
    for i in range(rows):
        for j in range(columns):
            near = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di != 0 or dj != 0:
                        near += grid[(i + di) % rows, (j + dj) % columns]
            if near == 3 or (near == 2 and grid[i, j] == 1):
                new[i, j] = 1
    return new


@script(300, 5, lambda r, n: (r.random((40, 40)), n))
def heat(plate, steps):
    for _ in range(steps):
        inner = plate[1:-1, 1:-1]
        change = plate[2:, 1:-1] + plate[:-2, 1:-1] + plate[1:-1, 2:] + plate[1:-1, :-2] - 4 * inner
        plate[1:-1, 1:-1] = inner + 0.1 * change
        plate[0] = plate[1]
        plate[-1] = plate[-2]
    return plate


@script(56, 7, lambda r, n: (r.random((n, n)),))
def box_blur(image):
    rows, columns = image.shape
    out = np.zeros_like(image)
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            total = 0.0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    total += image[i + di, j + dj]
            out[i, j] = total / 9
    return out


@script(48, 7, lambda r, n: (r.integers(0, 256, (n, n)).astype(float),))
def sobel(image):
    rows, columns = image.shape
    edges = np.zeros((rows, columns))
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            gx = image[i - 1, j + 1] + 2 * image[i, j + 1] + image[i + 1, j + 1]
            gx -= image[i - 1, j - 1] + 2 * image[i, j - 1] + image[i + 1, j - 1]
            gy = image[i + 1, j - 1] + 2 * image[i + 1, j] + image[i + 1, j + 1]
            gy -= image[i - 1, j - 1] + 2 * image[i - 1, j] + image[i - 1, j + 1]
            edges[i, j] = (gx * gx + gy * gy) ** 0.5
    return edges


def make_cave(r, n):
    cave = r.random((n, n)) < 0.75
    cave[n // 2, n // 2] = True
    return (cave,)


@script(40, 7, make_cave)
def flood_fill(open_cells):
    rows, columns = open_cells.shape
    seen = np.zeros((rows, columns), dtype=bool)
    stack, size = [(rows // 2, columns // 2)], 0
    while stack:
        i, j = stack.pop()
        if i < 0 or j < 0 or i >= rows or j >= columns or seen[i, j] or not open_cells[i, j]:
            continue
        seen[i, j] = True
        size += 1
        stack.append((i + 1, j))
        stack.append((i - 1, j))
        stack.append((i, j + 1))
        stack.append((i, j - 1))
    return size, seen


@script(64, 6, lambda r, n: (r.random((n, n)), 0.5))
def dither(image, threshold):
    image = image.copy()
    rows, columns = image.shape
    for i in range(rows - 1):
        for j in range(1, columns - 1):
            old = image[i, j]
            new = 1.0 if old > threshold else 0.0
            image[i, j] = new
            error = old - new
            image[i, j + 1] += error * 7 / 16
            image[i + 1, j - 1] += error * 3 / 16
            image[i + 1, j] += error * 5 / 16
            image[i + 1, j + 1] += error / 16
    return image
