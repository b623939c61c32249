"""The paper's claims, each with a verdict and the number that shows it; `claims.toml` has them in words.

A claim is judged once the experiment it belongs to is finished. To add one, add it to the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from jinja2 import Environment, StrictUndefined

from headgate.experiments import lineup
from headgate.experiments.base import LEVEL, Outcome, Part
from headgate.experiments.logged.criteo_fit import ours
from headgate.experiments.logged.ednet import measure_of
from headgate.experiments.logged.exposures import missed
from headgate.experiments.report import judge
from headgate.experiments.report.judge import Interval, Verdict, mean_of
from headgate.experiments.synthetic.cascade import FOR_SUM
from headgate.experiments.synthetic.no_return import MEAN, PAPER, PLAN, QUIZ, REVERSED, SWITCHING, shares
from headgate.experiments.synthetic.unknown_budget import BUDGETS, KNOWING, POURING
from headgate.laws import Floats
from headgate.simulation import Result

# Plain text, which is escaped where it is shown; `x | n(".2f")` writes a number.
_PLAIN = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701  # no HTML
_PLAIN.filters["n"] = lambda value, form=",.0f": format(value, form)


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, the verdict, and the number that shows it."""

    where: str
    says: str
    rule: str
    """The test that decides."""
    verdict: Verdict
    found: str
    """In a sentence or two; for ONLY it begins with the condition."""


Parts: TypeAlias = Mapping[str, Part]
"""The finished experiments by name."""


def all_claims(parts: Parts) -> list[Claim]:
    """Return every claim of the paper that is looked at, open where its experiment has not been run."""
    return [
        Claim(claim["where"], claim["says"], claim["rule"], *_decided(claim, parts)) for claim in _texts()["claims"]
    ]


def slips(parts: Parts) -> list[str]:
    """Return the slips in the paper's text, with numbers of this run; none before the lemmas have been run."""
    if "lemmas" not in parts:
        return []
    texts = [_filled(text, _context(parts)) for text in _texts()["slips"]]
    return [text for text in texts if text]


def _texts() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "claims.toml").read_text(encoding="utf-8"))


def _decided(claim: Mapping[str, str], parts: Parts) -> tuple[Verdict, str]:
    """Judge a claim whose experiment is finished; others are open, and say why."""
    if claim["of"] == "nothing":  # is not tested by any experiment
        return Verdict.OPEN, claim["found"]
    if claim["of"] not in parts:
        return Verdict.OPEN, f"Run headgate reproduce {claim['of']}."
    return _judged(claim, parts)


def _judged(claim: Mapping[str, str], parts: Parts) -> tuple[Verdict, str]:
    """Evaluate a claim's verdict, and fill in its text."""
    outcome = parts[claim["of"]].outcome
    context = _context(parts) | {"outcome": outcome, "numbers": outcome.numbers}
    if outcome.results:
        context["rounds"] = int(next(iter(outcome.results.values())).rounds[-1])
    judge: Any = _PLAIN.compile_expression(claim["verdict"], undefined_to_none=False)
    verdict = Verdict(judge(**context))
    return verdict, _filled(claim["found"], context | {"verdict": verdict})


def _context(parts: Parts) -> dict[str, Any]:
    """What every text may speak of."""
    functions = (
        ends, ours, measure_of, initial_phase, told_and_not, worst_step, independent_bound, grows, less, better, spread,
        misses, error_of, unbiased, mean_of, within_steps, too_often, rises, no_better, missed, covers, plan_less,
        campaign,
        judge.sublinear, judge.linear, judge.all_of, judge.or_only, near,
    )  # fmt: skip
    return {
        **{verdict.name.lower(): verdict for verdict in Verdict},
        **{name: value for name, value in vars(lineup).items() if name.isupper()},
        **{function.__name__: function for function in functions},
        "FOR_SUM": FOR_SUM,
        "WAYS": {"mean": MEAN, "reversed": REVERSED, "switching": SWITCHING},
        "WORLDS": {"paper": PAPER, "quiz": QUIZ},
        "lemmas": parts["lemmas"].outcome.numbers if "lemmas" in parts else {},
        "others": {name: part.outcome for name, part in parts.items()},
    }


def _filled(text: str, context: Mapping[str, Any]) -> str:
    return " ".join(_PLAIN.from_string(text).render(**context).split())


class Ends(NamedTuple):
    """A policy in the last round: mean and standard deviation of regret, and the exponent it grows with."""

    mean: float
    sd: float
    slope: float


def ends(outcome: Outcome, *policies: str, key: str = "regret", measure: str = "regret") -> list[Ends]:
    """Summarise these policies; the exponent is that of the mean between T/10 and T."""
    result = outcome.results[key]
    start = int(np.searchsorted(result.rounds, result.rounds[-1] / 10))
    summaries = []
    for policy in policies:
        values: Floats = getattr(result, measure)[policy]
        mean = values.mean(axis=0)
        rise = float(np.log(max(mean[-1], 1e-12) / max(mean[start], 1e-12)))
        sd = float(values[:, -1].std(ddof=1)) if len(values) > 1 else 0.0
        slope = rise / float(np.log(result.rounds[-1] / result.rounds[start]))
        summaries.append(Ends(float(mean[-1]), sd, slope))
    return summaries


def initial_phase(result: Result, policy: str, arms: int, measure: str = "regret") -> tuple[int, float]:
    """Return the last checkpoint within the K floor(log T) rounds of RA-UCB's initial phase, and the regret there."""
    length = arms * int(np.log(result.rounds[-1]))
    place = int(np.count_nonzero(result.rounds <= length)) - 1
    return int(result.rounds[place]), float(getattr(result, measure)[policy][:, place].mean())


def grows(outcome: Outcome, policy: str) -> Interval:
    """Return the exponent with which a policy's regret per round changes in the end."""
    result = outcome.results["regret"]
    return judge.growth_of(result.rounds, result.regret[policy])


def less(outcome: Outcome, policy: str, other: str, key: str = "regret", measure: str = "regret") -> Interval:
    """Return the regret of one policy less that of another in the last round, over the same problems."""
    values = getattr(outcome.results[key], measure)
    return mean_of(values[policy][:, -1] - values[other][:, -1])


def better(outcome: Outcome, policy: str, other: str) -> str:
    """Say on how many problems one policy has the lower regret in the last round."""
    regret = outcome.results["regret"].regret
    won = regret[policy][:, -1] < regret[other][:, -1]
    return f"{won.sum()} of {won.size}"


def spread(outcome: Outcome, policy: str, other: str) -> Interval:
    """Return the ratio of the variances of two policies' regrets in the last round."""
    regret = outcome.results["regret"].regret
    return judge.ratio_of_variances(regret[policy][:, -1], regret[other][:, -1])


def misses(bias: Mapping[str, Any], at: str) -> Interval:
    """Return the share of runs in which the lemma's interval for mu misses, at a third or the whole of the budget."""
    row = bias["at"][at]
    return judge.share_of(row["missed"], row["runs"])


def error_of(bias: Mapping[str, Any], at: str) -> Interval:
    """Return the mean of p_hat - p over runs."""
    return mean_of(np.asarray(bias["at"][at]["activation"]) - bias["activation"])


def unbiased(bias: Mapping[str, Any], at: str) -> Verdict:
    """Decide whether the mean of p_hat - p lies within 0.01 of 0."""
    error = error_of(bias, at)
    return judge.all_of(error.below(0.01), error.above(-0.01))


def within_steps(refinement: Mapping[str, Any]) -> float:
    """Return the largest distance to the optimum in units of the step, over the steps."""
    return float(np.max(np.asarray(refinement["farthest"]) / np.asarray(refinement["steps"])))


def too_often(coverage: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the laws whose sets were left clearly more often than delta."""
    rows = [(row, judge.share_of(row["missed"], row["runs"])) for row in coverage]
    return [row["law"] for row, share in rows if share.low > row["delta"]]


def no_better(truths: Sequence[Mapping[str, Any]]) -> Verdict:
    """Decide whether no fit's x* earns more on the real rows than that of the first one."""
    others = [Interval(*row["more"]) for row in truths[1:]]
    if any(other.low > 0.0 for other in others):
        return Verdict.FAILS
    return Verdict.HOLDS if all(other.high <= 0.0 for other in others) else Verdict.UNDECIDED


def covers(generated: dict[str, Any], how: str) -> Verdict:
    """Decide whether a fit's 95% intervals miss the truth not clearly more often than in 5% of cases."""
    wrong, total = missed(generated, how)
    return Verdict.FAILS if judge.share_of(wrong, total).low > 1.0 - LEVEL else Verdict.HOLDS


def campaign(generated: dict[str, Any], typical: float) -> dict[str, Any]:
    """Return the campaign of a generated log that needs the impressions closest to these."""
    nearest: dict[str, Any] = min(generated["campaigns"], key=lambda row: abs(row["typical"] - typical))
    return nearest


def plan_less(outcome: Outcome, way: str, world: str) -> Interval:
    """Return what the best plan is worth less another way, as shares of knowing the budget, over the same problems."""
    return mean_of(shares(outcome, world, PLAN) - shares(outcome, world, way))


def near(exponent: Interval, power: float) -> Verdict:
    """Decide whether an exponent lies within 0.1 of a power."""
    return judge.all_of(exponent.above(power - 0.1), exponent.below(power + 0.1))


def rises(horizons: Sequence[Mapping[str, Any]]) -> Interval:
    """Return the exponent with which regret grows between the first horizon and the last, of runs paired at random."""
    first, last = horizons[0], horizons[-1]
    ratio = np.log(np.asarray(last["regret"]) / np.asarray(first["regret"]))
    return mean_of(ratio / np.log(last["rounds"] / first["rounds"]))


def told_and_not(outcome: Outcome) -> list[dict[str, Any]]:
    """Compare RA-UCB, which is told the budget, with MG-UCB, which is not, for each kind of budgets."""
    pairs = []
    for kind in BUDGETS:
        known, hidden = (outcome.results[kind].regret[policy][:, -1] for policy in (KNOWING, POURING))
        off, error = float(np.mean(hidden - known)), float(np.std(hidden - known)) / max(len(known) - 1, 1) ** 0.5
        same = abs(off) <= max(2.0 * error, 0.02 * float(known.mean()), 1e-9)
        pairs.append(
            {"kind": kind, "told": known.mean(), "hidden": hidden.mean(), "off": off, "error": error, "same": same}
        )
    return pairs


def worst_step(outcome: Outcome) -> float:
    """Return the largest share of its bound that pouring in steps has added to the regret."""
    return float(max(row["extra"] / row["bound"] for row in outcome.numbers["sweep"]))


def independent_bound(outcome: Outcome) -> dict[str, Any]:
    """Compare the regret of RA-UCB as written with the bound of order T^(4/5), problem by problem."""
    limit, regret = (
        np.array(outcome.numbers["independent_bound"]),
        outcome.results["regret"].regret[lineup.WRITTEN][:, -1],
    )
    above = int(np.sum(regret > limit))
    return {"above": above, "problems": limit.size, "bound": np.median(limit), "regret": np.median(regret)}
