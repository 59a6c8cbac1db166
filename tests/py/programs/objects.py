"""Objects: operators, properties, inheritance, class attributes, polynomials."""

from __future__ import annotations

import numpy as np

from programs.registry import Program
from programs.shapes import in_turn, laid_out, lengths, sizes


class Vector:
    """Points of space, one per row of an array, with arithmetic."""

    __slots__ = ("data",)

    def __init__(self, data):
        self.data = data

    def __add__(self, other):
        return Vector(self.data + (other.data if isinstance(other, Vector) else other))

    def __sub__(self, other):
        return self + -other

    def __neg__(self):
        return Vector(-self.data)

    def __mul__(self, factor):
        return Vector(self.data * factor)

    __rmul__ = __mul__

    def __matmul__(self, other):
        return (self.data * other.data).sum(axis=-1)

    def __getitem__(self, axis):
        return self.data[..., "xyz".index(axis)]

    def __len__(self):
        return len(self.data)

    def __abs__(self):
        return np.sqrt(self @ self)

    def cross(self, other):
        x = self["y"] * other["z"] - self["z"] * other["y"]
        y = self["z"] * other["x"] - self["x"] * other["z"]
        z = self["x"] * other["y"] - self["y"] * other["x"]
        return Vector(np.stack([x, y, z], axis=-1))


def reflect(rays, normals, bend=0.5):
    """Reflect rays at surfaces; return them, how directly each hit, and the axes of rotation."""
    rays, normals = Vector(rays), Vector(normals)
    normals = normals * (1 / np.maximum(abs(normals), 1e-12))[:, None]
    along = rays @ normals
    mirrored = rays - 2 * normals * along[:, None]
    bent = bend * rays + (1 - bend) * mirrored
    axes = rays.cross(bent)
    return mirrored, abs(axes), axes["z"], len(bent)


def reflect_cases(rng):
    layout = in_turn("c", "fortran")
    for n in lengths(rng, 60):
        order = next(layout)
        yield laid_out(rng.normal(size=(n, 3)), order), laid_out(rng.normal(size=(n, 3)), order)


class Kalman:
    """Tracks many independent positions and speeds from measured positions."""

    model = np.array([[1.0, 1.0], [0.0, 1.0]])

    def __init__(self, count, noise):
        self.state = np.zeros((count, 2))
        self.covariance = np.tile(np.eye(2), (count, 1, 1))
        self.noise = noise
        self.updates = 0

    @property
    def position(self):
        return self.state[:, 0]

    @property
    def uncertainty(self):
        return np.sqrt(self.covariance[:, 0, 0] + self.covariance[:, 1, 1])

    def predict(self):
        self.state = self.state @ self.model.T
        self.covariance = self.model @ self.covariance @ self.model.T
        self.covariance[:, [0, 1], [0, 1]] += 0.01

    def update(self, measured):
        innovation = measured - self.position
        spread = self.covariance[:, 0, 0] + self.noise
        gain = self.covariance[:, :, 0] / spread[:, None]
        self.state += gain * innovation[:, None]
        self.covariance -= gain[:, :, None] * self.covariance[:, 0, None, :]
        self.updates += 1
        return np.abs(innovation).max(initial=0.0)


def track(measurements, noise=1.0):
    """Filter four measurements of many objects; return the filter and the surprises."""
    kalman = Kalman(measurements.shape[1], noise)
    surprises = []
    for measured in measurements:
        kalman.predict()
        surprises.append(kalman.update(measured))
    return kalman, surprises, kalman.position, kalman.uncertainty


def track_cases(rng):
    for n in lengths(rng, 40):
        yield np.cumsum(rng.normal(size=(4, n)), axis=0), float(rng.uniform(0.1, 2))


class Field:
    """A potential over points; sums of fields are fields."""

    count = 0

    def __init__(self, strength):
        self.strength = strength
        Field.count += 1

    def __call__(self, points):
        return self.strength * self.shape(np.sqrt((points**2).sum(axis=1)))

    def shape(self, distance):
        return -distance

    def __add__(self, other):
        return Sum(self, other)


class Well(Field):
    def __init__(self, strength, width):
        super().__init__(strength)
        self.width = width

    def shape(self, distance):
        return -np.exp(-((distance / self.width) ** 2))


class Shell(Well):
    def shape(self, distance):
        return super().shape(distance - 1.0) * 0.5


class Sum(Field):
    def __init__(self, *parts):
        super().__init__(1.0)
        self.parts = parts

    def __call__(self, points):
        return self.strength * sum([part(points) for part in self.parts])


def landscape(points, strength, width):
    """Add fields of several classes up, and find the lowest point and the field's slope there."""
    before = Field.count
    total = Field(0.1 * strength) + Well(strength, width) + Shell(-strength, 2 * width)
    potential = total(points)
    lowest = potential.argmin()
    h = 1e-4
    slope = [(total(points + h * e) - total(points - h * e)) / (2 * h) for e in np.eye(2)]
    kinds = [type(part).__name__ for part in total.parts]
    return potential, lowest, np.stack(slope, axis=1), kinds, Field.count - before


def landscape_cases(rng):
    layout = in_turn("c", "fortran")
    for n in lengths(rng, 60):
        points = laid_out(rng.normal(size=(n, 2)), next(layout))
        yield points, float(rng.uniform(1, 3)), float(rng.uniform(0.5, 2))


class Polynomial:
    """Coefficients by ascending power, evaluated by Horner's rule."""

    def __init__(self, coefficients):
        self.coefficients = np.asarray(coefficients, dtype=np.float64)

    @classmethod
    def from_roots(cls, *roots):
        product = cls([1.0])
        for root in roots:
            product = product * cls([-root, 1.0])
        return product

    @property
    def degree(self):
        return len(self.coefficients) - 1

    def __mul__(self, other):
        result = np.zeros(self.degree + other.degree + 1)
        for power, c in enumerate(self.coefficients):
            result[power : power + other.degree + 1] += c * other.coefficients
        return type(self)(result)

    def __call__(self, x):
        value = np.zeros_like(x)
        for c in self.coefficients[::-1]:
            value *= x
            value += c
        return value

    def derivative(self):
        return type(self)(self.coefficients[1:] * np.arange(1, self.degree + 1))

    def __repr__(self):
        return f"{type(self).__name__}(degree={self.degree})"


def newton_fractal(x, roots, rounds=5):
    """Let each point run to a root of a polynomial; say which root, how near, and of what."""
    polynomial = Polynomial.from_roots(*roots)
    slope = polynomial.derivative()
    z = x.copy()
    with np.errstate(all="ignore"):
        for _ in range(rounds):
            z -= 0.5 * np.tanh(polynomial(z) / (np.abs(slope(z)) + 0.1)) * np.sign(slope(z))
    distance = np.abs(np.subtract.outer(z, roots))
    nearest = distance.argmin(axis=-1)
    arrived = np.isclose(distance.min(axis=-1), 0.0, atol=1e-2)
    return z, nearest, arrived, repr(polynomial)


def newton_fractal_cases(rng):
    layout = in_turn("c", "strided", "fortran")
    for shape in sizes(rng, 2, 20):
        x = laid_out(rng.uniform(-2, 2, shape), next(layout))
        yield x, tuple(float(r) for r in rng.uniform(-2, 2, 3))


ADVANCED = frozenset({"getitem", "setitem"})

PROGRAMS = [
    Program(reflect, reflect_cases, captures=2, scale=5.0),
    Program(track, track_cases, captures=1, opaque=ADVANCED, scale=10.0),
    Program(landscape, landscape_cases, captures=2, scale=1e3, variables=("Field.count",)),
    Program(newton_fractal, newton_fractal_cases, captures=3, scale=10.0),
]
