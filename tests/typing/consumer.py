"""A program that uses the public names as the README does: checked by mypy in strict mode against the installed wheel.

It is never run as a test; `assert_type` says what a user's editor must know.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import headgate as hg

law = hg.Weibull(shape=1.6)
problem = hg.Problem(law, activation=[0.9, 0.6, 0.4], rate=[0.02, 0.05, 0.03])
best = problem.solve(budget=90.0)
assert_type(best, hg.Allocation)
assert_type(best.x, NDArray[np.float64])

policy = hg.Thompson(law, arms=3, max_budget=90.0, seed=0)
rng = np.random.default_rng(1)
x = policy.allocate(90.0)
feedback = problem.play(x, rng)
assert_type(feedback, hg.Feedback)
policy.observe(x, feedback)
assert_type(policy.to_json(), str)
assert_type(hg.load_policy(policy.to_json()), hg.Policy)
assert_type(hg.simulate(problem, {"thompson": hg.Thompson}, budget=90.0, rounds=10, runs=1), hg.Result)
assert_type(hg.__version__, str)

print(best.x.nonsense)  # type: ignore[attr-defined]  # not Any, or mypy would call this comment unused
print(hg.Bernoulli)  # type: ignore[attr-defined]  # nor is the module
