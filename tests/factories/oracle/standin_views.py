"""The rows of the stand-in's views, from the state of `World`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from factories.oracle.standin_sql import now_us
from factories.oracle.standin_world import CDB, MIB, USER, SessionRow, World
from openslob.core.method import OpKind

Rows = Iterable[Sequence[Any]]
HOST = "standin"
EXTENT_BLOCKS = 128
TABLESPACE = "USERS"
DISK_BYTES = 64 << 30
# Statistics that the loop moves are at 0 before; others are 0 for ever.
STATISTICS = tuple(
    """session logical reads|consistent gets|db block gets|db block changes|physical read total IO requests
    |physical read total multi block requests|physical read total bytes|physical read IO requests|physical read bytes
    |physical reads|physical reads cache|physical reads cache prefetch|physical reads direct
    |physical read requests optimized|physical write total IO requests|physical write total multi block requests
    |physical write total bytes|physical write IO requests|physical write bytes|physical writes
    |physical writes from cache|physical writes direct|redo size|redo writes|redo blocks written|redo write time
    |redo write time (usec)|redo synch writes|redo synch time|redo synch time (usec)|redo entries|redo wastage
    |redo log space requests|user commits|user rollbacks|user calls|execute count|parse count (hard)
    |parse count (total)|table fetch by rowid|table fetch continued row|table scan rows gotten
    |table scans (direct read)|index fetch by key|index scans kdiixs1|DBWR checkpoints|DBWR checkpoint buffers written
    |background checkpoints started|background checkpoints completed|free buffer requested|free buffer inspected
    |CPU used by this session|flash cache read hits|cell flash cache read hits|opened cursors current|logons current
    |rollbacks only - consistent read gets|cleanouts only - consistent read gets""".replace("\n", "").split("|")
)
NAMES = tuple(name.strip() for name in STATISTICS)


def _cpu_s(world: World) -> float:
    return world.stats["cpu us"] / 1e6


def _stat(world: World, name: str) -> int:
    if name == "CPU used by this session":
        return round(world.stats["cpu us"] / 1e4)
    return round(world.stats[name])


def _session_stat(session: SessionRow, name: str) -> int:
    return round(session.counts["cpu us"] / 1e4 if name == "CPU used by this session" else session.counts[name])


# What a pluggable database's own counters lack: background processes work for all of them.
_OF_BACKGROUND = (
    *("redo writes", "redo blocks written", "redo write time", "redo write time (usec)", "physical writes from cache"),
    *("DBWR checkpoints", "background checkpoints started", "background checkpoints completed"),
    *("background cpu time", "background elapsed time"),
)


def of_whole_instance(
    rows: Callable[[World, int], Rows], *numbers: int, since: int = 0
) -> Callable[[World, int], Rows]:
    """Rows with what other pluggable databases do in the columns ``numbers``: twice as much, and some by the second.

    ``since`` is the first version in which a pluggable database has a view of its own beside this one.
    """

    def shown(world: World, sid: int) -> Rows:
        if not world.pluggable or world.release < since:
            return rows(world, sid)
        others = round((now_us() - world.started_us) * 40)
        return (
            [each * 3 + others if at in numbers else each for at, each in enumerate(row)] for row in rows(world, sid)
        )

    return shown


def of_container(rows: Callable[[World, int], Rows], name: int) -> Callable[[World, int], Rows]:
    """Rows of the pluggable database alone; column ``name`` has what is counted."""
    return lambda world, sid: (
        row for row in rows(world, sid) if not world.pluggable or row[name] not in _OF_BACKGROUND
    )


def of_sysstat(world: World, _sid: int) -> Rows:
    return ((number, name, 1, _stat(world, name), number, 3) for number, name in enumerate(NAMES))


def of_statname(_world: World, _sid: int) -> Rows:
    return ((number, name, 1, number) for number, name in enumerate(NAMES))


def of_sesstat(world: World, _sid: int) -> Rows:
    for sid, session in world.sessions.items():
        yield from ((sid, number, _session_stat(session, name)) for number, name in enumerate(NAMES))


def of_mystat(world: World, sid: int) -> Rows:
    return ((sid, number, _session_stat(world.sessions[sid], name)) for number, name in enumerate(NAMES))


def of_time_model(world: World, _sid: int) -> Rows:
    cpu, elapsed = world.stats["cpu us"], world.stats["db us"]
    found = {
        "DB time": elapsed,
        "DB CPU": cpu,
        "background elapsed time": world.stats["redo writes"] * world.pace.log_us,
        "background cpu time": world.stats["redo writes"] * world.pace.io_cpu_us,
        "sql execute elapsed time": elapsed,
        "PL/SQL execution elapsed time": cpu / 10,
        "parse time elapsed": 0,
    }
    return ((at, name, round(value), 3) for at, (name, value) in enumerate(found.items()))


def of_system_event(world: World, _sid: int) -> Rows:
    for at, ((event, wait_class), count) in enumerate(world.waits.items()):
        us = round(world.wait_us[event, wait_class])
        yield event, count, 0, us // 10_000, us, count, us // 10_000, us, wait_class, at
    writes, us = world.stats["redo writes"], round(world.stats["redo writes"] * world.pace.log_us)
    yield "log file parallel write", round(writes), 0, us // 10_000, us, 0, 0, 0, "System I/O", 90
    yield "SQL*Net message from client", 1, 0, 0, 1, 1, 0, 1, "Idle", 91


def of_histogram(world: World, _sid: int) -> Rows:
    for (event, edge), count in sorted(world.durations.items()):
        yield 1, event, edge, count, f"{edge} microseconds", "", 3


def of_osstat(world: World, _sid: int) -> Rows:
    background = world.stats["redo writes"] * world.pace.io_cpu_us / 1e6
    busy = (_cpu_s(world) + background) * 100
    whole = (now_us() - world.started_us) / 1e4 * world.cpus
    found = {
        "NUM_CPUS": world.cpus,
        "NUM_CPU_CORES": world.cpus // 2,
        "NUM_CPU_SOCKETS": 1,
        "BUSY_TIME": busy,
        "IDLE_TIME": whole - busy,
        "USER_TIME": busy * 0.8,
        "SYS_TIME": busy * 0.2,
        "IOWAIT_TIME": 0,
        "NICE_TIME": 0,
        "RSRC_MGR_CPU_WAIT_TIME": 0,
        "PHYSICAL_MEMORY_BYTES": 64 << 30,
        "FREE_MEMORY_BYTES": 32 << 30,
    }
    return ((name, round(value)) for name, value in found.items())


def of_iostat_function(world: World, _sid: int) -> Rows:
    stats, block = world.stats, world.block_size
    reads, writes = round(stats["physical reads cache"]), round(stats["physical writes from cache"])
    yield "Buffer Cache Reads", reads, 0, 0, 0, reads * block // MIB, 0, 0, 0
    yield "LGWR", 0, 0, round(stats["redo writes"]), 0, 0, 0, round(stats["redo size"]) // MIB, 0
    yield "DBWR", 0, 0, writes, 0, 0, 0, writes * block // MIB, 0


def of_session(world: World, _sid: int) -> Rows:
    for sid, session in world.sessions.items():
        module, action = session.attributes()
        event, wait_class = _moment(world, session)
        state = "WAITED SHORT TIME" if event == "CPU" else "WAITING"
        idle = "SQL*Net message from client"
        shown = (idle, "Idle") if event == "CPU" else (event, wait_class)
        status = "ACTIVE" if session.busy else "INACTIVE"
        ids = (sid, 1, USER, module, action, status, state, *shown, "DEDICATED", "standin", f"P{sid}")
        blocker = ("VALID", 1, session.waits_for) if session.waits_for else ("NO HOLDER", None, None)
        yield (
            *ids,
            HOST,
            "slob",
            1521,
            "tester",
            "USER",
            *blocker,
            0,
            0,
            0,
            "abcdefgh12345",
            0,
            3,
            str(sid),
            "2026-11-22",
        )


def _moment(world: World, session: SessionRow) -> tuple[str, str]:
    """Return what a session does now: drawn from what it has done in its slice, in proportion to the time of each."""
    if not session.busy:
        return "SQL*Net message from client", "Idle"
    if session.asleep or not session.doing:
        return "PL/SQL lock timer", "Idle"
    events = list(session.doing.items())
    return world.chance.choices([event for event, _ in events], [us for _, us in events])[0]


def of_all_instances(rows: Callable[[World, int], Rows]) -> Callable[[World, int], Rows]:
    return lambda world, sid: ((1, *row) for row in rows(world, sid))


def of_process(world: World, _sid: int) -> Rows:
    for at, name in enumerate(("PMON", "DBW0", "LGWR", "CKPT")):
        yield f"B{at}", str(100_000_000 + at), name, f"oracle@{HOST} ({name})", 1
    yield from ((f"P{sid}", str(200_000_000 + sid), None, f"oracle@{HOST}", None) for sid in world.sessions)


def of_instance(world: World, sid: int) -> Rows:
    started = datetime.fromtimestamp(world.started_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
    yield (
        1,
        world.sessions[sid].instance,
        HOST,
        world.version,
        started,
        "OPEN",
        "NO",
        "STOPPED",
        "ALLOWED",
        "PRIMARY_INSTANCE",
    )


def of_database(world: World, _sid: int) -> Rows:
    scn = round(1_000_000 + world.stats["user commits"])
    yield (
        1,
        CDB,
        "READ WRITE",
        "NOARCHIVELOG",
        "NO",
        "NO",
        "PRIMARY",
        "Linux x86 64-bit",
        "MAXIMUM PERFORMANCE",
        "NO",
        scn,
        "YES",
        CDB,
        3,
    )


def of_parameters(world: World, sid: int) -> Rows:
    usual = {
        "db_block_size": str(world.block_size),
        "db_cache_size": str(world.cache_bytes),
        "sga_target": "0",
        "memory_target": "0",
        "filesystemio_options": "setall",
        "disk_asynch_io": "TRUE",
        "commit_logging": "",
        "commit_wait": "",
        "commit_write": "",
        "statistics_level": "TYPICAL",
        "timed_statistics": "TRUE",
        "result_cache_mode": "MANUAL",
        "resource_manager_plan": "",
        "cpu_count": str(world.cpus),
        "control_management_pack_access": "NONE",
        "processes": "1000",
        "sessions": "1500",
        "inmemory_size": "0",
        "db_flash_cache_file": "",
        "optimizer_ignore_hints": "FALSE",
        "optimizer_dynamic_sampling": "2",
        "optimizer_adaptive_plans": "TRUE",
        "plsql_code_type": "INTERPRETED",
        "plsql_optimize_level": "2",
        "_db_block_prefetch_limit": "0",
        "_db_block_prefetch_quota": "0",
        "_db_file_noncontig_mblock_read_count": "0",
    }
    own = world.sessions[sid].parameters
    for name, known in {**usual, **world.parameters}.items():
        changed, value = name in world.parameters or name.startswith("_"), own.get(name, known)
        yield name, value or None, value or None, str(not changed).upper(), "FALSE", "IMMEDIATE", "FALSE"


def of_buffer_pool(world: World, _sid: int) -> Rows:
    yield "DEFAULT", world.block_size, world.cache_bytes // MIB, world.cache_bytes // world.block_size


def of_sga(world: World, _sid: int) -> Rows:
    yield "DEFAULT buffer cache", world.cache_bytes, world.cache_bytes, world.cache_bytes, 0, world.cache_bytes, None
    yield "shared pool", 512 * MIB, 512 * MIB, 512 * MIB, 0, 512 * MIB, None


def of_segments(world: World, _sid: int) -> Rows:
    for name in world.tables:
        rows = world.rows(name)
        blocks = rows + rows // 64 + 3 if name.startswith("CF") else 8
        extents = -(-blocks // EXTENT_BLOCKS) if blocks > 8 else 1
        held = extents * (EXTENT_BLOCKS if blocks > 8 else 8)
        yield name, "TABLE", held * world.block_size, held, TABLESPACE, extents
        for index in world.tables[name].indexes:
            yield index, "INDEX", (rows // 400 + 8) * world.block_size, rows // 400 + 8, TABLESPACE, 1


def of_tables(world: World, _sid: int) -> Rows:
    for name, table in world.tables.items():
        rows = world.rows(name) if table.analyzed else None
        blocks = None if rows is None else rows + rows // 64
        when = "2026-11-22 00:00:00" if table.analyzed else None
        logged = "YES" if table.logging else "NO"
        yield (
            name,
            rows,
            blocks,
            0 if table.analyzed else None,
            2400,
            table.pct_free,
            when,
            TABLESPACE,
            logged,
            "VALID",
            "DISABLED",
            0,
        )


def of_tab_statistics(world: World, _sid: int) -> Rows:
    for name, table in world.tables.items():
        yield (
            name,
            "TABLE",
            "ALL" if table.locked_statistics else None,
            world.rows(name) if table.analyzed else None,
            "NO",
        )


def of_indexes(world: World, _sid: int) -> Rows:
    for name, table in world.tables.items():
        for index, unique in table.indexes.items():
            rows = world.rows(name)
            kind = "UNIQUE" if unique else "NONUNIQUE"
            yield index, name, kind, "VALID", rows, 1, rows // 400 + 1, rows, rows, "1", "VISIBLE", TABLESPACE


def of_ind_columns(world: World, _sid: int) -> Rows:
    """The columns of indexes: all are on custid."""
    return ((index, name, "CUSTID", 1) for name, table in world.tables.items() for index in table.indexes)


def of_columns(world: World, _sid: int) -> Rows:
    for name, table in world.tables.items():
        known = world.db.execute(f"PRAGMA table_info({name})").fetchall()
        for at, column in enumerate(known, 1):
            default = table.values.get(column[1].upper())
            yield name, column[1].upper(), at, "VARCHAR2", 128, default, None, 0


def of_column_statistics(world: World, _sid: int) -> Rows:
    for name, table in world.tables.items():
        if table.analyzed:
            known = world.db.execute(f"PRAGMA table_info({name})").fetchall()
            yield from ((name, column[1].upper(), 1) for column in known)


def of_objects(world: World, _sid: int) -> Rows:
    names = [(name, "TABLE") for name in world.tables]
    names += [(index, "INDEX") for table in world.tables.values() for index in table.indexes]
    names += [(name, "PROCEDURE") for name in world.procedures]
    return ((world.object_number(name), name, kind, "VALID", "N") for name, kind in names)


def _statements(world: World) -> Iterator[tuple[int, OpKind]]:
    """Yield the statements of the loop that were executed, by schema and kind."""
    yield from sorted({(schema, kind) for schema, kind, _ in world.sql})


def of_sql(world: World, _sid: int) -> Rows:
    for schema, kind in _statements(world):
        figures = [round(world.sql[schema, kind, name]) for name in ("executions", "rows", "gets", "reads")]
        program = world.object_number(f"SLOB_SLICE_{schema}")
        command = 6 if kind is OpKind.UPDATE else 3
        sql_id = f"{kind}{schema}"
        yield (
            sql_id,
            command,
            program,
            *figures,
            0,
            0,
            0,
            1,
            0,
            sql_id,
            0,
            kind,
            3,
            USER,
            "VALID",
            "2026-11-22 00:00:00",
        )


def plan_of(kind: OpKind, schema: int, without_hints: bool) -> Rows:
    """Return the steps of a statement's plan: operation, options, object."""
    table = f"CF{2 if kind is OpKind.SCAN else 1}_{schema}"
    by_index = [("INDEX", "RANGE SCAN", f"{table}_CUSTID")]
    if kind is OpKind.UPDATE:
        return [("UPDATE STATEMENT", None, None), ("UPDATE", None, table), *by_index]
    reads = (
        [("TABLE ACCESS", "FULL", table)]
        if kind is OpKind.SCAN
        else [("TABLE ACCESS", "BY INDEX ROWID BATCHED" if without_hints else "BY INDEX ROWID", table), *by_index]
    )
    return [("SELECT STATEMENT", None, None), ("SORT", "AGGREGATE", None), *reads]


def of_sql_plan(world: World, sid: int) -> Rows:
    for schema, kind in _statements(world):
        sql_id = f"{kind}{schema}"
        for at, step in enumerate(plan_of(kind, schema, world.ignores_hints(sid))):
            yield sql_id, 0, sql_id, at, at - 1 if at else None, *step, 0


def of_segment_statistics(world: World, _sid: int) -> Rows:
    for (table, statistic), value in world.segments.items():
        yield USER, table, "TABLE", statistic, round(value), TABLESPACE
        yield USER, f"{table}_CUSTID", "INDEX", statistic, 0, TABLESPACE


def fixed(*rows: Sequence[Any]) -> Callable[[World, int], Rows]:
    return lambda _world, _sid: rows


def kind_of_statement(text: str) -> OpKind:
    """Return the kind of operation that a statement of the loop is of."""
    if text.upper().startswith("UPDATE"):
        return OpKind.UPDATE
    return OpKind.SCAN if "CF2_" in text.upper() else OpKind.SELECT
