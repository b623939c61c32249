"""What holds for all tests.

Tests that need a cluster, a browser or minutes run only when they are asked for: `pytest -m cluster` and so on, or the
target of the Makefile that says what they are.
Property tests draw the same examples every time; with HYPOTHESIS_PROFILE=fuzz (`make fuzz`) they draw by
the seed of the run.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

APART = ("long", "docs", "cluster", "spark", "browser", "soak", "fuzz")
FUZZ = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("fuzz", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("fuzz" if FUZZ else "same")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for; let every property test draw at random when fuzzing."""
    for item in items:
        if FUZZ and isinstance(item, pytest.Function) and item.get_closest_marker("hypothesis"):
            test = item.obj  # a test that says derandomize=True means the ordinary run
            own = test._hypothesis_internal_use_settings
            test._hypothesis_internal_use_settings = settings(own, derandomize=False, deadline=None, print_blob=True)
    asked = str(config.getoption("-m"))
    apart = [item for item in items for mark in APART if mark not in asked and item.get_closest_marker(mark)]
    if apart:
        config.hook.pytest_deselected(items=apart)
        left = set(map(id, apart))
        items[:] = [item for item in items if id(item) not in left]
