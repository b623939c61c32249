"""Evidence and distinct rows from the engine, bit for bit those of a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.calibration.engine import Engine, connect
from headgate.calibration.engine.add_up import Added, add_up, in_order
from headgate.calibration.log import Kind
from headgate.errors import InputError, UnsupportedError
from headgate.evidence import Evidence, bin_edges
from headgate.laws import Floats
from tests.calibration.references import Row, evidence_of

ibis: Any = pytest.importorskip("ibis")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with connect() as opened:
        yield opened


def table(rows: list[Row]) -> Any:
    arm, given, won, seen = zip(*rows, strict=True)
    raw = ibis.memtable(
        {"arm": list(arm), "allocation": np.array(given), "success": np.array(won), "threshold": np.array(seen)}
    )
    nothing = ibis.null("float64")
    return raw.mutate(
        allocation=ibis.ifelse(raw.allocation.isinf(), nothing, raw.allocation),
        threshold=ibis.ifelse(raw.threshold.isnan(), nothing, raw.threshold),
    )


def added(engine: Engine, rows: list[Row], kind: Kind, **options: Any) -> Added:
    kept = engine.keep(table(rows))
    try:
        return add_up(engine, kept, kind, **options)
    finally:
        engine.drop_all()


@st.composite
def amounts(draw: st.DrawFn) -> Floats:
    """Amounts up to a largest one: at the edges of its bins, just beside them, zero, tiny, and anywhere."""
    most = draw(st.floats(1e-3, 1e6))
    edges = bin_edges(most)
    places = draw(st.lists(st.integers(0, edges.size - 1), min_size=1, max_size=20))
    beside = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=len(places), max_size=len(places)))
    near = [
        np.nextafter(edges[i], [-np.inf, edges[i], np.inf][side + 1]) for i, side in zip(places, beside, strict=True)
    ]
    anywhere = draw(st.lists(st.floats(0.0, most), max_size=10))
    clipped: Floats = np.clip(np.array([most, *near, *anywhere]), 0.0, most)
    return clipped


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(x=amounts(), seed=st.integers(0, 2**32 - 1), exact=st.sampled_from([0, 10**6]))
def test_evidence_is_that_of_rows_to_the_last_bit(engine: Engine, x: Floats, seed: int, exact: int) -> None:
    rng = np.random.default_rng(seed)
    arm, won = rng.integers(0, 3, x.size), (rng.random(x.size) < 0.5) & (x > 0.0)
    seen = np.where(won, np.minimum(rng.choice(x, x.size), x), np.nan)
    names = [f"a{i}" for i in arm]
    found = added(
        engine, list(zip(names, x.tolist(), won.tolist(), seen.tolist(), strict=True)), "censored", exact=exact
    )
    number = {name: i for i, name in enumerate(found.names)}
    expected = Evidence.of_rows([number[name] for name in names], x, won, seen)
    assert found.evidence.max_budget == expected.max_budget
    np.testing.assert_array_equal(found.evidence.bins, expected.bins)
    assert found.rows.count.sum() == x.size


@pytest.mark.parametrize("kind", ["observed", "complete"])
def test_rows_without_an_allocation_are_played_as_the_log_says(engine: Engine, kind: Kind) -> None:
    late = 3.0 if kind == "observed" else np.nan
    rows: list[Row] = [("b", np.inf, True, 2.0), ("b", np.inf, False, late), ("a", np.inf, True, 7.1)]
    found = added(engine, rows, kind)
    assert found.names == ("a", "b")
    np.testing.assert_array_equal(found.evidence.bins, evidence_of(found.names, rows, kind).bins)
    assert np.isinf(found.rows.allocation).all()
    failed = found.evidence.means("failed").max()
    assert failed == pytest.approx(3.0 if kind == "observed" else 7.1, rel=1e-6)


def test_equal_rows_are_counted_and_sorted(engine: Engine) -> None:
    rows: list[Row] = [("b", 2.0, False, np.nan)] * 3 + [("a", 5.0, True, 0.1), ("a", 1.0, True, 0.1)]
    found = added(engine, rows, "censored").rows
    assert (found.arm.tolist(), found.count.tolist(), found.resolution) == ([0, 0, 1], [1, 1, 3], 0.0)
    assert found.allocation.tolist() == [1.0, 5.0, 2.0]
    np.testing.assert_array_equal(found.threshold, [0.1, 0.1, np.nan])


def by_hand(value: float, bits: int) -> float:
    mantissa, exponent = np.frexp(value)
    return float(np.ldexp(np.floor(mantissa * 2 ** (bits + 1) + 0.5), int(exponent) - bits - 1))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(1e-9, 1e9) | st.integers(1, 2**30).map(float), min_size=1, max_size=30, unique=True))
def test_many_rows_are_rounded_to_the_stated_resolution(engine: Engine, values: list[float]) -> None:
    rows: list[Row] = [("a", np.inf, True, value) for value in values]
    found = added(engine, rows, "complete", exact=0).rows
    assert found.resolution == 2.0**-7
    expected = Counter(by_hand(value, 7) for value in values)
    assert dict(zip(found.threshold.tolist(), found.count.tolist(), strict=True)) == expected
    assert all(abs(by_hand(value, 7) / value - 1.0) <= 2.0**-8 for value in values)


def test_small_whole_numbers_stay_exact_when_rounded(engine: Engine) -> None:
    found = added(engine, [("a", 300.0, True, float(n)) for n in range(1, 257)], "censored", exact=0).rows
    assert found.threshold.tolist() == list(range(1, 257))


def test_the_resolution_is_coarser_if_rows_are_still_too_many(engine: Engine) -> None:
    rows: list[Row] = [("a", np.inf, True, value) for value in np.linspace(1.0, 2.0, 2000)]
    found = added(engine, rows, "complete", exact=10, rounded=40).rows
    assert (found.resolution, found.count.size, found.count.sum()) == (2.0**-5, 33, 2000)


def test_nothing_to_learn_from_is_an_error(engine: Engine) -> None:
    with pytest.raises(InputError, match="no row tells of an amount above 0"):
        added(engine, [("a", 0.0, False, np.nan)], "censored")


def test_names_are_in_the_order_of_people() -> None:
    assert in_order(["10", "9", "100"]) == ("9", "10", "100")
    assert in_order(["b", "q2", "q10", "B"]) == ("B", "b", "q2", "q10")


def test_an_engine_that_is_none_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="engine must be a connection string that ibis can open, got 'nonsense://'"),
        connect("nonsense://"),
    ):
        pass


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ibis", None)
    with pytest.raises(UnsupportedError, match=r"this needs ibis: pip install 'headgate\[logs\]'"), connect():
        pass


def test_a_database_of_its_own_is_left_as_it_was(tmp_path: Path) -> None:
    with connect(f"duckdb://{tmp_path / 'own.db'}") as opened:
        add_up(opened, opened.keep(table([("a", 1.0, True, 0.5)])), "censored")
    with connect(f"duckdb://{tmp_path / 'own.db'}") as opened:
        assert opened.backend.con.execute("SHOW TABLES").fetchall() == []
