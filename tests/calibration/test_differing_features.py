"""Cure regression of a log: against lifelines and SciPy fits that share nothing with it, and held-out claims."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

import headgate as hg
from headgate.calibration.differing.design import declared, design
from headgate.calibration.differing.features import samples_of
from headgate.calibration.differing.regression import SLOPE, Sample, fit
from headgate.calibration.reading import Columns, read_log
from headgate.calibration.records import Records
from headgate.errors import FeatureError, InputError, ParameterError

JOBS = ("cook", "nurse", "pilot")


def rows(n: int = 1500, seed: int = 0, *, speaks: float = 1.0) -> dict[str, Any]:
    """Weibull thresholds of two arms whose rate and activation depend on age and job."""
    rng = np.random.default_rng(seed)
    age, job, arm = rng.normal(40.0, 10.0, n), rng.choice(JOBS, n).astype(object), rng.choice(["a", "b"], n)
    log_rate = -1.0 + speaks * (0.04 * (age - 40.0) + 0.6 * (job == "nurse")) + 0.5 * (arm == "a")
    logit = 0.4 + speaks * (-0.1 * (age - 40.0) + 1.0 * (job == "pilot"))
    threshold = hg.Weibull(1.5).sample(np.exp(log_rate), rng)
    given = rng.uniform(0.5, 9.0, n)
    success = (rng.random(n) < special.expit(logit)) & (threshold <= given)
    return {"arm": arm, "ok": success, "s": np.where(success, threshold, np.nan), "given": given, "age": age,
            "job": job}  # fmt: skip


def write(path: Path, table: dict[str, Any]) -> Path:
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(table)
        for line in zip(*table.values(), strict=True):
            out.writerow(["" if isinstance(v, float) and np.isnan(v) else v for v in line])
    return path


COLUMNS = Columns(arm="arm", success="ok", threshold="s", allocation="given", features=("age", "job"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    log = read_log(write(tmp_path_factory.mktemp("log") / "log.csv", rows()), COLUMNS)
    return hg.calibrate(log, law="weibull", features=["age", "job"], budgets=[2.0], bootstrap=50)


def sample_of(table: dict[str, Any], which: Any = slice(None)) -> Sample:
    z = np.column_stack([(table["age"] - 40.0) / 10.0, table["job"] == "nurse", table["job"] == "pilot"])
    amount = np.where(table["ok"], np.nan_to_num(table["s"]), table["given"])
    return Sample(hg.Weibull(1.0), z[which].astype(float), amount[which], table["ok"][which], table["ok"][which])


def test_a_fit_is_that_of_scipy_with_the_same_priors() -> None:
    """The reference writes the likelihood down with pow and log, and follows no derivative of ours."""
    table = rows(700)
    samples = [sample_of(table, table["arm"] == name) for name in ("a", "b")]
    starts = [np.log(float(hg.Weibull(1.0).rate_of_quantile(np.median(s.amount[s.shown]), 0.5))) for s in samples]
    logits = [float(special.logit((s.success.sum() + 0.5) / (s.success.size + 1.0))) for s in samples]

    def loss(theta: Any) -> float:
        total = 0.5 * float(np.sum(theta[6:] ** 2)) / SLOPE**2
        for arm, s in enumerate(samples):
            a, b, c = theta[3 * arm : 3 * arm + 3]
            total += 0.5 * ((a - starts[arm]) ** 2 / 16.0 + (b - logits[arm]) ** 2 / 25.0 + c**2 / 9.0)
            rate, p, k = np.exp(a + s.z @ theta[6:9]), 1 / (1 + np.exp(-b - s.z @ theta[9:])), np.exp(c)
            power = (rate * s.amount) ** k
            total -= np.sum(np.where(s.success, np.log(p * k * rate * (rate * s.amount) ** (k - 1.0)) - power,
                                     np.log(1.0 - p + p * np.exp(-power))))  # fmt: skip
        return float(total)

    start = np.array([*(v for a, b in zip(starts, logits, strict=True) for v in (a, b, 0.0)), *np.zeros(6)])
    reference = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-6, "maxiter": 500})
    ours = fit(samples)
    assert ours.converged
    np.testing.assert_allclose(ours.slope.ravel(), reference.x[6:], atol=2e-4)
    np.testing.assert_allclose(ours.intercept.ravel(), reference.x[[0, 1, 3, 4]], atol=2e-4)
    np.testing.assert_allclose(ours.log_shape, reference.x[[2, 5]], atol=2e-4)
    curvature = _curvature(loss, reference.x)
    wide = np.sqrt(np.diagonal(np.linalg.inv(curvature)))[6:]
    np.testing.assert_allclose(np.sqrt(np.diagonal(ours.covariance)), wide, rtol=5e-3)


def _curvature(loss: Any, at: Any) -> Any:
    h = 1e-3
    steps = h * np.eye(at.size)
    return np.array([[(loss(at + i + j) - loss(at + i - j) - loss(at - i + j) + loss(at - i - j)) / (4.0 * h * h)
                      for i in steps] for j in steps])  # fmt: skip


def test_a_fit_is_that_of_lifelines() -> None:
    """A Weibull cure model with covariates, written for lifelines; it has no priors, so the two differ a little.

    Its standard errors are not those of the curvature (the test above), and not compared.
    """
    fitters = pytest.importorskip("lifelines.fitters")
    anp = pytest.importorskip("autograd.numpy")
    pd = pytest.importorskip("pandas")

    class Cure(fitters.ParametricRegressionFitter):  # type: ignore[misc, name-defined]
        _fitted_parameter_names = ["scale", "logit", "shape"]  # noqa: RUF012

        def _cumulative_hazard(self, params: Any, times: Any, columns: Any) -> Any:
            scale = anp.exp(anp.dot(columns["scale"], params["scale"]))
            p = 1.0 / (1.0 + anp.exp(-anp.dot(columns["logit"], params["logit"])))
            shape = anp.exp(anp.dot(columns["shape"], params["shape"]))
            return -anp.log(1.0 - p + p * anp.exp(-((times / scale) ** shape)))

    table = rows(1500)
    sample = sample_of(table)
    frame = pd.DataFrame(sample.z, columns=["age", "nurse", "pilot"])
    frame["t"], frame["e"] = sample.amount, sample.success
    full = "age + nurse + pilot"
    theirs = Cure().fit(frame, "t", "e", regressors={"scale": full, "logit": full, "shape": "1"})
    ours = fit([sample])
    error = np.sqrt(np.diagonal(ours.covariance)).reshape(2, 3)
    for k, name in enumerate(("age", "nurse", "pilot")):
        assert abs(-theirs.params_["scale"][name] - ours.slope[0, k]) < 0.05 * error[0, k]
        assert abs(theirs.params_["logit"][name] - ours.slope[1, k]) < 0.05 * error[1, k]


@pytest.mark.parametrize(
    "law",
    [hg.Exponential(), hg.Gamma(2.0), hg.LogNormal(0.8), hg.LogLogistic(2.0), hg.Lomax(2.0), hg.DiscreteWeibull(1.2)],
    ids=lambda law: law.name,
)
def test_derivatives_are_those_of_the_value(law: Any) -> None:
    rng = np.random.default_rng(1)
    n = 60
    amount = np.ceil(rng.uniform(0.1, 5.0, n)) if law.integer else rng.uniform(0.1, 5.0, n)
    success = rng.random(n) < 0.5
    shown = success & (rng.random(n) < 0.7)
    shown[:5], amount[5:8] = True, np.where(success[5:8], amount[5:8], np.inf)  # failures that show a time, or had all
    sample = Sample(law, np.zeros((n, 0)), amount, shown, success)
    at: tuple[Any, Any] = (rng.normal(-0.5, 0.4, n), rng.normal(0.0, 1.0, n))
    shape = float(np.log(next(iter(law.shapes().values()), 1.0)))
    value, slope, bend = sample.terms(*at, shape)
    np.testing.assert_allclose(value, sample.value(*at, shape))
    h = 1e-4
    for c in range(3 if sample.shaped else 2):

        def moved(by: float, c: int = c) -> list[Any]:
            return [at[0] + by * (c == 0), at[1] + by * (c == 1), shape + by * (c == 2)]

        up, down = (sample.value(*moved(by)) for by in (h, -h))
        np.testing.assert_allclose(slope[:, c], (up - down) / (2 * h), atol=2e-5)
        higher, lower = (sample.terms(*moved(by))[1] for by in (h, -h))
        np.testing.assert_allclose(bend[:, c], (higher - lower) / (2 * h), atol=2e-3)


def test_features_that_speak_are_found_and_gain(found: Any) -> None:
    by = found.features
    assert by.help
    assert by.converged
    assert by.slopes == "shared"
    assert by.held_out["shared"] > by.held_out["arm"]
    truth = {"age": (0.4, -1.0), "job=nurse": (0.6, 0.0), "job=pilot": (0.0, 1.0)}
    usual = by.usual["job"]
    shift = truth.get(f"job={usual}", (0.0, 0.0))
    for entry in by.coefficients:
        rate, odds = truth.get(entry.feature, (0.0, 0.0))
        if entry.feature == "age":
            rate, odds = rate * entry.unit / 10.0, odds * entry.unit / 10.0
        else:
            rate, odds = rate - shift[0], odds - shift[1]
        for value, middle, ends in ((rate, entry.rate, entry.rate_interval),
                                    (odds, entry.activation, entry.activation_interval)):  # fmt: skip
            assert abs(middle - value) < 2.5 * (ends[1] - ends[0]) / 2.0 / 1.645  # one of eight in 100 seeds
    (gain,) = by.gains
    assert gain.with_features > gain.without
    assert gain.interval[0] > 0.0
    assert 0.5 < gain.known <= 1.0


def test_features_that_say_nothing_are_found_to(tmp_path: Path) -> None:
    log = read_log(write(tmp_path / "log.csv", rows(speaks=0.0)), COLUMNS)
    by = hg.calibrate(
        log, law="weibull", features=["age", "job"], budgets=[2.0], bootstrap=50, slopes="shared"
    ).features
    assert by is not None
    assert not by.help
    assert by.held_out_gain < 0.0
    assert by.gains[0].interval[0] <= 0.02


def test_slopes_by_arm_are_found_where_arms_differ(tmp_path: Path) -> None:
    table, other = rows(700, seed=3), rows(700, seed=4)
    other["age"] = 80.0 - other["age"]  # in the second arm age works the other way round
    table["arm"], other["arm"] = np.full(700, "a"), np.full(700, "b")
    both = {name: np.concatenate([table[name], other[name]]) for name in table}
    log = read_log(write(tmp_path / "log.csv", both), COLUMNS)
    by = hg.calibrate(log, law="weibull", features=["age", "job"], budgets=[2.0], bootstrap=0).features
    assert by is not None
    assert by.slopes == "arm"
    slopes = {entry.arm: entry.rate for entry in by.coefficients if entry.feature == "age"}
    assert slopes["a"] > 0.2
    assert slopes["b"] < -0.2
    assert np.isnan(by.gains[0].interval).all()


def test_rounds_are_split_between_their_rows(tmp_path: Path) -> None:
    """Where rows share rounds, the budget goes to the rows of a round, however many and of whatever arm."""
    table = rows(2400, seed=5)
    table["day"] = np.arange(2400) // 6
    log = read_log(write(tmp_path / "log.csv", table), Columns.of({**_plain(COLUMNS), "round": "day"}))
    (gain,) = hg.calibrate(log, law="weibull", features=["job"], budgets=[4.0], bootstrap=0).features.gains  # type: ignore[union-attr]
    assert 1.0 < gain.without < gain.with_features < 6.0


def _plain(columns: Columns) -> dict[str, Any]:
    return {name: getattr(columns, name) for name in ("arm", "success", "threshold", "allocation", "features")}


@pytest.mark.parametrize("times", ["all", "successes"])
def test_failures_that_show_their_time_count_in_it(times: Any) -> None:
    """With times of all rows a failure tells the law, and that it was not active."""
    rng = np.random.default_rng(2)
    n = 3000
    z = rng.normal(size=n)
    slow = hg.Exponential().sample(np.exp(0.5 * z), rng)
    won = rng.random(n) < special.expit(0.8 * z)
    slow = np.where(won, slow, 3.0 * slow)  # failures take three times as long
    records = Records(np.zeros(n, dtype=np.int64), np.full(n, np.inf), won, slow, None, {"z": z})
    arm = hg.calibrate(_observed(records), law="exponential", times=times, features=["z"], budgets=[1.0], bootstrap=0)
    assert arm.features is not None
    (entry,) = arm.features.coefficients
    assert entry.activation == pytest.approx(0.8 * entry.unit, abs=0.12)
    fitted = fit(samples_of(records, design(declared(["z"], {"z": z}), {"z": z}), arm.arms, [0], arm.basis))
    if times == "successes":  # the law of the successes alone, to the standard error
        assert fitted.intercept[0, 0] == pytest.approx(0.5 * z.mean(), abs=0.08)
    else:
        assert fitted.intercept[0, 0] < -0.25


def _observed(records: Records) -> Any:
    from dataclasses import replace  # of this test alone

    from tests.calibration.logs import log_of, rows_of  # as above

    made = rows_of(records.arm.tolist(), records.allocation, records.success.tolist(), records.threshold)
    return replace(log_of(made, "observed"), records=records)


def test_a_category_without_success_has_an_end(tmp_path: Path) -> None:
    table = rows(400, seed=6)
    table["job"][:60] = "baker"
    lost = table["job"] == "baker"
    table["ok"] = table["ok"] & ~lost
    table["s"] = np.where(table["ok"], table["s"], np.nan)
    log = read_log(write(tmp_path / "log.csv", table), COLUMNS)
    by = hg.calibrate(log, law="weibull", features=["job"], budgets=[2.0], bootstrap=0, slopes="shared").features
    assert by is not None
    assert by.converged
    entry = next(e for e in by.coefficients if e.feature == "job=baker")
    assert entry.rate + entry.activation < -2.0  # slow or never active: nobody can tell
    assert np.isfinite(entry.activation_interval).all()


def test_columns_become_what_features_declares() -> None:
    columns = {
        "age": np.array(["31", None, "50", "40"], dtype=object),
        "job": np.array(["cook", "nurse", None, "cook"], dtype=object),
        "same": np.array([1.0, 1.0, 1.0, 1.0]),
    }
    known = declared(["age", "job", "same"], columns)
    assert known == hg.Features(numbers=["age", "same"], categories={"job": ["cook", "nurse"]}, missing=["age", "job"])
    made = design(known, columns)
    assert made.names == ("age", "age missing", "job=nurse", "job missing")
    assert made.usual == {"job": "cook"}
    plain = known.rows([
        {"age": 31, "job": "cook", "same": 1}, {"job": "nurse", "same": 1}, {"age": 50, "same": 1},
        {"age": 40, "job": "cook", "same": 1},
    ])  # fmt: skip
    at = [known.names.index(name) for name in made.names]
    expected = np.where(np.isnan(plain), np.nanmean(plain, axis=0), plain)[:, at]
    np.testing.assert_allclose(made.z * made.unit, expected - expected.mean(axis=0))
    assert made.unit[1:].tolist() == [1.0, 1.0, 1.0]


def test_a_page_shows_the_features(found: Any, tmp_path: Path) -> None:
    page = found.write(tmp_path).read_text()
    assert "job=nurse" in page
    assert (tmp_path / "figures" / "features.png").stat().st_size > 5_000
    data = json.loads((tmp_path / "calibration.json").read_text())["features"]
    assert data["slopes"] == "shared"
    assert data["declared"]["numbers"] == ["age"]
    assert len(data["coefficients"]) == 3
    assert data["gains"][0]["budget"] == 2.0
    assert "Features foretell rows" in page


def test_bad_features_are_named(tmp_path: Path, found: Any) -> None:
    log = found.log
    with pytest.raises(InputError, match=r"without a feature 'height'.*age, job"):
        hg.calibrate(log, features=["height"], law="weibull", bootstrap=0)
    with pytest.raises(ParameterError, match="each once"):
        hg.calibrate(log, features=["age", "age"], law="weibull", bootstrap=0)
    with pytest.raises(ParameterError, match="list of columns"):
        hg.calibrate(log, features="age", law="weibull", bootstrap=0)
    with pytest.raises(ParameterError, match="leave out trim"):
        hg.calibrate(log, features=["age"], trim=(0.1, 0.9))
    with pytest.raises(ParameterError, match="slopes must be one of"):
        hg.calibrate(log, features=["age"], slopes="own", law="weibull", bootstrap=0)  # type: ignore[arg-type]
    with pytest.raises(FeatureError, match=r"job must hold numbers.*'(cook|nurse|pilot)'"):
        hg.calibrate(log, features=hg.Features(numbers=["job"]), law="weibull", bootstrap=0)
    table = rows(50)
    table["age"][3] = np.nan
    path = write(tmp_path / "log.csv", table)
    with pytest.raises(FeatureError, match="age is missing in 1 rows, and was not declared"):
        hg.calibrate(read_log(path, COLUMNS), features=hg.Features(numbers=["age"]), law="weibull")
    with pytest.raises(InputError, match="no column 'height'"):
        read_log(path, Columns.of({**_plain(COLUMNS), "features": ("height",)}))
    bare = read_log(path, Columns.of({**_plain(COLUMNS), "features": ()}))
    assert bare.records is None
    with pytest.raises(InputError, match="read the log with Columns"):
        hg.calibrate(bare, features=["age"], law="weibull", bootstrap=0)
