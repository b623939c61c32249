"""Every experiment with settings so small that all of them take seconds."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headgate import experiments

TINY: dict[str, dict[str, Any]] = {
    "theory": {"rounds": 60, "runs": 2},
    "ra-etc": {"rounds": 40, "runs": 2},
    "no-ucb": {"rounds": 40, "runs": 2},
    "ednet-fit": {},
    "ednet": {"rounds": 20, "runs": 2},
    "criteo-fit": {"pairs": 3000},
    "criteo": {"rounds": 20, "runs": 2},
    "unknown-budget": {"rounds": 30, "runs": 2, "deltas": (1.0, 5.0)},
    "plan": {"problems": 3, "budgets": 12},
    "cascade": {"rounds": 30, "runs": 2},
    "optimist": {"runs": 8, "rounds": 5, "horizons": (10, 40), "repeats": 3},
    "lemmas": {"instances": 200, "trials": 40, "problems": 8},
}


@pytest.fixture(scope="session")
def tiny() -> Iterator[None]:
    """Make --quick tiny."""
    with pytest.MonkeyPatch.context() as patch:
        for name, changes in TINY.items():
            experiment = experiments.EXPERIMENTS[name]
            small = replace(experiment, quick=replace(experiment.config(quick=True), **changes))
            patch.setitem(experiments.EXPERIMENTS, name, small)
        yield


@pytest.fixture(scope="session")
def everything(tiny: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All experiments, run once, without data: by the first worker of pytest-xdist that needs them, for all."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent  # each worker has a folder of its own in it
    place = shared / "reproduction"
    with (shared / "reproduction.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            draft = tmp_path_factory.mktemp("reproduction")
            experiments.reproduce(list(experiments.EXPERIMENTS), draft, quick=True)
            draft.rename(place)
    return place
