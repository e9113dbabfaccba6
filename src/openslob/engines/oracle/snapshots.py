"""Snapshots around the window: AWR, whose reports lie with the record, or Statspack, whose report the user makes.

AWR is a feature of the Diagnostics Pack: nothing of it is used unless the user consented to it by name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import oracledb

from openslob.core.errors import SlobError
from openslob.core.units import NANOS, iso
from openslob.core.workload import StatisticsType
from openslob.engines.base import Snapshotter
from openslob.engines.capabilities import Capability, require
from openslob.engines.oracle.connection import Connection, execute_block, query, query_if_visible, statement
from openslob.engines.oracle.errors import explain_error, report_as
from openslob.engines.oracle.names import grant_select
from openslob.engines.oracle.server_facts import Survey
from openslob.engines.oracle.versions import PDB_SNAPSHOTS
from openslob.engines.patience import close_on_failure
from openslob.engines.server_engine import ConnectionOwner

LICENCE = "Oracle Diagnostics Pack"
_BY_CONSENT = f"AWR was used because the user said that this server has the licence ({LICENCE})."
_WHY = "there is no report of the server's own"
# Beside the reports: when which snapshots were taken, and how the report is made again.
FACTS = "snapshots.txt"


def capabilities(connection: Connection) -> list[Capability]:
    """Return whether this user may take snapshots of each kind here."""
    with report_as("what snapshots may be taken can't be asked"):
        (may,) = query(connection, statement("awr", "allowed"))
        survey = Survey(connection)
        return [_check_awr(survey, bool(may["awr"])), _check_statspack(survey, bool(may["statspack"]))]


def _check_awr(survey: Survey, may_execute: bool) -> Capability:
    lack, remedy, user, by = "", "", survey.user, survey.sysdba
    packs = _read_pack_access(survey.connection)
    if packs is None:
        lack = "whether AWR is switched on can't be seen (V$PARAMETER)"
        remedy = f"{grant_select('V_$PARAMETER', user)};"
    elif not packs.startswith("DIAGNOSTIC"):
        lack = f"AWR is switched off: control_management_pack_access is {packs}"
        remedy, by = "leave it off, unless you have the licence", ""
    elif not may_execute:
        lack = "this user may not execute DBMS_WORKLOAD_REPOSITORY"
        remedy = f"GRANT EXECUTE ON SYS.DBMS_WORKLOAD_REPOSITORY TO {user};"
    elif survey.connection.version < PDB_SNAPSHOTS and survey.is_pluggable:
        lack, remedy, by = "a pluggable database of 12.1 takes no snapshots of its own", "connect to the root", ""
    return Capability(StatisticsType.AWR, not lack, lack, _WHY, remedy, LICENCE, by)


def _check_statspack(survey: Survey, may_execute: bool) -> Capability:
    lack = "" if may_execute else "Statspack is not installed, or this user may not execute it"
    remedy = f"run spcreate.sql, then GRANT EXECUTE ON PERFSTAT.STATSPACK TO {survey.user};"
    return Capability(StatisticsType.STATSPACK, may_execute, lack, _WHY, remedy, by=survey.sysdba)


def _read_pack_access(connection: Connection) -> str | None:
    rows = query_if_visible(connection, statement("awr", "pack_access"))
    return str(rows[0]["value"]).upper() if rows else None


def open_snapshots(
    connect: Callable[[], Connection], consented: frozenset[str], kind: StatisticsType
) -> Snapshotter | None:
    """Connect what takes snapshots of this kind; None for ``NONE``.

    SlobError when they can't be taken here, or need a licence that was not consented to.
    """
    if kind is StatisticsType.NONE:
        return None
    connection = connect()
    with close_on_failure(connection):
        require(capabilities(connection), kind, consented)
        return AwrSnapshots(connection) if kind is StatisticsType.AWR else StatspackSnapshots(connection)


@dataclass(frozen=True)
class _Snapshot:
    number: int
    begun_ns: int
    ended_ns: int

    def __str__(self) -> str:
        took = (self.ended_ns - self.begun_ns) / NANOS
        return f"snapshot {self.number}: {iso(self.begun_ns)}, took {took:.1f} s"


class _Snapshots(ConnectionOwner[Connection]):
    """Two snapshots over one connection. Implements most of `openslob.engines.base.Snapshotter`."""

    snapshot_statement = ""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._taken: list[_Snapshot] = []

    def begin(self) -> None:
        begun_ns = time.time_ns()
        with report_as("a snapshot of the server's statistics failed"):
            found = execute_block(self._connection, statement("awr", self.snapshot_statement), {"snap_id": int})
        self._taken.append(_Snapshot(int(found["snap_id"]), begun_ns, time.time_ns()))

    @property
    def _numbers(self) -> tuple[int, int]:
        return self._taken[0].number, self._taken[-1].number

    def _describe(self, *lines: str) -> Mapping[str, str]:
        first, last = self._taken[0], self._taken[-1]
        apart = (last.begun_ns - first.ended_ns) / NANOS
        span = (
            f"The window lies within the {apart:.1f} s between them, so rates of the report are lower than the run's."
        )
        return {FACTS: "\n".join([str(first), str(last), span, *lines, ""])}


class StatspackSnapshots(_Snapshots):
    """Statspack's snapshots of the instance that the connection landed on."""

    snapshot_statement = "statspack_snapshot"

    def end(self) -> Mapping[str, str]:
        """Take the second snapshot; return how the report is made, which a driver can't."""
        self.begin()
        first, last = self._numbers
        how = (
            "The report is made in SQL*Plus, as PERFSTAT on the same instance, by @?/rdbms/admin/spreport.sql with",
            f"begin_snap {first}, end_snap {last}. slob awr reads it.",
        )
        return self._describe(*how)


class AwrSnapshots(_Snapshots):
    """AWR's snapshots of all instances."""

    snapshot_statement = "snapshot"

    def end(self) -> Mapping[str, str]:
        """Take the second snapshot; return the reports on each instance and, of a cluster, on all together.

        A report that can't be made is named beside the others. SlobError when none can.
        """
        self.begin()
        reports: dict[str, str] = {}
        failed: list[str] = []
        for name, text, values in self._list_reports():
            try:
                rows = query(self._connection, statement("awr", text), values)
            except oracledb.Error as error:
                failed.append(f"{name} could not be made: {explain_error(error)}")
            else:
                reports[name] = "".join(f"{row['output'] or ''}\n" for row in rows)
        if not reports:
            first, last = self._numbers
            remedy = f"awrrpt.sql in SQL*Plus makes it, of snapshots {first} and {last}"
            raise SlobError(failed[0], remedy)
        return {**reports, **self._describe(_BY_CONSENT, *failed)}

    def _list_reports(self) -> Iterator[tuple[str, str, Mapping[str, int]]]:
        """Yield the name of each report, its statement and values: first of the connection's own instance."""
        with report_as("the database can't be identified (V$DATABASE, V$INSTANCE)"):
            which = "pluggable_database" if Survey(self._connection).is_pluggable else "database"
            (found,) = query(self._connection, statement("awr", which))
        first, last = self._numbers
        span = {"dbid": int(found["dbid"]), "first_snap": first, "last_snap": last}
        own = int(found["instance_number"])
        others = self._list_other_instances(own) if found["parallel"] == "YES" else []
        for number in [own, *others]:
            # As Oracle's own script names them: the instance and both snapshots.
            yield f"awrrpt_{number}_{first}_{last}.txt", "report", {**span, "instance_number": number}
        if found["parallel"] == "YES":
            yield f"awrrpt_rac_{first}_{last}.txt", "global_report", span

    def _list_other_instances(self, own: int) -> list[int]:
        """Return the other instances' numbers; none where this user may not see them."""
        rows = query_if_visible(self._connection, statement("awr", "instances"))
        return [int(row["inst_id"]) for row in rows or () if int(row["inst_id"]) != own]
