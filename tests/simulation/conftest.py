"""Tests on a real cluster start one, which takes a while: they run with `pytest -m cluster` only."""

from __future__ import annotations

import pytest

import headgate as hg


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cluster: starts a Dask or Ray cluster; only with `pytest -m cluster`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "cluster" in config.getoption("-m"):
        return
    apart = [item for item in items if item.get_closest_marker("cluster")]
    if apart:
        config.hook.pytest_deselected(items=apart)
        items[:] = [item for item in items if item not in apart]


@pytest.fixture
def three() -> hg.Problem:
    return hg.Problem(hg.Weibull(0.8), activation=[0.9, 0.5, 0.3], rate=[0.4, 1.0, 0.1])
