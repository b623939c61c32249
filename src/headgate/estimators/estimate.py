"""What an estimator returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import UnsupportedError
from headgate.estimators.belief import Misfit, misfits
from headgate.estimators.success import Success, success
from headgate.evidence import Evidence
from headgate.extras import extra
from headgate.frames import Shown
from headgate.laws import Floats, Law
from headgate.laws.standard import Standard
from headgate.names import usual_names


class Source(NamedTuple):
    """What an estimate was made from."""

    law: Law
    evidence: Evidence
    level: float
    form: Standard
    """The law's standard form at the shapes estimated, by arm."""
    whole: NDArray[np.bool_]
    """Arms that count in whole units."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(Shown):
    """Activation and rate of each arm, (..., K), with intervals (..., K, 2), and what the evidence tells apart.

    Small allocations show only how often an arm succeeds per unit, the product of activation and rate; failures
    without success show not even that. The numbers given are then mostly the prior's: of "only activation * rate" the
    product can be used, of "not yet" nothing.
    """

    activation: Floats
    rate: Floats
    activation_interval: Floats
    """Lower and upper end, in the last axis."""
    rate_interval: Floats
    identified: NDArray[np.bool_]
    """The evidence tells activation and rate apart."""
    product_identified: NDArray[np.bool_]
    """The evidence tells at least activation * rate (the law's slope at 0, up to its shape)."""
    shape: Floats | None = None
    """Each arm's shape, for a law whose shape is learned."""
    shape_interval: Floats | None = None
    law: dict[str, Floats] = field(default_factory=dict)
    """How probable each candidate law is for an arm, (...,), where the law is learned."""
    source: Source | None = None
    """What `success` and `misfits` need."""
    names: tuple[str, ...] | None = None
    """The arms' names, where they have some."""

    def success(self, x: ArrayLike) -> Success:
        """Return the chance that each arm succeeds with x, one number or (..., K), with a likelihood-ratio interval.

        Its coverage is near the level on ridges too, where intervals of activation and rate say little.
        """
        if self.source is None:
            raise UnsupportedError("this estimate was made without evidence: it knows no chance of success")
        return success(self.source.law, self.source.evidence, checks.numbers("x", x), self.source.level)

    @property
    def misfits(self) -> tuple[Misfit, ...]:
        """Regions of amounts in which successes are not what the law lets expect; `str` of one says it in words.

        With the right law there is none but in one estimate of a hundred: `headgate.estimators.belief`.
        """
        if self.source is None:
            return ()
        return misfits(self.source.form, self.source.whole, self.rate, self.activation, self.source.evidence)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What should be known before this is used: the `misfits`, in words."""
        return tuple(str(misfit) for misfit in self.misfits)

    def describe(self) -> list[str]:
        """Say of each arm what is known: "known", "only activation * rate" or "not yet"; a batch row after row."""
        words = np.where(self.product_identified, "only activation * rate", "not yet")
        return [str(word) for word in np.where(self.identified, "known", words).ravel()]

    def columns(self) -> dict[str, Any]:
        """Return a tidy table as columns, a row for each arm: what is known, the numbers, and the ends of intervals.

        A batch of learners has its rows' number first.
        """
        arms = self.rate.shape[-1]
        rows = self.rate.size // arms
        table: dict[str, Any] = {} if self.rate.ndim == 1 else {"row": np.repeat(np.arange(rows), arms)}
        table |= {"arm": list(self.names or usual_names(arms)) * rows, "known": self.describe()}
        for name in ("activation", "rate", "shape"):
            value, ends = getattr(self, name), getattr(self, f"{name}_interval")
            if value is not None:
                table[name] = np.broadcast_to(value, self.rate.shape).ravel()
            if ends is not None:
                low, high = np.moveaxis(np.broadcast_to(ends, (*self.rate.shape, 2)), -1, 0)
                table |= {f"{name}_low": low.ravel(), f"{name}_high": high.ravel()}
        if self.law:
            chances = np.stack([np.broadcast_to(np.asarray(c).T, self.rate.shape[::-1]).T for c in self.law.values()])
            table["law"] = [list(self.law)[best] for best in np.argmax(chances, axis=0).ravel().tolist()]
        return table

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw activation and rate of each arm with their intervals: a figure, or the path of the file written."""
        return extra("headgate.figures.results").draw_estimate(self, path)

    def __repr__(self) -> str:
        arms = self.rate.shape[-1]
        batch = f"batch={self.rate.shape[:-1]}, " if self.rate.ndim > 1 else ""
        words = f"{np.count_nonzero(self.identified)} of {self.rate.size} known"
        if batch:
            return f"{type(self).__name__}({batch}arms={arms}, {words})"
        names = (self.names or usual_names(arms))[:4]
        shown = [
            f"{name}: p {p:.3g}, rate {r:.3g}" for name, p, r in zip(names, self.activation, self.rate, strict=False)
        ]
        return f"{type(self).__name__}({words}; {'; '.join(shown)}{'; ...' if arms > 4 else ''})"
