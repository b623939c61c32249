"""The documentation site: every public name has its place in the reference, and nothing is loaded from elsewhere.

`make docs` builds it strictly, which finds dead links and pages in no menu.
"""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import typer

import headgate as hg
from headgate.cli.app import COMMANDS, app

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
MODULES = {"datasets", "errors", "estimators", "laws", "theory", "testing"}


def script(name: str) -> ModuleType:
    """One of the scripts of .ci, as a module."""
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site() -> ModuleType:
    pytest.importorskip("mkdocs", reason="the site is built with the extra docs")
    return script("site")


def test_every_picture_has_a_command_that_makes_it() -> None:
    made = [picture for _, pictures in script("pictures").MADE.values() for picture in pictures]
    assert sorted(made) == sorted(path.stem for path in (ROOT / "docs" / "images").iterdir())


def test_the_version_is_said_once_and_dated() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    newest = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert newest[1] == version
    assert f"version: {version}\ndate-released: {newest[2]}\n" in cited


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    shown = {path.rsplit(".", 1)[-1] for path in re.findall(r"^::: (\S+)", text, re.MULTILINE)}
    wanted = set(hg.__all__) - {"__version__", "laws"}
    assert wanted <= shown, f"not in docs/reference: {sorted(wanted - shown)}"


def test_what_the_reference_names_exists() -> None:
    for page in REFERENCE.glob("*.md"):
        for path in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            module, _, name = path.rpartition(".")
            if path.removeprefix("headgate.") in MODULES:
                continue
            assert hasattr(importlib.import_module(module), name), f"{page.name}: {path}"


def test_the_command_line_page_has_every_command_and_option(site: ModuleType) -> None:
    page = site.command_line()
    root = typer.main.get_command(app)
    for name in COMMANDS:
        assert f"\n## headgate {name}\n" in page
        command = root.get_command(None, name)  # type: ignore[attr-defined]  # a group
        for parameter in command.params:
            if not getattr(parameter, "hidden", False) and parameter.param_type_name == "option":
                assert all(f"`{option}`" in page for option in parameter.opts if option != "--help"), (name, parameter)


def test_the_page_of_the_http_api_has_every_path(site: ModuleType) -> None:
    page = site.http_api()
    assert "## POST /v1/allocators/{name}/decisions\n" in page
    assert "## PUT /v1/allocators/{name}\n" in page
    anchors = set(re.findall(r"^### (\S+)$", page, re.MULTILINE))
    linked = set(re.findall(r"\[(\w+)\]\(#", page))
    assert linked <= anchors


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ('<script src="https://cdn.example/x.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example/css">', True),
        ("<style>a{background:url(https://img.example/a.png)}</style>", True),
        ('<a href="https://example.org/">a link</a>', False),
        ('<link rel="stylesheet" href="assets/site.css"><img src="images/quiz.png">', False),
    ],
)
def test_what_would_be_loaded_from_elsewhere_is_found(text: str, bad: bool, site: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    assert bool(site.loaded_from_elsewhere(tmp_path)) is bad
