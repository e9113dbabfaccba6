"""Differences of counters as figures: whose they are, what is unknown and why, waits by class."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.tables import table
from openslob.core.histogram import bucket_of
from openslob.core.measurement import ONLY_SOME_HAVE, EngineDelta, ObjectIo, WaitClass
from openslob.engines.cluster.instances import add_deltas
from openslob.engines.oracle.connection import PACKAGE
from openslob.engines.oracle.counters import VIEWS
from openslob.engines.oracle.delta import OF_SERVER, classify_event, make_unknown, to_delta, to_server_delta
from openslob.engines.sql import read_statements
from openslob.metrics.waits import histogram_of

SECONDS = 60.0
# A made-up minute of a work loop, by the part of counters.sql that reads each counter.
PARTS = {
    "sysstat": {
        "sysstat.session logical reads": 6_500_000.0,
        "sysstat.physical read IO requests": 600_000.0,
        "sysstat.physical read bytes": 600_000.0 * 8192,
        "sysstat.physical read total IO requests": 601_000.0,
        "sysstat.physical reads cache": 600_000.0,
        "sysstat.physical reads cache prefetch": 3000.0,
        "sysstat.physical write IO requests": 20_000.0,
        "sysstat.physical write bytes": 20_000.0 * 8192,
        "sysstat.redo size": 90_000_000.0,
        "sysstat.db block changes": 1_400_000.0,
        "sysstat.redo writes": 9000.0,
        "sysstat.redo synch writes": 10_000.0,
        "sysstat.redo synch time (usec)": 5_000_000.0,
        "sysstat.user commits": 10_100.0,
        "sysstat.table fetch continued row": 0.0,
        "sysstat.table scans (direct read)": 9.0,
        "sysstat.background checkpoints started": 2.0,
        "sysstat.background checkpoints completed": 1.0,
    },
    "time_model": {
        "time_model.DB time": 470e6,
        "time_model.DB CPU": 30e6,
        "time_model.background cpu time": 2e6,
    },
    "events": {
        "event.waits.User I/O:db file sequential read": 590_000.0,
        "event.us.User I/O:db file sequential read": 177e6,
        "event.waits.User I/O:db file parallel read": 100.0,
        "event.us.User I/O:db file parallel read": 1e5,
        "event.waits.User I/O:read by other session": 10.0,
        "event.us.User I/O:read by other session": 1e4,
        "event.waits.Commit:log file sync": 10_000.0,
        "event.us.Commit:log file sync": 5e6,
        "event.waits.Configuration:log file switch (checkpoint incomplete)": 8.0,
        "event.us.Configuration:log file switch (checkpoint incomplete)": 4e6,
        "event.waits.Scheduler:resmgr:cpu quantum": 20.0,
        "event.us.Scheduler:resmgr:cpu quantum": 2e6,
    },
    "histogram": {
        "histogram.db file sequential read.256": 200_000.0,
        "histogram.db file sequential read.512": 390_000.0,
    },
    "osstat": {"osstat.BUSY_TIME": 12_000.0, "osstat.IDLE_TIME": 36_000.0, "osstat.NUM_CPUS": 0.0},
    "memory": {"memory.operations.DEFAULT buffer cache": 2.0, "memory.operations.KEEP buffer cache": 0.0},
    "sql": {
        "sql.update.rows": 640_000.0,
        "sql.update.executions": 10_000.0,
        "sql.update.cursors": 0.0,
        "sql.update.loads": 0.0,
        "sql.select.executions": 90_000.0,
    },
    "objects": {
        "object.table.physical read requests": 580_000.0,
        "object.table.read bytes": 580_000.0 * 8192,
        "object.index.physical read requests": 10_000.0,
    },
}
BY_SESSION = {
    "sessions.identity": 0.0,
    "sessions.count": 0.0,
    "session.run.session logical reads": 6_400_000.0,
    "session.run.physical read IO requests": 595_000.0,
    "session.run.physical read bytes": 595_000.0 * 8192,
    "session.run.physical reads cache": 595_000.0,
    "session.run.physical reads cache prefetch": 3000.0,
    "session.run.redo size": 80_000_000.0,
    "session.run.db block changes": 1_300_000.0,
    "session.run.redo synch writes": 10_000.0,
    "session.run.redo synch time (usec)": 4_900_000.0,
    "session.run.user commits": 10_000.0,
    "session.run.table scans (direct read)": 7.0,
    "session.own.session logical reads": 1000.0,
    "session.own.user commits": 20.0,
}
CHANGE = {name: value for part in PARTS.values() for name, value in part.items()}
NEVER = {
    *("rows_read", "full_page_images", "full_page_image_bytes", "shared_visits", "private_visits", "maintenance"),
}


def without(*parts: str) -> dict[str, float]:
    return {name: value for part, values in PARTS.items() if part not in parts for name, value in values.items()}


def unknown(delta: EngineDelta) -> set[str]:
    return {name for name, value in delta.amounts().items() if value is None} - OF_SERVER


def test_every_figure_is_known_that_the_server_counts_at_all():
    delta = to_delta(CHANGE)
    assert unknown(delta) == NEVER == set(delta.unknown)
    assert (delta.read_requests, delta.read_bytes) == (600_000, 600_000 * 8192)
    assert (delta.write_requests, delta.log_write_requests, delta.block_changes) == (20_000, 9000, 1_400_000)
    assert (delta.commits, delta.log_syncs, delta.commit_waits) == (10_100, 10_000, 10_000)
    assert (delta.db_cpu_us, delta.background_cpu_us, delta.db_time_us) == (32e6, 2e6, 470e6)
    assert delta.foreground_cpu_us == 30e6
    assert (delta.host_busy_us, delta.host_idle_us) == (120e6, 360e6)
    assert (delta.single_reads, delta.single_read_time_us) == (590_000, 177e6)
    assert delta.read_time_us == 177e6 + 1e5
    assert (delta.log_switches, delta.log_switch_waits, delta.checkpoints) == (2, 8, 1)
    assert (delta.cache_resizes, delta.throttled_us, delta.direct_scans) == (2, 2e6, 9)
    assert (delta.rows_updated, delta.rows_updated_in_place) == (640_000, 640_000)
    assert delta.by_object["table"].read_bytes == 580_000 * 8192
    assert delta.by_object["log"].write_requests == 9000


def test_what_is_counted_by_session_is_the_test_s_alone():
    delta = to_delta({**CHANGE, **BY_SESSION})
    assert (delta.logical_reads, delta.commits, delta.commit_waits) == (6_400_000, 10_000, 10_000)
    assert (delta.direct_scans, delta.block_changes) == (7, 1_300_000)
    assert delta.others == {"logical_reads": 99_000, "read_requests": 5000, "commits": 80, "log_syncs": 0}
    own = {"logical_reads", "read_requests", "read_bytes", "log_bytes", "commits", "commit_waits", "rows_updated"}
    assert "block_changes" not in delta.server_wide
    assert not own & delta.server_wide
    assert not {"host_busy_us", "host_idle_us", "cache_resizes"} & delta.server_wide
    assert {"write_requests", "db_cpu_us", "log", "User I/O:db file sequential read"} <= delta.server_wide


@table(
    "change",
    [
        {"sessions.identity": 65_536.0},
        {"sessions.identity": 0.0},
        {},
    ],
)
def test_without_the_same_sessions_at_both_ends_the_counters_are_the_server_s(change):
    delta = to_delta({**CHANGE, **change})
    assert delta.commits == 10_100
    assert "commits" in delta.server_wide
    assert delta.others == {}


LOST = {
    "sysstat": {
        *("logical_reads", "read_requests", "read_bytes", "write_requests", "write_bytes", "log_bytes", "log_syncs"),
        *("block_changes", "log_sync_time_us", "log_write_requests", "commits", "checkpoints", "rows_updated_in_place"),
        *("cache_blocks_read", "cache_blocks_prefetched", "commit_waits", "log_switches", "direct_scans"),
    },
    "time_model": {"db_cpu_us", "db_time_us", "background_cpu_us", "foreground_cpu_us"},
    "events": {"read_time_us", "single_reads", "single_read_time_us", "log_switch_waits", "throttled_us"},
    "osstat": {"host_busy_us", "host_idle_us"},
    "memory": {"cache_resizes"},
    "sql": {"rows_updated", "rows_updated_in_place"},
}


# In front of a statistic's name, by part; the prefix of others is the part's own.
PREFIXES = {
    "sessions": ("session.run.", "session.own.", "sessions."),
    "objects": ("object.table.", "object.index."),
    "sql": ("sql.update.", "sql.select."),
}


@table("part", ["sysstat", "time_model", "osstat", "sessions", "objects", "sql"])
def test_each_statistic_that_makes_a_figure_is_read_by_its_name(part):
    read = set(re.findall(r"'([^']+)'", read_statements(PACKAGE, "counters")[part]))
    prefixes = PREFIXES.get(part, (f"{part}.",))
    values = PARTS.get(part, BY_SESSION)
    used = {next(key.removeprefix(each) for each in prefixes if key.startswith(each)) for key in values}
    assert used
    assert used <= read


# As `SELECT DISTINCT statistic_name FROM v$segment_statistics` names them; V$SYSSTAT has other names for some.
SEGMENT_STATISTICS = {
    *("logical reads", "buffer busy waits", "gc buffer busy", "db block changes", "physical reads", "physical writes"),
    *("physical read requests", "physical write requests", "physical reads direct", "physical writes direct"),
    *("optimized physical reads", "gc cr blocks received", "gc current blocks received", "ITL waits"),
    *("row lock waits", "space used", "space allocated", "segment scans"),
}


def test_statistics_of_segments_are_asked_for_by_the_names_that_they_have_there():
    text = read_statements(PACKAGE, "counters")["objects"]
    asked = set(re.findall(r"'([a-z ]+)'", text)) - {"read bytes"}
    assert len(asked) >= 6
    assert asked <= SEGMENT_STATISTICS


def test_waits_are_those_of_sessions_with_their_class():
    text = read_statements(PACKAGE, "counters")["events"]
    assert set(re.findall(r"\b(?:total_waits|time_waited)\w*", text)) == {"total_waits_fg", "time_waited_micro_fg"}
    assert text.count("wait_class || ':' || event") == text.count("wait_class <> 'Idle'") == 2


@table("part", list(VIEWS))
def test_a_part_that_is_missing_makes_its_figures_unknown_with_its_reason(part):
    why = f"this user may not read {part}"
    delta = to_delta(without(part), {part: why})
    assert unknown(delta) == NEVER | LOST.get(part, set())
    gone = LOST.get(part, set()) - {"rows_updated_in_place"}
    assert {delta.unknown[name] for name in gone} <= {why}
    assert set(delta.unknown) == unknown(delta) | ({"wait_latency"} if part == "histogram" else set())


def test_without_any_right_every_figure_is_unknown_with_a_reason():
    delta = to_delta({}, {part: f"no {part}" for part in VIEWS})
    assert unknown(delta) == set(delta.amounts()) - OF_SERVER == set(delta.unknown) - {"wait_latency"}
    assert delta.unknown["wait_latency"] == "no histogram"
    assert all(delta.unknown.values())
    assert delta.timed_waits == ()


def test_what_sessions_count_needs_no_right_to_the_whole_server_s():
    delta = to_delta({**without("sysstat"), **BY_SESSION}, {"sysstat": "no right"})
    assert delta.logical_reads == 6_400_000
    assert delta.unknown["write_requests"] == "no right"


def test_a_pluggable_database_shows_nothing_of_background_processes():
    delta = to_delta(CHANGE, pluggable=True)
    assert unknown(delta) == NEVER | {
        *("write_requests", "write_bytes", "log_write_requests", "checkpoints", "log_switches"),
        *("db_cpu_us", "background_cpu_us"),
    }
    assert "CDB$ROOT" in delta.unknown["write_requests"]
    assert delta.by_object["log"].write_requests is None
    assert delta.foreground_cpu_us == 30e6, "the sessions' CPU needs no background process"


@table(
    "change, rows",
    [
        ({"sql.update.rows": -5.0}, None),
        ({"sql.update.cursors": -1.0}, None),
        ({"sql.update.loads": 1.0}, None),  # loaded again: its counts began anew
        ({"sql.update.loads": 1.0, "sql.update.cursors": 1.0}, 640_000),
        ({"statements.count": 2.0}, None),  # found meanwhile, with counts of earlier runs
    ],
)
def test_rows_of_a_statement_that_left_the_shared_pool_are_unknown(change, rows):
    delta = to_delta({**CHANGE, **change})
    assert delta.rows_updated == rows
    assert ("shared pool" in delta.unknown.get("rows_updated", "")) is (rows is None)


def test_no_update_is_none_updated():
    select = {name: value for name, value in PARTS["sql"].items() if ".select." in name}
    assert to_delta({**without("sql"), **select}).rows_updated == 0


def test_a_row_in_several_parts_may_have_moved():
    assert to_delta({**CHANGE, "sysstat.table fetch continued row": 3.0}).rows_updated_in_place is None


def test_before_11_2_0_2_the_time_of_commits_is_in_hundredths():
    old = {name: value for name, value in CHANGE.items() if "(usec)" not in name}
    assert to_delta({**old, "sysstat.redo synch time": 500.0}).log_sync_time_us == 5_000_000


def test_waits_have_their_class_and_their_durations():
    waits = {wait.event: wait for wait in to_delta(CHANGE).timed_waits}
    reads = waits["User I/O:db file sequential read"]
    assert (reads.wait_class, reads.count, reads.time_us) == (WaitClass.DATA_IO, 590_000, 177e6)
    assert histogram_of(reads).count == 590_000
    assert histogram_of(reads).mean_us() == pytest.approx(300)
    assert histogram_of(reads).max_us == 512
    assert histogram_of(reads).quantile_us(0.1) == pytest.approx(256, rel=0.02)
    assert histogram_of(reads).quantile_us(0.99) == pytest.approx(512, rel=0.02)
    assert histogram_of(waits["Commit:log file sync"]) is None
    assert to_delta(CHANGE).wait_means_us["Commit:log file sync"] == 500


def test_a_version_without_histograms_has_waits_all_the_same():
    waits = to_delta(without("histogram")).timed_waits
    assert {histogram_of(wait) for wait in waits} == {None}
    assert len(waits) == 6


@table(
    "event, kind",
    [
        ("User I/O:db file sequential read", WaitClass.DATA_IO),
        ("User I/O:cell single block physical read: flash cache", WaitClass.DATA_IO),
        ("System I/O:db file parallel write", WaitClass.DATA_IO),
        ("System I/O:log file parallel write", WaitClass.LOG),
        ("System I/O:control file sequential read", WaitClass.DATA_IO),
        ("Commit:log file sync", WaitClass.LOG),
        ("Concurrency:latch: cache buffers chains", WaitClass.LOCK),
        ("Concurrency:buffer busy waits", WaitClass.LOCK),
        ("Application:enq: TX - row lock contention", WaitClass.LOCK),
        ("Configuration:log file switch (checkpoint incomplete)", WaitClass.LOG),
        ("Configuration:log buffer space", WaitClass.LOG),
        ("Configuration:free buffer waits", WaitClass.DATA_IO),
        ("Configuration:enq: HW - contention", WaitClass.LOCK),
        ("Configuration:undo segment extension", WaitClass.OTHER),
        ("Scheduler:resmgr:cpu quantum", WaitClass.CPU),
        ("Cluster:gc cr block 2-way", WaitClass.CLUSTER),
        ("Other:latch free", WaitClass.LOCK),
        ("Other:reliable message", WaitClass.OTHER),
        ("Network:SQL*Net message to client", WaitClass.OTHER),
    ],
)
def test_classes_of_waits(event, kind):
    assert classify_event(event) is kind


def test_a_reset_leaves_nothing_known():
    delta = make_unknown("it was started again")
    assert unknown(delta) == set(delta.amounts()) - OF_SERVER
    assert set(delta.unknown) == {"*", *ONLY_SOME_HAVE} - OF_SERVER


@given(
    st.dictionaries(st.sampled_from(sorted({**CHANGE, **BY_SESSION})), st.floats(0, 1e12), max_size=40),
    st.booleans(),
)
def test_any_counters_give_figures_or_reasons(change, pluggable):
    delta = to_delta(change, pluggable=pluggable)
    assert unknown(delta) == set(delta.unknown)
    assert not delta.server_wide & set(delta.unknown)
    assert all(value >= 0 for value in delta.others.values())
    for name, theirs in delta.others.items():
        assert name not in delta.server_wide
        assert theirs <= change[f"sysstat.{'user commits' if name == 'commits' else _STATISTIC[name]}"]


_STATISTIC = {
    "logical_reads": "session logical reads",
    "read_requests": "physical read IO requests",
    "log_syncs": "redo synch writes",
}


@given(st.lists(st.tuples(st.integers(0, 22), st.integers(1, 10**6)), min_size=1), st.floats(1, 1e6))
def test_a_histogram_keeps_its_waits_and_their_mean(buckets, mean_us):
    counts: dict[int, int] = {}
    for power, count in buckets:
        counts[power] = counts.get(power, 0) + count
    total = sum(counts.values())
    change = {f"histogram.log file sync.{2**power}": float(count) for power, count in counts.items()}
    change |= {"event.waits.Commit:log file sync": float(total), "event.us.Commit:log file sync": mean_us * total}
    (wait,) = to_delta(change).timed_waits
    assert histogram_of(wait).count == total
    assert histogram_of(wait).sum_us == pytest.approx(wait.time_us)
    for power, found in counts.items():
        # Within the server's bucket, from half its limit to the limit.
        buckets = set(range(bucket_of(2**power / 2), bucket_of(2**power) + 1))
        near = [number for bucket, number in histogram_of(wait).counts.items() if bucket in buckets]
        assert found <= sum(near)


def test_waits_of_instances_add_up():
    (first, *_) = to_delta(CHANGE).timed_waits
    both = first + replace(first)
    assert histogram_of(both).count == 2 * histogram_of(first).count


def test_instances_of_a_cluster_add_up_and_wait_for_each_other():
    gc = {"event.waits.Cluster:gc cr block 2-way": 400.0, "event.us.Cluster:gc cr block 2-way": 80_000.0}
    each = to_delta({**CHANGE, **BY_SESSION, **gc})
    other = to_delta({**without("memory"), **BY_SESSION, **gc}, {"memory": "no right"})
    both = add_deltas([each, other], ["first", "second"])
    assert (both.commits, both.host_busy_us, both.log_switches) == (20_000, 240e6, 4)
    assert both.unknown["cache_resizes"] == "second: no right"
    assert both.others["commits"] == 160
    assert both.remedies == each.remedies
    (waits,) = (wait for wait in both.timed_waits if wait.wait_class is WaitClass.CLUSTER)
    assert (waits.count, waits.time_us) == (800, 160_000)
    reads = next(wait for wait in both.timed_waits if wait.event == "User I/O:db file sequential read")
    assert histogram_of(reads).count == 2 * 590_000


# A made-up moment of a server whose clients are all observed.
WHOLE_SERVER = {
    "sysstat.session logical reads": 6500.0,
    "sysstat.physical read IO requests": 600.0,
    "sysstat.user commits": 100.0,
    "sysstat.user rollbacks": 5.0,
    "sysstat.redo writes": 90.0,
    # What only the work loop's own sessions and statements show.
    "sessions.identity": 0.0,
    "io.reads.Buffer Cache Reads": 590.0,
    "io.writes.Buffer Cache Reads": 0.0,
    "io.reads.LGWR": 1.0,
    "io.writes.LGWR": 95.0,
    "event.waits.User I/O:db file sequential read": 500.0,
    "event.us.User I/O:db file sequential read": 177e3,
    "histogram.db file sequential read.512": 500.0,
}


def test_everything_of_a_whole_server_is_of_all_sessions():
    delta = to_server_delta(WHOLE_SERVER)
    assert (delta.logical_reads, delta.read_requests, delta.commits, delta.transactions) == (6500, 600, 100, 105)
    assert (delta.server_wide, delta.others) == (frozenset(), {})
    assert "work loop's own tables" in delta.unknown["rows_updated"]
    (wait,) = delta.timed_waits
    assert (wait.event, wait.count, wait.durations) == ("User I/O:db file sequential read", 500, {(256, 512): 500})


def test_requests_are_counted_by_function():
    objects = to_server_delta(WHOLE_SERVER).by_object
    assert objects["LGWR"] == ObjectIo(None, 1, None, 95, None)
    assert objects["Buffer Cache Reads"] == ObjectIo(None, 590, None, 0, None)
    assert objects["log"].write_requests == 90


@table(("missing", "why"), [({"sysstat": "no grant"}, "no grant"), ({}, "version")])
def test_transactions_that_are_not_counted_are_unknown(missing, why):
    delta = to_server_delta({}, missing)
    assert delta.transactions is None
    assert why in delta.unknown["transactions"]


@pytest.mark.parametrize("column", ["user commits", "user rollbacks"])
def test_half_of_the_transactions_is_not_all(column):
    change = {name: value for name, value in WHOLE_SERVER.items() if name != f"sysstat.{column}"}
    assert to_server_delta(change).transactions is None
