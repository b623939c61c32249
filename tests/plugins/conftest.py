"""What lives outside of the package is registered for these tests alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headgate as hg
from headgate.laws import LAWS

from .gompertz import Gompertz


@pytest.fixture
def gompertz() -> Iterator[type[Gompertz]]:
    """Register the law, as its user would; forget it afterwards."""
    yield hg.register(Gompertz)
    LAWS.remove(Gompertz.name)
