"""What a user is told to do about an error of the server."""

from __future__ import annotations

from psycopg import OperationalError, errors

from factories.tables import table
from openslob.engines.postgresql.errors import remedy_for

ENDED = "terminating connection due to "


@table(
    ("error", "remedy"),
    [
        (errors.QueryCanceled("canceling statement due to statement timeout"), "RESET statement_timeout"),
        (errors.IdleSessionTimeout(f"{ENDED}idle-session timeout"), "RESET idle_session_timeout"),
        (
            errors.IdleInTransactionSessionTimeout(f"{ENDED}idle-in-transaction timeout"),
            "RESET idle_in_transaction_session_timeout",
        ),
        (errors.QueryCanceled("canceling statement due to user request"), "somebody cancelled it"),
        (errors.AdminShutdown(f"{ENDED}administrator command"), "somebody ended it"),
        (errors.ConnectionTimeout("connection timeout expired"), "the server hangs"),
        (OperationalError("failed to resolve host 'db': Name or service not known"), "is running and where"),
    ],
)
def test_the_remedy_fits_the_error(error, remedy):
    assert remedy in remedy_for(error)
