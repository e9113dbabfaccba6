"""The figures of a run's summary, in the order of reports. docs/adding-a-metric.md describes how to add one."""

from __future__ import annotations

from collections.abc import Mapping

from openslob.core.counts import VISITED
from openslob.core.cpu_figures import BACKGROUND_CPU, FOREGROUND_CPU, IOPS_PER_FOREGROUND_CPU, CpuFigure
from openslob.core.measurement import Measurement, Observed
from openslob.core.session_classes import split_kind
from openslob.core.units import MIB, Price
from openslob.core.workload import PRICE
from openslob.metrics.computation import (
    NO_INSERTS,
    Amount,
    ChangeTimes,
    ClientCpu,
    Composite,
    Computation,
    ConnectTimes,
    DbTime,
    DeviceCounter,
    EngineCounter,
    FirstKnown,
    HostCounter,
    HostCpuTime,
    OfOwnLoad,
    PartOfCpu,
    PerSecond,
    Ratio,
    SampledTime,
    ScheduleFact,
    ServerCpu,
    SessionSum,
    WindowFact,
    block_visit_rate,
    connect_us,
    cpu_busy_pct,
    cpu_left_pct,
    log_wait_pct,
    not_begun_pct,
    session_count,
    space_amplification,
    update_amplification,
    wake_up_late_us,
    write_amplification,
)
from openslob.metrics.cost import CURRENCY, cost_at, cost_in, unit_in
from openslob.metrics.model import RESPONSE_PREFIX, Better, ReportSection, RunMetric, TimelinePanel
from openslob.metrics.quantity import Quantity, load_seconds
from openslob.record.model import ClassRow, Figure, RunRecord, StageRow

NO_READS = "the engine made no read request"
# A mean read time of 0 µs is impossible: the clock is too coarse.
BELOW_CLOCK = "the engine's clock showed 0 µs for its reads"
NO_CPU = "the server used no measurable CPU"
NO_ROWS = "no row was read"
NO_COMMITS = "nothing was committed"
NO_SYNCS = "the log was not forced to storage"
SYNCS_UNTIMED = "the engine does not time its log syncs, or its clock showed 0 µs"

NO_FOREGROUND_CPU = "the server's sessions used no measurable CPU"

_M, _L, _N = Better.MORE, Better.LESS, Better.NEITHER


def _cpu_row(figure: CpuFigure, better: Better, computation: Computation) -> RunMetric:
    return RunMetric(figure.name, figure.label, figure.unit, better, f"{figure.meaning}.", computation)


METRICS: dict[str, RunMetric] = {
    metric.name: metric
    for metric in (
        RunMetric("transactions_per_s", "Transactions", "1/s", _M, "Transactions of all clients of the server that ended, committed or rolled back; known when the whole server is observed.",
                  PerSecond(EngineCounter("transactions")), TimelinePanel.REQUESTS),
        RunMetric("ops_per_s", "Operations", "1/s", _M, "SLOB operations that began and ended in the window, per second of load.",
                  PerSecond(SessionSum("ops"))),
        RunMetric("sql_per_s", "SQL executions", "1/s", _M, "SQL statements the work loop executed: one per operation, commits not counted.",
                  PerSecond(SessionSum("ops"))),
        RunMetric("lio_per_s", "Logical reads", "blocks/s", _M, "Blocks requested from the buffer cache, as the engine counts them, index blocks included.",
                  PerSecond(EngineCounter("logical_reads")), TimelinePanel.REQUESTS),
        RunMetric("block_visits_per_s", "Block visits", "blocks/s", _M, "Table rows the work loop visited: one row is one block.",
                  Composite(block_visit_rate, *map(SessionSum, VISITED))),
        RunMetric("pio_read_per_s", "Physical read requests", "1/s", _M, "Read requests the engine made because a block was not in its cache. Whether they reached a device is a verdict.",
                  PerSecond(EngineCounter("read_requests")), TimelinePanel.REQUESTS),
        RunMetric("pio_read_mb_per_s", "Physical reads", "MB/s", _M, "Bytes of the engine's physical read requests, in units of 1,048,576.",
                  PerSecond(EngineCounter("read_bytes"), 1 / MIB), TimelinePanel.SIZES),
        RunMetric("pio_write_per_s", "Physical write requests", "1/s", _M, "Data block write requests by any process of the engine; the log is not counted.",
                  PerSecond(EngineCounter("write_requests")), TimelinePanel.REQUESTS),
        RunMetric("pio_write_mb_per_s", "Physical writes", "MB/s", _M, "Bytes of the engine's physical write requests, in units of 1,048,576.",
                  PerSecond(EngineCounter("write_bytes"), 1 / MIB), TimelinePanel.SIZES),
        RunMetric("redo_mb_per_s", "Redo", "MB/s", _N, "Log bytes generated, in units of 1,048,576.",
                  PerSecond(EngineCounter("log_bytes"), 1 / MIB), TimelinePanel.SIZES),
        RunMetric("commits_per_s", "Commits", "1/s", _M, "Transactions the work loop committed: one per update operation.",
                  PerSecond(SessionSum("updates"))),
        RunMetric("block_changes_per_s", "Block changes", "1/s", _N, "Changes of blocks in the buffer cache, as the engine counts them: an update changes several, index and undo blocks among them.",
                  PerSecond(EngineCounter("block_changes"))),
        RunMetric("log_syncs_per_s", "Log syncs", "1/s", _N, "Times the log was forced to storage. Fewer than the commits: several commits shared one, or did not wait.",
                  PerSecond(EngineCounter("log_syncs"))),
        RunMetric("db_time_per_s", "DB time", "s/s", _N, "Session seconds inside operations per second: the average number of active sessions; of the client loop, and of a load that is not slob's, by samples.",
                  PerSecond(DbTime("busy_us"), 1e-6)),
        RunMetric("db_cpu_per_s", "DB CPU", "s/s", _N, "CPU seconds used by all processes of the server per second; on a remote host, by the engine's own count if it has one. More work needs more of it: the figures per DB CPU say what the work costs.",
                  PerSecond(ServerCpu("server_cpu_s"))),
        RunMetric("iops_per_db_cpu", "IOPS per DB CPU", "1/s", _M, "Physical read requests per CPU second of the server.",
                  Ratio(PerSecond(EngineCounter("read_requests")), PerSecond(ServerCpu("server_cpu_s")), NO_CPU)),
        RunMetric("lio_per_db_cpu", "Logical reads per DB CPU", "blocks/s", _M, "Logical reads per CPU second of the server.",
                  Ratio(PerSecond(EngineCounter("logical_reads")), PerSecond(ServerCpu("server_cpu_s")), NO_CPU)),
        _cpu_row(FOREGROUND_CPU, _N, PerSecond(PartOfCpu("foreground_cpu_s"))),
        _cpu_row(BACKGROUND_CPU, _N, PerSecond(PartOfCpu("background_cpu_s"))),
        _cpu_row(IOPS_PER_FOREGROUND_CPU, _M,
                 Ratio(PerSecond(EngineCounter("read_requests")), PerSecond(PartOfCpu("foreground_cpu_s")), NO_FOREGROUND_CPU)),
        RunMetric("dev_read_per_s", "Device reads", "1/s", _N, "Reads that the block device completed, those of other programs included.",
                  PerSecond(DeviceCounter("reads")), TimelinePanel.REQUESTS),
        RunMetric("dev_read_mb_per_s", "Device reads", "MB/s", _N, "Bytes that the block device read, for all programs, in units of 1,048,576.",
                  PerSecond(DeviceCounter("read_bytes"), 1 / MIB)),
        RunMetric("dev_write_per_s", "Device writes", "1/s", _N, "Writes that the block device completed, those of other programs included.",
                  PerSecond(DeviceCounter("writes")), TimelinePanel.REQUESTS),
        RunMetric("dev_write_mb_per_s", "Device writes", "MB/s", _N, "Bytes that the block device wrote, for all programs, in units of 1,048,576.",
                  PerSecond(DeviceCounter("write_bytes"), 1 / MIB)),
        RunMetric("host_cpu_busy_pct", "Host CPU busy", "%", _N, "Share of the CPU time of the server's host that was not idle and not waiting for I/O; on a remote host, by the engine's own count if it has one.",
                  Composite(cpu_busy_pct, HostCpuTime("cpu"))),
        RunMetric("host_cpu_left_pct", "Host CPU left", "%", _N, "100 % minus the busy share: the CPU that is left for the application.",
                  Composite(cpu_left_pct, HostCpuTime("cpu"))),
        RunMetric("engine_read_latency_us", "Engine read latency", "µs", _L, "Time the engine spent in read requests divided by their number; of reads of single blocks alone, where the engine times those.",
                  FirstKnown(Ratio(Amount(EngineCounter("single_read_time_us")), Amount(EngineCounter("single_reads")), NO_READS, BELOW_CLOCK),
                         Ratio(Amount(EngineCounter("read_time_us")), Amount(EngineCounter("read_requests")), NO_READS, BELOW_CLOCK))),
        RunMetric("start_skew_ms", "Start skew", "ms", _L, "Time from the first session's first operation to the last session's.",
                  Amount(WindowFact("start_skew_ms"))),
        RunMetric("driver_cpu_pct_of_db", "Driver CPU", "% of DB CPU", _L, "CPU of the load driver relative to that of the server's processes.",
                  Ratio(Amount(HostCounter("driver_cpu_s"), 100), Amount(HostCounter("server_cpu_s")), NO_CPU)),
        RunMetric("client_cpu_per_s", "Client CPU", "s/s", _N, "CPU seconds of an observed command, and of the processes that it waited for, per second.",
                  PerSecond(ClientCpu("client_cpu_s"))),
        RunMetric("elapsed_s", "Elapsed", "s", _N, "Length of the load in the window, by the server's clock.",
                  Composite(load_seconds)),
        RunMetric("sessions", "Sessions", "", _N, "Sessions that ran the work loop.",
                  Composite(session_count, SessionSum("busy_us"))),
        RunMetric("ops_total", "Operations", "", _N, "Operations in the window.",
                  Amount(SessionSum("ops"))),
        RunMetric("updates_total", "Updates", "", _N, "Update operations in the window.",
                  Amount(SessionSum("updates"))),
        RunMetric("selects_total", "Selects", "", _N, "Select operations in the window.",
                  Amount(SessionSum("selects"))),
        RunMetric("scans_total", "Scans", "", _N, "Short-scan operations in the window.",
                  Amount(SessionSum("scans"))),
        RunMetric("log_write_per_s", "Log writes", "1/s", _N, "Write requests of the log.",
                  PerSecond(EngineCounter("log_write_requests"))),
        RunMetric("log_sync_latency_us", "Log sync latency", "µs", _L, "Time the engine spent in forcing the log to storage divided by the number of times.",
                  Ratio(Amount(EngineCounter("log_sync_time_us")), Amount(EngineCounter("log_syncs")), NO_SYNCS, SYNCS_UNTIMED)),
        RunMetric("log_wait_pct", "Log waits of DB time", "%", _L, "Share of DB time in which sessions wrote the log or waited for it.",
                  Composite(log_wait_pct, SampledTime("log_sync_time_us"))),
        RunMetric("full_page_images_per_s", "Full-page images", "1/s", _N, "Whole blocks that the engine wrote to the log, at the first change of each after a checkpoint.",
                  PerSecond(EngineCounter("full_page_images"))),
        RunMetric("full_page_image_mb_per_s", "Full-page images", "MB/s", _N, "Bytes of full-page images, which are part of the redo, in units of 1,048,576.",
                  PerSecond(EngineCounter("full_page_image_bytes"), 1 / MIB)),
        RunMetric("target_ops_per_s", "Target rate", "1/s", _N, "Requested operations of all sessions that have a rate: TARGET_OPS, or TARGET_IOPS divided by the mean blocks of an operation.",
                  Amount(ScheduleFact("wanted_per_s"))),
        RunMetric("ops_not_begun_pct", "Not begun", "%", _L, "Share of the operations due in the window that had not begun at its end. No latency includes their waiting time.",
                  Composite(not_begun_pct, ScheduleFact("not_begun"))),
        RunMetric("backlog_s", "Backlog", "s", _L, "How long the oldest operation that had not begun had been due at the end of the window.",
                  Amount(ScheduleFact("oldest_s"))),
        RunMetric("wake_up_late_us", "Late wake-ups", "µs", _L, "Mean delay with which the timer of the server, or of the driver of a client loop, woke sessions for operations that they waited for. It is part of the response time.",
                  Composite(wake_up_late_us, ScheduleFact("wake_ups"))),
        RunMetric("recovery_s", "Recovery", "s", _L, "Longest time from a sudden change of the given rate (RATE_SCHEDULE) until the median response time was back within the level of its stage. Known to a second and a slice.",
                  Amount(ChangeTimes("stages"))),
        RunMetric("connects_total", "Connects", "", _N, "Times that sessions of a client loop connected again (CONNECT_EVERY).",
                  Amount(ConnectTimes("connects"))),
        RunMetric("connect_p50_us", "Connect p50", "µs", _L, "Time that half of the connects did not exceed, until the session could send a statement; settings and prepared statements are not in it.",
                  Composite(connect_us(0.5), ConnectTimes("connects"))),
        RunMetric("connect_p99_us", "Connect p99", "µs", _L, "Time that 99 of 100 connects did not exceed.",
                  Composite(connect_us(0.99), ConnectTimes("connects"))),
        RunMetric("conflicts_total", "Update conflicts", "", _L, "Times an operation was refused because of another transaction's change and was repeated.",
                  Amount(SessionSum("conflicts"))),
        RunMetric("rows_inserted_per_s", "Rows inserted", "1/s", _M, "Rows that the work loop inserted at the heads of its rings (MODE=churn).",
                  PerSecond(SessionSum("rows_inserted"))),
        RunMetric("rows_deleted_per_s", "Rows deleted", "1/s", _M, "Rows that the work loop deleted at the tails of its rings (MODE=churn).",
                  PerSecond(SessionSum("rows_deleted"))),
        RunMetric("table_growth_mb_per_s", "Growth of tables", "MB/s", _L, "Growth of the tables' files, in units of 1,048,576 bytes (MODE=churn). The number of rows stays the same.",
                  PerSecond(EngineCounter("table_bytes"), 1 / MIB), TimelinePanel.SIZES),
        RunMetric("index_growth_mb_per_s", "Growth of indexes", "MB/s", _L, "Growth of the indexes' files, where they have their own, in units of 1,048,576 bytes (MODE=churn).",
                  PerSecond(EngineCounter("index_bytes"), 1 / MIB), TimelinePanel.SIZES),
        RunMetric("dead_rows_growth_per_s", "Growth of dead rows", "1/s", _L, "Dead rows that no vacuum has removed, at the end of the window less those at its begin, per second (MODE=churn).",
                  PerSecond(EngineCounter("dead_rows")), TimelinePanel.REQUESTS),
        RunMetric("purge_lag_growth_per_s", "Growth of the purge lag", "1/s", _L, "Transactions whose old row versions wait to be purged, at the end of the window less those at its begin, per second (MODE=churn).",
                  PerSecond(EngineCounter("purge_lag")), TimelinePanel.REQUESTS),
        RunMetric("vacuums_total", "Vacuums", "", _N, "Vacuums of the tables that ended in the window (MODE=churn).",
                  Amount(EngineCounter("vacuums"))),
        RunMetric("write_amplification", "Write amplification", "", _L, "Bytes that the engine wrote, blocks and log, per byte of the keys and texts of inserted rows (MODE=churn).",
                  Composite(write_amplification, EngineCounter("write_bytes"), EngineCounter("log_bytes"), SessionSum("bytes_inserted"))),
        RunMetric("dev_write_amplification", "Device write amplification", "", _L, "Bytes that the block device wrote, for all programs, per byte of the keys and texts of inserted rows (MODE=churn).",
                  Ratio(Amount(DeviceCounter("write_bytes")), Amount(SessionSum("bytes_inserted")), NO_INSERTS)),
        RunMetric("read_amplification", "Read amplification", "", _L, "Bytes that the engine read from its files for sessions, per byte of the rows that they read.",
                  Ratio(Amount(EngineCounter("read_bytes")), Amount(EngineCounter("row_bytes_read")), NO_ROWS), section=ReportSection.EFFICIENCY),
        RunMetric("update_amplification", "Write amplification of updates", "", _L, "Bytes of data and of the log that the engine wrote, those of its background work included, per byte of the rows that sessions changed.",
                  Composite(update_amplification, EngineCounter("write_bytes"), EngineCounter("log_bytes"), EngineCounter("row_bytes_written")), section=ReportSection.EFFICIENCY),
        RunMetric("space_amplification", "Space amplification", "", _L, "Size of the test tables after the run, indexes left out, relative to that of the blocks that were loaded.",
                  Composite(space_amplification, EngineCounter("row_bytes_read"), SessionSum("rows_read")), section=ReportSection.EFFICIENCY),
        RunMetric("package_power_w", "Power of the processors", "W", _N, "Mean power of all processor packages of the server's host, by RAPL, for all that ran there; memory, devices and fans are not in it.",
                  PerSecond(HostCounter("package_energy_j"))),
        RunMetric("joules_per_million_reads", "Energy per 1M read requests", "J", _L, "Energy of all processor packages of the host for a million physical read requests.",
                  Ratio(PerSecond(HostCounter("package_energy_j"), 1e6), PerSecond(EngineCounter("read_requests")), NO_READS)),
        RunMetric("joules_per_million_commits", "Energy per 1M commits", "J", _L, "Energy of all processor packages of the host for a million commits of the work loop.",
                  Ratio(PerSecond(HostCounter("package_energy_j"), 1e6), PerSecond(SessionSum("updates")), NO_COMMITS)),
    )
}  # fmt: skip
# What a million costs, by the rate at which they come.
_COSTS = {
    "cost_per_million_reads": ("pio_read_per_s", "read requests", "physical read requests"),
    "cost_per_million_logical_reads": ("lio_per_s", "logical reads", "logical reads"),
    "cost_per_million_commits": ("commits_per_s", "commits", "commits of the work loop"),
}
METRICS |= {
    name: RunMetric(
        name, f"Cost per 1M {what}", CURRENCY, _L,
        f"The price of the server (PRICE) for the time in which it makes a million {counted}, at the rate of the run.",
        Composite(cost_at(METRICS[rate].of), *METRICS[rate].computation.inputs),
    )
    for name, (rate, what, counted) in _COSTS.items()
}  # fmt: skip
# Figures that only runs of a server with a price have.
PRICED = frozenset(_COSTS)
# The rate that a cost is of, by which its interval within a run is known.
RATE_OF = {name: rate for name, (rate, *_) in _COSTS.items()}
# Figures that only runs have whose sessions connect again and again.
CONNECTING = frozenset(
    name
    for name, metric in METRICS.items()
    if any(isinstance(each, ConnectTimes) for each in metric.computation.inputs)
)
# Figures that only runs have whose rows come and go.
CHURNING = frozenset({
    "rows_inserted_per_s", "rows_deleted_per_s", "table_growth_mb_per_s", "index_growth_mb_per_s",
    "dead_rows_growth_per_s", "purge_lag_growth_per_s", "vacuums_total", "write_amplification",
    "dev_write_amplification",
})  # fmt: skip
# Figures that only engines have which count the bytes of rows.
OF_ROW_BYTES = frozenset({"read_amplification", "update_amplification", "space_amplification"})
# In the place of a class of sessions: a stage of a rate that changes, by its number from 1.
STAGE = "stage-"
# Figures that only runs have whose rate changes.
CHANGING = frozenset({"recovery_s"})
# Figures that only runs at a given rate have.
PACED = frozenset(
    name
    for name, metric in METRICS.items()
    if any(isinstance(each, ScheduleFact) for each in metric.computation.inputs)
)
# Figures that only a run has, whose load is slob's own, and those that only a load has which slob observes.
OF_OWN_LOAD = frozenset(
    name for name, metric in METRICS.items() if any(isinstance(each, OfOwnLoad) for each in metric.computation.inputs)
)
OBSERVED = frozenset({"transactions_per_s", "client_cpu_per_s"})
# The engine's counters that figures are computed from; its other counters are evidence for verdicts.
ENGINE_INPUTS = frozenset(
    each.field for metric in METRICS.values() for each in metric.computation.inputs if isinstance(each, EngineCounter)
)


def summary(measurement: Observed) -> Mapping[str, Figure]:
    """Return every figure of the registry: a value with its unit, or None with the reason.

    A run has none of those that only an observed load has.
    """
    not_of_it = OBSERVED if isinstance(measurement, Measurement) else frozenset[str]()
    figures = ((name, metric) for name, metric in METRICS.items() if name not in not_of_it)
    return {name: _figure(metric.of(measurement), unit_in(measurement, metric.unit)) for name, metric in figures}


def add_costs(record: RunRecord, price: Price) -> RunRecord:
    """Return a record with its cost at this price, whatever it had: for a price that became known later."""
    costs = {name: cost_in(record, price, rate) for name, rate in RATE_OF.items()} if record.summary else {}
    spec = {**record.spec, PRICE: str(price)}
    return record.model_copy(update={"spec": spec, "summary": {**record.summary, **costs}})


def figure_of(record: RunRecord, name: str) -> float | None:
    """Return a figure of a record: one of its summary, or a latency such as ``op_p99_us``; None if it is not known.

    ``readers/ops_per_s`` is that of a class of sessions, ``stage-2/recovery_s`` one of a stage of a rate that changes.
    """
    if name in METRICS:
        return record.value(name)
    of_class, base = split_kind(name)
    row = stage_of(record, of_class) or (class_of(record, of_class) if of_class else record)
    if isinstance(row, StageRow) or base == "ops_per_s":
        value: float | None = getattr(row, base, None)
        return value
    kind, _, statistic = base.partition("_")
    if kind == "op":
        kind = record.most_frequent
    return None if row is None else latency_of(row, kind, statistic)


def latency_of(record: RunRecord | ClassRow, kind: str, name: str) -> float | None:
    """Return a statistic such as ``p99_us`` of a kind of operation; None if there was no such operation.

    It is one of the service time, or with `RESPONSE_PREFIX` of the response time, which only runs at a given rate have.
    """
    is_service = not name.startswith(RESPONSE_PREFIX)
    figures = (record.latency if is_service else record.response).get(kind, {})
    value = figures.get(name.removeprefix(RESPONSE_PREFIX))
    return None if value is None else float(value)


def stage_of(record: RunRecord, name: str) -> StageRow | None:
    """Return what was done in a stage of a rate that changes, such as ``stage-2``; None if there is none."""
    stages = {f"{STAGE}{number}": row for number, row in enumerate(record.stages, start=1)}
    return stages.get(name)


def class_of(record: RunRecord, name: str) -> ClassRow | None:
    """Return what a class of sessions did; None if there is none of this name."""
    return next((row for row in record.classes if row.name == name), None)


def _figure(quantity: Quantity, unit: str) -> Figure:
    return Figure(value=quantity.value, unit=unit, why=quantity.why or None)
