"""The application: the commands, and how their errors leave it."""

from __future__ import annotations

from importlib import import_module
from inspect import cleandoc
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command

import headgate
from headgate.errors import InputError

# Typer has its own copy of click in some releases and imports it in others: find the root of its errors.
_UsageError = cast(
    "type[typer.BadParameter]", next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
)

# Each command, in the order of the help, and the module of `headgate.cli` that has the function of its name.
COMMANDS = {
    "demo": "demo",
    "solve": "solve",
    "simulate": "simulate",
    "sample-log": "sample_log",
    "calibrate": "calibrate",
    "reproduce": "reproduce",
    "bench": "bench",
    "warm": "warm",
    "serve": "serve",
    "keys": "keys",
    "verify": "state",
    "backup": "state",
    "restore": "state",
    "export": "export",
    "retract": "records",
    "forget": "records",
    "replay": "replay",
    "audit": "state",
}


def flowing(text: str) -> str:
    r"""Return a docstring whose paragraphs are one line each, so that a terminal of any width can break them.

    >>> flowing("First,\n    second.\n\n    Third.")
    'First, second.\n\nThird.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in cleandoc(text).split("\n\n"))


class _Commands(TyperGroup):
    """Imports a command when it is called, so that each takes only the time of what it needs."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # of every group
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # of every group
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"headgate.cli.{COMMANDS[cmd_name]}"), cmd_name.replace("-", "_"))
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich", callback=lambda: None)  # a group of one
        if isinstance(command, typer.Typer):
            for each in command.registered_commands:
                each.help = flowing(each.callback.__doc__ or "") if each.callback else each.help
            alone.add_typer(command, name=cmd_name)
        else:
            alone.command(cmd_name, help=flowing(command.__doc__ or ""))(command)
        return cast("TyperGroup", get_command(alone)).commands[cmd_name]


app = typer.Typer(
    name="headgate",
    cls=_Commands,
    help="Split a limited budget between options, learn from what comes out, and prove how good the split is.",
    epilog="Start with: headgate demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _show_version(show: bool) -> None:
    if show:
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
