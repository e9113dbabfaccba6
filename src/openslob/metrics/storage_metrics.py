"""The figures of measurements of storage: of a step, and of the summary of ``slob raw`` and the realism table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openslob.core.histogram import PERCENTILES
from openslob.metrics.model import Better, Metric
from openslob.record.model import Figure

_M, _L, _N = Better.MORE, Better.LESS, Better.NEITHER
# The unit of a plain count: "1" in most records, "" in those of Orion's tests. Both stay as in older records.
_COUNT, _ORION_COUNT = "1", ""

STORAGE_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        # Of a step.
        Metric("ios", "Requests", _COUNT, _N, "Requests that were completed in the measured time; for dd, pieces of 1 MiB."),
        Metric("seconds", "Measured time", "s", _N, "Length of the measured time."),
        Metric("iops", "IOPS", "1/s", _M, "Requests per second; for a database, physical read requests that the server counted."),
        Metric("mb_per_s", "MB/s", "MB/s", _M, "Bytes transferred per second, in units of 1,048,576."),
        Metric("mean_us", "Mean latency", "µs", _L, "Mean time of a request, from submission to completion; for a database, of a SELECT."),
        Metric("p50_us", "p50", "µs", _L, "Half of the requests took at most this long."),
        Metric("p90_us", "p90", "µs", _L, "90 % of the requests took at most this long."),
        Metric("p99_us", "p99", "µs", _L, "99 % of the requests took at most this long."),
        Metric("p999_us", "p99.9", "µs", _L, "99.9 % of the requests took at most this long."),
        Metric("max_us", "Longest", "µs", _L, "Time of the request that took longest."),
        Metric("cpu_us_per_io", "CPU per request", "µs", _L, "CPU of the processes that made the requests, or of the database server, for one request."),
        Metric("cpu_user_s", "User CPU", "s", _N, "CPU of the processes that made the requests, in user mode."),
        Metric("cpu_system_s", "System CPU", "s", _N, "CPU of the processes that made the requests, in the kernel."),
        Metric("host_cpu_us_per_io", "Host CPU per request", "µs", _L, "Busy CPU time of the whole host, interrupts and stolen time included, for one request."),
        Metric("host_cpus_busy", "Host CPUs busy", _COUNT, _L, "Busy CPU seconds of the whole host per second: everything but idle time and waiting for I/O."),
        Metric("device_mb_per_s", "Device reads", "MB/s", _N, "Bytes per second that the device itself read, in units of 1,048,576."),
        Metric("interval_pct", "Interval", "%", _L, "Half of the 95 % interval of the device's rate, in % of that rate."),
        Metric("small", "Small in flight", _ORION_COUNT, _N, "Small requests in flight at this point of an Orion test."),
        Metric("large", "Large in flight", _ORION_COUNT, _N, "Large requests, or streams, in flight at this point of an Orion test."),
        Metric("read_ios", "Reads", _ORION_COUNT, _N, "Read requests that were completed."),
        Metric("write_ios", "Writes", _ORION_COUNT, _N, "Write requests that were completed."),
        Metric("dev_read_bytes", "Device reads", "B", _N, "Bytes that the devices read during the point, for all programs."),
        Metric("dev_write_bytes", "Device writes", "B", _N, "Bytes that the devices wrote during the point, for all programs."),
        # Of a summary.
        Metric("max_iops", "Max IOPS", "1/s", _M, "Highest rate of small random reads, under the latency limit if there was one."),
        Metric("max_iops_mean_us", "Mean latency at max IOPS", "µs", _L, "Mean time of a small random read at the highest rate."),
        Metric("max_iops_p99_us", "p99 at max IOPS", "µs", _L, "99 % of the small random reads at the highest rate took at most this long."),
        Metric("max_iops_in_flight", "In flight at max IOPS", _COUNT, _N, "Requests in flight at the highest rate of small random reads."),
        Metric("max_mb_per_s", "Max MB/s", "MB/s", _M, "Highest throughput of large requests, in units of 1,048,576 bytes."),
        Metric("max_mb_in_flight", "In flight at max MB/s", _COUNT, _N, "Requests in flight at the highest throughput of large requests."),
        Metric("latency_mean_us", "Latency alone", "µs", _L, "Mean time of a small random read with no other in flight."),
        Metric("latency_p99_us", "p99 alone", "µs", _L, "99 % of small random reads with no other in flight took at most this long."),
        Metric("write_iops", "Max writes", "1/s", _M, "Highest rate of small random writes, whatever their latency."),
        Metric("write_mean_us", "Mean latency at max writes", "µs", _L, "Mean time of a small random write at the highest rate."),
        Metric("write_p99_us", "p99 at max writes", "µs", _L, "99 % of the small random writes at the highest rate took at most this long."),
        Metric("write_in_flight", "In flight at max writes", _COUNT, _N, "Requests in flight at the highest rate of small random writes."),
        Metric("syncs_per_s", "Max syncs", "1/s", _M, "Highest rate of fdatasync calls, each after a small sequential write, as a log makes them."),
        Metric("syncs_at_once", "In flight at max syncs", _COUNT, _N, "Processes that synced at the highest rate of syncs."),
        Metric("sync_mean_us", "Sync alone", "µs", _L, "Mean time of fdatasync after a small sequential write, with no other in progress."),
        Metric("sync_p99_us", "p99 of a sync alone", "µs", _L, "99 % of fdatasync calls with no other in progress took at most this long."),
        Metric("min_latency_us", "Lowest latency", "µs", _L, "Lowest mean time of small requests over the points of an Orion test."),
        Metric("nowhere_mb_per_s", "dd to /dev/null", "MB/s", _M, "Rate at which dd reads without examining the data."),
        Metric("looked_mb_per_s", "dd, data examined", "MB/s", _M, "Rate at which dd reads when it examines each byte."),
        Metric("looked_share_pct", "Share left", "%", _M, "Rate of dd that examines each byte, in % of its rate to /dev/null."),
        Metric("nowhere_cpu_us_per_mb", "CPU of dd to /dev/null", "µs", _L, "CPU of dd per MB without examining the data."),
        Metric("looked_cpu_us_per_mb", "CPU of dd, data examined", "µs", _L, "CPU of dd per MB when it examines each byte."),
        Metric("random_iops", "Random reads", "1/s", _M, "Random reads per second whose contents are not verified."),
        Metric("random_cpu_us_per_io", "CPU per random read", "µs", _L, "CPU for one random read whose contents are not verified."),
        Metric("verified_iops", "Verified reads", "1/s", _M, "Random reads per second when the checksum of every block is checked."),
        Metric("verified_share_pct", "Share left by verifying", "%", _M, "Rate of verified reads in % of the rate of reads that are not verified."),
        Metric("verified_cpu_us_per_io", "CPU per verified read", "µs", _L, "CPU for one read whose checksum is checked."),
        Metric("iops_per_cpu", "IOPS per CPU", "1/s", _M, "Reads per CPU second of fio's processes or of the database server. In the realism table, as ``iops``, followed by the contender's name."),
    )
}  # fmt: skip


def storage_figure(name: str, value: float | None, why: str | None = None) -> Figure:
    """Make a figure of `STORAGE_METRICS`; ``why`` is the reason that goes with a value of None."""
    return Figure(value=value, unit=STORAGE_METRICS[name].unit, why=why if value is None else None)


def latency_figures(latency: Mapping[str, Any], why: str | None = None) -> dict[str, Figure]:
    """Make the figures of a latency as records have it (`Histogram.summary`): mean, percentiles, maximum."""
    return {name: storage_figure(name, latency.get(name), why) for name in ("mean_us", *PERCENTILES, "max_us")}
