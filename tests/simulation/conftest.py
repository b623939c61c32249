"""A problem of three arms."""

from __future__ import annotations

import pytest

import headgate as hg


@pytest.fixture
def three() -> hg.Problem:
    return hg.Problem(hg.Weibull(0.8), activation=[0.9, 0.5, 0.3], rate=[0.4, 1.0, 0.1])
