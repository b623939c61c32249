"""Laws that are made of other laws: what each of them answers is put together in one place, `_each`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from headgate.laws.base import Law
from headgate.laws.shape import Floats


class Joined(Law):
    """A law that asks its members."""

    laws: tuple[Law, ...]

    @property
    def is_open(self) -> bool:
        """Whether a shape of one of them is still to be learned."""
        return any(law.is_open for law in self.laws)

    def to_dict(self) -> dict[str, Any]:
        """Return the laws as plain data."""
        return {"name": self.name, "laws": [law.to_dict() for law in self.laws]}

    @abstractmethod
    def _each(self, method: str, *arguments: Floats | float) -> Floats:
        """Call the method of each member on its part of the arguments, and return the answers in one array."""

    def _log_sf(self, x: Floats, rate: Floats) -> Floats:
        return self._each("_log_sf", x, rate)

    def _log_pdf(self, x: Floats, rate: Floats) -> Floats:
        return self._each("_log_pdf", x, rate)

    def _cdf(self, x: Floats, rate: Floats) -> Floats:
        return self._each("_cdf", x, rate)

    def _quantile(self, q: Floats, rate: Floats) -> Floats:
        return self._each("_quantile", q, rate)

    def _truncated_mean(self, rate: Floats, upper: Floats) -> Floats:
        return self._each("_truncated_mean", rate, upper)

    def _inflection(self, rate: Floats) -> Floats:
        return self._each("_inflection", rate)

    def _boost(self, rate: Floats, boosted: Floats) -> Floats:
        return self._each("_boost", rate, boosted)

    def _rate_of_quantile(self, x: Floats, q: Floats) -> Floats:
        return self._each("_rate_of_quantile", x, q)
