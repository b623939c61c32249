"""`headgate warm` compiles every kernel to where the next process finds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from pkgutil import iter_modules

import pytest

from headgate import kernels

IMPORT_ALL = """
from importlib import import_module
from pkgutil import iter_modules
from headgate import kernels
for module in iter_modules(kernels.__path__):
    import_module(f"headgate.kernels.{module.name}")
"""


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.long
def test_one_line_for_each_kernel_and_then_no_process_compiles() -> None:
    done = run("-m", "headgate.cli", "warm")
    assert done.returncode == 0
    assert done.stderr == ""
    *lines, last = done.stdout.splitlines()
    named = {line.split()[0] for line in lines}
    assert {"allocate", "cells", "known", "record"} <= named <= {m.name for m in iter_modules(kernels.__path__)}
    assert (Path(last.removeprefix("kept in "))).is_dir()
    after = run("-c", IMPORT_ALL)
    assert (after.returncode, after.stderr) == (0, "")


def test_it_says_when_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    # One kernel is enough to see it: compiling all of them for nothing takes a minute.
    one = "from pkgutil import ModuleInfo\nimport headgate.cli.warm as w\n"
    one += "w.iter_modules = lambda path: [ModuleInfo(None, 'normals', False)]\nfrom headgate.cli import main\nmain()"
    done = run("-c", one, "warm", HEADGATE_CACHE=str(tmp_path / "file"))
    assert done.returncode == 2
    assert done.stderr == "headgate: no folder for machine code can be written: set HEADGATE_CACHE to one\n"
