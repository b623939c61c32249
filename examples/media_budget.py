"""A media budget: Hill curves, limits, what the next unit is worth, and what a target costs. Invented numbers."""

from __future__ import annotations

import numpy as np

import headgate as hg


def main() -> float:
    """Print splits; return the gap that is proved for the first."""
    half = np.array([40.0, 25.0, 60.0, 15.0])  # spend at half of the height, in thousands
    channels = hg.Problem(
        hg.LogLogistic(shape=(1.8, 2.5, 1.2, 3.0)),
        activation=1.0,
        rate=1.0 / half,
        value=[500.0, 300.0, 900.0, 120.0],  # the height of each curve
        names=["search", "radio", "television", "posters"],
        units="thousands",
    )
    best = channels.solve(120.0, lower=[10.0, 0.0, 0.0, 0.0], upper=[80.0, 40.0, 90.0, 40.0])
    for name, amount in zip(channels.names or (), best.x, strict=True):
        print(f"{name:12} {amount:6.1f}")
    even = float(channels.expected_reward([30.0] * 4))
    print(f"worth {best.value:.0f}, an even split {even:.0f}; gap {best.gap:.1e}")
    print(f"a thousand more is worth {best.price:.2f}")
    print(f"the least budget for 1,000: {channels.budget_for(1000.0).x.sum():.1f}")
    return float(best.gap)


if __name__ == "__main__":
    main()
