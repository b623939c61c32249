"""MG-UCB: RA-UCB for a budget that is not known in advance."""

from __future__ import annotations

from typing import final

from headgate.policies.ra_ucb import ScaledBoosting


@final
class MGUCB(ScaledBoosting):
    """RA-UCB that pours: each infinitesimal amount goes to the arm with the largest marginal of the surrogate.

    `pour()` is the paper's MG-UCB and `pour(step=delta)` its MG-UCB-Delta. Estimates, bounds and the boosted arm are
    RA-UCB's, and so, by the paper's equivalence lemma, is the allocation at every budget: `allocate` is the same call.

    MG-UCB-Delta as written looks at the marginal where the arm stands, while the lemma that proves it optimal (among
    allocations in steps of delta) looks at the gain over the whole step. The two differ; this is the lemma's.
    """

    name = "mg-ucb"
