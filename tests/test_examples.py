"""Every script and notebook of examples/ runs, and shows what it says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from headgate.service.settings import Settings

from .service.harness import running

pytestmark = pytest.mark.docs

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = {path.stem: path for path in sorted(EXAMPLES.glob("*.py"))}
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", SCRIPTS[name])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solver_portfolio(result: tuple[float, float]) -> bool:
    rows, even = result
    return rows > even


# What each `main()` returns must be so; a script that is not here fails below.
SHOWN: dict[str, Any] = {
    "quiz": lambda share: share > 0.85,
    "live_quiz": lambda gain: gain > 0.05,
    "media_budget": lambda gap: gap < 1e-6,
    "solver_portfolio": solver_portfolio,
    "calls": lambda ratio: ratio > 1.1,
    "unknown_budget": lambda gap: gap < 0.005,
}


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "production"])
def test_scripts(name: str) -> None:
    assert SHOWN[name](load(name).main())


def test_production(tmp_path: Path) -> None:
    with running(Settings(f"sqlite:///{tmp_path}/headgate.db", keys=False)) as client:
        assert load("production").main(str(client.base_url), students=5) == 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks(path: Path) -> None:
    """The cells one after the other, as a notebook would; it is kept without outputs."""
    names: dict[str, Any] = {}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec", dont_inherit=True), names)  # noqa: S102  # ours


def test_the_list_has_them_all() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"({path.name})" in text for path in [*SCRIPTS.values(), *NOTEBOOKS])
