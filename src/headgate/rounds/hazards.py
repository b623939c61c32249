"""Kinds of rounds from rounds that were cut short: EM over rounds, each arm with a hazard that is constant in bins.

In a round of kind q arm i succeeds at the rate lambda_qib per bin b, so that -log(1 - F_iq(x)) is straight within bins.
What a round tells of an arm is d, the bin of its success, and t, how much of every bin it was given without one:

    log L_q = sum_ib d_ib log lambda_qib - t_ib lambda_qib.

The E-step weighs kinds by pi_q L_q; the M-step is (d + a mu) / (t + a), a ratio of sums. Its prior mean mu_qb is how
easy rounds of the kind are to any arm: an arm that was hardly tried in hard rounds is taken to find them hard, and
not to be as good there as it is overall, which would promise too much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.laws import Floats

_BINS, _FEWEST = 24, 4  # of amounts, at most and at least
_EVENTS = 8  # successes that a bin has of an arm on average: with fewer, hazards follow chance and foretell nothing
_FOLDS = 3  # parts of the rounds that are held out in turn, to choose the number of kinds
NUMBERS = (1, 2, 4, 12, 24, 40)
"""How many kinds there may be."""
_LEAST = 1e-9  # the least hazard of a bin
_OWN = 1.5  # rounds that the prior of an arm's hazard in a kind counts for
_SHARED = 1.0  # rounds that the prior of a kind's own hazard counts for
_ITERATIONS = 60
_CLOSE = 1e-6  # relative gain of the likelihood at which EM ends


def bins_of(thresholds: Floats, most: float) -> Floats:
    """Return the edges of bins of rounds (N, K), from 0 to `most`: as many successes in each, of a width above 0."""
    inside = thresholds[np.isfinite(thresholds) & (thresholds < most)]
    count = min(max(inside.size // (_EVENTS * thresholds.shape[1]), _FEWEST), _BINS)
    inner = np.quantile(inside, np.linspace(0.0, 1.0, count + 1)[1:-1]) if inside.size else np.empty(0)
    inner = np.unique(inner[(inner > 0.0) & (inner < most)])
    return np.concatenate([[0.0], inner, [most]])


def counts(thresholds: Floats, allocation: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """Return d and t of rounds, (N, K, bins) each; an arm that was given nothing tells nothing."""
    end = np.minimum(thresholds, allocation)
    t = np.clip((end[..., None] - edges[:-1]) / np.diff(edges), 0.0, 1.0)
    place = np.searchsorted(edges, end, side="left") - 1
    d = (np.arange(edges.size - 1) == place[..., None]) & (thresholds <= allocation)[..., None]
    return d.astype(np.float64), t


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """Kinds of rounds as they were fitted."""

    edges: Floats
    """(bins + 1,)"""
    share: Floats
    """pi, (Q,)"""
    hazard: Floats
    """lambda: (Q, K, bins), what a whole bin adds to -log(1 - F)."""
    likelihood: float
    """Mean log-likelihood of a round."""

    def cumulative(self) -> Floats:
        """-log(1 - F) at the edges: (Q, K, bins + 1)."""
        H = np.cumsum(self.hazard, axis=-1)
        return np.concatenate([np.zeros_like(H[..., :1]), H], axis=-1)

    def weights(self, d: Floats, t: Floats) -> tuple[Floats, Floats]:
        """How likely each round is of each kind, (N, Q), and the log-likelihood of each round, (N,)."""
        size, kinds = len(d), self.share.size
        L = d.reshape(size, -1) @ np.log(self.hazard).reshape(kinds, -1).T
        L -= t.reshape(size, -1) @ self.hazard.reshape(kinds, -1).T
        L += np.log(self.share)
        top = L.max(axis=1, keepdims=True)
        e = np.exp(L - top)
        total = e.sum(axis=1, keepdims=True)
        return e / total, (top + np.log(total))[:, 0]


def step(d: Floats, t: Floats, weights: Floats, edges: Floats) -> Kinds:
    """Return the kinds that maximise the likelihood for these weights of rounds (N, Q): the M-step."""
    size, kinds = weights.shape
    own_d = (weights.T @ d.reshape(size, -1)).reshape(kinds, *d.shape[1:])
    own_t = (weights.T @ t.reshape(size, -1)).reshape(own_d.shape)
    overall = (d.sum(axis=(0, 1)) + 0.5 / d.shape[-1]) / (t.sum(axis=(0, 1)) + 1.0)
    ease = (own_d.sum(axis=1) + _SHARED * overall) / (own_t.sum(axis=1) + _SHARED)  # mu: (Q, bins)
    hazard = (own_d + _OWN * ease[:, None]) / (own_t + _OWN)
    share = (weights.sum(axis=0) + 0.5) / (weights.sum() + 0.5 * kinds)
    return Kinds(edges, share, np.maximum(hazard, _LEAST), np.nan)


def fit_kinds(
    d: Floats, t: Floats, edges: Floats, kinds: int, rng: np.random.Generator, start: Floats | None = None,
    weight: Floats | None = None, iterations: int = _ITERATIONS,
) -> tuple[Kinds, Floats]:  # fmt: skip
    """Fit by EM, from random weights of rounds or from `start` (N, Q); `weight` (N,) counts rounds several times."""
    weights = rng.dirichlet(np.full(kinds, 0.3), len(d)) if start is None else start
    count = np.ones(len(d)) if weight is None else weight
    before = -np.inf
    for _ in range(iterations):
        model = step(d, t, weights * count[:, None], edges)
        weights, likelihood = model.weights(d, t)
        now = float(count @ likelihood)
        if now - before < _CLOSE * abs(now):
            break
        before = now
    mean = float(count @ likelihood / count.sum())
    return Kinds(edges, model.share, model.hazard, mean), weights


def best_number(
    d: Floats, t: Floats, edges: Floats, rng: np.random.Generator, candidates: tuple[int, ...] = NUMBERS
) -> tuple[int, dict[int, float]]:
    """Choose the number of kinds by the mean log-likelihood of rounds that were held out: it, and all of them."""
    place = rng.permutation(len(d)) % _FOLDS
    scores: dict[int, float] = {}
    for kinds in candidates:
        if kinds > 1 and kinds * 8 > len(d):
            continue
        total = 0.0
        for fold in range(_FOLDS):
            fit, test = place != fold, place == fold
            if not (fit.any() and test.any()):
                continue
            model, _ = fit_kinds(d[fit], t[fit], edges, kinds, rng)
            total += float(model.weights(d[test], t[test])[1].sum())
        scores[kinds] = total / len(d)
    return max(scores, key=lambda kinds: scores[kinds]), scores


def completed(
    thresholds: Floats, allocation: Floats, kinds: Kinds, weights: Floats, rng: np.random.Generator, copies: int = 1
) -> Floats:
    """Complete rounds: what was seen stays, what was cut short or not tried is drawn, (copies * N, K).

    A copy of a round draws its kind from `weights`, and each threshold that was not seen from the kind's law beyond
    what the arm was given.
    """
    rounds = np.repeat(np.arange(len(thresholds)), copies)
    ends = np.cumsum(weights, axis=1)
    kind = np.sum(rng.random(rounds.size)[:, None] * ends[rounds, -1:] > ends[rounds], axis=1)
    kind = np.minimum(kind, weights.shape[1] - 1)
    complete, cut = thresholds[rounds], np.minimum(allocation[rounds], kinds.edges[-1])
    H, edges = kinds.cumulative(), kinds.edges
    noise = rng.exponential(size=complete.shape)
    known = complete <= allocation[rounds]
    for arm in range(complete.shape[1]):
        own = H[kind, arm]  # (rows, bins + 1)
        start = _along(edges, own, cut[:, arm])
        goal = start + noise[:, arm]
        bin_of = np.sum(own <= goal[:, None], axis=1) - 1
        inside = bin_of < edges.size - 1
        b = np.minimum(bin_of, edges.size - 2)
        row = np.arange(len(own))
        low, rise = own[row, b], own[row, b + 1] - own[row, b]
        drawn = edges[b] + (goal - low) / np.maximum(rise, 1e-300) * np.diff(edges)[b]
        drawn = np.where(inside, np.maximum(drawn, cut[:, arm]), np.inf)
        complete[:, arm] = np.where(known[:, arm], complete[:, arm], drawn)
    return complete


def _along(edges: Floats, own: Floats, x: Floats) -> Floats:
    """Each row's curve at its own amount."""
    b = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, edges.size - 2)
    row = np.arange(len(own))
    share = (x - edges[b]) / (edges[b + 1] - edges[b])
    return np.asarray(own[row, b] + share * (own[row, b + 1] - own[row, b]))
