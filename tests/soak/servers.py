"""Servers as processes of their own: started by the command that people use, killed without a warning."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

START_SECONDS = 120.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Server:
    """`headgate serve` on loopback, in a process group of its own."""

    def __init__(self, database: str, workers: int = 1, command: list[str] | None = None) -> None:
        self.database = database
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = Path(tempfile.mkstemp(prefix="headgate-soak-", suffix=".log")[1])
        self._command = command or [sys.executable, "-m", "headgate.cli", "serve", "--database", database,
                                    "--workers", str(workers)]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process, the first of its group."""
        if self._process is None:
            raise RuntimeError("the server is not running")
        return self._process.pid

    def start(self) -> Self:
        """Start it, without waiting for it."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, "--port", str(self.port)], stdout=log, stderr=log, start_new_session=True
            )
        return self

    def wait(self) -> Self:
        """Wait until it answers."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._process is None or self._process.poll() is not None:
                break
            if self.answers("/readyz") == 200:
                return self
            time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{self.log.read_text()[-3000:]}")

    def cpu_seconds(self) -> float:
        """Return what all processes of its group have used so far."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if int(fields[2]) == self.pid:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def answers(self, path: str) -> int | None:
        """Return the status of a GET, or None."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=5.0) as answer:  # noqa: S310  # loopback
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except OSError:
            return None

    def kill(self) -> None:
        """kill -9, the whole group."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        return self.start().wait()

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.log.unlink()


def verified(database: str) -> str:
    """Run `headgate verify`, and return what it says; the status must be 0."""
    done = subprocess.run(
        [sys.executable, "-m", "headgate.cli", "verify", database], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"headgate verify: {done.stdout}{done.stderr}")
    return done.stdout.strip()
