"""`headgate serve`: the decision service."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from headgate.errors import InputError
from headgate.extras import extra

if TYPE_CHECKING:
    from headgate.service.store import Database

DATABASE = "sqlite:///headgate.db"
DatabaseOption = Annotated[
    str,
    typer.Option(
        "--database", "-d", metavar="URL", envvar="HEADGATE_DATABASE", show_envvar=True,
        help="sqlite:///file.db here, or postgresql://user@host/name for many workers and machines.",
    ),
]  # fmt: skip


def needs_service() -> None:
    """Say which extra is missing, if it is."""
    for module in ("alembic", "fastapi", "prometheus_client", "sqlalchemy", "uvicorn"):
        extra(module)


@contextmanager
def opened(url: str, *, new: bool = False, migrate: bool = True) -> Iterator[Database]:
    """Open a database until the command ends; unless it may be `new`, a file must be there: looking creates none."""
    needs_service()
    from headgate.service.store import open_database  # noqa: PLC0415  # an extra, and not light

    path = url.removeprefix("sqlite:///")
    if not new and path != url and not Path(path).is_file():
        raise InputError(f"there is no database {path}: name another, or make it with `headgate serve`")
    database = open_database(url, migrate=migrate)
    try:
        yield database
    finally:
        database.close()


def serve(
    host: Annotated[
        str, typer.Option(help="The address to listen on; others than loopback need API keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    database: DatabaseOption = DATABASE,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes that answer; more than 1 is for PostgreSQL.")
    ] = 1,
    keys: Annotated[
        bool | None, typer.Option("--keys/--no-keys", help="Require API keys; by default unless on loopback.")
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Let a simulated classroom play along; without --database, in a temporary one."),
    ] = False,
    log_level: Annotated[
        str, typer.Option(help="critical, error, warning, info (a line for every request) or debug.")
    ] = "warning",
    otel: Annotated[
        bool, typer.Option("--otel", help="Send traces and metrics by OpenTelemetry, where OTEL_... variables say.")
    ] = False,
    keep_days: Annotated[
        float | None,
        typer.Option(
            envvar="HEADGATE_KEEP_DAYS",
            show_envvar=True,
            metavar="DAYS",
            help="Let decisions become their sum after so long, of allocators that do not say keep_days.",
        ),
    ] = None,
    remember_arms: Annotated[
        int,
        typer.Option(
            envvar="HEADGATE_REMEMBER_ARMS",
            show_envvar=True,
            min=1,
            help="Of how many arms, of all allocators, a worker keeps learners in memory: some 19 KB each.",
        ),
    ] = 20_000,
    log_format: Annotated[str, typer.Option(help="text, or json: one object a line, for machines.")] = "text",
) -> None:
    """Decide over HTTP, learn from feedback that comes late, twice or never, and lose nothing.

    The dashboard is at [bold]/[/bold], the API under [bold]/v1[/bold] with its schema at [bold]/openapi.json[/bold].

    [bold]Examples[/bold]

    headgate serve --demo

    headgate serve --database sqlite:///budget.db

    headgate serve --host 0.0.0.0 --workers 4 --database postgresql://headgate@db/headgate
    """
    needs_service()
    import uvicorn  # noqa: PLC0415  # an extra, and not light

    from headgate.service.engine.warm import warm_up  # noqa: PLC0415  # an extra, and not light
    from headgate.service.settings import Settings  # noqa: PLC0415  # an extra, and not light
    from headgate.service.store.keys import all_keys  # noqa: PLC0415  # an extra, and not light
    from headgate.service.store.opening import without_password  # noqa: PLC0415  # an extra, and not light
    from headgate.service.web import connections, logs  # noqa: PLC0415  # an extra, and not light
    from headgate.service.web.guard import is_loopback  # noqa: PLC0415  # an extra, and not light

    if log_level not in uvicorn.config.LOG_LEVELS:
        raise InputError(f"--log-level must be one of {', '.join(uvicorn.config.LOG_LEVELS)}, got {log_level!r}")
    if log_format not in logs.FORMATS:
        raise InputError(f"--log-format must be one of {', '.join(logs.FORMATS)}, got {log_format!r}")
    if keep_days is not None and not 0.0 < keep_days <= 100_000.0:
        raise InputError(f"--keep-days must be more than 0 and at most 100,000 days, got {keep_days:g}")
    if otel:
        extra("opentelemetry.sdk")
    console, local = Console(stderr=True, highlight=False), is_loopback(host)
    required = not local if keys is None else keys
    if demo and database == DATABASE:
        database = f"sqlite:///{tempfile.mkdtemp(prefix='headgate-demo-')}/demo.db"
    port = _free(host, port)
    warm_up()
    with opened(database, new=True) as store:
        missing = required and not any(key.revoked_at is None for key in store.look(all_keys))
    if missing:
        console.print("no API key exists yet: headgate keys create NAME --scope admin --database ...", style="yellow")
    if not required and not local:
        console.print(f"anyone who reaches {host} may decide and change: --keys asks for keys", style="yellow")
    address = f"[{host}]" if ":" in host else host
    console.print(f"Headgate [bold]http://{address}:{port}[/bold]  Ctrl-C stops it")
    console.print(f"state in {without_password(database)}", style="dim")
    Settings(
        database=database, keys=required, local=local, keep_days=keep_days, remember_arms=remember_arms,
        demo=demo, otel=otel
    ).to_environment()  # fmt: skip
    if workers > 1:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="headgate-metrics-")
    connections.allow_many()
    uvicorn.run(
        "headgate.service.web.app:create_app",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_level=log_level,
        log_config=logs.configuration(log_format, log_level),
        **connections.OPTIONS,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )


def _free(host: str, port: int) -> int:
    """Return the port if it can be listened on; for 0, one that can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as listener:
            return int(listener.getsockname()[1])
    except (OSError, OverflowError) as cause:
        raise InputError(f"cannot listen on {host} port {port}: {cause}") from cause
