"""Readers of the tables at the top of a report: database, host, snapshots, caches."""

from __future__ import annotations

import re

from openslob.awr.builder import ReportBuilder
from openslob.awr.model import ReportInstance
from openslob.awr.numbers import Number
from openslob.awr.tables import ReportTable, cell

_YES_NO = {"YES": True, "NO": False, "Y": True, "N": False}
_HOST = (r"host( name)?", "platform", "cpus", "cores", "sockets", r"memory ?\(gb?\)")
_CONTAINER = re.compile(r"[\w$#.-]+")
_MINUTES = re.compile(r"([\d.,' ]+)(?:\(min)?.*")


def read_identity(table: ReportTable, builder: ReportBuilder) -> None:
    """Read a table below the report's title; its headings say which one it is."""
    if table.index("snap id") is not None:
        read_snapshots(table, builder)
    elif table.index("db name") is not None or table.index("db id") is not None:
        read_database(table, builder)
    elif table.index("host name") is not None:
        read_host(table, builder)
    elif table.index("container name") is not None and len(table.rows) == 1:  # several are those that were open
        name = cell(table.rows[0], table.index("container name"))
        builder.set("pdb_name", name if _CONTAINER.fullmatch(name) else None)
    elif table.index("instance") is not None and table.rows:
        builder.instances.append(_instance(table, table.rows[0], builder))


def read_database(table: ReportTable, builder: ReportBuilder) -> None:
    """Read ``DB Name, DB Id, Unique Name, Role, Edition, Release, RAC, CDB``; before 12.2 also the instance."""
    if not table.rows:
        return
    row = table.rows[0]
    builder.set("db_name", cell(row, table.index("db name", "database")))
    builder.set("db_id", builder.whole(cell(row, table.index("db id"))))
    builder.set("unique_name", cell(row, table.index("unique name")))
    builder.set("role", cell(row, table.index("(db )?role")))
    builder.set("edition", cell(row, table.index("edition")))
    builder.set("release", cell(row, table.index("release")))
    builder.set("rac", _YES_NO.get(cell(row, table.index("rac", "cluster"))))
    builder.set("cdb", _YES_NO.get(cell(row, table.index("cdb"))))
    builder.set("host", cell(row, table.index("host", "host name")))
    if table.index("instance") is not None:
        builder.instances.append(_instance(table, row, builder))


def _instance(table: ReportTable, row: tuple[str, ...], builder: ReportBuilder) -> ReportInstance:
    return ReportInstance(
        name=cell(row, table.index("instance")) or None,
        number=builder.whole(cell(row, table.index("inst num", "i#"))),
        host=cell(row, table.index("host")) or None,
        release=cell(row, table.index("release")) or None,
        startup=cell(row, table.index("startup time", "startup")) or None,
        platform=cell(row, table.index("platform")) or None,
        elapsed_min=builder.number(table, row, table.index(r"elapsed time ?\(min\)")),
        db_time_min=builder.number(table, row, table.index(r"db time ?\(min\)")),
        active_sessions=builder.number(table, row, table.index("avg active sessions")),
    )


def read_host(table: ReportTable, builder: ReportBuilder) -> None:
    """Read ``Host Name, Platform, CPUs, Cores, Sockets, Memory``. Statspack wraps the headings but keeps the order."""
    if not table.rows:
        return
    if not table.columns:
        _labelled_host(table, builder)
        return
    row = table.rows[0]
    columns = [table.index(heading) for heading in _HOST]
    if None in columns:
        first = 0 if table.index("host name") is not None or len(row) == 6 else 1
        columns = [first + at for at in range(len(_HOST))]
    name, platform, cpus, cores, sockets, memory = (cell(row, at) for at in columns)
    builder.set("host", name)
    builder.set("platform", platform)
    builder.set("cpus", builder.whole(cpus))
    builder.set("cores", builder.whole(cores))
    builder.set("sockets", builder.whole(sockets))
    size = builder.numbers.read(memory)
    builder.set("memory_gb", size if size is not None and size.value > 0 else None)


def _labelled_host(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the labelled values of Statspack 10g: ``Host  Name: x  Num CPUs: 2  Phys Memory (MB): 4,096``."""
    for label, values in table.read_labels():
        if label == "name" and values:
            builder.set("host", values[0])
        elif label == "num cpus" and values:
            builder.set("cpus", builder.whole(values[0]))
        elif label == "phys memory (mb)" and values:
            size = builder.numbers.read(values[0])
            builder.set("memory_gb", size.scaled(1 / 1024) if size else None)


def read_snapshots(table: ReportTable, builder: ReportBuilder) -> None:
    """Read ``Begin Snap``, ``End Snap``, ``Elapsed`` and ``DB Time``."""
    number, time, sessions = (table.index(name) for name in ("snap id", "snap time", "sessions"))
    for row in table.rows:
        boundary = re.fullmatch(r"(begin|end) snap:?", row[0].lower())
        if boundary:
            builder.set(f"{boundary[1]}_snap", builder.whole(cell(row, number)))
            builder.set(f"{boundary[1]}_time", cell(row, time))
            builder.set(f"sessions_{boundary[1]}", builder.number(table, row, sessions))
            builder.set("cdb", _YES_NO.get(cell(row, table.index("cdb"))))  # 12.1 prints it here
    for label, values in table.read_labels():
        name = {"elapsed": "elapsed_min", "db time": "db_time_min", "db cpu": "db_cpu_min"}.get(label)
        if name and values:
            builder.set(name, read_minutes(values[0], builder))


def read_minutes(text: str, builder: ReportBuilder) -> Number | None:
    """Return the number of minutes in text such as ``59.54 (mins)``."""
    match = _MINUTES.fullmatch(text)
    return builder.numbers.read(match[1]) if match else None


def read_caches(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the standard block size from the cache sizes."""
    for label, values in table.read_labels():
        if label == "std block size" and values:
            size = builder.numbers.read(values[0], thousand=1024.0)
            builder.set("block_size", int(size.value) if size else None)


def read_summary(table: ReportTable, builder: ReportBuilder) -> None:
    """Read ``Database Summary`` of a global report, whose headings repeat ``In Report`` and ``Total``."""
    if not table.rows:
        return
    row = table.rows[0]
    builder.set("db_id", builder.whole(cell(row, table.index("id", ".* id"))))
    builder.set("db_name", cell(row, table.index("name", "database name", "db name")))
    builder.set("unique_name", cell(row, table.index("unique name")))
    builder.set("role", cell(row, table.index("role")))
    builder.set("edition", cell(row, table.index("edition")))
    builder.set("rac", _YES_NO.get(cell(row, table.index("rac"))))
    builder.set("cdb", _YES_NO.get(cell(row, table.index("cdb"))))
    builder.set("block_size", builder.whole(cell(row, table.index("block size", ".*block size"))))
    builder.set("begin_snap", builder.whole(cell(row, table.index("begin", ".*begin"))))
    builder.set("end_snap", builder.whole(cell(row, table.index("end", ".*end"))))
    builder.set("db_time_min", builder.number(table, row, table.index(".*db time")))
    builder.set("elapsed_min", builder.number(table, row, table.index(".*elapsed time")))


def read_instances(table: ReportTable, builder: ReportBuilder) -> None:
    """Read the instances of a global report with their hosts and releases."""
    listed = [_instance(table, row, builder) for row in table.rows]
    builder.instances.extend(listed)
    releases = {instance.release for instance in listed if instance.release}
    if len(releases) == 1:
        builder.set("release", releases.pop())
    for name, heading in (("begin_time", "begin snap time"), ("end_time", "end snap time")):
        if table.rows:
            builder.set(name, cell(table.rows[0], table.index(heading)))
    if listed:
        builder.set("platform", listed[0].platform)


def read_hosts(table: ReportTable, builder: ReportBuilder) -> None:
    """Read CPUs, cores and sockets of a global report: sums over all hosts, if every host has a value."""
    rows = [row for row in table.rows if row[0].isdigit()]
    for name, heading in (
        ("cpus", r"(cpu )?(num |#)cpus"),
        ("cores", r"(cpu )?(cpu |#)cores"),
        ("sockets", r"(cpu )?(cpu |#)sckts"),
    ):
        counts = [builder.whole(cell(row, table.index(heading))) for row in rows]
        known = [count for count in counts if count is not None]
        if known and len(known) == len(rows):
            builder.set(name, sum(known))
