"""One connection that runs the client loop, and the server's random generator, computed here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic_ns
from typing import Any, ClassVar

import psycopg

from openslob.core.errors import SlobError
from openslob.core.workload import CommitMode
from openslob.engines.base import SessionPlan, SliceRequest, SliceResult
from openslob.engines.client_loop import ClientLoop, Lookout
from openslob.engines.postgresql.client_statements import PooledStatements, PostgresStatements
from openslob.engines.postgresql.connection import PROMPT_SINCE
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.session import PostgresSession, seed_of
from openslob.engines.settings import of_sessions

# The generator of 15 and later came with the statistics in shared memory.
_XOROSHIRO_SINCE = PROMPT_SINCE
_MASK64, _MASK48 = 2**64 - 1, 2**48 - 1


def numbers(seed: float, version: int) -> Iterator[float]:
    """Return what random() gives after setseed(``seed``), a number of [0, 1], in a server of this version."""
    return _numbers_since_15(seed) if version >= _XOROSHIRO_SINCE else _numbers_before_15(seed)


def _numbers_since_15(seed: float) -> Iterator[float]:
    """Yield the numbers of xoroshiro128**, seeded by splitmix64.

    By PostgreSQL's src/common/pg_prng.c (pg_prng_fseed, pg_prng_double), which setseed() and random() call in
    src/backend/utils/adt/float.c, and from 17 on in pseudorandomfuncs.c.
    """
    state = int(seed * (2**52 - 1))
    first, state = _split_mix(state)
    second, state = _split_mix(state)
    while True:
        mixed, value = first ^ second, _rotate(first * 5 & _MASK64, 7) * 9 & _MASK64
        first, second = (_rotate(first, 24) ^ mixed ^ (mixed << 16)) & _MASK64, _rotate(mixed, 37)
        yield (value >> 12) / 2**52


def _split_mix(state: int) -> tuple[int, int]:
    """Return the next number of splitmix64, and its next state."""
    state = (state + 0x9E3779B97F4A7C15) & _MASK64
    value = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & _MASK64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK64
    return value ^ (value >> 31), state


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK64


def _numbers_before_15(seed: float) -> Iterator[float]:
    """Yield the numbers of erand48, of the 48 bits that the seed is.

    By src/port/erand48.c of PostgreSQL 13 and 14, and setseed() and drandom() in src/backend/utils/adt/float.c.
    """
    state = int(seed * (2**47 - 1)) & _MASK48
    while True:
        state = (state * 0x5DEECE66D + 0xB) & _MASK48
        yield state / 2**48


class PostgresClientSession(PostgresSession):
    """A session of the client loop; ``connect`` opens another connection, ``lookout`` is that of the process."""

    _kind: ClassVar[type[PostgresStatements]] = PostgresStatements

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        connect: Callable[[], psycopg.Connection[Any]],
        names: PostgresNames,
        plan: SessionPlan,
        lookout: Lookout,
    ) -> None:
        super().__init__(connection, names, plan)
        self._connect = connect
        self._statements = self._kind(self._connection, names, plan)
        self._loop = ClientLoop(plan, self._statements, lookout, self._connect_again)

    def prepare(self) -> None:
        """Set the session up, prepare its statements, run one operation of each kind, then set the seed."""
        with self._guard():
            self._set_up()
            self._statements.prepare()
            self._loop.warm_up()
            self._loop.begin(numbers(seed_of(self._plan), self._connection.info.server_version).__next__)

    def _connect_again(self) -> int:
        """End the connection, open another one and set it up; return how long only the opening took, in ns."""
        self._connection.close()
        began_ns = monotonic_ns()
        self._connection = self._connect()
        took_ns = monotonic_ns() - began_ns
        self._connection.prepare_threshold = None
        self._set_up()
        self._statements.use(self._connection)
        self._statements.prepare()
        return took_ns

    def plans(self) -> dict[str, str]:
        """Return the generic plans of the statements that the session has prepared."""
        with self._guard():
            return self._statements.explain()

    def run_slice(self, order: SliceRequest) -> SliceResult:
        with self._guard():
            return self._loop.run(order)

    def cancel(self) -> bool:
        self._loop.end()
        return super().cancel()

    def cut(self) -> None:
        self._loop.end()
        super().cut()


# The only value of synchronous_commit with which commits do not wait.
_OFF = "off"


class PostgresPooledSession(PostgresClientSession):
    """A session behind a pooler that gives each transaction some process of the server.

    It sets nothing: the pooler would hand it on to others. What it needs set, the role or the server must have.
    """

    _kind = PooledStatements

    def _set_up(self) -> None:
        """Check the settings that the run asks for. SlobError for one that the session would have to set."""
        assert isinstance(self._statements, PooledStatements)
        for change in of_sessions(self._plan.settings):
            raise SlobError(
                f"{change.name} can't be set through a pooler: other sessions would have it, too",
                f"ALTER ROLE … SET {change.name}, or name the server itself by --target",
            )
        mode, commit = self._plan.workload.commit_mode, self._statements.show("synchronous_commit")
        if mode is not CommitMode.ENGINE and (commit == _OFF) is not (mode is CommitMode.NOWAIT):
            raise SlobError(
                f"synchronous_commit is {commit}, and COMMIT_MODE={mode} can't change it through a pooler",
                "--commit-mode engine takes the server's, or ALTER ROLE … SET synchronous_commit",
            )
