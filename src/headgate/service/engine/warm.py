"""Loading machine code before the first request waits for it."""

from __future__ import annotations

import gc
import sys

import numpy as np

from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Exponential, Weibull
from headgate.policies import Thompson


def warm_up() -> None:
    """Run what a decision and an outcome run, once."""
    for law in (Exponential(), Weibull(1.5)):
        policy = Thompson(law, 2, 1.0)
        x = policy.allocate(1.0)
        policy.observe(x, Feedback([False, False], [np.nan, np.nan]))
        list(policy.pour(0.5))
        live = policy.live(1.0)
        while live.next() is not None:
            live.report(success=False)
        policy.plan()
        policy.estimate()
    Evidence.of_rows([0], [1.0], [True], [0.5])


def settle_memory() -> None:
    """Keep the collector away from all that was imported: going through that stops everything for 0.1 s.

    And let threads take turns often: the loop gets the processor back from one that reads within a millisecond.
    """
    sys.setswitchinterval(0.001)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)
