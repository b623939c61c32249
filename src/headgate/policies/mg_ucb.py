"""MG-UCB: RA-UCB for a budget that is not known in advance."""

from __future__ import annotations

from typing import Literal, final

import numpy as np

from headgate import checks
from headgate.errors import UnsupportedError
from headgate.oracle import Limits
from headgate.policies.model import Curves
from headgate.policies.ra_ucb import ScaledBoosting
from headgate.policies.rule import Portions


@final
class MGUCB(ScaledBoosting):
    """RA-UCB that pours: each infinitesimal amount goes to the arm with the largest marginal of the surrogate.

    `pour()` is the paper's MG-UCB and `pour(step=delta)` its MG-UCB-Delta. Estimates, bounds and the boosted arm are
    RA-UCB's, and so, by the paper's equivalence lemma, is the allocation at every budget: `allocate` is the same call.

    Parameters
    ----------
    gain : "step" or "marginal", default "step"
        What a step of `pour(step=delta)` is chosen by. MG-UCB-Delta as written looks at the marginal where the arm
        stands, p g~(x); the lemma that proves it optimal, among allocations in steps of delta, looks at the gain over
        the whole step. The two differ, in most rounds at delta = .25 of the paper's setting: "step" is the lemma's, and
        better; "marginal" the pseudocode's.
    """

    name = "mg-ucb"

    gain: Literal["step", "marginal"] = "step"

    def __post_init__(self) -> None:
        """Check."""
        checks.choice("gain", self.gain, ("step", "marginal"))
        super().__post_init__()
        if self.gain == "marginal" and (self._any_whole or self.reward != "sum"):
            raise UnsupportedError(
                f'gain="marginal" is for densities and reward "sum", got {self.laws} and reward {self.reward!r}'
            )

    def _greedily(self, curves: Curves, limits: Limits, step: float) -> Portions:
        """Step by step: to the arm that gains most, or as the pseudocode has it, to the steepest where it stands."""
        if self.gain == "step":
            return super()._greedily(curves, limits, step)
        x, rest, portions = limits.lower.copy(), float(limits.budget - limits.lower.sum()), []
        while rest > 1e-12 * limits.budget:
            steep = np.where(x < limits.upper, curves.weight * self.laws.pdf(x, curves.rate), -1.0)
            arm = int(np.argmax(steep))
            if steep[arm] < 0.0:
                break
            amount = min(step, rest, float(limits.upper[arm] - x[arm]))
            portions.append((arm, amount))
            x[arm] += amount
            rest -= amount
        arms, amounts = zip(*portions, strict=True) if portions else ((), ())
        return np.array(arms, dtype=np.int64), np.array(amounts, dtype=np.float64)
