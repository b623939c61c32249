"""Work spread over processes: lost workers, errors, progress, memory."""

from __future__ import annotations

import os
import signal
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.policies import Thompson, Uniform
from headgate.simulation import WorkerLostError, simulate
from headgate.simulation.progress import Counters, progress
from headgate.simulation.spread import spread

from .references import same


def mortal(flag: Path, times: int) -> type[hg.Policy]:
    """A learner that kills its own process in the middle of a run, the first `times` times.

    Defined in here, so that it is sent to workers by value.
    """
    parent = os.getpid()

    class Mortal(Thompson):  # type: ignore[misc]  # final, but for this
        def absorb(self, state: Any, x: Any, feedback: hg.Feedback, features: Any = None) -> Any:
            deaths = len(list(flag.parent.glob(f"{flag.name}*")))
            if state.round == 20 and os.getpid() != parent and deaths < times:
                flag.with_name(f"{flag.name}{deaths}").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().absorb(state, x, feedback)

    return Mortal


def test_a_killed_worker_changes_nothing(three: hg.Problem, tmp_path: Path) -> None:
    lineup: dict[str, Any] = {"mortal": mortal(tmp_path / "dead", 1), "even": Uniform}
    alone = simulate(three, lineup, budget=6.0, rounds=40, runs=4, chunk=1)
    assert not list(tmp_path.iterdir())
    spread_out = simulate(three, lineup, budget=6.0, rounds=40, runs=4, chunk=1, workers=2)
    assert len(list(tmp_path.iterdir())) == 1
    assert same(alone, spread_out)


def _raise(make: Callable[[], Exception]) -> Callable[[int], int]:
    def task(unit: int) -> int:
        if unit == 2:
            raise make()
        return unit * unit

    return task


class UntransportableError(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} {b}")


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_of_the_work_are_raised_and_not_tried_again(workers: int) -> None:
    finished: dict[int, int] = {}
    with pytest.raises(ZeroDivisionError, match="by zero"):
        finished.update(spread(_raise(lambda: ZeroDivisionError("by zero")), range(3), workers, "loky", None))


def test_an_error_that_cannot_travel_is_told() -> None:
    with pytest.raises(hg.errors.HeadgateError, match="UntransportableError: 1 2"):
        list(spread(_raise(lambda: UntransportableError(1, 2)), range(3), 2, "loky", None))


@pytest.mark.long
def test_workers_that_always_die_are_given_up() -> None:
    def die(unit: int) -> int:
        if unit:
            os.kill(os.getpid(), signal.SIGKILL)
        return unit

    with pytest.raises(WorkerLostError, match="units could not be finished"):
        list(spread(die, range(2), 2, "loky", None))


def test_nothing_is_shown_without_a_terminal(three: hg.Problem, capsys: pytest.CaptureFixture[str]) -> None:
    simulate(three, {"even": Uniform}, budget=6.0, rounds=20, runs=2)
    assert capsys.readouterr() == ("", "")


def test_progress_counts_every_round(three: hg.Problem, capsys: pytest.CaptureFixture[str]) -> None:
    with progress(2, 100, shown=True) as bar:
        assert bar.path is not None
        bar.set(0, 0)
        bar.add(0, 30)
        bar.add(1, 20)
        bar.set(0, 0)  # its worker was lost
        bar.add(0, 5)
        assert np.fromfile(bar.path, dtype=np.int64).tolist() == [5, 20]
        bar.set(0, 50)
        assert np.fromfile(bar.path, dtype=np.int64).tolist() == [50, 20]
    Counters("/nonexistent/elsewhere").add(0, 3)  # a worker on another machine
    simulate(three, {"even": Uniform}, budget=6.0, rounds=20, runs=2, show_progress=True)
    assert "simulating" in capsys.readouterr().err


@pytest.mark.long
def test_memory_does_not_grow_with_rounds(three: hg.Problem) -> None:
    def peak(rounds: int) -> int:
        tracemalloc.start()
        simulate(three, {"even": Uniform}, budget=6.0, rounds=rounds, runs=4)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(16)
    assert peak(8192) < 1.2 * peak(2048)
