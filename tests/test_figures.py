"""Figures are drawn for every kind of problem, in every format, and never touch pyplot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.errors import InputError, ShapeError, UnsupportedError
from headgate.figures import draw_allocation, style

START = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


@pytest.mark.parametrize("suffix", START)
def test_every_format_is_written_and_is_reproducible(suffix: str, tmp_path: Path) -> None:
    problem = hg.datasets.saved_instance()
    best = problem.solve(40.0)
    first, second = (draw_allocation(problem, best, tmp_path / f"{n}{suffix}") for n in "ab")
    assert first == tmp_path / f"a{suffix}"
    assert first.read_bytes().startswith(START[suffix])
    assert first.read_bytes() == second.read_bytes()


def test_the_figure_says_names_price_units_and_worth(tmp_path: Path) -> None:
    quiz = hg.datasets.ednet_quiz("untrimmed")
    best = quiz.solve(400.0)
    path = draw_allocation(quiz, best, tmp_path / "quiz.svg", title="A title")
    text = path.read_text(encoding="utf-8")
    even = float(quiz.expected_reward(np.full(20, 20.0)))
    for words in (
        *quiz.names,
        "A title",
        "slope = price, 0.00814",
        "seconds",
        f"Worth 3.842, an even split {even:.3f}",
    ):
        assert f"<!-- {words} -->" in text or f"({words})" in text, words


@pytest.mark.parametrize(
    ("problem", "budget", "options"),
    [
        (hg.Problem(hg.Exponential(), [0.5], [1.0]), 3.0, {}),
        (hg.Problem(hg.Exponential(), [0.0, 0.0], [1.0, 2.0]), 3.0, {}),
        (hg.Problem(hg.Weibull(0.5), [0.3, 0.9], [1.0, 2.0]), 0.0, {}),
        (hg.Problem(hg.DiscreteWeibull(1.3), [0.3, 0.9], [0.1, 0.2]), 12.0, {}),
        (hg.Problem(hg.Beta(c=2.0), [1.0, 0.9], [1.0, 3.0]), 9.0, {}),
        (hg.Problem(hg.Weibull(1.6), [0.3, 0.9], [1.0, 2.0]), 4.0, {"upper": [0.5, 0.4]}),
        (hg.Problem(hg.Weibull(1.6), [0.3, 0.9], [1.0, 2.0]), 4.0, {"reward": "cascade"}),
        (hg.Problem(hg.Exponential(), np.linspace(0.0, 1.0, 300), 0.5), 1e-3, {}),
        (hg.Problem(hg.Exponential(), [0.5, 0.6], [1e-9, 1e-8], ["$", "a long name, " * 3]), 1e9, {}),
    ],
)
def test_unusual_problems_can_be_drawn(
    problem: hg.Problem, budget: float, options: dict[str, Any], tmp_path: Path
) -> None:
    best = problem.solve(budget, **options)
    path = draw_allocation(problem, best, tmp_path / "x.png", reward=options.get("reward", "sum"))
    assert path.stat().st_size > 5_000


def test_bad_requests_are_named_and_write_nothing(tmp_path: Path) -> None:
    problem = hg.datasets.saved_instance()
    best = problem.solve(40.0)
    with pytest.raises(InputError, match=r"must end in .png, .pdf, .svg, got .*x\.gif"):
        draw_allocation(problem, best, tmp_path / "x.gif")
    with pytest.raises(ShapeError, match=r"20 arms, got one of shape \(10,\)"):
        draw_allocation(hg.datasets.ednet_quiz(), best, tmp_path / "x.png")
    batch = hg.Problem(hg.Exponential(), 0.5, np.ones((2, 3)))
    with pytest.raises(UnsupportedError, match="a figure shows one problem"):
        draw_allocation(batch, batch.solve(1.0), tmp_path / "x.png")
    with pytest.raises(FileNotFoundError):
        draw_allocation(problem, best, tmp_path / "none" / "x.png")
    assert not list(tmp_path.iterdir())


def test_labels_are_spread_apart_in_order() -> None:
    heights = [0.5, 0.1, 0.11, 0.12, 0.9, 0.89]
    places = style.spread(heights, apart=0.05)
    assert np.argsort(places).tolist() == np.argsort(heights).tolist()
    assert np.all(np.diff(np.sort(places)) >= 0.05 - 1e-12)
    assert places[0] == 0.5
    assert np.mean(places) == pytest.approx(np.mean(heights))


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_headgate_is_light_and_drawing_leaves_pyplot_alone() -> None:
    heavy = "{'matplotlib', 'typer', 'rich', 'pandas', 'scipy.stats', 'matplotlib.pyplot'}"
    assert run(f"import sys, headgate; print(sorted({heavy} & set(sys.modules)))") == "[]\n"
    assert run("import sys, headgate.figures; print('matplotlib.pyplot' in sys.modules)") == "False\n"


def test_without_matplotlib_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from headgate.errors import UnsupportedError\n"
        "try:\n    import headgate.figures\n"
        "except UnsupportedError as error:\n    print(error)"
    )
    assert run(code) == "this needs matplotlib: pip install 'headgate[plot]'\n"
