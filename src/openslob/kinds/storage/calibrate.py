"""Calibration of storage: highest IOPS within a latency limit, highest MB/s, latency, CPU per request, writes, syncs.

A search finds the number of requests in flight for each: the fewest that give the highest rate within the limit. Then
everything is measured again several times in alternating order, and the medians are the results. The record contains
every step with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

from openslob.analyze.outcome import holds_or_fails, unknown
from openslob.core.errors import UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.units import MIB, format_bytes
from openslob.kinds.storage.fio import VERIFY_INTERVAL, Coverage, Fio, IoEngine, Job, JobResult, Pattern, coverage
from openslob.kinds.storage.own_word import OwnRequest, open_own_word
from openslob.kinds.storage.record import StorageRecord, StorageStep, median_of, values_of
from openslob.kinds.storage.session import Notify, StepRunner, StorageRequest, StorageTarget, repeat, session
from openslob.kinds.storage.target import TestFile
from openslob.metrics import storage_figure
from openslob.record.model import Figure, Status, Verdict

# A doubling that gains less than this share doubles the latency for almost no higher rate.
GAIN = 0.05
# Rates that differ by less than this share count as equal: more requests in flight would only wait longer.
SAME = 0.02
# A number is measured at most so often: the median of three has one lucky or unlucky step less.
MOST_TIMES = 3
# The halving ends when the gap is this fraction of the smaller number: rates within it can't be distinguished.
_FINEST_FRACTION = 8


@dataclass(frozen=True)
class DepthProbe:
    """A measured number of requests in flight: its rate, and the latency in µs that the limit applies to."""

    in_flight: int
    iops: float
    latency_us: float


@dataclass(frozen=True)
class SearchLimits:
    """The bounds of a search.

    ``most`` is the highest number in flight. ``limit_us`` limits the latency statistic ``at`` (``p99`` or ``mean``);
    None means no limit. Numbers in flight above ``multiple_of`` are multiples of it.
    """

    most: int
    limit_us: float | None = None
    at: str = "p99"
    multiple_of: int = 1

    def allows(self, probe: DepthProbe) -> bool:
        """Return whether the latency of a probe is within the limit."""
        return self.limit_us is None or probe.latency_us <= self.limit_us


@dataclass(frozen=True)
class NextDepth:
    """The number in flight to measure next, and the reason."""

    in_flight: int
    why: str


@dataclass(frozen=True)
class SearchResult:
    """The result of the search, and the reason for its end.

    ``best`` is None if even one request in flight exceeds the limit.
    """

    best: DepthProbe | None
    why: str


def decide(probes: Sequence[DepthProbe], limits: SearchLimits) -> NextDepth | SearchResult:
    """Return the next number to measure, or the result, after ``probes`` in the order of measurement.

    1. The search starts with one request in flight and doubles the number while the rate grows.
    2. Two doublings in a row that gain less than `GAIN` each end the doubling: the storage is saturated.
    3. A latency above the limit ends it too. Then the gap between the largest number within the limit and the smallest
       number above it is halved, until it is an eighth of the smaller one.
    4. The result is the smallest number within the limit whose rate is within `SAME` of the best rate within the limit.
    5. What the result rests on is measured again: the chosen number, and the smallest one above the limit. If the two
       measurements disagree, a third one is made. The median counts, and the search goes on if it changes a decision.
       So one step that was lucky, as the first one with data in a cache of the storage, does not end the search.

    The result depends on the probes alone: neither on the number of disks nor on other files. Each decision has a
    reason, which goes into the record.
    """
    if not probes:
        return NextDepth(1, "the search starts with one request at a time")
    of_number = _by_number(probes)
    typical = [_typical(each) for each in of_number.values()]
    allowed = [each for each in typical if limits.allows(each)]
    exceeding = [each for each in typical if not limits.allows(each)]
    decision = _decide(allowed, exceeding, limits)
    if isinstance(decision, NextDepth):
        return decision
    rests_on = [*([decision.best] if decision.best else []), *exceeding[:1]]
    doubtful = (each.in_flight for each in rests_on if not _is_certain(of_number[each.in_flight], limits))
    again = next(doubtful, None)
    return NextDepth(again, f"{again} in flight again: the result rests on it") if again else decision


def _by_number(probes: Sequence[DepthProbe]) -> dict[int, list[DepthProbe]]:
    """Return the probes by their number in flight, the smallest first."""
    numbers = sorted({each.in_flight for each in probes})
    return {number: [each for each in probes if each.in_flight == number] for number in numbers}


def _typical(probes: Sequence[DepthProbe]) -> DepthProbe:
    """Return the medians of the probes of one number in flight."""
    return DepthProbe(
        probes[0].in_flight, median(each.iops for each in probes), median(each.latency_us for each in probes)
    )


def _is_certain(probes: Sequence[DepthProbe], limits: SearchLimits) -> bool:
    """Return whether a number was measured often enough: twice with one outcome, or `MOST_TIMES`."""
    rates = [each.iops for each in probes]
    agree = max(rates) <= min(rates) * (1 + GAIN) and len({limits.allows(each) for each in probes}) == 1
    return len(probes) >= MOST_TIMES or (len(probes) > 1 and agree)


def _decide(
    allowed: Sequence[DepthProbe], exceeding: Sequence[DepthProbe], limits: SearchLimits
) -> NextDepth | SearchResult:
    """Return what `decide` does, from one probe of each number, without a look at how certain it is."""
    if not allowed:
        one = exceeding[0]
        found = f"{limits.at} {one.latency_us:,.0f} µs at {one.iops:,.0f} requests/s, limit {limits.limit_us:,.0f} µs"
        return SearchResult(None, f"even one request at a time exceeds the limit: {found}")
    if exceeding:
        return _halve(allowed, exceeding[0], limits)
    return _double(allowed, limits)


def _double(allowed: Sequence[DepthProbe], limits: SearchLimits) -> NextDepth | SearchResult:
    last = allowed[-1]
    gains = [after.iops / before.iops - 1 for before, after in pairwise(allowed)]
    if len(gains) >= 2 and max(gains[-2:]) < GAIN:
        last_gains = " and ".join(f"{100 * gain:+.1f} %" for gain in gains[-2:])
        why = f"saturated: the last two doublings gained {last_gains}, less than {100 * GAIN:g} % each"
        return _result(allowed, why)
    if 2 * last.in_flight > limits.most:
        return _result(allowed, f"{last.in_flight} in flight is the highest number tried")
    if not gains:
        return NextDepth(2 * last.in_flight, "double, to see whether the rate grows")
    # The numbers are named: a step's reason is shown beside its rate, whose gain it is not.
    gained = f"{allowed[-2].in_flight} to {last.in_flight} in flight gained {100 * gains[-1]:+.1f} %"
    return NextDepth(2 * last.in_flight, f"{gained}: double again")


def _halve(allowed: Sequence[DepthProbe], slow: DepthProbe, limits: SearchLimits) -> NextDepth | SearchResult:
    low = max(each.in_flight for each in allowed if each.in_flight < slow.in_flight)
    high = slow.in_flight
    middle = (low + high) // 2
    middle -= middle % limits.multiple_of if middle > limits.multiple_of else 0
    latency = f"{limits.at} {slow.latency_us:,.0f} µs"
    limit = f"{latency} with {high} in flight exceeds the limit of {limits.limit_us:,.0f} µs"
    if high - low <= max(limits.multiple_of, low // _FINEST_FRACTION) or middle <= low:
        return _result([each for each in allowed if each.in_flight < high], limit)
    return NextDepth(middle, f"{limit}, {low} does not: try the middle")


def _result(allowed: Sequence[DepthProbe], why: str) -> SearchResult:
    best = max(each.iops for each in allowed)
    smallest = next(each for each in allowed if each.iops >= best * (1 - SAME))
    return SearchResult(
        smallest, f"{why}; {smallest.in_flight} in flight chosen, the fewest within {100 * SAME:g} % of the best"
    )


# The default latency limit of the I/O calibration that a database server has built in.
DEFAULT_LIMIT_US = 20_000.0
LARGE_BLOCK = MIB
# More requests in flight than this only wait in the kernel's queues.
MOST_IN_FLIGHT = 1024
# More processes than this are scheduled rather than run.
MOST_PROCESSES = 256
MOST_LARGE = 64
# Sessions that commit wait for one log: with more writers, they wait for each other.
MOST_SYNCING = 16
# Repeats that differ by more are not repeatable.
MAX_SPREAD_PCT = 3.0
# Direct reads have no read-ahead: the device should read as many bytes as fio.
MIN_DEVICE_SHARE = 0.95
# Enough to cover a share of the blocks of any file; fio's log stays small.
_MOST_LOGGED = 50_000
# The measurements by name, in their order.
RepeatedSteps = Mapping[str, Sequence[StorageStep]]
RAMP_SHARE = 0.25

IOPS, THROUGHPUT, LATENCY, VERIFIED = "max IOPS", "max MB/s", "latency", "max IOPS, contents verified"
WRITES, SYNCS, ONE_SYNC = "max writes", "max syncs", "sync"


@dataclass(frozen=True)
class CalibrationPlan:
    """Parameters of a calibration.

    ``processes`` is the number of CPUs that fio may use. ``limit_us`` limits the statistic ``at`` of the latency of
    small reads. ``writes``: writes and syncs are measured, too, if the file is slob's own.
    """

    engine: IoEngine
    block_size: int
    seconds: float
    processes: int
    runs: int = 3
    limit_us: float | None = DEFAULT_LIMIT_US
    at: str = "p99"
    direct: bool = True
    verify: bool = False
    cpus: str | None = None
    writes: bool = True


@dataclass(frozen=True)
class CalibrationRequest:
    """A requested calibration of a file, a device, or a directory, in which a test file of ``size`` bytes is made.

    ``own`` is a server that calibrates its storage itself afterwards.
    """

    plan: CalibrationPlan
    path: Path
    size: int
    name: str
    results: Path
    own: OwnRequest | None = None


def execute(request: CalibrationRequest, interrupt: Interrupt, notify: Notify) -> tuple[StorageRecord, Path]:
    """Calibrate, and return the record with its folder.

    Raises UsageError for parameters that do not fit together, SlobError before anything is written if fio or the file
    system does not allow it, and MeasurementStoppedError when stopped.
    """
    plan = request.plan
    _check(plan, request.path)
    asked = {
        "block_bytes": plan.block_size, "latency_limit_us": plan.limit_us, "at": plan.at, "repeats": plan.runs,
        "seconds": plan.seconds, "verify": plan.verify, "engine": plan.engine.value, "direct": plan.direct,
        "cpus": plan.cpus, "processes": plan.processes, "writes": plan.writes,
    }  # fmt: skip
    measurement = StorageRequest("calibrate", request.name, request.results, asked)
    target = StorageTarget(request.path, request.size, plan.engine, plan.direct)
    with ExitStack() as opened:
        own = opened.enter_context(open_own_word(request.own, plan.limit_us, interrupt)) if request.own else None
        session_of = session(Fio.find(interrupt.stop), measurement, target, notify)
        step_runner, file = opened.enter_context(session_of)
        record = calibrate(step_runner, file, plan)
        return own.add_to(step_runner.folder, notify) if own else record, step_runner.folder.path


def _check(plan: CalibrationPlan, path: Path) -> None:
    if plan.at not in ("p99", "mean"):
        raise UsageError(f"--at {plan.at} is neither p99 nor mean", "give one of them")
    if plan.verify and not path.is_dir():
        raise UsageError("--verify needs a test file with checksums", "give a directory to create it in")
    if plan.verify and (plan.block_size % VERIFY_INTERVAL or MIB % plan.block_size):
        raise UsageError(f"--verify needs blocks of 4k, 8k … 1M, not of {format_bytes(plan.block_size)}")


def calibrate(step_runner: StepRunner, file: TestFile, plan: CalibrationPlan) -> StorageRecord:
    """Calibrate ``file`` and finish the record of ``step_runner``; if an error is raised, the caller finishes it."""
    small = _search(step_runner, plan, job_maker(file, plan, plan.block_size), _small_limits(plan), IOPS)
    large = _search(step_runner, plan, job_maker(file, plan, LARGE_BLOCK), _large_limits(plan), THROUGHPUT)
    jobs = _result_jobs(file, plan, small, large)
    repeats = _repeat(step_runner, plan, jobs)
    found = _measure_coverage(step_runner, file, jobs[IOPS if IOPS in jobs else LATENCY])
    # Last: writes overwrite the checksums in the test file.
    written = _measure_writes(step_runner, file, plan) if plan.writes and file.ours else None
    if plan.writes and not file.ours:
        step_runner.notify(NOT_WRITTEN)
    return step_runner.folder.finish(
        Status.COMPLETE,
        summary={**summary(repeats, small.best, large.best), **(written.summary() if written else {})},
        verdicts=(
            repeatable(repeats),
            limit_kept(repeats, plan),
            judge_reached_device(repeats, plan.direct),
            covers_file(found),
        ),
        notes=(
            *step_runner.folder.record.notes,
            f"{IOPS}: {small.why}",
            f"{THROUGHPUT}: {large.why}",
            *((f"{WRITES}: {written.writes.why}", f"{SYNCS}: {written.syncs.why}") if written else ()),
            *((NOT_WRITTEN,) if plan.writes and not file.ours else ()),
        ),
    )


NOT_WRITTEN = "writes and syncs are not measured: a file or device of yours is only read; give a directory"


def _repeat(step_runner: StepRunner, plan: CalibrationPlan, jobs: Mapping[str, Job]) -> RepeatedSteps:
    """Measure each job so often as the plan says, in alternating order."""

    def measure(name: str, purpose: str) -> StorageStep:
        return step_runner.run(_reseed(step_runner, jobs[name]), _title(name, jobs[name]), purpose)[1]

    return repeat({name: partial(measure, name) for name in jobs}, plan.runs, "measured again, run")


@dataclass(frozen=True)
class Written:
    """What was found about writes and syncs, and their repeated measurements."""

    writes: SearchResult
    syncs: SearchResult
    repeats: RepeatedSteps

    def summary(self) -> Mapping[str, Figure]:
        """Return the medians of the repeats."""
        writes, syncs = self.repeats.get(WRITES, ()), self.repeats.get(SYNCS, ())
        values = {
            "write_iops": median_of(writes, "iops"),
            "write_mean_us": median_of(writes, "mean_us"),
            "write_p99_us": median_of(writes, "p99_us"),
            "write_in_flight": self.writes.best.in_flight if self.writes.best else None,
            "syncs_per_s": median_of(syncs, "iops"),
            "syncs_at_once": self.syncs.best.in_flight if self.syncs.best else None,
            "sync_mean_us": median_of(self.repeats[ONE_SYNC], "mean_us"),
            "sync_p99_us": median_of(self.repeats[ONE_SYNC], "p99_us"),
        }
        return {name: storage_figure(name, value, "not measured") for name, value in values.items()}


def _measure_writes(step_runner: StepRunner, file: TestFile, plan: CalibrationPlan) -> Written:
    """Measure random writes, and sequential writes that are each synced, as a server writes its data and its log."""
    write_job, sync_job = job_maker(file, plan, plan.block_size, Pattern.RANDOM_WRITE), _sync_job_maker(file, plan)
    limits = SearchLimits(_most_small(plan), multiple_of=_multiple(plan))
    writes = _search(step_runner, plan, write_job, limits, WRITES)
    syncs = _search(step_runner, plan, sync_job, SearchLimits(MOST_SYNCING), SYNCS)
    jobs = {ONE_SYNC: sync_job(1)}
    jobs |= {WRITES: write_job(writes.best.in_flight)} if writes.best else {}
    jobs |= {SYNCS: sync_job(syncs.best.in_flight)} if syncs.best else {}
    return Written(writes, syncs, _repeat(step_runner, plan, jobs))


def _sync_job_maker(file: TestFile, plan: CalibrationPlan) -> Callable[[int], Job]:
    """Return a function from a number of processes to the job in which each writes and syncs, through the page cache.

    Nothing is ramped: fio counts the syncs of a ramp, too.
    """
    one = replace(
        job_maker(file, plan, plan.block_size, Pattern.SEQUENTIAL_WRITE)(1),
        engine=IoEngine.PSYNC, direct=False, synced=True, ramp_s=0.0,
    )  # fmt: skip
    return lambda processes: replace(one, copies=processes)


def _small_limits(plan: CalibrationPlan) -> SearchLimits:
    return SearchLimits(_most_small(plan), plan.limit_us, plan.at, _multiple(plan))


def _most_small(plan: CalibrationPlan) -> int:
    return MOST_PROCESSES if plan.engine is IoEngine.PSYNC else MOST_IN_FLIGHT


def _large_limits(plan: CalibrationPlan) -> SearchLimits:
    return SearchLimits(MOST_LARGE, multiple_of=_multiple(plan))


def _multiple(plan: CalibrationPlan) -> int:
    return 1 if plan.engine is IoEngine.PSYNC else _power_of_two(plan.processes)


def _power_of_two(count: int) -> int:
    return 1 << (count.bit_length() - 1)


def job_maker(
    file: TestFile, plan: CalibrationPlan, block_size: int, pattern: Pattern = Pattern.RANDOM_READ
) -> Callable[[int], Job]:
    """Return a function from a number of requests in flight to the job that keeps them, spread over fio's CPUs."""

    def job(in_flight: int) -> Job:
        copies = in_flight if plan.engine is IoEngine.PSYNC else min(in_flight, _power_of_two(plan.processes))
        while in_flight % copies:
            copies //= 2
        return Job(
            files=(file.path,),
            size=file.size // block_size * block_size,
            block_size=block_size,
            engine=plan.engine,
            seconds=plan.seconds,
            pattern=pattern,
            ramp_s=plan.seconds * RAMP_SHARE,
            depth=in_flight // copies,
            copies=copies,
            direct=plan.direct,
            cpus=plan.cpus,
        )

    return job


def _reseed(step_runner: StepRunner, job: Job) -> Job:
    """Return the job with a new seed, so that it reads in an order that no earlier step had."""
    return replace(job, seed=len(step_runner.folder.record.steps) + 1)


def _title(name: str, job: Job) -> str:
    size = format_bytes(job.block_size)
    what = f"{size} writes, each synced" if job.synced else f"random {size} {_VERBS.get(job.pattern, 'reads')}"
    return f"{name}: {what}, {job.in_flight} in flight"


_VERBS = {Pattern.RANDOM_WRITE: "writes"}


def _search(
    step_runner: StepRunner, plan: CalibrationPlan, job_of: Callable[[int], Job], limits: SearchLimits, name: str
) -> SearchResult:
    probes: list[DepthProbe] = []
    while not isinstance(decision := decide(probes, limits), SearchResult):
        job = _reseed(step_runner, job_of(decision.in_flight))
        result, _ = step_runner.run(job, _title(f"search {name}", job), decision.why)
        probes.append(DepthProbe(decision.in_flight, result.iops, limited_latency(result, plan.at)))
    step_runner.notify(f"{name}: {decision.why}")
    return decision


def limited_latency(result: JobResult, at: str) -> float:
    """Return the latency in µs that the limit applies to, ``mean`` or ``p99``."""
    latency = result.latency
    value = latency.mean_us() if at == "mean" else latency.quantile_us(0.99)
    assert value is not None  # `parse` refuses jobs without requests
    return value


def _result_jobs(file: TestFile, plan: CalibrationPlan, small: SearchResult, large: SearchResult) -> dict[str, Job]:
    small_job = job_maker(file, plan, plan.block_size)
    jobs = {LATENCY: small_job(1)}
    if small.best:
        jobs[IOPS] = small_job(small.best.in_flight)
        if plan.verify:
            # A verifying job may end after one pass, which may be shorter than a ramp.
            jobs[VERIFIED] = replace(jobs[IOPS], verify=True, ramp_s=0.0)
    if large.best:
        jobs[THROUGHPUT] = job_maker(file, plan, LARGE_BLOCK)(large.best.in_flight)
    return jobs


def _measure_coverage(step_runner: StepRunner, file: TestFile, job: Job) -> Coverage:
    blocks = job.size // job.block_size
    each = max(min(_MOST_LOGGED, blocks) // job.copies, 1)
    step_runner.notify(f"coverage: logging {each * job.copies:,} requests")
    logged = step_runner.fio.offsets(job, each)
    offsets = [offset for of_file in logged.values() for offset in of_file]
    return coverage(offsets, job.block_size, file.size, job.copies)


def summary(repeats: RepeatedSteps, small: DepthProbe | None, large: DepthProbe | None) -> Mapping[str, Figure]:
    """Return the medians of the repeats. The rate is unknown if every number in flight exceeded the limit."""
    over = "even one request at a time exceeds the latency limit"
    none = "not measured"
    best, alone = repeats.get(IOPS, ()), repeats.get(LATENCY, ())
    figures = {
        "max_iops": (median_of(best, "iops"), over),
        "max_iops_mean_us": (median_of(best, "mean_us"), over),
        "max_iops_p99_us": (median_of(best, "p99_us"), over),
        "max_mb_per_s": (median_of(repeats.get(THROUGHPUT, ()), "mb_per_s"), none),
        "latency_mean_us": (median_of(alone, "mean_us"), none),
        "latency_p99_us": (median_of(alone, "p99_us"), none),
        "cpu_us_per_io": (median_of(best, "cpu_us_per_io"), over),
        "host_cpu_us_per_io": (median_of(best, "host_cpu_us_per_io"), over),
        "max_iops_in_flight": (small.in_flight if small else None, over),
        "max_mb_in_flight": (large.in_flight if large else None, none),
    }
    if verified := repeats.get(VERIFIED):
        figures["verified_iops"] = (median_of(verified, "iops"), over)
        figures["verified_cpu_us_per_io"] = (median_of(verified, "cpu_us_per_io"), over)
    return {name: storage_figure(name, value, why) for name, (value, why) in figures.items()}


_REPEATED = {IOPS: "iops", THROUGHPUT: "mb_per_s", LATENCY: "mean_us"}


def repeatable(repeats: RepeatedSteps) -> Verdict:
    """Return whether the repeats agree; if not, the storage is noisy and a single run is not reliable."""
    known = {name: values_of(repeats.get(name, ()), figure) for name, figure in _REPEATED.items()}
    spreads = {
        name: 100 * (max(values) - min(values)) / median(values) for name, values in known.items() if len(values) > 1
    }
    if not spreads:
        return unknown("repeatable", "Can't be determined: everything was measured only once.")
    ranges = ", ".join(f"{name} {spread:.1f} %" for name, spread in spreads.items())
    count = max(map(len, repeats.values()))
    agree = max(spreads.values()) <= MAX_SPREAD_PCT
    adjective = "repeatable" if agree else "noisy"
    why = f"The storage is {adjective}: the range of {count} runs is {ranges} (allowed: {MAX_SPREAD_PCT:g} %)."
    return holds_or_fails(
        "repeatable", agree, why, **{f"{_REPEATED[name]}_spread_pct": value for name, value in spreads.items()}
    )


def limit_kept(repeats: RepeatedSteps, plan: CalibrationPlan) -> Verdict:
    """Return whether the latency at the reported rate, measured again after the search, is within the limit."""
    name = "limit_kept"
    if plan.limit_us is None:
        return unknown(name, "There was no limit.")
    which = IOPS if IOPS in repeats else LATENCY
    latency = median_of(repeats.get(which, ()), f"{plan.at}_us")
    if latency is None:
        return unknown(name, "Can't be determined: nothing was measured again.")
    why = f"{which}: {plan.at} {latency:,.0f} µs, of {plan.limit_us:,.0f} µs allowed."
    return holds_or_fails(name, latency <= plan.limit_us, why, latency_us=latency, limit_us=plan.limit_us)


def judge_reached_device(repeats: RepeatedSteps, direct: bool) -> Verdict:
    """Return whether the device counted as many bytes read as fio did."""
    name = "reached_device"
    measured = repeats.get(IOPS) or repeats.get(LATENCY, ())
    asked, read = median_of(measured, "mb_per_s"), median_of(measured, "device_mb_per_s")
    if asked is None or read is None:
        steps = [step for repeated in repeats.values() for step in repeated]
        why = next((f.why for s in steps if (f := s.figures.get("device_mb_per_s")) and f.why), "nothing was measured")
        return unknown(name, f"Can't be determined: {why}.")
    share = read / asked
    how = "direct" if direct else "buffered"
    why = f"The device read {100 * share:.0f} % of the bytes that these {how} reads requested."
    return holds_or_fails(name, share >= MIN_DEVICE_SHARE, why, device_pct=100 * share)


def covers_file(found: Coverage) -> Verdict:
    """Return whether random reads visited as many distinct blocks as uniformly distributed reads would."""
    why = (
        f"{found.requests:,} logged requests visited {found.distinct:,} of {found.blocks:,} blocks; "
        f"uniformly distributed requests visit {found.expected:,.0f}."
    )
    figures = {**{name: float(value) for name, value in asdict(found).items()}, "share_pct": 100 * found.share}
    return holds_or_fails("coverage", found.holds, why, **figures)
