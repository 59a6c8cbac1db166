"""Physics: fields on grids, particles, orbits, lattices."""

import numpy as np

from programs.registry import Program
from programs.shapes import in_turn, laid_out, lengths, sizes

GRAVITY = 9.81


def heat_rod(u, alpha=0.25, steps=10):
    """Diffuse heat along a rod in place, its ends held; return the rod and its mean history."""
    history = []
    for _ in range(steps):
        u[1:-1] += alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
        history.append(u.sum())
    return u, np.array(history)


def heat_rod_cases(rng):
    layout = in_turn("c", "strided", "reversed")
    for n in lengths(rng):
        yield laid_out(rng.uniform(0, 100, n), next(layout)), float(rng.uniform(0.05, 0.45))


def wave_membrane(height, velocity, dt=0.1, steps=6):
    """Move a periodic membrane with leapfrog steps into buffers that are used again."""
    force = np.empty_like(height)
    scratch = np.empty_like(height)
    for _ in range(steps):
        np.multiply(height, -4.0, out=force)
        for axis in (0, 1):
            for shift in (-1, 1):
                force += np.roll(height, shift, axis=axis)
        np.multiply(force, dt, out=scratch)
        velocity += scratch
        np.multiply(velocity, dt, out=scratch)
        np.add(height, scratch, out=height)
    kinetic = 0.5 * (velocity**2).sum()
    return height, kinetic


def wave_membrane_cases(rng):
    for shape in sizes(rng, 2, 30):
        yield rng.normal(size=shape), np.zeros(shape)


def orbits(position, velocity, mass, dt=0.01, softening=0.05):
    """Let bodies attract each other for three steps; return the state and the energy."""

    def acceleration(p):
        offset = np.expand_dims(p, 0) - np.expand_dims(p, 1)
        squared = (offset**2).sum(axis=-1) + softening**2
        strength = mass / (squared * np.sqrt(squared))
        return np.einsum("ij,ijk->ik", strength, offset)

    a = acceleration(position)
    for _ in range(3):
        velocity = velocity + 0.5 * dt * a
        position = position + dt * velocity
        a = acceleration(position)
        velocity = velocity + 0.5 * dt * a
    kinetic = 0.5 * (mass * (velocity**2).sum(axis=1)).sum()
    center = (mass[:, None] * position).sum(axis=0) / mass.sum()
    return {"position": position, "velocity": velocity, "kinetic": kinetic, "center": center}


def orbits_cases(rng):
    for n in lengths(rng, 20):
        yield rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.uniform(0.5, 2, n)


def rk4(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def projectiles(speed, angle, drag=0.01, flight=1.0):
    """Throw balls through the air for eight Runge-Kutta steps; return paths and landings."""

    def derivative(_, state):
        vx, vy = state[2], state[3]
        resistance = drag * np.hypot(vx, vy)
        return np.stack([vx, vy, -resistance * vx, -GRAVITY - resistance * vy])

    state = np.zeros((4, *speed.shape))
    state[2] = speed * np.cos(angle)
    state[3] = speed * np.sin(angle)
    steps = 8
    h = flight / steps
    path = [state[:2]]
    for i in range(steps):
        state = rk4(derivative, i * h, state, h)
        path.append(state[:2].copy())
    landed = state[1] <= 0
    return np.array(path), landed, np.where(landed, state[0], np.inf).min(initial=np.inf)


def projectiles_cases(rng):
    for n in lengths(rng, 60):
        yield rng.uniform(1, 20, n), rng.uniform(0, 1.5, n), float(rng.uniform(0, 0.05))


def ising_sweep(spins, draws, beta, field=0):
    """Update a lattice of spins in two interleaved halves; return it, its energy and mean."""
    rows, columns = spins.shape
    parity = (np.arange(rows)[:, None] + np.arange(columns)) % 2
    for color in (0, 1):
        neighbours = np.roll(spins, 1, 0) + np.roll(spins, -1, 0)
        neighbours += np.roll(spins, 1, axis=1) + np.roll(spins, -1, axis=1)
        cost = 2 * spins * (neighbours + field)
        flip = (parity == color) & ((cost <= 0) | (draws[color] < np.exp(-beta * cost)))
        spins = np.where(flip, -spins, spins)
    right, down = np.roll(spins, -1, axis=1), np.roll(spins, -1, axis=0)
    energy = -(spins * (right + down)).sum() - field * spins.sum()
    return spins, energy, spins.mean() if spins.size else 0.0


def ising_sweep_cases(rng):
    for shape in sizes(rng, 2, 30):
        spins = rng.choice(np.array([-1, 1]), shape)
        yield spins, rng.uniform(size=(2, *shape)), float(rng.uniform(0.2, 1)), int(rng.integers(3))


def relax_potential(potential, fixed, tolerance=0.02, limit=60):
    """Average each free point with its neighbours until nothing moves; count the sweeps."""
    sweeps = 0
    while sweeps < limit:
        padded = np.pad(potential, 1, mode="edge")
        average = 0.25 * (
            padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
        )
        updated = np.where(fixed, potential, average)
        moved = np.abs(updated - potential).max(initial=0.0)
        potential = updated
        sweeps += 1
        if moved < tolerance:
            break
    return potential, sweeps


def relax_potential_cases(rng):
    for shape in sizes(rng, 2, 16):
        potential = rng.uniform(0, 0.3, shape)
        yield potential, rng.uniform(size=shape) < 0.4


PROGRAMS = [
    Program(heat_rod, heat_rod_cases, captures=2),
    Program(wave_membrane, wave_membrane_cases, captures=1),
    Program(orbits, orbits_cases, captures=1),
    Program(projectiles, projectiles_cases, captures=1),
    # the mean is of an empty lattice or not
    Program(ising_sweep, ising_sweep_cases, captures=2),
    # one for each number of sweeps that occurs
    Program(relax_potential, relax_potential_cases, captures=7, rolled=1),
]
