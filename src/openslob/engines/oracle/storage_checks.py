"""Pre-flight checks of what lies on storage: tablespace and its cache, files, redo log, undo."""

from __future__ import annotations

from collections.abc import Iterator

from openslob.core.units import GIB, KIB, MIB, format_bytes
from openslob.core.workload import Mode, RedoStress, Workload
from openslob.engines.facts import DataState, Finding, ServerFacts
from openslob.engines.oracle import rights, tablespace
from openslob.engines.oracle.names import identifier
from openslob.engines.oracle.server_facts import ASM, no_tablespace
from openslob.engines.oracle.survey import Survey
from openslob.engines.oracle.tables import tables_of

# A log file should last this long, in s; and the rate of redo that storage of today takes, in bytes a second.
_SWITCH_S, _LIKELY_REDO = 20, 50 * MIB
# Redo of one row of an update, header and undo included: two columns, and all nineteen.
_REDO_BYTES = {RedoStress.LITE: 1 * KIB, RedoStress.HEAVY: 6 * KIB}
_SMALL_UNDO = 2 * GIB
_PROTECTED = ("MAXIMUM PROTECTION", "MAXIMUM AVAILABILITY")


def findings(survey: Survey, workload: Workload, facts: ServerFacts, loaded: DataState | None) -> Iterator[Finding]:
    """Yield what about storage stops or spoils a run."""
    yield from _tablespace(survey, facts)
    yield from _cache(survey, facts)
    if loaded is None:
        yield from _space(survey, workload, facts)
    yield from _files(survey, facts)
    yield from _flash(survey, facts)
    yield from _compression(survey, facts)
    if workload.update_pct:
        yield from _redo(survey, workload, facts)
        yield from _undo(survey, workload, facts)
    yield from _protection(facts)


def _tablespace(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    row = survey.row("tablespace", tablespace_name=facts.tablespace)
    user, by = rights.user_name(survey), rights.sysdba(survey)
    quota = f"ALTER USER {user} QUOTA UNLIMITED ON {identifier(str(facts.tablespace))};"
    if not row:
        yield Finding("tablespace", no_tablespace(user, str(facts.tablespace)).what, quota, True, by=by)
    elif row["status"] != "ONLINE":
        why = f"tablespace {facts.tablespace} is {row['status']}"
        change = "ONLINE" if row["status"] == "OFFLINE" else "READ WRITE"
        yield Finding("tablespace", why, f"ALTER TABLESPACE {identifier(str(facts.tablespace))} {change};", True, by=by)
    default = str(survey.row("identity").get("default_tablespace"))
    if default != facts.tablespace and not survey.row("tablespace", tablespace_name=default):
        why = f"the lock and the list of loads are small tables in tablespace {default}, which user {user} may not use"
        yield Finding("tablespace", why, f"ALTER USER {user} QUOTA 16M ON {identifier(default)};", True, by=by)


def _cache(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding where no cache holds the tablespace's blocks."""
    if facts.cache_bytes == 0:
        size = facts.block_size // KIB
        why = f"the server has no cache for the blocks of tablespace {facts.tablespace}, of {size} KB"
        remedy = f"ALTER SYSTEM SET db_{size}k_cache_size = 1G;"
        yield Finding("cache", why, remedy, True, by=rights.sysdba_of_root(survey))


def _space(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding where the data would not find room."""
    if not survey.row("tablespace", tablespace_name=facts.tablespace):
        return
    tables = tables_of(workload.data(facts.block_size, facts.tablespace))
    place = tablespace.find(survey, facts.tablespace)
    if lack := tablespace.lack_of_space(place, tablespace.needed_bytes(tables, facts.block_size)):
        yield Finding("space", lack.why, lack.remedy, blocking=lack.sure, by=rights.sysdba(survey))


def _files(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    """Yield files that are not read as fast as they could be."""
    files = survey.rows("files", tablespace_name=facts.tablespace)
    modes = {int(row["file_no"]): str(row["asynch_io"]) for row in survey.rows("file_io") or ()}
    slow = [row for row in files or () if modes.get(int(row["file_id"])) == "ASYNC_OFF"]
    if slow and not all(str(row["file_name"]).startswith(ASM) for row in slow):
        why = f"{len(slow)} files of tablespace {facts.tablespace} are open without asynchronous I/O"
        remedy = "ALTER SYSTEM SET filesystemio_options = SETALL SCOPE = SPFILE;\n-- and restart the instance"
        yield Finding("asynchronous I/O", why, remedy, False, True, rights.sysdba_of_root(survey))


def _flash(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    if file := facts.settings.get("db_flash_cache_file"):
        why = f"blocks that leave the cache are kept in a flash cache ({file}) and read from there"
        remedy = "ALTER SYSTEM SET db_flash_cache_size = 0;"
        yield Finding("flash cache", why, remedy, False, True, rights.sysdba_of_root(survey))
    if int(survey.row("smart_storage").get("hits") or 0):
        why = "the storage has a flash cache of its own (Exadata): reads of blocks visited before may come from it"
        yield Finding("smart storage", why, "take it into account, or load far more than the flash cache", False)


def _compression(survey: Survey, facts: ServerFacts) -> Iterator[Finding]:
    row = survey.row("tablespace", tablespace_name=facts.tablespace)
    if row.get("def_tab_compression") == "ENABLED":
        kind = f" ({row['compress_for']})" if row.get("compress_for") else ""
        why = f"tables in {facts.tablespace} are compressed by default{kind}; the test tables ask not to be"
        remedy = f"ALTER TABLESPACE {identifier(str(facts.tablespace))} DEFAULT NOCOMPRESS;"
        yield Finding("compression", why, remedy, False, by=rights.sysdba(survey))
    if row.get("encrypted") == "YES":
        why = f"tablespace {facts.tablespace} is encrypted: every read and write of a block costs CPU for it"
        yield Finding("encryption", why, "take it into account, or name a tablespace that is not", False)
    in_memory = survey.row("in_memory", tablespace_name=facts.tablespace).get("def_inmemory")
    if in_memory == "ENABLED":
        why = f"tables in {facts.tablespace} are copied into the In-Memory column store, which scans read"
        remedy = f"ALTER TABLESPACE {identifier(str(facts.tablespace))} DEFAULT NO INMEMORY;"
        yield Finding("in-memory", why, remedy, False, True, rights.sysdba(survey))


def _redo(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield log files that are full in less than 20 s at the likely rate of redo, and too few of them."""
    logs = survey.rows("logs")
    if not logs:
        return
    smallest = min(int(row["bytes"]) for row in logs)
    given = redo_rate(workload, facts.block_size)
    rate = given or _LIKELY_REDO
    if smallest < rate * _SWITCH_S:
        size = max(1, -(-int(rate) * _SWITCH_S // GIB))
        measure = f"{format_bytes(rate)}/s of redo" + ("" if given else ", which storage of today takes,")
        why = (
            f"the redo log's files have {format_bytes(smallest)}: at {measure} they are full every "
            f"{smallest / rate:.0f} s, and sessions may wait for the next one"
        )
        remedy = "\n".join(f"ALTER DATABASE ADD LOGFILE SIZE {size}G;" for _ in range(3))
        yield Finding("redo log", why, remedy, False, bool(given) or workload.mode is Mode.REDO, _root(survey))
    groups = [sum(1 for row in logs if row["thread"] == thread) for thread in {row["thread"] for row in logs}]
    if min(groups) < 3:
        why = (
            f"the redo log has {min(groups)} groups: the server soon waits for a checkpoint before it can use one again"
        )
        yield Finding(
            "redo log", why, f"ALTER DATABASE ADD LOGFILE SIZE {-(-smallest // MIB)}M;", False, by=_root(survey)
        )


def redo_rate(workload: Workload, block_size: int) -> float | None:
    """Return the bytes of redo a second at a given rate, about; None for a run as fast as it can be."""
    operations = workload.ops_per_s_wanted(block_size)
    if operations is None:
        return None
    return operations * workload.update_pct / 100 * workload.rows_per_update * _REDO_BYTES[workload.redo_stress]


def _root(survey: Survey) -> str:
    return rights.sysdba_of_root(survey)


def _undo(survey: Survey, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Yield a finding where undo is small for updates of all columns."""
    name = facts.settings.get("undo_tablespace")
    if workload.redo_stress is not RedoStress.HEAVY or not name:
        return
    files = survey.rows("files", tablespace_name=name.upper())
    most = sum(int(row["most_bytes"]) for row in files or ())
    if files and most < _SMALL_UNDO:
        why = f"undo tablespace {name} can grow to {format_bytes(most)}: updates of all columns may fill it"
        add = f"ALTER TABLESPACE {name} ADD DATAFILE SIZE 4G AUTOEXTEND ON;"
        yield Finding("undo", why, add, False, by=rights.sysdba(survey))


def _protection(facts: ServerFacts) -> Iterator[Finding]:
    """Yield what the database writes beside the work loop's own changes."""
    settings = facts.settings
    texts = {
        "archiving": (
            settings.get("log_mode") == "ARCHIVELOG",
            "the redo log is copied to the archive, by I/O of its own",
        ),
        "force logging": (settings.get("force_logging") == "YES", "a load is logged in full, so that it takes longer"),
        "flashback": (
            settings.get("flashback_on") == "YES",
            "old versions of changed blocks are written to the flashback log",
        ),
        "supplemental logging": (
            settings.get("supplemental_log_data_min", "NO") != "NO",
            "updates write more redo than they need",
        ),
        "standby": (settings.get("protection_mode") in _PROTECTED, "commits wait for a standby database, too"),
    }
    for name, (holds, why) in texts.items():
        if holds:
            yield Finding(name, why, "take it into account when you compare servers", False)
