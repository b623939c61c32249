"""The histograms that evidence is made of.

Per arm four histograms over geometric bins, each with a count and a sum per bin: allocations that failed,
allocations played, thresholds seen, allocations of successes without one. That is all a learner keeps. It does not
depend on the law, does not grow with the rounds, does not care in which order or on which machine a round was recorded,
and can be discounted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import AllocationError, BudgetError, FeedbackError, ParameterError, ShapeError, UnknownArmError
from headgate.evidence import plain
from headgate.evidence.plain import KINDS
from headgate.feedback import Feedback
from headgate.kernels.bins import BINS, COUNT, PER_OCTAVE, SUM, UNITS
from headgate.laws import Floats
from headgate.names import place_of


def bin_edges(max_budget: float) -> Floats:
    """The lower edge of each bin: 0, then 8 bins to the octave for the 16 octaves below `max_budget`."""
    steps = np.arange(BINS - 1, 0, -1)
    ratio = np.exp2(np.arange(PER_OCTAVE) / PER_OCTAVE)  # of these and of powers of 2 every edge is made
    octave, part = np.divmod(-steps, PER_OCTAVE)
    return np.concatenate([[0.0], max_budget * ratio[part] * np.exp2(octave.astype(np.float64))])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evidence:
    """Histograms of shape (..., K, 4 kinds, [count, sum], bins); leading axes are a batch of learners.

    Sums count in units of a bin's lower edge / 2^20, so they are whole numbers and adding them is exact: recording
    in any order, on any machine, and merging gives the same evidence to the last bit (until it is discounted).
    """

    max_budget: float
    bins: Floats
    edges: Floats
    names: tuple[str, ...] | None = None
    """The arms' names, where they have some: then evidence is joined and imported by them."""

    @classmethod
    def empty(cls, arms: int, max_budget: float, batch: tuple[int, ...] = ()) -> Self:
        """Return evidence of nothing; no allocation may exceed `max_budget`."""
        limit = checks.numbers("max_budget", max_budget, BudgetError, open_least=True)
        if limit.ndim:
            raise BudgetError(f"max_budget must be one number, got {max_budget!r}")
        count: object = arms
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise ShapeError(f"arms must be a whole number of at least 1, got {arms!r}")
        return cls(float(limit), np.zeros((*batch, arms, len(KINDS), 2, BINS)), bin_edges(float(limit)))

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return int(self.bins.shape[-4])

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch; () for a single learner."""
        return self.bins.shape[:-4]

    def counts(self, kind: str) -> Floats:
        """How many were "failed", "played", "seen" or "reached" in each bin: (..., K, bins)."""
        return self.bins[..., KINDS[kind], COUNT, :]

    def means(self, kind: str) -> Floats:
        """The mean of what fell into each bin, 0 for an empty one: (..., K, bins)."""
        total = self.bins[..., KINDS[kind], SUM, :] * (np.maximum(self.edges, self.edges[1]) / UNITS)
        return np.asarray(total / np.maximum(self.counts(kind), np.finfo(np.float64).tiny))

    @property
    def successes(self) -> Floats:
        """How many rounds each arm succeeded in, whether or not it told its threshold: (..., K)."""
        return np.asarray(self.counts("seen").sum(axis=-1) + self.counts("reached").sum(axis=-1))

    @property
    def trials(self) -> Floats:
        """How many rounds each arm got something in: (..., K)."""
        return np.asarray(self.counts("played").sum(axis=-1))

    def record(self, x: ArrayLike, feedback: Feedback, counted: NDArray[np.bool_] | None = None) -> None:
        """Add a round, in place: what each arm got and what came of it.

        Arms not reported yet add nothing: record the round again with the others marked as not reported when they
        are. `counted` leaves out more arms. Nothing changes if the feedback is refused.
        """
        from headgate.kernels.record import record  # noqa: PLC0415  # machine code loads on first use

        if not isinstance(feedback, Feedback):
            raise FeedbackError(f"feedback must be a headgate.Feedback, got {feedback!r}")
        shape, use = self.bins.shape[:-3], feedback.reported
        if counted is not None:
            use = feedback.reported & counted
        try:
            amount = np.array(x, dtype=np.float64)
        except (TypeError, ValueError):
            amount = np.empty(0)
        bins = self.bins.reshape(-1, len(KINDS), 2, BINS)  # a copy, if this is a view that skips arms
        if amount.shape == shape == use.shape and record(
            bins,
            self.edges,
            self.max_budget * (1.0 + 1e-9),
            amount.reshape(-1),
            feedback.success.reshape(-1),
            feedback.threshold.reshape(-1),
            use.reshape(-1),
        ):
            if not self.bins.flags.c_contiguous:
                np.copyto(self.bins, bins.reshape(self.bins.shape))
            return
        amount = feedback.check(x)  # says what is wrong with the allocation or the feedback, if it is that
        if amount.shape != shape or use.shape != shape:
            raise ShapeError(
                f"the evidence is of shape {shape}, the allocation {amount.shape}, what is counted {use.shape}"
            )
        raise AllocationError(f"no arm may get more than max_budget {self.max_budget:g}, got {amount.max():g}")

    @classmethod
    def of_rows(
        cls,
        arm: ArrayLike,
        x: ArrayLike,
        success: ArrayLike,
        threshold: ArrayLike,
        *,
        arms: int | None = None,
        max_budget: float | None = None,
    ) -> Self:
        """Return the evidence of a log: row by row an arm's number, what it got, whether that reached, and where.

        The threshold of a failure is not looked at, that of a success may be NaN: not known. Without `arms` and
        `max_budget`, as many and as much as occur.

        >>> Evidence.of_rows([0, 0, 1], [4.0, 2.0, 1.0], [True, False, False], [2.5, np.nan, np.nan]).trials
        array([2., 1.])
        """
        from headgate.kernels.record_rows import record_rows  # noqa: PLC0415  # machine code loads on first use

        who, amount = np.atleast_1d(np.asarray(arm)), np.atleast_1d(checks.numbers("x", x, AllocationError))
        if who.dtype.kind not in "iu" and who.size:
            raise UnknownArmError(f"arm must be a whole number for each row, got {arm!r}")
        won = np.atleast_1d(np.asarray(success))
        if won.dtype != np.bool_ and not np.isin(won, (0, 1)).all():
            raise FeedbackError(f"success must be true or false for each row, got {success!r}")
        thresholds = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
        if not who.shape == amount.shape == won.shape == thresholds.shape == (who.size,):
            shapes = ", ".join(str(v.shape) for v in (who, amount, won, thresholds))
            raise ShapeError(f"arm, x, success and threshold must be of one length, got {shapes}")
        count = int(who.max(initial=0)) + 1 if arms is None else arms
        evidence = cls.empty(count, float(amount.max(initial=0.0)) if max_budget is None else max_budget)
        won = won.astype(np.bool_)
        for wrong, error, rule in (
            ((who < 0) | (who >= count), UnknownArmError, f"arm {{0}} is not one of the {count} arms"),
            (amount > evidence.max_budget, AllocationError, f"x {{1}} is more than max_budget {max_budget}"),
            (won & ~((thresholds >= 0.0) & (thresholds <= amount) | np.isnan(thresholds)), FeedbackError,
             "a success needs 0 <= threshold <= x, or NaN where it is not known, got threshold {2} and x {1}"),
            (won & (amount <= 0.0), FeedbackError, "a success needs an allocation above 0, got x {1}"),
        ):  # fmt: skip
            if wrong.any():
                row = int(np.argmax(wrong))
                raise error(f"row {row}: " + rule.format(who[row], amount[row], thresholds[row]))
        record_rows(evidence.bins, evidence.edges, who.astype(np.int64), amount, won, thresholds)
        return evidence

    def merge(self, other: Self) -> Self:
        """Return the evidence of both; where both have names, arms are found by them, in the order of this one."""
        if self.names is not None and other.names is not None and self.names != other.names:
            return self.merge(other.of_names(self.names))
        if self.max_budget != other.max_budget or self.bins.shape != other.bins.shape:
            raise ShapeError(
                "evidence merges only with the same arms and max_budget, got "
                f"{self.bins.shape[:-3]} at {self.max_budget:g} and {other.bins.shape[:-3]} at {other.max_budget:g}"
            )
        return type(self)(self.max_budget, self.bins + other.bins, self.edges, self.names or other.names)

    def of_names(self, names: Sequence[str]) -> Self:
        """Return the evidence of these arms in this order; those that it does not know have none.

        Evidence of an arm that is not among them is an error; so is evidence without names, unless it has as many arms.
        """
        if self.names is None:
            if self.arms != len(names):
                raise ShapeError(f"the evidence is of {self.arms} arms without names, there are {len(names)} arms")
            return type(self)(self.max_budget, self.bins, self.edges, tuple(names))
        bins = np.zeros((*self.batch, len(names), *self.bins.shape[-3:]))
        bins[..., [place_of(name, names) for name in self.names], :, :, :] = self.bins
        return type(self)(self.max_budget, bins, self.edges, tuple(names))

    def __repr__(self) -> str:
        batch = f", batch={self.batch}" if self.batch else ""
        counts = f"{self.trials.sum():,.6g} trials, {self.successes.sum():,.6g} successes"
        return f"Evidence({self.arms} arms{batch}, max_budget={self.max_budget:g}, {counts})"

    def discount(self, factor: float) -> None:
        """Let everything seen so far count `factor` times as much, in place."""
        if not 0.0 <= factor <= 1.0:
            raise ParameterError(f"discount must be within [0, 1], got {factor!r}")
        if factor < 1.0:
            np.multiply(self.bins, factor, out=self.bins)

    def only(self, arm: int) -> Self:
        """Return a view of one arm: (..., 1)."""
        names = None if self.names is None else self.names[arm : arm + 1]
        return type(self)(self.max_budget, self.bins[..., arm : arm + 1, :, :, :], self.edges, names)

    def copy(self) -> Self:
        """Return evidence of its own."""
        return type(self)(self.max_budget, self.bins.copy(), self.edges, self.names)

    def to_dict(self, names: Sequence[str] | None = None) -> dict[str, Any]:
        """Return plain data for JSON, exact, with only what is not 0; `headgate.evidence.plain` documents the format.

        With names, its own or these, it is what an allocator of the service imports by name; without, by position.
        """
        own = None if self.batch else self.names
        return plain.write(self.bins, self.max_budget, own if names is None else names)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], names: Sequence[str] | None = None) -> Self:
        """Read what `to_dict` wrote, in this version or before, or raise if no log could have left it.

        With `names`, the arms are these, in this order, and those that the data does not mention have no evidence.

        >>> evidence = Evidence.of_rows([0, 1], [4.0, 2.0], [True, False], [2.5, np.nan], max_budget=8.0)
        >>> Evidence.from_dict(evidence.to_dict(["a", "b"]), ["b", "a", "c"]).trials
        array([1., 1., 0.])
        """
        bins, max_budget = plain.read(data, names)
        empty, arms = cls.empty(1, max_budget), data.get("arms")
        if names is None and isinstance(arms, Mapping):
            names = tuple(arms)
        return cls(empty.max_budget, bins, empty.edges, None if names is None else tuple(names))
