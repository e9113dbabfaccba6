"""The record of a test: its steps, summary figures and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from openslob.analyze.outcome import count, holds_or_fails, unknown
from openslob.core.units import MIB
from openslob.kinds.storage.job import Job
from openslob.kinds.storage.orion.files import FIGURES, latency_figure
from openslob.kinds.storage.orion.jobs import LARGE, SMALL
from openslob.kinds.storage.orion.points import ZONES, CoverageCheck, OrionResult, PointResult
from openslob.kinds.storage.results import JobResult
from openslob.kinds.storage.session import load_of
from openslob.metrics import storage_figure
from openslob.record.model import Figure, Verdict
from openslob.record.storage import StorageLoad, StorageStep


def steps_of(measured: PointResult, jobs: Sequence[Job], first: int) -> Iterator[StorageStep]:
    """Yield a step for each load of a point, numbered from ``first``; ``jobs`` are the jobs that fio ran."""
    for at, (kind, result) in enumerate((name, part) for name, part in _parts(measured)):
        yield StorageStep(
            number=first + at,
            name=kind,
            purpose=f"{kind} requests at {measured.point}",
            load=_load([job for job in jobs if (job.name == SMALL) is (kind == SMALL)]),
            figures=_figures(measured, result),
            latency=result.latency.summary(),
        )


def _parts(measured: PointResult) -> list[tuple[str, JobResult]]:
    named = ((SMALL, measured.small), (LARGE, measured.large))
    return [(name, part) for name, part in named if part]


def _load(jobs: Sequence[Job]) -> StorageLoad:
    combined = {"in_flight": sum(job.in_flight for job in jobs), "processes": len(jobs)}
    return load_of(jobs[0]).model_copy(update=combined)


def _figures(measured: PointResult, result: JobResult) -> Mapping[str, Figure]:
    """Return the figures of one load. ``small`` and ``large`` locate the point in the matrix.

    The devices' bytes are those of the whole point.
    """
    device = measured.device
    figures: Mapping[str, float | None] = {
        "small": measured.point.small,
        "large": measured.point.large,
        "iops": result.iops,
        "mb_per_s": result.bytes_per_s / MIB,
        "read_ios": result.read.ios if result.read else 0,
        "write_ios": result.write.ios if result.write else 0,
        **{name: latency_figure(result.latency, name) for name in FIGURES},
        "cpu_us_per_io": result.cpu_us_per_io,
    }
    return {
        **{name: storage_figure(name, value) for name, value in figures.items()},
        "dev_read_bytes": storage_figure("dev_read_bytes", device.read, device.why or None),
        "dev_write_bytes": storage_figure("dev_write_bytes", device.written, device.why or None),
    }


def summary_of(outcome: OrionResult) -> Mapping[str, Figure]:
    """Return Orion's three answers (highest small IOPS, highest large MB/s, lowest small latency) and a p99."""
    smalls = [(each.small.iops, each.small) for each in outcome.smalls if each.small]
    larges = [each.large.bytes_per_s / MIB for each in outcome.larges if each.large]
    means = [mean for _, small in smalls if (mean := small.latency.mean_us()) is not None]
    best = max(smalls, key=lambda pair: pair[0], default=None)
    no_small = None if smalls else "no small requests were measured"
    no_large = None if larges else "no large requests were measured"
    p99 = latency_figure(best[1].latency, "p99_us") if best else None
    figures = {
        "max_iops": (best[0] if best else None, no_small),
        "max_iops_p99_us": (p99, no_small),
        "max_mb_per_s": (max(larges, default=None), no_large),
        "min_latency_us": (min(means, default=None), no_small),
    }
    return {name: storage_figure(name, value, why) for name, (value, why) in figures.items()}


# Requests in flight at either end of a point are counted by fio or by the device only. The counters are read just
# outside of fio's measured time, which can only add. A larger loss means that something else answered.
_MOST_SHARE_LOST = 0.05
# Requests to a tenth of the volume are Poisson distributed: five standard deviations below the mean are not chance.
_SIGMAS = 5


def verdicts(outcome: OrionResult, direct: bool) -> tuple[Verdict, ...]:
    """Return all verdicts on a test."""
    return (*(_covered(check) for check in outcome.coverage_checks), _reached(outcome.points, direct))


def _covered(check: CoverageCheck) -> Verdict:
    """Return whether random requests went to the whole volume, instead of to a small set of blocks."""
    found = check.coverage
    allowed = 1 - _SIGMAS / (found.requests / ZONES) ** 0.5
    why = (
        f"{count(found.requests)} {check.kind} requests at {check.point} went to {count(found.distinct)} different "
        f"blocks of {count(found.blocks)} ({100 * found.share:.1f} %); {count(found.expected)} were expected. The "
        f"least visited tenth of the volume received {100 * check.least_visited:.0f} % of an even share."
    )
    return holds_or_fails(
        f"{check.kind}_coverage", found.holds and check.least_visited >= allowed, why,
        requests=found.requests, distinct=found.distinct, blocks=found.blocks, expected=found.expected,
        thinnest_tenth=check.least_visited,
    )  # fmt: skip


def _reached(points: Sequence[PointResult], direct: bool) -> Verdict:
    """Return whether the devices completed as many bytes as fio moved, so that no page cache answered."""
    name = "reached_device"
    missing = [each.device.why for each in points if each.device.read is None]
    if missing or not points:
        return unknown(name, f"Can't be determined: {missing[0] if missing else 'no point was measured'}.")
    shares = [(share, each) for each in points if (share := _device_share(each)) is not None]
    worst, where = min(shares, key=lambda pair: pair[0])
    why = f"The devices moved at least {100 * worst:.1f} % of the bytes that fio moved, at each of {len(points)} points"
    how = "" if direct else "; the page cache was in use because of --buffered"
    return holds_or_fails(name, worst >= 1 - _MOST_SHARE_LOST, f"{why}{how}.", least_share=worst, at=str(where.point))


def _device_share(measured: PointResult) -> float | None:
    """Return the smaller of two ratios: the devices' bytes to fio's, for reads and for writes."""
    device = measured.device
    pairs = ((device.read, measured.read_bytes), (device.written, measured.written_bytes))
    return min((moved / asked for moved, asked in pairs if asked and moved is not None), default=None)
