"""Simulations step by step: bodies, queues, circuits, populations."""

from __future__ import annotations

import math

import numpy as np
from benchmarks.scripts.program import script


@script(8000, 60, lambda r, n: (r.random(), 9.81, 0.001, n))
def pendulum(angle, gravity, dt, steps):
    speed, crossings = 0.0, 0
    for _ in range(steps):
        before = angle
        speed -= gravity * math.sin(angle) * dt
        angle += speed * dt
        if before * angle < 0:
            crossings += 1
    return angle, speed, crossings


@script(2500, 50, lambda r, n: (10.0 + r.random(), 28.0, 8 / 3, n))
def lorenz(sigma, rho, beta, steps):
    path = np.empty((steps, 3))
    x, y, z = 1.0, 1.0, 1.0
    for k in range(steps):
        dx, dy, dz = sigma * (y - x), x * (rho - z) - y, x * y - beta * z
        x, y, z = x + 0.005 * dx, y + 0.005 * dy, z + 0.005 * dz
        path[k] = x, y, z
    return path


class Body:
    def __init__(self, mass, x, y, vx, vy):
        self.mass, self.x, self.y, self.vx, self.vy = mass, x, y, vx, vy


def make_bodies(r, n):
    return ([Body(*(0.5 + r.random(5)).tolist()) for _ in range(6)], n, 0.001)


@script(150, 3, make_bodies)
def planets(bodies, steps, dt):
    for _ in range(steps):
        for a in bodies:
            ax = ay = 0.0
            for b in bodies:
                if a is b:
                    continue
                dx, dy = b.x - a.x, b.y - a.y
                near = (dx * dx + dy * dy + 0.01) ** 1.5
                ax += b.mass * dx / near
                ay += b.mass * dy / near
            a.vx += ax * dt
            a.vy += ay * dt
        for a in bodies:
            a.x += a.vx * dt
            a.y += a.vy * dt
    return [(a.x, a.y) for a in bodies]


@script(6000, 80, lambda r, n: (r.exponential(1.0, n), r.exponential(0.8, n)))
def queue(gaps, services):
    clock = free = waited = 0.0
    longest = 0.0
    for gap, service in zip(gaps, services):
        clock += gap
        start = max(clock, free)
        wait = start - clock
        waited += wait
        longest = max(longest, wait)
        free = start + service
    return waited / len(gaps), longest


@script(5000, 60, lambda r, n: (1000.0, 5.0 + r.random(), n))
def epidemic(people, sick, steps):
    healthy, cured, peak = people - sick, 0.0, sick
    curve = []
    for _ in range(steps):
        new = 0.003 * healthy * sick / people
        gone = 0.001 * sick
        healthy -= new
        sick += new - gone
        cured += gone
        peak = max(peak, sick)
        curve.append(sick)
    return peak, cured, curve[-1], len(curve)
