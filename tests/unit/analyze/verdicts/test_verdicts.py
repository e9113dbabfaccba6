"""Every verdict on synthetic figures: holds, fails, unknown, and its sentence."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from factories import measurements as made
from factories.tables import table
from openslob.analyze.expected_hits import expected_hit_pct
from openslob.analyze.verdicts import VERDICTS, churn, judge, level, server
from openslob.core.measurement import (
    CLOCK_WAS_SET,
    DriverUse,
    EngineDelta,
    GroupUse,
    HostDelta,
    ObjectIo,
    OtherSessions,
)
from openslob.core.method import OpKind
from openslob.core.units import MIB
from openslob.core.workload import Mode
from openslob.record.model import Holds

HOLDS, FAILS, UNKNOWN = Holds.HOLDS, Holds.FAILS, Holds.UNKNOWN
READ_BYTES = made.READ_REQUESTS * made.BLOCK


def verdict(name, **overrides):
    return next(found for found in judge(made.measurement(**overrides)) if found.name == name)


# As asked: 1,000 a second and 3,000 in turn.
CHANGING = made.timeline((1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 3000.0, 3000.0, 3000.0, 3000.0, 3000.0) * 6)
SCHEDULED = made.workload(rate_schedule="0s:1000,5s:3000,10s:1000")
# 625 batches, of which 40 had an update.
BATCHES = made.workload(loop="client", pipeline=16)
MIXED = {OpKind.SELECT: made.histogram(9_960, 5.0), OpKind.UPDATE: made.histogram(40, 5.0)}


def noisy(sigma_pct):
    generator = random.Random(7)
    return made.timeline([2000 * (1 + generator.gauss(0, sigma_pct / 100)) for _ in range(60)])


def sessions(**overrides):
    return (made.session(0, **overrides), *(made.session(number) for number in range(1, 8)))


def stated(mode, **overrides):
    return {"workload": made.workload(mode=mode), **overrides}


def local_path(**overrides):
    counted = {"private_visits": made.READ_REQUESTS, "shared_visits": 0.0, **overrides}
    return {"workload": made.workload(block_path="local"), "engine": made.engine(**counted)}


def skewed(points, visits=made.READ_REQUESTS, **load):
    """A run with a Zipf law, whose share of hits is so many points above the expected one."""
    asked = made.workload(access="zipf:0.99", work_unit=1, **load)
    expected = expected_hit_pct(asked, made.BLOCK, 64 * MIB).value or 50.0
    reads = visits * (1 - (expected + points) / 100)
    return {"workload": asked, "engine": made.engine(read_bytes=reads * made.BLOCK)}


def syncs(number):
    return {"engine": made.engine(log_syncs=number)}


def each_waited(number, **overrides):
    return {"engine": made.engine(log_syncs=None, commit_waits=float(number), **overrides)}


ROWS_WITHOUT_BLOCKS = made.engine(unknown={"block_visits": "a row is a key"})
CACHED = made.engine(read_requests=10.0, read_bytes=10.0 * made.BLOCK)
NO_UPDATES = made.engine(rows_updated=0.0, rows_updated_in_place=0.0)
FEW_READS = made.engine(read_requests=999.0, read_bytes=999.0 * made.BLOCK)
SCANS = tuple(made.session(n, updates=0, selects=0, scans=made.OPS_PER_SESSION) for n in range(8))
HALF_REACHED = made.host(server_read_bytes=0.5 * READ_BYTES)
NO_PROCESS_IO = {"server_read_bytes": None}
STAGES = {"Stage:executing": 900, "Commit:log write and flush": 100}
LOG_WAITS = {"IO:WalSync": 400, "LWLock:WALWrite": 300, "CPU": 300}
FEW_AT_WORK = {"IO:DataFileRead": 250, "CPU": 50}
CLIENT_LOOP = {"workload": made.workload(loop="client")}
IN_THE_DRIVER = CLIENT_LOOP | {"waits": FEW_AT_WORK}
THINKS = made.workload(think_tm_frequency=10, think_tm_min=1, think_tm_max=2)
IDLERS = [made.session(busy_us=0.4e6 * made.SECONDS)] * made.SESSIONS
UNFRAMED = EngineDelta(unknown={"*": "the clock was set"})
CLOCK_SET = EngineDelta(unknown={"*": f"{CLOCK_WAS_SET} during the run: it went 65.00 s in 60.00 s of this host's"})
STOPPED = (DriverUse(2, "", "a", 7, "", False, range(4), still_s=5.0, still_at_s=7.0, still_waited_s=0.0),)
LATE = sessions(idle_us=30e6)
STALLED = {OpKind.SELECT: made.slow(4, 5.0)}
LONG_OPS = {OpKind.SELECT: made.histogram(100, 2e6)}
COUNTED_OPS = made.workload(work_loop=10)
NEARLY_IDLE_DEVICE = made.device(read_ms=made.READ_REQUESTS * 0.03, write_ms=0.0)
QUICK = {"host": made.host(device=made.device(busy_ms=20_000.0))}
SHORT_QUEUE = made.host(server_runqueue_s=10.0)
NO_QUOTA = GroupUse(None, 0.0, 0, 0)
BUSY_CPU = {"user": 190.0, "steal": 2.0, "idle": 6.0, "iowait": 2.0}
NICED_CPU = {"user": 60.0, "nice": 96.8, "system": 20.0, "idle": 23.2}


def queued(seconds, **overrides):
    """Return a run on one CPU that others kept busy, of which the server's threads waited so long for it."""
    counted = {"server_cores": 1, "server_cpu_s": 20.0, "server_cpus_busy_s": 59.0, "group": NO_QUOTA, **overrides}
    return {"host": made.host(server_runqueue_s=seconds, **counted)}


def refused(read, updated):
    """Return a run with two refused attempts in which the engine counted this many rows more than the loop."""
    counted = made.engine(rows_read=960_000.0 + read, rows_updated=96_000.0 + updated)
    return {"sessions": sessions(conflicts=2), "engine": counted}


def lasted(seconds, planned_s, **overrides):
    return {"window": made.window(seconds, planned_s=planned_s), **overrides}


def left(ops):
    return made.schedule(not_begun=float(ops), oldest_s=12.5)


ALONE = OtherSessions({}, 200)
MONITORED = OtherSessions({"monitor in postgres": 4}, 200)
LOADED = OtherSessions({"app in erp (reports)": 150, "app in crm": 50}, 200, {"commits": 54.0})
UNSEEN = OtherSessions(None, 0, {"logical_reads": 30.0})
MORE_THAN_VISITS = {"table": ObjectIo(0.0, 1.05 * made.READ_REQUESTS, READ_BYTES, None, None)}

CASES = [
    ("errors", HOLDS, {}, "8 sessions ran without an error."),
    ("errors", HOLDS, {"interrupted": True}, "until the run was interrupted"),
    ("errors", FAILS, {"errors": ("session 3: connection lost", "session 4: too")}, "2 errors, the first: session 3"),
    ("errors", FAILS, {"sessions": (made.session(),)}, "Only 1 of 8 sessions"),
    ("window", HOLDS, {}, "60.00 s"),
    ("window", HOLDS, {"window": made.window(counter_seconds=60.5)}, "0.83 % more"),
    ("window", HOLDS, {"window": made.window(counter_seconds=60.602)}, "1.00 % more time than the load of 60.00 s; 1"),
    ("window", FAILS, {"window": made.window(counter_seconds=60.604)}, "1.01 % more"),
    ("window", FAILS, {"window": made.window(counter_seconds=90.0)}, "50.00 % more"),
    ("window", FAILS, {"window": made.window(counter_seconds=59.0)}, "1.67 % less"),
    ("window", FAILS, {"host": made.host(seconds=62.0)}, "host counters span 3.33 % more"),
    ("window", HOLDS, {"host": made.host(seconds=62.0), "local": False}, "engine counters"),
    ("window", FAILS, {"window": made.window(counter_seconds=0.0), "engine": UNFRAMED}, "No rate can be given"),
    ("planned_time", HOLDS, {}, "lasted 60.00 s; 60 s were planned"),
    ("planned_time", HOLDS, lasted(62.9, 60.0), "62.90 s"),
    ("planned_time", FAILS, lasted(63.1, 60.0), "lasted 63.10 s; 60 s were planned: the longest operation"),
    ("planned_time", FAILS, lasted(8.0, 3.0, latency=STALLED), "took 5 s, and half of"),
    ("planned_time", HOLDS, lasted(6.9, 3.0, latency=LONG_OPS), "6.90 s"),
    ("planned_time", FAILS, lasted(7.2, 3.0, latency=LONG_OPS), "half of them"),
    ("planned_time", FAILS, {"unfinished_s": (3.0, 32.1)}, "planned: 2 operations had not ended 32.1 s later"),
    ("planned_time", FAILS, lasted(56.9, 60.0), "56.90 s; 60 s were planned: sessions began late"),
    ("planned_time", HOLDS, lasted(9.0, 60.0, interrupted=True), "It was interrupted"),
    ("planned_time", HOLDS, lasted(9.0, 60.0, workload=COUNTED_OPS), "WORK_LOOP ended it"),
    ("planned_time", UNKNOWN, lasted(0.0, 60.0), "no operation ended"),
    ("sessions_busy", HOLDS, {}, "in the work loop 99.8 % of the time"),
    ("sessions_busy", HOLDS, {"sessions": sessions(idle_us=13e6)}, "97.1 %"),
    ("sessions_busy", FAILS, {"sessions": sessions(idle_us=30e6)}, "6.4 % between slices and 0.0 % before"),
    ("sessions_busy", FAILS, {"sessions": sessions(idle_us=30e6)}, "the driver, stopped or short of CPU, began their"),
    ("sessions_busy", FAILS, {"sessions": LATE, "drivers": STOPPED}, "driver 2 (a, pid 7) stood"),
    ("sessions_busy", FAILS, {"sessions": LATE, "engine": CLOCK_SET}, "the server's clock was set"),
    ("sessions_busy", FAILS, {"sessions": sessions(apart_us=30e6)}, "0.2 % between slices and 6.2 % before"),
    ("sessions_busy", FAILS, {"sessions": sessions(apart_us=30e6)}, "they did not begin or end together"),
    ("no_stalls", HOLDS, {}, "No operation took 1 s or more; the longest took 9 ms."),
    ("no_stalls", FAILS, {"latency": STALLED}, "4 operations of 1 s or more took 5.8 % of DB time, the longest 5 s"),
    ("no_stalls", HOLDS, {"latency": {OpKind.SELECT: made.slow(1, 3.0)}}, "1 operation of 1 s or more took 0.9 %"),
    ("no_stalls", HOLDS, {"latency": LONG_OPS}, "; the longest took 2 s."),
    ("no_stalls", FAILS, {"unfinished_s": (10.0,)}, "1 operation of 1 s or more (1 cancelled) took 2."),
    ("no_stalls", FAILS, {"schedule": made.schedule(), "response": STALLED}, "took 5.8 % of response time"),
    ("no_stalls", HOLDS, {"schedule": made.schedule(), "response": LONG_OPS, "latency": STALLED}, "the longest took"),
    ("no_stalls", HOLDS, {"unfinished_s": (0.9,)}, "No operation took 1 s"),
    ("alone_on_server", HOLDS, {"others": ALONE}, "No other session was at work in 200 samples."),
    ("alone_on_server", HOLDS, {"others": MONITORED}, "hardly worked: 0.02 of them were at work on average"),
    ("alone_on_server", FAILS, {"others": LOADED}, "1.00 of them were at work on average, most often app in erp"),
    ("alone_on_server", FAILS, {"others": LOADED}, "they did 54.0 % of all commits"),
    ("alone_on_server", FAILS, {"others": UNSEEN}, "server: they did 30.0 % of all logical reads."),
    ("alone_on_server", UNKNOWN, {"others": OtherSessions({}, 200, hidden=100)}, "may not see what other sessions do"),
    ("alone_on_server", UNKNOWN, {"others": OtherSessions()}, "may not see what other sessions do"),
    ("counts_agree", HOLDS, {}, "960,000 rows read and 96,000 updated"),
    ("counts_agree", FAILS, {"engine": made.engine(rows_read=960_001.0)}, "960,001 rows read"),
    ("counts_agree", FAILS, {"engine": made.engine(rows_updated=95_999.0)}, "95,999 updated"),
    ("counts_agree", HOLDS, {"sessions": sessions(rows_scanned=1000)}, ""),
    ("counts_agree", HOLDS, refused(read=16, updated=8), "2 refused attempts may have touched 16 more"),
    ("counts_agree", FAILS, refused(read=17, updated=8), "960,017 rows read"),
    ("counts_agree", FAILS, refused(read=8, updated=-1), "95,999 updated"),
    (
        "counts_agree",
        UNKNOWN,
        {"engine": made.engine(rows_read=None, unknown={"rows_read": "the counters were reset"})},
        "the counters were reset",
    ),
    (
        "counts_agree",
        FAILS,
        {"engine": made.engine(rows_read=None, rows_updated=95_999.0)},
        "The engine counted 95,999 rows updated, the work loop 96,000.",
    ),
    ("exact_mix", HOLDS, {}, "10.00 % where 10 %"),
    ("exact_mix", HOLDS, {"sessions": sessions(ops=14_995)}, "0.50 operations off"),
    ("exact_mix", FAILS, {"sessions": sessions(updates=1502)}, "2.00 operations off"),
    ("exact_mix", FAILS, {"sessions": sessions(scans=2)}, "2.00 operations off"),
    ("reads_reached_device", HOLDS, {}, "100.0 % of what the engine did"),
    ("reads_reached_device", HOLDS, {"host": made.host(server_read_bytes=0.985 * READ_BYTES)}, "98.5 %"),
    ("reads_reached_device", FAILS, {"host": HALF_REACHED}, "50.0 % of what the engine read came from the OS page"),
    ("reads_reached_device", FAILS, {"host": made.host(server_read_bytes=0.97 * READ_BYTES)}, "3.0 %"),
    ("reads_reached_device", HOLDS, {"host": made.host(**NO_PROCESS_IO)}, "The device, for all processes, read 100"),
    (
        "reads_reached_device",
        FAILS,
        {"host": made.host(**NO_PROCESS_IO, device=made.device(read_bytes=0.1 * READ_BYTES))},
        "90.0 %",
    ),
    # Others read the device as well: the server's own processes decide.
    (
        "reads_reached_device",
        FAILS,
        {"host": made.host(server_read_bytes=0.0, device=made.device(read_bytes=2 * READ_BYTES))},
        "100.0 %",
    ),
    (
        "reads_reached_device",
        UNKNOWN,
        {"host": made.host(server_read_bytes=1.5 * READ_BYTES), "direct_io": False},
        "read-ahead",
    ),
    ("reads_reached_device", UNKNOWN, {"no_device": "Its blocks are elsewhere"}, "Its blocks are elsewhere."),
    (
        "reads_reached_device",
        UNKNOWN,
        {"no_device": "Its blocks are elsewhere", "host": HALF_REACHED},
        "determined: Its blocks are elsewhere.",
    ),
    ("reads_reached_device", HOLDS, {"host": made.host(server_read_bytes=1.5 * READ_BYTES)}, "with direct I/O"),
    # As many bytes as the test asked for, but another session may have read them.
    ("reads_reached_device", UNKNOWN, {"direct_io": False, "others": LOADED}, "others' reads could hide"),
    ("reads_reached_device", UNKNOWN, {"engine": FEW_READS}, "almost nothing physically: 999 requests"),
    ("reads_reached_device", UNKNOWN, {"local": False}, "not known to be on this host"),
    (
        "reads_reached_device",
        UNKNOWN,
        {"host": made.host(**NO_PROCESS_IO, device=None, unknown={"device": "no block device under the data"})},
        "no block device under the data",
    ),
    ("reads_reached_device", UNKNOWN, {"engine": made.engine(read_bytes=None)}, "read_bytes was not measured"),
    ("reads_reached_device", FAILS, {"file_system": "tmpfs"}, "on tmpfs, memory-speed storage"),
    ("reads_reached_device", HOLDS, {"file_system": "ext4"}, "100.0 %"),
    ("block_path", HOLDS, local_path(), "960,000 went through the sessions' private memory and 0 through the shared"),
    ("block_path", HOLDS, local_path(shared_visits=960.0), "and 960 through the shared cache"),
    ("block_path", FAILS, local_path(shared_visits=961.0), "and 961 through the shared cache"),
    ("block_path", FAILS, local_path(private_visits=959_999.0), "959,999 went through the sessions'"),
    ("block_path", UNKNOWN, local_path(private_visits=None), "private_visits was not measured"),
    ("commits_waited", HOLDS, syncs(1499), "12,000 updates were committed with 1,499 log syncs, 8.0 per sync; 8"),
    ("commits_waited", FAILS, syncs(1498), "1,498 log syncs, 8.0 per sync; 8 sessions that wait can share one"),
    ("commits_waited", FAILS, syncs(240), "50.0 per sync"),
    ("commits_waited", HOLDS, syncs(1.1 * 12_000 + 3000), "12,000 updates"),
    ("commits_waited", UNKNOWN, syncs(1.1 * 12_000 + 3001), "more than 12,000 commits need"),
    ("commits_waited", UNKNOWN, {**syncs(20_000), "others": OtherSessions()}, "among them: others', or the server's"),
    ("commits_waited", UNKNOWN, {**syncs(20_000), "others": ALONE}, "are among them: the server's own, such as"),
    ("commits_waited", UNKNOWN, syncs(0), "no log sync was counted"),
    ("commits_waited", UNKNOWN, syncs(None), "log_syncs was not measured"),
    ("commits_waited", HOLDS, each_waited(10_800), "12,000 updates were committed, and 10,800 commits waited"),
    ("commits_waited", FAILS, each_waited(10_799), "10,799 commits waited"),
    ("commits_waited", HOLDS, each_waited(20_000), "20,000 commits"),
    ("commits_waited", UNKNOWN, each_waited(20_000, server_wide=frozenset({"commit_waits"})), "others' among them"),
    ("hits_as_expected", HOLDS, skewed(0), "% are expected with zipf:0.99; a difference of 5 points is allowed."),
    ("hits_as_expected", HOLDS, skewed(-4.99), "of the block visits needed no read"),
    ("hits_as_expected", FAILS, skewed(-5.01), "Perhaps the cache was not full when the window began"),
    ("hits_as_expected", FAILS, skewed(5.01), "or it held other data."),
    ("hits_as_expected", UNKNOWN, {**skewed(0), "cache_bytes": None}, "the size of the cache is not known"),
    ("hits_as_expected", UNKNOWN, skewed(0, scan_pct=1), "scans go through the cache, too"),
    ("hits_as_expected", UNKNOWN, skewed(0, hot_schema_frequency=9), "no hits are predicted"),
    ("hits_as_expected", UNKNOWN, skewed(0, block_path="local"), "do not share one cache"),
    ("hits_as_expected", UNKNOWN, {**skewed(0), "engine": made.engine(read_bytes=None)}, "read_bytes was not"),
    ("hits_as_expected", UNKNOWN, {**skewed(0), "engine": ROWS_WITHOUT_BLOCKS}, "determined: a row is a key."),
    ("mode", UNKNOWN, {}, "looks like pio"),
    ("mode", UNKNOWN, {"engine": replace(CACHED, write_bytes=500.0 * MIB)}, "looks like lio"),
    ("mode", UNKNOWN, {"engine": replace(CACHED, write_bytes=50.0 * MIB)}, "looks like redo"),
    ("mode", UNKNOWN, {"sessions": SCANS}, "looks like scan"),
    ("mode", UNKNOWN, {"engine": made.engine(read_requests=made.READ_REQUESTS / 2)}, "looks like no known mode"),
    ("mode", HOLDS, stated(Mode.PIO), "It was pio: 100.0 % of the block visits were engine reads"),
    ("mode", FAILS, stated(Mode.PIO, host=HALF_REACHED), "did not all reach"),
    ("mode", UNKNOWN, stated(Mode.PIO, engine=made.engine(by_object=MORE_THAN_VISITS)), "105.0 % were reads of tables"),
    ("mode", FAILS, stated(Mode.PIO, engine=CACHED), "It was not pio: 0.0 %"),
    ("mode", UNKNOWN, stated(Mode.PIO, local=False), "whether they reached a device is unknown"),
    ("mode", UNKNOWN, stated(Mode.PIO, engine=made.engine(read_requests=None)), "read_requests was not measured"),
    ("mode", HOLDS, stated(Mode.LIO, engine=CACHED), "100.000 %"),
    ("mode", HOLDS, stated(Mode.LIO, engine=replace(CACHED, read_bytes=2880.0 * made.BLOCK)), "99.900 %"),
    ("mode", FAILS, stated(Mode.LIO, engine=replace(CACHED, read_bytes=2900.0 * made.BLOCK)), "99.899 %"),
    ("mode", UNKNOWN, stated(Mode.LIO, engine=made.engine(logical_reads=None)), "logical_reads was not measured"),
    ("mode", HOLDS, stated(Mode.REDO, engine=replace(CACHED, write_bytes=50.0 * MIB)), "70.6 %"),
    ("mode", FAILS, stated(Mode.REDO, engine=replace(CACHED, write_bytes=500.0 * MIB)), "19.4 %"),
    ("mode", FAILS, stated(Mode.REDO), "cache hits"),
    ("mode", FAILS, stated(Mode.REDO, engine=CACHED, sessions=SCANS), "nothing was updated"),
    ("mode", UNKNOWN, stated(Mode.REDO, engine=replace(CACHED, log_bytes=None)), "log_bytes was not measured"),
    ("mode", HOLDS, stated(Mode.SCAN, sessions=SCANS), "120,000 of 120,000"),
    ("mode", FAILS, stated(Mode.SCAN), "0 of 120,000"),
    ("data_in_place", HOLDS, {}, "100.00 % of the updated rows stayed"),
    ("data_in_place", HOLDS, {"engine": NO_UPDATES}, "no row was updated"),
    ("data_in_place", FAILS, {"blocks_after": 140_000}, "grew by 6.8 %"),
    ("data_in_place", FAILS, {"data_fault": "the table cf1_1 has grown"}, "The table cf1_1 has grown. Run `slob load`"),
    ("data_in_place", FAILS, {"engine": made.engine(rows_updated_in_place=90_000.0)}, "Only 93.8 %"),
    ("data_in_place", FAILS, {"engine": made.engine(rows_updated_in_place=0.0), "blocks_after": None}, "Only 0.0 %"),
    ("data_in_place", FAILS, {"sessions": sessions(rows_read=1)}, "rows where 960,000 should be: the keys are not"),
    ("data_in_place", FAILS, {"sessions": sessions(rows_scanned=1)}, " rows where 960,000 should be: the keys"),
    ("data_in_place", UNKNOWN, {"blocks_after": None}, "sizes were not measured"),
    ("data_in_place", UNKNOWN, {"engine": made.engine(rows_updated_in_place=None)}, "was not measured"),
    ("driver_quiet", HOLDS, {}, "1.00 %"),
    ("driver_quiet", FAILS, {"host": made.host(driver_cpu_s=1.6)}, "2.00 %"),
    ("driver_quiet", FAILS, {"host": made.host(driver_cpu_s=1.597)}, "2.00 % of the server's CPU; less than 2 %"),
    ("driver_quiet", HOLDS, {"host": made.host(driver_cpu_s=1.595)}, "1.99 %"),
    ("driver_quiet", UNKNOWN, {"host": made.host(driver_cpu_s=None)}, "driver_cpu_s was not measured"),
    ("driver_quiet", UNKNOWN, {"host": made.host(server_cpu_s=0.0)}, "no measurable CPU"),
    ("quiet_machine", HOLDS, {}, "0.42 % of the CPU was stolen"),
    ("quiet_machine", HOLDS, {"timeline": noisy(5)}, "ops/s spread by"),
    ("quiet_machine", UNKNOWN, {"timeline": CHANGING, "workload": SCHEDULED}, "the rate was to change"),
    ("quiet_machine", FAILS, {"timeline": CHANGING}, "The machine is noisy"),
    ("quiet_machine", UNKNOWN, {"local": False}, "stolen CPU is unknown"),
    ("quiet_machine", UNKNOWN, {"local": False, "timeline": noisy(30)}, "ops/s spread by"),
    ("quiet_machine", FAILS, {"timeline": noisy(30)}, "The machine is noisy"),
    ("quiet_machine", FAILS, {"host": made.host(server_cpu_s=50.0)}, "18.00 % of the CPU was used by others"),
    ("quiet_machine", FAILS, {"host": made.host(cpu=NICED_CPU)}, "54.73 % of the CPU was used by others"),
    ("quiet_machine", UNKNOWN, {"host": made.host(server_cpu_s=None)}, "others' CPU is unknown"),
    ("quiet_machine", FAILS, {"host": made.host(cpu={"user": 90.0, "steal": 10.0, "idle": 100.0})}, "5.00 %"),
    (
        "quiet_machine",
        FAILS,
        {"host": made.host(cpu={"user": 9.0, "steal": 1.0, "idle": 10.0}), "timeline": ()},
        "5.00 %",
    ),
    ("quiet_machine", UNKNOWN, {"timeline": made.timeline((2000.0,) * 4)}, "fewer than 5 points"),
    ("steady", HOLDS, {}, "Steady since second 0 of 60."),
    ("steady", HOLDS, {"timeline": made.timeline((1500.0,) * 6 + (2000.0,) * 54)}, "Steady since second"),
    ("steady", FAILS, {"timeline": made.timeline((1000.0,) * 30 + (2000.0,) * 30)}, "only from second 30 of 60"),
    ("steady", UNKNOWN, {"timeline": CHANGING, "workload": SCHEDULED}, "Not judged: the rate was to change"),
    ("steady", FAILS, {"timeline": made.timeline([1000.0 + 50 * i for i in range(60)])}, "No part"),
    ("steady", UNKNOWN, {"timeline": made.timeline((2000.0,) * 9)}, "fewer than 10 points"),
    ("steady", UNKNOWN, {"timeline": made.timeline((30.0,) * 60)}, "enough operations"),
    ("percentiles_supported", HOLDS, {}, "select p99.9 (108,000 ops), update p99.9 (12,000 ops)"),
    ("percentiles_supported", HOLDS, {"latency": {OpKind.SELECT: made.histogram(10_000, 5.0)}}, "p99.9"),
    ("percentiles_supported", HOLDS, {"latency": {OpKind.SELECT: made.histogram(9_999, 5.0)}}, "p99 (9,999 ops)"),
    ("percentiles_supported", FAILS, {"latency": {OpKind.SCAN: made.histogram(999, 5.0)}}, "scan p90"),
    ("percentiles_supported", FAILS, {"latency": {OpKind.SCAN: made.histogram(100, 5.0)}}, "scan p90"),
    ("percentiles_supported", FAILS, {"latency": {OpKind.SCAN: made.histogram(99, 5.0)}}, "scan p50"),
    ("percentiles_supported", FAILS, {"latency": {OpKind.SCAN: made.histogram(19, 5.0)}}, "scan none"),
    ("percentiles_supported", FAILS, {"workload": BATCHES, "latency": MIXED}, "select p90 (in 625 of the batches), "),
    ("percentiles_supported", FAILS, {"workload": BATCHES, "latency": MIXED}, "update p50 (in 40 of the batches)."),
    ("percentiles_supported", HOLDS, {"workload": BATCHES}, "10 batches of 16 operations beyond them go up to: "),
    ("time_is_accounted", HOLDS, {"host": SHORT_QUEUE}, "CPU is 19 %, waits for a CPU are 2 % and other waits 70 %."),
    ("time_is_accounted", FAILS, {"host": SHORT_QUEUE, "waits": {"CPU": 1000}}, "79 % is none of these"),
    ("time_is_accounted", HOLDS, {"waits": {"CPU": 1000}, "host": made.host(server_runqueue_s=320.0)}, "are 74 %"),
    # Sessions that wait for data use CPU as well: the sum may be larger than the time.
    ("time_is_accounted", HOLDS, {"waits": {"IO:DataFileRead": 1000}}, "other waits 100 %."),
    ("time_is_accounted", FAILS, {"host": SHORT_QUEUE, "waits": {"IO:Read": 60, "CPU": 60}}, "29 % is none of these"),
    ("time_is_accounted", UNKNOWN, {"host": SHORT_QUEUE, "waits": {"IO:Read": 78, "CPU": 42}}, "with 120"),
    ("time_is_accounted", UNKNOWN, {"waits": {"CPU": 99}}, "only 99 wait samples"),
    ("time_is_accounted", UNKNOWN, {"waits": STAGES}, "the stage of a session's statement"),
    ("time_is_accounted", UNKNOWN, {}, "server_runqueue_s was not measured"),
    ("time_is_accounted", UNKNOWN, {"local": False}, "the server is not known to be on this host"),
    ("time_is_accounted", HOLDS, {"local": False, "waits": {"IO:DataFileRead": 91, "CPU": 9}}, "CPU is unknown"),
    ("time_is_accounted", UNKNOWN, {"host": made.host(seconds=62.0)}, "the host counters span 3.33 % more time"),
    ("rate_reached", HOLDS, {"schedule": made.schedule()}, "2,000.0 of 2,000.0 a second; no due"),
    ("rate_reached", HOLDS, {"schedule": left(1200)}, "99.01 % of those due"),
    ("rate_reached", FAILS, {"schedule": left(1300)}, "1,300 operations due in the window had not begun"),
    ("rate_reached", FAILS, {"schedule": left(30_000)}, "the oldest 12.500 s late"),
    ("driver_quiet", HOLDS, {"host": made.host(driver_cpu_s=4.7), "schedule": made.schedule()}, "1.96 % of the"),
    ("driver_quiet", FAILS, {"host": made.host(driver_cpu_s=4.9), "schedule": made.schedule()}, "2.04 % of the"),
    ("limit_found", HOLDS, {"schedule": made.schedule()}, "Not limited: the run reached the given rate"),
    ("limit_found", HOLDS, {"schedule": left(30_000)}, "Storage was the limit"),
    ("limit_found", FAILS, {"schedule": left(30_000), "waits": {"CPU": 1000}}, "Nothing was at its limit"),
    ("limit_found", HOLDS, {}, "data I/O 60 %"),
    (
        "limit_found",
        HOLDS,
        {"host": made.host(device=made.device(busy_ms=20_000.0))},
        "its latency set the pace",
    ),
    ("limit_found", HOLDS, {"waits": LOG_WAITS}, "log writes 70 %"),
    ("limit_found", FAILS, {"host": made.host(device=NEARLY_IDLE_DEVICE)}, "the device had hardly any requests: CPU"),
    ("limit_found", HOLDS, {"host": made.host(device=NEARLY_IDLE_DEVICE), "waits": LOG_WAITS}, "Storage was the limit"),
    ("limit_found", FAILS, {"sessions": sessions(idle_us=30e6)}, "The sessions were idle 6 % of the time, which"),
    ("limit_found", HOLDS, {"sessions": sessions(idle_us=30e6), "schedule": made.schedule()}, "Not limited: the run"),
    # The server had their statements for a fifth of the operations' time, and waited for data then.
    ("limit_found", HOLDS, IN_THE_DRIVER, "the driver, protocol or network, not storage"),
    ("limit_found", HOLDS, IN_THE_DRIVER, "the server had a statement for 21 % of the operations' time"),
    ("limit_found", HOLDS, CLIENT_LOOP, "Storage was the limit"),
    ("limit_found", HOLDS, {"waits": FEW_AT_WORK}, "Storage was the limit"),
    # Mostly waiting for the log while they work, but most of the time they think.
    ("limit_found", HOLDS, {"workload": THINKS, "sessions": IDLERS, "waits": LOG_WAITS}, "the think time, not storage"),
    ("limit_found", HOLDS, {"workload": THINKS, "waits": LOG_WAITS}, "Storage was the limit"),
    ("limit_found", HOLDS, {"sessions": IDLERS, "waits": LOG_WAITS}, "Storage was the limit"),
    ("limit_found", HOLDS, {"waits": {}}, "data I/O 72 %"),
    ("limit_found", HOLDS, {"waits": STAGES}, "data I/O 72 %, log writes 10 %, locks unknown"),
    ("limit_found", UNKNOWN, {"waits": STAGES, "engine": made.engine(read_time_us=None)}, "was not measured"),
    ("limit_found", HOLDS, {"local": False}, "how busy the device was is unknown"),
    ("limit_found", HOLDS, {"host": made.host(cpu=BUSY_CPU, server_cpu_s=200.0)}, "The limit was the server's CPU"),
    ("limit_found", HOLDS, {"host": made.host(server_cores=1, server_cpu_s=58.0)}, "CPU 97 %"),
    # Held back in most periods; or seldom, but it had nearly all of its quota: 80 s of 84.
    ("limit_found", HOLDS, {"host": made.host(group=GroupUse(2.0, 30.0, 600, 480))}, "limit was the CPU quota, not"),
    ("limit_found", HOLDS, {"host": made.host(group=GroupUse(1.4, 30.0, 600, 6))}, "the CPU quota of 1.4 CPUs of its"),
    ("limit_found", HOLDS, {"host": made.host(group=GroupUse(2.0, 30.0, 600, 246))}, "in 41 % of its periods), and"),
    ("limit_found", HOLDS, {"host": made.host(group=GroupUse(1.4, 0.0, 600, 0))}, "Storage was the limit"),
    ("quiet_machine", HOLDS, {"host": made.host(group=GroupUse(2.0, 30.0, 600, 246))}, "of 2 CPUs of its control"),
    ("quiet_machine", HOLDS, {"host": made.host(group=GroupUse(None, 3.0, 60, 6))}, "CPU quota that ended during"),
    ("limit_found", HOLDS, {"host": made.host(server_cores=1, server_cpus_busy_s=59.0)}, "not storage: CPU 98 %"),
    # 432 s of DB time: others had most of the CPU, and the server waited for it for most of that, hardly, or as long as
    # for storage; or nobody knows.
    ("limit_found", HOLDS, queued(260.0), "The limit was the CPU that others used, not storage"),
    # Server and driver of a client loop, which used a third each; in the server's loop the driver is another program.
    ("limit_found", HOLDS, queued(260.0, driver_cpu_s=20.0) | CLIENT_LOOP, "the driver, protocol or network, not"),
    ("limit_found", HOLDS, queued(260.0) | CLIENT_LOOP, "The limit was the CPU that others used, not storage"),
    ("limit_found", HOLDS, queued(260.0, driver_cpu_s=20.0), "The limit was the CPU that others used, not storage"),
    ("limit_found", HOLDS, queued(10.0), "Storage was the limit: CPU 98 % (by the server 33 %), and of DB time: data"),
    ("limit_found", HOLDS, queued(100.0), "log writes 8 %, locks 2 %, for a CPU 23 %"),
    ("limit_found", UNKNOWN, queued(180.0), "waited for a CPU and for storage for about as long"),
    ("limit_found", UNKNOWN, queued(260.0, group=None), "but whether it had a quota can't be read"),
    ("limit_found", UNKNOWN, queued(None), "whether the server waited for it is not known"),
    # It used most of the CPU itself, but niced programs have the rest, and nobody waits.
    ("limit_found", HOLDS, queued(260.0, server_cpu_s=50.0), "The limit was the server's CPU, not storage"),
    ("limit_found", HOLDS, queued(10.0, server_cpu_s=40.0), "Storage was the limit"),
    ("limit_found", FAILS, queued(10.0, server_cpu_s=40.0) | {"waits": {"CPU": 1000}}, "Nothing was at its limit"),
    ("limit_found", HOLDS, queued(10.0, server_cpu_s=58.0), "The limit was the server's CPU, not storage"),
    # It waited for CPUs that nobody used, or that were about to be used up.
    ("limit_found", HOLDS, queued(300.0, server_cpus_busy_s=30.0), "The limit was the CPU quota that can't be read"),
    ("limit_found", HOLDS, queued(300.0, server_cpus_busy_s=55.0), "Storage was the limit"),
    ("limit_found", HOLDS, QUICK | {"unevenness": 0.02}, "its latency set the pace, and more sessions may do more."),
    ("limit_found", HOLDS, QUICK | {"unevenness": 0.002}, "set the pace; the rate varied by 0.2 % only, as under"),
    ("limit_found", FAILS, {"waits": {"CPU": 1000}, "unevenness": 0.02}, "so more sessions may do more: CPU"),
    ("limit_found", FAILS, {"waits": {"CPU": 1000}, "unevenness": 0.002}, "but a cap may be in force: CPU"),
    ("limit_found", HOLDS, {"waits": {"Lock:tuple": 800, "CPU": 200}}, "The limit was the wait for locks"),
    ("limit_found", HOLDS, {"waits": {"Cluster:gc cr request": 800, "CPU": 200}}, "limit was the wait for other inst"),
    ("limit_found", FAILS, {"waits": {"CPU": 1000}}, "Nothing was at its limit"),
    ("limit_found", UNKNOWN, {"waits": {"CPU": 1000}, "local": False}, "not known to be on this host"),
    ("limit_found", UNKNOWN, {"others": LOADED}, "other sessions worked on the server"),
    ("limit_found", UNKNOWN, {"waits": {"CPU": 9}, "engine": EngineDelta()}, "only 9 wait samples"),
]  # fmt: skip


@table(("name", "outcome", "overrides", "says"), CASES)
def test_verdict(name, outcome, overrides, says):
    found = verdict(name, **overrides)
    assert found.verdict is outcome, found.why
    assert says in found.why


def test_every_verdict_is_tested_for_each_outcome_it_can_have():
    tested = {(name, outcome) for name, outcome, _, _ in CASES}
    tested |= {(found.name, found.verdict) for found in judge(made.idle(schedule=made.schedule()))}
    # Those beside a raw measurement or the server's own report, and those that only some engines or modes have, have
    # tests of their own.
    apart = {
        "within_ceiling",
        "awr_agrees",
        *(each.__name__ for each in VERDICTS if each.__module__ in (server.__name__, level.__name__, churn.__name__)),
    }
    names = {verdict.__name__ for verdict in VERDICTS} - apart
    # Whether a session was lost is always known.
    assert tested == {(name, outcome) for name in names for outcome in Holds} - {("errors", UNKNOWN)}


def test_hits_are_expected_of_skewed_keys_only():
    for access in ("uniform", "hotspot"):
        run = made.measurement(workload=made.workload(access=access))
        assert "hits_as_expected" not in {found.name for found in judge(run)}


def test_a_cache_that_is_a_clock_is_judged_as_one():
    run = {**skewed(0), "cache_use_limit": 5}
    figures = verdict("hits_as_expected", **run).figures
    assert figures["expected_hit_pct"] > figures["hit_pct"] + 0.5


def test_the_path_is_judged_only_where_one_of_its_own_was_asked_for():
    assert "block_path" not in {found.name for found in judge(made.measurement())}


@table("load", [{"commit_mode": "nowait"}, {"commit_mode": "engine"}, {"update_pct": 0}])
def test_commits_that_need_not_wait_are_not_judged(load):
    judged = judge(made.measurement(workload=made.workload(**load)))
    assert "commits_waited" not in {found.name for found in judged}


def test_a_run_without_operations_holds_nothing_but_that_no_session_was_lost():
    outcomes = {found.name: found.verdict for found in judge(made.idle())}
    assert outcomes.pop("errors") is HOLDS
    assert set(outcomes.values()) == {UNKNOWN}


def test_with_nothing_measured_but_the_load_no_verdict_on_engine_or_host_is_given():
    blank = made.measurement(engine=EngineDelta(), host=HostDelta(60.0, 4), waits={})
    outcomes = {found.name: found.verdict for found in judge(blank)}
    for name in ("counts_agree", "reads_reached_device", "driver_quiet", "data_in_place", "limit_found"):
        assert outcomes[name] is UNKNOWN


def test_sentences_are_sentences_and_figures_are_plain():
    for measured in (made.measurement(), made.idle(), made.measurement(local=False)):
        for found in judge(measured):
            assert found.why[0].isupper() or found.why[0].isdigit()
            assert found.why.endswith(".")
            assert "\n" not in found.why


def test_the_sampling_cost_stands_beside_the_drivers():
    assert verdict("driver_quiet").figures["sampler_cpu_pct_of_db"] == pytest.approx(0.5)


def test_without_a_rate_there_is_no_verdict_on_one():
    assert "rate_reached" not in {found.name for found in judge(made.measurement())}
    assert verdict("limit_found", schedule=made.schedule()).figures["limit"] == "given rate"


def test_mode_looked_like_and_limit_are_figures():
    assert verdict("mode").figures == {"looks_like": "pio"}
    assert verdict("limit_found").figures["limit"] == "storage"
    assert "throttled_pct" not in verdict("limit_found", host=made.host(group=GroupUse(None, 0.0, 0, 0))).figures
    limited = verdict("limit_found", host=made.host(group=GroupUse(1.5, 9.0, 600, 450))).figures
    assert (limited["limit"], limited["cpu_quota"], limited["throttled_pct"]) == ("CPU quota", 1.5, 75.0)
    assert verdict("limit_found").figures["device_busy_pct"] == pytest.approx(59_000 / 600)
