"""Problem files: exact round trips, and errors that name file, arm, field and rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.errors import ProblemFileError, UnsupportedError

EXAMPLE = """
units = "seconds"
law = { name = "weibull", shape = 1.6 }

[[arms]]
name = "q1"
activation = 0.25
rate = 0.02

[[arms]]
name = "q2"
activation = 1
rate = 3
law = "exponential"

[provenance]
source = "by hand"
pages = [1, 2]
"""

shapes = st.floats(0.05, 20.0)
one_law = st.one_of(
    st.just(hg.Exponential()),
    st.builds(hg.Weibull, shapes),
    st.builds(hg.LogNormal, shapes),
    st.builds(hg.DiscreteWeibull, shapes),
    st.builds(hg.Beta, shapes),
    st.builds(lambda s: hg.from_scipy("weibull_min", s), shapes),
)
plain = st.one_of(st.text(max_size=9), st.integers(-(2**60), 2**60), st.booleans(), st.floats(allow_nan=False))
tables = st.dictionaries(st.text(max_size=9), st.one_of(plain, st.lists(plain, max_size=3)), max_size=3)


@st.composite
def problems(draw: st.DrawFn) -> hg.Problem:
    arms = draw(st.integers(1, 5))
    column: Any = {"min_size": arms, "max_size": arms}
    law: Any = draw(st.one_of(one_law, st.lists(one_law, **column), st.builds(hg.Weibull, st.lists(shapes, **column))))
    return hg.Problem(
        law,
        activation=draw(st.lists(st.floats(0.0, 1.0), **column)),
        rate=draw(st.lists(st.floats(1e-300, 1e300), **column)),
        names=draw(st.none() | st.lists(st.text(min_size=1, max_size=9), unique=True, **column)),
        units=draw(st.none() | st.text(max_size=9)),
        provenance=draw(st.dictionaries(st.text(max_size=9), st.one_of(plain, tables), max_size=3)),
    )


@settings(deadline=None)
@given(problem=problems())
def test_every_problem_comes_back_bit_for_bit(problem: hg.Problem, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = problem.to_toml()
    assert hg.Problem.from_toml(text) == problem
    path = tmp_path_factory.getbasetemp() / "problem.toml"
    assert problem.to_toml(path) == text
    assert hg.load_problem(path) == hg.Problem.from_toml(str(path)) == problem


def test_a_file_is_read_as_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "quiz.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    problem = hg.load_problem(path)
    assert problem == hg.Problem(
        [hg.Weibull(1.6), hg.Exponential()],
        activation=[0.25, 1.0],
        rate=[0.02, 3.0],
        names=["q1", "q2"],
        units="seconds",
        provenance={"source": "by hand", "pages": [1, 2]},
    )


def test_names_are_optional_and_an_even_plainer_file_will_do() -> None:
    text = "law = 'rayleigh'\narms = [{activation = 0.5, rate = 1.0}, {activation = 0.1, rate = 2.0}]"
    assert hg.Problem.from_toml(text) == hg.Problem(hg.Rayleigh(), [0.5, 0.1], [1.0, 2.0])


def test_what_is_written_is_readable() -> None:
    problem = hg.Problem(
        [hg.Weibull(1.5), hg.Exponential()], activation=[0.5, 1.0], rate=[0.1, 2.0], names=["a", "b c"]
    )
    assert problem.to_toml() == (
        '[[arms]]\nname = "a"\nactivation = 0.5\nrate = 0.1\nlaw.name = "weibull"\nlaw.shape = 1.5\n\n'
        '[[arms]]\nname = "b c"\nactivation = 1.0\nrate = 2.0\nlaw = "exponential"\n'
    )


ARM = "[[arms]]\nname = 'q1'\nactivation = 0.5\nrate = 1.0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("law = \n", "is not TOML: .*line 1"),
        ("law = 'exponential'", r"arms must be one \[\[arms\]\] table for each arm, got None"),
        ("law = 'exponential'\narms = []", "arms must be"),
        ("law = 'exponential'\narms = [1]", "arms must be"),
        (ARM, r"arm 0 \(q1\): law is missing"),
        ("law = 'normal'\n" + ARM, "law: unknown law 'normal': it must be one of exponential"),
        ("law = 3\n" + ARM, "law must be a name or a table"),
        ("law = {shape = 2.0}\n" + ARM, "law: unknown law None"),
        ("law = {name = ['x']}\n" + ARM, "law: "),
        ("law = {name = 'per-arm'}\n" + ARM, "law: "),
        ("law = {name = 'weibull', shape = -1.0}\n" + ARM, "law: shape must be finite and > 0, got -1.0"),
        ("law = {name = 'weibull', shap = 1.0}\n" + ARM, "law: .*shap"),
        ("law = {name = 'weibull', shape = [1.0, 2.0]}\n" + ARM, "law must have one shape"),
        (ARM + "law = {name = 'weibull', shape = 0}", r"arm 0 \(q1\): law: shape must be"),
        ("law = 'exponential'\nbudget = 3\n" + ARM, "unknown field 'budget': it must be one of law, units"),
        ("law = 'exponential'\nunits = 3\n" + ARM, "units must be text, got 3"),
        ("law = 'exponential'\nprovenance = 3\n" + ARM, "provenance must be a table, got 3"),
        ("law = 'exponential'\n" + ARM + "p = 0.5", r"arm 0 \(q1\): unknown field 'p'"),
        ("law = 'exponential'\n" + ARM + ARM, r"arm 1 \(q1\): name must differ .* that of arm 0"),
        ("law = 'exponential'\n" + ARM.replace("'q1'", "7"), "arm 0: name must be text, not empty, got 7"),
        ("law = 'exponential'\n" + ARM.replace("q1", ""), "arm 0: name must be text, not empty"),
        ("law = 'exponential'\n" + ARM.replace("rate = 1.0", ""), r"arm 0 \(q1\): rate is missing"),
        ("law = 'exponential'\n" + ARM.replace("1.0", "0.0"), r"\(q1\): rate must be finite and > 0, got 0.0"),
        ("law = 'exponential'\n" + ARM.replace("1.0", "nan"), r"\(q1\): rate must be finite .* got nan"),
        ("law = 'exponential'\n" + ARM.replace("1.0", "'2'"), r"\(q1\): rate must be a number, got '2'"),
        ("law = 'exponential'\n" + ARM.replace("0.5", "1.5"), r"activation must be within \[0, 1\], got 1.5"),
        ("law = 'exponential'\n" + ARM.replace("0.5", "true"), "activation must be a number, got True"),
    ],
)
def test_errors_name_file_arm_field_and_rule(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemFileError, match=message) as caught:
        hg.load_problem(path)
    assert str(caught.value).startswith(f"{path}: ")
    with pytest.raises(ProblemFileError, match=message):
        hg.Problem.from_toml(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ProblemFileError, match=r"none\.toml: cannot be read: No such file"):
        hg.load_problem(tmp_path / "none.toml")
    with pytest.raises(ProblemFileError, match="cannot be read"):
        hg.load_problem(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"units = '\xe9'")
    with pytest.raises(ProblemFileError, match=r"latin\.toml: must be UTF-8"):
        hg.load_problem(tmp_path / "latin.toml")


def test_what_a_file_cannot_hold_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"a batch of shape \(2,\)"):
        hg.Problem(hg.Exponential(), 0.5, np.ones((2, 3))).to_toml()
    with pytest.raises(ProblemFileError, match="provenance must hold only what TOML can"):
        hg.Problem(hg.Exponential(), [0.5], [1.0], provenance={"x": object()}).to_toml()


def test_the_law_of_a_problem_must_be_known() -> None:
    with pytest.raises(ProblemFileError, match="for learners"):
        hg.Problem.from_toml('law = "auto"\n[[arms]]\nactivation = 0.5\nrate = 1.0\n')
