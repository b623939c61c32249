"""Slips in the paper's text, which change nothing or little, and what the algorithm leaves on the table."""

from __future__ import annotations

from headgate.experiments.lineup import THOMPSON, WRITTEN
from headgate.experiments.report.claim import Parts, initial_phase, lemma
from headgate.experiments.synthetic.exponential import ARMS


def slips(parts: Parts) -> list[str]:
    """Return them, with numbers of this run; none before the lemmas have been run."""
    if "lemmas" not in parts:
        return []
    means, bounds = lemma(parts, "means"), lemma(parts, "hard_instance")
    found = [
        f"Lower bound: λ exists as long as ε ≤ 1/8, not ε ≥ 1/8 (the proof's ε is {bounds['eps']:.1e}); the censored "
        "law is that of min(Y, x), not max; i* is an argmin, not a min.",
        "The radius of p uses Ĉ = G(x, m/B): it explodes when x is small, and is 0/0 at x = 0.",
        "n = 0 divides by zero in both radii, and the pseudocode never says what λ̂ is before a first success.",
        f"μ(λ) < B/2 holds for the exponential law only ({means['exponential']:.3f} B as λ → 0); for Weibull the "
        f"limit is k/(k+1): {means['Weibull 1.6']:.3f} B for shape 1.6, {means['Weibull 2']:.3f} B for shape 2.",
        "Only the boosted arm is updated: with K = 10, 9 of 10 observations are thrown away.",
        "In the √T bound M(m+1)/m should be M(m+1)/m², the same for m = 1; p_i ≤ p_min in the last remark should be ≥.",
        "MG-UCB-Δ's pseudocode and its lemma disagree about which marginal is greedy's.",
        "Captions: Criteo has “20 independent runs using 5 batches”; EdNet has B = 700 s, the text B_t = Σ τ.",
    ]
    if "theory" in parts:
        result = parts["theory"].outcome.results["regret"]
        last, cost = initial_phase(result, WRITTEN, ARMS)
        found.append(
            f"The initial phase, everything on one arm for K ⌊log T⌋ rounds, has cost {cost:,.0f} by round {last}; "
            f"Thompson pays {float(result.regret[THOMPSON][:, -1].mean()):,.0f} in all {result.rounds[-1]:,}."
        )
    return found
