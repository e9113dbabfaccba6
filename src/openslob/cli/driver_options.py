"""--drivers and the options of its TLS, for commands that can give their sessions to other drivers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from openslob.core.errors import UsageError
from openslob.fleet import local_count

_PANEL = "Drivers"


def _check_drivers(text: str) -> str:
    """Return the text that names drivers. BadParameter for any other, before a server is asked anything."""
    try:
        local_count(text)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error
    return text


DRIVERS = Annotated[
    str | None,
    typer.Option(
        envvar="SLOB_DRIVERS", show_envvar=False, parser=_check_drivers, metavar="local:N|URL", rich_help_panel=_PANEL,
        help="Deal the sessions over N processes here, or over the drivers of a Dask scheduler (tcp:// or tls://).",
    ),
]  # fmt: skip
TLS_CA = Annotated[
    Path | None,
    typer.Option("--tls-ca-file", metavar="FILE", rich_help_panel=_PANEL, help="Certificates to trust, for tls://."),
]
TLS_CERT = Annotated[
    Path | None,
    typer.Option("--tls-cert", metavar="FILE", rich_help_panel=_PANEL, help="Own certificate, for tls://."),
]
TLS_KEY = Annotated[
    Path | None,
    typer.Option("--tls-key", metavar="FILE", rich_help_panel=_PANEL, help="Its key, for tls://."),
]
