"""No verdict is text in the source: each comes out otherwise on data that say otherwise."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headgate import experiments
from headgate.experiments.base import Part
from headgate.experiments.lineup import CORRECTED, ETC, EVEN, GREEDY, PER_ARM, SCALED, THOMPSON, WIDER, WRITTEN
from headgate.experiments.report.claim import _judged, _texts, all_claims
from headgate.experiments.report.judge import Verdict
from headgate.experiments.synthetic.cascade import FOR_SUM
from headgate.experiments.synthetic.no_return import PAPER, QUIZ, WAYS
from headgate.experiments.synthetic.unknown_budget import BUDGETS, KNOWING, POURING

pytestmark = pytest.mark.long  # they look at all experiments, run once, small

HOLDS, ONLY, FAILS, UNDECIDED, OPEN = Verdict.HOLDS, Verdict.ONLY, Verdict.FAILS, Verdict.UNDECIDED, Verdict.OPEN
ROUNDS = np.unique(np.geomspace(1, 10_000, 50).astype(int))
RUNS = np.exp(np.random.default_rng(0).normal(0.0, 0.2, (15, 1)))  # each problem's size, the same for all policies
LINEAR, ROOT, SLOW = RUNS * ROUNDS, 10.0 * RUNS * np.sqrt(ROUNDS), 5.0 * RUNS * np.log(ROUNDS)
NOISY = LINEAR * np.exp(np.random.default_rng(1).normal(0.0, 1.0, (15, 1)))

LINEARLY = [{"rounds": 100, "regret": [9.0, 10.0, 11.0]}, {"rounds": 1000, "regret": [90.0, 100.0, 110.0]}]
NOISILY = [{"rounds": 100, "regret": [9.0, 10.0, 11.0]}, {"rounds": 1000, "regret": [10.0, 50.0, 110.0]}]
ROW = {"budget": 200.0, "optimum": 2.0, "equal_marginals": 2.0, "by_marginal": 2.0, "lost": 0.0}

# Claims about lemmas: numbers of the checks, by their path, and the verdict on them.
NUMBERS: list[tuple[str, dict[str, Any], Verdict]] = [
    ("Remark on Explore-Then-Commit", {"explore_rates.RA-ETC, per arm": LINEARLY}, FAILS),
    ("Remark on Explore-Then-Commit", {"explore_rates.RA-ETC, per arm": NOISILY}, UNDECIDED),
    ("Remark on strong concavity", {"curvature.least": 0.9}, FAILS),
    ("Remark on strong concavity", {"curvature.most": 1.1}, FAILS),
    ("Theorem 1", {"hard_instance.least_ratio": 0.9}, FAILS),
    ("Theorem 1", {"hard_instance.one_arm": 0.2}, HOLDS),
    ("Lemma (KL of censored exponentials)", {"kullback.worst": 1.1}, FAILS),
    ("Lemmas on μ̂ and λ̂", {"bias.at.third.missed": 0}, HOLDS),
    ("Lemmas on μ̂ and λ̂", {"bias.at.whole.missed": 300}, FAILS),
    ("Lemmas on μ̂ and λ̂", {"bias.at.third.missed": 40}, UNDECIDED),
    ("Lemma on p̂", {"bias.at.third.activation": [0.499, 0.501, 0.5]}, HOLDS),
    ("Lemma on p̂", {"bias.at.whole.activation": [0.4, 0.41, 0.4]}, FAILS),
    ("Lemma (exponential law)", {"radii.lipschitz_error": 0.1}, FAILS),
    ("Lemma (Oracle Monotonicity)", {"oracle_monotonicity.laws.exponential.violations": 1}, FAILS),
    ("Remark on shapes above 1", {"oracle_monotonicity.laws.Weibull 1@6.violations": 3}, ONLY),
    ("Lemma (Boosting Monotonicity)", {"boosting_monotonicity.exponential.share": 0.1}, FAILS),
    ("Surrogate G̃", {"surrogate.least": 0.0}, HOLDS),
    ("Lemma (stability of the argmax)", {"stability.worst": 1.1}, FAILS),
    ("Oracle for EdNet", {"water_filling.rows": [ROW]}, HOLDS),
    ("Theorem (√T)", {"floors.paper": [0.0] * 15}, HOLDS),
    ("Theorem (√T)", {"floors.paper": [-0.01, 0.01, 0.02]}, UNDECIDED),
    ("Condition of the theorem", {"radii.least_condition": 1.6}, FAILS),
    ("Theorem ((log T)²)", {"floors.paper": [0.0] * 15}, HOLDS),
    ("Lemma (RA-UCB = MG-UCB)", {"equivalence.at_blocks": 0.1}, FAILS),
    ("Lemma (greedy in steps)", {"steps.gains_off": 0.1}, FAILS),
    ("Proposition (i)", {"steps.rounding": 1.1}, FAILS),
    ("Proposition (ii), (iii)", {"refinement.farthest": [1.0] * 6}, FAILS),
    ("Assumptions, on the paper's own setting", {"assumptions.own": ["g~ falls in lambda"]}, FAILS),
    ("Assumptions, on EdNet", {"assumptions.quiz": []}, HOLDS),
]  # fmt: skip

# Claims about figures: regrets of the policies, and the verdict on them.
QUICK = {THOMPSON: SLOW, WIDER: ROOT, PER_ARM: ROOT, CORRECTED: SLOW, EVEN: LINEAR, ETC: ROOT}
REGRETS: list[tuple[str, str, dict[str, Any], Verdict]] = [
    ("Figure Theory", "theory", {WRITTEN: ROOT, SCALED: SLOW}, HOLDS),
    ("Figure Theory", "theory", {WRITTEN: LINEAR, SCALED: ROOT}, ONLY),
    ("Figure Theory", "theory", {WRITTEN: LINEAR, SCALED: LINEAR}, FAILS),
    ("Figure RA-ETC", "ra-etc", {WRITTEN: SLOW, SCALED: SLOW}, HOLDS),
    ("Figure RA-ETC", "ra-etc", {WRITTEN: LINEAR, SCALED: SLOW}, ONLY),
    ("Figure RA-ETC", "ra-etc", {WRITTEN: LINEAR, SCALED: LINEAR}, FAILS),
    ("Figure NO UCB", "no-ucb", {WRITTEN: LINEAR, SCALED: SLOW, GREEDY: LINEAR}, HOLDS),
    ("Figure NO UCB", "no-ucb", {WRITTEN: LINEAR, SCALED: LINEAR, GREEDY: SLOW}, FAILS),
    ("Figure NO UCB", "no-ucb", {WRITTEN: LINEAR, SCALED: LINEAR, GREEDY: NOISY}, UNDECIDED),
    ("Figure EdNet", "ednet", {WRITTEN: ROOT, SCALED: SLOW}, HOLDS),
    ("Figure EdNet", "ednet", {WRITTEN: 3.0 * LINEAR, SCALED: SLOW}, ONLY),
    ("Figure EdNet", "ednet", {WRITTEN: 3.0 * LINEAR, SCALED: 2.0 * LINEAR}, FAILS),
    ("Figure Criteo", "criteo", {WRITTEN: ROOT, SCALED: SLOW}, HOLDS),
    ("Figure Criteo", "criteo", {WRITTEN: 3.0 * LINEAR, SCALED: SLOW}, ONLY),
    ("Figure Criteo", "criteo", {WRITTEN: 3.0 * LINEAR, SCALED: 2.0 * LINEAR}, FAILS),
    ("Theorem (T^(4/5))", "theory", {WRITTEN: 1e9 * LINEAR, SCALED: SLOW}, FAILS),
    ("Theorem (T^(4/5))", "theory", {WRITTEN: 1e-9 * LINEAR, SCALED: SLOW}, ONLY),
    ("Outlook: cascading reward", "cascade", {SCALED: LINEAR, FOR_SUM: ROOT}, HOLDS),
    ("Outlook: cascading reward", "cascade", {SCALED: LINEAR, FOR_SUM: 0.5 * SLOW}, FAILS),
    ("Unknown budgets", "unknown-budget", {KNOWING: LINEAR, POURING: LINEAR}, HOLDS),
    ("Unknown budgets", "unknown-budget", {KNOWING: LINEAR, POURING: 2.0 * LINEAR}, ONLY),
]

GOOD = {"p": 0.2, "p_interval": [0.1, 0.3], "typical": 3.0, "typical_interval": [2.0, 4.0], "distance": 0.001}
BAD = GOOD | {"p_interval": [0.21, 0.3], "typical_interval": [1.0, 2.0]}
EARNED = [{"budget": 5.0, "best": 1.0, "clickers": 0.9, "cure": 1.0}] * 3


def made(clickers: dict[str, Any], cure: dict[str, Any]) -> dict[str, Any]:
    row = {"name": "c", "p": 0.2, "typical": 3.0, "clickers": clickers, "cure": cure}
    return {"generated": {"pairs": 10, "campaigns": [row] * 15, "earned": EARNED}}


def worth(*shares: float) -> dict[str, Any]:
    """What the ways are worth in both worlds: known, switching, plan, for the mean, reversed; with some noise."""
    noise = (-0.01, 0.0, 0.01)
    rows: list[dict[str, Any]] = [
        {"share": dict(zip(WAYS, (s + e for s in shares), strict=True)), "gap": 0.0} for e in noise
    ]
    for place, row in enumerate(rows):
        row["share"][WAYS[2]] -= 0.002 * place
    return {"worth": {PAPER: rows, QUIZ: rows}}


MISSED: dict[str, Any] = {"law": "Exponential()", "delta": 0.05, "runs": 1000}
TRUTH: dict[str, Any] = {"fit": "trimmed", "earned": 6.7, "more": [0.0, 0.0, 0.0]}
PAID: dict[str, Any] = {"rounds": 100, "regret": [1.0, 1.1, 0.9]}

# Claims about fits: numbers of an experiment, and the verdict on them.
FITS: list[tuple[str, str, dict[str, Any], Verdict]] = [
    ("Figure EdNet fit", "ednet-fit", {"ks": 0.01, "kept": 4000, "ks_of_all": {"a": 0.01, "b": 0.02}}, HOLDS),
    ("Figure EdNet fit", "ednet-fit", {"ks": 0.01, "kept": 4000, "ks_of_all": {"a": 0.01, "b": 0.2}}, ONLY),
    ("EdNet's ground truth", "ednet", {"truths": [TRUTH, TRUTH | {"more": [-0.1, -0.2, -0.05]}]}, HOLDS),
    ("EdNet's ground truth", "ednet", {"truths": [TRUTH, TRUTH | {"more": [0.1, 0.05, 0.2]}]}, FAILS),
    ("EdNet's ground truth", "ednet", {"truths": [TRUTH, TRUTH | {"more": [0.0, -0.05, 0.2]}]}, UNDECIDED),
    ("Figure Criteo fit", "criteo-fit", {"panels": [{"ks": 0.01}]}, HOLDS),
    ("Figure Criteo fit", "criteo-fit", {"panels": [{"ks": 0.2}]}, FAILS),
    ("Criteo's clickers", "criteo-fit", made(GOOD, GOOD), HOLDS),
    ("Criteo's clickers", "criteo-fit", made(BAD, GOOD), ONLY),
    ("Criteo's clickers", "criteo-fit", made(BAD, BAD), FAILS),
    ("Outlook: unknown budgets without switching", "plan", worth(1.0, 1.0, 0.95, 0.8, 0.3), HOLDS),
    ("Outlook: unknown budgets without switching", "plan", worth(1.0, 1.0, 0.8, 0.95, 0.3), FAILS),
    ("Outlook: unknown budgets without switching", "plan", worth(1.0, 1.0, 0.952, 0.95, 0.3), UNDECIDED),
    ("LR-UCB (ours): its sets hold", "optimist", {"coverage": [MISSED | {"missed": 40}]}, HOLDS),
    ("LR-UCB (ours): its sets hold", "optimist", {"coverage": [MISSED | {"missed": 90}]}, FAILS),
    ("LR-UCB (ours): regret as rates go to 0", "optimist", {"hard": [PAID, PAID | {"rounds": 10_000}]}, HOLDS),
    (
        "LR-UCB (ours): regret as rates go to 0",
        "optimist",
        {"hard": [PAID, {"rounds": 10_000, "regret": [100.0, 110.0, 90.0]}]},
        FAILS,
    ),
    ("Lemma (discretisation loss)", "unknown-budget", {"sweep": [{"delta": 1.0, "extra": 1.0, "bound": 2.0}]}, HOLDS),
    ("Lemma (discretisation loss)", "unknown-budget", {"sweep": [{"delta": 1.0, "extra": 3.0, "bound": 2.0}]}, FAILS),
]


@pytest.fixture(scope="module")
def parts(everything: Path) -> dict[str, Part]:
    loaded = {name: Part.load(e, everything / name) for name, e in experiments.EXPERIMENTS.items()}
    return {name: part for name, part in loaded.items() if part is not None}


def verdict_of(where: str, parts: dict[str, Part]) -> Verdict:
    return _judged(next(claim for claim in _texts()["claims"] if claim["where"] == where), parts)[0]


def with_numbers(part: Part, changes: dict[str, Any]) -> Part:
    numbers = copy.deepcopy(dict(part.outcome.numbers))
    for path, value in changes.items():
        *before, last = (key.replace("@", ".") for key in path.split("."))
        at = numbers
        for key in before:
            at = at[key]
        at[last] = value
    return replace(part, outcome=replace(part.outcome, numbers=numbers))


@pytest.mark.parametrize(("where", "changes", "verdict"), NUMBERS)
def test_a_lemma_is_judged_by_its_numbers(
    parts: dict[str, Part], where: str, changes: dict[str, Any], verdict: Verdict
) -> None:
    changed = parts | {"lemmas": with_numbers(parts["lemmas"], changes)}
    assert verdict_of(where, changed) is verdict
    assert verdict_of(where, parts) is not verdict


@pytest.mark.parametrize(("where", "name", "regrets", "verdict"), REGRETS)
def test_a_figure_is_judged_by_its_runs(
    parts: dict[str, Part], where: str, name: str, regrets: dict[str, Any], verdict: Verdict
) -> None:
    part, values = parts[name], QUICK | regrets
    result: Any = SimpleNamespace(rounds=ROUNDS, regret=values, realised=values, policies=tuple(values))
    results = dict.fromkeys([*part.outcome.results, "regret", "constant", *BUDGETS], result)
    numbers = {**part.outcome.numbers, "independent_bound": [1e5] * len(RUNS)}
    outcome = replace(part.outcome, results=results, numbers=numbers, source="a log")
    assert verdict_of(where, parts | {name: replace(part, outcome=outcome)}) is verdict


@pytest.mark.parametrize(("where", "name", "numbers", "verdict"), FITS)
def test_a_fit_is_judged_by_its_distances(
    parts: dict[str, Part], where: str, name: str, numbers: dict[str, Any], verdict: Verdict
) -> None:
    part = with_numbers(parts[name], numbers)
    changed = replace(part, outcome=replace(part.outcome, source="real answers"))
    assert verdict_of(where, parts | {name: changed}) is verdict


def test_every_claim_has_been_seen_with_two_verdicts(parts: dict[str, Part]) -> None:
    seen: dict[str, set[Verdict]] = {claim.where: {claim.verdict} - {OPEN} for claim in all_claims(parts)}
    for where, _, verdict in NUMBERS:
        seen[where].add(verdict)
    for where, _, _, verdict in (*REGRETS, *FITS):
        seen[where].add(verdict)
    tested = {claim["where"] for claim in _texts()["claims"] if claim["of"] != "nothing"}
    assert [where for where, verdicts in seen.items() if where in tested and len(verdicts) < 2] == []
