"""The command line. It needs typer and rich, the extra `cli`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from headgate.errors import HeadgateError
from headgate.extras import explain


def main() -> None:
    """Run the command; whatever is wrong becomes one line on stderr and exit status 2."""
    try:
        with explain():  # each command imports what it needs: an extra may be missing anywhere
            from headgate.cli.app import run  # noqa: PLC0415  # typer is an extra

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
