"""The disk is full, the database is gone: 503, nothing acknowledged is lost, and it recovers when they return."""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from headgate.client import Client, Decision, Retry, UnavailableError
from tests.soak.conftest import Postgres
from tests.soak.journal import ARMS, MAX_BUDGET, Journal
from tests.soak.servers import Server, verified

pytestmark = pytest.mark.soak

QUIZ = "quiz"
ONCE = Retry(first=1e6, most=1e6, attempt=20.0, deadline=20.0)  # no second try: a 503 is what is looked for
PATIENT = Retry(first=0.1, most=0.5, deadline=60.0)


def play(client: Client, journal: Journal, tag: str, rounds: int) -> None:
    """Play some rounds, writing down what is acknowledged."""
    for number in range(rounds):
        decision = client.decide(QUIZ, 30.0, decision_id=f"{tag}-{number}", context={"padding": "x" * 8000})
        journal.decided(decision)
        said = dict.fromkeys(ARMS)
        client.report(decision, said)
        journal.heard(decision.decision_id, said)


def play_until_refused(client: Client, journal: Journal) -> int:
    """Play until the service says 503, and return how many rounds that took."""
    tags = count()

    def forever() -> None:
        while True:
            play(client, journal, f"until-{next(tags)}", 1)

    with pytest.raises(UnavailableError) as error:
        forever()
    assert error.value.status == 503
    return next(tags) - 1


def finish(client: Client, journal: Journal) -> None:
    """Ask again for what was not acknowledged: the log may have rounds that the journal does not."""
    for one in client.history(QUIZ, page=1000):
        decision = client.decide(QUIZ, 30.0, decision_id=one.decision.decision_id, context=one.context)
        journal.decided(decision)
        said = dict.fromkeys(ARMS)
        client.report(decision, said)
        journal.heard(decision.decision_id, said)


@contextmanager
def small_disk() -> Iterator[tuple[Path, Callable[[Server], None], Callable[[Server], None]]]:
    """Yield a folder, how to fill its disk, and how to free it.

    A tmpfs of a few megabytes; where nothing may be mounted, a limit on the size of the server's files.
    """
    folder = Path(tempfile.mkdtemp(prefix="headgate-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    mounted = bool(shutil.which("mount")) and not subprocess.run(mount, capture_output=True, check=False).returncode
    ballast = folder / "ballast"

    def fill(server: Server) -> None:
        if mounted:
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(b"0" * 4096):
                    pass
        else:
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))

    def free(server: Server) -> None:
        if mounted:
            ballast.unlink()
        else:
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    try:
        yield folder, fill, free
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)  # noqa: S607  # found on the path
        shutil.rmtree(folder)


def test_disk_full_sqlite(figure: Callable[[str], None]) -> None:
    journal = Journal()
    with small_disk() as (folder, fill, free), Server(f"sqlite:///{folder / 'headgate.db'}") as server:
        with Client(server.url, retry=PATIENT) as patient, Client(server.url, retry=ONCE) as client:
            patient.put_allocator(QUIZ, ARMS, "exponential", MAX_BUDGET, policy="uniform")
            play(patient, journal, "before", 20)
            fill(server)
            accepted = play_until_refused(client, journal)
            refused = 0
            for number in range(20):
                with pytest.raises(UnavailableError) as error:
                    client.decide(QUIZ, 30.0, decision_id=f"full-{number}", context={"padding": "x" * 8000})
                refused += error.value.status == 503
            assert refused == 20
            assert client.allocator(QUIZ).counts.decisions >= 20  # it can still be read
            free(server)
            began = time.monotonic()
            play(patient, journal, "after", 20)
            seconds = time.monotonic() - began
            finish(patient, journal)
            journal.compare(patient, QUIZ)
        checked = verified(server.database)
    figure(
        f"503 after {accepted} more rounds, {refused} of {refused} refused while full, read all the time, and "
        f"20 rounds {seconds:.1f} s after there was space again ({checked})"
    )


def test_database_gone_postgresql(postgres: Postgres, figure: Callable[[str], None]) -> None:
    journal, database = Journal(), postgres.new()
    with (
        Server(database) as server,
        Client(server.url, retry=PATIENT) as patient,
        Client(server.url, retry=ONCE) as client,
    ):
        patient.put_allocator(QUIZ, ARMS, "exponential", MAX_BUDGET, policy="uniform")
        play(patient, journal, "before", 50)
        postgres.crash()
        try:
            for number in range(10):
                with pytest.raises(UnavailableError) as error:
                    client.decide(QUIZ, 30.0, decision_id=f"gone-{number}")
                assert error.value.status == 503
            assert server.answers("/healthz") == 200
            assert server.answers("/readyz") == 503
        finally:
            postgres.start()
        began = time.monotonic()
        found = patient.decide(QUIZ, 30.0, decision_id="gone-0")
        assert isinstance(found, Decision)
        seconds = time.monotonic() - began
        play(patient, journal, "after", 50)
        finish(patient, journal)
        journal.compare(patient, QUIZ)
        checked = verified(database)
    figure(f"503 while PostgreSQL was gone, an answer {seconds:.2f} s after it was back ({checked})")
