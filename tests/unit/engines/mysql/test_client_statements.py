"""A batch of statements in one text: what came before one that is refused is not sent again."""

import pymysql
import pytest
from pymysql.constants import ER

from openslob.core.method import OpKind
from openslob.core.workload import Workload
from openslob.engines.client_loop import Operation
from openslob.engines.mysql.client_statements import MysqlStatements
from openslob.engines.mysql.names import MysqlNames
from openslob.kinds.run.plan import session_plans


class Server:
    """A connection, its cursor and a server that refuses the statement ``refused``, by its place in all, once."""

    def __init__(self, refused=None, code=ER.LOCK_DEADLOCK):
        self.refused, self.code, self.texts, self.done, self.left = refused, code, [], 0, []

    def cursor(self, _kind):
        return self

    def escape(self, value):
        return f"'{value}'"

    def execute(self, text):
        self.texts.append(text)
        self.left = text.split("; ")
        self._run()

    def nextset(self):
        if self.left:
            self._run()

    def _run(self):
        if self.done == self.refused:
            self.refused, self.left = None, []
            raise pymysql.err.OperationalError(self.code, "try restarting transaction")
        self.now = self.left.pop(0)
        self.done += 1

    @property
    def rowcount(self):
        return 3 if self.now.startswith("UPDATE") else -1

    def fetchone(self):
        assert self.now.startswith("SELECT")
        return (7,)


KINDS = [OpKind.SELECT, OpKind.UPDATE, OpKind.SCAN, OpKind.UPDATE, OpKind.SELECT]
BATCH = [Operation(number, kind, hot=False, key=number + 1) for number, kind in enumerate(KINDS)]


def sent_to(server):
    workload = Workload(schemas=1, scale="1000", work_unit=3, update_pct=50, scan_pct=10)
    statements = MysqlStatements(server, MysqlNames("db"), session_plans(workload, 16384, "t")[0])
    return statements, statements.send(BATCH)


@pytest.mark.parametrize("refused", [None, 0, 1, 3, 4])
def test_from_a_refused_statement_on_a_batch_is_sent_again(refused):
    server = Server(refused)
    statements, rows = sent_to(server)
    assert rows == [7, 3, 7, 3, 7]
    assert server.done == len(BATCH)
    whole = server.texts[0].split("; ")
    assert [text.split()[0] for text in whole] == ["SELECT", "UPDATE", "SELECT", "UPDATE", "SELECT"]
    assert server.texts[1:] == ([] if refused is None else ["; ".join(whole[refused:])])
    assert statements.conflicts == (refused is not None)


def test_another_error_is_one_of_the_session():
    with pytest.raises(pymysql.err.OperationalError):
        sent_to(Server(3, ER.NO_SUCH_TABLE))
