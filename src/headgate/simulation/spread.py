"""Units of work spread over processes, here or on a cluster, and played again if a worker is lost."""

from __future__ import annotations

import pickle
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, final

from headgate import checks
from headgate.errors import HeadgateError, ParameterError
from headgate.extras import extra

BACKENDS = ("loky", "dask", "ray")
_TRIES = 3  # tries in a row that may end without a single unit finished

T = TypeVar("T")
Task: TypeAlias = Callable[[int], T]


class WorkerLostError(HeadgateError):
    """Workers were lost again and again, and the work could not be finished."""


@final
@dataclass(frozen=True, slots=True)
class _Failure:
    """What the work itself raised: not a lost worker, so it is not tried again."""

    error: Exception
    where: str


def check_backend(workers: int, backend: str, address: str | None) -> None:
    """Raise if there is no such place to work."""
    checks.choice("backend", backend, BACKENDS)
    if workers == 0 or workers < -1:
        raise ParameterError(f"workers must be at least 1, or -1 for one per core, got {workers}")
    if backend == "loky" and address is not None:
        raise ParameterError(f"address is for a dask or ray cluster, loky works here, got {address!r}")


def spread(
    task: Task[T], units: Sequence[int], workers: int, backend: str, address: str | None
) -> Iterator[tuple[int, T]]:
    """Yield (unit, task(unit)) as they finish, in no order; one worker plays them here, one after the other.

    What a task raises is raised here. What its worker's death raises is not: the units it had are played again.
    """
    if workers == 1 and backend == "loky":
        for unit in units:
            yield unit, task(unit)
        return
    if not units:
        return
    pending, tries = list(units), 0
    with _POOLS[backend](workers, address) as run:
        while pending:
            before, failure = len(pending), None
            try:
                with closing(run(task, tuple(pending))) as outcomes:
                    for unit, outcome in outcomes:
                        if isinstance(outcome, _Failure):
                            failure = outcome
                            break
                        pending.remove(unit)
                        yield unit, outcome
            except HeadgateError:
                raise
            except Exception as cause:  # a worker was lost; the errors of three backends have no common root
                tries = 1 if len(pending) < before else tries + 1
                if tries >= _TRIES:
                    raise WorkerLostError(
                        f"{len(pending)} of {len(units)} units could not be finished, "
                        f"workers were lost {_TRIES} times: {cause}"
                    ) from cause
            if failure is not None:
                failure.error.add_note(failure.where)
                raise failure.error


def _guarded(task: Task[Any], unit: int) -> tuple[int, Any]:
    """Run in a worker: errors of the work become values, so that errors of the backend are all that is raised."""
    try:
        return unit, task(unit)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is raised again where it can be read
        where = f"in a worker:\n{traceback.format_exc()}"
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
        except Exception:  # noqa: BLE001  # some exceptions cannot travel
            error = HeadgateError(f"{type(error).__name__}: {error}")
        return unit, _Failure(error, where)


_Outcomes: TypeAlias = Generator[tuple[int, Any], None, None]
_Run: TypeAlias = Callable[[Task[Any], tuple[int, ...]], _Outcomes]


@contextmanager
def _loky(workers: int, address: str | None) -> Iterator[_Run]:  # noqa: ARG001  # there is nowhere to go
    yield lambda task, units: _parallel(task, units, "loky", workers)


@contextmanager
def _dask(workers: int, address: str | None) -> Iterator[_Run]:
    """Connect to a scheduler, or start a cluster of one-thread workers here."""
    client = extra("distributed").Client
    here = {"n_workers": workers if workers > 0 else None, "threads_per_worker": 1, "dashboard_address": None}
    with client(address) if address is not None else client(**here):
        yield lambda task, units: _parallel(task, units, "dask", -1)


@contextmanager
def _ray(workers: int, address: str | None) -> Iterator[_Run]:
    """Connect to a cluster, or start one here. Ray's pool returns all or nothing, so units go to it in waves."""
    ray = extra("ray")
    ours = not ray.is_initialized()
    if ours:
        cpus = {"num_cpus": workers} if address is None and workers > 0 else {}
        dashboard = False if address is None else None
        ray.init(address, log_to_driver=False, include_dashboard=dashboard, logging_level="ERROR", **cpus)
    extra("ray.util.joblib").register_ray()
    size = int(ray.cluster_resources()["CPU"])
    try:
        yield lambda task, units: _waves(task, units, size)
    finally:
        if ours:
            ray.shutdown()


_POOLS: dict[str, Callable[[int, str | None], AbstractContextManager[_Run]]] = {
    "loky": _loky,
    "dask": _dask,
    "ray": _ray,
}


def _parallel(task: Task[Any], units: tuple[int, ...], backend: str, workers: int) -> _Outcomes:
    joblib = extra("joblib")
    with joblib.parallel_config(backend=backend, n_jobs=workers):
        pool = joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        outcomes = pool(joblib.delayed(_guarded)(task, unit) for unit in units)
        try:
            for outcome in outcomes:  # noqa: UP028  # so that closing this does not yet close that
                yield outcome
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # it warns that what nobody wants any more is cancelled
                outcomes.close()


def _waves(task: Task[Any], units: tuple[int, ...], size: int) -> _Outcomes:
    joblib = extra("joblib")
    with joblib.parallel_config(backend="ray", n_jobs=size):
        for first in range(0, len(units), size):
            wave = units[first : first + size]
            yield from joblib.Parallel(batch_size=1)(joblib.delayed(_guarded)(task, unit) for unit in wave)
