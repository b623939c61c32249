"""Carry out deploy/Dockerfile without Docker, in a folder of its own, and use what comes of it as its user would.

Its RUN steps are run as they stand, with /opt, /src and /data moved into the folder; the user's account is not made.
Then the tree is read-only and somebody else's (nobody's, when this runs as root), HOME does not exist, and the
ENTRYPOINT must answer: a key is made, an allocator, a decision and its outcome, and what it left is verified.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOBODY = "65534"
_START_SECONDS = 300.0


def steps() -> tuple[list[str], list[str]]:
    """Return the RUN steps, without that which makes the user, and the entry point."""
    lines = (ROOT / "deploy" / "Dockerfile").read_text().splitlines()
    entry: list[str] = json.loads(next(one for one in lines if one.startswith("ENTRYPOINT "))[len("ENTRYPOINT ") :])
    return [one[len("RUN ") :] for one in lines if one.startswith("RUN ") and "useradd" not in one], entry


def main() -> None:
    """Build, then use."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        work.chmod(0o755)
        for name, mode in (("opt", 0o755), ("src", 0o755), ("data", 0o700), ("tmp", 0o1777)):
            (work / name).mkdir()
            (work / name).chmod(mode)
        for name in ("src", "pyproject.toml", "README.md", "LICENSE"):  # what Dockerfile.dockerignore lets through
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, work / "src" / name)
        run_steps, entry = steps()
        cache = {"HEADGATE_CACHE": str(work / "opt" / "headgate" / "cache")}
        tools = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        for step in run_steps:
            moved = re.sub(r"(?<![\w.])/(opt|src|data)\b", rf"{work}/\1", step)
            done = subprocess.run(["sh", "-ec", moved], env=os.environ | tools | cache, cwd=work, check=False)  # noqa: S607
            if done.returncode:
                sys.exit(f"RUN {step} failed")
        subprocess.run(["chmod", "-R", "a-w", str(work / "opt")], check=True)  # noqa: S607
        become: list[str] = []
        if os.geteuid() == 0:
            os.chown(work / "data", int(NOBODY), int(NOBODY))
            # Nobody may read what root may, since the interpreter can be in root's home, but write only what is theirs.
            reading = ("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")
            become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *reading]
        program = str(work / "opt" / "headgate" / "bin" / "headgate")
        environment = cache | {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "TMPDIR": str(work / "tmp"),
            "HEADGATE_DATABASE": f"sqlite:///{work}/data/headgate.db",
        }

        def headgate(*arguments: str) -> str:
            command = [*become, program, *arguments]
            return subprocess.run(
                command, env=environment, cwd=work / "data", capture_output=True, text=True, check=True
            ).stdout.strip()

        key = headgate("keys", "create", "image", "--scope", "admin")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [*become, program, *entry[1:], "--port", str(port)]
        with subprocess.Popen(command, env=environment, cwd=work / "data") as server:
            try:
                use(f"http://127.0.0.1:{port}", key)
            finally:
                server.send_signal(signal.SIGTERM)
        print(headgate("verify", environment["HEADGATE_DATABASE"]))
        modes = {one.name: oct(one.stat().st_mode & 0o777) for one in (work / "data").iterdir()}
        if set(modes.values()) != {"0o600"}:
            sys.exit(f"files that others can read: {modes}")
        print("the image's steps work for a user without a home, on a read-only tree")
        subprocess.run(["chmod", "-R", "u+w", str(work / "opt")], check=True)  # noqa: S607


def use(url: str, key: str) -> None:
    """Decide and hear of it, over HTTP."""
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            ask(f"{url}/healthz")
            break
        except OSError:
            if time.monotonic() > end:
                sys.exit("it did not start")
            time.sleep(0.2)
    pair = {"arms": ["a", "b"], "law": "exponential", "max_budget": 10.0}
    ask(f"{url}/v1/allocators/pair", key, "PUT", pair)
    made = ask(f"{url}/v1/allocators/pair/decisions", key, "POST", {"budget": 10.0})
    said = {arm: {"success": False} for arm in made["allocation"]}
    ask(f"{url}/v1/decisions/{made['decision_id']}/outcome", key, "POST", {"results": said})


def ask(url: str, key: str = "", method: str = "GET", body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send a request, and return what came back."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(url, data, headers if key else {}, method=method)  # noqa: S310  # loopback
    with urllib.request.urlopen(request, timeout=60.0) as answer:  # noqa: S310  # loopback
        found: dict[str, Any] = json.load(answer)
        return found


if __name__ == "__main__":
    main()
