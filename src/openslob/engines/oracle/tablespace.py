"""The tablespace of the test tables: its block size, the room in it for this user, and whether a load writes redo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from openslob.core.errors import SlobError
from openslob.core.units import GIB, MIB, format_bytes
from openslob.core.workload import DataSpec
from openslob.engines.facts import Finding
from openslob.engines.oracle.names import grant_select, identifier, quote
from openslob.engines.oracle.remedies import advise
from openslob.engines.oracle.server_facts import Survey, no_tablespace
from openslob.engines.tables import DataTable

# Space bitmaps and segment headers beside the rows.
_OVERHEAD = 0.03
# Sizes of the extents that AUTOALLOCATE makes, by the size of the segment up to which it makes them.
_EXTENTS: Sequence[tuple[float, int]] = ((MIB, MIB // 16), (64 * MIB, MIB), (GIB, 8 * MIB), (float("inf"), 64 * MIB))
_UNLIMITED = -1
# An index entry: header, key with its length, ROWID, its place in the directory; and the levels above.
_INDEX_ENTRY_BYTES = 20


@dataclass(frozen=True)
class Tablespace:
    """A tablespace, as its user sees it.

    ``owner`` is that user; ``quota_bytes`` is what its quota leaves, None without a limit; ``free_bytes`` is free in
    the files, and ``growth_bytes`` is how far they may still grow, None when this user may not see that. ``held_bytes``
    are those of the tables and indexes that are loaded now. ``database_forces_logging`` is None when it can't be seen.
    """

    name: str
    owner: str
    block_size: int
    quota_bytes: int | None
    free_bytes: int
    growth_bytes: int | None
    held_bytes: int
    forces_logging: bool
    database_forces_logging: bool | None
    is_bigfile: bool

    @property
    def clause(self) -> str:
        """The clause of CREATE TABLE and CREATE INDEX."""
        return f"TABLESPACE {quote(self.name)}"


def find(survey: Survey, name: str | None) -> Tablespace:
    """Return the tablespace of that name, or the user's default one for None. SlobError if the user may not use it."""
    identity = survey.row("identity")
    named = str(name or identity["default_tablespace"])
    row = survey.row("tablespace", tablespace_name=named)
    if not row:
        raise no_tablespace(str(identity["user_name"]), named)
    named = str(row["tablespace_name"])
    space, files = survey.row("space", tablespace_name=named), survey.rows("files", tablespace_name=named)
    quota = None if survey.has_right("UNLIMITED TABLESPACE") else space.get("quota_bytes")
    forced = survey.row("database").get("force_logging")
    held = survey.row("held", tablespace_name=named)
    return Tablespace(
        name=named,
        owner=str(identity["user_name"]),
        block_size=int(row["block_size"]),
        quota_bytes=None if quota is None or int(quota) == _UNLIMITED else max(0, int(quota)),
        free_bytes=int(space.get("free_bytes") or 0),
        growth_bytes=None if files is None else sum(int(file["most_bytes"]) - int(file["bytes"]) for file in files),
        held_bytes=int(held.get("held_bytes") or 0),
        forces_logging=row["force_logging"] == "YES",
        database_forces_logging=None if forced is None else forced == "YES",
        is_bigfile=row["bigfile"] == "YES",
    )


def find_for_data(survey: Survey, name: str | None, spec: DataSpec) -> Tablespace:
    """Return the tablespace of data to be loaded, ``name`` unless they say which.

    SlobError if it has another block size than they are meant for.
    """
    found = find(survey, spec.tablespace or name)
    if spec.block_size not in (None, found.block_size):
        why = f"tablespace {found.name} has blocks of {found.block_size:,} bytes, and the data are specified for"
        raise SlobError(f"{why} {spec.block_size:,}", "name the tablespace with these blocks in the target")
    return found


def estimate_bytes(tables: Sequence[DataTable], block_size: int) -> int:
    """Return the bytes that tables and their indexes take from a tablespace."""
    sizes = [table.blocks * block_size * (1 + _OVERHEAD) for table in tables]
    sizes += [table.blocks * _INDEX_ENTRY_BYTES for table in tables if table.indexed]
    return sum(_round_to_extents(size) for size in sizes)


def _round_to_extents(size: float) -> int:
    extent = next(extent for limit, extent in _EXTENTS if size <= limit)
    return -(-int(size) // extent) * extent


def find_lack(survey: Survey, place: Tablespace, needed: int) -> Finding | None:
    """Return why data of ``needed`` bytes find no room; what is loaded now counts as free.

    It does not block where they may find room: nobody but an administrator can see whether the files will grow.
    """
    more = max(0, needed - place.held_bytes)
    why = f"the data need {format_bytes(more)}{' more' if place.held_bytes else ''}, and"
    if place.quota_bytes is not None and place.quota_bytes < more:
        remedy = f"ALTER USER {identifier(place.owner)} QUOTA UNLIMITED ON {identifier(place.name)};"
        why = f"{why} this user's quota leaves {format_bytes(place.quota_bytes)}"
        return Finding("space", why, remedy, True, by=survey.sysdba)
    if place.free_bytes >= more:
        return None
    if place.growth_bytes is None:
        free = f"{format_bytes(place.free_bytes)} are free in the files of tablespace {place.name} as they are"
        remedy = f"{grant_select('DBA_DATA_FILES', identifier(place.owner))};"
        return Finding("space", f"{why} {free}; whether they may grow is not known", remedy, False, by=survey.sysdba)
    room = place.free_bytes + place.growth_bytes
    if room >= more:
        return None
    why = f"{why} tablespace {place.name} has room for {format_bytes(room)}"
    return Finding("space", why, _compose_growth(place, more - room), True, by=survey.sysdba)


def _compose_growth(place: Tablespace, lacking: int) -> str:
    """Return the statement that gives a tablespace room. A bigfile tablespace has one file, and takes no other."""
    change = f"ALTER TABLESPACE {identifier(place.name)}"
    if place.is_bigfile:
        return f"{change} AUTOEXTEND ON MAXSIZE UNLIMITED;"
    return f"{change} ADD DATAFILE SIZE {-(-lacking // MIB)}M AUTOEXTEND ON;"


def check_space(survey: Survey, place: Tablespace, needed: int) -> str:
    """Raise SlobError when data of ``needed`` bytes do not fit; return what was found, for the load's checks."""
    lack = find_lack(survey, place, needed)
    if lack is None:
        return f"{format_bytes(needed)} needed in tablespace {place.name}, and free"
    if lack.blocking:
        raise SlobError(lack.why, advise(survey, lack).advice)
    return lack.why


def describe_redo(place: Tablespace) -> str:
    """Return whether a load in this tablespace writes redo, for the load's checks."""
    if place.forces_logging or place.database_forces_logging:
        whose = f"tablespace {place.name}" if place.forces_logging else "the database"
        return f"written: {whose} has FORCE LOGGING, which overrides NOLOGGING"
    unknown = "; whether the database has FORCE LOGGING can't be seen" if place.database_forces_logging is None else ""
    return f"none (NOLOGGING): a standby or a restored backup lacks these rows{unknown}"
