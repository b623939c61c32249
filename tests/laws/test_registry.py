"""Laws as values: names, plain data, equality, one law per arm, and what is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from headgate import laws as hl
from headgate.errors import HeadgateError, ParameterError, ShapeError, UnsupportedError

from .references import CASES, SHAPED

LAWS: list[hl.Law] = [
    *(case.law for cases in CASES.values() for case in cases), *(law((0.5, 2.0)) for law in SHAPED),
    *(law("learn") for law in SHAPED), hl.PerArm((hl.Weibull("learn"), hl.Beta(3.0))),
]  # fmt: skip
MIXED = (
    hl.Exponential(), hl.Weibull(1.6), hl.Beta(50.0), hl.Lomax(2.0), hl.DiscreteWeibull(1.2), hl.LogNormal(0.7),
    hl.Weibull(1.6), hl.from_scipy("invgauss", 0.5),
)  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_plain_data_and_back(law: hl.Law) -> None:
    again = hl.from_dict(json.loads(json.dumps(law.to_dict())))
    assert again == law
    assert hash(again) == hash(law)
    assert len({again, law}) == 1
    assert again.to_dict() == law.to_dict()


def test_equality() -> None:
    """However the shapes were given; and only between the same laws."""
    assert hl.Weibull([1, 2]) == hl.Weibull(np.array([1.0, 2.0])) != hl.Weibull((1.0, 3.0))
    weibull, gamma = hl.from_dict({"name": "weibull", "shape": 1}), hl.from_dict({"name": "gamma", "shape": 1})
    assert weibull == hl.Weibull(np.float64(1.0)) != gamma
    assert len(set(LAWS)) == len(LAWS)
    with pytest.raises(AttributeError):
        hl.Weibull(2.0).shape = 3.0  # type: ignore[misc]  # frozen: that is the point


@pytest.mark.parametrize("bad", [np.nan, -1.0, 0.0, np.inf, -np.inf, [1.0, np.nan], [1.0, -2.0], "two"])
@pytest.mark.parametrize("law", [*SHAPED, hl.Beta], ids=lambda law: law.name)
def test_bad_shapes(law: Any, bad: Any) -> None:
    name = law.free.name
    with pytest.raises(ParameterError) as caught:
        law(bad)
    worst = bad[1] if isinstance(bad, list) else bad
    assert re.search(rf"{name} must be .*{re.escape(str(worst))}", str(caught.value))


@pytest.mark.parametrize("bad", [[[1.0, 2.0]], np.ones((2, 2)), [], np.ones((0, 3))])
def test_shapes_have_at_most_one_axis(bad: Any) -> None:
    with pytest.raises(ParameterError, match="sigma must be one number or one per arm"):
        hl.LogNormal(bad)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"name": "wiebull"}, ["wiebull", "weibull", "log-normal"]),
        ("wiebull", ["wiebull"]),
        ({}, ["None", "weibull"]),
        ({"name": ["weibull"]}, ["weibull"]),
        ({"name": "weibull", "sigma": 2.0}, ["weibull", "sigma"]),
        ({"name": "exponential", "shape": 2.0}, ["exponential", "shape"]),
        ({"name": "weibull", "shape": -2.0}, ["shape", "-2.0"]),
        ({"name": "scipy"}, ["scipy", "distribution"]),
        ({"name": "per-arm"}, ["per-arm", "laws"]),
        ({"name": "per-arm", "laws": []}, ["empty"]),
        ({"name": "per-arm", "laws": 3}, ["laws", "3"]),
        ({"name": "per-arm", "laws": [{"name": "nope"}]}, ["nope"]),
        (7, ["7"]),
    ],
)
def test_bad_data(data: Any, words: list[str]) -> None:
    with pytest.raises(ParameterError) as caught:
        hl.from_dict(data)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_bad_means() -> None:
    for mean, upper in ((np.nan, 1.0), (-1.0, 1.0), (1.0, 0.0), (1.0, np.inf)):
        with pytest.raises(HeadgateError, match=r"(mean|upper) must be finite"):
            hl.Exponential().rate_of_truncated_mean(mean, upper)


def test_per_arm_equals_each_law_by_itself() -> None:
    joined = hl.as_law(MIXED)
    rng = np.random.default_rng(2)
    x, rate, other = (rng.uniform(0.5, 9.0, (3, len(MIXED))) for _ in range(3))
    q = rng.uniform(0.01, 0.99, x.shape)
    x[:, 4] = np.ceil(x[:, 4])
    mean = joined.truncated_mean(rate, x)
    for method, arguments in (
        ("cdf", (x, rate)), ("pdf", (x, rate)), ("log_sf", (x, rate)), ("log_pdf", (x, rate)),
        ("quantile", (q, rate)), ("truncated_mean", (rate, x)), ("rate_of_truncated_mean", (mean, x)),
        ("inflection", (rate,)), ("boost", (rate, other)), ("is_concave", (x, rate)),
    ):  # fmt: skip
        whole = getattr(joined, method)(*arguments)
        assert whole.shape == x.shape
        for arm, law in enumerate(MIXED):
            alone = getattr(law, method)(*(v[:, arm] for v in arguments))
            np.testing.assert_allclose(whole[:, arm], alone, rtol=1e-13, err_msg=f"{method} of {law}")
    for method in ("lipschitz_rate", "lipschitz_mean"):
        whole = getattr(joined, method)(20.0, (0.1, 2.0))
        np.testing.assert_allclose(whole, [getattr(law, method)(20.0, (0.1, 2.0)) for law in MIXED], rtol=1e-13)


def test_per_arm_draws_and_facts() -> None:
    joined = hl.as_law(MIXED)
    assert isinstance(joined, hl.PerArm)
    assert joined.arm_axis() == (8,)
    np.testing.assert_array_equal(joined.whole_arms(8), np.arange(8) == 4)
    draws = joined.sample(1.0, np.random.default_rng(1), (500, 8))
    assert np.all(draws[:, 4] == np.floor(draws[:, 4]))
    uniform = np.random.default_rng(1).random((500, 8))
    np.testing.assert_array_equal(draws[:, 1], hl.Weibull(1.6).quantile(uniform[:, 1], 1.0))
    assert joined.sample(1.0, np.random.default_rng(1)).shape == (8,)
    assert joined.cdf(1.0, 1.0).shape == (8,)
    assert len(joined.members()) == 7


def test_as_law() -> None:
    law = hl.Weibull((1.0, 2.0))
    assert hl.as_law(law) is law
    assert hl.as_law([hl.Exponential(), hl.Exponential()]).arm_axis() == (2,)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([], "empty"),
        ("weibull", "weibull"),
        (3, "3"),
        ([hl.Exponential(), "weibull"], "arm 1.*weibull"),
        ([hl.Weibull((1.0, 2.0))], "arm 0.*one shape"),
        ([hl.as_law([hl.Exponential()])], "arm 0"),
    ],
)
def test_as_law_refuses(bad: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        hl.as_law(bad)


def test_wrong_number_of_arms() -> None:
    with pytest.raises(ShapeError, match=r"8 arms.*\(3,\)"):
        hl.as_law(MIXED).cdf(np.ones(3), 1.0)
    with pytest.raises(ShapeError, match=r"1 arms.*\(3,\)"):
        hl.PerArm((hl.Exponential(),)).cdf(np.ones(3), 1.0)


@pytest.mark.parametrize(
    ("law", "simplest"),
    [
        (hl.Weibull((2.0, 2.0)), hl.Weibull(2.0)),
        (hl.PerArm((hl.Weibull(2.0), hl.Weibull(3.0))), hl.Weibull((2.0, 3.0))),
        (hl.PerArm((hl.Weibull(2.0), hl.Weibull(2.0))), hl.Weibull(2.0)),
        (hl.PerArm((hl.Rayleigh(), hl.Rayleigh())), hl.Rayleigh()),
    ],
)
def test_the_simplest_form(law: hl.Law, simplest: hl.Law) -> None:
    assert hl.simplest(law) == simplest
    assert hl.simplest(simplest) == simplest


def test_what_stays_one_law_per_arm() -> None:
    for laws in (
        (hl.Weibull(2.0), hl.Gamma(2.0)), (hl.Weibull(2.0), hl.Weibull("learn")), (hl.Rayleigh(), hl.Maxwell()),
        (hl.from_scipy("invgauss", 0.5), hl.from_scipy("invgauss", 0.7)),
    ):  # fmt: skip
        law = hl.PerArm(laws)
        assert hl.simplest(law) is law


def test_shapes_that_are_not_known() -> None:
    """They are said to be so, replaced where they are given, and kept where NaN is."""
    law = hl.as_law([hl.Weibull("learn"), hl.Rayleigh(), hl.LogNormal("learn")])
    assert law.is_open
    for call in (lambda: law.cdf(1.0, 1.0), law.standard, lambda: law.rate_of_truncated_mean(1.0, 3.0)):
        with pytest.raises(UnsupportedError, match="does not know its shape"):
            call()
    known = law.with_shape([2.0, np.nan, 0.5])
    assert known == hl.as_law([hl.Weibull(2.0), hl.Rayleigh(), hl.LogNormal(0.5)])
    assert not known.is_open
    assert known.with_shape([np.nan, np.nan, 0.7]).of_arm(2) == hl.LogNormal(0.7)
    with pytest.raises(ParameterError, match="c must be a number"):
        hl.Beta("learn")
