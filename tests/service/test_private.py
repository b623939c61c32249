"""What strangers must not learn: where the database is, and what is in its files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from headgate.service.backup import backup, restore
from headgate.service.engine.queue import Ledger
from headgate.service.settings import Settings
from headgate.service.store import open_database
from headgate.service.store.keys import create_key
from tests.service.asking import create, decide
from tests.service.conftest import new_database
from tests.service.harness import running


def test_where_the_database_is_is_nobodys_business(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The database goes away; PostgreSQL's error names its host, socket and name, no answer does."""
    url = new_database(request, "postgresql", tmp_path)
    database = open_database(url)
    with database.transaction() as connection:
        key = create_key(connection, "a test", "tester", "admin", 1000.0)
    database.close()
    place = make_url(url)
    name, where = place.database, [str(v) for v in place.query.values()] + [str(place.host), str(place.username)]
    headers = {"Authorization": f"Bearer {key}"}
    with (
        running(Settings(database=url, keys=True)) as client,
        running(Settings(database=url, keys=False)) as unguarded,
    ):
        administrator = create_engine(place.set(database="postgres"), isolation_level="AUTOCOMMIT")
        with administrator.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        administrator.dispose()
        answers = [client.get("/v1/allocators", headers=headers)]  # refused by the guard, which cannot read the keys
        answers += [client.get("/readyz"), client.post("/login", data={"key": key})]
        answers += [unguarded.get(path) for path in ("/v1/allocators", "/allocators/quiz", "/data", "/metrics")]
        answers += [unguarded.post("/v1/allocators/quiz/decisions", json={"budget": 1})]
        many = unguarded.post("/v1/allocators/quiz/decisions/batch", json={"decisions": [{"budget": 1}] * 2})
    assert [a.status_code for a in answers] == [503] * 8
    assert [a["status"] for a in many.json()["answers"]] == [503] * 2
    for one in (*answers, many):
        assert not [word for word in (name, *where) if word and word != "None" and word in one.text], one.text
        assert "not now" in one.text


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_files_are_their_owners_alone(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        database = open_database(f"sqlite:///{tmp_path / 'a.db'}")
        ledger = Ledger(database)
        create(ledger)
        decide(ledger, "d1")
        backup(database, tmp_path / "copy.db")
        other = open_database(f"sqlite:///{tmp_path / 'b.db'}")
        restore(tmp_path / "copy.db", other)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        database.close()
        other.close()
    finally:
        os.umask(before)
    assert {"a.db", "a.db-wal", "a.db-shm", "b.db", "copy.db"} <= modes.keys()
    assert set(modes.values()) == {0o600}


def test_a_file_that_others_could_read_is_taken_from_them(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    open_database(f"sqlite:///{file}").close()
    file.chmod(0o664)
    open_database(f"sqlite:///{file}", migrate=False).close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o664, "looking changes nothing"
    open_database(f"sqlite:///{file}").close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
