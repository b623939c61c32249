"""The output directory: each unit is on disk when it is finished, so that an interrupted simulation can go on."""

from __future__ import annotations

import io
import json
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np

from headgate import files
from headgate.errors import InputError
from headgate.simulation.design import Design, Unit
from headgate.simulation.play import MEASURES, Totals

_CONFIGURATION = "configuration.json"
_FORMAT = 1


def versions() -> dict[str, str]:
    """Return the versions that could change a number."""
    return {package: version(package) for package in ("headgate", "numpy", "scipy", "numba")}


class Store:
    """Units of one design, each a file in `DIR/units`, written whole or not at all."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.units = directory / "units"

    @classmethod
    def open(cls, directory: str | Path, design: Design, *, resume: bool) -> Self:
        """Begin in an empty directory or, to resume, in one whose configuration is the design's."""
        store = cls(Path(directory))
        path = store.directory / _CONFIGURATION
        configuration = {"format": _FORMAT, "headgate": version("headgate"), **design.describe()}
        if path.exists() and any(store.units.glob("*.npz")):
            if not resume:
                raise InputError(f"{store.directory} holds a simulation already: resume it, or choose another folder")
            _same(json.loads(path.read_text(encoding="utf-8")), configuration, store.directory)
        store.units.mkdir(parents=True, exist_ok=True)
        files.write(path, json.dumps(configuration, indent=2))
        return store

    def load(self, number: int, unit: Unit) -> Totals | None:
        """Return a unit that was finished before, or None; a damaged file counts as none."""
        try:
            with self._path(number).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                curves = Totals(*(arrays[name] for name in MEASURES))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return curves if len(curves.regret) == len(unit.runs) else None

    def save(self, number: int, curves: Totals) -> None:
        """Keep a finished unit."""
        content = io.BytesIO()
        np.savez(content, **{name: getattr(curves, name) for name in MEASURES})
        files.write(self._path(number), content.getvalue())

    def _path(self, number: int) -> Path:
        return self.units / f"{number:06d}.npz"


def _same(old: dict[str, Any], new: dict[str, Any], directory: Path) -> None:
    new = json.loads(json.dumps(new))
    different = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    if different:
        raise InputError(
            f"{directory} holds a simulation with another {', '.join(different)}: resume it with the same, "
            "or choose another folder"
        )
