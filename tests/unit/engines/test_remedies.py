"""What an error of a server is said to come of: never what it did not come of."""

import psycopg
import pymysql
import pytest

from factories.tables import table
from openslob.core.errors import DeniedError, SlobError
from openslob.engines.mysql.errors import report_as as reported_by_mysql
from openslob.engines.postgresql.errors import find_time_limit, remedy_for


@table(
    ("text", "remedy"),
    [
        ("running with the --read-only option so it cannot execute this statement", "accepts no writes"),
        ("running with the --super-read-only option so it cannot execute this statement", "accepts no writes"),
        ("running with the --max-session-mem-used=8192 option so it cannot execute this statement", "SET GLOBAL"),
        ("running with the NO_ENGINE_SUBSTITUTION option so it cannot execute this statement", "SET GLOBAL"),
    ],
)
def test_only_a_server_that_takes_no_writes_is_said_to_take_none(text, remedy):
    with pytest.raises(SlobError) as refused, reported_by_mysql("the load failed"):
        raise pymysql.OperationalError(1290, f"The MariaDB server is {text}")
    assert remedy in refused.value.remedy
    assert ("read_only" in refused.value.remedy) == ("read-only" in text)


def test_a_right_that_is_missing_is_an_error_of_its_own():
    with pytest.raises(DeniedError), reported_by_mysql("the data can't be checked"):
        raise pymysql.OperationalError(1142, "SELECT command denied to user")


@table(
    ("kind", "text", "limit"),
    [
        (psycopg.errors.QueryCanceled, "canceling statement due to statement timeout", "statement_timeout"),
        (
            psycopg.errors.IdleSessionTimeout,
            "terminating connection due to idle-session timeout",
            "idle_session_timeout",
        ),
        (psycopg.OperationalError, "terminating connection due to transaction timeout", "transaction_timeout"),
        (psycopg.errors.QueryCanceled, "canceling statement due to user request", ""),
        (psycopg.errors.LockNotAvailable, "canceling statement due to lock timeout", ""),
    ],
)
def test_a_time_limit_is_named_where_one_ended_it(kind, text, limit):
    assert find_time_limit(kind(text)) == limit
    assert ("RESET" in remedy_for(kind(text))) == bool(limit)


def test_a_cancel_whose_text_is_translated_is_not_put_on_anybody():
    assert "time limit" in remedy_for(psycopg.errors.QueryCanceled("storniere Anfrage"))


def test_a_library_that_is_not_there_is_no_server_that_is_not_there():
    remedy = remedy_for(psycopg.OperationalError('could not access file "nosuch": No such file or directory'))
    assert "session_preload_libraries" in remedy
