"""What servers of each flavour answer, as documented, over stand-ins of the drivers' connections that say so.

A stand-in has no more than what it is asked for by name: a sign that the probe does not ask for is not seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import psycopg
import pymysql

LINUX = "on x86_64-pc-linux-gnu, compiled by gcc (GCC) 11.4.0, 64-bit"
# What the probe asks of every PostgreSQL.
WHOLE = (
    *("language plpgsql", "access method heap", "function pg_try_advisory_lock", "function pg_relation_size"),
    *("function pg_try_advisory_lock_shared", "function pg_stat_get_blocks_fetched", "function pg_blocking_pids"),
    *("function pg_control_system", "function pg_current_wal_flush_lsn", "function pg_export_snapshot"),
    "function pg_stat_get_wal_senders",
)
MARIADB_OWN, MYSQL_OWN = {"aria_block_size": "8192"}, {"persisted_globals_load": "ON"}


class PostgresStandIn:
    """A connection of psycopg to a server of this version text, with these signs; it says that it is a stand-in.

    ``shown`` is what version() answers in the search_path of the role, ``parameters`` what is sent on connecting.
    Without ``catalogs`` it refuses all but SELECT version().
    """

    says = "stand-in: no server"
    closed = False

    def __init__(
        self,
        text: str,
        signs: Mapping[str, str] | None = None,
        *,
        number: str = "",
        shown: str = "",
        parameters: Mapping[str, str] | None = None,
        catalogs: bool = True,
        lacks: tuple[str, ...] = (),
    ) -> None:
        self._text, self._shown, self._catalogs = text, shown or text, catalogs
        self._signs = {sign: "" for sign in WHOLE if sign not in lacks} | dict(signs or {})
        words = [word.strip(",") for word in text.split() if word[:1].isdigit()]
        sent = {"server_version": number or words[0].partition("-")[0] if words else "13.0.0", **(parameters or {})}
        self.info = SimpleNamespace(parameter_status=sent.get, server_version=160000, backend_pid=1)
        self.asked: list[str] = []

    def execute(self, statement: Any, _values: object = None) -> Any:
        text = statement if isinstance(statement, str) else statement.as_string()
        self.asked.append(text)
        if text.strip() == "SELECT version() AS version":
            return _rows([(self._text,)])
        if "aurora_version" in text and "pg_proc" not in text:
            return _rows([("16.4.2",)])
        if not self._catalogs:
            raise psycopg.errors.UndefinedTable('relation "pg_catalog.pg_am" does not exist')
        found = [("text", "version", self._text), ("text", "shown", self._shown)]
        for sign, value in self._signs.items():
            kind, _, name = sign.rpartition(" ")
            found += [(kind, name, value)] if f"'{name}'" in text else []
        return _rows(found)

    def close(self) -> None:
        """Do nothing: nothing is open."""


class MysqlStandIn:
    """A connection of PyMySQL to a server with these variables; without ``shows`` it refuses SHOW ... WHERE."""

    says = "stand-in: no server"

    def __init__(
        self,
        version: str,
        comment: str,
        variables: Mapping[str, str] | None = None,
        *,
        shows: bool = True,
        lacks: str = "",
    ) -> None:
        own = {"innodb_page_size": "16384", "basedir": "/usr/"}
        self._variables = {"version": version, "version_comment": comment, **own, **(variables or {})}
        self._variables.pop(lacks, None)
        self._shows = shows
        self.asked: list[str] = []

    def cursor(self) -> Any:
        return _Cursor(self)

    def answer(self, text: str) -> list[dict[str, str]]:
        self.asked.append(text)
        if text.startswith("SELECT VERSION()"):
            return [{"version": self._variables["version"], "comment": self._variables["version_comment"]}]
        if not self._shows:
            raise pymysql.ProgrammingError(1064, "You have an error in your SQL syntax")
        shown = {name: value for name, value in self._variables.items() if f"'{name}'" in text}
        return [{"Variable_name": name, "Value": value} for name, value in shown.items()]


class _Cursor:
    def __init__(self, connection: MysqlStandIn) -> None:
        self._connection, self._found = connection, list[dict[str, str]]()

    def __enter__(self) -> _Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: nothing is open."""

    def execute(self, text: str, _values: object = None) -> None:
        self._found = self._connection.answer(text)

    def fetchall(self) -> list[dict[str, str]]:
        return self._found


def _rows(rows: list[tuple[str, ...]]) -> Any:
    return SimpleNamespace(fetchall=lambda: rows)
