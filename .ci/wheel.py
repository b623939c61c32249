"""Build the package, install its wheel without extras, and use it as people do who may write nowhere and have no home.

The source distribution is built, the wheel from that, and twine checks both.
The virtual environment is made read-only, the user is nobody (when this runs as root), HOME does not exist: the
README's ten lines must answer, first compiling into the private temporary folder, then from there. Then a
typed consumer is checked by mypy in strict mode against the installed package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOBODY = "65534"


def run(*command: object, **options: Any) -> str:
    """Run a command, and show what it says if it fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return str(done.stdout + done.stderr)


def main() -> None:
    """Build, install, use, check."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        work.chmod(0o755)
        run(sys.executable, "-m", "build", "--outdir", work, ROOT)  # the source distribution, and the wheel from that
        (wheel,), (source,) = work.glob("*.whl"), work.glob("*.tar.gz")
        print(run(sys.executable, "-m", "twine", "check", "--strict", wheel, source).strip())
        run(sys.executable, "-m", "venv", work / "venv")
        python = work / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", wheel)
        use_without_a_home(work, python)
        run(python, "-m", "pip", "install", "--quiet", "mypy", "scipy-stubs")
        shutil.copy(ROOT / "tests" / "typing" / "consumer.py", work)
        said = run(python, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "consumer.py", cwd=work)
        print(f"{wheel.name}: typed consumer: {said.strip()}")


def use_without_a_home(work: Path, python: Path) -> None:
    """The README's ten lines on a read-only tree, twice."""
    sys.path.insert(0, str(ROOT / "src"))
    from headgate.bench.whole import TEN_LINES  # noqa: PLC0415  # the path is set here

    temporary = work / "temporary"
    temporary.mkdir()
    temporary.chmod(0o1777)
    run("chmod", "-R", "a-w", work / "venv")
    become: list[str] = []
    if os.geteuid() == 0:
        # Nobody may read what root may, since the interpreter can be in root's home, but write only what is theirs.
        reading = ("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")
        become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *reading]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TMPDIR": str(temporary)}
    for compiles in (True, False):
        said = run(*become, python, "-W", "error", "-c", TEN_LINES, env=environment, cwd=temporary)
        if ("compiling" in said) != compiles:
            sys.exit(f"the wheel should {'compile' if compiles else 'find its code'}, but said: {said!r}")
    print("the wheel works for a user without a home, on a read-only tree")
    run("chmod", "-R", "u+w", work / "venv")


if __name__ == "__main__":
    main()
