"""Every law goes through the suite that users put their own through; and the suite notices laws that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from headgate import laws as hl
from headgate.laws import Floats, Law
from headgate.testing import LAW_CHECKS, ConformanceError, check_law

from .references import BUILT_IN, CASES


def examples(law: type[Law]) -> list[Law]:
    """Return a law at shapes around where they are expected, or as its reference has it."""
    if law.free is None or not law.free.learnable:
        return [case.law for case in CASES[law.name][:2]]
    spread = np.exp(1.2 * law.free.variance**0.5)
    return [law(**{law.free.name: law.free.start * factor}) for factor in (1.0 / spread, 1.0, spread)]


EXAMPLES = [law for family in BUILT_IN for law in examples(family)]


def test_every_law_has_a_reference() -> None:
    """A law that is added to the package is compared with 50 digits somewhere."""
    assert {law.name for law in BUILT_IN} == set(CASES)
    assert all(case.law.name == name for name, cases in CASES.items() for case in cases)


@pytest.mark.parametrize("check", LAW_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("law", EXAMPLES, ids=str)
def test_laws(law: Law, check: Callable[[Law], None]) -> None:
    check(law)


@dataclass(frozen=True)
class Wrong(hl.ScaleLaw):
    """An exponential law, until a subclass spoils it."""

    shape: float = 1.0
    name: ClassVar[str] = "wrong"
    free: ClassVar[hl.Shape | None] = hl.Shape()

    def log_sf0(self, z: Floats) -> Floats:
        return np.asarray(-(z ** np.asarray(self.shape)))

    def log_pdf0(self, z: Floats) -> Floats:
        shape = np.asarray(self.shape)
        return np.asarray(np.log(shape) + (shape - 1.0) * np.log(z) - z**shape)


class Cancels(Wrong):
    def log_sf0(self, z: Floats) -> Floats:
        return np.asarray(np.log(1.0 - (1.0 - np.exp(super().log_sf0(z)))))


class Doubled(Wrong):
    def log_pdf0(self, z: Floats) -> Floats:
        return np.asarray(super().log_pdf0(z) + np.log(2.0))


class Draws(Wrong):
    def sample(self, rate, rng, size=None):  # type: ignore[no-untyped-def]  # spoiled
        return 1.25 * super().sample(rate, rng, size)


class Mean(Wrong):
    def truncated_mean0(self, z: Floats) -> Floats:
        return np.multiply(1.001, super().truncated_mean0(z))


class Median(Wrong):
    def quantile0(self, q: Floats) -> Floats:
        return 1.0001 * super().quantile0(q)


class Peak(Wrong):
    def _inflection(self, rate: Floats) -> Floats:
        return 0.5 / rate


class Form(Wrong):
    def _standard(self):  # type: ignore[no-untyped-def]  # spoiled
        return hl.Weibull(1.5 * self.shape).standard()


class Careless(Wrong):
    def cdf(self, x, rate):  # type: ignore[no-untyped-def]  # spoiled
        return self._cdf(np.asarray(x, dtype=float), np.asarray(rate, dtype=float))


@pytest.mark.parametrize(
    ("law", "check"),
    [
        (Cancels, "tails_do_not_cancel"), (Doubled, "density_adds_up"), (Draws, "draws_follow"),
        (Mean, "truncated_mean"), (Median, "quantile_inverts"), (Peak, "inflection"), (Form, "kernels_see"),
        (Form, "shape_is_learned"), (Careless, "bad_input"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_noticed(law: type[Wrong], check: str) -> None:
    (chosen,) = (c for c in LAW_CHECKS if c.__name__.startswith(check))
    with pytest.raises((ConformanceError, ValueError, TypeError)), np.errstate(all="ignore"):
        chosen(law(0.9))
    chosen(Wrong(0.9))


def test_check_law_says_which() -> None:
    with pytest.raises(ConformanceError) as caught:
        check_law(Mean(0.9))
    assert "truncated_mean_is_the_mean" in caught.value.__notes__[0]
