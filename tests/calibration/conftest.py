"""What tests of calibrations share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unrendered import unrendered


@pytest.fixture(name="unrendered")
def _unrendered() -> Iterator[None]:
    """Figures are empty files."""
    with unrendered():
        yield
