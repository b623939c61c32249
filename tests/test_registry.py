"""Registries: names of laws and policies, those that strangers add, and packages that offer some."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headgate as hg
from headgate.errors import ParameterError, PluginError
from headgate.laws import LAWS, ScaleLaw
from headgate.policies import POLICIES
from headgate.registry import Registry, register


class Shape:
    """What the registries of this file hold."""

    name: str


class Square(Shape):
    name = "square"


class Round(Shape):
    name = "round"


@pytest.fixture
def shapes() -> Iterator[Registry[Shape]]:
    """Make a registry of its own, gone after the test."""
    made: Registry[Shape] = Registry("shape", "tests.shapes", Shape, (Square,))
    yield made
    Registry.every.pop()


def package(folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, source: str) -> None:
    """Install a package into `folder`: one module with a shape called Found, and the entry point for it."""
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    info = folder / f"{module}-2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 2.5\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[tests.shapes]\nfound = {module}:Found\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, module, raising=False)


GOOD = "from tests.test_registry import Shape\nclass Found(Shape):\n    name = 'found'\n"


def test_it_is_a_mapping(shapes: Registry[Shape]) -> None:
    assert dict(shapes) == {"square": Square}
    assert len(shapes) == 1
    assert "round" not in shapes
    assert shapes.add(Round) is Round
    assert list(shapes) == ["square", "round"]
    assert shapes["round"] is Round
    with pytest.raises(KeyError):
        shapes["oval"]


def test_what_is_refused(shapes: Registry[Shape]) -> None:
    other = type("Other", (Shape,), {"name": "square"})
    nameless = type("Nameless", (Shape,), {})
    empty = type("Empty", (Shape,), {"name": ""})
    for bad, words in (
        (other, "square.*taken by.*Square"),
        (nameless, "must have a name"),
        (empty, "''"),
        (int, "int"),
    ):
        with pytest.raises(ParameterError, match=words):
            shapes.add(bad)
    assert dict(shapes) == {"square": Square}
    with pytest.raises(ParameterError, match=r"unknown shape 'oval'.*square.*headgate\.register"):
        shapes.find("oval")


def test_a_definition_may_run_again(shapes: Registry[Shape]) -> None:
    again = type("Square", (Shape,), {"name": "square", "__module__": __name__, "__qualname__": "Square"})
    shapes.add(again)
    assert shapes["square"] is again


def test_an_abstract_class_is_refused() -> None:
    half = type("Half", (ScaleLaw,), {"name": "half"})
    with pytest.raises(ParameterError, match=r"Half lacks log_pdf0, log_sf0"):
        register(half)
    assert "half" not in LAWS


def test_installed_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shapes: Registry[Shape]) -> None:
    """Are asked only when a name is not known, and once."""
    package(tmp_path, monkeypatch, "shapes_of_a_stranger", GOOD)
    assert shapes["square"] is Square
    assert "shapes_of_a_stranger" not in sys.modules
    assert shapes.find("found").__module__ == "shapes_of_a_stranger"
    assert list(shapes) == ["square", "found"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("raise RuntimeError('no licence')", "no licence"),
        ("Found = 3", "subclass of Shape, got 3"),
        ("pass", "Found"),
        (GOOD.replace("'found'", "'square'"), "taken"),
    ],
)
def test_a_broken_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shapes: Registry[Shape], source: str, words: str
) -> None:
    package(tmp_path, monkeypatch, "broken_shapes", source)
    assert shapes["square"] is Square
    for _ in range(2):  # it stays broken, and says so each time
        with pytest.raises(PluginError, match=f"(?s)'found' of broken_shapes 2.5.*broken_shapes:Found.*{words}"):
            list(shapes)


def test_register_finds_the_registry() -> None:
    assert register(hg.Weibull) is hg.Weibull
    assert register(hg.Thompson) is hg.Thompson
    bad: Any
    for bad in (int, "weibull", hg.Weibull(2.0)):
        with pytest.raises(ParameterError, match="a class that derives from Law or Policy"):
            register(bad)


def test_names_of_laws_and_policies() -> None:
    for registry in (LAWS, POLICIES):
        assert isinstance(registry, Registry)
        assert all(cls.name == name for name, cls in registry.items())
