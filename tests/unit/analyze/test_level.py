"""A cap that comes into force in a load, or is lifted, is found in its course; nothing else is taken for one."""

import math
from dataclasses import replace

import numpy as np
import pytest

from factories.capped_load import Cap, Load, course, simulate
from factories.tables import table
from openslob.analyze.level import search
from openslob.analyze.plateaus import LEAST_STEPS
from openslob.analyze.trace import ProbeOutcome, Trace
from openslob.analyze.verdicts.level import cap_in_words
from openslob.core.measurement import Known
from openslob.core.units import MIB

pytestmark = pytest.mark.any_python

BLOCK = 8192


def find_cap(load):
    return search(load).cap


def noise(steps, spread, seed=1):
    return 1 + spread * np.random.default_rng(seed).standard_normal(steps)


def rates(*levels, spread=0.06, seed=1):
    """Levels and how long they last; what is under a cap, written as negative, hardly varies."""
    parts = [
        abs(level) * noise(steps, 0.002 if level < 0 else spread, seed + number)
        for number, (level, steps) in enumerate(levels)
    ]
    return np.concatenate(parts)


def trace(reads, writes=None, **series):
    """The course of a load that only reads, or also writes, with its throughput and 8 sessions that wait."""
    writes = np.zeros(len(reads)) if writes is None else writes
    found = {
        "ops": (reads + writes) / 8,
        "server.read_bytes": reads * BLOCK,
        "device.reads": reads,
        "device.read_bytes": reads * BLOCK,
        "device.writes": writes,
        "device.write_bytes": writes * BLOCK,
        "server.write_bytes": writes * BLOCK,
        "server.cpu": reads / 10_000,
        "host.busy": np.full(len(reads), 0.8),
        "host.cores": np.full(len(reads), 2.0),
        "waits.data_io": np.full(len(reads), 7.5),
        "waits.log": np.zeros(len(reads)),
        **{name.replace("__", "."): values for name, values in series.items()},
    }
    return Trace(0, 1.0, {name: values for name, values in found.items() if values is not None})


def test_a_bucket_that_runs_dry_has_its_moment_its_content_and_both_levels():
    reads = rates((8000, 20), (-3000, 25))
    reads[20] = 4500
    found = find_cap(trace(reads))
    assert (found.kind, found.direction, found.unit) == ("iops", "read", "IOPS")
    assert found.cap == pytest.approx(3000, rel=0.01)
    assert found.dry_at_s == pytest.approx(20.3, abs=0.3)
    assert found.used == pytest.approx(20 * 5000 + 1500, rel=0.05)
    assert (found.bucket, found.refills) == (None, 0), "nothing was seen to refill it"
    assert found.lifted_at_s is None
    assert found.burst.ops_per_s == pytest.approx(1000, rel=0.05)
    assert found.sustained.low < 375 < found.sustained.high
    assert found.request_bytes == BLOCK


def test_a_cap_that_is_lifted_again_has_both_ends():
    found = find_cap(trace(rates((8000, 15), (-2000, 12), (8000, 15))))
    assert found.dry_at_s == pytest.approx(15, abs=0.5)
    assert found.lifted_at_s == pytest.approx(27, abs=0.5)
    assert not found.always


def test_a_load_that_begins_under_a_cap_has_no_bucket():
    found = find_cap(trace(rates((-2000, 15), (8000, 20))))
    assert (found.dry_at_s, found.bucket) == (None, None)
    assert found.lifted_at_s == pytest.approx(15, abs=0.5)


def test_readings_that_come_late_do_not_hide_a_cap():
    late = rates((8000, 20), (-3000, 20))
    late[22:40:3] *= 0.95
    late[23:40:3] *= 1.05
    assert find_cap(trace(late)).cap == pytest.approx(3000, rel=0.01)


def test_what_is_slow_for_other_reasons_under_a_cap_does_not_hide_it():
    dips = rates((8000, 20), (-3000, 25))
    dips[28:31] = 1200
    dips[37:39] = 900
    found = find_cap(trace(dips))
    assert found.held == [(pytest.approx(20, abs=0.5), 45.0)]
    assert found.cap == pytest.approx(3000, rel=0.01)


def test_a_bucket_that_spends_what_a_slow_device_left_in_it_is_one_cap():
    reads = rates((8000, 20), (-3000, 25))
    reads[22:24], reads[24] = 1200, 6500
    reads[33:35], reads[35:37] = 900, 5000
    found = find_cap(trace(reads))
    assert found.held == [(pytest.approx(20, abs=0.5), 45.0)]
    assert found.cap == pytest.approx(3000, rel=0.01)


def test_a_cap_that_is_lifted_after_a_dip_does_not_hold_on_until_the_dip_is_made_up_for():
    reads = rates((8000, 20), (-3000, 15), (8000, 15))
    reads[28:31] = 900
    assert find_cap(trace(reads)).lifted_at_s == pytest.approx(35, abs=0.5)


def test_in_long_steps_a_lower_level_is_even_without_a_cap():
    lower, capped = (trace(rates((8000, 200), (5000, 300), spread=0.05)), trace(rates((8000, 200), (-5000, 300))))
    lower.series["server.read_bytes"][200:] = 5000 * BLOCK * noise(300, 0.02)
    assert find_cap(Trace(0, 10.0, lower.series)) is None
    found = find_cap(Trace(0, 10.0, capped.series))
    assert (found.dry_at_s, found.cap) == (pytest.approx(2000, abs=10), pytest.approx(5000, rel=0.01))


@table(
    ("what", "series"),
    [
        ("a load as it goes on a noisy machine", {"reads": rates((8000, 45))}),
        ("a slow trend", {"reads": np.linspace(9000, 4000, 45) * noise(45, 0.03)}),
        ("another load: lower, and as uneven", {"reads": rates((8000, 20), (4500, 25))}),
        ("checkpoints", {"reads": np.where(np.arange(45) % 15 < 4, 3000, 8000) * noise(45, 0.05)}),
        ("fewer requests, because a cache warmed up", {"reads": rates((8000, 20), (-3000, 25)), "ops": np.ones(45)}),
        (
            "clients that ask for less",
            {"reads": rates((8000, 20), (-3000, 25)), "waits__data_io": rates((7, 20), (2, 25))},
        ),
        (
            "CPU that a quota took",
            {"reads": rates((8000, 20), (-3000, 25)), "cgroup__cpu_throttled": np.repeat([0, 0.9], [20, 25])},
        ),
        ("stolen CPU", {"reads": rates((8000, 20), (-3000, 25)), "host__steal": np.repeat([0, 0.9], [20, 25])}),
        (
            "CPU that a quota took, which can't be read",
            {"reads": rates((8000, 20), (-3000, 25)), "server__runqueue": np.repeat([0.8, 6.8], [20, 25])},
        ),
        (
            "a server that has used all CPUs",
            {"reads": rates((8000, 20), (-3000, 25)), "server__cpu": np.full(45, 1.9), "host__busy": np.full(45, 2.0)},
        ),
        ("the even CPU of a load that waits", {"reads": np.zeros(45), "server__cpu": rates((1.2, 20), (-0.5, 25))}),
    ],
)  # fmt: skip
def test_what_is_no_cap(what, series):
    assert find_cap(trace(**series)) is None, what


def test_a_quota_of_cpu_that_was_read_is_a_cap_when_it_held_tasks_back():
    cpu = rates((1.2, 20), (-0.5, 25))
    quota = np.repeat([math.nan, 0.5], [20, 25])
    throttled = np.repeat([0.0, 0.8], [20, 25])
    given = {"server__cpu": cpu, "cgroup__cpu_quota": quota}
    found = find_cap(trace(rates((8000, 20), (3000, 25)), **given, cgroup__cpu_throttled=throttled))
    assert (found.kind, found.cap, found.unit) == ("cpu", 0.5, "CPUs")
    assert "0.5 CPUs, which held its tasks back for 0.8 s a second" in found.evidence[0]
    assert find_cap(trace(rates((8000, 45)), **given, cgroup__cpu_throttled=0 * throttled)) is None


def test_a_limit_that_was_read_is_told_also_where_it_held_all_the_time():
    limit = np.full(45, 25.0 * MIB)
    found = find_cap(trace(rates((-3200, 45)), cgroup__read_bytes_limit=limit))
    assert (found.kind, found.cap, found.always) == ("bytes", 25.0, True)
    assert find_cap(trace(rates((2000, 45)), cgroup__read_bytes_limit=limit)) is None


def test_a_volume_that_tells_that_it_held_requests_back_is_evidence():
    held = np.repeat([0.0, 0.6], [20, 25])
    found = find_cap(trace(rates((8000, 20), (-3000, 25)), volume__iops_exceeded=held))
    assert "the volume held requests back for 0.60 s a second" in found.evidence


def test_a_limit_on_all_requests_is_told_from_one_on_reads():
    reads = rates((6000, 20), (2000, 25), spread=0.05)
    writes = np.concatenate([rates((3000, 20), spread=0.05, seed=5), 3000 - reads[20:]])
    found = find_cap(trace(reads, writes))
    assert (found.direction, round(found.cap, -1)) == ("both", 3000 if found.unit == "IOPS" else pytest.approx(20))


def test_what_can_not_show_a_cap_says_why():
    assert "known for 5 s, in whole steps of 1 s" in search(trace(rates((8000, 5)))).why_unknown
    observed = Trace(0, 5.0, {"ops": np.ones(1)})  # of 8 s
    assert "known for 5 s, in whole steps of 5 s, and a cap" in search(observed).why_unknown
    assert search(Trace(0, 5.0, {})).why_unknown == "no whole step of 5 s of the load was recorded"
    unknown = search(Trace(0, 1.0, {"ops": np.ones(60)}))
    assert "neither the server's requests to storage nor its CPU are known by the second" in unknown.why_unknown
    assert search(trace(rates((8000, 45)))).why_unknown == ""


def test_a_long_load_with_many_levels_is_searched_in_one_pass():
    levels = (6000, 8000) * 500
    assert find_cap(trace(rates(*((level, 8) for level in levels), spread=0.01))) is None


@table("seed", range(4))
def test_simulated_loads_are_judged_right(seed):
    """`bench/level.py` has the counts over hundreds of them."""
    rng = np.random.default_rng(seed)
    load = Load(30, 4, service_s=0.012, cap=Cap("read", 110, on_s=14))
    quiet, hog = np.exp(rng.normal(0, 0.2, 310)), np.zeros(310)
    found = find_cap(simulate(load, rng, quiet, hog).trace)
    assert found.cap == pytest.approx(110, rel=0.03)
    assert found.dry_at_s == pytest.approx(14, abs=2)
    load.cap = None
    assert find_cap(simulate(load, rng, *course(30, rng)).trace) is None


def test_levels_are_between_the_moments_of_their_steps():
    found = find_cap(Trace(0, 10.0, trace(rates((8000, 200), (-5000, 300))).series))
    assert (found.burst.begin_s, found.burst.end_s) == (0, pytest.approx(2000, abs=20))
    assert 2000 < found.sustained.begin_s < 4900 < found.sustained.end_s <= 5000


def test_a_cap_can_show_from_twice_the_least_steps_of_a_level_on():
    steps = 2 * LEAST_STEPS
    assert search(trace(rates((8000, steps)))).why_unknown == ""
    assert f"shows from {steps} s on" in search(trace(rates((8000, steps - 1)))).why_unknown


def slowed(by, steps=30, spread=0.012):
    """Reads of sessions that wait longer for each: evener than before, as a part of each wait is always the same."""
    return np.concatenate([rates((8000, 30)), 8000 / by * noise(steps, spread, seed=9)])


@table("by", [1.5, 2, 4])
def test_reads_that_take_longer_may_be_a_cap_or_not(by):
    found = find_cap(trace(slowed(by)))
    assert (found.known, found.is_sure) == (Known.EITHER, False)
    assert found.each_ms[1] / found.each_ms[0] == pytest.approx(by, rel=0.05)
    assert search(trace(slowed(by))).proven is None


def test_a_rate_that_varies_by_next_to_nothing_is_a_cap():
    reads = rates((8000, 30), (-3000, 40))
    found = find_cap(trace(reads))
    assert (found.known, found.is_sure) == (Known.FLAT, True)
    # A few requests a second are even whatever holds them back, and so is what hardly varied before.
    few = find_cap(trace(reads / 100))
    assert few is None or few.known is Known.EITHER
    deep = find_cap(trace(rates((8000, 30), (-100, 40))))
    assert deep is None or deep.known is Known.EITHER
    short = find_cap(trace(rates((8000, 40), (-3000, 8))))
    assert short is None or short.known is Known.EITHER


def test_flushes_are_among_the_writes_of_a_device_and_a_cap_may_count_them_or_not():
    data = rates((2000, 30), (-600, 40))
    none = np.full(70, 0.0)
    on_writes = {"server__read_bytes": none, "device__read_bytes": none, "server__write_bytes": None, "ops": data}
    written = {
        "device__write_bytes": data * 16_384,
        "waits__log": np.full(70, 7.5),
        "waits__data_io": none,
        **on_writes,
    }
    flushed = trace(none, 2 * data, device__flushes=data, **written)
    found = find_cap(flushed)
    assert (found.cap, found.flushes) == (pytest.approx(600, rel=0.01), pytest.approx(600, rel=0.02))
    assert cap_in_words(found).startswith("A cap of 600 IOPS or 9.38 MB/s, or 1,200 IOPS with flushes, on writes")
    # A limit of the group counts them.
    limit = np.repeat([math.nan, 1200.0], [30, 40])
    read = find_cap(trace(none, 2 * data, device__flushes=data, cgroup__write_limit=limit, **written))
    assert (read.known, read.cap, read.flushes) == (Known.LIMIT, 1200.0, 0.0)


def test_what_may_be_a_cap_or_not_is_stated_if_much_was_lost():
    assert find_cap(trace(slowed(1.2))) is None
    assert find_cap(trace(rates((8000, 30), (-6700, 40)))).known is Known.FLAT


def test_the_requests_of_both_directions_may_be_capped_if_either_are_as_even():
    reads = rates((8000, 30), (-3000, 40))
    found = find_cap(trace(reads, reads / 4))
    assert found.direction == "request"
    of_one = 1 if found.kind == "iops" else MIB / BLOCK
    levels = [level * of_one for level in (found.cap, *(level for _, level, _ in found.beside))]
    assert sorted(levels)[-2:] == [pytest.approx(3000, rel=0.01), pytest.approx(3750, rel=0.01)]
    assert ", or of " in cap_in_words(found) and "IOPS" in cap_in_words(found)


def test_a_limit_that_was_read_or_reported_needs_no_more():
    limit = np.repeat([math.nan, 3000.0], [20, 25])
    read = find_cap(trace(rates((8000, 20), (-3000, 25)), cgroup__read_limit=limit))
    assert (read.known, read.kind_known, read.kind) == (Known.LIMIT, True, "iops")
    told = find_cap(trace(slowed(2), volume__iops_exceeded=np.repeat([0.0, 0.6], [30, 30])))
    assert (told.known, told.kind_known) == (Known.LIMIT, True)


def probed(by, some, all_=None):
    """A load that ended at a lower level, and the throughput after it: of all sessions and of three of four."""
    load = trace(slowed(by))
    under = float(np.median(load.get("ops")[35:]))
    return replace(load, probes=[ProbeOutcome(load.seconds, 0.75, under * (all_ or 1.0), under * some)])


def test_a_probe_tells_a_cap_from_reads_that_take_longer():
    capped = search(probed(2, some=0.99))
    assert (capped.cap.known, capped.slower) == (Known.PROBE, None)
    assert "after the load, 75 % of the sessions did" in capped.cap.evidence[-1]
    latency = search(probed(2, some=0.76))
    assert (latency.cap, latency.proven, latency.slower.known) == (None, None, Known.EITHER)
    # Between the two, a cap may be out of reach for some sessions; at another level the probe says nothing.
    between = search(probed(2, some=0.88))
    assert (between.cap.known, between.slower) == (Known.EITHER, None)
    other = search(probed(2, some=0.99, all_=1.5))
    assert other.cap.known is Known.EITHER


def test_a_probe_says_nothing_about_a_level_that_ended_before():
    load = trace(rates((8000, 20), (4000, 20), (8000, 20)))
    load.series["server.read_bytes"][20:40] = 4000 * BLOCK * noise(20, 0.012)
    under = float(np.median(load.get("ops")[22:38]))
    found = search(replace(load, probes=[ProbeOutcome(60.0, 0.75, under, under)]))
    assert found.cap is None or found.cap.known is Known.EITHER


def test_a_bucket_that_is_empty_for_a_few_seconds_again_and_again_is_a_cap_and_by_turns_slower_is_not_known_to_be_one():
    dry, slower = ((level, 4) for level in (-2000, 2000))
    found = find_cap(trace(rates((8000, 10), dry, (8000, 6), dry, (8000, 6), dry, (8000, 10))))
    assert (found.cap, len(found.held)) == (pytest.approx(2000, rel=0.005), 3)
    assert (found.known, found.is_sure) == (Known.FLAT, True)
    uneven = find_cap(trace(rates((8000, 10), slower, (8000, 6), slower, (8000, 6), slower, (8000, 10), spread=0.02)))
    assert uneven is None or not uneven.is_sure


def test_long_stretches_at_one_level_are_alike_without_a_cap():
    low = 5000 * noise(40, 0.004)
    reads = np.concatenate([rates((8000, 20)), low, rates((8000, 20)), low, rates((8000, 20)), low, rates((8000, 20))])
    found = find_cap(Trace(0, 10.0, trace(reads).series))
    assert found is None or not found.is_sure


def test_a_rate_that_sinks_little_by_little_is_at_no_level():
    falling = np.concatenate([5000 * noise(10, 0.004), np.linspace(4800, 3300, 12) * noise(12, 0.004)])
    assert find_cap(trace(np.concatenate([rates((9000, 25)), falling]))) is None


def test_what_a_process_made_dirty_and_the_device_did_not_write_is_not_in_the_level():
    writes = rates((8000, 20), (-3000, 25))
    found = find_cap(trace(np.zeros(45), writes, server__write_bytes=1.06 * writes * BLOCK))
    assert found.cap * (MIB if found.kind == "bytes" else BLOCK) == pytest.approx(3000 * BLOCK, rel=0.01)


def test_requests_and_bytes_that_are_as_even_under_a_cap_do_not_tell_its_kind():
    writes = rates((8000, 20), (-3000, 25))
    # The bytes were as many before, in smaller requests: the requests alone became fewer.
    written = writes * np.repeat([3072, BLOCK], [20, 25])
    found = find_cap(trace(np.zeros(45), writes, device__write_bytes=written, server__write_bytes=written))
    assert (found.kind, found.kind_known) == ("iops", False)


def test_the_bytes_of_a_log_are_no_level_where_more_is_known_to_be_written():
    writes = rates((8000, 20), (-3000, 25))
    found = find_cap(trace(np.zeros(45), writes, engine__log_bytes=writes * 100))
    assert found.cap * (MIB if found.kind == "bytes" else BLOCK) == pytest.approx(3000 * BLOCK, rel=0.01)


def test_one_size_of_request_does_not_tell_the_kind_of_a_cap_and_two_do():
    reads = rates((8000, 30), (-3000, 40))
    assert not find_cap(trace(reads)).kind_known
    sizes = np.where(np.random.default_rng(5).random(70) < 0.5, 1.0, 1.5)
    mixed = find_cap(trace(reads, server__read_bytes=reads * BLOCK * sizes, device__read_bytes=reads * BLOCK * sizes))
    assert (mixed.kind, mixed.kind_known) == ("iops", True)


def test_a_bucket_that_refills_is_counted_and_a_cap_that_is_lifted_is_none():
    # 20 s at 1,000 below 3,000 save 40,000, which 8 s at 8,000 spend.
    saved = ((1000, 20), (8000, 8), (-3000, 15))
    found = find_cap(trace(rates((8000, 20), (-3000, 20), *saved, *saved)))
    assert (found.refills, len(found.held)) == (2, 3)
    assert found.bucket == found.used == pytest.approx(100_000, rel=0.05)
    lifted = find_cap(trace(rates((8000, 20), (-3000, 20), (8000, 20), (-3000, 20), (8000, 20), (-3000, 20))))
    assert (lifted.refills, lifted.bucket, len(lifted.held)) == (0, None, 3)


def test_stairs_are_several_levels():
    found = search(trace(rates((8000, 25), (-5000, 25), (-3000, 25), (-1500, 25))))
    every = sorted((found.cap, *found.more), key=lambda each: each.held[0])
    assert [round(each.cap, -2) for each in every] == [5000, 3000, 1500]
    assert [each.held[0][0] for each in every] == [pytest.approx(at, abs=1.5) for at in (25, 50, 75)]


def test_a_cap_on_the_log_is_found_by_what_the_server_counts_itself():
    writes = rates((4000, 30), (-1200, 40), spread=0.06)
    others = 600 * np.abs(noise(70, 1.0, seed=3))
    found = find_cap(
        trace(
            np.zeros(70),
            writes,
            waits__data_io=None,  # a kind that was never seen has no series
            waits__log=np.full(70, 7.5),
            engine__log_write_requests=writes,
            engine__log_syncs=writes,
            engine__log_sync_time_us=np.full(70, 7.5e6),
            device__writes=writes + others,
            device__write_bytes=(writes + others) * BLOCK,
        )
    )
    assert (found.direction, found.known) == ("write", Known.FLAT)
    assert found.cap * (MIB / BLOCK if found.unit == "MB/s" else 1) == pytest.approx(1200, rel=0.02)
    assert found.each_ms[1] == pytest.approx(7500 / 1200, rel=0.05)


def test_reads_and_writes_that_follow_each_other_do_not_show_which_of_them_is_capped():
    reads = rates((8000, 30), (-3000, 40))
    mixed = find_cap(trace(reads, reads / 4))
    assert mixed.direction == "request"
    times = {"engine__read_requests": reads, "engine__read_bytes": reads * BLOCK, "engine__log_syncs": reads / 4}
    slow = {"engine__read_time_us": np.full(70, 6e6), "engine__log_sync_time_us": reads / 4 * 500}
    assert find_cap(trace(reads, reads / 4, **times, **slow)).direction == "read"
