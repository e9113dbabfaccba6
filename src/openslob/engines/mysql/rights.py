"""What this user may not do, what that costs, and the statement that gives the right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pymysql

from openslob.engines.facts import Finding, ServerFacts
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
        "checkpoints and page splits are not known, nor waits for row locks",
        "PROCESS ON *.*",
    ),
)


# What SHOW GRANTS says of everything or of whole databases; their names may be patterns.
_GRANT = re.compile(r"""(GRANT|REVOKE) (.+?) ON ([`"]?)(.+?)\3\.\* (?:TO|FROM) """)
_EVERYTHING, _ALL = "*", "ALL PRIVILEGES"
_WILDCARDS = {"%": ".*", "_": "."}


def missing(wanted: Iterable[str], grants: Iterable[str], database: str | None) -> list[str]:
    """Which of the privileges ``wanted`` the statements ``grants`` don't give: on a database, or on everything.

    MySQL can take away for some databases (REVOKE) what was given on everything.
    """
    given: set[str] = set()
    taken: set[str] = set()
    for verb, privileges, _, place in filter(None, (_parts(line) for line in grants)):
        if place == _EVERYTHING or (database is not None and _pattern(place).fullmatch(database)):
            (given if verb == "GRANT" else taken).update(name.strip() for name in privileges.split(","))
    return [name for name in wanted if name in taken or not given & {name, _ALL}]


def _parts(line: str) -> tuple[str, str, str, str] | None:
    found = _GRANT.match(line)
    return (found[1], found[2], found[3], found[4]) if found else None


def _pattern(place: str) -> re.Pattern[str]:
    r"""A database's name as a grant has it: % and _ stand for others unless a \ is before them."""
    pieces = re.findall(r"\\?.", place, re.DOTALL)
    return re.compile("".join(_WILDCARDS.get(piece, re.escape(piece[-1])) for piece in pieces), re.DOTALL)


def _grants(connection: Connection) -> list[str]:
    return [str(text) for row in ask(connection, statement("facts", "grants")) for text in row.values()]


def may_set(connection: Connection) -> bool:
    """Whether this user may change settings of the whole server."""
    rights = list(SETTING_RIGHTS.values())
    return len(missing(rights, _grants(connection), None)) < len(rights)


def account(user: str) -> str:
    """The server's name of an account (CURRENT_USER) as GRANT takes it."""
    name, _, host = user.rpartition("@")
    return f"'{name}'@'{host}'"


def findings(connection: Connection, names: Names, facts: ServerFacts, user: str) -> Iterator[Finding]:
    """What is missing of the rights that a run needs, and of those that make more known."""
    whom = account(user)
    if lacking := ", ".join(missing(_NEEDED, _grants(connection), names.database)):
        why = f"user {user} may not do all that is needed in database {names.database}"
        yield Finding("rights", why, f"GRANT {lacking} ON {names.schema()}.* TO {whom}", True)
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
