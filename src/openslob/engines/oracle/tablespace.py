"""The tablespace of the test tables: its block size, the room in it for this user, and whether a load writes redo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import oracledb

from openslob.engines.oracle.connection import Connection, ConnectionParams, Row, query, statement
from openslob.engines.oracle.errors import is_missing
from openslob.engines.oracle.names import quoted
from openslob.engines.oracle.page_layout import index_bytes
from openslob.engines.tables import Table
from openslob.errors import SlobError
from openslob.units import GIB, MIB, format_bytes
from openslob.workload import DataSpec

# Space bitmaps and segment headers beside the rows.
_OVERHEAD = 0.03
# Sizes of the extents that AUTOALLOCATE makes, by the size of the segment up to which it makes them.
_EXTENTS: Sequence[tuple[float, int]] = ((MIB, MIB // 16), (64 * MIB, MIB), (GIB, 8 * MIB), (float("inf"), 64 * MIB))


@dataclass(frozen=True)
class Tablespace:
    """A tablespace, as its user sees it.

    ``is_named``: the target names it; else it is the user's default. ``quota_bytes`` is what the quota leaves, None
    without a limit; ``free_bytes`` is free in its files; ``growth_bytes`` is how far the files may still grow, None
    when this user may not see that. ``held_bytes`` are those of the tables and indexes that are loaded now.
    """

    name: str
    is_named: bool
    owner: str
    block_size: int
    quota_bytes: int | None
    free_bytes: int
    growth_bytes: int | None
    held_bytes: int
    forces_logging: bool
    is_bigfile: bool

    @property
    def clause(self) -> str:
        """The clause of CREATE TABLE and CREATE INDEX; empty for the user's default."""
        return f"TABLESPACE {quoted(self.name)}" if self.is_named else ""


def find(connection: Connection, name: str | None) -> Tablespace:
    """Return the tablespace of that name, in whatever case it is written, or the user's default one for None."""
    rows = query(connection, statement("tablespace", "tablespace"), {"name": name})
    row = next((row for row in rows if name in (None, row["tablespace_name"])), rows[0] if rows else None)
    if row is None:
        why = f"there is no tablespace {name} that this user may see"
        raise SlobError(why, "name another one in the target (?tablespace=), or let an administrator create it")
    values = {"name": row["tablespace_name"]}
    held = query(connection, statement("tablespace", "held"), values)
    free = query(connection, statement("tablespace", "free"), values)
    return Tablespace(
        name=row["tablespace_name"],
        is_named=name is not None,
        owner=row["owner"],
        block_size=int(row["block_size"]),
        quota_bytes=_quota(connection, row),
        free_bytes=int(free[0]["free_bytes"] or 0),
        growth_bytes=_growth(connection, values),
        held_bytes=int(held[0]["held_bytes"] or 0),
        forces_logging=row["force_logging"] == "YES",
        is_bigfile=row["bigfile"] == "YES",
    )


def of_data(connection: Connection, params: ConnectionParams, spec: DataSpec) -> Tablespace:
    """Return the tablespace of data to be loaded. SlobError if it has another block size than they are meant for."""
    found = find(connection, spec.tablespace or params.tablespace)
    if spec.block_size not in (None, found.block_size):
        why = f"tablespace {found.name} has blocks of {found.block_size:,} bytes, and the data are specified for"
        raise SlobError(f"{why} {spec.block_size:,}", "name the tablespace with these blocks in the target")
    return found


def _quota(connection: Connection, row: Row) -> int | None:
    """Return what the quota leaves: 0 without a quota, None without a limit."""
    if query(connection, statement("tablespace", "unlimited")):
        return None
    quotas = query(connection, statement("tablespace", "quota"), {"name": row["tablespace_name"]})
    if not quotas:
        return 0
    most = int(quotas[0]["max_bytes"])
    return None if most < 0 else max(0, most - int(quotas[0]["bytes"]))


def _growth(connection: Connection, values: Mapping[str, object]) -> int | None:
    """Return how far files that extend themselves may grow; None without the right to see that."""
    try:
        rows = query(connection, statement("tablespace", "growth"), values)
    except oracledb.DatabaseError as error:
        if is_missing(error):
            return None
        raise
    return int(rows[0]["growth_bytes"] or 0)


def needed_bytes(tables: Sequence[Table], block_size: int) -> int:
    """Return the bytes that tables and their indexes take from a tablespace."""
    sizes = [table.blocks * block_size * (1 + _OVERHEAD) for table in tables]
    sizes += [index_bytes(table.blocks) for table in tables if table.indexed]
    return sum(_in_extents(size) for size in sizes)


def _in_extents(size: float) -> int:
    extent = next(extent for limit, extent in _EXTENTS if size <= limit)
    return -(-int(size) // extent) * extent


def check_space(place: Tablespace, needed: int) -> str:
    """Raise SlobError when data of ``needed`` bytes do not fit; what is loaded now counts as free.

    Return what was found. Files may extend themselves: where this user can't see whether they do, the load tries.
    """
    more = max(0, needed - place.held_bytes)
    text = f"{format_bytes(needed)} needed in tablespace {place.name}"
    if place.quota_bytes is not None and place.quota_bytes < more:
        why = f"the load needs {format_bytes(more)} more in tablespace {place.name}, and this user's quota leaves"
        remedy = f"as an administrator: ALTER USER {quoted(place.owner)} QUOTA UNLIMITED ON {quoted(place.name)}"
        raise SlobError(f"{why} {format_bytes(place.quota_bytes)}", remedy)
    if place.free_bytes >= more:
        return f"{text}, and free"
    if place.growth_bytes is None:
        free = f"{format_bytes(place.free_bytes)} are free in its files; whether they may grow can't be seen"
        return f"{text}; {free} (GRANT SELECT ON SYS.DBA_DATA_FILES TO {quoted(place.owner)} shows it)"
    if place.free_bytes + place.growth_bytes < more:
        free = f"its files have {format_bytes(place.free_bytes)} and may grow by {format_bytes(place.growth_bytes)}"
        why = f"the load needs {format_bytes(more)} more in tablespace {place.name}; {free}"
        raise SlobError(why, f"as an administrator: {_grown(place, more - place.free_bytes - place.growth_bytes)}")
    return f"{text}, and free once its files have grown"


def _grown(place: Tablespace, lacking: int) -> str:
    """Return the statement that gives a tablespace room. A bigfile tablespace has one file, and takes no other."""
    change = f"ALTER TABLESPACE {quoted(place.name)}"
    if place.is_bigfile:
        return f"{change} AUTOEXTEND ON MAXSIZE UNLIMITED"
    return f"{change} ADD DATAFILE SIZE {-(-lacking // MIB)}M"


def redo_of_load(connection: Connection, place: Tablespace) -> str:
    """Return whether a load in this tablespace writes redo, for the load's checks."""
    if place.forces_logging:
        return f"the load writes redo: tablespace {place.name} has FORCE LOGGING, which overrides NOLOGGING"
    try:
        rows = query(connection, statement("tablespace", "force_logging"))
    except oracledb.DatabaseError as error:
        if is_missing(error):
            return "NOLOGGING; whether the database has FORCE LOGGING can't be seen without SELECT on V_$DATABASE"
        raise
    if rows and rows[0]["force_logging"] == "YES":
        return "the load writes redo: the database has FORCE LOGGING, which overrides NOLOGGING"
    return "NOLOGGING: a standby or a restored backup has no rows of it; load again there"
