"""What the server is and how it is set: asked by the statements of facts.sql, each at most once.

What this user may not see, or what the version lacks, stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import oracledb

from openslob.core.errors import SlobError
from openslob.core.units import MIB, format_bytes
from openslob.engines.facts import ServerFacts
from openslob.engines.oracle.connection import Connection, Row, query, statement
from openslob.engines.oracle.errors import find_codes
from openslob.engines.oracle.names import identifier
from openslob.engines.oracle.target import ConnectParams

# SYS_CONTEXT('USERENV', 'CON_ID') of the root container.
ROOT = 1
_SYSDBA = "as SYSDBA"
# May not be seen or is not there (Oracle does not say which), no such column, a right that is missing, no such
# parameter of USERENV, the right to read an object that the user knows of.
_ABSENT = ("ORA-00942", "ORA-00904", "ORA-01031", "ORA-02003", "ORA-41900")
DIRECT_IO_REMEDY = "ALTER SYSTEM SET filesystemio_options = SETALL SCOPE = SPFILE and restart the instance"
# Files whose names begin so are in ASM, which has no page cache above it.
ASM = "+"
_DIRECT = ("DIRECTIO", "SETALL")
# What a server that is none says in the place of its product.
_STAND_IN = "no database"
# Product and edition, such as `Oracle Database 19c Enterprise Edition`.
_PRODUCT = re.compile(r"(Oracle (?:AI )?Database)\s+(.*)")
# Connections that the server gives to whom it likes, by V$SESSION.SERVER.
_POOLERS = {"SHARED": "shared servers", "POOLED": "a connection pool of the server (DRCP)"}
# Facts of V$DATABASE that change what is measured.
_DATABASE = (
    "platform_name",
    "database_role",
    "open_mode",
    "log_mode",
    "force_logging",
    "flashback_on",
    "protection_mode",
    "supplemental_log_data_min",
)


class Survey:
    """The answers to the statements of facts.sql; each is asked for at most once."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._answers: dict[tuple[object, ...], Sequence[Row] | None] = {}

    def rows(self, name: str, **values: object) -> Sequence[Row] | None:
        """Return the rows of a source; None when the server does not give it to this user."""
        question = (name, *sorted(values.items()))
        if question not in self._answers:
            self._answers[question] = self._ask(statement("facts", name), values)
        return self._answers[question]

    def row(self, name: str, **values: object) -> Row:
        """Return the first row of a source by column name; empty when there is none."""
        return next(iter(self.rows(name, **values) or ()), {})

    def is_given(self, name: str, **values: object) -> bool:
        """Return whether the server gives a source to this user."""
        return self.rows(name, **values) is not None

    def may_read(self, view: str) -> bool:
        """Return whether this user may read one of SYS's views."""
        return self._ask(statement("facts", "may_read", view=view), {}) is not None

    @property
    def container_number(self) -> int:
        """The container's number: 1 for the root, more for a pluggable database, 0 where there are no containers."""
        return int(self.row("container").get("con_id") or 0)

    @property
    def is_pluggable(self) -> bool:
        """Whether this is a pluggable database, whose views show nothing of background processes."""
        return self.container_number > ROOT

    @property
    def user(self) -> str:
        """The user's name as an identifier."""
        return identifier(str(self.row("identity")["user_name"]))

    @property
    def sysdba(self) -> str:
        """Who may grant rights on SYS's views, and where."""
        name = self.row("container").get("con_name")
        return f"{_SYSDBA}, after ALTER SESSION SET CONTAINER = {name}" if self.is_pluggable and name else _SYSDBA

    @property
    def sysdba_of_root(self) -> str:
        """Who may change the instance itself, and where."""
        return _SYSDBA if self.sysdba == _SYSDBA else f"{_SYSDBA} in the root container"

    def has_right(self, privilege: str) -> bool:
        """Return whether this user has a system privilege, itself or by a role."""
        return any(row["privilege"] == privilege for row in self.rows("rights") or ())

    def find_setting(self, name: str) -> str:
        """Return a parameter's value in upper case; empty when it is not known."""
        found = {str(row["name"]): str(row["display_value"]) for row in self.rows("parameters") or ()}
        return found.get(name, "").upper()

    def find_limit(self, resource: str) -> int | None:
        """Return a limit of this user's profile that is enforced; None without one."""
        if self.find_setting("resource_limit") == "FALSE":
            return None
        values = {str(row["resource_name"]): str(row["limit"]) for row in self.rows("profile") or ()}
        return int(values[resource]) if values.get(resource, "").isdigit() else None

    def _ask(self, text: str, values: dict[str, object]) -> Sequence[Row] | None:
        try:
            return query(self.connection, text, values)
        except oracledb.Error as error:
            if any(code in _ABSENT for code in find_codes(error)[:1]):
                return None
            raise


def read_facts(connection: Connection, params: ConnectParams) -> ServerFacts:
    """Return version, sizes, settings and free connections; what this user may not see is unknown."""
    survey = Survey(connection)
    identity = survey.row("identity")
    settings = dict(_list_settings(survey))
    named = params.tablespace or identity.get("default_tablespace")
    tablespace = survey.row("tablespace", tablespace_name=named)
    place = str(tablespace.get("tablespace_name") or named)
    block_size = int(tablespace.get("block_size") or settings.get("db_block_size") or 0)
    if not block_size:
        raise no_tablespace(str(identity["user_name"]), place)
    product, edition = _find_product(survey)
    return ServerFacts(
        product=product,
        version=".".join(map(str, connection.version)),
        block_size=block_size,
        cache_bytes=sum_cache(survey, block_size),
        free_connections=_count_free_connections(survey),
        settings={**({"edition": edition} if edition else {}), **settings},
        direct_io=_find_direct_io(survey, settings, place),
        connection=dict(_describe_connection(survey, connection)),
        read_only=is_read_only(survey),
        cluster_id=_compose_cluster_id(survey),
        tablespace=place,
        direct_io_remedy=DIRECT_IO_REMEDY,
        instance=str(identity.get("instance_name") or ""),
        stand_in=_STAND_IN in product.lower(),
        started_at=str(survey.row("instance").get("startup_time") or "").replace(" ", "T"),
    )


def no_tablespace(user: str, tablespace: str) -> SlobError:
    """Return the error of a tablespace that a user may not use; Oracle does not say whether it exists."""
    why = f"user {user} may not use tablespace {tablespace}: there is none of this name, or no quota in it"
    return SlobError(
        why, f"as an administrator: ALTER USER {identifier(user)} QUOTA UNLIMITED ON {identifier(tablespace)};"
    )


def _find_product(survey: Survey) -> tuple[str, str]:
    """Return the names of product and edition."""
    names = [str(row["product"]).strip() for row in survey.rows("version") or ()]
    name = next((name for name in names if "database" in name.lower()), "Oracle Database")
    known = _PRODUCT.match(name)
    return (known[1], known[2]) if known else (name, "")


def _list_settings(survey: Survey) -> Iterator[tuple[str, str]]:
    """Yield every parameter that matters, and facts of database and instance, by name."""
    for row in survey.rows("parameters") or ():
        yield str(row["name"]), str(row["display_value"] if row["display_value"] is not None else "")
    database, instance = survey.row("database"), survey.row("instance")
    for name in _DATABASE:
        if database.get(name) is not None:
            yield name, str(database[name])
    if instance.get("parallel") is not None:
        yield "cluster", str(instance["parallel"])
    if container := survey.row("container").get("con_name"):
        yield "container", str(container)
    if logs := survey.rows("logs"):
        yield "redo_logs", ", ".join(f"{row['members']} x {format_bytes(int(row['bytes']))}" for row in logs)


def sum_cache(survey: Survey, block_size: int) -> int | None:
    """Return the size of the cache of blocks of this size, which need not be the database's usual one."""
    pools = survey.rows("caches")
    if pools is None:
        return None
    return sum(int(row["mb"]) * MIB for row in pools if row["name"] == "DEFAULT" and row["block_size"] == block_size)


def _count_free_connections(survey: Survey) -> int | None:
    """Return how many processes and sessions are left, of the server and of this user's profile."""
    limits = survey.rows("limits")
    if limits is None:
        return None
    free = [
        int(row["limit_value"]) - int(row["current_utilization"]) for row in limits if str(row["limit_value"]).isdigit()
    ]
    mine, used = survey.find_limit("SESSIONS_PER_USER"), survey.row("own_sessions").get("sessions")
    if mine is not None:
        free.append(mine - int(used or 1))
    # This query itself holds a connection that will be free again.
    return min(free) + 1 if free else None


def _find_direct_io(survey: Survey, settings: Mapping[str, str], tablespace: str) -> bool | None:
    files = list_files(survey, tablespace)
    if files and all(name.startswith(ASM) for name in files):
        return True
    options = settings.get("filesystemio_options")
    if options is None:
        return None
    if options.upper() in _DIRECT:
        return True
    return None if files is None else False


def list_files(survey: Survey, tablespace: str) -> Sequence[str] | None:
    """Return the names of the tablespace's files; None when this user may not see them."""
    rows = survey.rows("files", tablespace_name=tablespace)
    return None if rows is None else [str(row["file_name"]) for row in rows]


def _describe_connection(survey: Survey, connection: Connection) -> Iterator[tuple[str, str]]:
    protocol = str(survey.row("identity").get("protocol") or "").upper()
    mode = "thin" if connection.raw.thin else "thick"
    yield "transport", {"TCP": "TCP, not encrypted by TLS", "TCPS": "TLS"}.get(protocol, protocol or "local")
    yield "driver", f"python-oracledb, {mode} mode"
    if pooler := _POOLERS.get(str(survey.row("session").get("server"))):
        yield "pooler", pooler


def is_read_only(survey: Survey) -> bool:
    """Return whether the database takes no writes: a standby, or one opened to be read."""
    mode = survey.row("database").get("open_mode")
    if mode is not None:
        return str(mode) != "READ WRITE"
    return str(survey.row("role").get("database_role") or "PRIMARY").startswith("PHYSICAL")


def _compose_cluster_id(survey: Survey) -> str:
    """Return what the instances of one cluster have in common and other databases, even of the same name, have not."""
    identity, container = survey.row("identity"), survey.row("container")
    parts = (identity["db_unique_name"], container.get("con_name"), identity["user_id"], identity["created"])
    return "/".join(str(part) for part in parts if part is not None)
