"""The target URL: which server, how it is reached, as whom, and where the test tables go."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from openslob.core.errors import UsageError
from openslob.core.secrets import redact_url, require_target

APPLICATION = "slob"
DEFAULT_PORT = 1521
PASSWORD_VARIABLE = "ORACLE_PASSWORD"
WALLET_PASSWORD_VARIABLE = "ORACLE_WALLET_PASSWORD"
_TLS_SCHEME = "oracles"
_FORM = "write oracle://USER@HOST:PORT/SERVICE, or oracle://USER@/NAME for a name of tnsnames.ora"
# A server that is stopped (SIGSTOP) does not answer, while its kernel still accepts connections.
CONNECT_TIMEOUT_S = 10.0
# Minutes until the network is asked whether a silent server is still there.
_PROBE_MINUTES = 1
# Statements that a connection keeps open. A server's own default of OPEN_CURSORS is 50, those of PL/SQL among them.
_CURSORS = 20
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class ConnectParams:
    """Parameters of a connection.

    ``arguments`` are those of `oracledb.connect`, with the password, so they are never shown; ``shown`` is the target's
    name for messages and records. ``tablespace`` is where the test tables go, None for the user's own default.
    ``thick`` asks for Oracle's client libraries, which are in ``lib_dir`` if that is not None.
    """

    shown: str
    arguments: Mapping[str, Any] = field(repr=False)
    tablespace: str | None = None
    thick: bool = False
    lib_dir: str | None = None


def _parse_truth(text: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        raise ValueError(text)
    return text.lower() in _YES


def _parse_positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise ValueError(text)
    return value


def _parse_protocol(text: str) -> str:
    if text.lower() not in ("tcp", "tcps"):
        raise ValueError(text)
    return text.lower()


def _parse_identifier(text: str) -> str:
    """Return a name as the dictionary has it: in upper case unless it is in double quotes."""
    quoted = len(text) > 2 and text[0] == text[-1] == '"'
    return text[1:-1] if quoted else text.upper()


# Parameter in the URL -> what reads it, and what it must be.
_PARAMETERS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "sid": (str, "a name"),
    "instance_name": (str, "a name"),
    "tablespace": (_parse_identifier, "a name"),
    "protocol": (_parse_protocol, "tcp or tcps"),
    "wallet": (str, "a directory"),
    "wallet_password": (str, "a text"),
    "config_dir": (str, "a directory"),
    "ssl_server_dn_match": (_parse_truth, "yes or no"),
    "ssl_server_cert_dn": (str, "a name"),
    "sdu": (int, "a number of bytes"),
    "connect_timeout": (_parse_positive, "a number of seconds"),
    "thick": (_parse_truth, "yes or no"),
    "lib_dir": (str, "a directory"),
}
# Parameters in the URL that `oracledb.connect` knows by another name, and those that it does not get.
_RENAMED = {"wallet": "wallet_location", "connect_timeout": "tcp_connect_timeout"}
_OURS = ("tablespace", "thick", "lib_dir")
_OF_ENTRY = ("sid", "instance_name", "protocol", "sdu", "ssl_server_cert_dn", "ssl_server_dn_match")
_OF_TLS = ("wallet", "ssl_server_cert_dn", "ssl_server_dn_match")
_ADMINISTRATOR = "no administrator is needed: connect as the user who is to own the test tables"
_SHARED = "every session of the test needs a server process of its own: name a service without a pool"
# Parameters of other tools that have no meaning here, with the reason.
_REFUSED: Mapping[str, str] = {
    "mode": _ADMINISTRATOR,
    "role": _ADMINISTRATOR,
    "server": "sessions always ask for a dedicated server: leave it out",
    "server_type": "sessions always ask for a dedicated server: leave it out",
    "password": f"write it after the user's name, or use --ask-password or {PASSWORD_VARIABLE}",
}


def parse(url: str) -> ConnectParams:
    """Return the parameters in an ``oracle://`` or ``oracles://`` URL. UsageError for a part that is not known."""
    require_target(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{redact_url(url)} is not a URL ({error})", _FORM) from None
    given = dict(_parse_parameter(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme.lower() == _TLS_SCHEME:
        _ask_for_tls(parts, given)
    _require_consistent(parts, given)
    place, shown = _find_server(parts, port, given)
    arguments = {
        **_find_user(parts, given),
        **place,
        "tcp_connect_timeout": CONNECT_TIMEOUT_S,
        "expire_time": _PROBE_MINUTES,
        "stmtcachesize": _CURSORS,
        "program": APPLICATION,
        **{_RENAMED.get(name, name): value for name, value in given.items() if name not in _OURS},
    }
    # The test tables are in the user's schema.
    owner = f"{arguments['user']}@" if "user" in arguments else ""
    tablespace = str(given["tablespace"]) if "tablespace" in given else None
    return ConnectParams(
        owner + shown + (f"?tablespace={tablespace}" if tablespace else ""),
        arguments,
        tablespace,
        bool(given.get("thick")),
        str(given["lib_dir"]) if "lib_dir" in given else None,
    )


def _parse_parameter(name: str, text: str) -> tuple[str, object]:
    if name in _REFUSED:
        raise UsageError(f"a target can't have the parameter {name!r}", _REFUSED[name])
    if name not in _PARAMETERS:
        raise UsageError(
            f"the target's parameter {name!r} is not known", f"the parameters are {', '.join(_PARAMETERS)}"
        )
    read, what = _PARAMETERS[name]
    try:
        if not text:
            raise ValueError("it is empty")
        return name, read(text)
    except ValueError:
        raise UsageError(f"the target's parameter {name} can't be understood", f"give {what}") from None


def _ask_for_tls(parts: SplitResult, given: dict[str, object]) -> None:
    if given.setdefault("protocol", "tcps") != "tcps":
        raise UsageError("the target asks for TLS (oracles://) and for protocol=tcp", "leave one of them out")
    if parts.hostname is None:
        why = "the entry of tnsnames.ora that the target names decides whether there is TLS"
        raise UsageError(why, "write oracle:// here, and PROTOCOL=TCPS there")


def _require_consistent(parts: SplitResult, given: Mapping[str, object]) -> None:
    """Raise UsageError for parts of a target that exclude each other, or that need another one."""
    if given.get("lib_dir") and not given.get("thick"):
        raise UsageError(
            "lib_dir names the directory of Oracle's client libraries, and this target does not use them",
            "add thick=yes",
        )
    if given.get("wallet_password") and not given.get("wallet"):
        raise UsageError("the target has a password for a wallet and no wallet", "add wallet=DIRECTORY")
    if parts.hostname is None:
        if entry := next((name for name in _OF_ENTRY if name in given), None):
            why = f"{entry} belongs in the entry of tnsnames.ora that the target names"
            raise UsageError(why, f"write it there, or name HOST:PORT/SERVICE: {_FORM}")
    elif given.get("protocol") != "tcps" and (tls := next((name for name in _OF_TLS if name in given), None)):
        raise UsageError(f"{tls} is for connections with TLS, and this target has none", "write oracles://")


def _find_user(parts: SplitResult, given: Mapping[str, object]) -> dict[str, Any]:
    """Return who connects: user and password, or nobody but the wallet, which only the client libraries can read."""
    if not parts.username:
        if given.get("thick"):
            return {"externalauth": True}
        raise UsageError("the target has no user", _FORM)
    password = unquote(parts.password) if parts.password is not None else os.environ.get(PASSWORD_VARIABLE)
    wallet_password = (
        {} if "wallet_password" in given else {"wallet_password": os.environ.get(WALLET_PASSWORD_VARIABLE)}
    )
    return {"user": unquote(parts.username), "password": password or None, **wallet_password}


def _find_server(parts: SplitResult, port: int | None, given: dict[str, object]) -> tuple[dict[str, Any], str]:
    """Return where the server is, as arguments and as the target's name."""
    host, name = parts.hostname, unquote(parts.path.lstrip("/"))
    if host is None:
        if port or not name:
            raise UsageError("the target has no host", _FORM)
        return {"dsn": name}, name
    if "," in host:
        raise UsageError(
            "the target names several hosts",
            "sessions are spread over instances by naming each with a URL of its own, separated by commas",
        )
    service = _require_dedicated(name)
    if "/" in service and "instance_name" not in given:
        service, _, given["instance_name"] = service.partition("/")
    if bool(service) == ("sid" in given):
        which = "a service and a SID" if service else "neither a service nor a SID"
        raise UsageError(f"the target names {which}", "write HOST:PORT/SERVICE, or HOST:PORT?sid=SID for an old server")
    where = {"host": host, "port": port or DEFAULT_PORT, "server_type": "dedicated"}
    shown_host = f"[{host}]" if ":" in host else host
    shown = f"{shown_host}:{port or DEFAULT_PORT}/{service or given['sid']}"
    if instance := given.get("instance_name"):
        shown += f"/{instance}"
    return where | ({"service_name": service} if service else {}), shown


def _require_dedicated(service: str) -> str:
    """Return a service's name without its kind of server, which must be a dedicated one."""
    name, _, kind = service.partition(":")
    if kind.lower() not in ("", "dedicated", "shared", "pooled"):
        # It is not repeated: in a malformed target this may be a password.
        raise UsageError("the target's service has a colon and no kind of server after it", _FORM)
    if kind and kind.lower() != "dedicated":
        raise UsageError(f"the target asks for a {kind.lower()} server", _SHARED)
    return name
