"""Every code block of the README and of docs/ does what it says.

The blocks of a page are run in order, in one folder that has the logs they speak of, and beside a service where they
talk to one. Python blocks with a prompt are doctests and run as such (README). A block that cannot run is preceded by
`<!-- not run: reason -->`; single commands that cannot are listed here.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import headgate as hg
from headgate.service.settings import Settings

from .service.harness import running

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "examples"),  # these need hours
]
EDNET = ROOT.parent / "shared" / "data" / "ednet_pseudo_users.csv"

NOT_RUN = {
    "make ": "a target of the Makefile, which CI runs itself",
    "pip install": "installs",
    "headgate serve": "runs until it is stopped; the tests of the service start it",
}
if not EDNET.exists():
    NOT_RUN[f"headgate calibrate {EDNET.name}"] = "EdNet's answers may not be shipped, and are not here"


_SERVICE = re.compile(r"(localhost|127\.0\.0\.1):8000")


class Block(NamedTuple):
    """A fenced block: its language, its text, its line, and why it is not run, if it is not."""

    language: str
    text: str
    line: int
    reason: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    fence = re.compile(
        r"(?:<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
    )
    return [
        Block(m["language"], m["text"], text[: m.start()].count("\n") + 1, m["reason"] or "")
        for m in fence.finditer(text)
    ]


def commands(text: str) -> list[str]:
    """The commands of a shell block, continuation lines joined, without those that are not run."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith(tuple(NOT_RUN))]


def write_logs(folder: Path, makes_answers: bool) -> None:
    """The logs that the pages speak of, small; `answers.csv` unless the page makes it itself."""
    rng = np.random.default_rng(0)
    arms = {"a": (0.9, 30.0), "b": (0.6, 60.0), "c": (0.4, 20.0)}
    answers, runs = ["item,correct,seconds"], ["algorithm,ok,runtime,cutoff"]
    for arm, (p, scale) in arms.items():
        for time in hg.Weibull(1.6).sample(1.0 / scale, rng, 400).tolist():
            active = rng.random() < p
            answers.append(f"{arm},{int(active)},{time:.4f}")
            reached = active and time <= 80.0
            runs.append(f"{arm},{int(reached)},{time if reached else 80.0:.4f},80")
    if not makes_answers:
        (folder / "answers.csv").write_text("\n".join(answers) + "\n", encoding="utf-8")
    with gzip.open(folder / "runs.csv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(runs) + "\n")
    if EDNET.exists():
        (folder / EDNET.name).symlink_to(EDNET)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [block for block in blocks(page) if not block.reason]
    if not found:
        pytest.skip("no code")
    everything = "".join(block.text for block in found)
    write_logs(tmp_path, "sample-log answers.csv" in everything)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}  # the Python blocks of a page go on where the one before ended
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with ExitStack() as beside:
        address = ""
        if _SERVICE.search(everything):
            client = beside.enter_context(running(Settings(f"sqlite:///{tmp_path}/headgate.db", keys=False)))
            address = f"{client.base_url.host}:{client.base_url.port}"
        for block in found:
            where = f"{page.name}:{block.line}"
            text = _SERVICE.sub(address, block.text)
            assert block.language in ("python", "sh", "toml", "text"), (
                f"{where}: say its language, or why it is not run"
            )
            if block.language == "python" and not text.startswith(">>>"):
                before = names.get("client")
                exec(compile(text, where, "exec", dont_inherit=True), names)  # noqa: S102  # our own pages
                if isinstance(before, hg.Client) and before is not names["client"]:
                    before.close()
            for line in commands(text) if block.language == "sh" else ():
                done = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", line],  # noqa: S607  # wherever it is
                    env=os.environ | {"PATH": path},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, f"{where}: {line}\n{done.stdout}{done.stderr}"
                assert '"error"' not in done.stdout, f"{where}: {line}\n{done.stdout}"
        if isinstance(open_client := names.get("client"), hg.Client):
            open_client.close()


def test_python_blocks_with_a_prompt_are_doctests() -> None:
    """So only the README may have them: it is what `--doctest-glob` names."""
    for page in PAGES[1:]:
        assert not any(block.text.startswith(">>>") for block in blocks(page)), page
