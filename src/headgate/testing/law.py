"""What every law must do, one function for each promise, at two rates: checked against its own definition alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from headgate.errors import ParameterError, UnsupportedError
from headgate.estimators import likelihood
from headgate.evidence import Evidence
from headgate.laws import LAWS, Floats, Law, from_dict
from headgate.problem import Problem
from headgate.testing.harness import expect

_RATES = (0.37, 2.5)
_BODY = np.linspace(0.01, 0.99, 41)
_TAILS = np.concatenate([np.geomspace(1e-12, 1e-2, 6), 1.0 - np.geomspace(1e-2, 1e-9, 5)])
_DRAWS, _CHANCE = 4000, 1e-6
_ROWS = 3000


def _close(value: Any, truth: Any, tolerance: float, what: str, *, atol: float = 0.0) -> None:
    expect(np.allclose(value, truth, rtol=tolerance, atol=atol), "{}: got {}, it must be {}", what, value, truth)


def _amounts(law: Law, rate: float, q: Floats = _BODY) -> Floats:
    """Amounts all over the body of the law, each once."""
    return np.unique(law.quantile(q, rate))


def _integral(f: Callable[[Floats], Floats], low: float, high: float) -> float:
    return float(integrate.quad(lambda x: float(f(np.asarray(x))), low, high, limit=200)[0])


def distribution_function_is_one(law: Law) -> None:
    """G is 0 up to 0, 1 at infinity, grows with x and with the rate, and is 1 - exp(log_sf)."""
    for rate in _RATES:
        x = _amounts(law, rate)
        _close(
            law.cdf([-np.inf, -1.0, 0.0, np.inf], rate), [0.0, 0.0, 0.0, 1.0], 0.0, "G below 0, at 0 and at infinity"
        )
        expect(law.log_sf(np.inf, rate) == -np.inf, "log_sf at infinity must be -infinity")
        expect(np.all(np.diff(law.cdf(x, rate)) > 0.0), "G must grow with x")
        expect(np.all(law.cdf(x, 1.01 * rate) >= law.cdf(x, rate)), "the larger the rate, the easier the threshold")
        _close(law.cdf(x, rate), -np.expm1(law.log_sf(x, rate)), 1e-12, "G")
        _close(law.pdf(x, rate), np.exp(law.log_pdf(x, rate)), 0.0, "pdf")
        expect(
            np.all(law.log_pdf([-np.inf, -1.0, np.inf], rate) == -np.inf), "there is no density beyond [0, infinity)"
        )


def density_adds_up_to_the_distribution(law: Law) -> None:
    """The integral (or sum) of the density over the body of the law is the growth of G."""
    for rate in _RATES:
        low, high = (float(law.quantile(q, rate)) for q in (0.02, 0.95))
        if law.integer:
            n = np.arange(1.0, high + 1.0)
            _close(np.cumsum(law.pdf(n, rate)), law.cdf(n, rate), 1e-9, "the sum of the probabilities")
            expect(np.all(law.log_pdf(n + 0.5, rate) == -np.inf), "only whole numbers have a probability")
            continue
        area = _integral(lambda y: law.pdf(np.exp(y), rate) * np.exp(y), *np.log([low, high]))  # noqa: B023  # called at once
        _close(area, law.cdf(high, rate) - law.cdf(low, rate), 1e-7, "the integral of the density")


def tails_do_not_cancel(law: Law) -> None:
    """In both tails log G and log(1 - G) have the slope that the density gives them, where G itself is 0 or 1."""
    if law.integer:
        return
    for rate in _RATES:
        x = law.quantile(_TAILS, rate)
        # Not so near the end of a support that x has too few digits to tell how near.
        x = x[(x > 0.0) & (x < 1e290) & np.isfinite(law.log_sf(x * (1.0 + 1e-8), rate))]
        left = law.cdf(x, rate) < 0.5
        log_g, log_s = np.log(law.cdf(x, rate)), law.log_sf(x, rate)
        slope = x * np.exp(law.log_pdf(x, rate) - np.where(left, log_g, log_s))
        h = 1e-4 / np.maximum(slope, 1.0)  # a law that ends may be steep there
        above, below = x * (1.0 + h), x * (1.0 - h)
        with np.errstate(divide="ignore", invalid="ignore"):  # in the other tail, where it is not looked at
            by_g = np.log(law.cdf(above, rate) / law.cdf(below, rate)) / (2.0 * h)
        by_s = (law.log_sf(below, rate) - law.log_sf(above, rate)) / (2.0 * h)
        _close(np.where(left, by_g, by_s), slope, 1e-3, f"the slopes of log G and log(1 - G) at {x}")
        far = np.geomspace(1.0, 1e3, 40) * float(law.quantile(0.99, rate))
        finite = np.isfinite(law.log_sf(far, rate))
        expect(
            np.all(np.diff(law.log_sf(far, rate)[finite]) < 0.0),
            "log_sf must keep falling where G is 1 to the last digit",
        )


def quantile_inverts(law: Law) -> None:
    """quantile is the smallest x with G(x) >= q; rate_of_quantile is its inverse in the rate."""
    for rate in _RATES:
        x = law.quantile(_BODY, rate)
        if law.integer:
            expect(np.all(law.cdf(x, rate) >= _BODY), "G at a quantile must be at least q")
            expect(np.all(law.cdf(x - 1.0, rate) < _BODY), "one less than a quantile must have G below q")
            continue
        _close(law.cdf(x, rate), _BODY, 1e-9, "G at the quantiles")
        expect(law.quantile(0.0, rate) == 0.0, "the quantile of 0 must be 0")
        expect(law.cdf(law.quantile(1.0, rate), rate) == 1.0, "the quantile of 1 must have G = 1")
        _close(law.rate_of_quantile(x, _BODY), rate, 1e-8, "the rate of the quantiles")


def draws_follow_the_law(law: Law) -> None:
    """The share of draws up to any x is near G(x), by Massart's inequality; a right law fails once in a million."""
    most = np.sqrt(np.log(2.0 / _CHANCE) / (2.0 * _DRAWS))
    for rate in _RATES:
        draws = np.sort(law.sample(rate, np.random.default_rng(0), _DRAWS))
        expect(np.all(draws >= 0.0), "thresholds must not be negative")
        share = np.searchsorted(draws, draws, side="right") / _DRAWS
        gap = float(np.max(np.abs(share - law.cdf(draws, rate))))
        expect(gap <= most, f"the draws are {gap:.3f} from G, {most:.3f} is the most that chance allows")


def truncated_mean_is_the_mean(law: Law) -> None:
    """E[X | X <= u] = u - (integral of G up to u) / G(u), or the sum; rate_of_truncated_mean inverts it.

    An inverse there is only where the mean falls as the rate grows: the paper assumes it, but some laws (Gompertz with
    a small shape) do not have it.
    """
    for rate in _RATES:
        for upper in np.unique(law.quantile([0.3, 0.6, 0.95], rate)).tolist():
            if law.integer:
                n = np.arange(1.0, upper + 1.0)
                mean = float(np.sum(n * law.pdf(n, rate)) / law.cdf(upper, rate))
            else:
                area = _integral(lambda x: law.cdf(x, rate), 0.0, upper)  # noqa: B023  # called at once
                mean = upper - area / float(law.cdf(upper, rate))
            truncated_mean = law.truncated_mean(rate, upper)
            _close(truncated_mean, mean, 1e-6, f"the mean below {upper}")
            means = law.truncated_mean(rate * np.geomspace(1e-3, 1e3, 61), upper)
            if np.all(np.diff(means) <= 0.0) and not (law.integer and upper <= 1.0):
                _close(law.rate_of_truncated_mean(truncated_mean, upper), rate, 1e-5, "the rate of a truncated mean")


def inflection_is_the_peak(law: Law) -> None:
    """The density does not fall before the inflection nor rise after it."""
    for rate in _RATES:
        x = _amounts(law, rate)
        peak, density = float(law.inflection(rate)), law.pdf(x, rate)
        slack = 1e-9 * np.max(density[np.isfinite(density)])
        step, beyond = np.diff(density), float(law.integer)
        expect(np.all(step[x[1:] < peak] >= -slack), f"the density must not fall before its peak at {peak}")
        expect(np.all(step[x[:-1] > peak + beyond] <= slack), f"the density must not rise after its peak at {peak}")
        expect(bool(law.is_concave(x[-1], rate)) == (peak <= 0.0), "G is concave where its peak is at 0")


def constants_hold(law: Law) -> None:
    """lipschitz_rate bounds dG/drate, lipschitz_mean is below every dmu/drate; a boost by nothing is 1."""
    low, high = 0.3, 1.5
    rates, h = np.geomspace(low * 1.001, high / 1.001, 9), 1e-5
    upper = float(law.quantile(0.9, high))
    x = upper * np.linspace(0.05, 1.0, 40)[:, None]
    steep = np.max(np.abs(law.cdf(x, rates * (1.0 + h)) - law.cdf(x, rates * (1.0 - h))) / (2.0 * h * rates))
    expect(
        steep <= float(law.lipschitz_rate(upper, (low, high))) * (1.0 + 1e-6),
        f"lipschitz_rate must be at least {steep}",
    )
    means = [law.truncated_mean(rates * (1.0 + s), np.floor(upper) + 2.0 if law.integer else upper) for s in (-h, h)]
    flat = np.min(np.abs(means[1] - means[0]) / (2.0 * h * rates))
    constant = float(law.lipschitz_mean(np.floor(upper) + 2.0 if law.integer else upper, (low, high)))
    expect(0.0 < constant <= flat * (1.0 + 1e-3), f"lipschitz_mean must be above 0 and at most {flat}, got {constant}")
    _close(law.boost(rates, rates), 1.0, 1e-12, "the boost from a rate to itself")


def kernels_see_the_same_law(law: Law) -> None:
    """The standard form gives the oracle's compiled curves the values that G has, within its stated error."""
    error = float(np.max(law.standard().error))
    for rate in _RATES:
        amounts = law.quantile([0.1, 0.4, 0.8], rate)
        problem = Problem(law, [0.8, 0.5], [rate, 0.7 * rate])
        for budget in np.ceil(amounts) if law.integer else amounts:
            best = problem.solve(budget)
            _close(best.value, problem.expected_reward(best.x), 1e-9, "the oracle's value", atol=2.0 * error)
            expect(best.bound >= best.value - 1e-12, f"a bound of {best.bound} is below its value {best.value}")


def shapes_are_one_per_arm(law: Law) -> None:
    """A law with K shapes is K laws: together as each alone; of_arm and whole_arms say which."""
    if law.free is None or law.arm_axis() != ():
        return
    shape = float(law.shapes()[law.free.name])
    both = law.with_shape([shape, 1.3 * shape])
    expect(both.arm_axis() == (2,), f"{both} must have two arms")
    x = np.column_stack([law.quantile([0.2, 0.7], 0.5)] * 2)
    for arm in range(2):
        alone = law.with_shape(shape * (1.0, 1.3)[arm])
        expect(both.of_arm(arm) == alone, f"arm {arm} of {both} must be {alone}")
        _close(both.log_sf(x, 0.5)[:, arm], alone.log_sf(x[:, arm], 0.5), 1e-12, "log_sf of an arm")
        _close(both.log_pdf(x, 0.5)[:, arm], alone.log_pdf(x[:, arm], 0.5), 1e-12, "log_pdf of an arm")
        _close(
            both.truncated_mean(0.5, x)[:, arm], alone.truncated_mean(0.5, x[:, arm]), 1e-9, "truncated_mean of an arm"
        )
    expect(np.array_equal(law.whole_arms(3), [law.integer] * 3), "whole_arms must say what `integer` says")


def shape_is_learned(law: Law) -> None:
    """Given as "learn" the shape is found in 3,000 rows, within 5 standard errors; a law without its shape says so."""
    if law.free is None or not law.free.learnable or law.arm_axis() != ():
        return
    name, shape = law.free.name, float(law.shapes()[law.free.name])
    learner = type(law)(**law.shapes() | {name: "learn"})
    for call in (
        lambda: learner.cdf(1.0, 1.0),
        learner.standard,
        lambda: learner.sample(1.0, np.random.default_rng(0)),
    ):
        try:
            call()
        except UnsupportedError:
            continue
        expect(False, f"{learner} must say that it does not know its shape")
    if abs(np.log(shape / law.free.start)) > 2.0 * law.free.variance**0.5:
        return  # far from where it is expected the prior still shows
    rate, rng = 0.1 if law.integer else 1.0, np.random.default_rng(1)
    x = law.quantile(0.995, rate) * rng.uniform(0.05, 1.0, _ROWS)
    x = np.ceil(x) if law.integer else x
    threshold = law.sample(rate, rng, _ROWS)
    success = (rng.random(_ROWS) < 0.9) & (threshold <= x)
    rows = Evidence.of_rows(np.zeros(_ROWS, dtype=np.int64), x, success, np.where(success, threshold, np.nan))
    estimate = likelihood(learner, rows, level=0.6827)
    expect(estimate.shape is not None and estimate.shape_interval is not None, f"{learner} must be learned")
    error = float(np.log(estimate.shape_interval[0, 1] / estimate.shape_interval[0, 0])) / 2.0  # type: ignore[index]
    off = abs(float(np.log(estimate.shape[0] / shape)))  # type: ignore[index]
    text = f"the shape {shape} was learned as {estimate.shape}, with a standard error of {error:.3f}"
    expect(off <= 5.0 * error, text)


def plain_data_and_back(law: Law) -> None:
    """A law is plain data, equal to itself when it is read back."""
    data = json.loads(json.dumps(law.to_dict()))
    again = from_dict(data) if law.name in LAWS else type(law)(**{k: v for k, v in data.items() if k != "name"})
    expect(again == law and hash(again) == hash(law), f"{data} must be read back as {law}, got {again}")


def bad_input_is_refused(law: Law) -> None:
    """What breaks a rule raises ParameterError, which names the value: rates, amounts, levels and shapes."""

    def with_field(value: Any) -> Law:
        return type(law)(**law.shapes() | {law.shape_names()[0]: value})

    rng, bad = np.random.default_rng(0), (np.nan, -1.0, 0.0, np.inf, "much", None, [1.0, np.nan])
    calls: list[tuple[Callable[..., object], tuple[Any, ...]]] = [(law.truncated_mean, (1.0, -1.0))]
    calls += [(call, (0.5, v)) for call in (law.cdf, law.log_sf, law.log_pdf, law.pdf, law.quantile) for v in bad]
    calls += [(law.boost, (1.0, v)) for v in bad]
    calls += [(law.truncated_mean, (v, 1.0)) for v in bad]
    calls += [(law.inflection, (v,)) for v in bad]
    calls += [(law.sample, (v, rng)) for v in bad]
    calls += [(with_field, (v,)) for v in bad if law.free is not None]
    for v in (np.nan, "much", None):
        calls += [(law.cdf, (v, 1.0)), (law.log_sf, (v, 1.0)), (law.log_pdf, (v, 1.0)), (law.truncated_mean, (1.0, v))]
    calls += [(law.quantile, (q, 1.0)) for q in (-0.1, 1.1, np.nan)]
    for call, arguments in calls:
        try:
            call(*arguments)
        except ParameterError:
            continue
        expect(False, f"{call.__name__}{arguments} must be refused with a ParameterError")


#: Every check: a function of a law that raises ConformanceError, or whatever went wrong.
LAW_CHECKS: tuple[Callable[[Law], None], ...] = (
    distribution_function_is_one,
    density_adds_up_to_the_distribution,
    tails_do_not_cancel,
    quantile_inverts,
    draws_follow_the_law,
    truncated_mean_is_the_mean,
    inflection_is_the_peak,
    constants_hold,
    kernels_see_the_same_law,
    shapes_are_one_per_arm,
    shape_is_learned,
    plain_data_and_back,
    bad_input_is_refused,
)


def check_law(law: Law) -> None:
    """Put a law, with its shapes given as numbers, through every check; the first that fails raises, and says why.

    >>> import headgate as hg
    >>> check_law(hg.Rayleigh())
    """
    for check in LAW_CHECKS:
        try:
            check(law)
        except Exception as cause:
            cause.add_note(f"in headgate.testing: {check.__name__}")
            raise
