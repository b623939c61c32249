"""`headgate sample-log`: a simulated log, so that the lines of the README can be followed."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from headgate.errors import InputError

_SAYS = """{name} is simulated by `headgate sample-log`: nobody has given these answers.

{students:,} students, six questions (`item`), the time of every answer (`seconds`) and whether it was right
(`correct`). A question is known with a probability of its own; times follow a Weibull law with shape 1.7, whether the
answer is right or not. `headgate.datasets.sample_problem()` has the true numbers, to compare with what `headgate
calibrate` finds.
"""


def sample_log(
    path: Annotated[Path, typer.Argument(metavar="FILE.CSV", help="The file to write.")],
    students: Annotated[int, typer.Option(min=1, help="How many students answer.")] = 400,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other answers.")] = 0,
) -> None:
    """Write a small log of a quiz to try things on. It is simulated, and a text beside it says so.

    [bold]Example[/bold]

    headgate sample-log answers.csv

    headgate calibrate answers.csv --arm item --success correct --threshold seconds --budget 120 --out calibrated
    """
    from headgate.datasets import sample_answers  # noqa: PLC0415  # not light
    from headgate.files import write  # noqa: PLC0415  # likewise

    if path.suffix != ".csv":
        raise InputError(f"the file must end in .csv, got {path}")
    if path.exists():
        raise InputError(f"{path} is there already; remove it, or choose another name")
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("student", "item", "correct", "seconds"))
    table.writerows((row.student, row.item, int(row.correct), row.seconds) for row in sample_answers(students, seed))
    beside = path.with_suffix(".simulated.txt")
    write(beside, _SAYS.format(name=path.name, students=students))
    write(path, text.getvalue())
    typer.echo(f"{path}: {students * 6:,} simulated answers; {beside} says so")
