"""Random numbers by place: what happens in a block of rounds of a run depends on (seed, run, block) only.

So every policy meets the same world, a longer simulation begins with the shorter one, and neither the number of
workers nor the way runs are grouped changes a single number.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

_LONGEST = 1024
_NUMBERS = 1 << 15  # numbers in a block of one run, so that memory does not grow with the arms


class Stream(IntEnum):
    """What the random numbers are for; streams are independent of each other."""

    PROBLEM = 0
    POLICY = 1
    WORLD = 2
    BUDGET = 3
    ORDER = 4


def generator(seed: int, stream: Stream, run: int, block: int = 0) -> np.random.Generator:
    """Return the generator that belongs to this place."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(stream), run, block)))


def policy_seed(seed: int, run: int) -> int:
    """Return the seed of the policies of a run: the same one for each, and not the world's."""
    return int(np.random.SeedSequence(seed, spawn_key=(int(Stream.POLICY), run)).generate_state(1)[0])


def block_length(arms: int) -> int:
    """How many rounds are drawn at once; it depends on nothing but the arms.

    >>> block_length(10), block_length(100), block_length(10**6)
    (1024, 327, 1)
    """
    return max(1, min(_LONGEST, _NUMBERS // arms))
