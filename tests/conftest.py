"""Tests that need a cluster, a browser or minutes run only when they are asked for: `pytest -m cluster` and so on."""

from __future__ import annotations

import pytest

APART = ("cluster", "spark", "browser", "soak")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for."""
    asked = str(config.getoption("-m"))
    apart = [item for item in items for mark in APART if mark not in asked and item.get_closest_marker(mark)]
    if apart:
        config.hook.pytest_deselected(items=apart)
        left = set(map(id, apart))
        items[:] = [item for item in items if id(item) not in left]
