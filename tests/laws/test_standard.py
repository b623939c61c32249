"""The standard form: base curve, shift and axis reproduce each law; a table is as exact as it says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from headgate import laws as hl
from headgate.laws.standard import TABLE_KNOTS, Base, Standard

from .references import BETAS, SCALE, SHAPED_SCALE, WRAPPED, Case, each

Array = NDArray[np.float64]
TABLES = [
    ("invgauss", (0.5,), 1e-10), ("fisk", (2.0,), 1e-10), ("burr12", (2.0, 1.5), 1e-10), ("halfcauchy", (), 1e-10),
    ("expon", (), 1e-12), ("genextreme", (-0.5, 2.0, 1.0), 1e-12), ("lognorm", (0.05,), 1e-12),
    ("triang", (0.4,), 1e-12), ("uniform", (), 1e-12), ("pareto", (2.0,), 1e-12), ("levy", (), 1e-8),
    ("beta", (2.0, 5.0), 1e-12), ("expon", (1.0,), 1e-12), ("beta", (2.0, 0.5), 1e-4), ("truncnorm", (0.0, 2.0), 1e-12),
]  # fmt: skip


def hermite(row: Array, u: Array) -> Array:
    """F0 at u: a cubic on each piece, from F0 and its slope exp(q) at the piece's ends; 0 and 1 beyond the knots."""
    knots, F0, q = row[0], row[1], row[2]
    cell = np.clip(np.searchsorted(knots, u, side="right") - 1, 0, TABLE_KNOTS - 2)
    width = knots[cell + 1] - knots[cell]
    t = np.clip((u - knots[cell]) / width, 0.0, 1.0)
    left, right = F0[cell], F0[cell + 1]
    rise_left, rise_right = (width * np.exp(q[cell + d]) for d in (0, 1))
    chord = right - left
    bend = 3.0 * chord - 2.0 * rise_left - rise_right
    twist = rise_left + rise_right - 2.0 * chord
    return np.asarray(left + t * (rise_left + t * (bend + t * twist)))


def cdf(form: Standard, arm: int, x: Array, rate: float) -> Array:
    """The base's formula, as `standard.py` writes it."""
    columns = (form.base, form.a, form.b, form.shift, form.cap)
    base, a, b, shift, cap = (float(v if v.ndim == 0 else v[arm]) for v in columns)
    phi = x if np.isinf(cap) else -np.log1p(-x / cap)
    u = np.log(rate) + np.log(phi) + shift
    if base == Base.GAMMA:
        return np.asarray(special.gammainc(a, np.exp(b * u)))
    if base == Base.BURR:
        return np.asarray(-np.expm1(-a * np.log1p(np.exp(b * u))))
    if base == Base.NORMAL:
        return np.asarray(special.ndtr(b * u))
    return hermite(form.table[int(a)], u)


@each([*SCALE, *WRAPPED])
def test_closed_and_tabulated_bases(case: Case) -> None:
    x = np.geomspace(1e-3, 1e3, 50)
    form = case.law.standard()
    tolerance = 1e-12 + (float(np.max(form.error)) if form.base == Base.TABLE else 0.0)
    assert float(np.max(form.error)) == 0.0 or form.base == Base.TABLE
    np.testing.assert_allclose(cdf(form, 0, x, 0.37), case.law.cdf(x, 0.37), rtol=1e-11, atol=tolerance)


@each(BETAS)
def test_capped_axis(case: Case) -> None:
    form = case.law.standard()
    x = float(form.cap) * np.linspace(0.01, 0.99, 20)
    np.testing.assert_allclose(cdf(form, 0, x, 2.5), case.law.cdf(x, 2.5), rtol=1e-13)


def test_whole_numbers_use_the_weibull_they_round() -> None:
    law, n = hl.DiscreteWeibull(1.6), np.arange(1.0, 30.0)
    np.testing.assert_allclose(cdf(law.standard(), 0, n, 0.1), law.cdf(n, 0.1), rtol=1e-13)


def test_one_shape_per_arm() -> None:
    shapes, x = (0.4, 1.0, 3.0), np.geomspace(0.01, 10.0, 9)
    for family in SHAPED_SCALE:
        form = family(shapes).standard()
        for arm, shape in enumerate(shapes):
            np.testing.assert_allclose(cdf(form, arm, x, 0.7), family(shape).cdf(x, 0.7), rtol=1e-12)


@pytest.mark.parametrize(("name", "parameters", "at_most"), TABLES, ids=[f"{t[0]}{t[1]}" for t in TABLES])
def test_a_table_is_as_exact_as_it_says(name: str, parameters: tuple[float, ...], at_most: float) -> None:
    """On random points, and on 5,000 within the cells of the largest error."""
    law = hl.from_scipy(name, *parameters)
    form = law.standard()
    assert form.table.shape == (1, 6, TABLE_KNOTS)
    rng = np.random.default_rng(5)
    u = np.concatenate([rng.uniform(-39.9, 39.9, 5000), rng.uniform(-3.0, 3.0, 20_000)])
    gap = np.abs(hermite(form.table[0], u) - law.cdf(np.exp(u), 1.0))
    worst = u[np.argmax(gap)]
    u = worst + rng.uniform(-1e-3, 1e-3, 5000)
    gap = np.append(gap, np.abs(hermite(form.table[0], u) - law.cdf(np.exp(u), 1.0)))
    claimed = float(form.error[0])
    assert np.max(gap) <= claimed + 2e-16
    assert claimed < at_most


def test_a_table_holds_q_and_its_slope() -> None:
    """q(u) = u + log f0(exp u), finite everywhere so that it can be interpolated."""
    form = hl.from_scipy("fisk", 2.0).standard()
    knots, q, slope = (form.table[0, row] for row in (0, 2, 3))
    assert np.all(np.isfinite(form.table))
    inside = np.abs(knots) < 20.0
    u = knots[inside]
    np.testing.assert_allclose(q[inside], np.log(2.0) + 2 * u - 2 * np.log1p(np.exp(2 * u)), rtol=1e-9)
    np.testing.assert_allclose(slope[inside], 2.0 - 4.0 / (1.0 + np.exp(-2 * u)), atol=1e-8)
    assert np.all(np.isfinite(hl.from_scipy("uniform").standard().table))


def test_a_mass_beyond_the_grid_is_an_error() -> None:
    """fisk(0.1) has 2% of its mass below exp(-40): the table says so."""
    assert hl.from_scipy("fisk", 0.1).standard().error[0] == pytest.approx(1.0 / (1.0 + np.exp(4.0)), rel=1e-6)


def test_mixed_arms() -> None:
    """Each arm of a `PerArm` keeps its base, and each table its row."""
    laws = (
        hl.from_scipy("invgauss", 0.5), hl.Weibull(2.0), hl.Beta(9.0), hl.from_scipy("fisk", 3.0),
        hl.LogNormal(0.5), hl.from_scipy("invgauss", 0.5), hl.LogLogistic(2.0), hl.Nakagami(3.0),
    )  # fmt: skip
    form = hl.PerArm(laws).standard()
    assert form.table.shape == (2, 6, TABLE_KNOTS)
    assert form.error.shape == (8,)
    x = np.geomspace(0.05, 8.0, 12)
    for arm, law in enumerate(laws):
        np.testing.assert_allclose(cdf(form, arm, x, 0.4), law.cdf(x, 0.4), rtol=1e-10, atol=1e-10)
        assert form.error[arm] == np.max(law.standard().error)
