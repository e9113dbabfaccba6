"""The summary of a test as text, in the order in which Orion's users expect it, and what Orion does not tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from openslob._version import __version__
from openslob.record.model import Verdict
from openslob.storage.orion.files import FIGURES, latency_figure
from openslob.storage.orion.luns import Volume
from openslob.storage.orion.matrix import LoadMatrix, LoadPoint
from openslob.storage.orion.measured import OrionResult, PointResult
from openslob.storage.orion.options import ORION_DURATION_S, LargeType, Options
from openslob.storage.results import JobResult
from openslob.units import KIB, MIB, format_bytes, format_duration

_HEAD = ("Small", "Large", "kind", "I/O per s", "MB/s", "mean us", "p50", "p90", "p99", "p99.9", "max")


def plan_text(options: Options, volume: Volume, grid: LoadMatrix) -> str:
    """What will be measured, known before anything is."""
    streams = f", {options.num_streamio} in flight each" if options.large_type is LargeType.SEQ else ""
    kind = "Random" if options.large_type is LargeType.RAND else "Sequential"
    lines = [
        f"Test: {options.testname}",
        f"Small IO size: {options.size_small // KIB} KB",
        f"Large IO size: {options.size_large // KIB} KB",
        f"IO Types: Small Random IOs, Large {kind} IOs{streams}",
        f"Simulated Array Type: {options.simulate.upper()}",
        f"Stripe: {options.stripe // MIB} MB" if options.simulate == "raid0" else "",
        f"Disks: {options.num_disks or len(volume.files)}",
        f"Write: {options.write_pct}%",
        f"Cache Size: {format_bytes(options.cache_size)}" if options.cache_size else "Cache Size: Not Entered",
        f"Duration for each Data Point: {options.duration_s:g} seconds{_shorter(options)}",
        f"Small Columns: {', '.join(map(str, grid.smalls))}",
        f"Large Rows: {', '.join(map(str, grid.larges))}",
        f"Total Data Points: {len(grid.points)}",
        *(f"Name: {file.label}  Size: {file.size}" for file in volume.files),
        f"Used of each: {volume.size}",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def summary_text(plan: str, outcome: OrionResult, verdicts: Sequence[Verdict], notes: Sequence[str], ended: str) -> str:
    """The whole summary; ``ended`` says why points are missing, if any are."""
    blocks = [
        f"openslob {__version__}, Orion's workloads on fio\n\nThis maps to this test:\n{plan}",
        *([f"{ended}: {len(outcome.points)} of {len(outcome.grid.points)} points were measured.\n"] if ended else []),
        "".join(line + "\n" for line in _answers(outcome)),
        _table(outcome.points),
        "".join(f"{verdict.name}: {verdict.verdict}. {verdict.why}\n" for verdict in verdicts),
        "".join(f"Note: {note}.\n" for note in notes),
    ]
    return "\n".join(block for block in blocks if block)


def announcement(options: Options, grid: LoadMatrix) -> str:
    """What will be measured, in one line."""
    points, seconds = len(grid.points), options.duration_s * len(grid.points)
    smalls, larges = (", ".join(map(str, loads)) for loads in (grid.smalls, grid.larges))
    return f"{points} points, at least {format_duration(seconds)} in all; Small: {smalls}; Large: {larges}"


def _shorter(options: Options) -> str:
    return "" if options.duration_s >= ORION_DURATION_S else f" (Orion's own default: {ORION_DURATION_S:g})"


def _answers(outcome: OrionResult) -> Iterator[str]:
    larges = [(each.large.bytes_per_s / MIB, each.point) for each in outcome.larges if each.large]
    smalls = [(each.point, each.small) for each in outcome.smalls if each.small]
    if larges:
        most, at = max(larges)
        yield f"Maximum Large MBPS={most:.2f} @ {at}"
    if smalls:
        at, small = max(smalls, key=lambda pair: pair[1].iops)
        yield f"Maximum Small IOPS={small.iops:.0f} @ {at}"
        yield _latency(small, at)
        at, small = min(smalls, key=lambda pair: pair[1].latency.mean_us() or 0.0)
        yield f"Minimum Small Latency={small.latency.mean_us():.2f} usecs @ {at}"
        yield _latency(small, at)


def _latency(small: JobResult, at: LoadPoint) -> str:
    figures = ", ".join(f"{name.removesuffix('_us')}={_shown(small, name)} us" for name in FIGURES)
    return f"Small Latency: {figures} @ {at}"


def _table(points: Sequence[PointResult]) -> str:
    rows = [_HEAD, *(_cells(each, part) for each in points for part in each.parts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(lines) + "\n"


def _cells(measured: PointResult, part: JobResult) -> tuple[str, ...]:
    kind = "small" if part is measured.small else "large"
    rates = f"{part.iops:.1f}", f"{part.bytes_per_s / MIB:.2f}"
    return (str(measured.point.small), str(measured.point.large), kind, *rates, *(_shown(part, n) for n in FIGURES))


def _shown(part: JobResult, figure: str) -> str:
    value = latency_figure(part.latency, figure)
    return "" if value is None else f"{value:.1f}"
