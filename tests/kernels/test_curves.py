"""The kernels' curves against the laws' NumPy methods, and the shape the hulls count on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

import headgate as hg
from headgate.kernels import curves
from headgate.kernels.hull import COLUMNS as HULL_COLUMNS
from headgate.kernels.hull import HIGH, LOW, START, TOUCH, fill_hull
from headgate.kernels.table import table_cdf, table_density
from headgate.laws import Floats, Law
from headgate.laws.tabulated import tabulate
from headgate.oracle import standard_form
from tests.oracle.references import CONCAVE, EVERY

guvectorize: Any = numba.guvectorize  # untyped
LAWS: dict[str, Law] = EVERY | {"beta_convex": hg.Beta(3.0), "nakagami_0.1": hg.Nakagami(0.1)}
WEIGHTS = (1e-3, 0.3, 0.9, 0.999, 1.0)


def on_first_call(layout: str, signature: str) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """A gufunc that is compiled when a test first calls it, not whenever tests are collected."""

    def declare(function: Callable[..., None]) -> Callable[..., Any]:
        compiled = cache(lambda: guvectorize([signature], layout, nopython=True)(function))
        return lambda *values: compiled()(*values)  # noqa: PLW0108  # not before it is called

    return declare


@on_first_call(
    "(c),(r,t,n),(m)->(m),(m),(m)", "void(float64[:], float64[:,:,:], float64[:], float64[:], float64[:], float64[:])"
)
def scan(row, table, x, value, log_slope, bend):  # type: ignore[no-untyped-def]
    for i in range(x.size):
        value[i] = curves.value(row, table, x[i])
        log_slope[i], bend[i] = curves.log_slope(row, table, x[i])


@on_first_call(
    "(c),(r,t,n),(),(),(d)->(d)", "void(float64[:], float64[:,:,:], float64, float64, float64[:], float64[:])"
)
def shape(row, table, low, high, like, out):  # type: ignore[no-untyped-def]
    fill_hull(out[2:], row, table, low, high)
    out[0], out[1] = curves.convex_part(row, table, low, high)


def row_of(law: Law, rate: float, weight: float, *, cascade: bool) -> tuple[Floats, Floats]:
    form, row = standard_form(law, 1), np.empty(curves.COLUMNS)
    curves.fill_row(
        row, form.base[0], form.a[0], form.b[0], np.log(rate) + form.shift[0], form.cap[0], weight, float(cascade)
    )
    return row, form.table


def points(law: Law, rate: float) -> Floats:
    if isinstance(law, hg.Beta):
        return np.linspace(1e-6, 0.999, 400) * float(np.asarray(law.c))
    return np.geomspace(1e-6, 30.0, 600) / rate


def rate_of(name: str) -> float:
    return 0.4 if name == "beta_convex" else 1.7


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The kernels count on infinities; `solve` silences them too."""
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", LAWS)
def test_value_and_slope_are_the_laws(name: str) -> None:
    law, rate = LAWS[name], rate_of(name)
    x = points(law, rate)
    value, slope, bend = scan(*row_of(law, rate, 0.8, cascade=False), x)
    seen = law.pdf(x, rate) > 1e-200
    tabulated = isinstance(law, hg.laws.FromScipy)
    np.testing.assert_allclose(value, 0.8 * law.cdf(x, rate), rtol=1e-12, atol=1e-11 if tabulated else 1e-300)
    expected = np.log(0.8) + law.log_pdf(x, rate)
    np.testing.assert_allclose(slope[seen], expected[seen], atol=3e-5 if tabulated else 1e-9, rtol=1e-11)
    step = 1e-5
    above, below = law.log_pdf(x * (1.0 + step), rate), law.log_pdf(x * (1.0 - step), rate)
    with np.errstate(invalid="ignore"):
        numeric = (above - below) / (np.log1p(step) - np.log1p(-step))
    seen &= np.isfinite(numeric)
    np.testing.assert_allclose(bend[seen], numeric[seen], atol=2e-3 if tabulated else 1e-4, rtol=1e-3)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("name", LAWS)
def test_cascade_value_and_slope(name: str, weight: float) -> None:
    law, rate = LAWS[name], rate_of(name)
    x = points(law, rate)
    value, slope, _ = scan(*row_of(law, rate, weight, cascade=True), x)
    left = (1.0 - weight) + weight * np.exp(law.log_sf(x, rate))
    seen = (left > 1e-9) & (law.pdf(x, rate) > 1e-200)
    expected = np.where(left > 0.5, -np.log1p(-weight * law.cdf(x, rate)), -np.log(np.maximum(left, 1e-300)))
    tabulated = isinstance(law, hg.laws.FromScipy)
    np.testing.assert_allclose(value[seen], expected[seen], rtol=1e-10, atol=1e-2 if tabulated else 1e-300)
    marginal = np.log(weight) + law.log_pdf(x, rate) - np.log(left)
    np.testing.assert_allclose(slope[seen], marginal[seen], atol=1e-2 if tabulated else 1e-8, rtol=1e-9)


def runs(signs: NDArray[np.bool_]) -> list[bool]:
    """The sequence of convex (True) and concave (False) stretches."""
    return [bool(s) for k, s in enumerate(signs) if k == 0 or s != signs[k - 1]]


@pytest.mark.parametrize("cascade", [False, True])
@pytest.mark.parametrize("name", LAWS)
def test_convex_part(name: str, cascade: bool) -> None:
    """Scan the sign of f'' on a fine grid: at most one convex stretch, and where `convex_part` says.

    Only bathtub hazards (Nakagami below 1/2) may be concave before it, and only in a cascade.
    """
    law, rate = LAWS[name], rate_of(name)
    # A table has few digits of the survival, which is all that is left of a sure arm's curve.
    for weight in WEIGHTS[:3] if isinstance(law, hg.laws.FromScipy) else WEIGHTS:
        row, table = row_of(law, rate, weight, cascade=cascade)
        x = points(law, rate)
        _, slope, bend = scan(row, table, x)
        seen = (slope > -30.0) & (np.abs(bend) > 1e-4)  # a straight line is neither
        pattern = runs(bend[seen] > 0.0)
        assert pattern in ([], [False], [True], [True, False], [False, True], [False, True, False])
        if pattern[:2] == [False, True]:
            assert cascade
            assert "nakagami" in name
        high = float(x[-1])
        rise, fall, *hull = shape(row, table, 0.0, high, np.empty(2 + HULL_COLUMNS))
        assert np.all(bend[seen & (x > rise) & (x < fall)] > 0.0)
        assert np.all(bend[seen & ((x < rise) | (x > fall))] < 0.0)
        assert hull[LOW] == 0.0
        assert hull[LOW] <= hull[START] <= hull[TOUCH] <= hull[HIGH]


@pytest.mark.parametrize("low_share", [0.0, 0.03, 0.3])
@pytest.mark.parametrize("cascade", [False, True])
@pytest.mark.parametrize("name", LAWS)
def test_the_hull_is_above_the_curve_and_concave(name: str, cascade: bool, low_share: float) -> None:
    """The hull by its definition: the curve, the chord, the curve. Never below f, and its slopes fall."""
    law, rate = LAWS[name], rate_of(name)
    for weight in WEIGHTS:
        row, table = row_of(law, rate, weight, cascade=cascade)
        high = float(points(law, rate)[-1]) * 0.2
        while law.log_sf(high, rate) < -600.0:  # beyond, the chance of failure is 0 to floats
            high /= 2.0
        low = low_share * high
        *_, start, touch = shape(row, table, low, high, np.empty(2 + HULL_COLUMNS))[2 : 2 + TOUCH + 1]
        x = np.linspace(low, high, 3001)
        value, _, _ = scan(row, table, x)
        ends, _, _ = scan(row, table, np.array([start, touch]))
        chord = (x > start) & (x < touch)
        hull = np.where(chord, np.interp(x, [start, max(touch, start + 1e-300)], ends), value)
        size = max(float(value[-1]), 1e-300)
        assert np.all(hull >= value - 1e-11 * size)
        assert np.all(np.diff(hull, 2) <= 1e-11 * size)


@pytest.mark.parametrize("name", [n for n in CONCAVE if not n.startswith("beta")])
def test_concave_laws_have_no_chord(name: str) -> None:
    row, table = row_of(LAWS[name], 1.7, 0.6, cascade=False)
    for high in (1e-6, 1.0, 1e3, 1e6):
        assert shape(row, table, 0.0, high, np.empty(2 + HULL_COLUMNS))[1] == 0.0


@pytest.mark.parametrize("place", [64.0, 64.0 + 1e-13, 64.5])
def test_nothing_beyond_the_last_row_of_a_table_is_read(place: float) -> None:
    """Rounding may put the place of the last row above it; what lies behind the table is not a number here."""
    rows = tabulate(hg.Lomax(np.linspace(1.0, 2.0, 65))).standard().table
    room = np.full((66, *rows.shape[1:]), np.nan)
    room[:65] = rows
    table = room[:65]
    assert table_cdf(table, place, 0.3) == table_cdf(table, 64.0, 0.3)
    assert table_density(table, place, 0.3) == table_density(table, 64.0, 0.3)
