"""`headgate solve`: the best allocation of a budget for a problem file."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.text import Text

from headgate.cli import terminal
from headgate.errors import BudgetError, ProblemFileError
from headgate.extras import extra

if TYPE_CHECKING:
    from headgate.oracle import Allocation
    from headgate.problem import Problem, Reward


def solve(
    problem_file: Annotated[
        Path,
        typer.Argument(
            metavar="PROBLEM.TOML|CURVES.CSV",
            help="The arms: law, activation and rate; or a table of measured curves, amounts in the first column.",
        ),
    ],
    budget: Annotated[float | None, typer.Option("--budget", "-b", help="How much there is to split.")] = None,
    price: Annotated[float | None, typer.Option(help="Instead: buy everything that is worth so much a unit.")] = None,
    target: Annotated[float | None, typer.Option(help="Instead: the least budget that buys so much.")] = None,
    value: Annotated[
        list[str] | None, typer.Option(metavar="ARM=WORTH", help="What a success of an arm is worth; may be repeated.")
    ] = None,
    lower: Annotated[
        list[str] | None, typer.Option(metavar="ARM=AMOUNT", help="The least an arm gets; may be repeated.")
    ] = None,
    upper: Annotated[
        list[str] | None, typer.Option(metavar="ARM=AMOUNT", help="The most an arm gets; may be repeated.")
    ] = None,
    reward: Annotated[
        str, typer.Option(metavar="NAME", help="sum: the number of successes; cascade: 1 if any arm succeeds.")
    ] = "sum",
    tol: Annotated[float, typer.Option(help="Stop when the gap is proved to be at most this.")] = 1e-9,
    max_nodes: Annotated[
        int | None, typer.Option(help="Stop after so many nodes of branch and bound.", show_default="10,000; kinds: 33")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curves and the price line: .png, .pdf, .svg.")
    ] = None,
    assumptions: Annotated[
        bool, typer.Option("--assumptions", help="Tell which assumptions of the paper's theorems the problem meets.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with every digit.")] = False,
) -> None:
    """Find the best allocation of a budget, with the proof of how good it is.

    [bold]Examples[/bold]

    headgate solve problem.toml --budget 40

    headgate solve problem.toml --budget 40 --lower q1=5 --upper q2=10 --plot out.png

    headgate solve problem.toml --budget 40 --reward cascade --json

    headgate solve problem.toml --target 3.5

    headgate solve curves.csv --price 0.02

    headgate solve problem.toml --budget 40 --assumptions
    """
    from headgate.problem import load_problem  # noqa: PLC0415  # not light, and --help does without
    from headgate.theory import check  # noqa: PLC0415  # likewise

    if [budget, price, target].count(None) != 2:
        raise BudgetError("give one of --budget, --price and --target")
    problem = load_curves(problem_file) if problem_file.suffix.lower() == ".csv" else load_problem(problem_file)
    if plot is not None:
        extra("headgate.figures.style").suffix_of(plot)
    least, most = limits(problem, "--lower", lower, 0.0), limits(problem, "--upper", upper, math.inf)
    pays = cast("Reward", reward)  # which solving checks
    options: dict[str, Any] = {"lower": least, "upper": most, "reward": pays, "tol": tol, "max_nodes": max_nodes}
    if value:
        values = limits(problem, "--value", value, math.nan)
        options["value"] = [own if math.isnan(v) else v for own, v in zip(problem.value.tolist(), values, strict=True)]
    best = (
        problem.budget_for(target, **options) if target is not None else problem.solve(budget, price=price, **options)
    )
    if plot is not None:
        extra("headgate.figures").draw_allocation(problem, best, plot, reward=pays)
    report = as_data(problem, best, float(best.budget), pays)
    met = check(problem, float(best.budget)) if assumptions else None
    if met is not None:
        report["assumptions"] = [asdict(assumption) for assumption in met.listed]
    if as_json:
        typer.echo(json.dumps(report, indent=2, allow_nan=False))
    else:
        show(problem, report)
        if met is not None:
            typer.echo(f"\nassumptions of the paper, with rates within [1/B, 80/B]:\n{met}")
        if plot is not None:
            typer.echo(f"figure     {plot}")


def load_curves(path: Path) -> Problem:
    """Read measured curves: a header with the arms' names, then rows of an amount and what each arm returns for it."""
    from headgate.problem import Problem  # noqa: PLC0415  # not light, and --help does without

    try:
        header, *lines = path.read_text(encoding="utf-8").strip().splitlines()
        rows = [[float(cell) for cell in line.split(",")] for line in lines]
    except (OSError, UnicodeDecodeError, ValueError) as cause:
        raise ProblemFileError(f"{path}: cannot be read as a table of curves: {cause}") from cause
    names = [name.strip() for name in header.split(",")]
    if len(rows) < 2 or len(names) < 2 or any(len(row) != len(names) for row in rows):
        raise ProblemFileError(f"{path}: must have a column of amounts, one for each arm, and two rows or more")
    amounts, *curves = zip(*rows, strict=True)
    return Problem.from_curves(amounts, curves, names[1:])


def limits(problem: Problem, option: str, texts: list[str] | None, default: float) -> Any:
    """Return the limits of all arms from `ARM=AMOUNT` texts; the default alone if there are none."""
    if not texts:
        return default
    amounts = [default] * problem.arms
    for text in texts:
        name, equals, amount = text.rpartition("=")
        try:
            value = float(amount)
        except ValueError:
            equals = ""
        if not equals:
            raise BudgetError(f"{option} must be ARM=AMOUNT, such as {problem.names[0]}=2.5, got {text!r}")
        amounts[problem.arm(name)] = value
    return amounts


def as_data(problem: Problem, best: Allocation, budget: float, reward: Reward) -> dict[str, Any]:
    """Return everything about an allocation as plain data, at full precision."""
    success, marginal = problem.success_probability(best.x), problem.marginal(best.x, reward)
    return {
        "budget": budget,
        "units": problem.units,
        "reward": reward,
        "assumes": best.assumes,
        "value": float(best.value),
        "bound": float(best.bound),
        "gap": float(best.gap),
        "price": terminal.finite(float(best.price)),
        "nodes": int(best.nodes),
        "arms": [
            {"name": name, "allocation": x, "success_probability": p, "marginal": terminal.finite(slope)}
            for name, x, p, slope in zip(
                problem.names, best.x.tolist(), success.tolist(), marginal.tolist(), strict=True
            )
        ],
    }


def show(problem: Problem, report: dict[str, Any]) -> None:
    """Print the table of arms, and below it the value and its certificate."""
    from headgate.oracle.allocation import ASSUMPTIONS  # noqa: PLC0415  # not light, and --help does without

    places = terminal.decimals(report["budget"])
    units = f" ({problem.units})" if problem.units else ""
    table = terminal.table("arm", f"allocation{units}", "success probability", "marginal")
    for arm in report["arms"]:
        slope = arm["marginal"]
        table.add_row(
            Text(arm["name"]),
            f"{arm['allocation']:.{places}f}",
            f"{arm['success_probability']:.6f}",
            "inf" if slope is None else f"{slope:.6g}",
            style="" if arm["allocation"] > 0.0 else "dim",
        )
    console = terminal.stdout()
    console.print(table)
    console.print()
    total = sum(arm["allocation"] for arm in report["arms"])
    worth = f"probability of a success, {ASSUMPTIONS[report['assumes']]}"
    if report["reward"] == "sum":
        worth = "expected value" if any(v != 1.0 for v in problem.value.tolist()) else "expected successes"
    price = "inf" if report["price"] is None else f"{report['price']:.9g}"
    console.print(f"[bold]value      {report['value']:.9g}[/bold]  {worth}")
    console.print(f"bound      {report['bound']:.9g}  no allocation is worth more")
    console.print(f"gap        {report['gap']:.2g}  after {report['nodes']} node{'s' * (report['nodes'] != 1)}")
    console.print(f"price      {price}  what one more unit of budget would add, about")
    console.print(f"allocated  {total:.9g} of {report['budget']:.9g}{units}")
