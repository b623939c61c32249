"""The client for asyncio: the same calls, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

from headgate.client import calls
from headgate.client.answers import Allocator, Decision, Estimates, ImportAnswer, Json, OutcomeAnswer, Round
from headgate.client.calls import Call, Law, Results
from headgate.client.errors import ClientError
from headgate.client.retry import Attempts, Done, Retry
from headgate.client.transport import httpx_or_why, options

T = TypeVar("T")


class AsyncClient:
    """A decision service, seen from a program on asyncio; any number of tasks of one loop may use one.

    `headgate.client.Client` says what each call does.

    ```python
    async with hg.AsyncClient("http://127.0.0.1:8000") as client:
        decision = await client.decide("quiz", budget=20.0)
        await client.report(decision, {"q1": 3.2, "q2": None})
    ```
    """

    def __init__(self, url: str, key: str | None = None, *, retry: Retry | None = None) -> None:
        chosen = options(url, key)
        self._httpx = httpx_or_why()
        self._http = self._httpx.AsyncClient(**chosen)
        self.retry = retry or Retry()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, call: Call[T]) -> T:
        attempts = Attempts(call, self.retry)
        while True:
            try:
                answer = await self._http.request(call.method, call.path, content=call.body, timeout=attempts.timeout())
            except self._httpx.RequestError as error:
                again = attempts.failed(error)
            else:
                found = attempts.answered(answer.status_code, answer.headers, answer.content)
                if isinstance(found, Done):
                    return found.answer
                again = found
            await asyncio.sleep(again.pause)

    # -- allocators --------------------------------------------------------------------------------------------------

    async def put_allocator(
        self,
        name: str,
        arms: Sequence[str | Json],
        law: Law,
        max_budget: float,
        *,
        policy: str | Json = "thompson",
        reward: Literal["sum", "cascade"] = "sum",
        feedback_deadline: float | None = 86_400.0,
        on_expiry: Literal["ignore", "failure"] = "ignore",
        units: str | None = None,
    ) -> Allocator:
        """Create an allocator; the same again changes nothing, another of the same name is a `ConflictError`."""
        return await self._send(
            calls.put_allocator(name, arms, law, max_budget, policy, reward, feedback_deadline, on_expiry, units)
        )

    async def allocator(self, name: str) -> Allocator:
        """Return an allocator as it stands."""
        return await self._send(calls.allocator(name))

    async def allocators(self) -> list[Allocator]:
        """Return all of them by name, archived ones too."""
        return await self._send(calls.allocators())

    async def archive(self, name: str) -> Allocator:
        """Let an allocator make no more decisions; outcomes still count."""
        return await self._send(calls.archive(name))

    async def add_arm(
        self, name: str, arm: str, *, law: Law | None = None, lower: float = 0.0, upper: float | None = None
    ) -> Allocator:
        """Add an arm, or bring a retired one back with all that is known of it."""
        return await self._send(calls.add_arm(name, arm, law, lower, upper))

    async def retire_arm(self, name: str, arm: str) -> Allocator:
        """Give an arm nothing any more; what is still heard of it counts."""
        return await self._send(calls.retire_arm(name, arm))

    # -- every round -------------------------------------------------------------------------------------------------

    async def decide(
        self,
        name: str,
        budget: float | None,
        *,
        decision_id: str | None = None,
        context: Json | None = None,
        step: float | None = None,
    ) -> Decision:
        """Split a budget; None is one that is not known: the answer has a schedule, in steps of `step`.

        The same `decision_id` gets the same answer, also years later; without one, the client makes one.
        """
        return await self._send(calls.decide(name, budget, decision_id, context, step))

    async def decide_many(
        self, name: str, budgets: Sequence[float | None], *, decision_ids: Sequence[str] | None = None
    ) -> list[Decision | ClientError]:
        """Split many budgets, at most 1000, in one call; in their order, each its decision or its error."""
        return await self._send(calls.decide_many(name, budgets, decision_ids))

    async def report(self, decision: str | Decision, results: Results, *, spent: float | None = None) -> OutcomeAnswer:
        """Say what came of a decision, whole or in part: per arm the threshold of its success, None for a failure.

        Of a schedule, `spent` is how much of it was carried out. A contradiction to what was said before is a
        `ConflictError`.
        """
        return await self._send(calls.report(decision, results, spent))

    async def report_many(
        self, outcomes: Sequence[tuple[str | Decision, Results]] | Mapping[str, Results]
    ) -> list[OutcomeAnswer | ClientError]:
        """Say what came of many decisions, at most 1000, in one call; in their order, each its answer or its error."""
        return await self._send(calls.report_many(outcomes))

    # -- what is known -----------------------------------------------------------------------------------------------

    async def estimates(self, name: str, *, budget: float | None = None, level: float = 0.9) -> Estimates:
        """Return what is known of every arm, with intervals, and the best allocation of `budget` by it."""
        return await self._send(calls.estimates(name, budget, level))

    async def history(self, name: str, *, before: int | None = None, page: int = 100) -> AsyncIterator[Round]:
        """Iterate over the decisions and what was heard of them, newest first, asking for a page at a time."""
        while True:
            found = await self._send(calls.history(name, before, page))
            for one in found.rounds:
                yield one
            before = found.next_before
            if before is None:
                return

    async def export_evidence(self, name: str) -> dict[str, Any]:
        """Return all that has been seen, as plain data for `import_evidence`."""
        return await self._send(calls.export_evidence(name))

    async def import_evidence(self, name: str, evidence: Json, import_id: str) -> ImportAnswer:
        """Add evidence from elsewhere, once for each `import_id`."""
        return await self._send(calls.import_evidence(name, evidence, import_id))

    async def health(self) -> str:
        """Return how the service is, if it can do its work; else raise an `UnavailableError`."""
        return await self._send(calls.health())
