"""Which assumptions of the paper hold: for a problem and a budget, or for a policy of the paper as it is configured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from headgate import checks
from headgate.errors import ParameterError, UnsupportedError
from headgate.laws import Floats, Law, RateRange
from headgate.policies import Policy
from headgate.policies.paper import PaperPolicy
from headgate.problem import Problem
from headgate.theory.surrogate import SurrogateConstants, rates_within, surrogate_constants

_CONDITION = (8.0 / 3.0) ** 0.5


@final
@dataclass(frozen=True, slots=True)
class Assumption:
    """One assumption: where the paper makes it, whether it holds, and the number that says so."""

    name: str
    where: str
    holds: bool | None
    """None where it cannot be told: a policy does not know the true parameters."""
    number: str

    def __str__(self) -> str:
        mark = {True: "yes", False: "NO", None: "?"}[self.holds]
        return f"{mark:4}{self.name} ({self.where}): {self.number}"


@final
@dataclass(frozen=True, slots=True)
class Assumptions:
    """What `check` answers; printed, a line for each assumption."""

    listed: tuple[Assumption, ...]

    @property
    def holds(self) -> bool:
        """Whether none of them is known to fail."""
        return all(assumption.holds is not False for assumption in self.listed)

    @property
    def failed(self) -> tuple[Assumption, ...]:
        """Those that fail."""
        return tuple(assumption for assumption in self.listed if assumption.holds is False)

    def __str__(self) -> str:
        return "\n".join(map(str, self.listed))


def check(
    subject: Problem | Policy,
    budget: float | None = None,
    rate_range: RateRange | None = None,
    least_activation: float | None = None,
) -> Assumptions:
    """Tell which assumptions of the paper a problem, or the configuration of one of its policies, meets.

    Parameters
    ----------
    subject : Problem or policy
        A problem is looked at with its true parameters. A policy has a law, a range of rates and a largest budget.
    budget : float > 0
        B, needed for a problem; a policy's is its `max_budget`.
    rate_range : (float, float), default [1/B, 80/B], or the policy's own
        Lambda = [m/B, M/B].
    least_activation : float, default the problem's least
        p_min of the (log T)^2 theorem.

    Examples
    --------
    >>> import headgate as hg
    >>> quiz = hg.Problem(hg.Weibull(1.6), [0.9, 0.6], [0.02, 0.05])
    >>> for assumption in check(quiz, 90.0).failed:
    ...     print(assumption)
    NO  G is concave on [0, B] (Oracle Monotonicity, its sufficient condition): arms 0, 1 are S-shaped
    NO  G~ is strongly concave and smooth (second part, for (log T)^2): -g~' within [-5e+02, 5e+02]
    """
    if isinstance(subject, PaperPolicy):
        if budget is not None or rate_range is not None:
            raise ParameterError("a policy has its own largest budget and range of rates: give none")
        law, B, rates, problem = subject.laws, subject.max_budget, subject.rates, None
        arms = subject.arms
    elif isinstance(subject, Problem):
        if budget is None:
            raise ParameterError("a problem has no budget: check(problem, budget)")
        B = float(checks.numbers("budget", budget, open_least=True))
        law, rates, problem, arms = subject.law, rates_within(B, rate_range), subject, subject.arms
        if problem.kinds is not None:
            raise UnsupportedError(f"the paper takes rounds to be alike, got {problem}")
        if problem.batch != ():
            raise UnsupportedError(f"one problem is checked at a time, got a batch of shape {problem.batch}")
    else:
        raise UnsupportedError(f"assumptions are those of a Problem or of one of the paper's policies, got {subject!r}")
    each = [law.of_arm(arm) for arm in range(arms)] if law.arm_axis() else [law]
    constants = {one: surrogate_constants(one, B, rates) for one in dict.fromkeys(each)}
    listed = [
        _rates_inside(problem, rates),
        *_of_law(list(constants.values()), B),
        _concave(each, rates, arms),
        _active(problem, least_activation),
        _strongly_concave(list(constants.values())),
    ]
    return Assumptions(tuple(listed))


def _rates_inside(problem: Problem | None, rates: RateRange) -> Assumption:
    name, where = "rates lie within Lambda", "on lambda_i"
    within = f"[{rates[0]:.3g}, {rates[1]:.3g}]"
    if problem is None:
        return Assumption(name, where, None, f"Lambda is {within}")
    outside = _arms((problem.rate < rates[0]) | (problem.rate > rates[1]))
    text = f"{outside} outside of {within}" if outside else f"all within {within}"
    return Assumption(name, where, not outside, text)


def _of_law(constants: list[SurrogateConstants], B: float) -> list[Assumption]:
    """What depends on the law, the budget and Lambda alone; of several laws the worst."""
    L_lambda, L_mu = max(c.L_lambda for c in constants), min(c.L_mu for c in constants)
    condition = min(B * c.L_lambda / c.L_mu if c.L_mu > 0.0 else np.inf for c in constants)
    boosting, bias = max(c.boosting for c in constants), max(c.L_delta for c in constants)
    return [
        Assumption("G is Lipschitz in lambda", "Lipschitz continuity", bool(np.isfinite(L_lambda)),
                   f"L_lambda = {L_lambda:.3g}"),
        Assumption("mu tells the rate", "mu^-1 is Lipschitz", L_mu > 0.0, f"L_mu = {L_mu:.3g}"),
        Assumption("g~ falls in lambda", "Boosting Monotonicity", boosting <= 1e-6,
                   f"d log g~ / d log lambda is at most {max(boosting, 0.0) if boosting < 1e-6 else boosting:.2g}"),
        Assumption("G~ is near G", "Uniform Bias Control", bool(np.isfinite(bias)), f"L_Delta = {bias:.3g}"),
        Assumption("B L_lambda / L_mu >= sqrt(8/3)", "condition of the sqrt(T) theorem", condition >= _CONDITION,
                   f"{condition:.3g}"),
    ]  # fmt: skip


def _concave(each: list[Law], rates: RateRange, arms: int) -> Assumption:
    ends = np.array(rates)
    shaped = np.array([bool(np.any(law.inflection(ends) > 0.0)) for law in each])
    named = _arms(np.broadcast_to(shaped, (arms,)))
    be = "is" if named.startswith("arm ") else "are"
    return Assumption(
        "G is concave on [0, B]",
        "Oracle Monotonicity, its sufficient condition",
        not named,
        f"{named} {be} S-shaped" if named else "all arms",
    )


def _active(problem: Problem | None, least: float | None) -> Assumption:
    name, where = "p >= p_min > 0", "for (log T)^2"
    if problem is None and least is None:
        return Assumption(name, where, None, "p_min is not known to a policy")
    floor = float(np.min(problem.activation)) if least is None and problem is not None else float(least or 0.0)
    holds = floor > 0.0 and (problem is None or bool(np.all(problem.activation >= floor)))
    return Assumption(name, where, holds, f"p_min = {floor:.3g}")


def _strongly_concave(constants: list[SurrogateConstants]) -> Assumption:
    least, most = min(c.mu_G for c in constants), max(c.L_G for c in constants)
    holds = least > 0.0 and bool(np.isfinite(most))
    return Assumption("G~ is strongly concave and smooth", "second part, for (log T)^2", holds,
                      f"-g~' within [{least:.1g}, {most:.1g}]")  # fmt: skip


def _arms(which: Floats | np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    """Name the arms that are marked; "" if none is."""
    marked = np.flatnonzero(which)
    if marked.size == 0:
        return ""
    shown = ", ".join(map(str, marked[:6])) + ", …" * (marked.size > 6)
    return f"arm{'s' * (marked.size > 1)} {shown}"
