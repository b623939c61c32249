"""`headgate simulate`: policies play a problem file, and their regret is measured."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from headgate.cli import terminal
from headgate.errors import ParameterError
from headgate.extras import extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headgate.policies import Policy
    from headgate.simulation import Result

_LEVEL = 0.9
_DEFAULT = ["thompson", "uniform"]
_POURING = ["thompson", "mg-ucb"]
_LIVE = ["thompson", "oracle"]


def simulate(
    problem_file: Annotated[Path, typer.Argument(metavar="PROBLEM.TOML", help="The arms: law, activation and rate.")],
    budget: Annotated[float, typer.Option("--budget", "-b", help="How much there is to split each round.")],
    rounds: Annotated[int, typer.Option("--rounds", "-T", help="The horizon.")] = 10_000,
    runs: Annotated[int, typer.Option(help="How often it is played.")] = 15,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:OPTION=VALUE,...]", help="Who plays, such as ra-ucb:scale=1e-6; may be repeated."),
    ] = None,
    law: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What learners believe in: a law, or auto to learn it; else the problem's."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    hidden: Annotated[bool, typer.Option("--hidden", help="Do not tell the budget: policies pour.")] = False,
    step: Annotated[float | None, typer.Option(help="Pour in steps of this size.")] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Each policy also plays live: what a success leaves over goes to the others."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep what is finished there, and the result.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is in DIR.")] = False,
    workers: Annotated[int, typer.Option("--workers", "-j", help="Processes; -1: one per core.")] = -1,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="loky: processes here; dask or ray: a cluster.")
    ] = "loky",
    address: Annotated[str | None, typer.Option(help="The cluster's address; without it, one here.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw regret by round: .png, .pdf, .svg.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with every digit.")] = False,
) -> None:
    """Let policies play a problem many times, and compare their regret.

    [bold]Examples[/bold]

    headgate simulate problem.toml --budget 40 --policy thompson --policy ra-ucb:scale=1e-6 --policy uniform

    headgate simulate problem.toml --budget 40 --law auto

    headgate simulate problem.toml --budget 40 --live

    headgate simulate problem.toml --budget 40 --rounds 100000 --out runs --resume

    headgate simulate problem.toml --budget 40 --backend dask --address tcp://scheduler:8786
    """
    from headgate import simulation  # noqa: PLC0415  # not light, and --help does without
    from headgate.problem import load_problem  # noqa: PLC0415  # not light

    problem = load_problem(problem_file)
    if step is not None and not hidden:
        raise ParameterError("--step is how policies pour: it goes with --hidden")
    lineup = read_lineup(policy or (_POURING if hidden else _LIVE if live else _DEFAULT), law)
    playing_live = {f"{name} live": entrant for name, entrant in lineup.items()} if live else {}
    if resume and out is None:
        raise ParameterError("--resume needs --out DIR, where the simulation was kept")
    if plot is not None:
        extra("headgate.figures.style").suffix_of(plot)
    try:
        result = simulation.simulate(
            problem, lineup | playing_live, budget=budget, rounds=rounds, runs=runs, seed=seed, hidden=hidden,
            step=step, live=set(playing_live), workers=workers, backend=backend, address=address, out=out,
            resume=resume,
        )  # fmt: skip
    except KeyboardInterrupt:
        if out is not None:
            Console(stderr=True).print(f"stopped; what is finished is in {out}: go on with --resume", highlight=False)
        raise
    if plot is not None:
        draw_regret(result, plot)
    if as_json:
        typer.echo(as_text(result))
        return
    show(result, rounds, runs)
    for what, path in (("result", out and out / "result.parquet"), ("figure", plot)):
        if path is not None:
            typer.echo(f"{what}: {path}")


def read_lineup(policies: list[str], law: str | None) -> dict[str, tuple[type[Policy], dict[str, Any]]]:
    """Read who plays, each once, and what they believe in where they do not say it themselves."""
    if len(set(policies)) < len(policies):
        raise ParameterError(f"--policy must name each policy once, got {', '.join(policies)}")
    lineup = dict(read_policy(text) for text in policies)
    if law is not None:
        believe(lineup, law)
    return lineup


def read_policy(text: str) -> tuple[str, tuple[type[Policy], dict[str, Any]]]:
    """Read NAME[:OPTION=VALUE,...]; values are JSON where they can be, else text, and a law is a law's name.

    >>> read_policy("ra-ucb:scale=1e-6,estimator=corrected")
    ('ra-ucb:scale=1e-6,estimator=corrected',
     (<class 'headgate.policies.ra_ucb.RAUCB'>, {'scale': 1e-06, 'estimator': 'corrected'}))
    """
    from headgate.laws import AUTO, from_dict  # noqa: PLC0415  # not light
    from headgate.policies import POLICIES  # noqa: PLC0415  # not light

    name, _, rest = text.partition(":")
    if name not in POLICIES:
        raise ParameterError(f"unknown policy {name!r}: it must be one of {', '.join(POLICIES)}")
    options: dict[str, Any] = {}
    for item in filter(None, re.split(r",(?![^\[]*\])", rest)):  # not at commas within [ ]
        key, equals, value = item.partition("=")
        if not equals:
            raise ParameterError(f"the options of a policy must be OPTION=VALUE, got {item!r} in {text!r}")
        try:
            options[key] = json.loads(value)
        except json.JSONDecodeError:
            options[key] = value
    if "law" in options and options["law"] != AUTO:  # that is for the simulation, which knows what thresholds are
        options["law"] = from_dict(options["law"])
    return text, (POLICIES[name], options)


def believe(lineup: dict[str, tuple[type[Policy], dict[str, Any]]], law: str) -> None:
    """Give every policy without a law of its own this one; "auto" is for those that can learn it."""
    from headgate.laws import AUTO, AUTO_WHOLE, from_dict  # noqa: PLC0415  # not light
    from headgate.policies import Oracle, Thompson  # noqa: PLC0415  # not light

    parsed_law = law if law == AUTO else from_dict(law)
    for policy, options in lineup.values():
        learns = policy is Thompson if law in (AUTO, AUTO_WHOLE) else policy is not Oracle
        if learns and "law" not in options:
            options["law"] = parsed_law


def as_text(result: Result) -> str:
    """Write a result as JSON with every digit."""
    summaries = [
        {"policy": s.policy} | {key: terminal.finite(v) for key, v in s._asdict().items() if key != "policy"}
        for s in result.summary(_LEVEL)
    ]
    return json.dumps({"summary": summaries, "level": _LEVEL, **result.metadata()}, indent=2, allow_nan=False)


def show(result: Result, rounds: int, runs: int) -> None:
    """Print the table of final regrets, the best first."""
    table = terminal.table("policy", "regret", f"{_LEVEL:.0%} interval", "sd", "reward", "of optimum")
    for s in sorted(result.summary(_LEVEL), key=lambda s: s.regret):
        table.add_row(
            Text(s.policy),
            f"{s.regret:,.1f}",
            "" if math.isnan(s.low) else f"{s.low:,.1f} to {s.high:,.1f}",
            "" if math.isnan(s.spread) else f"{s.spread:,.1f}",
            f"{s.reward:,.1f}",
            f"{s.share:.2%}",
        )
    console = terminal.stdout()
    console.print(table)
    played = rounds * runs * len(result.policies)
    console.print(
        f"\n{rounds:,} rounds, mean of {runs} run{'s' * (runs != 1)}; regret is reward lost to the best plan. "
        f"{played / max(result.seconds, 1e-9):,.0f} rounds/s."
    )


def draw_regret(result: Result, path: Path) -> Path:
    """Draw each policy's mean regret by round, both axes logarithmic, with a band of one standard deviation."""
    from headgate.figures import regret, style  # noqa: PLC0415  # an extra, and not light

    colors = (style.BLUE, style.VERMILLION, style.GREEN, style.ORANGE, regret.PURPLE, regret.SKY, style.INK)
    curves = [
        regret.Curve(policy, result.rounds, runs.mean(axis=0), runs.std(axis=0), colors[place % len(colors)])
        for place, (policy, runs) in enumerate(result.regret.items())
        if runs[:, -1].mean() > 0.0  # an oracle has nothing to see on this axis
    ]
    if not curves:
        raise ParameterError("there is no regret to draw: every policy plays the optimum")
    size = (8.0, 4.5)

    def draw(figure: Figure) -> None:
        regret.draw_curves(figure.subplots(), curves, inches=size[1] - 1.0, title="Regret by round")

    return style.write(path, size, draw)
