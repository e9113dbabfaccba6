"""A target URL as the parameters of a connection: address, user, database and encryption."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from openslob.engines.mysql.names import DEFAULT_DATABASE
from openslob.errors import UsageError
from openslob.secrets import redact_url

DEFAULT_PORT = 3306
# The variable and the file that the server's own clients read.
PASSWORD_VARIABLE = "MYSQL_PWD"
_OPTION_FILE = Path("~/.my.cnf")
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def _truth(text: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        raise ValueError(text)
    return text.lower() in _YES


_PARAMETERS: Mapping[str, Callable[[str], object]] = {
    "unix_socket": str,
    "ssl_ca": str,
    "ssl_cert": str,
    "ssl_key": str,
    "ssl_disabled": _truth,
    "ssl_verify_cert": _truth,
    "ssl_verify_identity": _truth,
    "connect_timeout": int,
}


@dataclass(frozen=True)
class ConnectionParams:
    """Parameters of a connection.

    ``arguments`` are those of PyMySQL, with the password, so they are never shown; ``shown`` is the target's name for
    messages and records.
    """

    shown: str
    database: str
    arguments: Mapping[str, Any] = field(repr=False)


def parse(url: str) -> ConnectionParams:
    """Return the parameters in a ``mysql://`` or ``mariadb://`` URL. UsageError for a part that is not known."""
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError as error:
        raise UsageError(
            f"{redact_url(url)} is not a URL ({error})", "write mariadb://USER@HOST:PORT/DATABASE"
        ) from None
    given = dict(_parameter(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True))
    host, socket = parts.hostname or "localhost", given.get("unix_socket")
    password = unquote(parts.password) if parts.password is not None else os.environ.get(PASSWORD_VARIABLE)
    arguments = {"host": host, "port": port, "user": unquote(parts.username or ""), "password": password, **given}
    if _OPTION_FILE.expanduser().is_file():
        arguments["read_default_file"] = str(_OPTION_FILE.expanduser())
    database = unquote(parts.path.lstrip("/")) or DEFAULT_DATABASE
    shown = f"{socket or f'{host}:{port}'}/{database}"
    return ConnectionParams(shown, database, {k: v for k, v in arguments.items() if v})


def _parameter(name: str, text: str) -> tuple[str, object]:
    if name not in _PARAMETERS:
        raise UsageError(f"the target's parameter {name!r} is not known", f"known are {', '.join(_PARAMETERS)}")
    try:
        return name, _PARAMETERS[name](text)
    except ValueError:
        raise UsageError(
            f"the target's parameter {name}={text} can't be understood", "give yes or no, or a number"
        ) from None
