"""The application: the commands, and how their errors leave it."""

from __future__ import annotations

from typing import Annotated, cast

import typer

import headgate
from headgate.cli.bench import bench
from headgate.cli.calibrate import calibrate
from headgate.cli.demo import demo
from headgate.cli.keys import keys
from headgate.cli.reproduce import reproduce
from headgate.cli.serve import serve
from headgate.cli.simulate import simulate
from headgate.cli.solve import solve
from headgate.cli.state import audit, backup, restore, verify
from headgate.cli.warm import warm
from headgate.errors import InputError

# Typer has its own copy of click in some releases and imports it in others: find the root of its errors.
_UsageError = cast(
    "type[typer.BadParameter]", next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
)

app = typer.Typer(
    name="headgate",
    help="Split a limited budget between options, learn from what comes out, and prove how good the split is.",
    epilog="Start with: headgate demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(solve)
app.command()(simulate)
app.command()(calibrate)
app.command()(reproduce)
app.command()(bench)
app.command()(serve)
app.command()(warm)
app.add_typer(keys, name="keys")
for command in (verify, backup, restore, audit):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headgate {headgate.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Split a limited budget between options, learn from what comes out, and prove how good the split is."""


def run(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status; errors are exceptions of Headgate."""
    try:
        status = app(arguments, standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help itself
            return 2
        raise InputError(f"{error.format_message()} (headgate --help shows how)") from None
    return status if isinstance(status, int) else 0
