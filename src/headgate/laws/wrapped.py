"""Any positive continuous scipy.stats distribution as a law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, final

import numpy as np

from headgate.errors import ParameterError
from headgate.laws.integrals import Moments, log_upper_tail, moments
from headgate.laws.scale import ScaleLaw
from headgate.laws.shape import Floats

_FAINT = 1e-6  # below it scipy's survival may be 1 - cdf, and is integrated anew from its density
_CHUNK = 4096


def _family(distribution: str) -> Any:
    from scipy import stats  # noqa: PLC0415  # half a second, and only this law needs it

    family = getattr(stats, str(distribution), None)  # a name from a file may be a number
    if not isinstance(family, stats.rv_continuous):
        raise ParameterError(f"scipy.stats has no continuous distribution named {distribution!r}")
    return family


@lru_cache(maxsize=64)
def _frozen(distribution: str, parameters: tuple[float, ...]) -> Any:
    family = _family(distribution)
    try:
        frozen = family(*parameters)
    except TypeError as cause:
        raise ParameterError(f"scipy.stats.{distribution} does not take {parameters}: {cause}") from cause
    low, high = frozen.support()
    if np.isnan(low):  # how scipy says that the parameters are not allowed
        raise ParameterError(f"scipy.stats.{distribution} does not allow the parameters {parameters}")
    if low < 0.0:
        raise ParameterError(f"thresholds are positive, but {distribution}{parameters} lives on [{low:g}, {high:g}]")
    return frozen


@lru_cache(maxsize=64)
def _moments(law: FromScipy) -> Moments:
    return moments(law.log_pdf0, law.cdf0, _frozen(law.distribution, law.parameters).support())


@final
@dataclass(frozen=True, slots=True)
class FromScipy(ScaleLaw):
    """G(x, rate) = F(rate x) for a scipy distribution F; made by `from_scipy`."""

    distribution: str
    parameters: tuple[float, ...]
    name: ClassVar[str] = "scipy"

    def __post_init__(self) -> None:
        """Check that the distribution exists and is positive."""
        try:
            parameters = tuple(float(v) for v in self.parameters)
        except (TypeError, ValueError) as cause:
            raise ParameterError(f"parameters must be numbers, got {self.parameters!r}") from cause
        object.__setattr__(self, "parameters", parameters)
        _frozen(self.distribution, self.parameters)

    def arm_axis(self) -> tuple[int, ...]:
        """Return (): the parameters are those of one distribution, not one per arm."""
        return ()

    def support0(self) -> tuple[float, float]:
        """Return the ends of the distribution's support."""
        low, high = _frozen(self.distribution, self.parameters).support()
        return float(low), float(high)

    def cdf0(self, z: Floats) -> Floats:
        """Distribution function at rate 1."""
        with np.errstate(all="ignore"):
            return np.asarray(_frozen(self.distribution, self.parameters).cdf(z))

    def log_sf0(self, z: Floats) -> Floats:
        """Log survival: from the cdf below the median, from the density where scipy's logsf may cancel."""
        frozen = _frozen(self.distribution, self.parameters)
        cdf = self.cdf0(z)
        with np.errstate(all="ignore"):
            result = np.where(cdf < 0.5, np.log1p(-np.minimum(cdf, 0.5)), frozen.logsf(z))
        if frozen.support()[1] < np.inf:
            return result
        faint = np.flatnonzero(~(result.ravel() > np.log(_FAINT)) & np.isfinite(np.ravel(z)))
        for chunk in np.split(faint, range(_CHUNK, faint.size, _CHUNK)):
            tail = log_upper_tail(self.log_pdf0, np.ravel(z)[chunk])
            result.flat[chunk] = np.where(np.isfinite(tail), tail, result.flat[chunk])
        return result

    def log_pdf0(self, z: Floats) -> Floats:
        """Log density at rate 1."""
        with np.errstate(all="ignore"):
            return np.asarray(_frozen(self.distribution, self.parameters).logpdf(z))

    def quantile0(self, q: Floats) -> Floats:
        """Invert F at rate 1."""
        return np.asarray(_frozen(self.distribution, self.parameters).ppf(q))

    def truncated_mean0(self, z: Floats) -> Floats:
        """E[Z | Z <= z] at rate 1, by adaptive quadrature, tabulated once."""
        return _moments(self).truncated_mean(np.asarray(z))


def from_scipy(distribution: Any, *args: float, **kwargs: float) -> FromScipy:
    """Turn a positive continuous `scipy.stats` distribution F into a law, G(x, rate) = F(rate x).

    Parameters
    ----------
    distribution
        A family (`scipy.stats.invgauss`), its name, or a frozen distribution.
    args, kwargs
        Its shape parameters, as scipy takes them; not allowed with a frozen distribution.

    Examples
    --------
    >>> law = from_scipy("invgauss", mu=0.5)
    >>> round(float(law.cdf(1.0, rate=0.5)), 6)
    0.627698
    """
    family = distribution
    if hasattr(distribution, "dist"):
        if args or kwargs:
            raise ParameterError(f"a frozen distribution already has its parameters, got {args or kwargs} besides")
        family, args, kwargs = distribution.dist, distribution.args, distribution.kwds
    elif isinstance(distribution, str):
        family = _family(distribution)
    try:
        # scipy's own parser puts positional and named parameters, loc and scale in one order.
        shapes, loc, scale = family._parse_args(*args, **kwargs)  # noqa: SLF001  # no public equal
        parameters = tuple(float(v) for v in (*shapes, loc, scale))
    except (AttributeError, TypeError, ValueError) as cause:
        raise ParameterError(f"cannot read {distribution!r} with {args} {kwargs}: {cause}") from cause
    return FromScipy(family.name, parameters)
