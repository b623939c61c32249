"""The ledger: answers batches of requests, each in one transaction, and keeps nothing that a transaction did not."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, select

from headgate.errors import InputError, UnsupportedError
from headgate.service.engine.decided import Decided
from headgate.service.engine.learner import Learner
from headgate.service.engine.requests import Change, Decide, Request
from headgate.service.engine.transaction import Transaction
from headgate.service.faults import ServiceError, UnavailableError
from headgate.service.store import Database, schema
from headgate.service.store.database import unavailable

T = TypeVar("T")
Wait = Callable[[Callable[[], Any]], Awaitable[Any]]
_RECENT = 20_000
_TRIES = 5


class Ledger:
    """Used by one thread at a time. Its memory is a cache: all of it can be thrown away at any moment."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.recent: OrderedDict[str, Decided] = OrderedDict()
        self._learners: dict[int, Learner] = {}
        self._ids: dict[str, int] = {}

    def answer(self, requests: Sequence[Request]) -> list[Any]:
        """Return for each request its answer or its error; what is answered is durable."""
        together = [r for r in requests if not isinstance(r, Change)]
        if len(together) == len(requests):
            return self._together(together)
        answers = iter(self._together(together)) if together else iter(())
        return [self._alone(r) if isinstance(r, Change) else next(answers) for r in requests]

    async def answer_in(self, wait: Wait, requests: Sequence[Request]) -> list[Any]:
        """As `answer`, with what waits for the database done by `wait`."""
        batch = [r for r in requests if not isinstance(r, Change)]
        slow = any(isinstance(r, Decide) and r.request.budget is None for r in batch)
        if slow or not self.database.is_sqlite or len(batch) < len(requests):
            found: list[Any] = await wait(lambda: self.answer(requests))
            return found
        try:
            connection = self.database.begin_at_once() or await wait(self.database.begin)
        except UnavailableError as refused:
            return [refused] * len(requests)
        try:
            transaction = Transaction(connection, self)
            answers = transaction.run(batch)
            await wait(connection.commit)
        except BaseException as cause:
            self.forget()
            connection.invalidate()  # a commit that failed may have left its transaction, and so its lock
            if isinstance(cause, self.database.failures):
                return [unavailable(cause)] * len(requests)
            raise
        finally:
            connection.close()
        self._remember(transaction.fresh)
        return answers

    def _together(self, requests: Sequence[Any]) -> list[Any]:
        def work(connection: Connection) -> list[Any]:
            batch = Transaction(connection, self)
            answers = batch.run(requests)
            fresh.update(batch.fresh)
            return answers

        fresh: dict[str, Decided] = {}
        try:
            answers = self._transact(work)
        except UnavailableError as refused:
            return [refused] * len(requests)
        self._remember(fresh)
        return answers

    def _alone(self, request: Change) -> Any:
        try:
            return self._transact(request.make)
        except (ServiceError, InputError, UnsupportedError) as refused:
            return refused

    def _transact(self, work: Callable[[Connection], T]) -> T:
        """Commit `work`; again, if another worker wrote the same id between our look and our write."""
        for last in range(_TRIES):
            try:
                with self.database.transaction() as connection:
                    return work(connection)
            except Exception as error:
                self.forget()
                if not self.database.is_clash(error.__cause__) or last == _TRIES - 1:
                    raise
        raise AssertionError  # the last try returns or raises

    def forget(self) -> None:
        """Throw away everything in memory."""
        self._learners.clear()
        self._ids.clear()

    def _remember(self, fresh: dict[str, Decided]) -> None:
        self.recent.update(fresh)
        while len(self.recent) > _RECENT:
            self.recent.popitem(last=False)

    # -- for a transaction -------------------------------------------------------------------------------------------

    def ids(self, connection: Connection, names: Iterable[str]) -> dict[str, int]:
        """Return the ids of the allocators of these names that exist."""
        wanted = set(names)
        missing = wanted - self._ids.keys()
        if missing:
            table = schema.allocators
            for key, name in connection.execute(select(table.c.id, table.c.name).where(table.c.name.in_(missing))):
                self._ids[name] = key
        return {name: self._ids[name] for name in wanted if name in self._ids}

    def learner(self, connection: Connection, row: schema.Fields) -> Learner:
        """Return the learner of a locked allocator, caught up."""
        found = self._learners.get(row["id"])
        if found is None:
            found = self._learners[row["id"]] = Learner(connection, row)
        else:
            found.catch_up(connection, row)
        return found
