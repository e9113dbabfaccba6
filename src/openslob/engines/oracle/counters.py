"""The server's cumulative counters, read over one connection, and their differences as `EngineDelta`."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import oracledb

from openslob.core.measurement import EngineDelta
from openslob.core.units import NANOS
from openslob.engines.base import CounterReading
from openslob.engines.oracle import names
from openslob.engines.oracle.connection import Connection, query, statement
from openslob.engines.oracle.delta import MOVING, STATEMENTS, Counting, Values
from openslob.engines.oracle.errors import CONNECTION_LOST, explain_error, find_codes, is_missing, report_as
from openslob.engines.oracle.server_facts import Survey
from openslob.engines.oracle.versions import own_view
from openslob.engines.server_engine import ConnectionOwner

# The parts of counters.sql, and the views that each needs a grant for. A user of none of them has a clock. In a
# pluggable database some are its own (`own_view`).
VIEWS: Mapping[str, tuple[str, ...]] = {
    "epoch": ("V_$INSTANCE",),
    "sysstat": ("V_$SYSSTAT",),
    "time_model": ("V_$SYS_TIME_MODEL",),
    "events": ("V_$SYSTEM_EVENT",),
    "histogram": ("V_$EVENT_HISTOGRAM_MICRO",),
    "osstat": ("V_$OSSTAT",),
    "io": ("V_$IOSTAT_FUNCTION",),
    "memory": ("V_$SGA_DYNAMIC_COMPONENTS",),
    "sql": ("V_$SQL",),
    "sessions": ("V_$SESSION", "V_$SESSTAT", "V_$STATNAME"),
    "objects": ("V_$SEGMENT_STATISTICS",),
}
# Reading all parts once a second must not disturb the load: a part that takes the server longer than this is left out.
MOST_S = 0.1
# Sessions run each of their statements before the counters are read for the first time, so one search should do.
_MOST_SEARCHES = 3
_TIMES = 2
# A call shows up to so many seconds of its times late (docs.oracle.com/database/122/REFRN/V-CON_SYS_TIME_MODEL.htm): of
# sessions whose calls last about a second that is much of a load of less than a minute.
LATE_S, SHORT_S = 5.0, 60.0
# They are read again in such intervals. They stand still if they rise no more several times in a row, apart from a
# small share of the load and from what reading takes itself, in µs.
_AGAIN_S, _STILL_SHARE, _STILL_US, _STILL_TIMES = 0.25, 0.005, 20_000, 2
# Times of sessions' calls. Those of background processes, which never rest, are not waited for.
_OF_CALLS = ("time_model.DB time", "time_model.DB CPU")


class OracleSampler(ConnectionOwner[Connection]):
    """Samples over one connection that stays open."""

    def backend_ids(self) -> list[int]:
        """Return the process of the sampler's session; none when this user may not see it."""
        try:
            return [int(row["spid"]) for row in query(self._connection, statement("counters", "own_process"))]
        except oracledb.Error:
            return []

    def compose_grant(self, view: str) -> str:
        """Return the statement that lets the sampler's user read one of SYS's views."""
        name = self._connection.raw.username or "this user"
        return names.grant_select(view, name if name.startswith('"') else name.upper())


class OracleCounters(OracleSampler):
    """Reads all views that this version has and this user may see in one statement, so that all are of one moment."""

    # The parts of counters.sql to read, as far as they can be.
    parts: Collection[str] = VIEWS
    _whole_database = False

    def __init__(
        self,
        connection: Connection,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(connection)
        self._clock, self._sleep = clock, sleep
        # Why parts of counters.sql can not be read.
        self.missing: dict[str, str] = {}
        self._searches = 0
        self._search_failed = ""
        self._statements: Sequence[str] = ()
        self._way_s = 0.0
        with report_as("the counters can't be read"):
            self._pluggable = Survey(connection).is_pluggable
            self._statements = self._search()
            # What a query of nothing takes is the way to the server and back.
            self._way_s = self.measure_s("clock")
            for name in self.parts:
                if why := self._explain_missing(name):
                    self.missing[name] = why
        self._resets = 0
        self._last: Values = {}

    def _search(self) -> Sequence[str]:
        """Return the numbers of the work loop's statements; none before a session ran them, or without the right."""
        self._searches += 1
        try:
            rows = query(self._connection, self._compose_part("statements"))
        except oracledb.Error as error:
            if any(code in CONNECTION_LOST for code in find_codes(error)):
                raise
            # Without the right the part itself says so; anything else is why nothing was found.
            self._search_failed = "" if is_missing(error) else self._explain_refusal("sql", error)
            return ()
        self._search_failed = ""
        return sorted(str(row["sql_id"]) for row in rows)

    def _compose(self) -> str:
        readable = [name for name in self.parts if name not in self.missing]
        return "\nUNION ALL\n".join(map(self._compose_part, ["clock", *readable]))

    def _compose_part(self, name: str) -> str:
        listed = ", ".join(f"'{sql_id}'" for sql_id in self._statements) or "'-'"
        filled = {"procedures": names.PROCEDURES_LIKE, "tables": names.TABLES_LIKE, "statements": listed}
        own = "" if self._list_views(name) == list(VIEWS.get(name, ())) else "con_"
        return statement("counters", name, own=own, **filled)

    def _list_views(self, part: str) -> list[str]:
        """Return the views that a part is read from here, as grants name them."""
        return [own_view(view, self._pluggable, self._connection.version) for view in VIEWS.get(part, ())]

    def _explain_missing(self, name: str) -> str:
        """Return why a part can't be read; empty if it can."""
        try:
            took = self.measure_s(name)
        except oracledb.Error as error:
            if any(code in CONNECTION_LOST for code in find_codes(error)):
                raise
            return self._explain_refusal(name, error)
        return (
            ""
            if took <= MOST_S
            else f"reading {self._name_views(name)} takes {took:.2f} s, which would disturb the load"
        )

    def measure_s(self, name: str) -> float:
        """Return how long a part takes the server: the shorter of two times, since it parses it at first."""
        text, times = self._compose_part(name), list[float]()
        while not times or (len(times) < _TIMES and min(times) - self._way_s > MOST_S):
            began = self._clock()
            query(self._connection, text)
            times.append(self._clock() - began)
        return min(times) - self._way_s

    def _explain_refusal(self, part: str, error: oracledb.Error) -> str:
        if not is_missing(error):
            return f"the server refused to show {self._name_views(part)}: {explain_error(error)}"
        older = ", or the server is older than 12.1.0.2" if part == "histogram" else ""
        grants = "; ".join(self.compose_grant(view) for view in self._list_views(part))
        return f"this user may not read {self._name_views(part)}{older}: {grants}"

    def _name_views(self, part: str) -> str:
        return " and ".join(view.replace("_", "", 1) for view in self._list_views(part))

    def read(self) -> CounterReading:
        """Return all counters now; SlobError when the server is gone."""
        with report_as("the counters can't be read"):
            if not self._statements and self._searches < _MOST_SEARCHES and "sql" not in self.missing:
                self._statements = self._search()
            rows = query(self._connection, self._compose())
        epochs = [str(row["name"]) for row in rows if row["source"] == "epoch"]
        counted = [row for row in rows if row["source"] != "epoch" and row["value"] is not None]
        values = {f"{row['source']}.{row['name']}": float(row["value"]) for row in counted}
        values[STATEMENTS] = float(len(self._statements))
        server_ns = int(values.pop("clock.us")) * 1000
        # Without a right to see when the instance started: its statistics never decrease otherwise.
        if any(values.get(name, 0.0) < value for name, value in self._last.items() if name.startswith("sysstat.")):
            self._resets += 1
        self._last = values
        return CounterReading(server_ns, values, " ".join([*epochs, f"reset {self._resets} times while watched"]))

    def settle(self, before: CounterReading, after: CounterReading) -> CounterReading:
        """Return the reading ``after`` a short load with the times of calls that came late; others' calls never end."""
        if (
            self._whole_database
            or after.server_ns - before.server_ns >= SHORT_S * NANOS
            or "time_model" in self.missing
        ):
            return after
        values, still, until = dict(after.values), 0, self._clock() + LATE_S
        while still < _STILL_TIMES:
            if self._clock() >= until:
                return replace(after, values={**after.values, MOVING: 1.0})
            self._sleep(_AGAIN_S)
            with report_as("the counters can't be read"):
                rows = query(self._connection, self._compose_part("time_model"))
            now = {f"{row['source']}.{row['name']}": float(row["value"]) for row in rows}
            late = {name: now[name] for name in _OF_CALLS if _rose(before.values, values, now, name)}
            values |= late
            still = 0 if late else still + 1
        return replace(after, values=values)

    @property
    def counting(self) -> Counting:
        unsearched = {"sql": self._search_failed} if self._search_failed and not self._statements else {}
        return Counting({**unsearched, **self.missing}, "sql" in self.missing, self._pluggable, self._whole_database)

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        return self.counting.difference(before, after)

    def task_kinds(self) -> dict[int, str]:
        """Return processes as the server names them; none when this user may not read them."""
        try:
            rows = query(self._connection, statement("counters", "processes"))
        except oracledb.Error:
            return {}
        return {int(row["spid"]): row["kind"] for row in rows}


def _rose(before: Values, after: Values, now: Values, name: str) -> bool:
    """Return whether a counter has risen since a load by more than reading it takes, or a small share of the load."""
    began, ended = before.get(name, 0.0), after.get(name, 0.0)
    return now.get(name, ended) - ended > max(_STILL_US, _STILL_SHARE * (ended - began))


class DatabaseCounters(OracleCounters):
    """Reads what is counted of all sessions of the database, or of the pluggable one that the connection is to."""

    parts = tuple(name for name in VIEWS if name not in ("sql", "sessions", "objects"))
    _whole_database = True

    def _search(self) -> Sequence[str]:
        """Return no statements: the work loop's are of no interest."""
        return ()
