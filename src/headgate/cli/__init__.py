"""The command line. It needs typer and rich, the extra `cli`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from headgate.errors import HeadgateError


def main() -> None:
    """Run the command; whatever is wrong becomes one line on stderr and exit status 2."""
    try:
        from headgate.cli.app import run  # noqa: PLC0415  # typer and rich may be missing, and are not light
    except ModuleNotFoundError as cause:
        missing = (cause.name or "").partition(".")[0]
        if missing not in {"typer", "rich"}:
            raise
        _fail(f"the command line needs {missing}: pip install 'headgate[cli]'")
    try:
        status = run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except (HeadgateError, OSError) as error:
        _fail(str(error))
    raise SystemExit(status)


def _fail(message: str) -> NoReturn:
    """Print the message in one line and stop."""
    print("headgate: " + " ".join(message.split()), file=sys.stderr)
    raise SystemExit(2)
