"""Why a load was slow: made-up courses with one fault each, courses without any, and evidence that does not suffice."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from factories.tables import table
from openslob.analyze.causes import Cause, episodes
from openslob.analyze.level import search
from openslob.analyze.slow_steps import BLOCK, slow_steps
from openslob.analyze.steps import stretches
from openslob.analyze.trace import Mark, ProbeOutcome, Trace
from openslob.analyze.trace_stretch import TraceStretch
from openslob.core.measurement import Cap, CapSearch, Known

SECONDS, AT = 60, slice(30, 33)
# An undisturbed second of a load that reads: 8 sessions on 2 CPUs and a quick device.
USUAL = {
    "ops": 1000.0, "sessions.busy": 8.0, "latency.p50_us": 800.0, "latency.p99_us": 2000.0, "samples": 10.0,
    "host.busy": 1.2, "host.steal": 0.0, "host.cores": 2.0, "server.cpu": 1.0, "server.cores": 2.0, "driver.cpu": 0.1,
    "device.reads": 9000.0, "device.writes": 300.0, "device.read_ms": 1800.0, "device.write_ms": 300.0,
    "device.read_bytes": 72e6, "device.write_bytes": 2.4e6, "device.busy_ms": 700.0, "server.write_bytes": 2.4e6,
    "server.read_bytes": 72e6, "waits.cpu": 2.0, "waits.data_io": 5.5, "waits.log": 0.5,
    "engine.log_syncs": 200.0, "engine.log_sync_time_us": 240e3, "engine.full_page_images": 20.0,
    "cgroup.cpu_throttled": 0.0, "pressure.memory": 0.0, "server.runqueue": 0.1,
}  # fmt: skip
SLOWER = {"ops": 100.0}
IDLE = {"server.cpu": 0.1, "host.busy": 0.3, "device.reads": 900.0, "device.read_ms": 180.0, "device.busy_ms": 70.0,
        "device.read_bytes": 7.2e6}  # fmt: skip


def course(changes: dict[str, float], at: slice = AT, marks=(), noise=0.03, **usual: float) -> Trace:
    """Return a minute of the usual load, with the values of ``changes`` in the seconds ``at``."""
    random = np.random.default_rng(7)
    series = {}
    for name, value in (USUAL | usual | {name: (USUAL | usual).get(name, 0.0) for name in changes}).items():
        varies = 1 + noise * random.standard_normal(SECONDS)
        series[name] = np.full(SECONDS, value) * (
            1 if name.endswith(("cores", "samples", "limit", "quota")) else varies
        )
        if name in changes:
            series[name][at] = changes[name]
    return Trace(0, 1.0, series, tuple(marks))


def only(trace: Trace):
    found = episodes(trace)
    assert len(found) == 1, found
    return found[0]


@table(
    ("cause", "changes", "marks", "says"),
    [
        (Cause.STOPPED, SLOWER | IDLE | {"samples": 0.0}, (), "for about 3.0 s, and its processes used 0.1 CPUs"),
        (Cause.DRIVER, SLOWER | IDLE | {"samples": 0.0, "sessions.busy": 0.8, "driver.cpu": 0.0}, (), "0.8 sessions"),
        (Cause.QUOTA, SLOWER | {"cgroup.cpu_throttled": 1.4, "cgroup.cpu_quota": 0.5}, (), "quota of 0.5 CPUs of the"),
        (Cause.QUOTA, SLOWER | {"cgroup.cpu_throttled": 1.4}, (), "the CPU quota of the server's control group held"),
        (Cause.IO_CAP, SLOWER | IDLE | {"cgroup.read_limit": 900.0}, (), "a limit of 900 reads a second of the server"),
        (Cause.IO_CAP, SLOWER | IDLE | {"cgroup.read_bytes_limit": 7e6}, (), "7 MB of reads a second"),
        (Cause.IO_CAP, SLOWER | {"volume.iops_exceeded": 0.8}, (), "than the volume's IOPS allow, for 0.8 s of each"),
        (Cause.STALL, SLOWER | IDLE | {"device.reads": 12.0, "device.read_ms": 1008.0}, (), "reads took 84 ms instead"),
        (Cause.STALL, SLOWER | IDLE | {"device.reads": 0.0, "device.writes": 0.0, "device.busy_ms": 1000.0,
                                       "device.read_bytes": 0.0, "device.read_ms": 0.0, "device.write_ms": 0.0}, (),
         "completed 0 a second"),
        # A device that stops soon after a checkpoint began has not stopped because of the pages that are logged whole.
        (Cause.STALL, SLOWER | IDLE | {"device.reads": 12.0, "device.read_ms": 1008.0, "engine.full_page_images": 3e3},
         [Mark(25.0, 26.0, "checkpoint")], "reads took 84 ms instead"),
        # One that writes much in few requests has work to do.
        (Cause.CHECKPOINT, SLOWER | IDLE | {"device.reads": 500.0, "device.read_ms": 42e3, "device.write_bytes": 150e6,
                                            "server.write_bytes": 150e6},
         [Mark(29.0, 30.0, "checkpoint")], "150 MB a second were written"),
        # What the device alone counts may be the server's of before, or others'.
        ("either checkpoint or I/O of others", SLOWER | IDLE | {
            "device.reads": 500.0, "device.read_ms": 42e3, "device.write_bytes": 150e6},
         [Mark(29.0, 30.0, "checkpoint")], "150 MB a second were written"),
        # A limit far above what was done held nothing back.
        (Cause.STALL, SLOWER | IDLE | {"device.reads": 12.0, "device.read_ms": 1008.0, "cgroup.read_limit": 7e3}, (),
         "reads took 84 ms instead"),
        (Cause.LOCK, SLOWER | IDLE | {"waits.lock": 7.5, "waits.data_io": 0.3, "waits.cpu": 0.2, "waits.log": 0.0}, (),
         "92 % of the sessions waited for locks"),
        (Cause.MEMORY, SLOWER | {"pressure.memory": 0.8}, (), "waited for memory 80 % of the time, usually 0 %"),
        (Cause.CHECKPOINT, {"ops": 500.0, "device.write_bytes": 120e6}, [Mark(29.0, 30.0, "checkpoint")],
         "a checkpoint ran: 120 MB a second were written instead of 2.4 MB"),
        (Cause.CHECKPOINT, {"ops": 500.0, "engine.full_page_images": 3000.0, "waits.log": 5.0, "waits.data_io": 1.5,
                            "engine.log_sync_time_us": 150e3}, [Mark(25.0, 26.0, "checkpoint")],
         "3,000 whole pages a second"),
        ("either I/O cap or log sync", {"ops": 500.0, "waits.log": 7.0, "waits.data_io": 0.5,
                                         "engine.log_sync_time_us": 7.6e6}, (),
         "a sync of the log took 38.9 ms instead of 1.21 ms"),
        (Cause.OTHERS_CPU, {"ops": 400.0, "server.cpu": 0.4, "host.busy": 2.0, "server.runqueue": 5.0}, (),
         "other programs used 1.5 CPUs"),
        (Cause.QUOTA, {"ops": 400.0, "server.cpu": 0.4, "host.busy": 0.5, "server.runqueue": 5.0}, (),
         "5 threads of the server waited for a CPU instead of 0.099, though 1.5 of its 2 CPUs were idle"),
        # Others use CPUs that nobody waits for.
        (Cause.UNKNOWN, {"ops": 400.0, "server.cpu": 0.4, "host.busy": 2.0}, (), "nothing recorded explains it"),
        (Cause.OTHERS_CPU, {"ops": 400.0, "server.cpu": 0.4, "host.steal": 0.9}, (), "the hypervisor took 0.9 CPUs"),
        # A hypervisor takes more where programs use more, and that is what they took.
        (Cause.OTHERS_CPU, {"ops": 400.0, "server.cpu": 0.4, "host.busy": 2.0, "server.runqueue": 5.0,
                            "host.steal": 0.3}, (), "other programs used 1.5 CPUs"),
        (Cause.OTHERS_IO, {"ops": 400.0, "device.read_bytes": 250e6, "device.reads": 10e3, "device.read_ms": 20e3,
                           "server.read_bytes": 29e6}, (), "from its device 221 MB a second, and a read took 2 ms"),
        (Cause.OTHERS_IO, {"ops": 400.0, "device.write_bytes": 150e6, "device.read_ms": 20e3}, (),
         "wrote to its device 148 MB a second, and a read took 2.33 ms"),
        # Others who read, while requests take no longer, are no cause.
        (Cause.UNKNOWN, {"ops": 400.0, "device.read_bytes": 250e6}, (), "nothing recorded"),
        (Cause.MAINTENANCE, {"ops": 400.0, "server.read_bytes": 300e6}, [Mark(31.0, 32.0, "maintenance")], "300 MB a"),
        (Cause.MAINTENANCE, {"ops": 400.0, "server.read_bytes": 300e6}, [Mark(29.0, 30.0, "maintenance")], "300 MB a"),
        (Cause.UNKNOWN, SLOWER, (), "nothing recorded explains it: server's CPUs 0.99"),
        # What makes the device write less is not the checkpoint that began before.
        ("either I/O cap or log sync", SLOWER | IDLE | {
            "engine.full_page_images": 3e3, "waits.log": 7.6, "waits.data_io": 0.2, "waits.cpu": 0.2,
            "engine.log_syncs": 20.0, "engine.log_sync_time_us": 160e3, "device.write_bytes": 0.24e6},
         [Mark(25.0, 26.0, "checkpoint")], "a sync of the log took 8 ms instead of 1.21 ms"),
        # A checkpoint that wrote nothing more is no cause, and no more is a quota that never held anything back.
        (Cause.UNKNOWN, SLOWER | {"cgroup.cpu_quota": 1.0}, [Mark(29.0, 30.0, "checkpoint")], "nothing recorded"),
        (Cause.UNKNOWN, SLOWER | {"cgroup.read_limit": 9500.0}, (), "nothing recorded"),
        # Other programs took no CPU of the server's: it has what it usually has, or there is more to be had.
        (Cause.UNKNOWN, SLOWER | {"host.busy": 2.0, "server.cpu": 0.95}, (), "nothing recorded"),
        (Cause.UNKNOWN, SLOWER | {"host.busy": 1.3, "server.cpu": 0.4}, (), "nothing recorded"),
        # That a few sessions waited for a lock does not explain the loss of nine tenths.
        (Cause.UNKNOWN, SLOWER | {"waits.lock": 1.5}, (), "nothing recorded"),
    ],
)  # fmt: skip
def test_a_cause_is_named_by_its_evidence(cause, changes, marks, says):
    found = only(course(changes, marks=marks))
    assert (found.cause, found.begin_s, found.end_s) == (cause, 30.0, 33.0), found
    assert says in found.evidence


def test_what_was_lost_is_what_is_usually_done_in_that_time():
    found = only(course(SLOWER))
    assert found.lost_ops == pytest.approx(3 * 900, rel=0.05)
    assert (found.rate, found.seconds) == (100.0, 3.0)
    assert found.usual_rate == pytest.approx(1000, rel=0.05)


CAPPED = {"ops": 300.0, "device.reads": 3000.0, "device.read_ms": 7900.0, "device.read_bytes": 24e6,
          "server.read_bytes": 24e6}  # fmt: skip


def test_reads_that_take_longer_are_a_cap_or_slow_unless_the_whole_course_is_flat():
    trace = course(CAPPED, slice(20, 40))
    found = only(trace)
    assert found.cause == "either I/O cap or slow reads"
    assert "a limit of about 3,000 IOPS or 22.9 MB/s on reads would do the same" in found.evidence
    assert "a read took the device 2.63 ms instead of 0.197 ms" in found.evidence
    (flat,) = episodes(trace, search(trace))
    assert (flat.cause, search(trace).proven.known) == (Cause.IO_CAP, Known.FLAT)
    # What varies by 2 % may be either, however long it is so.
    varies = 1 + 0.02 * np.random.default_rng(3).standard_normal(20)
    for name in ("device.reads", "device.read_bytes", "server.read_bytes"):
        trace.series[name][20:40] *= varies
    assert episodes(trace, search(trace))[0].cause == "either I/O cap or slow reads"


@table(("with_some", "cause"), [
    (301.0, Cause.IO_CAP), (226.0, Cause.READS), (260.0, "either I/O cap or slow reads"),
])  # fmt: skip
def test_a_probe_right_after_a_stretch_tells_a_cap_from_slow_reads(with_some, cause):
    trace = course(CAPPED, slice(40, 60))
    trace.series["device.reads"][40:60] *= np.tile([0.9, 1.1], 10)
    probed = replace(trace, probes=[ProbeOutcome(60.0, 0.75, 302.0, with_some)])
    assert only(probed).cause == cause


@table("probe", [
    ProbeOutcome(60.0, 0.75, 302.0, 226.0, varied=1.5), ProbeOutcome(60.0, 0.75, 900.0, 675.0),
])  # fmt: skip
def test_a_probe_of_another_level_or_of_a_load_that_changed_says_nothing(probe):
    assert only(replace(course(CAPPED, slice(40, 60)), probes=[probe])).cause == "either I/O cap or slow reads"


@table(("alone_ms", "cause"), [
    (math.nan, "either I/O cap or log sync"),  # an older record
    (6.0, Cause.IO_CAP), (15.0, "either I/O cap or log sync"), (25.0, Cause.LOG_SYNC),
])  # fmt: skip
def test_a_single_commit_after_a_pause_tells_a_cap_from_syncs_that_take_longer(alone_ms, cause):
    slow = {"ops": 300.0, "waits.log": 7.0, "waits.data_io": 0.5, "engine.log_sync_time_us": 7.6e6}
    probe = ProbeOutcome(60.0, 0.75, 300.0, 225.0, alone_s=alone_ms / 1e3, sessions=8)
    assert only(replace(course(slow, slice(40, 60)), probes=[probe])).cause == cause


def test_a_load_that_falls_for_good_has_a_stretch_until_its_end():
    trace = course(CAPPED, slice(12, 60))
    found = max(episodes(trace, search(trace)), key=lambda each: each.lost_ops)
    assert (found.begin_s, found.end_s) == (12, 60)
    assert found.usual_rate == pytest.approx(1000, rel=0.03)


def test_a_small_dip_before_a_long_stretch_is_none_of_it():
    trace = course(CAPPED, slice(20, 60))
    trace.series["ops"][14:20] = 700.0
    found = max(episodes(trace, search(trace)), key=lambda each: each.lost_ops)
    assert found.begin_s == 20


def test_three_causes_are_named_where_none_is_clearly_more():
    hidden = {"ops": 300.0, "server.runqueue": 4.0, "device.read_ms": 9000.0, "host.busy": 1.98, "server.cpu": 0.4,
              "waits.data_io": 7.0}  # fmt: skip
    trace = course(hidden, slice(30, 45), **{"host.busy": 1.98, "server.runqueue": 2.5})
    quota = {name: each for name, each in trace.series.items() if name != "cgroup.cpu_throttled"}
    assert only(replace(trace, series=quota)).cause == "either I/O cap or slow reads or CPU quota"


def test_higher_latency_at_a_given_rate_is_an_episode_too():
    late = {
        "latency.p50_us": 9000.0,
        "sessions.busy": 8.8,
        "waits.data_io": 6.3,
        "device.read_ms": 90_000.0,
        "device.reads": 4000.0,
        "device.read_bytes": 32e6,
    }
    found = only(course(late, **{"latency.p50_us": 800.0}))
    assert (found.cause, found.lost_ops) == ("either I/O cap or slow reads", pytest.approx(0, abs=200))


def test_a_higher_median_is_no_episode_where_operations_take_no_longer_in_the_mean():
    """The CPU is free for those few that need not wait: in most of this load the median is low, and the mean high."""
    trace = course({"ops": 300.0, "latency.p50_us": 300.0, "waits.lock": 7.0, "waits.cpu": 0.5}, slice(20, 60), noise=0)
    assert (slow_steps(trace)[0] == (np.arange(SECONDS) >= 20)).all() or not slow_steps(trace)[0].any()
    assert max(episodes(trace, search(trace)), key=lambda each: each.lost_ops).begin_s == 20


def test_syncs_that_are_not_timed_take_at_most_as_long_as_they_are_apart():
    """Who waits for a page to be written, and that for the log, is in no wait of the server: nor runs it."""
    slow = {"ops": 300.0, "commits": 300.0, "engine.log_syncs": 50.0, "waits.log": 2.5, "waits.cpu": 5.4,
            "waits.data_io": 0.1, "server.cpu": 0.3, "host.busy": 0.5}  # fmt: skip
    usual = {"commits": 1000.0, "engine.log_syncs": 800.0, "waits.log": 2.5, "waits.cpu": 3.0, "waits.data_io": 2.5}
    trace = course(slow, **usual)
    untimed = {name: each for name, each in trace.series.items() if name != "engine.log_sync_time_us"}
    found = only(replace(trace, series=untimed))
    assert found.cause == "either I/O cap or log sync"
    assert "sessions waited for the log, and its syncs came every 20 ms instead of 1.2" in found.evidence
    # Who seems to run and has a CPU, or waits for one, does not wait for the log.
    running = course(slow | {"server.cpu": 1.9, "server.runqueue": 3.6, "host.busy": 2.0}, **usual)
    untimed = {name: each for name, each in running.series.items() if name != "engine.log_sync_time_us"}
    assert "log sync" not in only(replace(running, series=untimed)).cause


def test_few_writes_that_take_longer_hold_no_reader_back():
    late = {"ops": 600.0, "device.write_ms": 70.0, "waits.data_io": 6.5, "waits.cpu": 1.0}
    assert only(course(late, **{"device.writes": 10.0, "device.write_ms": 10.0})).cause is Cause.UNKNOWN
    assert (
        "slow writes"
        in only(course(late | {"device.write_ms": 7e3}, **{"device.write_ms": 1e3, "device.writes": 1e3})).cause
    )


def test_a_load_that_mostly_rests_has_no_usual_throughput_to_lose():
    found = only(course({"latency.p50_us": 9000.0}, ops=0.0))
    assert (found.lost_ops, found.usual_rate) == (0.0, 0.0)


def test_further_causes_are_told_as_well():
    found = only(course({"ops": 100.0, "cgroup.cpu_throttled": 1.4, "pressure.memory": 0.3}))
    assert (found.cause, found.also) == (Cause.QUOTA, (Cause.MEMORY,))


def test_a_cause_is_stated_only_if_it_explains_clearly_more_than_the_next():
    lock = {"waits.lock": 4.0, "waits.data_io": 1.0, "waits.cpu": 0.5, "waits.log": 2.5}
    found = only(course({"ops": 100.0, "engine.log_sync_time_us": 9e6, **lock}))
    assert (found.cause, found.also) == (Cause.LOCK, (Cause.LOG_SYNC,))
    assert [each.share for each in found.candidates] == pytest.approx([0.55, 0.33], abs=0.04)
    found = only(course({"ops": 100.0, "engine.log_sync_time_us": 9e6, **lock, "waits.log": 3.2, "waits.data_io": 0.3}))
    assert (found.cause, found.also) == ("either lock or log sync", ())
    assert "of the sessions waited for locks" in found.evidence and "; or a sync of the log took" in found.evidence


def test_a_cause_that_explains_little_is_told_and_not_stated():
    found = only(course({"ops": 100.0, "waits.lock": 2.5, "waits.data_io": 3.0}))
    assert (found.cause, found.also) == (Cause.UNKNOWN, (Cause.LOCK,))
    assert "lock explains 35 %" in found.evidence


def test_on_a_busy_host_a_quota_that_can_not_be_read_looks_like_others():
    hogged = course({"ops": 400.0, "server.cpu": 0.4, "others.cpu": 1.6, "server.runqueue": 5.0}, **{"host.busy": 1.98})
    assert only(hogged).cause is Cause.OTHERS_CPU
    hidden = Trace(0, 1.0, {name: each for name, each in hogged.series.items() if name != "cgroup.cpu_throttled"})
    assert only(hidden).cause == "either CPU quota or CPU taken by others"
    niced = {name: np.where(np.arange(SECONDS) // 3 == 10, high, 0.0) for name, high in (("none", 0.0), ("all", 1.0))}
    # Niced programs take what a quota leaves; others had their share before it.
    assert only(replace(hidden, series=hidden.series | {"host.nice": niced["all"]})).cause.startswith("either")
    assert only(replace(hidden, series=hidden.series | {"host.nice": niced["none"]})).cause is Cause.OTHERS_CPU


def test_where_most_sessions_always_wait_for_a_cpu_hardly_more_can():
    full = {"host.busy": 2.0, "server.cpu": 1.9, "server.runqueue": 5.5, "waits.data_io": 0.1, "waits.cpu": 7.5}
    hogged = course({"ops": 700.0, "server.cpu": 1.3, "server.runqueue": 5.6}, **full)
    assert only(hogged).cause is Cause.OTHERS_CPU
    # More CPU time for each operation is no lack of it.
    dearer = course({"ops": 700.0, "server.runqueue": 5.6}, **full)
    assert only(dearer).cause is Cause.UNKNOWN


def test_the_course_of_an_old_record_does_not_say_whether_the_server_waited_for_a_cpu():
    hogged = course({"ops": 400.0, "server.cpu": 0.4, "host.busy": 2.0})
    old = Trace(0, 1.0, {name: each for name, each in hogged.series.items() if name != "server.runqueue"})
    assert only(old).cause is Cause.UNKNOWN
    assert "whether the server waited for the CPU that others used was not recorded" in only(old).evidence


@table("noise", [0.0, 0.03, 0.1, 0.2])
def test_noise_is_no_episode(noise):
    assert episodes(course({}, noise=noise)) == []


def test_a_load_that_varies_much_is_slow_when_hardly_anything_is_left():
    trace = course({"ops": 150.0}, noise=0.25)
    assert [(each.begin_s, each.end_s) for each in episodes(trace)] == [(30.0, 33.0)]


def test_a_drift_over_hours_is_compared_with_itself():
    ops = np.linspace(1000, 500, 4 * BLOCK) * (1 + 0.02 * np.random.default_rng(3).standard_normal(4 * BLOCK))
    slow, usual = slow_steps(Trace(0, 1.0, {"ops": ops}))
    assert slow.sum() == 0
    assert usual[0] > 1.5 * usual[-1]


def test_a_short_load_and_one_without_operations_have_no_episodes():
    assert episodes(Trace(0, 1.0, {"ops": np.array([9.0, 9, 9, 1, 9, 9])})) == []
    assert episodes(Trace(0, 1.0, {})) == []


def test_what_the_server_wrote_before_is_not_written_by_others_when_it_reaches_the_device():
    trace = course({"ops": 400.0, "device.write_bytes": 150e6, "device.read_ms": 20e3})
    assert only(trace).cause is Cause.OTHERS_IO
    trace.series["server.write_bytes"][10:30] = 25e6
    assert only(trace).cause == "either I/O cap or slow reads"


def test_what_nearly_stops_a_load_that_something_else_slows_down_has_a_stretch_of_its_own():
    hog = {"ops": 600.0, "server.cpu": 0.5, "host.busy": 2.0, "waits.lock": 0.0, "server.runqueue": 3.0}
    trace = course(hog, slice(15, 45))
    lock = {"ops": 20.0, "waits.lock": 7.5, "waits.data_io": 0.3, "waits.cpu": 0.2, "server.cpu": 0.05}
    for name, value in lock.items():
        trace.series[name][28:31] = value
    found = episodes(trace)
    spans = [(each.begin_s, each.end_s, each.cause) for each in found]
    assert spans == [(15, 28, Cause.OTHERS_CPU), (28, 31, Cause.LOCK), (31, 45, Cause.OTHERS_CPU)]
    assert sum(each.lost_ops for each in found) == pytest.approx(27 * 400 + 3 * 980, rel=0.05)
    for name, value in hog.items():
        trace.series[name][28:31] = value * (0.1 if name == "ops" else 1)
    trace.series["server.runqueue"][28:31] = 7.0
    trace.series["waits.lock"][:] = 0.0
    assert only(trace).cause is Cause.OTHERS_CPU


def test_stretches_join_over_one_step():
    slow = np.zeros(12, bool)
    slow[[1, 2, 4, 7, 8]] = True
    assert stretches(slow, 1) == [(1, 5), (7, 9)]
    assert stretches(slow) == [(1, 3), (4, 5), (7, 9)]
    assert stretches(np.zeros(3, bool), 1) == []


def test_nothing_but_the_throughput_was_recorded():
    ops = np.full(60, 1000.0)
    ops[30:33] = 10.0
    found = only(Trace(0, 1.0, {"ops": ops}))
    assert (found.cause, found.evidence) == (
        Cause.UNKNOWN,
        "nothing recorded explains it: neither host nor waits were recorded",
    )


def test_a_cap_that_the_whole_load_shows_is_the_cause_and_not_others_who_use_the_cpu_that_it_leaves():
    slow = SLOWER | {"server.cpu": 0.1, "host.busy": 2.0, "server.runqueue": 6.0}
    cap = Cap("iops", "read", 3000.0, "IOPS", [(30.0, 33.0)], 30.0, 33.0, 0.0, None, None, (), known=Known.FLAT)
    assert only(course(slow)).cause is Cause.OTHERS_CPU
    leaves = course(slow | {"server.runqueue": 0.1})
    found = episodes(leaves, CapSearch(60.0, cap))[0]
    assert (found.cause, found.also) == (Cause.IO_CAP, ())
    assert found.evidence.startswith("a cap of 3,000 IOPS on reads was in force (")
    earlier = CapSearch(60.0, replace(cap, held=[(3.0, 20.0)]))
    assert episodes(leaves, earlier)[0].cause is Cause.UNKNOWN


def test_what_is_typical_of_a_stretch_is_where_most_of_it_lies_and_not_its_bursts():
    reads = np.array([9e3, 8e3, 9e3, 2e3, 2.01e3, 1.99e3, 9e3, 2e3, 2e3, 8e3, 2.01e3, 1.99e3, 7e3, 9e3])
    part = (np.arange(len(reads)) >= 3) & (np.arange(len(reads)) < 13)
    look = TraceStretch(Trace(0, 1.0, {"device.reads": reads}), part, ~part, 0.5, 0.0)
    assert look.typical("device.reads") == pytest.approx(2000, rel=0.005)
    assert math.isnan(look.typical("device.writes"))
