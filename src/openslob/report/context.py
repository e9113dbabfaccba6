"""Sections of the report on circumstances: test, drivers, host, server, unknown figures, remarks and files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from openslob.analyze.load_kinds import load_kind, rows_of_update
from openslob.core.workload import CLASSES, Mode, Workload
from openslob.metrics import METRICS
from openslob.record.model import REFUSED, SET, RecordKind, RunRecord
from openslob.report.document import LabelledTexts, Paragraph, Section, TextPicture, TextTable
from openslob.report.format import (
    INDENT,
    MISSING,
    WIDTH,
    micros,
    number,
    percent,
    seconds,
    shorten,
    size,
    wrap,
)
from openslob.report.record_view import gaps, label, show_figure

_SHAPES: Mapping[str, Callable[[float], str]] = {
    "bytes": size,
    "pct": percent,
    "us": micros,
    "ms": lambda ms: seconds(ms / 1e3),
    "s": seconds,
    "kib": lambda kib: size(kib * 1024),
}

DEVICE = ("dev_read_per_s", "dev_read_mb_per_s", "dev_write_per_s", "dev_write_mb_per_s")
PLAN_LINES = 5
# Facts that are shown elsewhere in the report.
_ENGINE_KNOWN = frozenset(
    {
        "name",
        "product",
        "version",
        "target",
        "block_size",
        "cache_bytes",
        "data_bytes",
        "direct_io",
        "settings",
        "plans",
        "wait_latency",
        "unknown",
        "experimental",
        "flavour",
        "stand_in",
        # In the notes.
        REFUSED,
    }
)
_HOST_KNOWN = frozenset(
    {
        "local",
        "host",
        "host_cpu_s",
        "server_cpu_s",
        "server_host_cpu_s",
        "cpu_source",
        "openslob",
        "python",
        "rules_version",
        "unknown",
        "command",
        "drivers",
        "hooks",
        "reader",
    }
)
HEAD = ("", "host", "pid", "sessions", "operations", "CPU", "its host busy", "memory", "clock", "round trip")


def fact_rows(facts: Mapping[str, Any], known: Collection[str]) -> list[tuple[str, str]]:
    """Return label and text of each group of facts except those in ``known``; single facts form the first group."""
    given = {name: fact for name, fact in facts.items() if name not in known and _has_value(fact)}
    single = {name: fact for name, fact in given.items() if not isinstance(fact, Mapping)}
    groups = {"facts": single} | {fact_label(name): fact for name, fact in given.items() if isinstance(fact, Mapping)}
    return [(label, _join_facts(group)) for label, group in groups.items() if group]


def fact_label(name: str) -> str:
    """Return the name of a fact in words, without its unit."""
    head, _, unit = name.rpartition("_")
    return (
        ("size" if name == "bytes" else head if unit in _SHAPES and head else name).replace("_", " ").replace(".", " ")
    )


def _has_value(fact: object) -> bool:
    return any(map(_has_value, fact.values())) if isinstance(fact, Mapping) else fact not in (None, "", [], ())


def _join_facts(facts: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{fact_label(name)} {_format_fact(name, fact)}" for name, fact in facts.items() if _has_value(fact)
    )


def _format_fact(name: str, fact: object) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, Mapping):
        return f"({_join_facts(fact)})"
    if isinstance(fact, (list, tuple)):
        return f"({', '.join(_format_fact(name, item) for item in fact)})"
    if isinstance(fact, (int, float)):
        return _SHAPES.get(name.rpartition("_")[2], number)(fact)
    return str(fact)


def test(record: RunRecord) -> Section:
    """Return what was run, or what was observed and how that ended."""
    title, rows_of = _LOADS[record.kind]
    return Section(title, (LabelledTexts(rows_of(record)),))


def _describe_workload(record: RunRecord) -> list[tuple[str, str]]:
    """Return the workload: sessions, data, operation, duration, and parameters that differ from their defaults."""
    rows = [("sessions", _sessions(record)), ("data", _data(record)), *_operations(record)]
    rows += [("duration", _duration(record))] if record.window else []
    rows.append(("set", _list_changed(record) or "nothing; every parameter has its default"))
    asked = ", ".join(f"{name}={setting}" for name, setting in (record.engine.get(SET) or {}).items())
    return [*rows, *([("server with", f"{asked}, as asked for this run")] if asked else [])]


def _describe_observed(record: RunRecord) -> list[tuple[str, str]]:
    command, ended = record.spec.get("command"), record.environment.get("command") or {}
    rows = [("load", load_kind(record).in_words(record))]
    if (made := record.spec.get("workload")) and command:
        rows.append(("by", f"{made['program']}: {shlex.join(map(str, command))}"))
    if ended:
        rows.append(("command", f"exit code {ended['exit_code']} after {seconds(ended['elapsed_s'])}"))
        rows.append(("its CPU", f"{seconds(ended['cpu_s'])}, with the processes that it waited for, on this host"))
    if window := record.window:
        counters = f"counters over {seconds(window.counter_seconds)} ({window.difference_pct:+.2f} %)"
        spanned = counters if window.counter_seconds else "no counters over this time"
        rows.append(("duration", f"{seconds(window.load_seconds)}; {spanned}"))
        if (rate := record.value("transactions_per_s")) is not None:
            rows.append(("counted", f"{round(rate * window.load_seconds):,} transactions"))
    return [*rows, ("figures", "of the whole server: all databases, all clients but slob's samplers")]


_LOADS = {RecordKind.RUN: ("Test", _describe_workload), RecordKind.OBSERVATION: ("Observed", _describe_observed)}


def host(record: RunRecord) -> Section:
    """Return the facts on the host, its CPU time by kind and its device I/O."""
    environment = record.environment
    if not environment:
        return Section("Host", ())
    local = environment.get("local")
    rows = [("driver's host" if local is False else "host", str(environment.get("host") or "unknown"))]
    rows += [("server's host", _elsewhere(environment))] if local is False else []
    rows += [("read by", _say_reader(reader))] if (reader := environment.get("reader")) else []
    cpu = environment.get("host_cpu_s")
    whose = " (of the driver's host)" if local is False else ""
    rows += [("CPU time", f"{_cpu_by_kind(cpu)}{whose}")] if isinstance(cpu, Mapping) and cpu else []
    server_cpu = environment.get("server_cpu_s")
    by_engine = ", by the engine's own count" if "server_cpu_s" in (environment.get("cpu_source") or {}) else ""
    if isinstance(server_cpu, Mapping) and server_cpu:
        rows.append(("server's CPU", f"{_cpu_by_kind(server_cpu)}{by_engine}"))
    rows += [("device I/O", _device_io(record))] if any(record.value(name) is not None for name in DEVICE) else []
    return Section("Host", (LabelledTexts([*rows, *fact_rows(environment, _HOST_KNOWN)]),))


def _say_reader(reader: Mapping[str, Any]) -> str:
    trip_ms = 1e3 * float(reader.get("round_trip_s") or 0.0)
    return f"{reader.get('address')} from {reader.get('driver_host')}, a round trip takes {trip_ms:.1f} ms"


def _elsewhere(environment: Mapping[str, Any]) -> str:
    """Return what is known of a host that can't be examined."""
    unseen, cpu = "not this one, as far as slob can tell", environment.get("server_host_cpu_s")
    if isinstance(cpu, Mapping) and cpu:
        return f"{unseen}; its CPU, by the engine's own count, {_cpu_by_kind(cpu)}; its memory and devices are unknown"
    return f"{unseen}; its CPU, memory and devices are unknown"


def server(record: RunRecord) -> Section:
    """Return the facts on the server, its settings and the plans of the work loop's statements."""
    engine = record.engine
    direct_io = engine.get("direct_io")
    direct = "unknown" if direct_io is None else "direct" if direct_io else "buffered by the operating system"
    cells = (size(engine.get("block_size")), size(engine.get("cache_bytes")))
    rows = [
        *_recognised(record),
        ("storage", f"blocks of {cells[0]}, buffer cache {cells[1]}, I/O {direct}"),
        *fact_rows(engine, _ENGINE_KNOWN),
    ]
    if settings := engine.get("settings"):
        rows.append(("settings", ", ".join(f"{name}={setting}" for name, setting in sorted(settings.items()))))
    plans = _plans(engine.get("plans") or {})
    return Section("Server", (LabelledTexts(rows), *([TextPicture(lambda _: plans)] if plans else [])))


def _recognised(record: RunRecord) -> list[tuple[str, str]]:
    """Return whose protocol the product speaks and what shows it, if it is not the product whose protocol it is."""
    if not record.relative:
        return []
    flavour = record.engine["flavour"]
    speaks = f"{flavour.get('family')} {flavour.get('number')}"
    return [("product", f"{record.relative}, which speaks as {speaks}; known by: {flavour.get('by')}")]


def unknown(record: RunRecord) -> Section:
    """Return the unknown figures and facts, grouped by reason."""
    figures = load_kind(record).figures(record) if record.summary else []
    missing = [name for name in figures if record.value(name) is None]
    names: dict[str, list[str]] = {}
    for name in missing:
        names.setdefault(record.why_unknown(name), []).append(_distinct(record, name))
    for facts in (record.environment, record.engine):
        for name, why in gaps(facts).items():
            names.setdefault(why, []).append(fact_label(name))
    texts = (Paragraph(f"{why}: {', '.join(those)}", f"{MISSING} ") for why, those in names.items())
    return Section("Not known", tuple(texts))


def remarks(record: RunRecord) -> Section:
    """Return errors and notes."""
    texts = [*(Paragraph(text, "! ") for text in record.errors), *(Paragraph(text, "- ") for text in record.notes)]
    return Section("Errors and notes" if record.errors else "Notes", tuple(texts))


def files(record: RunRecord, folder: Path | None) -> tuple[str, ...]:
    """Return where the record's files are."""
    where = str(folder) if folder else f"the folder {record.id}"
    reports = f", attachments ({load_kind(record).attachments})" if record.engine.get("attachments") else ""
    return tuple(wrap(f"Files in {where}: run.json, *.csv (raw measurements){reports}", "", INDENT))


def _sessions(record: RunRecord) -> str:
    mode = f"; mode {str(record.spec.get('mode')).upper()}" if record.spec.get("mode") else ""
    ran = record.value("sessions") or record.spec.get("sessions")
    return f"{number(ran)} on {_plural(record.spec.get('schemas'), 'schema')}, seed {record.spec.get('seed')}{mode}"


def _data(record: RunRecord) -> str:
    data, cache = record.engine.get("data_bytes"), record.engine.get("cache_bytes")
    scale = str(record.spec.get("scale"))
    text = (
        f"{_plural(record.spec.get('schemas'), 'schema')} of {f'{int(scale):,} blocks' if scale.isdecimal() else scale}"
    )
    if not data or not cache:
        return f"{text}; ratio to the buffer cache unknown"
    ratio = data / cache
    relation = f"{number(ratio)} × the buffer cache" if ratio > 1 else f"{percent(100 * ratio)} of the buffer cache"
    return f"{text}: {size(data)}, {relation} of {size(cache)}"


def _operations(record: RunRecord) -> list[tuple[str, str]]:
    """Return what operations are, of each class of sessions if there are any."""
    if not record.spec.get(CLASSES):
        return [("operation", _operation(record.spec))]
    parts = Workload.model_validate(record.spec).parts
    return [
        (each.name, f"{_plural(each.workload.total_sessions, 'session')}: {_operation(each.workload.to_record())}")
        for each in parts
    ]


def _operation(spec: Mapping[str, Any]) -> str:
    blocks, updates, scans = (spec.get(name) or 0 for name in ("work_unit", "update_pct", "scan_pct"))
    churns = spec.get("mode") == Mode.CHURN
    update = f"{updates} % updates of {_plural(rows_of_update(spec) or 0, 'row')} ({spec.get('redo_stress')})"
    update = f"{updates} % delete a row and insert one" if churns else update
    commit = f", a commit each ({spec.get('commit_mode')})"
    scan = f"; {scans} % of the selects scan {spec.get('scan_table_sz')}" if scans else ""
    if updates == 100:
        return update + commit
    return f"select of {_plural(blocks, 'block')}; {update + commit if updates else 'no updates'}{scan}"


def _duration(record: RunRecord) -> str:
    window = record.window
    assert window is not None
    done = f", {number(record.value('ops_total'))} operations"
    counters = f"counters over {seconds(window.counter_seconds)} ({window.difference_pct:+.2f} %)"
    return (
        f"{seconds(window.load_seconds)} of load after {seconds(window.warmup_s)} of warm-up{done}; "
        f"{counters if window.counter_seconds else 'no counters over this time'}"
    )


def _list_changed(record: RunRecord) -> str:
    defaults = Workload.model_validate({}).to_record()
    changed = {key.upper(): setting for key, setting in record.spec.items() if setting != defaults.get(key)}
    if classes := record.spec.get(CLASSES):
        # With blanks, which are allowed there: lines are broken at them.
        changed[CLASSES.upper()] = f"'{str(classes).replace(',', ', ').replace(';', '; ')}'"
    return " ".join(f"{name}={_plain(setting)}" for name, setting in changed.items())


def _plain(setting: object) -> str:
    if isinstance(setting, bool):
        return str(setting).upper()
    return f"{setting:g}" if isinstance(setting, float) else str(setting)


def _cpu_by_kind(cpu: Mapping[str, float]) -> str:
    total = sum(cpu.values())
    shares = sorted(cpu.items(), key=lambda each: -each[1])
    return ", ".join(f"{kind} {percent(100 * spent / total)}" for kind, spent in shares if spent and total)


def _device_io(record: RunRecord) -> str:
    reads, read_mb, writes, write_mb = (show_figure(record, name) for name in DEVICE)
    return f"reads {reads}, {read_mb}; writes {writes}, {write_mb}; of all processes"


def _distinct(record: RunRecord, name: str) -> str:
    # Two figures may share a label (requests and bytes); then the unit distinguishes them.
    text, unit = label(record, name), METRICS[name].unit
    twins = [other for other in METRICS if label(record, other) == text]
    return f"{text} ({unit})" if len(twins) > 1 and unit else text


def _plans(plans: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for statement, plan in plans.items():
        steps = [line for line in plan.splitlines() if line.strip()]
        lines.append(f"{INDENT}plan of {statement}")
        lines += [shorten(f"{INDENT * 2}{line}", WIDTH) for line in steps[:PLAN_LINES]]
        if len(steps) > PLAN_LINES:
            lines.append(f"{INDENT * 2}… and {len(steps) - PLAN_LINES} more lines; run.json has the whole plan")
    return lines


def _plural(count: float | None, noun: str) -> str:
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def drivers(record: RunRecord) -> Section:
    """Return a row for each driver, and what became of one that did not end in order."""
    found = record.environment.get("drivers") or ()
    rows = [_row(each) for each in found]
    lost = (Paragraph(_end_of(each), "! ") for each in found if each.get("lost"))
    note = "CPU: of the driver's process, in % of one CPU; clock: the server's minus the driver's"
    return Section("Drivers", (TextTable(HEAD, rows), Paragraph(note), *lost) if rows else (), ", over the window")


def _row(driver: Mapping[str, Any]) -> tuple[str, ...]:
    length, cpus = driver.get("seconds"), driver.get("host_cpus")
    sessions = driver.get("sessions") or ()
    return (
        str(driver.get("number")),
        str(driver.get("host")),
        str(driver.get("pid")),
        "–".join(str(each) for each in dict.fromkeys([*sessions[:1], *sessions[-1:]])),
        number(driver.get("ops")),
        _share(driver.get("cpu_s"), length),
        _share(driver.get("host_busy_s"), length * cpus if length and cpus else None),
        size(driver.get("peak_rss_bytes")),
        MISSING if driver.get("clock_offset_s") is None else f"{driver['clock_offset_s']:+.3f} s",
        seconds(driver["round_trip_ms"] / 1e3) if driver.get("round_trip_ms") is not None else MISSING,
    )


def _share(part: float | None, whole: float | None) -> str:
    return MISSING if part is None or not whole else f"{100 * part / whole:.1f} %"


def _end_of(driver: Mapping[str, Any]) -> str:
    kept = "its files are still on its host" if driver.get("left") else "its files are"
    return f"driver {driver.get('number')} {driver['lost']}; {kept}: {driver.get('files')}"
