"""Calls to customers who differ: whole calls, features, learned from nothing. The customers are simulated."""

from __future__ import annotations

import numpy as np

import headgate as hg


def main(days: int = 60) -> float:
    """Print what the learner sells beside an even split; return the ratio over the second half of the days."""
    known = hg.Features(numbers=["age"], categories={"contact": ["phone", "mail"]})
    law = hg.DiscreteWeibull(shape=1.0)
    policy = hg.Contextual(law, features=known, max_budget=12, seed=0)
    rng, sold, even = np.random.default_rng(0), 0.0, 0.0
    for day in range(days):
        people = [{"age": float(rng.uniform(20, 70)), "contact": str(rng.choice(["phone", "mail"]))} for _ in range(12)]
        chance = np.array([0.6 if person["contact"] == "phone" else 0.05 for person in people])
        world = hg.Problem(law, chance, 0.7)
        x = policy.allocate(12, features=people)
        policy.observe(x, world.play(x, rng), features=people)
        if day >= days // 2:
            sold += float(world.expected_reward(x))
            even += float(world.expected_reward(np.ones(12)))
    print(f"the last {days - days // 2} days: {sold:.1f} to be expected, one call each {even:.1f}")
    return sold / even


if __name__ == "__main__":
    main()
