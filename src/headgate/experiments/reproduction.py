"""Run experiments into a folder: data, figures and the page; what is finished stays, and is not run again."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headgate import files
from headgate.errors import InputError
from headgate.experiments.base import FORMAT, RECORD, Experiment, Part, Setting, plain
from headgate.experiments.logged import criteo, criteo_fit, ednet, ednet_fit
from headgate.experiments.report import lemmas, optimist
from headgate.experiments.report.page import write_reproduction
from headgate.experiments.synthetic import cascade, exponential, no_return, unknown_budget
from headgate.figures import style
from headgate.simulation.store import versions

_MODULES = (ednet_fit, ednet, criteo_fit, criteo, unknown_budget, no_return, cascade, lemmas, optimist)
_ALL = (exponential.THEORY, exponential.RA_ETC, exponential.NO_UCB, *(module.EXPERIMENT for module in _MODULES))
EXPERIMENTS: dict[str, Experiment[Any]] = {experiment.name: experiment for experiment in _ALL}
_MARK = "configuration.json"


def reproduce(
    names: Sequence[str],
    out: str | Path,
    *,
    quick: bool = False,
    data: str | Path | None = None,
    seed: int = 0,
    workers: int = 1,
    force: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Run these experiments, each only if it has not been run with the same settings, and write `out/index.html`.

    What is finished is on disk whatever happens later: the page is written also when the run is stopped.
    """
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise InputError(f"unknown experiment {unknown[0]!r}: it must be one of {', '.join(EXPERIMENTS)}")
    place, source = Path(out), None if data is None else Path(data)
    if source is not None and not source.is_dir():
        raise InputError(f"--data must be a folder, got {str(source)!r}")
    files = {file for name in names for file in EXPERIMENTS[name].inputs}
    if source is not None and files and not any((source / file).is_file() for file in files):
        raise InputError(f"--data {str(source)!r} has none of {', '.join(sorted(files))}")
    place.mkdir(parents=True, exist_ok=True)
    try:
        for number, name in enumerate(names, 1):
            setting = Setting(place / name, seed, workers, source)
            finish(EXPERIMENTS[name], setting, f"[{number}/{len(names)}] {name}", quick, force, say)
    finally:
        parts = [Part.load(experiment, place / name) for name, experiment in EXPERIMENTS.items()]
        page = write_reproduction(place, [part for part in parts if part is not None])
    return page


def finish(
    experiment: Experiment[Any], setting: Setting, title: str, quick: bool, force: bool, say: Callable[[str], None]
) -> Part:
    """Run one experiment and draw it, unless that has been done with the same settings; return it."""
    config = experiment.config(quick=quick)
    key = _key(experiment, config, setting)
    folder = setting.folder
    _make_room(folder, key, force=force)
    part = Part.load(experiment, folder)
    if part is None:
        say(f"{title}: {_size(config)}")
        begun = time.perf_counter()
        outcome = experiment.run(config, setting)
        seconds = time.perf_counter() - begun
        record = {
            "format": FORMAT,
            "source": outcome.source,
            "config": plain(config),
            "seed": setting.seed,
            "seconds": seconds,
            "versions": versions(),
            "results": list(outcome.results),
            "numbers": outcome.numbers,
        }
        files.write(folder / RECORD, json.dumps(record, indent=1, allow_nan=False))
        part = Part.load(experiment, folder)
    else:
        say(f"{title}: finished before")
    if part is None:
        raise InputError(f"{folder} cannot be read back: run again with --force")
    draw = experiment.draw
    if draw is not None and part.figure is not None and not part.figure.exists():
        for suffix in (".pdf", ".png"):  # the PNG last: where it is, both are
            path = part.figure.with_suffix(suffix)
            style.write(path, experiment.size, lambda figure: draw(part.config, part.outcome, figure))
    return part


def _make_room(folder: Path, key: dict[str, Any], *, force: bool) -> None:
    """Clear what an older run with other settings left; refuse a folder that is not ours."""
    mark = folder / _MARK
    if folder.exists() and any(folder.iterdir()):
        if not mark.is_file():
            raise InputError(f"{folder} is not empty and not a result of headgate reproduce: choose another --out")
        if force or _read(mark) != json.loads(json.dumps(key)):
            shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files.write(mark, json.dumps(key, indent=1))


def _key(experiment: Experiment[Any], config: Any, setting: Setting) -> dict[str, Any]:
    """Everything that decides an experiment's numbers."""
    files = {name: _digest(path) for name in experiment.inputs if (path := setting.file(name)) is not None}
    return {"format": FORMAT, "config": plain(config), "seed": setting.seed, "files": files, "versions": versions()}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None


def _size(config: Any) -> str:
    rounds, runs = getattr(config, "rounds", None), getattr(config, "runs", None)
    return "running" if rounds is None else f"{rounds:,} rounds, {runs} runs"
