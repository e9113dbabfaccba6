"""Readers of the tables at the head of a report: database, host, snapshots, caches."""

from __future__ import annotations

import re

from openslob.awr.builder import ReportBuilder
from openslob.awr.model import Instance
from openslob.awr.numbers import Number
from openslob.awr.tables import Table, cell

_YES_NO = {"YES": True, "NO": False, "Y": True, "N": False}
_HOST = (r"host( name)?", "platform", "cpus", "cores", "sockets", r"memory ?\(gb?\)")
_MINUTES = re.compile(r"([\d.,' ]+)(?:\(min)?.*")


def identity(table: Table, draft: ReportBuilder) -> None:
    """The tables under the report's title, told apart by their headings."""
    if table.index("snap id") is not None:
        snapshots(table, draft)
    elif table.index("db name") is not None or table.index("db id") is not None:
        database(table, draft)
    elif table.index("host name") is not None:
        host(table, draft)
    elif table.index("instance") is not None and table.rows:
        draft.instances.append(_instance(table, table.rows[0], draft))


def database(table: Table, draft: ReportBuilder) -> None:
    """``DB Name, DB Id, Unique Name, Role, Edition, Release, RAC, CDB``; before 12.2 the instance as well."""
    if not table.rows:
        return
    row = table.rows[0]
    draft.set("db_name", cell(row, table.index("db name", "database")))
    draft.set("db_id", draft.whole(cell(row, table.index("db id"))))
    draft.set("unique_name", cell(row, table.index("unique name")))
    draft.set("role", cell(row, table.index("(db )?role")))
    draft.set("edition", cell(row, table.index("edition")))
    draft.set("release", cell(row, table.index("release")))
    draft.set("rac", _YES_NO.get(cell(row, table.index("rac", "cluster"))))
    draft.set("cdb", _YES_NO.get(cell(row, table.index("cdb"))))
    draft.set("host", cell(row, table.index("host", "host name")))
    if table.index("instance") is not None:
        draft.instances.append(_instance(table, row, draft))


def _instance(table: Table, row: tuple[str, ...], draft: ReportBuilder) -> Instance:
    return Instance(
        name=cell(row, table.index("instance")) or None,
        number=draft.whole(cell(row, table.index("inst num", "i#"))),
        host=cell(row, table.index("host")) or None,
        release=cell(row, table.index("release")) or None,
        startup=cell(row, table.index("startup time", "startup")) or None,
        platform=cell(row, table.index("platform")) or None,
        elapsed_min=draft.number(table, row, table.index(r"elapsed time ?\(min\)")),
        db_time_min=draft.number(table, row, table.index(r"db time ?\(min\)")),
    )


def host(table: Table, draft: ReportBuilder) -> None:
    """``Host Name, Platform, CPUs, Cores, Sockets, Memory``. Statspack's headings wrap, its order does not change."""
    if not table.rows:
        return
    if not table.columns:
        _labelled_host(table, draft)
        return
    row = table.rows[0]
    places = [table.index(heading) for heading in _HOST]
    if None in places:
        first = 0 if table.index("host name") is not None or len(row) == 6 else 1
        places = [first + at for at in range(len(_HOST))]
    name, platform, cpus, cores, sockets, memory = (cell(row, at) for at in places)
    draft.set("host", name)
    draft.set("platform", platform)
    draft.set("cpus", draft.whole(cpus))
    draft.set("cores", draft.whole(cores))
    draft.set("sockets", draft.whole(sockets))
    size = draft.numbers.read(memory)
    draft.set("memory_gb", size if size is not None and size.value > 0 else None)


def _labelled_host(table: Table, draft: ReportBuilder) -> None:
    """Statspack of 10g: ``Host  Name: x  Num CPUs: 2  Phys Memory (MB): 4,096``."""
    for label, values in table.labelled():
        if label == "name" and values:
            draft.set("host", values[0])
        elif label == "num cpus" and values:
            draft.set("cpus", draft.whole(values[0]))
        elif label == "phys memory (mb)" and values:
            size = draft.numbers.read(values[0])
            draft.set("memory_gb", size.scaled(1 / 1024) if size else None)


def snapshots(table: Table, draft: ReportBuilder) -> None:
    """``Begin Snap``, ``End Snap``, ``Elapsed``, ``DB Time``."""
    number, time, sessions = (table.index(name) for name in ("snap id", "snap time", "sessions"))
    for row in table.rows:
        end = re.fullmatch(r"(begin|end) snap:?", row[0].lower())
        if end:
            draft.set(f"{end[1]}_snap", draft.whole(cell(row, number)))
            draft.set(f"{end[1]}_time", cell(row, time))
            draft.set(f"sessions_{end[1]}", draft.number(table, row, sessions))
            draft.set("cdb", _YES_NO.get(cell(row, table.index("cdb"))))  # 12.1 tells it here
    for label, values in table.labelled():
        name = {"elapsed": "elapsed_min", "db time": "db_time_min", "db cpu": "db_cpu_min"}.get(label)
        if name and values:
            draft.set(name, minutes(values[0], draft))


def minutes(text: str, draft: ReportBuilder) -> Number | None:
    """``59.54 (mins)``."""
    match = _MINUTES.fullmatch(text)
    return draft.numbers.read(match[1]) if match else None


def caches(table: Table, draft: ReportBuilder) -> None:
    """Of the cache sizes the standard block size."""
    for label, values in table.labelled():
        if label == "std block size" and values:
            size = draft.numbers.read(values[0], thousand=1024.0)
            draft.set("block_size", int(size.value) if size else None)


def summary(table: Table, draft: ReportBuilder) -> None:
    """Global reports: ``Database Summary``, whose headings repeat ``In Report`` and ``Total``."""
    if not table.rows:
        return
    row = table.rows[0]
    draft.set("db_id", draft.whole(cell(row, table.index("id", ".* id"))))
    draft.set("db_name", cell(row, table.index("name", "database name", "db name")))
    draft.set("unique_name", cell(row, table.index("unique name")))
    draft.set("role", cell(row, table.index("role")))
    draft.set("edition", cell(row, table.index("edition")))
    draft.set("rac", _YES_NO.get(cell(row, table.index("rac"))))
    draft.set("cdb", _YES_NO.get(cell(row, table.index("cdb"))))
    draft.set("block_size", draft.whole(cell(row, table.index("block size", ".*block size"))))
    draft.set("begin_snap", draft.whole(cell(row, table.index("begin", ".*begin"))))
    draft.set("end_snap", draft.whole(cell(row, table.index("end", ".*end"))))
    draft.set("db_time_min", draft.number(table, row, table.index(".*db time")))
    draft.set("elapsed_min", draft.number(table, row, table.index(".*elapsed time")))


def instances(table: Table, draft: ReportBuilder) -> None:
    """Global reports: the instances, their hosts and releases."""
    listed = [_instance(table, row, draft) for row in table.rows]
    draft.instances.extend(listed)
    releases = {instance.release for instance in listed if instance.release}
    if len(releases) == 1:
        draft.set("release", releases.pop())
    for name, heading in (("begin_time", "begin snap time"), ("end_time", "end snap time")):
        if table.rows:
            draft.set(name, cell(table.rows[0], table.index(heading)))
    if listed:
        draft.set("platform", listed[0].platform)


def hosts(table: Table, draft: ReportBuilder) -> None:
    """Global reports: CPUs, cores and sockets of all hosts together, when every host tells."""
    rows = [row for row in table.rows if row[0].isdigit()]
    for name, heading in (
        ("cpus", r"(cpu )?(num |#)cpus"),
        ("cores", r"(cpu )?(cpu |#)cores"),
        ("sockets", r"(cpu )?(cpu |#)sckts"),
    ):
        counts = [draft.whole(cell(row, table.index(heading))) for row in rows]
        known = [count for count in counts if count is not None]
        if known and len(known) == len(rows):
            draft.set(name, sum(known))
