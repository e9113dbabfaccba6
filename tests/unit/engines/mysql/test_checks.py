"""What a check has the server parse: every statement of loads, runs and drops, and what a refusal becomes."""

import pymysql
import pytest
from pymysql.constants import ER

from factories.tables import table
from openslob.core.workload import Workload
from openslob.engines.mysql import checks
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.table_engine import INNODB
from openslob.kinds.run.plan import session_plans

BLOCK = 16384
PLAN = session_plans(Workload(update_pct=20, scan_pct=10), BLOCK, "test")[0]
PROCEDURE = "CREATE PROCEDURE `my``db`.`slice_1`"


class Server:
    """Parses what it is given, but for the statements that have ``refused`` in them."""

    def __init__(self, refused=None, code=ER.PARSE_ERROR, is_open=True):
        self.refused, self.code, self.open, self.parsed = refused, code, is_open, []

    def query(self, connection, text, values=None):
        assert connection is self
        if "wsrep_on" in text:
            return [{"its_on": 0}]
        if not values:
            return []  # the settings of this session
        assert text.startswith("PREPARE ")
        self.parsed.append(values["text"])
        if self.refused and self.refused in values["text"]:
            raise pymysql.err.ProgrammingError(self.code, "near here")
        return []


def tried(monkeypatch, server, plan=PLAN):
    for module in ("checks", "connection"):
        monkeypatch.setattr(f"openslob.engines.mysql.{module}.query", server.query)
    return list(checks.try_statements(server, MysqlNames("my`db"), INNODB, plan))


def test_every_statement_is_parsed_and_none_executed(monkeypatch):
    server = Server()
    assert tried(monkeypatch, server) == []
    texts = "\n".join(server.parsed)
    for words in (
        "CREATE TABLE `my``db`.`cf1_1`", "ADD UNIQUE INDEX", "INSERT INTO `my``db`.`cf1_1`", "GET_LOCK(",
        "INSERT INTO `my``db`.`manifest`", "DROP TABLE IF EXISTS", "DROP DATABASE `my``db`",
        "LOWER('my`db')", PROCEDURE,
    ):  # fmt: skip
        assert words in texts
    assert "wsrep_retry_autocommit" not in texts
    assert "%(" not in texts


def test_the_client_loop_needs_no_procedure(monkeypatch):
    server = Server("PROCEDURE")
    plan = session_plans(Workload(loop="client"), BLOCK, "test")[0]
    assert tried(monkeypatch, server, plan) == []
    assert server.parsed
    (finding,) = tried(monkeypatch, Server(PROCEDURE))
    assert finding.remedy.startswith("--loop client ")
    assert not next(iter(tried(monkeypatch, Server("ALTER TABLE")))).remedy.startswith("--loop")


@table(
    ("refused", "where"),
    [("AS name", "(facts.sql, "), ("ALTER TABLE", "(schema.sql, create_index)"), (PROCEDURE, "(the work loop)")],
)
def test_a_statement_that_is_not_understood_stops_a_run(refused, where):
    with pytest.MonkeyPatch.context() as patch:
        (finding,) = tried(patch, Server(refused))
    assert finding.blocking
    assert where in finding.why
    assert "near here" in finding.why


@table("code", [ER.UNSUPPORTED_PS, ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR, ER.TABLEACCESS_DENIED_ERROR])
def test_a_table_that_is_not_there_or_a_right_is_no_refusal_of_a_statement(code):
    with pytest.MonkeyPatch.context() as patch:
        assert tried(patch, Server("`my``db`", code)) == []


def test_a_server_that_goes_away_is_no_refusal(monkeypatch):
    with pytest.raises(pymysql.Error):
        tried(monkeypatch, Server("GET_LOCK", code=2013, is_open=False))
