"""A law given by points: thresholds that were measured, or a mixture, or an envelope of other laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from headgate import checks
from headgate.errors import ParameterError, UnsupportedError
from headgate.laws.scale import ScaleLaw
from headgate.laws.shape import Floats

if TYPE_CHECKING:
    from headgate.laws.standard import Standard


@final
@dataclass(frozen=True, slots=True)
class Points(ScaleLaw):
    """G(x, rate) = y at rate x, straight between the points: any distribution function, of any shape.

    Parameters
    ----------
    x
        Where the points are: from 0 on, growing.
    y
        G there: from 0 to 1, not falling.

    The oracle takes such curves as they are (`headgate.solve_curves`); a policy that learns needs a law with a rate to
    learn, and refuses this one.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    name: ClassVar[str] = "points"

    def __post_init__(self) -> None:
        """Check that the points are those of a distribution function."""
        x, y = checks.numbers("x", self.x), checks.numbers("y", self.y, most=1.0)
        if x.ndim != 1 or x.shape != y.shape or x.size < 2:
            raise ParameterError(f"x and y must be two sequences of as many points, got shapes {x.shape} and {y.shape}")
        if x[0] != 0.0 or np.any(np.diff(x) <= 0.0):
            raise ParameterError(f"x must grow from 0 on, got {self.x!r}")
        if y[0] != 0.0 or y[-1] != 1.0 or np.any(np.diff(y) < 0.0):
            raise ParameterError(f"y must not fall, from 0 to 1, got {self.y!r}")
        object.__setattr__(self, "x", tuple(x.tolist()))
        object.__setattr__(self, "y", tuple(y.tolist()))

    def arm_axis(self) -> tuple[int, ...]:
        """Return (): the points are those of one curve, not one per arm."""
        return ()

    def support0(self) -> tuple[float, float]:
        """Return where the curve leaves 0 and reaches 1."""
        y = np.array(self.y)
        return self.x[int(np.flatnonzero(y == 0.0)[-1])], self.x[int(np.argmax(y == 1.0))]

    def cdf0(self, z: Floats) -> Floats:
        """F0(z), straight between the points."""
        return np.asarray(np.interp(z, self.x, self.y))

    def log_sf0(self, z: Floats) -> Floats:
        """log(1 - F0), from the differences to 1, which are exact at the points."""
        with np.errstate(divide="ignore"):
            return np.log(np.interp(z, self.x, 1.0 - np.array(self.y)))

    def _density(self) -> Floats:
        return np.diff(self.y) / np.diff(self.x)

    def log_pdf0(self, z: Floats) -> Floats:
        """Log density: constant between points; at a point that of the piece before it, beyond the last one none."""
        piece = np.clip(np.searchsorted(self.x, z, side="left") - 1, 0, len(self.x) - 2)
        with np.errstate(divide="ignore"):
            return np.where(np.asarray(z) > self.x[-1], -np.inf, np.log(self._density()[piece]))

    def quantile0(self, q: Floats) -> Floats:
        """Return the smallest z with F0(z) >= q."""
        y, x = np.array(self.y), np.array(self.x)
        piece = np.clip(np.searchsorted(y, q, side="left"), 1, len(x) - 1)
        rise = y[piece] - y[piece - 1]
        share = np.where(rise > 0.0, (q - y[piece - 1]) / np.where(rise > 0.0, rise, 1.0), 1.0)
        return np.where(np.asarray(q) <= 0.0, 0.0, x[piece - 1] + share * (x[piece] - x[piece - 1]))

    def truncated_mean0(self, z: Floats) -> Floats:
        """E[Z | Z <= z]: each piece has its mass around its middle."""
        x, y = np.array(self.x), np.array(self.y)
        before = np.append(0.0, np.cumsum(np.diff(y) * 0.5 * (x[1:] + x[:-1])))
        end = np.clip(z, 0.0, x[-1])
        piece = np.clip(np.searchsorted(x, end, side="right") - 1, 0, x.size - 2)
        part = self._density()[piece] * (end - x[piece]) * 0.5 * (end + x[piece])
        with np.errstate(invalid="ignore"):
            return np.asarray((before[piece] + part) / self.cdf0(end))

    def peaks(self) -> tuple[Floats, Floats, Floats]:
        """Return where the density is largest (0 if it never rises), its height there, and the largest z * density."""
        density = self._density()
        top = int(np.argmax(density))
        at = 0.0 if np.all(np.diff(density) <= 0.0) else self.x[top]
        return np.asarray(at), np.asarray(density[top]), np.asarray(np.max(density * np.array(self.x[1:])))

    def standard(self) -> Standard:
        """Refuse: a curve of any shape has no standard form."""
        raise UnsupportedError("a law given by points has no rate that could be learned: give the policy another law")
