"""The figures of a run's summary, in the order in which reports list them."""

from __future__ import annotations

from openslob.metrics.model import Better, Metric

_M, _L, _N = Better.MORE, Better.LESS, Better.NEITHER

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("ops_per_s", "Operations", "1/s", _M, "SLOB operations that began and ended in the window, per second of load."),
        Metric("sql_per_s", "SQL executions", "1/s", _M, "SQL statements the work loop executed: one per operation, commits not counted."),
        Metric("lio_per_s", "Logical reads", "blocks/s", _M, "Blocks asked of the buffer cache by the engine's own count, index blocks included."),
        Metric("block_visits_per_s", "Block visits", "blocks/s", _M, "Table rows the work loop visited: one row is one block."),
        Metric("pio_read_per_s", "Physical read requests", "1/s", _M, "Read requests the engine made because a block was not in its cache. Whether they reached a device is a verdict."),
        Metric("pio_read_mb_per_s", "Physical reads", "MB/s", _M, "Bytes of those requests, in units of 1,048,576."),
        Metric("pio_write_per_s", "Physical write requests", "1/s", _M, "Data block write requests by any process of the engine; the log is not counted."),
        Metric("pio_write_mb_per_s", "Physical writes", "MB/s", _M, "Bytes of those requests, in units of 1,048,576."),
        Metric("redo_mb_per_s", "Redo", "MB/s", _N, "Log bytes generated, in units of 1,048,576."),
        Metric("commits_per_s", "Commits", "1/s", _M, "Transactions the work loop committed: one per update operation."),
        Metric("log_syncs_per_s", "Log syncs", "1/s", _N, "Times the log was forced to storage. Below the commits: several shared one, or did not wait."),
        Metric("db_time_per_s", "DB time", "s/s", _N, "Session seconds inside operations per second: the average number of active sessions."),
        Metric("db_cpu_per_s", "DB CPU", "s/s", _L, "CPU seconds used by all processes of the server per second."),
        Metric("iops_per_db_cpu", "IOPS per DB CPU", "1/s", _M, "Physical read requests per CPU second of the server."),
        Metric("lio_per_db_cpu", "Logical reads per DB CPU", "blocks/s", _M, "Logical reads per CPU second of the server."),
        Metric("dev_read_per_s", "Device reads", "1/s", _N, "Reads the block device completed, everybody's."),
        Metric("dev_read_mb_per_s", "Device reads", "MB/s", _N, "Bytes of those reads, in units of 1,048,576."),
        Metric("dev_write_per_s", "Device writes", "1/s", _N, "Writes the block device completed, everybody's."),
        Metric("dev_write_mb_per_s", "Device writes", "MB/s", _N, "Bytes of those writes, in units of 1,048,576."),
        Metric("host_cpu_busy_pct", "Host CPU busy", "%", _L, "Share of the host's CPU time that was not idle and not waiting for I/O."),
        Metric("host_cpu_left_pct", "Host CPU left", "%", _M, "100 % less busy: what is left for the application."),
        Metric("engine_read_latency_us", "Engine read latency", "µs", _L, "Time the engine spent in read requests divided by their number."),
        Metric("start_skew_ms", "Start skew", "ms", _L, "Time from the first session's first operation to the last session's."),
        Metric("driver_cpu_pct_of_db", "Driver CPU", "% of DB CPU", _L, "CPU of the load driver relative to that of the server's processes."),
        Metric("elapsed_s", "Elapsed", "s", _N, "Length of the load in the window, by the server's clock."),
        Metric("sessions", "Sessions", "", _N, "Sessions that ran the work loop."),
        Metric("ops_total", "Operations", "", _N, "Operations in the window."),
        Metric("updates_total", "Updates", "", _N, "Update operations in the window."),
        Metric("selects_total", "Selects", "", _N, "Select operations in the window."),
        Metric("scans_total", "Scans", "", _N, "Short-scan operations in the window."),
        Metric("log_write_per_s", "Log writes", "1/s", _N, "Write requests of the log."),
        Metric("log_sync_latency_us", "Log sync latency", "µs", _L, "Time the engine spent in forcing the log to storage divided by the number of times."),
        Metric("log_wait_pct", "Log waits of DB time", "%", _L, "Share of DB time in which sessions wrote the log, or waited for it: the log writer's share."),
        Metric("full_page_images_per_s", "Full-page images", "1/s", _N, "Whole blocks the engine put into the log, for the first change of each since a checkpoint."),
        Metric("full_page_image_mb_per_s", "Full-page images", "MB/s", _N, "Bytes of those images, part of the redo, in units of 1,048,576."),
        Metric("target_ops_per_s", "Target rate", "1/s", _N, "Operations asked for over all sessions: TARGET_OPS, or TARGET_IOPS divided by the mean blocks of an operation."),
        Metric("ops_not_begun_pct", "Not begun", "%", _L, "Share of the operations due in the window that had not begun at its end. Their waiting is in no latency."),
        Metric("backlog_s", "Backlog", "s", _L, "How long the oldest of them had been due at the end of the window."),
        Metric("wake_up_late_us", "Late wake-ups", "µs", _L, "Mean time by which sessions woke up late for operations that they had been waiting for: the server's timer. It is within the response time."),
        Metric("conflicts_total", "Update conflicts", "", _L, "Times an operation was refused because of another transaction's change and was run again."),
    )
}  # fmt: skip
# Figures of runs at a given rate only.
PACED = frozenset({"target_ops_per_s", "ops_not_begun_pct", "backlog_s", "wake_up_late_us"})
