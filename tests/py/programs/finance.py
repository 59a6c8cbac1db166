"""Finance: prices, returns, risk, cash flows."""

from dataclasses import dataclass

import numpy as np

from programs.registry import Keywords, Program
from programs.shapes import in_turn, laid_out, lengths, sizes


def normal_cdf(x):
    """Approximate the normal distribution (Abramowitz and Stegun 26.2.17)."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    coefficients = (0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
    series = 0.0
    for c in reversed(coefficients):
        series = k * (c + series)
    tail = series * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    return np.where(x > 0, 1.0 - tail, tail)


def black_scholes(spot, strike, years, *, rate=0.02, volatility=0.3, kind="call"):
    """Price European options, and say how they follow the spot price."""
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = volatility * np.sqrt(years)
        d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    d2 = d1 - spread
    discount = strike * np.exp(-rate * years)
    call = spot * normal_cdf(d1) - discount * normal_cdf(d2)
    delta = normal_cdf(d1)
    if kind == "put":
        return call - spot + discount, delta - 1.0
    return call, delta


def black_scholes_cases(rng):
    for index, n in enumerate(lengths(rng)):
        options = Keywords(volatility=float(rng.uniform(0.1, 0.5)), kind=("call", "put")[index % 2])
        yield rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n), options


def drawdown(prices):
    """Find the worst fall of a price from its peak: how much, from when, to when."""
    peak = np.maximum.accumulate(prices)
    fall = 1.0 - prices / peak
    bottom = int(fall.argmax())
    top = int(prices[: bottom + 1].argmax())
    summary = {"fall": fall, "worst": fall.max(), "from": top, "to": bottom}
    summary["days"] = np.count_nonzero(fall > 0.05)
    summary["total"] = np.prod(prices[1:] / prices[:-1]) - 1.0
    return summary


def drawdown_cases(rng):
    for n in lengths(rng, 300):
        yield (100 * np.exp(np.cumsum(rng.normal(0, 0.02, n))),)


def crossover(prices, fast=3, slow=8, fee=0.001):
    """Trade on the crossing of two moving averages; return positions, trades and equity."""

    def average(window):
        total = np.cumsum(prices, axis=0)
        result = total.copy()
        result[window:] -= total[:-window]
        return result / window

    signal = np.sign(average(fast) - average(slow)).astype(np.int64)
    signal[:slow] = 0
    position = np.zeros_like(signal)
    position[1:] = signal[:-1]
    trades = np.abs(np.diff(position, axis=0, prepend=0))
    growth = np.ones_like(prices)
    growth[1:] = prices[1:] / prices[:-1]
    equity = np.cumprod(1 + position * (growth - 1) - fee * trades, axis=0)
    return position, trades.sum(axis=0), equity


def crossover_cases(rng):
    layout = in_turn("c", "fortran")
    for shape in sizes(rng, 2, 60):
        prices = 100 * np.exp(np.cumsum(rng.normal(0, 0.02, shape), axis=0))
        yield laid_out(prices, next(layout)), int(rng.integers(2, 4)), int(rng.integers(5, 12))


@dataclass
class Portfolio:
    weights: np.ndarray
    cash: float = 0.0
    rebalanced: int = 0

    @property
    def invested(self):
        return 1.0 - self.cash

    def rebalance(self, target, limit):
        change = np.clip(target - self.weights, -limit, limit)
        self.weights = self.weights + change
        self.weights /= self.weights.sum() / self.invested
        self.rebalanced += 1
        return np.abs(change).sum()


def manage(portfolio, returns, risk_free=0.01):
    """Rebalance towards low variance twice, and judge the portfolio."""
    mean = returns.mean(axis=0)
    turnover = 0.0
    for limit in (0.1, 0.05):
        inverse = 1.0 / (returns.var(axis=0) + 1e-8)
        turnover += portfolio.rebalance(inverse / inverse.sum(), limit)
    earned = returns @ portfolio.weights
    risk = earned.std()
    sharpe = (portfolio.weights @ mean - risk_free) / risk
    return f"rebalanced {portfolio.rebalanced} times", turnover, sharpe, earned


def manage_cases(rng):
    for days, assets in sizes(rng, 2, 30):
        weights = np.full(assets, 0.9 / max(assets, 1))
        yield Portfolio(weights, cash=0.1), rng.normal(0.03, 0.1, (days, assets))


def internal_rate(flows, guess=0.1, tolerance=1e-9):
    """Find the rate at which cash flows are worth nothing, by Newton's method on plain numbers."""
    years = np.arange(len(flows))
    rate = guess
    for iteration in range(1, 20):
        factors = (1.0 + rate) ** -years
        value = float((flows * factors).sum())
        slope = float(-(years * flows * factors).sum()) / (1.0 + rate)
        if slope == 0.0:
            return None, iteration
        step = value / slope
        rate -= step
        if abs(step) < tolerance:
            return rate, iteration
    return None, iteration


def internal_rate_cases(rng):
    for n in lengths(rng, 12):
        flows = rng.uniform(20, 60, n)
        flows[:1] = -100.0 * max(n, 1) / 4
        yield (flows,)


def value_at_risk(returns, holdings, levels=(0.05, 0.01)):
    """Estimate by history what a portfolio can lose, at several levels, and beyond them."""
    profit = (returns * holdings).sum(axis=1)
    ordered = np.sort(profit)
    n = len(ordered)
    report = []
    for level in levels:
        index = n // round(1 / level)
        cut = -ordered[index]
        beyond = np.mean(ordered, where=ordered <= -cut)
        report.append((f"{level:.0%}", cut, -beyond))
    total = profit.cumsum()
    return report, {"total": total[-1], "worst": total.min(), "days": n}


def value_at_risk_cases(rng):
    for days, assets in sizes(rng, 2, 120):
        yield rng.normal(0, 0.02, (days, assets)), rng.uniform(1, 5, assets)


PROGRAMS = [
    # calls and puts
    Program(black_scholes, black_scholes_cases, captures=2, scale=100.0),
    Program(drawdown, drawdown_cases, captures=1),
    Program(crossover, crossover_cases, captures=2),
    Program(manage, manage_cases, captures=1),
    # one for each number of iterations that occurs, and a slope of zero
    Program(internal_rate, internal_rate_cases, captures=6, rolled=2),
    Program(value_at_risk, value_at_risk_cases, captures=1, opaque=frozenset({"sort"})),
]
