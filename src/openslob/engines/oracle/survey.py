"""Asks the server about itself. What this user may not see, or what the version lacks, stays unknown."""

from __future__ import annotations

from collections.abc import Sequence

import oracledb

from openslob.engines.oracle.connection import Connection, Row, query, statement
from openslob.engines.oracle.errors import codes_of

# May not be seen or is not there (Oracle does not say which), no such column, a right that is missing, no such
# parameter of USERENV, the right to read an object that the user knows of.
# SYS_CONTEXT('USERENV', 'CON_ID') of the root container.
ROOT = 1
_ABSENT = ("ORA-00942", "ORA-00904", "ORA-01031", "ORA-02003", "ORA-41900")


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

    def _ask(self, text: str, values: dict[str, object]) -> Sequence[Row] | None:
        try:
            return query(self.connection, text, values)
        except oracledb.Error as error:
            if any(code in _ABSENT for code in codes_of(error)[:1]):
                return None
            raise


def container_number(survey: Survey) -> int:
    """Return the container's number: 1 for the root, more for a pluggable database, 0 where there are no containers."""
    return int(survey.row("container").get("con_id") or 0)


def is_pluggable(survey: Survey) -> bool:
    """Return whether this is a pluggable database, whose views show nothing of background processes."""
    return container_number(survey) > ROOT


def has_right(survey: Survey, privilege: str) -> bool:
    """Return whether this user has a system privilege, itself or by a role."""
    return any(row["privilege"] == privilege for row in survey.rows("rights") or ())
