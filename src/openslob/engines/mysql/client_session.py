"""One connection that runs the client loop, and the server's random generator, computed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic_ns

from openslob.engines.base import SessionPlan, SliceRequest, SliceResult
from openslob.engines.client_loop import ClientLoop, Lookout
from openslob.engines.mysql.client_statements import MysqlStatements
from openslob.engines.mysql.connection import Connection, MysqlParams
from openslob.engines.mysql.errors import report_as
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.session import SEED_LIMIT, MysqlSession, seeds
from openslob.engines.slice_io import session_seed


def numbers(first: int, second: int) -> Iterator[float]:
    """Yield what RAND() gives after these values of rand_seed1 and rand_seed2.

    By my_rnd(), in mysys/my_rnd.c of MariaDB and mysys/my_rnd.cc of MySQL, which Item_func_rand::val_real() calls with
    the state of the session.
    """
    while True:
        first = (3 * first + second) % SEED_LIMIT
        second = (first + second + 33) % SEED_LIMIT
        yield first / SEED_LIMIT


class MysqlClientSession(MysqlSession):
    """A session of the client loop; ``lookout`` is common to those of a process.

    ``connect`` opens a connection, and ``enter`` records whose it is.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        enter: Callable[[Connection], Connection],
        params: MysqlParams,
        names: MysqlNames,
        plan: SessionPlan,
        lookout: Lookout,
    ) -> None:
        super().__init__(enter(connect()), params, names, plan)
        self._connect, self._enter = connect, enter
        self._statements = MysqlStatements(self._connection, names, plan)
        self._loop = ClientLoop(plan, self._statements, lookout, self._connect_again)

    def prepare(self) -> None:
        """Set the session up, run one operation of each kind to fill caches, then set the seed."""
        with report_as(f"session {self._plan.number} was lost"):
            self._set_up()
            self._loop.warm_up()
            self._loop.begin(numbers(**seeds(session_seed(self._plan))).__next__)

    def _connect_again(self) -> int:
        """End the connection, open another one and set it up; return how long only the opening took, in ns."""
        self._connection.close()
        began_ns = monotonic_ns()
        self._connection = self._connect()
        took_ns = monotonic_ns() - began_ns
        self._enter(self._connection)
        self._set_up()
        self._statements.use(self._connection)
        return took_ns

    def run_slice(self, order: SliceRequest) -> SliceResult:
        with report_as(f"session {self._plan.number} was lost"):
            return self._loop.run(order)

    def cancel(self) -> bool:
        self._loop.end()
        return super().cancel()

    def cut(self) -> None:
        self._loop.end()
        super().cut()
