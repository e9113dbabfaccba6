"""The questions that only a real Oracle can answer, on small tables of their own: `slob check --prove`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import oracledb

from openslob.engines.oracle import proofs_of_loop, proofs_of_reads
from openslob.engines.oracle.connection import Connection, ConnectionParams
from openslob.engines.oracle.proof_bench import Bench
from openslob.engines.oracle.survey import Survey
from openslob.engines.proofs import Proving

_WHERE = "docs/oracle.md says where"
# Values of settings that name nothing: numbers with units, and the words that settings are made of.
_PLAIN = re.compile(
    r"[\d.,]+ ?[KMGTB%]*|TRUE|FALSE|YES|NO|ON|OFF|NONE|AUTO|MANUAL|FORCE|FORCE_WAIT|WAIT|NOWAIT|IMMEDIATE|BATCH|TYPICAL"
    r"|ALL|BASIC|FULL|LOW|MEDIUM|SETALL|DIRECTIO|ASYNCH|EXACT|SIMILAR|ALL_ROWS|FIRST_ROWS\w*|NATIVE|INTERPRETED|READ"
    r"|NOARCHIVELOG|ARCHIVELOG|PRIMARY|PHYSICAL STANDBY|READ WRITE|READ ONLY.*|MAXIMUM \w+|DIAGNOSTIC(?:\+TUNING)?"
    r"|ENABLED|DISABLED|DB|DB_EXTENDED|OS|XML|DEFERRED|ONLY|[\w ]+ Edition|\d+ x [\d.]+ [KMGT]?B(?:, \d+ x .*)?"
    r"|Linux [\w ]+-bit|",
    re.IGNORECASE,
)
# Names in the answers to statements of facts.sql.
_NAMES = {
    "identity": ("user_name", "default_tablespace", "db_unique_name", "instance_name", "service_name"),
    "instance": ("instance_name", "host_name"),
    "database": ("name",),
    "container": ("con_name",),
}


@contextmanager
def proving(connect: Callable[[str], Connection], params: ConnectionParams) -> Iterator[Proving]:
    """Return the questions; when the block ends, everything that they made is dropped.

    ``connect`` opens a connection with a purpose. The target's lock is to be held.
    """
    bench = Bench(connect, params)
    try:
        every = [*proofs_of_loop.questions(bench), *proofs_of_reads.questions(bench)]
        with bench.connection() as connection:
            about, names = _about(connection), _names(connection, params)
        yield Proving(sorted(every, key=lambda each: each.number), about, names, is_plain, _WHERE)
    finally:
        bench.clean()


def is_plain(value: str) -> bool:
    """Return whether a setting's value is a number or a usual word, and not the name of a host, user or file."""
    return bool(_PLAIN.fullmatch(value))


def _about(connection: Connection) -> dict[str, str]:
    mode = "thin" if connection.raw.thin else "thick"
    return {"driver": f"python-oracledb {oracledb.__version__}, {mode} mode"}


def _names(connection: Connection, params: ConnectionParams) -> list[str]:
    survey = Survey(connection)
    found = [str(survey.row(source).get(column) or "") for source, columns in _NAMES.items() for column in columns]
    found += [str(value) for name, value in params.arguments.items() if name in ("user", "host", "dsn", "service_name")]
    return [name for name in dict.fromkeys([*found, params.tablespace or ""]) if name]
