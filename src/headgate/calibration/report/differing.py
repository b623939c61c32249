"""What a calibration says of rounds that differ, in words and tables: features, and arms that share a round's fate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from headgate.calibration.report import words
from headgate.calibration.report.data import fields, plain

if TYPE_CHECKING:
    from headgate.calibration.differing.features import Coefficient, FeatureFit
    from headgate.calibration.differing.rounds import RoundsFit

COEFFICIENTS = ("feature", "arm", "per", "rate, times", "odds of being active, times")
FEATURE_GAINS = ("budget", "without features", "with features", "gain", "told by the log")
ROUND_GAINS = (
    "budget",
    "even split",
    "best single arm",
    "greedy",
    "best",
    "gain over even",
    "if independent",
    "correlation",
)


def coefficient_cells(coefficient: Coefficient) -> list[words.Cell]:
    """A feature's line of a table: its factors of the rate and of the odds, with intervals."""
    unit = "yes" if coefficient.unit == 1.0 else words.number(coefficient.unit)
    return [
        (coefficient.feature, ""),
        (coefficient.arm or "all", ""),
        (unit, ""),
        *(
            (words.number(math.exp(value)), words.interval((math.exp(ends[0]), math.exp(ends[1]))))
            for value, ends in (
                (coefficient.rate, coefficient.rate_interval),
                (coefficient.activation, coefficient.activation_interval),
            )
        ),
    ]


def feature_gain_cells(fit: FeatureFit) -> list[list[words.Cell]]:
    """A line for each budget: successes a round without and with features, on rows held out."""
    return [
        [
            (f"{gain.budget:g}", ""), (f"{gain.without:.3f}", ""), (f"{gain.with_features:.3f}", ""),
            (words.share(gain.gain, words.NOTHING), words.shares(gain.interval)), (f"{gain.known:.0%}", ""),
        ]
        for gain in fit.gains
    ]  # fmt: skip


def features_summary(fit: FeatureFit) -> str:
    """Whether features help, in a sentence or two."""
    gain, error = fit.held_out_gain, fit.held_out_error
    whose = "the same slopes for all arms" if fit.slopes == "shared" else "slopes of each arm's own"
    verdict = "Features foretell" if fit.help else "Features do not foretell"
    text = (
        f"{verdict} rows that were held out better than none do: {gain:+.4f} nats a row, standard error {error:.4f}, "
        f"with {whose}."
    )
    return text + ("" if fit.converged else " The fit did not settle: take its numbers with care.")


def held_out_lines(fit: FeatureFit) -> list[tuple[str, str]]:
    """How well each way foretells a row that was held out."""
    names = {"none": "no features", "shared": "slopes shared by all arms", "arm": "slopes by arm"}
    return [(names[name], f"{value:.4f}") for name, value in fit.held_out.items()]


def usual_words(fit: FeatureFit) -> str:
    """Which categories the others are compared with."""
    return ", ".join(f"{column}: {kind}" for column, kind in fit.usual.items())


def round_gain_cells(fit: RoundsFit) -> list[list[words.Cell]]:
    """A line for each budget: the share of rounds with a success, cross-fitted, and what independence would promise."""
    return [
        [
            (f"{gain.choice.budget:g}", ""),
            *((f"{value:.3f}", "") for value in (gain.choice.even, gain.choice.single, gain.choice.greedy)),
            (f"{gain.choice.claim:.3f}", words.interval(gain.claim_interval, ".3f")),
            (words.share(gain.gain, words.NOTHING), words.shares(gain.gain_interval)),
            (f"{gain.choice.independent:.3f}", ""),
            (f"{gain.correlation:.2f}", f"p {words.p_value(gain.p_value)}"),
        ]
        for gain in fit.gains
    ]


def rounds_summary(fit: RoundsFit) -> str:
    """How dependent the arms are, in a sentence or two."""
    worst = max(fit.gains, key=lambda gain: abs(gain.correlation))
    text = (
        f"Successes of two arms in a round have a correlation of {worst.correlation:.2f} on average, each given "
        f"{worst.choice.budget:g} (p {words.p_value(worst.p_value)}, by shuffling rounds): "
    )
    text += "arms share their rounds' fate." if worst.p_value < 0.05 else "no sign that arms share their rounds' fate."
    worst = max(fit.gains, key=lambda gain: gain.lost)
    return text + (
        f" With {worst.choice.budget:g}, multiplying the arms' failures would promise {worst.choice.independent:.3f}; "
        f"of these rounds {worst.choice.fitted:.3f} have a success with the same allocation."
    )


def allocation_words(fit: RoundsFit, place: int) -> str:
    """What each arm gets at one budget, those with nothing left out."""
    x = fit.gains[place].choice.x
    return ", ".join(
        f"{name} {words.number(float(amount))}" for name, amount in zip(fit.names, x, strict=True) if amount > 0.0
    )


def certificate(fit: RoundsFit, place: int) -> str:
    """What is proved of one budget's allocation, and under which assumption."""
    choice = fit.gains[place].choice
    over = "these rounds as they were" if choice.complete else "these rounds as completed by kinds, not as they were"
    return f"{choice.fitted:.4f} of them, and no allocation has more than {choice.bound:.4f}: proved for {over}"


def features_data(fit: FeatureFit) -> dict[str, Any]:
    """Return everything as plain data for JSON."""
    names = ("slopes", "arms", "usual", "log_likelihood", "rows", "held_out", "held_out_gain", "held_out_error", "help")
    line = ("feature", "arm", "unit", "rate", "rate_interval", "activation", "activation_interval")
    gain = ("budget", "without", "with_features", "gain", "interval", "known")
    return {
        "declared": fit.features.to_dict(),
        **fields(fit, (*names, "level", "converged")),
        "coefficients": [fields(entry, line) for entry in fit.coefficients],
        "gains": [fields(entry, gain) for entry in fit.gains],
    }


def rounds_data(fit: RoundsFit) -> dict[str, Any]:
    """Return everything but the rounds as plain data for JSON."""
    names = ("budget", "fitted", "bound", "claim", "error", "single", "even", "greedy", "independent", "complete")
    own = ("gain", "claim_interval", "gain_interval", "correlation", "p_value")
    return {
        **fields(fit, ("rounds", "kinds", "level")),
        "held_out": {str(kinds): plain(value) for kinds, value in fit.held_out.items()},
        "gains": [
            {
                **fields(entry.choice, names), **fields(entry, own),
                "allocation": dict(zip(fit.names, entry.choice.x.tolist(), strict=True)),
            }
            for entry in fit.gains
        ],
    }  # fmt: skip
