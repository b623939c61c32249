"""Evidence as plain data: one format, exact, by name or by number; what no log could have left is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from headgate.errors import InputError, ParameterError, ShapeError, UnknownArmError
from headgate.evidence import Evidence
from headgate.kernels.bins import UNITS

NAMES = ["a", "b", "c"]


def evidence(batch: tuple[int, ...] = ()) -> Evidence:
    """Some rows of a log; of a batch, as many learners with some more each."""
    if batch:
        found = Evidence.empty(3, 8.0, batch)
        for row in np.ndindex(batch):
            found.bins[row] = evidence().bins * (1 + sum(row))
        return found
    rng = np.random.default_rng(4)
    x, won = rng.uniform(0.0, 8.0, 200), rng.random(200) < 0.4
    return Evidence.of_rows(rng.integers(0, 3, 200), x, won, np.where(won, x / 3.0, np.nan), arms=3, max_budget=8.0)


def through_json(found: Evidence, names: list[str] | None = None) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(found.to_dict(names), allow_nan=False))
    return data


def test_by_name_and_by_number_are_the_same_cells() -> None:
    named, numbered = through_json(evidence(), NAMES), through_json(evidence())
    assert list(named["arms"]) == NAMES
    assert list(named["arms"].values()) == numbered["arms"]
    assert {key: value for key, value in named.items() if key != "arms"} == {
        "version": 3, "max_budget": 8.0, "bins": [8, 16],
    }  # fmt: skip
    for data in (named, numbered):
        assert np.array_equal(Evidence.from_dict(data).bins, evidence().bins)
        assert np.array_equal(Evidence.from_dict(data, NAMES).bins, evidence().bins)


def test_a_cell_is_a_bin_its_count_and_its_total() -> None:
    """By hand: 4 failed of at most 8 is where bin 121 begins, and 2 x 1 unit; 5 succeeded at half of that, 2.5."""
    found = Evidence.of_rows([0, 0, 0], [4.0, 4.0, 5.0], [False, False, True], [0, 0, 2.5], max_budget=8.0)
    arm = found.to_dict(["a"])["arms"]["a"]
    assert arm["failed"] == [[121, 2, 2 * 2**20]]
    assert arm["played"][0] == [121, 2, 2 * 2**20]
    ((_, count, total),) = arm["seen"]
    assert count == 1
    assert total == round(2.5 / (2.0 * 2 ** (2 / 8)) * 2**20)


def test_other_arms_and_another_order() -> None:
    data = through_json(evidence(), NAMES)
    found = Evidence.from_dict(data, ["c", "new", "b", "a"])
    assert np.array_equal(found.bins[[3, 2, 0]], evidence().bins)
    assert not found.bins[1].any()
    with pytest.raises(UnknownArmError, match="'c'"):
        Evidence.from_dict(data, ["a", "b"])
    with pytest.raises(ShapeError, match="there are 4"):
        Evidence.from_dict(through_json(evidence()), [*NAMES, "d"])


@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_a_batch_and_what_was_discounted(factor: float) -> None:
    found = evidence((2, 3))
    found.discount(factor)
    back = Evidence.from_dict(through_json(found))
    assert back.batch == (2, 3)
    assert np.array_equal(back.bins, found.bins)
    with pytest.raises(ShapeError, match="single learner"):
        found.to_dict(NAMES)
    with pytest.raises(ShapeError, match="batch of shape"):
        Evidence.from_dict(through_json(found) | {"batch": [4]})


@pytest.mark.parametrize("batch", [(), (2,)])
def test_version_1_is_read(batch: tuple[int, ...]) -> None:
    """As policies wrote it before: the numbers of the whole array that are not 0, and their places."""
    found = evidence(batch)
    kinds = found.bins[..., :3, :, :].ravel()  # there were no successes without a threshold
    where = np.flatnonzero(kinds)
    old = {"max_budget": 8.0, "shape": [*batch, 3], "bins": [8, 16], "where": where.tolist(),
           "what": kinds[where].tolist()}  # fmt: skip
    assert np.array_equal(Evidence.from_dict(old).bins, found.bins)


def _with(cells: Any, kind: str = "played") -> dict[str, Any]:
    """Evidence of three arms, of which `a` has these cells of a kind and a failure for each that was played."""
    data = through_json(evidence(), NAMES)
    return data | {"arms": data["arms"] | {"a": {"failed": cells, "played": cells} | {kind: cells}}}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "max_budget, bins and arms"),
        ([], "max_budget, bins and arms"),
        (_with([]) | {"arms": 3}, "by name, or a list"),
        (_with([]) | {"arms": "abc"}, "by name, or a list"),
        (_with([]) | {"bins": [4, 16]}, r"bins \[4, 16\]"),
        (_with([]) | {"max_budget": -1.0}, "max_budget"),
        (_with([[121, 1, 2**20]], "lost"), "failed, played, seen"),
        (_with(3), "bin, count, total"),
        (_with([[121, 1]]), "bin, count, total"),
        (_with([["x", 1, 2**20]]), "bin, count, total"),
        (_with([[129, 1, 2**20]]), "bin < 129"),
        (_with([[-1, 1, 2**20]]), "bin < 129"),
        (_with([[1.5, 1, 2**20]]), "bin < 129"),
        (_with([[121, -1, 2**20]]), "bin < 129"),
        (_with([[121, 2**41, 2**61]]), "bin < 129"),
        (_with([[121, 1, 2**20], [121, 1, 2**20]]), "a bin twice"),
        (_with([[121, 1, 2**20 - 1]]), "does not fit"),
        (_with([[121, 0, 2**20]]), "does not fit"),
        (_with([[121, 1, 2**21]]), "does not fit"),
        (_with([[0, 1, 2**20 + 1]]), "does not fit"),
        (_with([[121, 2**34, 2**54]]), "2\\^53"),
        (_with([[121, 1, 2**20]], "seen"), "add up to played"),
    ],
)
def test_what_no_log_could_have_left_is_refused(data: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Evidence.from_dict(data)


def test_what_a_log_may_leave_at_the_edges_is_read() -> None:
    """The smallest and the largest value of the first, second and last bin."""
    edges = Evidence.empty(1, 8.0).edges
    x = [1e-300, np.nextafter(edges[1], 0.0), edges[1], np.nextafter(edges[2], 0.0), edges[-1], 8.0]
    found = Evidence.of_rows([0] * 6, x, [False] * 6, [np.nan] * 6, max_budget=8.0)
    assert found.bins[0, 1, 1, 0] == UNITS
    assert np.array_equal(Evidence.from_dict(through_json(found)).bins, found.bins)


def test_names_must_be_those_of_the_arms() -> None:
    for names in (["a"], ["a", "b", "b"]):
        with pytest.raises((ShapeError, ParameterError), match="one for each of 3 arms"):
            evidence().to_dict(names)
