"""Client programs: the tables of ready-made workloads, which are in a database of their own."""

from unittest.mock import Mock

import pymysql
import pytest
from pymysql.constants import ER

from openslob.core.errors import SlobError
from openslob.engines.clients import WorkloadRequest
from openslob.engines.mysql import clients


def test_a_user_who_may_not_make_the_tables_of_a_workload_is_told_the_right(monkeypatch):
    refused = pymysql.err.OperationalError(ER.DBACCESS_DENIED_ERROR, "Access denied for user 'app'@'%'")

    def query(_connection, text, _values=None):
        if "DROP DATABASE" in text:
            raise refused
        return [{"user": "app@%"}] if "CURRENT_USER" in text else []

    monkeypatch.setattr(clients, "open_connection", lambda *_: Mock())
    monkeypatch.setattr(clients, "query", query)
    request = WorkloadRequest("oltp-read-only", 1, 1, 1, "8.0.31")
    with pytest.raises(SlobError) as raised, clients.ready("mysql://app@h/bench", [request], keep=False):
        pass
    rights = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX ON slob_workload.*"
    assert f"GRANT {rights} TO 'app'@'%'" in raised.value.remedy
