"""One way to write a file, to look for an extra and to check a whole number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headgate import checks, files
from headgate.errors import BudgetError, ParameterError, UnsupportedError
from headgate.extras import explain, extra


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails on the way to the disk leaves the old content, and nothing beside it."""
    path = tmp_path / "page.html"
    assert files.write(path, "before: \u03bb") == path
    assert files.write(str(path), b"now") == path

    def full(_: int) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        files.write(path, "later")
    assert path.read_text(encoding="utf-8") == "now"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_extra_is_named_and_any_other_missing_module_is_a_fault() -> None:
    """A module that no extra has is not blamed on the installation."""
    with pytest.raises(UnsupportedError, match=r"^this needs ibis: pip install 'headgate\[logs\]'$"), explain():
        raise ModuleNotFoundError(name="ibis.expr")
    with pytest.raises(ModuleNotFoundError, match="headgate_of_nobody"):
        extra("headgate_of_nobody")
    assert extra("json").loads("1") == 1


@pytest.mark.parametrize("value", [True, 1.0, "3", None, 0, np.float64(2.0), np.array([3])])
def test_what_is_no_whole_number_is_refused(value: object) -> None:
    """True is no count, and 1.0 is none either."""
    with pytest.raises(ParameterError, match="rounds must be a whole number of at least 1, got"):
        checks.whole("rounds", value)


def test_whole_numbers_have_two_limits() -> None:
    """Both ends belong to it; NumPy's whole numbers become plain ones."""
    assert type(checks.whole("select", np.int32(3), most=3)) is int
    assert checks.whole("select", 0, least=0) == 0
    with pytest.raises(BudgetError, match="select must be a whole number within 2 and 3, got 4"):
        checks.whole("select", 4, BudgetError, least=2, most=3)
