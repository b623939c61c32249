"""`headgate demo`: the main job from end to end, in about a minute."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from headgate.cli import terminal

if TYPE_CHECKING:
    from headgate.experiments.base import Part
    from headgate.experiments.customers import Calls
    from headgate.experiments.live import LiveQuiz

_BUDGETS = (694.86, 400.0, 200.0)  # seconds; the first is what the students of the paper take on average
_DRAWN = 400.0


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for figures, data and page.")] = Path("demo"),
    quick: Annotated[bool, typer.Option("--quick", help="Only a few rounds: seconds instead of a minute.")] = False,
) -> None:
    """See it work: a quiz solved, played live and learned; calls to customers; then races of policies on two problems.

    Prints tables and writes a page with figures, whose path is the last line. A second run shows what the first one
    found.

    [bold]Example[/bold]

    headgate demo --out demo
    """
    from headgate.experiments.race import beside_even, run_races  # noqa: PLC0415  # extras, and not light

    out.mkdir(parents=True, exist_ok=True)
    picture = _solve(out)
    played = _play_live(out, quick)
    calls = _call_customers(quick)
    console = Console(stderr=True)
    parts = run_races(
        out, picture, played, calls, quick=quick, say=lambda text: console.print(f"[dim]{text}[/dim]", highlight=False)
    )
    for part in parts:
        _show(part)
    terminal.stdout().print(f"\n{beside_even(parts[0])}")
    command, quiz = terminal.command(), shlex.quote(str(out / "quiz.toml"))
    typer.echo(f"\ntry next: {command} solve {quiz} --budget 300")
    typer.echo(f"          {command} simulate {quiz} --budget 400 --rounds 300 --runs 3 --live")
    typer.echo(str(out / "index.html"))


def _solve(out: Path) -> Path:
    """Solve the quiz at three budgets, and draw one of them."""
    from headgate.datasets import ednet_quiz  # noqa: PLC0415  # not light
    from headgate.figures import draw_allocation  # noqa: PLC0415  # an extra, and not light

    quiz, console = ednet_quiz(), terminal.stdout()
    console.print("[bold]A quiz of 20 questions[/bold], with real response times (EdNet).")
    console.print("How many seconds should each get? The curves are S-shaped: too few are wasted.\n")
    table = terminal.table("budget", "questions tried", "best split", "even split", "gain", "gap")
    best = {budget: quiz.solve(budget) for budget in _BUDGETS}
    for budget, allocation in best.items():
        value = float(allocation.value)
        even = float(quiz.expected_reward([budget / quiz.arms] * quiz.arms))
        table.add_row(
            f"{budget:g} s",
            f"{(allocation.x > 0.0).sum()} of {quiz.arms}",
            f"{value:.5f}",
            f"{even:.5f}",
            f"+{value / even - 1.0:.1%}",
            f"{float(allocation.gap):.1g}",
        )
    console.print(table)
    console.print("\nSplits are worth so many right answers; no split is better by more than the gap.")
    quiz.to_toml(out / "quiz.toml")
    title = f"20 questions, {_DRAWN:g} seconds: where the time should go"
    return draw_allocation(quiz, best[_DRAWN], out / "quiz.png", title=title)


def _play_live(out: Path, quick: bool) -> LiveQuiz:
    """Play the quiz live beside the best plan: by one who knows the curves, and by one who learns them from nothing."""
    from headgate.datasets import ednet_quiz  # noqa: PLC0415  # not light
    from headgate.experiments.live import play_quiz  # noqa: PLC0415  # likewise

    size = {"rounds": 60, "runs": 2} if quick else {"rounds": 1000, "runs": 5}
    played, console = play_quiz(ednet_quiz(), _BUDGETS, out / "live.png", drawn=_DRAWN, **size), terminal.stdout()
    table = terminal.table(*played.head)
    for row in played.rows:
        table.add_row(*row)
    console.print("\n[bold]The same quiz, played live[/bold]: what a right answer leaves over goes to the others.\n")
    console.print(table)
    console.print(f"\n{played.words}")
    return played


def _call_customers(quick: bool) -> Calls:
    """Split every day's calls between customers who come once."""
    from headgate.experiments.customers import call_customers  # noqa: PLC0415  # not light

    size = {"days": 20, "runs": 2} if quick else {"days": 120, "runs": 4}
    calls, console = call_customers(**size), terminal.stdout()
    table = terminal.table(*calls.head)
    for row in calls.rows:
        table.add_row(*row)
    console.print("\n[bold]Calls to customers[/bold]: other people every day, told apart by age, job and history.\n")
    console.print(table)
    console.print(f"\n{calls.words}")
    return calls


def _show(part: Part) -> None:
    """Print what each policy came to."""
    console, result = terminal.stdout(), part.outcome.results["race"]
    table = terminal.table("policy", "successes a round", "lost in all", "95% interval", "of the optimum")
    for row in sorted(result.summary(0.95), key=lambda row: row.regret):
        reward, interval = f"{row.reward / part.config.rounds:.3f}", f"{row.low:,.0f} to {row.high:,.0f}"
        table.add_row(row.policy, reward, f"{row.regret:,.0f}", interval, f"{row.share:.1%}")
    console.print(f"\n[bold]{part.experiment.title}[/bold]: {part.config.rounds:,} rounds, {part.config.runs} runs\n")
    console.print(table)
