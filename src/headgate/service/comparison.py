"""Is it better than before? What the policy's decisions were worth beside the baseline's, drawn at random among them.

In each version every decision is the baseline's with one and the same probability, whatever is known of it. So the
difference of the two means is an estimate of what the policy adds, without any law; versions are added up by how many
decisions they had, because their probabilities differ. With d_v that difference, w_v a version's share of decisions,

    d = sum w_v d_v,    s^2 = sum w_v^2 (variance_policy / n_policy + variance_baseline / n_baseline).

`interval` is d -+ t s, Welch's, for somebody who looks once. `always_interval` is d -+ c s with

    c^2 = (1 + r / m) ln((m + r) / (r (1 - level)^2)),    1 / m = sum w_v^2 (1 / n_policy + 1 / n_baseline),

the boundary of a mixture of normal laws (Robbins 1970, with estimated variances: Waudby-Smith and others 2024): it
covers the difference at all times together, so one may look every day and stop when it pleases. Both rest on means of
many decisions being normal. So that a group that has seen no success does not look sure, each variance counts two
decisions more: one worth nothing, and one worth what decisions with a success are worth, sum of squares / sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt

from scipy import special
from sqlalchemy import Connection, select

from headgate.service.engine.modes import ModeSum
from headgate.service.spec import AllocatorSpec
from headgate.service.store import schema
from headgate.service.store.rows import row_of
from headgate.service.view_bodies import Compared, Comparison

LEVEL = 0.95
LEAST = 30
"""Complete decisions that each side needs; a version with fewer than a third of that is left out."""
_BROADEST = 34.0
"""r: the interval for all times is narrowest at about 300 decisions of the baseline."""
_SUSPICIOUS = 4.0
"""Standard deviations by which the shares of complete decisions differ, from which on that is said."""


@dataclass(frozen=True, slots=True)
class Side:
    """What came of the decisions of one side, in one version or in all."""

    decisions: int = 0
    complete: int = 0
    worth: float = 0.0
    squares: float = 0.0

    def __add__(self, other: Side) -> Side:
        return Side(
            self.decisions + other.decisions, self.complete + other.complete,
            self.worth + other.worth, self.squares + other.squares,
        )  # fmt: skip

    @property
    def mean(self) -> float:
        """What a complete decision was worth."""
        return self.worth / self.complete

    def variance(self, typical: float) -> float:
        """Return the variance of a decision's worth, counting one of 0 and one of `typical` more."""
        n, total, squares = self.complete + 2, self.worth + typical, self.squares + typical**2
        return max(squares - total**2 / n, 0.0) / (n - 1)


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more a decision of the policy's is worth than one of the baseline's."""

    value: float
    error: float
    """Its standard error, s."""
    freedom: float
    """Degrees of freedom, by Welch and Satterthwaite."""
    size: float
    """m: as many decisions on each of two sides, halved, would be as sure."""

    def once(self, level: float) -> tuple[float, float]:
        """Return the interval for one look."""
        half = float(special.stdtrit(self.freedom, 0.5 + level / 2.0)) * self.error
        return self.value - half, self.value + half

    def always(self, level: float) -> tuple[float, float]:
        """Return the interval for all times together."""
        m, r = self.size, _BROADEST
        half = sqrt((1.0 + r / m) * log((m + r) / (r * (1.0 - level) ** 2))) * self.error
        return self.value - half, self.value + half


def difference(versions: Sequence[tuple[Side, Side]]) -> Difference | None:
    """Compare the policy's side with the baseline's, version by version; None: not enough, or no success at all.

    >>> found = difference([(Side(900, 900, 450.0, 450.0), Side(100, 100, 40.0, 40.0))])
    >>> [round(end, 3) for end in (found.value, *found.once(0.95), *found.always(0.95))]
    [0.1, -0.003, 0.203, -0.065, 0.265]
    """
    used = [(ours, base) for ours, base in versions if min(ours.complete, base.complete) >= LEAST / 3]
    if any(sum(pair[side].complete for pair in used) < LEAST for side in (0, 1)):
        return None
    everything = sum((ours + base for ours, base in used), Side())
    if everything.worth <= 0.0:
        return None
    typical = everything.squares / everything.worth
    value = variance = fourth = inverse = 0.0
    for ours, base in used:
        weight = (ours.complete + base.complete) / everything.complete
        value += weight * (ours.mean - base.mean)
        for side in (ours, base):
            part = weight**2 * side.variance(typical) / side.complete
            variance, inverse = variance + part, inverse + weight**2 / side.complete
            fourth += part**2 / (side.complete - 1)
    return Difference(value, sqrt(variance), variance**2 / fourth, 1.0 / inverse)


def sides(sums: Iterable[ModeSum]) -> list[tuple[Side, Side]]:
    """Return the policy's side and the baseline's of each version in which the two were drawn."""
    by_version: dict[int, tuple[Side, Side]] = {}
    for one in sums:
        side = Side(one.decisions, one.complete, float(one.worth), float(one.squares))
        ours, base = by_version.get(one.version, (Side(), Side()))
        if one.mode == "holdout":
            by_version[one.version] = ours, base + side
        elif one.mode in {"policy", "guard"}:
            by_version[one.version] = ours + side, base
    return [(ours, base) for ours, base in by_version.values() if ours.decisions and base.decisions]


def compare(connection: Connection, name: str, level: float = LEVEL) -> Comparison:
    """Return how an allocator does beside its baseline."""
    row, table = row_of(connection, name), schema.modes
    rows = connection.execute(select(table).where(table.c.allocator_id == row["id"])).mappings()
    return comparison_of(row, [ModeSum.of_row(one) for one in rows], level)


def comparisons(connection: Connection) -> list[Comparison]:
    """Return the same of every allocator some of whose decisions might have been the baseline's."""
    sums: dict[int, list[ModeSum]] = {}
    for row in connection.execute(select(schema.modes)).mappings():
        sums.setdefault(row["allocator_id"], []).append(ModeSum.of_row(row))
    table = schema.allocators
    rows = connection.execute(select(table).where(table.c.id.in_(sums)).order_by(table.c.name)).mappings()
    return [comparison_of(row, sums[row["id"]]) for row in rows]


def comparison_of(row: schema.Fields, sums: Sequence[ModeSum], level: float = LEVEL) -> Comparison:
    """Return the same, given the allocator's row and its sums."""
    spec = AllocatorSpec.model_validate_json(row["spec"])
    versions = sides(sums)
    ours, base = (sum((pair[side] for pair in versions), Side()) for side in (0, 1))
    estimate = difference(versions)
    modes: dict[str, int] = {}
    for one in sums:
        modes[one.mode] = modes.get(one.mode, 0) + one.decisions
    return Comparison.model_validate(
        {
            "allocator": row["name"],
            "baseline": spec.baseline,
            "holdout": spec.holdout,
            "status": _status(spec, estimate, base),
            "words": _words(spec, estimate, ours, base, level),
            "caution": _caution(ours, base),
            "policy_side": _compared(ours),
            "baseline_side": _compared(base),
            "difference": None if estimate is None else estimate.value,
            "interval": None if estimate is None else estimate.once(level),
            "always_interval": None if estimate is None else estimate.always(level),
            "relative": None if estimate is None or base.worth <= 0.0 else estimate.value / base.mean,
            "level": level,
            "modes": modes,
        }
    )


def _compared(side: Side) -> Compared:
    mean = side.mean if side.complete else None
    return Compared(decisions=side.decisions, complete=side.complete, value_per_decision=mean)


def _status(spec: AllocatorSpec, estimate: Difference | None, base: Side) -> str:
    if estimate is not None:
        return "compared"
    if spec.baseline is None:
        return "no baseline"
    if spec.shadow:
        return "shadow"
    return "too few" if spec.holdout or base.decisions else "no holdout"


def _words(spec: AllocatorSpec, estimate: Difference | None, ours: Side, base: Side, level: float) -> str:
    """Say in a sentence what is known."""
    if estimate is not None:
        low, high = estimate.always(level)
        sign = "more" if estimate.value >= 0.0 else "less"
        chance = "which chance may explain" if low <= 0.0 <= high else "which chance does not explain"
        return (
            f"A decision of the policy's was worth {abs(estimate.value):.4g} {sign} than one of the baseline's, "
            f"{chance}: "
            f"at all times together the {100.0 * level:.4g}% interval of the difference is {low:.4g} to {high:.4g}."
        )
    if spec.baseline is None:
        return (
            "Nobody knows whether this is better than before: there is no baseline. Give the allocator one, and a "
            "holdout of, say, 0.05."
        )
    if spec.shadow:
        return "Every answer is the baseline's (shadow), so nothing of the policy's can be compared with it yet."
    if not spec.holdout and not base.decisions:
        return "The baseline gets no decisions, so there is nothing to compare with: set a holdout of, say, 0.05."
    if min(ours.complete, base.complete) >= LEAST:
        return "There has been no success yet on either side: nothing to compare."
    return (
        f"Not enough complete decisions for a comparison yet: {ours.complete:,} of the policy's and "
        f"{base.complete:,} of the baseline's; it takes {LEAST} of each."
    )


def _caution(ours: Side, base: Side) -> str | None:
    """Say so where one side's outcomes are reported more often than the other's: then the two are not alike."""
    n, k = ours.decisions + base.decisions, ours.complete + base.complete
    if not ours.decisions or not base.decisions or not 0 < k < n:
        return None
    shares = ours.complete / ours.decisions, base.complete / base.decisions
    spread = sqrt(k / n * (1.0 - k / n) * (1.0 / ours.decisions + 1.0 / base.decisions))
    if abs(shares[0] - shares[1]) < _SUSPICIOUS * spread:
        return None
    return (
        f"Outcomes are complete for {shares[0]:.1%} of the policy's decisions and {shares[1]:.1%} of the baseline's: "
        "where reports are missing for a reason, the difference is not that of the decisions."
    )
