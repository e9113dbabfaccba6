"""What this user may not do, what that costs, and the statement that gives the right."""

from __future__ import annotations

from collections.abc import Iterator

import pymysql

from openslob.engines.base import Finding, ServerFacts
from openslob.engines.mysql.connection import Connection, ask, statement
from openslob.engines.mysql.names import Names

# Tables, their removal and their index; the work loop, made, replaced and called.
_NEEDED = (
    *("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX"),
    *("CREATE ROUTINE", "ALTER ROUTINE", "EXECUTE"),
)
# Privileges that let a user set what is the whole server's, by product: the one to grant.
SETTING_RIGHTS = {"MariaDB": "SUPER", "MySQL": "SYSTEM_VARIABLES_ADMIN"}
# Statement that fails without the right, what is lost, what to grant.
_READS = (
    (
        "reads_statistics",
        "blocks of the tables are counted with those that are set apart for rows to come",
        "SELECT ON mysql.innodb_index_stats",
    ),
    (
        "reads_performance_schema",
        "file reads are not timed, log syncs not told from others, waits known by stage only, and rows not counted "
        "unless userstat is ON",
        "SELECT ON performance_schema.*",
    ),
    (
        "reads_metrics",
        "checkpoints and page splits are not known, and waits by stage only, those for row locks among them",
        "PROCESS ON *.*",
    ),
)


def may_set(connection: Connection) -> bool:
    """Whether this user may change settings of the whole server."""
    held = {row["privilege"] for row in ask(connection, statement("facts", "privileges"))}
    return not held.isdisjoint(SETTING_RIGHTS.values())


def account(user: str) -> str:
    """The server's name of an account (CURRENT_USER) as GRANT takes it."""
    name, _, host = user.rpartition("@")
    return f"'{name}'@'{host}'"


def findings(connection: Connection, names: Names, facts: ServerFacts, user: str) -> Iterator[Finding]:
    """What is missing of the rights that a run needs, and of those that make more known."""
    whom = account(user)
    held = {row["privilege"] for row in ask(connection, statement("facts", "rights"), {"database": names.database})}
    missing = ", ".join(right for right in _NEEDED if right not in held)
    if missing:
        why = f"user {user} may not do all that is needed in database {names.database}"
        yield Finding("rights", why, f"GRANT {missing} ON {names.schema()}.* TO {whom}", True)
    if not may_set(connection):
        why = "this user may not have dirty pages written before the window: old writes may fall into it"
        yield Finding("checkpoint", why, f"GRANT {SETTING_RIGHTS[facts.product]} ON *.* TO {whom}", False)
    for question, why, grant in _READS:
        if not _answers(connection, question):
            yield Finding("monitor", why, f"GRANT {grant} TO {whom}", False)


def _answers(connection: Connection, question: str) -> bool:
    try:
        ask(connection, statement("facts", question))
    except pymysql.Error:
        return False
    return True
