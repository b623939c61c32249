"""Integrals of a density over log z, for laws that have no closed form: far tails and truncated means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float64]
Curve: TypeAlias = Callable[[_Floats], _Floats]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
# Panels that double, from 1e-15 to 1e3 e-folds: they resolve a boundary layer of any width.
_DOUBLING = np.concatenate([[0.0], 2.0 ** np.arange(-50, 11)])
_WIDEST = 100.0  # the moments are tabulated for z from exp(-100) to exp(100)
_FAINT = 1e-250  # probabilities and densities below it may be rounded in the wrapped library
_MOST = 20_000  # panels, for a density too rough ever to be resolved


def log_panels(log_f: Curve, left: _Floats, right: _Floats) -> _Floats:
    """Return the log of the integral of exp(log_f) over each [left, right], by Gauss and Legendre."""
    half = (right - left)[..., None] / 2.0
    with np.errstate(all="ignore"):
        log_mass = log_f(left[..., None] + half * (1.0 + _NODES)) + np.log(half * _WEIGHTS)
    return _log_sum(np.nan_to_num(log_mass, nan=-np.inf, posinf=np.inf, neginf=-np.inf))


def _log_sum(values: _Floats) -> _Floats:
    """Log of the sum of exp(values) over the last axis."""
    return np.asarray(np.logaddexp.reduce(values, axis=-1))


def log_upper_tail(log_pdf0: Curve, z: _Floats) -> _Floats:
    """Return the log of the integral of the density from z to infinity, exact however small it is."""

    def log_f(s: _Floats) -> _Floats:
        y = log_z[..., None, None] + s
        return log_pdf0(np.exp(y)) + y

    log_z = np.log(z)
    edges = np.broadcast_to(_DOUBLING, (*z.shape, _DOUBLING.size))
    return _log_sum(log_panels(log_f, edges[..., :-1], edges[..., 1:]))


def mean_near(log_pdf0: Curve, z: _Floats) -> _Floats:
    """E[Z | Z <= z] where the density below z falls so fast that its integral underflows."""

    def log_f(s: _Floats) -> _Floats:
        y = log_z[..., None, None] - s
        return log_pdf0(np.exp(y)) + y

    log_z = np.log(z)
    edges = np.broadcast_to(_DOUBLING, (*z.shape, _DOUBLING.size))
    left, right = edges[..., :-1], edges[..., 1:]
    mass = _log_sum(log_panels(log_f, left, right))
    moment = _log_sum(log_panels(lambda s: log_f(s) - s, left, right))
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(mass), z * np.exp(moment - mass), z)


@dataclass(frozen=True, eq=False)
class Moments:
    """log E[Z; Z <= edge] at edges so close that one quadrature between two of them is exact."""

    log_pdf0: Curve
    cdf0: Curve
    edges: _Floats
    log_moment: _Floats

    def truncated_mean(self, z: _Floats) -> _Floats:
        """E[Z | Z <= z]; z itself where nothing lies below it."""
        flat = np.clip(z.ravel(), np.exp(20.0 - _WIDEST), np.exp(self.edges[-1]))
        log_z = np.maximum(np.log(flat), self.edges[0])
        before = np.clip(np.searchsorted(self.edges, log_z, side="right") - 1, 0, len(self.edges) - 2)
        rest = log_panels(self._log_moment_density, self.edges[before], log_z)
        mass = self.cdf0(flat)
        with np.errstate(divide="ignore"):
            mean = np.exp(np.logaddexp(self.log_moment[before], rest) - np.log(mass))
        faint = mass < _FAINT
        mean[faint] = mean_near(self.log_pdf0, flat[faint])
        # Below the table's start the law is a power of z, and the mean a fixed share of it.
        return np.asarray(mean * np.minimum(z.ravel() / flat, 1.0)).reshape(z.shape)

    def _log_moment_density(self, log_z: _Floats) -> _Floats:
        return self.log_pdf0(np.exp(log_z)) + 2.0 * log_z


def moments(log_pdf0: Curve, cdf0: Curve, support: tuple[float, float]) -> Moments:
    """Tabulate log E[Z; Z <= z], halving panels until each agrees with its halves to 1e-12."""
    with np.errstate(divide="ignore"):
        low, high = np.clip(np.log(support), -_WIDEST, _WIDEST)
    edges = np.linspace(low, high, 2 + int(4.0 * (high - low)))

    def log_f(log_z: _Floats) -> _Floats:
        return log_pdf0(np.exp(log_z)) + 2.0 * log_z

    for _ in range(45):
        left, right = edges[:-1], edges[1:]
        middle = (left + right) / 2.0
        whole = log_panels(log_f, left, right)
        halves = np.logaddexp(log_panels(log_f, left, middle), log_panels(log_f, middle, right))
        total = np.logaddexp.accumulate(halves)
        matters = (halves > total - 42.0) & (halves > np.log(_FAINT))
        with np.errstate(invalid="ignore"):
            coarse = matters & ~(np.abs(whole - halves) < 1e-12) & (right - left > 1e-13)
        if not np.any(coarse) or edges.size > _MOST:
            break
        edges = np.sort(np.concatenate([edges, middle[coarse]]))
    panels = log_panels(log_f, edges[:-1], edges[1:])
    return Moments(log_pdf0, cdf0, edges, np.concatenate([[-np.inf], np.logaddexp.accumulate(panels)]))
