"""JSON of every version is continued to the bit; damaged JSON is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headgate as hg

VERSION_1 = sorted((Path(__file__).parent / "version1").glob("*.json"))


@pytest.mark.parametrize("path", VERSION_1, ids=lambda path: path.stem)
def test_version_1_is_continued_as_the_code_that_wrote_it_did(path: Path) -> None:
    """Policies after 40 rounds, and the next 16 allocations of the release that wrote them."""
    data = json.loads(path.read_text())
    policy = hg.load_policy(json.dumps(data["policy"]))
    again = hg.load_policy(policy.to_json())
    assert again.to_json() == policy.to_json()
    for turn in data["future"]:
        x, reach = policy.allocate(turn["budget"]), np.array(turn["reach"])
        if policy.name != "thompson":  # whose posterior is another since: it goes on from the evidence
            # The oracle is another since, and right to the same digits.
            np.testing.assert_allclose(x, turn["x"], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(again.allocate(turn["budget"]), x)
        feedback = hg.Feedback(reach <= x, np.where(reach <= x, reach, np.nan))
        for learner in (policy, again):
            learner.observe(x, feedback)


def test_version_1_with_fisher_radii_says_that_they_are_gone() -> None:
    data = json.loads(next(path for path in VERSION_1 if path.stem == "ra-ucb").read_text())["policy"]
    data["options"]["confidence"] = "fisher"
    with pytest.raises(hg.errors.InputError, match="is no more"):
        hg.load_policy(json.dumps(data))


def written() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(hg.Thompson(hg.Exponential(), 3, 9.0).to_json())
    return data


def test_a_numpy_count_of_arms_can_be_saved() -> None:
    policy = hg.Thompson(hg.Exponential(), arms=int(np.int64(3)), max_budget=9.0)
    counted = hg.Thompson(hg.Exponential(), np.int64(3), 9.0)  # NumPy's integers count too
    assert counted.to_json() == policy.to_json()


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("state", "round"), "z"),
        (("state", "round"), 1.5),
        (("state", "round"), -5),
        (("options", "arms"), 4),
        (("options", "patience"), 4),
        (("state", "evidence", "max_budget"), 5.0),
        (("state", "memory"), 0),
        (("state", "prior"), None),
    ],
)
def test_damaged_json_is_refused(where: tuple[str, ...], value: object) -> None:
    data = written()
    place = data
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    with pytest.raises(hg.errors.InputError, match="damaged"):
        hg.load_policy(json.dumps(data))


def test_what_is_not_feedback_is_refused_and_what_cannot_pour_says_so() -> None:
    for policy in (hg.Thompson(hg.Exponential(), 3, 9.0), hg.MARA(hg.Exponential(), 3, 9.0)):
        before = policy.to_json()
        with pytest.raises(hg.errors.FeedbackError, match=r"headgate\.Feedback"):
            policy.observe([1.0, 1.0, 1.0])
        assert policy.to_json() == before
    with pytest.raises(hg.errors.UnsupportedError, match="cannot pour"):
        hg.Uniform(hg.Exponential(), 3, 9.0).pour()
