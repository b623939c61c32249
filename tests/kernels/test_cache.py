"""Machine code is found, made and made anew: in every folder, by several processes, and without any folder at all.

Each test runs real processes on a copy of the package with a small kernel of its own, `probe`, which calls a function
in another file. A process that compiles says so on standard error; one that finds its code says nothing. Most of them
are forked from a process that has imported Numba and nothing of Headgate; where the environment is read as Python or
Numba start, they are started anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headgate
from headgate.kernels import cache

PACKAGE = Path(headgate.__file__).parent
NOBODY = 65534
as_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can become another user, by setpriv"
)

PROBE = """
from headgate.kernels.compiled import gufunc
from headgate.kernels.probe_part import part

@gufunc(["void(float64, float64[:])"], "()->()")
def probe(x, out):
    out[0] = part(x)
"""
PART = """
from headgate.kernels.part import njit

@njit()
def part(x):
    return x + {added}
"""
RUN = "from headgate.kernels.probe import probe; print(float(probe(1.0)))"
PARENT = """
import json, os, sys, traceback
import numba

@numba.guvectorize(["void(float64, float64[:])"], "()->()", nopython=True)  # so that all of Numba is loaded
def warm_up(x, out):
    out[0] = x

for line in sys.stdin:
    code, environment, folder = json.loads(line)
    streams = [os.memfd_create(name) for name in ("out", "err")]
    if not os.fork():
        status = 1
        try:
            for number, stream in enumerate(streams, 1):
                os.dup2(stream, number)
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            sys.path.insert(0, environment["PYTHONPATH"])
            exec(code)
            sys.stdout.flush()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    texts = [os.pread(stream, 100_000, 0).decode() for stream in streams]
    for stream in streams:
        os.close(stream)
    print(json.dumps([status, *texts]), flush=True)
"""


def command(user: int, code: str) -> list[str]:
    """Python as a user, who may read what root may, as the interpreter can be in root's home, but write only theirs."""
    become = []
    if user:
        reading = ("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *reading]
    return [*become, sys.executable, "-c", code]


Parents = dict[int, subprocess.Popen[str]]


@pytest.fixture(scope="module")
def parents() -> Iterator[Parents]:
    """Processes that fork those of a user, by user; started when one is asked for."""
    processes: Parents = {}
    yield processes
    for process in processes.values():
        process.communicate()  # its input ends, and so does it


class Copy:
    """A copy of the package, and processes that use it."""

    def __init__(self, root: Path, parents: Parents) -> None:
        self.root, self.parents = root, parents
        self.home, self.temporary = root / "home", root / "temporary"
        self.site = root / "site"
        for folder in (root, self.home, self.temporary):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o777 | stat.S_ISVTX)
        (self.site / "headgate" / "kernels").mkdir(parents=True)
        for source in (
            "__init__.py",
            "kernels/__init__.py",
            "kernels/cache.py",
            "kernels/compiled.py",
            "kernels/part.py",
        ):
            shutil.copy(PACKAGE / source, self.site / "headgate" / source)
        (self.site / "headgate" / "__init__.py").write_text("")
        (self.site / "headgate" / "kernels" / "probe.py").write_text(PROBE)
        self.edit(1.0)

    @property
    def beside(self) -> Path:
        return self.site / "headgate" / "kernels" / "__pycache__"

    def edit(self, added: float, name: str = "probe_part") -> None:
        """Change what a file of functions adds: the one that the kernel's part is in, or another."""
        (self.site / "headgate" / "kernels" / f"{name}.py").write_text(PART.format(added=added))

    def environment(self, given: dict[str, str]) -> dict[str, str]:
        """Without HEADGATE_CACHE and XDG_CACHE_HOME unless they are given."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self.site),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
        } | given

    def start(self, user: int = 0, **given: str) -> subprocess.Popen[str]:
        """Start a process anew."""
        return subprocess.Popen(
            command(user, RUN),
            env=self.environment(given),
            cwd=self.root,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run_anew(self, user: int = 0, **given: str) -> tuple[float, str]:
        """The answer of a process that is started anew, and what it said."""
        process = self.start(user, **given)
        out, said = process.communicate()
        assert process.returncode == 0, said
        return float(out), said

    def run(self, user: int = 0, **given: str) -> tuple[float, str]:
        """The answer of a forked process, and what it said."""
        if user not in self.parents:
            self.parents[user] = subprocess.Popen(
                command(user, PARENT),
                env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},  # an edit within a second leaves bytecode stale
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        parent = self.parents[user]
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(json.dumps([RUN, self.environment(given), str(self.root)]) + "\n")
        parent.stdin.flush()
        status, out, said = json.loads(parent.stdout.readline())
        assert status == 0, said
        return float(out), said


@pytest.fixture
def copy(tmp_path: Path, parents: Parents) -> Copy:
    return Copy(tmp_path / "copy", parents)


def entries(folder: Path) -> list[Path]:
    """The folders in which the probe's code lies."""
    return sorted(path for path in folder.glob("probe.probe/*") if path.is_dir())


FOLDERS = {
    "chosen": ({"HEADGATE_CACHE": "{root}/chosen"}, "chosen"),
    "beside": ({}, "site/headgate/kernels/__pycache__"),
    "cache-of-numba-is-elsewhere": ({"NUMBA_CACHE_DIR": "{root}/numba"}, "site/headgate/kernels/__pycache__"),
    "user": ({"XDG_CACHE_HOME": "{root}/home/xdg"}, "home/xdg/headgate"),
    "home": ({}, "home/.cache/headgate"),
    "temporary": ({"HOME": "/nonexistent"}, f"temporary/headgate-cache-{NOBODY}"),
}


@as_root
@pytest.mark.parametrize("name", FOLDERS)
def test_code_is_kept_and_an_edit_of_any_kernel_is_noticed_in_every_folder(copy: Copy, name: str) -> None:
    environment, folder = FOLDERS[name]
    environment = {variable: value.format(root=copy.root) for variable, value in environment.items()}
    user = NOBODY if name in ("user", "home", "temporary") else 0  # who cannot write beside the package
    answer, said = copy.run(user, **environment)
    assert answer == 2.0
    assert str(copy.root / folder) in said
    assert len(entries(copy.root / folder)) == 1
    assert copy.run(user, **environment) == (2.0, "")
    copy.edit(2.0)
    answer, said = copy.run(user, **environment)
    assert answer == 3.0
    assert said.startswith("headgate: compiling")
    assert len(entries(copy.root / folder)) == 2
    assert len(list(copy.root.rglob("probe.probe"))) == 1  # and nothing was written anywhere else


def test_code_is_known_by_its_content(copy: Copy) -> None:
    chosen = {"HEADGATE_CACHE": str(copy.root / "chosen")}
    for added in (1.0, 2.0):
        copy.edit(added)
        assert copy.run(0, **chosen)[0] == 1.0 + added
    copy.edit(1.0)
    assert copy.run(0, **chosen) == (2.0, "")  # not by time: the old code is right again
    copy.edit(3.0, "other_part")  # which the kernel does not import
    assert copy.run(0, **chosen) == (2.0, "")


@as_root
def test_code_made_with_an_image_serves_a_user_who_can_write_nowhere(copy: Copy) -> None:
    copy.run()
    for folder in (copy.home, copy.temporary):
        folder.chmod(0o555)
    assert copy.run(NOBODY) == (2.0, "")


@pytest.mark.long
@as_root
def test_without_any_folder_to_write_to_it_compiles_for_the_process(copy: Copy) -> None:
    nowhere = copy.root / "sitecustomize.py"
    nowhere.write_text("import tempfile; tempfile._candidate_tempdir_list = list\n")  # not one temporary folder
    for environment in (
        {"PYTHONPATH": f"{copy.site}:{copy.root}", "HOME": ""},
        {"HEADGATE_CACHE": "/nonexistent/chosen"},
    ):
        answer, said = copy.run_anew(NOBODY, **environment)
        assert answer == 2.0
        assert "for this process alone" in said
    assert not list(copy.root.rglob("probe.probe"))


@as_root
def test_a_temporary_folder_that_another_user_may_write_to_is_not_trusted(copy: Copy) -> None:
    copy.home.chmod(0o555)
    folder = copy.temporary / f"headgate-cache-{NOBODY}"
    folder.mkdir()
    for owner, mode in ((1234, 0o755), (NOBODY, 0o777)):
        os.chown(folder, owner, owner)
        folder.chmod(mode)
        answer, said = copy.run(NOBODY)
        assert answer == 2.0
        assert "for this process alone" in said
        assert not list(folder.iterdir())
    folder.chmod(0o700)
    assert str(folder) in copy.run(NOBODY)[1]


@pytest.mark.long
def test_processes_that_start_together_compile_once(copy: Copy) -> None:
    processes = [copy.start() for _ in range(4)]
    said = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert [out for out, _ in said] == ["2.0\n"] * 4
    assert sum("compiling" in err for _, err in said) == 1
    (entry,) = entries(copy.beside)
    assert sorted(path.name for path in entry.parent.iterdir()) == [entry.name, f"{entry.name}.lock"]


@pytest.fixture
def locked(copy: Copy) -> Iterator[None]:
    """Every lock there is, held by this process."""
    copy.run()
    locks = [path.open("r+") for path in copy.beside.glob("probe.probe/*.lock")]
    assert locks
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)
    yield
    for lock in locks:
        lock.close()


@pytest.mark.usefixtures("locked")
def test_a_process_that_has_its_code_waits_for_nobody(copy: Copy) -> None:
    assert copy.run() == (2.0, "")


@pytest.mark.long
@pytest.mark.usefixtures("locked")
def test_another_environment_has_code_and_a_lock_of_its_own(copy: Copy) -> None:
    answer, said = copy.run_anew(NUMBA_CPU_NAME="generic")  # as another processor, or another version, would
    assert answer == 2.0
    assert "compiling" in said
    assert len(entries(copy.beside)) == 2
    assert copy.run() == copy.run_anew(NUMBA_CPU_NAME="generic") == (2.0, "")


def test_damaged_code_is_made_again(copy: Copy) -> None:
    copy.run()
    (entry,) = entries(copy.beside)
    for damage in (lambda path: path.write_bytes(path.read_bytes()[:20]), Path.unlink):
        for kind in ("*.nbi", "*.nbc"):
            for path in entry.glob(kind):
                damage(path)
        answer, said = copy.run()
        assert answer == 2.0
        assert "compiling" in said
        assert copy.run() == (2.0, "")


def test_what_a_killed_process_left_is_removed(copy: Copy) -> None:
    copy.run()
    (entry,) = entries(copy.beside)
    entry.rename(entry.parent / f".{entry.name}.left")
    assert "compiling" in copy.run()[1]
    assert sorted(path.name for path in entry.parent.iterdir()) == [entry.name, f"{entry.name}.lock"]


def test_the_oldest_keys_go(tmp_path: Path) -> None:
    names = [f"{n:024x}" for n in range(12)]
    for age, name in enumerate(names):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.lock").touch()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    cache._drop_old(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*names[:8], *(f"{name}.lock" for name in names[:8])]
    )


IMPORT_EACH = """
import importlib, pathlib, sys, types
root = pathlib.Path(sys.argv[1])
for kernel in sorted((root / "kernels").glob("*.py")):
    for name in [name for name in sys.modules if name.startswith("headgate")]:
        del sys.modules[name]
    for name, path in (("headgate", root), ("headgate.laws", root / "laws")):  # without what their __init__ imports
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(path)]
    importlib.import_module(f"headgate.kernels.{kernel.stem}")
    loaded = [module for name, module in sys.modules.items() if name.startswith("headgate.") and module.__spec__]
    print(kernel.stem, *(module.__file__ for module in loaded))
"""


def test_the_key_covers_all_that_a_kernel_imports() -> None:
    """Against Python itself: what has been loaded after a kernel's module was imported alone."""
    command = [sys.executable, "-c", IMPORT_EACH, str(PACKAGE)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) > 20
    never_compiled = {PACKAGE / "kernels" / "__init__.py", PACKAGE / "kernels" / "cache.py"}
    for line in lines:
        module, *loaded = line.split()
        assert set(map(Path, loaded)) - never_compiled <= set(cache.sources(module)), module
