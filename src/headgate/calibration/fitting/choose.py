"""Which law fits each arm: every law is fitted, and Akaike's criterion decides unless one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate import checks
from headgate.calibration.fitting.family import candidates, checked
from headgate.calibration.fitting.fit import LawFit, fit_law
from headgate.calibration.fitting.goodness import Goodness, goodness, kaplan_meier
from headgate.calibration.fitting.points import Basis, Points
from headgate.calibration.fitting.profile import Ends, at_an_end, profile_ends, told_apart
from headgate.calibration.kaplan_meier import KaplanMeier
from headgate.laws import Exponential, Floats, Law

if TYPE_CHECKING:
    from headgate.calibration.fitting.cautions import Caution

_BLOCK = 2_000_000  # points fitted at once
RANKS = ("ks", "rows")


@dataclass(frozen=True, slots=True, eq=False)
class ArmFit:
    """One arm: its law, its parameters with intervals, and how well that fits."""

    name: str
    rows: int
    successes: int
    basis: Basis
    law: Law
    rate: float
    activation: float
    rate_interval: tuple[float, float]
    shape_interval: tuple[float, float] | None
    activation_interval: tuple[float, float]
    log_likelihood: float
    aic: Mapping[str, float]
    """Of every law that was fitted, the smallest first."""
    goodness: Goodness
    curve: KaplanMeier
    """Kaplan and Meier's: of p G where rows are censored, else of G alone."""
    kept: tuple[float, float]
    """The range of thresholds that were kept; 0 and infinity without trimming."""
    at_boundary: bool
    identified: bool
    fit: LawFit | None
    """None for an arm that never succeeded under censoring: there is nothing to fit."""
    points: Points
    cautions: tuple[Caution, ...] = field(default=())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is doubtful about the arm, the gravest first."""
        return tuple(caution.text for caution in self.cautions)

    @property
    def share(self) -> float:
        """The share of successes."""
        return self.successes / max(self.rows, 1)

    @property
    def shape(self) -> float | None:
        """The law's shape, if it has one."""
        (*shapes,) = self.law.shapes().values()
        return float(shapes[0]) if shapes else None

    @property
    def ks(self) -> float:
        """The Kolmogorov-Smirnov distance (to Kaplan and Meier where rows are censored)."""
        return self.goodness.distance


def fit_arms(
    points: Points,
    names: Sequence[str],
    *,
    law: str | None = None,
    laws: Sequence[str] | None = None,
    whole: bool = False,
    level: float = 0.9,
    progress: Callable[[int], None] = lambda _: None,
) -> list[ArmFit]:
    """Fit every arm with `law`, or with that of `laws` (by default all) with the smallest AIC.

    A law whose shape ran to the end of its range is not at a maximum and is chosen only if none is. `progress` is
    called with the number of arms finished.
    """
    law_names = (law,) if law is not None else tuple(laws or candidates(whole=whole))
    law_names = checked(law_names, whole=whole)
    deep = points.thresholds.shape[0] + points.cut.shape[0]
    size = max(1, _BLOCK // max(deep, 1))
    fits: list[ArmFit] = []
    for start in range(0, points.arms, size):
        arms = np.arange(start, min(start + size, points.arms))
        fits += _block(points.only(arms), [names[arm] for arm in arms], law_names, level)
        progress(len(fits))
    return fits


def _block(points: Points, names: Sequence[str], law_names: Sequence[str], level: float) -> list[ArmFit]:
    rough = points.coarse()
    alone = len(law_names) == 1
    fits = {name: fit_law(name, points, coarse=rough, exact=alone) for name in law_names}
    aic = np.stack([fit.aic for fit in fits.values()])
    edge = np.stack([fit.at_boundary for fit in fits.values()])
    ranked = np.where(edge & ~np.all(edge | ~np.isfinite(aic), axis=0), np.inf, aic)
    best = np.argmin(ranked, axis=0)
    single: dict[int, tuple[LawFit, Ends | None]] = {}
    for place in np.unique(best).tolist():
        arms = np.flatnonzero(best == place)
        own = points.only(arms)
        fit = fits[law_names[place]].only(arms) if alone else fit_law(law_names[place], own)
        profiles = profile_ends(fit, own, level) if points.cure and own.thresholds.shape[0] else [None] * arms.size
        single |= {arm: (fit.only([i]), profiles[i]) for i, arm in enumerate(arms.tolist())}
    return [
        _arm(name, *single[arm], points.only([arm]), dict(zip(law_names, aic[:, arm].tolist(), strict=True)), level)
        for arm, name in enumerate(names)
    ]


def _arm(
    name: str, fit: LawFit, profile: Ends | None, points: Points, aic: Mapping[str, float], level: float
) -> ArmFit:
    rows, successes = round(float(points.trials[0])), round(float(points.successes[0]))
    kept = (float(points.low[0]), float(points.high[0]))
    curve = kaplan_meier(points)
    if not points.thresholds.shape[0]:
        return _nothing(name, rows, points, curve, level)
    ends = {key: (float(v[0, 0]), float(v[0, 1])) for key, v in fit.intervals(level).items()}
    identified = bool(fit.rate_known[0])
    if profile is not None:
        identified &= told_apart(profile, level)
        ends = _wider(ends, fit, profile) if at_an_end(fit) else {**ends, "activation": profile.activation}
    return ArmFit(
        name=name,
        rows=rows,
        successes=successes,
        basis=points.basis,
        law=fit.law.of_arm(0),
        rate=float(fit.rate[0]),
        activation=float(fit.activation[0]),
        rate_interval=ends["rate"],
        shape_interval=ends.get("shape"),
        activation_interval=ends["activation"],
        log_likelihood=float(fit.log_likelihood[0]),
        aic=dict(sorted(aic.items(), key=lambda item: item[1])),
        goodness=goodness(fit, points, curve),
        curve=curve,
        kept=kept,
        at_boundary=bool(fit.at_boundary[0]),
        identified=identified,
        fit=fit,
        points=points,
    )


def _wider(ends: dict[str, tuple[float, float]], fit: LawFit, profile: Ends) -> dict[str, tuple[float, float]]:
    """Let the other intervals reach as far as the parameters go while the activation stays likely enough."""
    low, high = (profile.theta[None, :, side] for side in (0, 1))
    reach = {"rate": (float(np.exp(low[0, 0])), float(np.exp(high[0, 0])))}
    least, most = fit.family.shape(low), fit.family.shape(high)
    if least is not None and most is not None:
        reach["shape"] = (float(least[0]), float(most[0]))
    wider = {name: (min(ends[name][0], a), max(ends[name][1], b)) for name, (a, b) in reach.items()}
    return {**ends, **wider, "activation": profile.activation}


def _nothing(name: str, rows: int, points: Points, curve: KaplanMeier, level: float) -> ArmFit:
    """An arm of which no threshold was ever seen: it is taken as never active, which is the likeliest.

    Where rows were cut off it may be slow instead, and its activation anything; else its share of 0 has Jeffreys' end.
    """
    most = 1.0 if points.cure else float(special.betaincinv(0.5, rows + 0.5, 0.5 + level / 2.0))
    mean = float(points.cut_weight[:, 0] @ points.cut[:, 0]) / max(float(points.cut_weight.sum()), 1.0)
    none = (0.0, float("inf"))
    return ArmFit(
        name=name, rows=rows, successes=0, basis=points.basis, law=Exponential(),
        rate=1.0 / mean if mean > 0.0 else 1.0, activation=0.0,
        rate_interval=none, shape_interval=None, activation_interval=(0.0, most),
        log_likelihood=0.0, aic={}, goodness=Goodness(np.nan, np.nan, np.nan, 0), curve=curve, kept=none,
        at_boundary=False, identified=False, fit=None, points=points,
    )  # fmt: skip


def best_arms(arms: Sequence[ArmFit], count: int, by: str = "ks") -> NDArray[np.int64]:
    """Return which arms are kept, in their own order: the `count` with the smallest KS, or with the most rows.

    The paper's 20 questions are those with the smallest KS of a Weibull law.
    """
    checks.choice("by", by, RANKS)
    checks.whole("select", count, most=len(arms))
    worth: Floats = np.array([arm.ks if by == "ks" else -arm.rows for arm in arms], dtype=np.float64)
    worth = np.where(np.isnan(worth), np.inf, worth)
    return np.sort(np.argsort(worth, kind="stable")[:count])
