"""Graphs on lists, dicts and arrays; sorting and counting."""

from __future__ import annotations

import heapq
from collections import deque

from benchmarks.scripts.program import script


def neighbours(r, n):
    return {k: [int(j) for j in r.integers(0, n, 4)] for k in range(n)}


@script(1500, 20, lambda r, n: (neighbours(r, n), 0))
def breadth_first(graph, start):
    distance = {start: 0}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for other in graph[node]:
            if other not in distance:
                distance[other] = distance[node] + 1
                waiting.append(other)
    return max(distance.values()), len(distance)


@script(
    400,
    12,
    lambda r, n: ({k: [(j, 1.0 + j % 7) for j in v] for k, v in neighbours(r, n).items()}, 0),
)
def dijkstra(graph, start):
    best = {start: 0.0}
    heap = [(0.0, start)]
    while heap:
        length, node = heapq.heappop(heap)
        if length > best[node]:
            continue
        for other, weight in graph[node]:
            new = length + weight
            if new < best.get(other, float("inf")):
                best[other] = new
                heapq.heappush(heap, (new, other))
    return sorted(best.items())


@script(22, 5, lambda r, n: (r.integers(1, 50, (n, n)).astype(float),))
def floyd(weights):
    d = weights.copy()
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


@script(6000, 30, lambda r, n: (n, r.integers(0, n, (n, 2)).tolist()))
def components(count, edges):
    parent = list(range(count))
    left = count
    for a, b in edges:
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            left -= 1
    return left


@script(200, 10, lambda r, n: (r.integers(0, 1000, n).tolist(),))
def bubble_sort(numbers):
    numbers = list(numbers)
    for i in range(len(numbers)):
        for j in range(len(numbers) - 1 - i):
            if numbers[j] > numbers[j + 1]:
                numbers[j], numbers[j + 1] = numbers[j + 1], numbers[j]
    return numbers


@script(40000, 60, lambda r, n: (n + int(r.integers(100)),))
def primes(limit):
    is_prime = [True] * (limit + 1)
    is_prime[0] = is_prime[1] = False
    for k in range(2, int(limit**0.5) + 1):
        if is_prime[k]:
            for multiple in range(k * k, limit + 1, k):
                is_prime[multiple] = False
    return sum(is_prime)
