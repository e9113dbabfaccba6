"""The raw measurements without a device: fio's answers read, jobs written, the search's decisions, places refused."""

from __future__ import annotations

import errno
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from factories.paths import FIXTURES
from factories.tables import table
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import KIB, MIB, NANOS
from openslob.host.model import Sample
from openslob.kinds.storage import fio as fio_module
from openslob.kinds.storage.calibrate import (
    GAIN,
    IOPS,
    LATENCY,
    THROUGHPUT,
    CalibrationPlan,
    DepthProbe,
    NextDepth,
    SearchLimits,
    SearchResult,
    decide,
    judge_reached_device,
    limit_kept,
    repeatable,
)
from openslob.kinds.storage.dd import LOOKED, NOWHERE, PLAIN, VERIFIED, dd_step, summary
from openslob.kinds.storage.fio import Fio, IoEngine, Job, Pattern, coverage, job_file, parse, reason_in
from openslob.kinds.storage.process import CompletedProgram
from openslob.kinds.storage.record import StorageStep
from openslob.kinds.storage.session import HostUsageMonitor, UsageReading, usage_of
from openslob.kinds.storage.target import check_direct, check_engine, existing_file, has_holes, why_no_io_uring
from openslob.record.model import Figure, Holds

TWO_JOBS = FIXTURES / "fio" / "two-jobs.json"
JOB = Job((Path("/data/a"),), 64 * MIB, 8 * KIB, IoEngine.IO_URING, 1.5, depth=4, copies=2, seed=7)


def program(tmp_path, text):
    path = tmp_path / "fio"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


# --- what fio says


def test_reads_and_writes_of_jobs_are_read_with_their_units():
    small, large = parse(TWO_JOBS.read_text())
    assert (small.name, large.name) == ("small", "large")
    assert (small.read.ios, small.read.bytes, small.write.ios) == (1164, 1164 * 8192, 317)
    assert small.read.iops == pytest.approx(5705.88, rel=1e-4)
    assert small.iops == pytest.approx(5705.88 + 1553.92, rel=1e-4)
    assert small.read.latency.count == 1164
    assert small.read.latency.mean_us() == pytest.approx(526.37, rel=1e-4)
    assert small.read.latency.max_us == 7217.227
    assert small.read.latency.quantile_us(0.99) == pytest.approx(1204.2, rel=0.03)
    assert large.write is None
    assert large.bytes_per_s == pytest.approx(large.iops * MIB)


def test_cpu_is_of_all_copies_together():
    small, large = parse(TWO_JOBS.read_text())
    # 4.197531 % of 405 ms, which two copies had together
    assert small.cpu_system_s == pytest.approx(0.017, rel=1e-3)
    assert small.cpu_us_per_io == pytest.approx(0.017 / (1164 + 317) * 1e6, rel=1e-3)
    assert large.cpu_user_s == pytest.approx(0.012)


def test_a_job_that_moved_nothing_is_an_error_and_not_a_rate_of_0():
    text = TWO_JOBS.read_text().replace('"total_ios": 204', '"total_ios": 0')
    with pytest.raises(SlobError, match="large moved no data"):
        parse(text)


@table("text", ["", "fio: bad option", '{"jobs": [{}]}'])
def test_an_answer_that_is_none_is_one_line(text):
    with pytest.raises(SlobError, match="can't be read"):
        parse(text)


@table(
    ("said", "reason"),
    [
        ("fio: pid=0, err=13/file:filesetup.c:801, func=open(/x), error=Permission denied\n", "open(/x): Permission"),
        ("crc32c: verify failed at file /x offset 409600, length 8192 (requested", "not the data written"),
        ("fio: engine foo not loadable\nfio: failed to load engine\n", "engine foo not loadable"),
        ("", ""),
    ],
)
def test_the_reason_of_a_failure_is_found_among_what_fio_says(said, reason):
    assert reason in reason_in(said)


def test_a_job_is_written_as_fio_has_it():
    lines = set(job_file([JOB]).splitlines())
    assert {
        "[job]", "filename=/data/a", "bs=8192", "rw=randread", "ioengine=io_uring", "iodepth=4", "numjobs=2",
        "direct=1", "runtime=1500ms", "randseed=7", "allow_file_create=0",
    } <= lines  # fmt: skip
    assert not any(line.startswith(("verify=", "rwmixread=", "cpus_allowed=")) for line in lines)


def test_syncs_are_counted_and_timed_in_place_of_their_writes():
    lines = set(replace(JOB, pattern=Pattern.SEQUENTIAL_WRITE, synced=True).section().splitlines())
    # Each of the two copies has a part of its own.
    assert {"fdatasync=1", f"size={32 * MIB}", f"offset_increment={32 * MIB}", "rw=write"} <= lines
    latency = {"min": 1, "max": 3_000_000, "mean": 200_000.0, "N": 40, "bins": {"200000": 39, "3000000": 1}}
    none = {"total_ios": 0}
    said = {"jobname": "log", "read": none, "write": {"total_ios": 41, "io_bytes": 41 * 8192, "runtime": 500,
            "lat_ns": {"mean": 9000.0, "N": 41, "max": 9000, "bins": {"9000": 41}}}, "job_runtime": 500,
            "usr_cpu": 1.0, "sys_cpu": 2.0, "ctx": 3}  # fmt: skip
    (plain,), (synced,) = (
        parse(json.dumps({"jobs": [{**said, **more}]})) for more in ({}, {"sync": {"lat_ns": latency}})
    )
    assert (plain.iops, plain.latency.mean_us(), plain.synced, synced.synced) == (82, 9, False, True)
    assert (synced.iops, synced.latency.mean_us()) == (80, 200)


def test_writes_are_not_taken_for_syncs_where_fio_does_not_time_these(tmp_path):
    said = json.dumps({"jobs": [{"jobname": "log", "read": {"total_ios": 0}, "write": {
        "total_ios": 4, "io_bytes": 32768, "runtime": 500, "lat_ns": {"mean": 9.0, "N": 4, "max": 9, "bins": {"9": 4}},
    }, "job_runtime": 500, "usr_cpu": 1.0, "sys_cpu": 2.0, "ctx": 3}]})  # fmt: skip
    fio = Fio(program(tmp_path, f"cat <<'END'\n{said}\nEND"), (3, 12), Event())
    assert fio.measure(JOB).ios == 4
    with pytest.raises(SlobError, match=r"fio 3\.12 does not time syncs"):
        fio.measure(replace(JOB, synced=True))


def test_colons_in_names_do_not_part_files_and_options_win():
    job = replace(JOB, files=(Path("/a:b"), Path("/c")), pattern=Pattern.RANDOM_MIXED, read_pct=70, verify=True)
    lines = set(replace(job, options={"iodepth": "9"}).section().splitlines())
    assert {r"filename=/a\:b:/c", f"size={128 * MIB}", "rwmixread=70", "verify=crc32c", "iodepth=9"} <= lines


# --- fio itself


def test_no_fio_is_told_with_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SlobError, match=r"^fio is not installed; .* apt-get install fio"):
        Fio.find(Event())


@pytest.mark.parametrize(
    ("says", "told"), [("fio-3.19", "too old"), ("fio-2.99-3", "too old"), ("flexible", "does not report its version")]
)
def test_an_old_fio_is_refused(monkeypatch, tmp_path, says, told):
    program(tmp_path, f"echo {says}")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(SlobError, match=told):
        Fio.find(Event())


def test_a_new_fio_is_taken(monkeypatch, tmp_path):
    program(tmp_path, "echo fio-3.38-14-gdeadbeef")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert Fio.find(Event()).version == (3, 38)


def test_fio_that_fails_gives_its_reason_in_one_line(tmp_path):
    path = program(tmp_path, "echo 'fio: pid=0, func=open(/x), error=No space left on device' >&2; exit 1")
    with pytest.raises(SlobError, match=r"^fio failed: open\(/x\): No space left on device$"):
        Fio(path, (3, 33), Event()).measure(JOB)


def test_requests_are_read_from_logs_of_both_versions():
    assert fio_module.parse_request("300 /proc/1/fd/3 read 65978368 8192") == ("/proc/1/fd/3", 65978368)
    assert fio_module.parse_request("/data/a write 8192 8192") == ("/data/a", 8192)
    assert fio_module.parse_request("294 /proc/1/fd/3 open") == ("", 0)
    assert fio_module.parse_request("fio version 3 iolog") == ("", 0)


# --- the place


class Engines:
    program = Path("/usr/bin/fio")

    def __init__(self, *names):
        self._names = frozenset(names)

    def engines(self):
        return self._names


def test_an_engine_that_fio_lacks_is_not_replaced():
    with pytest.raises(SlobError, match="built without libaio; give --io-engine libaio or psync"):
        check_engine(Engines("psync"), IoEngine.LIBAIO)


@pytest.mark.parametrize(
    ("number", "setting", "told"),
    [
        (errno.ENOSYS, None, "older than 5.1"),
        (errno.EPERM, "2", "kernel.io_uring_disabled is 2"),
        (errno.EPERM, "0", "seccomp"),
        (errno.ENOMEM, None, "ulimit -l"),
        (errno.EINVAL, None, "Invalid argument"),
    ],
)
def test_why_io_uring_is_not_permitted(tmp_path, number, setting, told):
    if setting:
        (tmp_path / "proc/sys/kernel").mkdir(parents=True)
        (tmp_path / "proc/sys/kernel/io_uring_disabled").write_text(setting)
    assert told in why_no_io_uring(number, tmp_path)


def test_io_uring_refused_is_told_before_the_start():
    with pytest.raises(SlobError, match=r"^io_uring .*; or give --io-engine"):
        check_engine(Engines("io_uring"), IoEngine.IO_URING, lambda: errno.EPERM)


def test_memory_is_no_storage(tmp_path):
    with pytest.raises(SlobError, match="lies in memory"):
        check_direct(tmp_path, "tmpfs", write=True)


def test_a_file_given_must_be_readable_and_long_enough(tmp_path):
    short = tmp_path / "short"
    short.write_bytes(b"x" * 100)
    for path, told in ((tmp_path / "none", "can't be read"), (tmp_path, "can't be read"), (short, "shorter than one")):
        with pytest.raises(UsageError, match=told):
            existing_file(path, 8192)


@table("name", ["a;b", "a#b", "a$ncpus+1", "a`b`", "a\nfilename=b", "a ", "it's", "a\\b"])
def test_a_name_that_fio_takes_for_another_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"x" * 8192)
    with pytest.raises(UsageError, match="fio misreads the name"):
        existing_file(tmp_path / name, 8192)


def test_holes_are_seen(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(MIB)
    (tmp_path / "full").write_bytes(b"x" * MIB)
    assert has_holes(tmp_path / "sparse", MIB)
    assert not has_holes(tmp_path / "full", MIB)


# --- coverage


def test_each_block_once_covers_as_expected():
    found = coverage([8192 * n for n in range(300)], 8192, 1000 * 8192)
    assert (found.requests, found.distinct, found.blocks, found.share) == (300, 300, 1000, 0.3)
    assert found.expected == pytest.approx(300)
    assert found.holds


def test_coming_back_to_the_same_blocks_does_not_cover():
    assert not coverage([8192 * (n % 250) for n in range(300)], 8192, 1000 * 8192).holds


def test_copies_overlap_by_chance():
    generator = random.Random(3)
    blocks = [block for _ in range(4) for block in generator.sample(range(20_000), 5000)]
    found = coverage([8192 * block for block in blocks], 8192, 20_000 * 8192, copies=4)
    assert found.expected == pytest.approx(20_000 * (1 - 0.75**4))
    assert found.distinct == pytest.approx(found.expected, rel=0.01)
    assert found.holds


# --- the search


def searched(device, limits):
    """Every number measured on a made-up device, and what was chosen in the end."""
    probes = []
    while not isinstance(decision := decide(probes, limits), SearchResult):
        iops = device(decision.in_flight)
        probes.append(DepthProbe(decision.in_flight, iops, decision.in_flight / iops * 1e6))
        assert len(probes) < 50
    return [each.in_flight for each in probes], decision


def saturating(most, one):
    """A device of ``most`` requests per second, of which one at a time gets ``one``: Little's law with one queue."""
    return lambda in_flight: min(one * in_flight, most)


def test_the_climb_ends_where_the_device_is_saturated():
    numbers, chosen = searched(saturating(50_000, 10_000), SearchLimits(most=1024))
    assert numbers == [1, 2, 4, 8, 16, 32, 8]
    assert chosen.best.in_flight == 8
    assert chosen.why.startswith("saturated: ")
    assert re.findall(r"[+-][\d.]+ %", chosen.why) == ["+0.0 %", "+0.0 %"]


def test_a_latency_limit_is_found_by_halves():
    # 50,000 a second: 25 in flight wait for 500 µs.
    numbers, chosen = searched(saturating(50_000, 5000), SearchLimits(most=1024, limit_us=500))
    assert numbers == [1, 2, 4, 8, 16, 32, 24, 28, 26, 16, 26]
    assert chosen.best.in_flight == 16  # the fewest of those that give 50,000
    assert "exceeds the limit of 500 µs" in chosen.why


def test_no_number_keeps_a_limit_below_one_read():
    numbers, chosen = searched(saturating(50_000, 5000), SearchLimits(most=1024, limit_us=100))
    assert (numbers, chosen.best) == ([1, 1], None)
    assert chosen.why.endswith("p99 200 µs at 5,000 requests/s, limit 100 µs")


def test_the_climb_ends_at_the_most_that_is_tried():
    numbers, chosen = searched(lambda n: 1000 * n, SearchLimits(most=32))
    assert numbers == [1, 2, 4, 8, 16, 32, 32]
    assert chosen.best.in_flight == 32


def test_numbers_between_are_multiples_of_the_processes():
    numbers, _ = searched(saturating(50_000, 5000), SearchLimits(most=1024, limit_us=500, multiple_of=4))
    assert all(number % 4 == 0 for number in numbers if number > 4)


def test_one_small_gain_does_not_end_the_climb():
    rates = {1: 100.0, 2: 100.0 * (1 + GAIN / 2), 4: 200.0}
    probes = [DepthProbe(number, rate, 10) for number, rate in rates.items()]
    assert isinstance(decide(probes[:2], SearchLimits(most=64)), NextDepth)
    after = decide(probes, SearchLimits(most=64))
    assert (after.in_flight, after.why) == (8, "2 to 4 in flight gained +95.1 %: double again")


def measured_once(first, then):
    """A device whose first measurement of some numbers in flight is ``first``, and every other one ``then``."""
    left = dict(first)
    return lambda in_flight: left.pop(in_flight, then(in_flight))


def test_a_lucky_first_step_does_not_end_the_search():
    device = measured_once({1: 1808.0}, saturating(1500, 799))
    numbers, chosen = searched(device, SearchLimits(most=64))
    assert numbers[:4] == [1, 2, 4, 1]
    assert (chosen.best.in_flight, chosen.best.iops) == (2, 1500)


def test_a_lucky_step_on_the_way_does_not_become_the_result():
    _, chosen = searched(measured_once({16: 9000.0}, saturating(5000, 1250)), SearchLimits(most=64))
    assert (chosen.best.in_flight, chosen.best.iops) == (4, 5000)


def test_one_slow_step_does_not_set_the_limit():
    # 400 requests a second are 2,500 µs each: a disturbance of one step at one in flight.
    device = measured_once({1: 400.0}, saturating(50_000, 5000))
    numbers, chosen = searched(device, SearchLimits(most=1024, limit_us=500))
    assert numbers[:3] == [1, 1, 1]
    assert chosen.best.in_flight == 16


# --- the verdicts


def step(**values):
    figures = {name: Figure(value=value, unit="", why=None if value else "no device") for name, value in values.items()}
    return StorageStep(number=1, name="x", purpose="y", figures=figures)


def rounds(**by_name):
    names = {"iops": IOPS, "mb": THROUGHPUT, "latency": LATENCY}
    return {names[name]: steps for name, steps in by_name.items()}


def test_runs_within_3_percent_are_repeatable_and_others_noisy():
    even = rounds(iops=[step(iops=1000.0), step(iops=1020.0), step(iops=995.0)], mb=[step(mb_per_s=100.0)])
    assert repeatable(even).verdict is Holds.HOLDS
    noisy = rounds(iops=[step(iops=1000.0), step(iops=1040.0), step(iops=1005.0)])
    assert repeatable(noisy).verdict is Holds.FAILS
    assert "noisy: the range of 3 runs is max IOPS 4.0 %" in repeatable(noisy).why
    assert repeatable(rounds(iops=[step(iops=1000.0)])).verdict is Holds.UNKNOWN


def test_the_device_must_have_read_what_was_asked_for():
    assert judge_reached_device(rounds(iops=[step(mb_per_s=100.0, device_mb_per_s=99.0)]), True).verdict is Holds.HOLDS
    assert judge_reached_device(rounds(iops=[step(mb_per_s=100.0, device_mb_per_s=20.0)]), False).verdict is Holds.FAILS
    missing = judge_reached_device(rounds(latency=[step(mb_per_s=100.0, device_mb_per_s=None)]), True)
    assert missing.verdict is Holds.UNKNOWN
    assert "no device" in missing.why


def test_the_limit_must_hold_when_measured_again():
    plan = CalibrationPlan(IoEngine.PSYNC, 8192, 1, 1, limit_us=500.0)
    assert limit_kept(rounds(iops=[step(p99_us=400.0)]), plan).verdict is Holds.HOLDS
    assert limit_kept(rounds(iops=[step(p99_us=600.0)]), plan).verdict is Holds.FAILS
    assert limit_kept(rounds(iops=[step(p99_us=600.0)]), replace(plan, limit_us=None)).verdict is Holds.UNKNOWN


def test_what_looking_at_the_data_costs():
    def copied(name, seconds, cpu):
        return dd_step(1, name, "", 100, CompletedProgram(0, "", "", seconds, cpu, 0.0))

    probes = {
        NOWHERE: [copied(NOWHERE, 0.1, 0.01)],
        LOOKED: [copied(LOOKED, 0.2, 0.11)],
        PLAIN: [step(iops=1000.0, cpu_us_per_io=10.0)],
    }
    found = summary(probes)
    assert (found["nowhere_mb_per_s"].value, found["looked_share_pct"].value) == (1000, 50)
    assert found["looked_cpu_us_per_mb"].value == pytest.approx(1100)
    assert "verified_iops" not in found
    found = summary({**probes, VERIFIED: [step(iops=900.0, cpu_us_per_io=12.0)]})
    assert found["verified_share_pct"].value == 90


# --- host and device


def sample(second, busy, read):
    cpu = Sample({"cpu_user_s": busy, "cpu_idle_s": 100.0 - busy})
    device = Sample({"dev_read_bytes": read}) if read is not None else Sample.missing(("dev_read_bytes",), "none")
    return UsageReading(int(second * NANOS), cpu, device)


def test_rates_of_host_and_device_are_over_the_time_looked_at():
    samples = [sample(n / 10, n * 0.05, n * 1000.0 * (1 + (n % 2) / 100)) for n in range(11)]
    found = usage_of(samples)
    assert found.host_cpu_s == pytest.approx(0.5)
    assert found.device_bytes == pytest.approx(10_000)
    assert found.half_width_pct is not None


def test_without_a_device_the_host_is_still_known():
    found = usage_of([sample(0, 0, None), sample(1, 0.5, None)], "no device here")
    assert (found.host_cpu_s, found.device_bytes, found.why) == (0.5, None, "no device here")
    assert usage_of([]).why


def test_only_the_inner_time_of_a_step_is_looked_at(tmp_path):
    clock = iter([int(n * 0.15 * NANOS) for n in range(40)])
    monitor = HostUsageMonitor(tmp_path, lambda: next(clock))
    for _ in range(30):
        monitor.sample()
    found = monitor.usage(2.0)
    assert found.host_cpu_s is not None
    monitor.reset()
    assert monitor.usage(2.0).host_cpu_s is None
    monitor.close()
