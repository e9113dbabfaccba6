"""Sections of the report with figures: load profile, efficiency, timed events, latencies, I/O by object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from openslob.analyze.load_kinds import is_paced, load_kind, timed_of
from openslob.core.histogram import PERCENTILES
from openslob.metrics import CHURNING, METRICS
from openslob.metrics.cost import price_of
from openslob.metrics.model import ReportSection
from openslob.metrics.timed import OPERATION
from openslob.record.model import ClassRow, InstanceRow, RunRecord, WaitRow
from openslob.report.document import LabelledTexts, Paragraph, Part, Section, TextTable
from openslob.report.format import MISSING, micros, number, percent, quantity, seconds, shorten, size
from openslob.report.record_view import label, show_figure

# The figures with which sections begin, in this order. Those whose rows in the registry name the section follow.
_FIRST = {
    ReportSection.LOAD_PROFILE: (
        "transactions_per_s", "ops_per_s", "sql_per_s", "block_visits_per_s", "lio_per_s", "pio_read_per_s",
        "pio_read_mb_per_s", "pio_write_per_s", "pio_write_mb_per_s", "redo_mb_per_s", "commits_per_s",
        "log_syncs_per_s", "db_time_per_s", "db_cpu_per_s", "foreground_cpu_per_s", "background_cpu_per_s",
    ),
    ReportSection.EFFICIENCY: (
        "iops_per_db_cpu", "iops_per_foreground_cpu", "lio_per_db_cpu", "host_cpu_busy_pct", "host_cpu_left_pct",
        "engine_read_latency_us", "client_cpu_per_s", "driver_cpu_pct_of_db", "start_skew_ms",
    ),
    ReportSection.LOG: (
        "redo_mb_per_s", "log_syncs_per_s", "log_write_per_s", "log_sync_latency_us", "log_wait_pct", "commits_per_s",
        "full_page_images_per_s", "full_page_image_mb_per_s",
    ),
    ReportSection.PACING: ("target_ops_per_s", "ops_per_s", "ops_not_begun_pct", "backlog_s", "wake_up_late_us"),
}  # fmt: skip
COST = ("cost_per_million_reads", "cost_per_million_logical_reads", "cost_per_million_commits")
ENERGY = ("package_power_w", "joules_per_million_reads", "joules_per_million_commits")
OFF_MIX = "off mix: by how many operations the session furthest off missed its shares of updates and scans"
RECOVERY = (
    "recovered: the median response time is back within twice its level at the end of the stage, or 2 ms above it; "
    "known to a second and a slice; response times count from when operations were due, whichever stage that was in"
)
EVENTS_SHOWN = 6
_EVENT_WIDTH = 40
# Columns of the latency table: heading and field.
_LATENCY = {
    "mean": "mean_us",
    **{_name: _name + "_us" for _name in ("p50", "p90", "p99")},
    "p99.9": "p999_us",
    "max": "max_us",
}
assert set(PERCENTILES) <= set(_LATENCY.values())


def load_profile(record: RunRecord) -> Section:
    """Return the rates per second, per operation and per commit."""
    section = ReportSection.LOAD_PROFILE
    names = _of(record, _figures_in(section))
    if not record.summary:
        return Section(section, ())
    if all(record.value(name) is None for name in names):
        return Section(section, (Paragraph("not published: see the headline"),))
    what, per_s = load_kind(record).unit_of_work
    per = {"per second": 1.0, what: record.value(per_s)}
    if commits := record.value("commits_per_s"):
        per["per commit"] = commits
    rows = [_profile_row(record, name, per.values()) for name in names]
    return Section(section, (TextTable(("", *per), rows),))


def _figures_in(section: ReportSection) -> list[str]:
    named = (name for name, metric in METRICS.items() if metric.section is section)
    return list(dict.fromkeys((*_FIRST[section], *named)))


def _of(record: RunRecord, names: Sequence[str]) -> list[str]:
    """Return those figures that apply to the record."""
    known = set(load_kind(record).figures(record))
    return [name for name in names if name in known]


def instances(record: RunRecord) -> Section:
    """Return a row for each instance of a cluster, and their total."""
    rows = record.instances
    head: tuple[str, ...]
    head = ("", "role", "sessions", "operations", "rows read", "updated", "reads", "log", "conflicts", "errors")
    lines = [_instance_row(str(number), row.role, [row]) for number, row in enumerate(rows, start=1)]
    lines.append(_instance_row("all", "", rows))
    if any(row.behind_bytes is not None for row in rows):
        head = (*head, "behind", "at most", "late up to")
        lines = [(*line, *_behind(row)) for line, row in zip(lines, (*rows, None), strict=True)]
    targets = [Paragraph(row.target, f"{number}  ") for number, row in enumerate(rows, start=1)]
    return Section("Instances", (TextTable(head, lines), *targets) if rows else (), ", over the window")


def classes(record: RunRecord) -> Section:
    """Return what each class of sessions did, their total, and how long operations of each took."""
    rows = record.classes
    head = ("", "sessions", "ops/s", "wanted", "operations", "rows read", "updated", "conflicts", "off mix")
    lines = [_class_row(row.name, [row]) for row in rows]
    lines.append(_class_row("all", rows))
    timed = [
        _latency_row(f"{row.name}: {kind}{since}", figures)
        for row in rows
        for since, kinds in (("", row.latency), (", response", row.response))
        for kind, figures in kinds.items()
    ]
    parts = (TextTable(head, lines), Paragraph(OFF_MIX), TextTable(("latency, µs", "count", *_LATENCY), timed))
    return Section("Classes of sessions", parts if rows else (), ", over the window")


def _class_row(name: str, rows: Sequence[ClassRow]) -> tuple[str, ...]:
    wanted = [row.target_ops_per_s for row in rows if row.target_ops_per_s is not None]
    return (
        name,
        number(sum(row.sessions for row in rows)),
        number(_sum_of([row.ops_per_s for row in rows])),
        number(sum(wanted) if wanted else None),
        number(sum(row.ops for row in rows)),
        number(sum(row.rows_read + row.rows_scanned for row in rows)),
        number(sum(row.rows_updated for row in rows)),
        number(sum(row.conflicts for row in rows)),
        number(max((row.off_ops for row in rows), default=None)),
    )


def stages(record: RunRecord) -> Section:
    """Return what was done in each stage of a rate that changes, and how long the load took to recover."""
    return Section("Stages of the rate", (*stage_parts(record), Paragraph(RECOVERY)) if record.stages else ())


def stage_parts(record: RunRecord) -> tuple[Part, ...]:
    """Return the table of stages, and why some have no time to recover; nothing where the rate does not change."""
    why = [Paragraph(f"from second {row.begin_s:g} on: {row.why}") for row in record.stages if row.why]
    return (stage_table(record), *why) if record.stages else ()


def stage_table(record: RunRecord) -> TextTable:
    """Return a row for each stage of a rate that changes."""
    rows = [
        (
            f"{row.begin_s:g} to {row.end_s:.4g} s",
            " to ".join(number(rate) for rate in dict.fromkeys((row.first_per_s, row.last_per_s))),
            number(row.ops_per_s),
            micros(row.response_p50_us),
            micros(row.response_p99_us),
            MISSING if row.recovery_s is None else "at once" if not row.recovery_s else seconds(row.recovery_s),
        )
        for row in record.stages
    ]
    return TextTable(("stage", "asked/s", "done/s", "response p50", "p99", "recovered in"), rows)


def efficiency(record: RunRecord) -> Section:
    """Return the cost of the work, the CPU left, and the overhead of measuring."""
    return Section(ReportSection.EFFICIENCY, _figures(record, _figures_in(ReportSection.EFFICIENCY)))


def cost(record: RunRecord) -> Section:
    """Return what reads and commits cost at the server's price, and the energy that they took, where it is known."""
    price = price_of(record)
    known = [name for name in (*COST, *ENERGY) if record.value(name) is not None]
    title, rest = ("Cost", f", at {price} and the rates of this run") if price else ("Energy", "")
    names = [*(COST if price else ()), *(name for name in known if name in ENERGY)]
    return Section(title, _figures(record, names), rest)


def pacing(record: RunRecord) -> Section:
    """Return the target rate and how it was met; nothing for a run without a target."""
    figures = _figures(record, _figures_in(ReportSection.PACING)) if is_paced(record) else ()
    return Section(ReportSection.PACING, figures, f", {record.spec.get('pacing')}")


def log(record: RunRecord) -> Section:
    """Return the figures of the log; nothing where nothing was committed."""
    section = ReportSection.LOG
    return Section(section, _figures(record, _figures_in(section)) if record.value(load_kind(record).writes) else ())


def churn(record: RunRecord) -> Section:
    """Return what rows that come and go leave behind; nothing for a run without such rows."""
    return Section("Rows that come and go", _figures(record, [name for name in METRICS if name in CHURNING]))


def every_figure(record: RunRecord) -> Section:
    """Return each figure, with the reason why it is not known."""
    rows = [
        (
            label(record, name),
            show_figure(record, name),
            "" if record.value(name) is not None else record.why_unknown(name),
        )
        for name in load_kind(record).figures(record)
        if record.summary
    ]
    table = TextTable.ending_in_text(("figure", "value", "why it is not known"), rows)
    return Section("Figures", (table,), page_only=True)


def definitions() -> Section:
    """Return what every figure means."""
    rows = [
        (metric.label, metric.unit or "count", "" if metric.better == "neither" else metric.better, metric.definition)
        for metric in METRICS.values()
    ]
    table = TextTable(("figure", "unit", "better is", "definition"), rows, texts=frozenset(range(4)))
    return Section("What the figures mean", (table,), page_only=True)


def _figures(record: RunRecord, names: Sequence[str]) -> tuple[Part, ...]:
    rows = [(label(record, name), show_figure(record, name)) for name in _of(record, names)]
    return (LabelledTexts(rows, figures=True),) if rows and record.summary else ()


def timed_events(record: RunRecord) -> Section:
    """Return the events that sessions spent their time in, the largest share first."""
    events = sorted(record.waits, key=lambda row: -row.share_pct)
    head: tuple[str, ...] = ("", "DB time", "% DB time", "mean wait")
    rows = [_event_row(row) for row in events[:EVENTS_SHOWN]]
    if rest := events[EVENTS_SHOWN:]:
        total, share = sum(row.db_time_s for row in rest), sum(row.share_pct for row in rest)
        rows.append((f"{len(rest)} more", seconds(total), percent(share), MISSING))
    if durations := record.engine.get("wait_latency"):
        # The engine's buckets are coarse, and a wait counts as its bucket's upper edge.
        head = (*head, "p99 up to")
        p99 = [micros(durations.get(row.event, {}).get("p99_us")) for row in events[:EVENTS_SHOWN]]
        rows = [(*row, text) for row, text in zip(rows, [*p99, MISSING], strict=False)]
    parts: list[Part] = [TextTable(head, rows)]
    if any(row.mean_us is None for row in events):
        parts.append(Paragraph("the engine does not time this event", f"{MISSING}  "))
    parts.append(Paragraph("DB time and % are from samples, mean wait and p99 by the engine's clock"))
    return Section("Top timed events", tuple(parts) if rows else ())


def latencies(record: RunRecord) -> Section:
    """Return the latency of each kind of operation, measured from its begin."""
    since = ", from its begin (service time)" if is_paced(record) else ""
    return _latency_table(since, record.latency, timed_of(record).one())


def responses(record: RunRecord) -> Section:
    """Return the latency measured from when operations were due; nothing for a run without a target rate."""
    return _latency_table(", from when it was due (response time)", record.response)


def _latency_table(since: str, latency: Mapping[str, Mapping[str, Any]], whose: str = OPERATION) -> Section:
    rows = [_latency_row(kind, figures) for kind, figures in latency.items() if figures.get("count")]
    parts = (TextTable(("", "count", *_LATENCY), rows),) if rows else ()
    return Section("Latency", parts, f" of one {whose}{since}, µs")


def object_io(record: RunRecord) -> Section:
    """Return I/O by kind of object, over the window."""
    rows = [_object_row(kind, io) for kind, io in record.io_by_object.items()]
    head = ("", "cache hits", "% hits", "reads", "read", "mean read", "writes")
    parts: tuple[Part, ...] = (TextTable(head, rows),) if rows else ()
    if any(MISSING in row for row in rows):
        parts += (Paragraph("none, or not counted by the engine", f"{MISSING}  "),)
    return Section("I/O by object", parts, ", over the window")


def _profile_row(record: RunRecord, name: str, divisors: Iterable[float | None]) -> tuple[str, ...]:
    rate, unit = record.value(name), METRICS[name].unit
    return (label(record, name), *(_profile_cell(rate, per, unit) for per in divisors))


def _profile_cell(rate: float | None, per: float | None, unit: str) -> str:
    if rate is None or not per:
        return MISSING
    base = unit.removesuffix("/s") if rate else ""
    return quantity(rate / per, base if base in ("MB", "s") else "")


def _behind(row: InstanceRow | None) -> tuple[str, str, str]:
    """Return how far a copy was behind, and for how long at most; nothing is added up."""
    if row is None or row.behind_bytes is None:
        return MISSING, MISSING, MISSING
    return size(row.behind_bytes), size(row.most_behind_bytes), seconds(row.behind_s)


def _instance_row(name: str, role: str, rows: Sequence[InstanceRow]) -> tuple[str, ...]:
    reads, log = [row.read_requests for row in rows], [row.log_bytes for row in rows]
    return (
        name,
        role,
        number(sum(row.sessions for row in rows)),
        number(sum(row.ops for row in rows)),
        number(sum(row.rows_read for row in rows)),
        number(sum(row.rows_updated for row in rows)),
        number(_sum_of(reads)),
        size(_sum_of(log)),
        number(sum(row.conflicts for row in rows)),
        number(sum(row.errors for row in rows)),
    )


def _sum_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _event_row(row: WaitRow) -> tuple[str, ...]:
    return (shorten(row.event, _EVENT_WIDTH), seconds(row.db_time_s), percent(row.share_pct), micros(row.mean_us))


def _latency_row(kind: str, figures: Mapping[str, float | None]) -> tuple[str, ...]:
    return (kind, number(figures.get("count")), *(number(figures.get(field)) for field in _LATENCY.values()))


def _object_row(kind: str, io: Mapping[str, float | None]) -> tuple[str, ...]:
    hits, reads, time_us = io.get("hits"), io.get("read_requests"), io.get("read_time_us")
    blocks = None if hits is None or reads is None else hits + reads
    share = percent(100 * hits / blocks) if blocks and hits is not None else MISSING
    mean = micros(time_us / reads) if time_us and reads else MISSING
    return (
        kind,
        number(hits),
        share,
        number(reads),
        size(io.get("read_bytes")),
        mean,
        number(io.get("write_requests")),
    )
