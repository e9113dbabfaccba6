"""What the faults need to do inside a server, once for each engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import psycopg
import pymysql

from factories.running import eventually
from faults.fault import MARIADB, POSTGRESQL
from openslob.engines.managed.base import ManagedServer
from openslob.engines.mysql.connection import parse
from openslob.engines.mysql.names import MysqlNames

USER = "ordinary"
SECRET = "not-a-secret"
_LIMITS = (
    "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout",
    "transaction_timeout",
)  # fmt: skip
Rows = Sequence[Sequence[Any]]


class Database(ABC):
    """A managed server as its administrator sees it."""

    # Statements that refuse all further writes, and that allow them again.
    read_only: tuple[str, str]
    # Limits of an administrator who wants no long statements and no idle sessions, and how they are taken back.
    limits: Mapping[str, str]

    def __init__(self, server: ManagedServer) -> None:
        self.server = server

    @property
    def url(self) -> str:
        """Its URL, started if it is down."""
        return self.server.start().url

    @abstractmethod
    def ask(self, statement: str, database: str = "slob") -> Rows:
        """Run a statement as the superuser."""

    @abstractmethod
    def sessions(self, purpose: str) -> list[int]:
        """The numbers of slob's connections whose purpose is LIKE this."""

    @abstractmethod
    def filling(self) -> list[int]:
        """The numbers of the connections that fill tables now."""

    @abstractmethod
    def end(self, number: int) -> None:
        """End a connection."""

    @abstractmethod
    def end_lock(self) -> None:
        """End the connections that hold the lock of a run."""

    @abstractmethod
    def locked(self, table: str = "cf1_1") -> Any:
        """Context in which somebody holds a lock on a table that nothing passes."""

    @abstractmethod
    def of_user(self, *rights: str) -> Any:
        """Context with the URL of an ordinary user with these rights alone."""

    @abstractmethod
    def elsewhere(self, database: str) -> str:
        """The URL of another database of the server."""

    @abstractmethod
    def through(self, folder: str) -> tuple[str, str]:
        """Return the name of a socket in a folder, and the URL that leads through it."""

    @property
    @abstractmethod
    def socket(self) -> str:
        """The path of the server's socket."""

    def end_all(self, purpose: str) -> None:
        """End all of slob's connections whose purpose is LIKE this; there must be one."""
        assert eventually(lambda: bool(self.sessions(purpose)))
        for number in self.sessions(purpose):
            self.end(number)

    @contextmanager
    def limited(self) -> Iterator[None]:
        """The administrator's limits hold for new connections."""
        for name, value in self.limits.items():
            self.limit(name, value)
        try:
            yield
        finally:
            for name in self.limits:
                self.limit(name, None)

    @abstractmethod
    def limit(self, name: str, value: str | None) -> None:
        """Set one limit, or put it back."""

    @abstractmethod
    def stranger(self) -> Any:
        """An open connection of somebody else's, to be closed."""

    @contextmanager
    def crowd(self) -> Iterator[None]:
        """Others have all connections that were free."""
        with ExitStack() as opened:
            for _ in range(200):
                try:
                    opened.enter_context(closing(self.stranger()))
                except (psycopg.Error, pymysql.Error):
                    break
            yield

    @abstractmethod
    def writer(self) -> Any:
        """Context with the URL of a user who may load and run, but is not the superuser."""

    @contextmanager
    def refusing_writes(self) -> Iterator[None]:
        """The server is read-only."""
        refuse, allow = self.read_only
        self.ask(refuse)
        try:
            yield
        finally:
            self.ask(allow)


class Postgresql(Database):
    """By psycopg."""

    read_only = ("ALTER ROLE slob SET default_transaction_read_only = on", "ALTER ROLE slob RESET ALL")
    limits = MappingProxyType(dict.fromkeys(_LIMITS, "'5s'"))

    def ask(self, statement: str, database: str = "slob") -> Rows:
        writing = "-c default_transaction_read_only=off"
        with psycopg.connect(self.elsewhere(database), autocommit=True, options=writing) as to:
            cursor = to.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def sessions(self, purpose: str) -> list[int]:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'slob/{}'"
        return [pid for (pid,) in self.ask(query.format(purpose))]

    def filling(self) -> list[int]:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'slob/load' AND query LIKE 'COPY%'"
        return [pid for (pid,) in self.ask(query)]

    def end(self, number: int) -> None:
        self.ask(f"SELECT pg_terminate_backend({number})")

    def end_lock(self) -> None:
        self.end_all("run by %")

    @contextmanager
    def locked(self, table: str = "cf1_1") -> Iterator[None]:
        with psycopg.connect(self.url, application_name="bob") as holder:
            holder.execute(f"LOCK TABLE slob.{table} IN ACCESS EXCLUSIVE MODE")
            yield
            holder.rollback()

    @contextmanager
    def of_user(self, *rights: str) -> Iterator[str]:
        self.ask(f"CREATE ROLE {USER}")
        for right in rights:
            self.ask(f"GRANT {right} TO {USER}")
        try:
            yield f"{self.url}&options=-c%20role%3D{USER}"
        finally:
            self.ask(f"DROP OWNED BY {USER} CASCADE")
            self.ask(f"DROP ROLE {USER}")

    def elsewhere(self, database: str) -> str:
        return self.url.replace("///slob?", f"///{quote(database)}?")

    @property
    def socket(self) -> str:
        return f"{self.url.split('host=')[1].split('&')[0]}/.s.PGSQL.5432"

    def through(self, folder: str) -> tuple[str, str]:
        return ".s.PGSQL.5432", f"postgresql:///slob?host={folder}&port=5432&user=slob"

    def stranger(self) -> Any:
        return psycopg.connect(self.url, application_name="bob")

    @contextmanager
    def writer(self) -> Iterator[str]:
        yield self.url

    def limit(self, name: str, value: str | None) -> None:
        self.ask(f"ALTER ROLE slob {'RESET' if value is None else 'SET'} {name}{f' = {value}' if value else ''}")


class MariaDb(Database):
    """By PyMySQL."""

    read_only = ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0")
    limits = MappingProxyType(dict.fromkeys(("wait_timeout", "max_statement_time", "idle_transaction_timeout"), "5"))

    def ask(self, statement: str, database: str = "slob") -> Rows:
        with pymysql.connect(**parse(self.elsewhere(database)).arguments, autocommit=True) as to:
            cursor = to.cursor()
            cursor.execute(statement)
            return cursor.fetchall()

    def sessions(self, purpose: str) -> list[int]:
        query = (
            "SELECT r.connection FROM slob.roster r JOIN information_schema.processlist p ON p.id = r.connection "
            f"WHERE r.purpose LIKE '{purpose}'"
        )
        return [number for (number,) in self.ask(query)]

    def filling(self) -> list[int]:
        query = "SELECT id FROM information_schema.processlist WHERE info LIKE 'INSERT%' OR info LIKE 'LOAD DATA%'"
        return [number for (number,) in self.ask(query, "mysql")]

    def end(self, number: int) -> None:
        with suppress(pymysql.Error):  # it has ended meanwhile
            self.ask(f"KILL CONNECTION {number}", "mysql")

    def end_lock(self) -> None:
        ((holder,),) = self.ask(f"SELECT IS_USED_LOCK('{MysqlNames().lock('use')}')")
        self.end(holder)

    @contextmanager
    def locked(self, table: str = "cf1_1") -> Iterator[None]:
        with pymysql.connect(**parse(self.url).arguments) as holder:
            holder.cursor().execute(f"LOCK TABLES slob.{table} WRITE")
            yield

    @contextmanager
    def of_user(self, *rights: str) -> Iterator[str]:
        self.ask(f"CREATE USER {USER}@localhost IDENTIFIED BY '{SECRET}'")
        for right in rights:
            self.ask(f"GRANT {right} TO {USER}@localhost")
        try:
            yield self.url.replace("root@", f"{USER}:{SECRET}@")
        finally:
            self.ask(f"DROP USER {USER}@localhost")

    def elsewhere(self, database: str) -> str:
        return self.url.replace("/slob?", f"/{quote(database)}?")

    @property
    def socket(self) -> str:
        return self.url.split("unix_socket=")[1]

    def through(self, folder: str) -> tuple[str, str]:
        return "s", f"mariadb://root@localhost/slob?unix_socket={folder}/s"

    def stranger(self) -> Any:
        return pymysql.connect(**parse(self.url).arguments)

    @contextmanager
    def writer(self) -> Iterator[str]:
        with self.of_user("ALL ON slob.*") as url:
            yield url

    def limit(self, name: str, value: str | None) -> None:
        self.ask(f"SET GLOBAL {name} = {value or 'DEFAULT'}")


DATABASES: Mapping[str, type[Database]] = {POSTGRESQL: Postgresql, MARIADB: MariaDb}
