"""What storage can do, as a white box: most requests/s under a latency limit, most MB/s, latency, CPU per request.

The search for each is `openslob.storage.search`; then everything is measured again several times in alternating order,
and the medians are the result. Every step is in the record with the reason why it was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from statistics import median

from openslob.analyze.verdicts.outcome import holds_or_fails, unknown
from openslob.metrics import storage_figure
from openslob.record.model import Figure, Status, Verdict
from openslob.record.storage import StorageRecord, StorageStep
from openslob.storage.job import IoEngine, Job
from openslob.storage.results import Coverage, JobResult, coverage
from openslob.storage.search import Chosen, Rule, Trial, decide
from openslob.storage.session import StepRunner
from openslob.storage.testfile import TestFile
from openslob.units import MIB, format_bytes

# What calibrate_io tolerates unless told otherwise.
DEFAULT_LIMIT_US = 20_000.0
LARGE_BLOCK = MIB
# Beyond this many the kernel's own queues are longer than any device's; of processes, hosts can't run more at once.
MOST_IN_FLIGHT = 1024
MOST_PROCESSES = 256
MOST_LARGE = 64
# Runs further apart than this are not the same measurement.
MAX_SPREAD_PCT = 3.0
# What the device read besides, or did not have to: read-ahead is off for direct reads, so they should be the same.
MIN_DEVICE_SHARE = 0.95
# Enough for one block in a few of any file; fio's log of them stays small.
_MOST_LOGGED = 50_000
RAMP_SHARE = 0.25

IOPS, THROUGHPUT, LATENCY, VERIFIED = "max IOPS", "max MB/s", "latency", "max IOPS, contents verified"


@dataclass(frozen=True)
class CalibrationPlan:
    """What is asked of a calibration. ``processes`` is how many CPUs may drive; ``limit_us`` holds for small reads."""

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


@dataclass
class _Round:
    """The repeated measurements by name, in the order in which they were taken."""

    taken: dict[str, list[StorageStep]] = field(default_factory=dict)

    def add(self, name: str, step: StorageStep) -> None:
        self.taken.setdefault(name, []).append(step)

    def median(self, name: str, figure: str) -> float | None:
        values = [value for step in self.taken.get(name, ()) if (value := step.value(figure)) is not None]
        return median(values) if values else None

    def spread_pct(self, name: str, figure: str) -> float | None:
        """Largest less smallest, in % of the median."""
        values = [value for step in self.taken.get(name, ()) if (value := step.value(figure)) is not None]
        return 100 * (max(values) - min(values)) / median(values) if len(values) > 1 else None


def calibrate(step_runner: StepRunner, file: TestFile, plan: CalibrationPlan) -> StorageRecord:
    """Calibrate ``file`` and end the record of ``gauge``. StoppedError and SlobError leave that to the caller."""
    small = _search(step_runner, plan, job_maker(file, plan, plan.block_size), _small_rule(plan), IOPS)
    large = _search(step_runner, plan, job_maker(file, plan, LARGE_BLOCK), _large_rule(plan), THROUGHPUT)
    jobs = _repeated(file, plan, small, large)
    rounds = _Round()
    for number in range(plan.runs):
        names = list(jobs) if number % 2 == 0 else list(reversed(jobs))
        for name in names:
            purpose = f"measured again, run {number + 1} of {plan.runs}"
            rounds.add(name, step_runner.run(_fresh(step_runner, jobs[name]), _title(name, jobs[name]), purpose)[1])
    spread_over = _coverage(step_runner, file, jobs[IOPS if IOPS in jobs else LATENCY])
    return step_runner.folder.finish(
        Status.COMPLETE,
        summary=summary(rounds, small.best, large.best),
        verdicts=(
            repeatable(rounds),
            limit_kept(rounds, plan),
            reached_device(rounds, plan.direct),
            covered(spread_over),
        ),
        notes=(*step_runner.folder.record.notes, f"{IOPS}: {small.why}", f"{THROUGHPUT}: {large.why}"),
    )


def _small_rule(plan: CalibrationPlan) -> Rule:
    most = MOST_PROCESSES if plan.engine is IoEngine.PSYNC else MOST_IN_FLIGHT
    return Rule(most, plan.limit_us, plan.at, _grain(plan))


def _large_rule(plan: CalibrationPlan) -> Rule:
    return Rule(MOST_LARGE, grain=_grain(plan))


def _grain(plan: CalibrationPlan) -> int:
    return 1 if plan.engine is IoEngine.PSYNC else _power_of_two(plan.processes)


def _power_of_two(count: int) -> int:
    return 1 << (count.bit_length() - 1)


def job_maker(file: TestFile, plan: CalibrationPlan, block_size: int) -> Callable[[int], Job]:
    """The job that calibration runs for a number of requests in flight, spread over the CPUs that may drive."""

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
            ramp_s=plan.seconds * RAMP_SHARE,
            depth=in_flight // copies,
            copies=copies,
            direct=plan.direct,
            cpus=plan.cpus,
        )

    return job


def _fresh(step_runner: StepRunner, job: Job) -> Job:
    """The job with an order of its own, that no step before had."""
    return replace(job, seed=len(step_runner.folder.record.steps) + 1)


def _title(name: str, job: Job) -> str:
    size = format_bytes(job.block_size)
    return f"{name}: random {size} reads, {job.in_flight} in flight"


def _search(
    step_runner: StepRunner, plan: CalibrationPlan, job_of: Callable[[int], Job], rule: Rule, name: str
) -> Chosen:
    taken: list[Trial] = []
    while not isinstance(decision := decide(taken, rule), Chosen):
        job = _fresh(step_runner, job_of(decision.in_flight))
        result, _ = step_runner.run(job, _title(f"search {name}", job), decision.why)
        taken.append(Trial(decision.in_flight, result.iops, judged_latency(result, plan.at)))
    step_runner.notify(f"{name}: {decision.why}")
    return decision


def judged_latency(result: JobResult, at: str) -> float:
    """The latency in µs that is held against the limit: ``mean`` or ``p99``. A job that ran has both."""
    latency = result.latency
    found = latency.mean_us() if at == "mean" else latency.quantile_us(0.99)
    assert found is not None
    return found


def _repeated(file: TestFile, plan: CalibrationPlan, small: Chosen, large: Chosen) -> dict[str, Job]:
    small_job = job_maker(file, plan, plan.block_size)
    jobs = {LATENCY: small_job(1)}
    if small.best:
        jobs[IOPS] = small_job(small.best.in_flight)
        if plan.verify:
            # Such a job may end after one pass, which may be shorter than a ramp.
            jobs[VERIFIED] = replace(jobs[IOPS], verify=True, ramp_s=0.0)
    if large.best:
        jobs[THROUGHPUT] = job_maker(file, plan, LARGE_BLOCK)(large.best.in_flight)
    return jobs


def _coverage(step_runner: StepRunner, file: TestFile, job: Job) -> Coverage:
    blocks = job.size // job.block_size
    each = max(min(_MOST_LOGGED, blocks) // job.copies, 1)
    step_runner.notify(f"coverage: {each * job.copies:,} requests logged")
    logged = step_runner.fio.offsets(job, each)
    offsets = [offset for found in logged.values() for offset in found]
    return coverage(offsets, job.block_size, file.size, job.copies)


def summary(rounds: _Round, small: Trial | None, large: Trial | None) -> Mapping[str, Figure]:
    """Medians over the repeated runs; a limit that nothing kept leaves the rate unknown."""
    over = "even one request at a time is over the latency limit"
    none = "not measured"
    figures = {
        "max_iops": (rounds.median(IOPS, "iops"), over),
        "max_iops_mean_us": (rounds.median(IOPS, "mean_us"), over),
        "max_iops_p99_us": (rounds.median(IOPS, "p99_us"), over),
        "max_mb_per_s": (rounds.median(THROUGHPUT, "mb_per_s"), none),
        "latency_mean_us": (rounds.median(LATENCY, "mean_us"), none),
        "latency_p99_us": (rounds.median(LATENCY, "p99_us"), none),
        "cpu_us_per_io": (rounds.median(IOPS, "cpu_us_per_io"), over),
        "host_cpu_us_per_io": (rounds.median(IOPS, "host_cpu_us_per_io"), over),
        "max_iops_in_flight": (small.in_flight if small else None, over),
        "max_mb_in_flight": (large.in_flight if large else None, none),
    }
    if VERIFIED in rounds.taken:
        figures["verified_iops"] = (rounds.median(VERIFIED, "iops"), over)
        figures["verified_cpu_us_per_io"] = (rounds.median(VERIFIED, "cpu_us_per_io"), over)
    return {name: storage_figure(name, value, why) for name, (value, why) in figures.items()}


_JUDGED = {IOPS: "iops", THROUGHPUT: "mb_per_s", LATENCY: "mean_us"}


def repeatable(rounds: _Round) -> Verdict:
    """The repeated runs agree; else the storage, or what shares it, is noisy, and one run says little."""
    spreads = {
        name: spread for name, figure in _JUDGED.items() if (spread := rounds.spread_pct(name, figure)) is not None
    }
    if not spreads:
        return unknown("repeatable", "Can't be told: everything was measured only once.")
    told = ", ".join(f"{name} {spread:.1f} %" for name, spread in spreads.items())
    count = max(len(steps) for steps in rounds.taken.values())
    so = max(spreads.values()) <= MAX_SPREAD_PCT
    said = "The storage is repeatable" if so else "The storage is noisy"
    why = f"{said}: {count} runs spread by {told} ({MAX_SPREAD_PCT:g} % is allowed)."
    return holds_or_fails(
        "repeatable", so, why, **{f"{_JUDGED[name]}_spread_pct": value for name, value in spreads.items()}
    )


def limit_kept(rounds: _Round, plan: CalibrationPlan) -> Verdict:
    """The latency at the published rate, measured again after the search, is within the limit."""
    name = "limit_kept"
    if plan.limit_us is None:
        return unknown(name, "There was no limit.")
    which = IOPS if IOPS in rounds.taken else LATENCY
    found = rounds.median(which, f"{plan.at}_us")
    if found is None:
        return unknown(name, "Can't be told: nothing was measured again.")
    why = f"{which}: {plan.at} {found:,.0f} µs, of {plan.limit_us:,.0f} µs allowed."
    return holds_or_fails(name, found <= plan.limit_us, why, latency_us=found, limit_us=plan.limit_us)


def reached_device(rounds: _Round, direct: bool) -> Verdict:
    """What was counted as read was read by the device, by its own count."""
    name = "reached_device"
    which = IOPS if IOPS in rounds.taken else LATENCY
    asked, read = rounds.median(which, "mb_per_s"), rounds.median(which, "device_mb_per_s")
    if asked is None or read is None:
        steps = [step for taken in rounds.taken.values() for step in taken]
        why = next((f.why for s in steps if (f := s.figures.get("device_mb_per_s")) and f.why), "nothing was measured")
        return unknown(name, f"Can't be told: {why}.")
    share = read / asked
    how = "direct" if direct else "buffered"
    why = f"The device read {100 * share:.0f} % of what these {how} reads asked for."
    return holds_or_fails(name, share >= MIN_DEVICE_SHARE, why, device_pct=100 * share)


def covered(found: Coverage) -> Verdict:
    """Random reads visited as many distinct blocks as evenly spread ones do."""
    why = (
        f"{found.requests:,} logged requests visited {found.distinct:,} of {found.blocks:,} blocks; "
        f"evenly spread ones reach {found.expected:,.0f}."
    )
    figures = {**{name: float(value) for name, value in asdict(found).items()}, "share_pct": 100 * found.share}
    return holds_or_fails("coverage", found.holds, why, **figures)
