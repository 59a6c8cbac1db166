"""Prices, loans, portfolios."""

from __future__ import annotations

import math

import numpy as np
from benchmarks.scripts.program import script


@script(80, 6, lambda r, n: (100.0 + r.random(), 100.0, 0.05, 0.2, 1.0, n))
def option_by_tree(spot, strike, rate, sigma, years, steps):
    dt = years / steps
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(rate * dt) - 1 / up) / (up - 1 / up)
    values = [max(0.0, strike - spot * up ** (2 * k - steps)) for k in range(steps + 1)]
    for step in range(steps - 1, -1, -1):
        for k in range(step + 1):
            hold = math.exp(-rate * dt) * (p * values[k + 1] + (1 - p) * values[k])
            values[k] = max(hold, strike - spot * up ** (2 * k - step))
    return values[0]


@script(250, 8, lambda r, n: (100.0 + r.random(), 100.0, 0.05, 0.2, n))
def option_by_array_tree(spot, strike, rate, sigma, steps):
    dt = 1.0 / steps
    up = np.exp(sigma * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    prices = spot * up ** np.arange(-steps, steps + 1, 2)
    values = np.maximum(strike - prices, 0)
    for step in range(steps - 1, -1, -1):
        values = np.exp(-rate * dt) * (p * values[1:] + (1 - p) * values[:-1])
        prices = prices[:-1] * up
        values = np.maximum(values, strike - prices)
    return values[0]


@script(100, 5, lambda r, n: (r, 100.0, 0.05, 0.2, n))
def asian_option(rng, spot, rate, sigma, paths):
    total = 0.0
    for _ in range(paths):
        price, running = spot, 0.0
        for _ in range(25):
            z = rng.standard_normal()
            price *= math.exp((rate - 0.5 * sigma**2) / 25 + sigma / 5 * z)
            running += price
        total += max(running / 25 - 100.0, 0.0)
    return math.exp(-rate) * total / paths


@script(800, 40, lambda r, n: (100 + r.normal(size=n).cumsum(), 10, 30))
def crossover(prices, fast, slow):
    cash, shares = 1000.0, 0.0
    for t in range(slow, len(prices)):
        short = prices[t - fast : t].mean()
        long = prices[t - slow : t].mean()
        if short > long and cash > 0:
            shares, cash = cash / prices[t], 0.0
        elif short < long and shares > 0:
            cash, shares = shares * prices[t], 0.0
    return cash + shares * prices[-1]


@script(6000, 20, lambda r, n: (200000.0 + r.random(), 0.04, n))
def mortgage(amount, rate, months):
    monthly = rate / 12
    payment = amount * monthly / (1 - (1 + monthly) ** -months)
    interest_paid, year = 0.0, []
    for month in range(months):
        interest = amount * monthly
        amount -= payment - interest
        interest_paid += interest
        if month % 12 == 11:
            year.append(round(amount, 2))
    return interest_paid, year
