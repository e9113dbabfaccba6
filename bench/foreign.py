"""Load of somebody else on a server: one session in another database, in a closed loop that runs inside the server.

Each engine has a class of its own; `foreign_on` finds it. The benchmark `beside.py` uses them.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

import psycopg
import pymysql
from psycopg import conninfo

from openslob.core.errors import SlobError
from openslob.engines.mysql.connection import parse

# A statement of the loop takes so long. Counters of a session move when its statement ends.
STATEMENT_S = 0.2
ROWS = 8000


class Kind(StrEnum):
    """What the session does: read rows that are mostly not cached, read few rows that are, or update and commit."""

    READER = "reader"
    CACHED = "cached reader"
    WRITER = "writer"


class Foreign(ABC):
    """Somebody else on one server."""

    def __init__(self, url: str) -> None:
        self.url = url

    @abstractmethod
    def prepare(self) -> None:
        """Create the other database and its table."""

    @abstractmethod
    def connect(self) -> Any:  # noqa: ANN401
        """Open the session; it has ``execute`` and ``close``."""

    @abstractmethod
    def statement(self, kind: Kind) -> str:
        """Return the statement that loops for `STATEMENT_S`."""

    @abstractmethod
    def io_counters(self, backend_ids: Sequence[int], updates: bool) -> list[Path]:
        """Return the operating system's counters of I/O of these sessions, one file each.

        ``updates``: the sessions update rows, so that what purges them in the background works for them.
        """

    @contextmanager
    def working(self, kind: Kind) -> Iterator[None]:
        """Work in the background for the length of the block."""
        session, stop, failed = self.connect(), threading.Event(), []

        def loop() -> None:
            try:
                while not stop.is_set():
                    session.execute(self.statement(kind))
            except Exception as error:  # reported below, by the thread that waits
                failed.append(error)

        thread = threading.Thread(target=loop)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            session.close()
        if failed:
            raise SlobError(f"the other load ended early: {failed[0]}")


class ForeignOnPostgres(Foreign):
    """Somebody else on a PostgreSQL server."""

    def prepare(self) -> None:
        """Create the other database and its table of one row a block."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE other")
        with self.connect() as session:
            session.execute("CREATE TABLE items (id int PRIMARY KEY, filler text) WITH (fillfactor = 10)")
            session.execute(f"INSERT INTO items SELECT n, repeat('x', 700) FROM generate_series(1, {ROWS}) AS n")
            session.execute("VACUUM ANALYZE items")

    def connect(self) -> psycopg.Connection[Any]:
        """Open the session."""
        other = conninfo.make_conninfo(self.url, dbname="other", application_name="reports")
        return psycopg.connect(other, autocommit=True)

    def statement(self, kind: Kind) -> str:
        """Return an anonymous block."""
        reach = ROWS // 40 if kind is Kind.CACHED else ROWS
        # Without the sub-select the condition would be evaluated for every row of the table.
        row = f"id = (SELECT 1 + floor(random() * {reach})::int);"
        read, update = "PERFORM filler FROM items", "UPDATE items SET filler = repeat('y', 700)"
        body = f"{update} WHERE {row} COMMIT;" if kind is Kind.WRITER else f"{read} WHERE {row}"
        return f"""DO $$ DECLARE until timestamptz := clock_timestamp() + interval '{STATEMENT_S} s';
            BEGIN WHILE clock_timestamp() < until LOOP {body} END LOOP; END $$"""

    def io_counters(self, backend_ids: Sequence[int], updates: bool) -> list[Path]:  # noqa: ARG002
        """Return those of the processes."""
        return [Path(f"/proc/{pid}/io") for pid in backend_ids]


class MariaDbSession:
    """A connection with the interface that `Foreign.working` needs."""

    def __init__(self, url: str, database: str | None) -> None:
        self._connection = pymysql.connect(**parse(url).arguments, database=database, autocommit=True)

    def execute(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Execute a statement; return its rows."""
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class ForeignOnMariaDb(Foreign):
    """Somebody else on a MariaDB server."""

    def prepare(self) -> None:
        """Create the other database, its table of one row a block, and a procedure for each kind of work."""
        session = MariaDbSession(self.url, None)
        session.execute("CREATE DATABASE other")
        session.execute("CREATE TABLE other.items (id int PRIMARY KEY, filler char(255), more varbinary(7500))")
        session.execute(f"INSERT INTO other.items SELECT seq, 'x', REPEAT('x', 7500) FROM other.seq_1_to_{ROWS}")
        for kind in Kind:
            session.execute(self._procedure(kind))
        session.close()

    def _procedure(self, kind: Kind) -> str:
        reach = ROWS // 40 if kind is Kind.CACHED else ROWS
        read, update = "SELECT COUNT(filler) INTO found FROM items", "UPDATE items SET filler = RAND()"
        body = f"{update if kind is Kind.WRITER else read} WHERE id = row_id;"
        return f"""CREATE PROCEDURE other.`{kind}`() BEGIN
            DECLARE row_id, found INT; DECLARE ends DATETIME(6) DEFAULT SYSDATE(6) + INTERVAL {STATEMENT_S} SECOND;
            WHILE SYSDATE(6) < ends DO SET row_id = 1 + FLOOR(RAND() * {reach}); {body} END WHILE; END"""

    def connect(self) -> MariaDbSession:
        """Open the session."""
        return MariaDbSession(self.url, "other")

    def statement(self, kind: Kind) -> str:
        """Return the call of a procedure."""
        return f"CALL `{kind}`()"

    def io_counters(self, backend_ids: Sequence[int], updates: bool) -> list[Path]:
        """Return those of the threads; those that purge are threads of their own."""
        numbers, background = ", ".join(map(str, backend_ids)), "thread/innodb/%" if updates else ""
        session = MariaDbSession(self.url, None)
        rows = session.execute(
            "SELECT thread_os_id FROM performance_schema.threads "
            f"WHERE processlist_id IN ({numbers}) OR name LIKE '{background}'"
        )
        session.close()
        return [Path(f"/proc/{thread}/task/{thread}/io") for (thread,) in rows]


_FOREIGN: dict[str, type[Foreign]] = {"postgresql": ForeignOnPostgres, "mysql": ForeignOnMariaDb}


def foreign_on(engine: str, url: str) -> Foreign:
    """Return somebody else on a server of this engine."""
    return _FOREIGN[engine](url)
