"""Orion's result files as texts: CSV matrices, latency histograms, trace and summary.

A matrix has the small loads as columns and the large loads as rows, with ``Large/Small`` in its corner. Points that
were not measured are empty cells, and empty cells at the end of a row are left out. A MB is 1,048,576 bytes; latencies
are in µs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from openslob._version import __version__
from openslob.core.histogram import LINEAR_US, Histogram, bucket_of, lower_edge_us
from openslob.core.units import KIB, MIB, format_bytes, format_duration
from openslob.kinds.storage.fio import JobResult, Transfers
from openslob.kinds.storage.orion.jobs import Volume
from openslob.kinds.storage.orion.options import ORION_DURATION_S, LargeType, LoadMatrix, LoadPoint, Options
from openslob.kinds.storage.orion.points import FIGURES, OrionResult, PointResult, latency_figure
from openslob.record.model import Verdict

CORNER = "Large/Small"
_CELL = 7
# Buckets below the first are 1 µs wide. Above, each line of a histogram covers four buckets, which is 5.7 %.
_FIRST_WIDE = bucket_of(LINEAR_US)
_BUCKETS_A_LINE = 4

Value = Callable[[PointResult], float | None]


def files_of(outcome: OrionResult) -> Mapping[str, str]:
    """Return the text of each file but the summary, by the suffix of its name."""
    return {
        "iops.csv": matrix_csv(outcome, small_iops, ".0f", of_small=True),
        "mbps.csv": matrix_csv(outcome, large_mb_per_s, ".2f", of_small=False),
        **{
            f"{name}.csv": matrix_csv(outcome, small_latency(figure), ".2f", of_small=True)
            for name, figure in LATENCIES.items()
        },
        "hist.txt": histograms(outcome),
        "trace.txt": trace(outcome),
    }


# Orion writes the means only; the other files are additions.
LATENCIES = {"lat": "mean_us", "lat_p50": "p50_us", "lat_p99": "p99_us", "lat_p999": "p999_us", "lat_max": "max_us"}


def small_iops(measured: PointResult) -> float | None:
    """Return the small requests per second of a point; None if it has none."""
    return measured.small.iops if measured.small else None


def large_mb_per_s(measured: PointResult) -> float | None:
    """Return the MB/s of the large requests of a point; None if it has none."""
    return measured.large.bytes_per_s / MIB if measured.large else None


def small_latency(figure: str) -> Value:
    """Return a function from a point to this figure of its small requests' latency, in µs."""

    def value(measured: PointResult) -> float | None:
        return latency_figure(measured.small.latency, figure) if measured.small else None

    return value


def matrix_csv(outcome: OrionResult, value: Value, form: str, *, of_small: bool) -> str:
    """Return the matrix of one figure as CSV.

    With ``of_small`` the figure is one of small requests and has no column for load 0; otherwise it has no row for it.
    """
    smalls, larges = _heads(outcome.matrix, of_small)
    known = {each.point: value(each) for each in outcome.points}
    by_cell = {(point.large, point.small): known[point] for point in known}
    rows = [_row(CORNER, [str(small) for small in smalls])]
    for large in larges:
        cells = [by_cell.get((large, small)) for small in smalls]
        rows.append(_row(f"{large:>{len(CORNER)}}", ["" if cell is None else format(cell, form) for cell in cells]))
    return "\n".join(rows) + "\n"


def _heads(matrix: LoadMatrix, of_small: bool) -> tuple[Sequence[int], Sequence[int]]:
    if of_small:
        return [small for small in matrix.smalls if small], matrix.larges
    return matrix.smalls, [large for large in matrix.larges if large]


def _row(head: str, cells: Sequence[str]) -> str:
    filled = list(cells)
    while filled and not filled[-1]:
        filled.pop()
    return ",".join([head, *(f"{cell:>{_CELL}}" for cell in filled)])


def histograms(outcome: OrionResult) -> str:
    """Return the latency histograms of every point, of reads and writes separately; empty buckets are left out."""
    parts = [
        f"{title} @ {measured.point}\n{histogram(transfers)}"
        for measured in outcome.points
        for title, transfers in _kinds(measured)
    ]
    return "\n".join(parts) or "No point was measured.\n"


def _kinds(measured: PointResult) -> Iterator[tuple[str, Transfers]]:
    for kind, result in measured.parts.items():
        for direction, transfers in (("Read", result.read), ("Write", result.write)):
            if transfers:
                yield f"{kind.capitalize()} {direction} Latency Histogram", transfers


def histogram(transfers: Transfers) -> str:
    """Return a line per bucket: lower and upper bound (µs), requests, and cumulative share."""
    lines, cumulative = [], 0
    for low, high, count in buckets(transfers.latency):
        cumulative += count
        lines.append(f"{low:>9} - {high:<9} us: {count:>12} ({100 * cumulative / transfers.latency.count:6.2f}%)")
    return "\n".join(lines) + "\n"


def buckets(latencies: Histogram) -> list[tuple[int, int, int]]:
    """Return lower bound (included), upper bound (excluded), both in µs, and count of each non-empty bucket."""
    counts: dict[int, int] = {}
    for bucket, count in latencies.counts.items():
        counts[_first(bucket)] = counts.get(_first(bucket), 0) + count
    return [(lower_edge_us(first), lower_edge_us(_next(first)), counts[first]) for first in sorted(counts)]


def _first(bucket: int) -> int:
    return bucket if bucket < _FIRST_WIDE else bucket - (bucket - _FIRST_WIDE) % _BUCKETS_A_LINE


def _next(first: int) -> int:
    following = first + (1 if first < _FIRST_WIDE else _BUCKETS_A_LINE)
    # Several buckets below 1 µs share an edge: skip to the first one with a higher edge.
    while lower_edge_us(following) == lower_edge_us(first):
        following += 1
    return following


def trace(outcome: OrionResult) -> str:
    """Return one line for each load of each point: counts, rates, latencies and CPU."""
    lines = [
        f"{measured.started_at} {measured.point} {result.name}: {_trace_line(result)}"
        for measured in outcome.points
        for result in measured.parts.values()
    ]
    return "\n".join(lines) + "\n"


def _trace_line(result: JobResult) -> str:
    summary = result.latency.summary()
    times = " ".join(f"{name}={summary[name]:.1f}" for name in FIGURES)
    rates = (
        f"ios={result.ios} seconds={result.seconds:.3f} iops={result.iops:.1f} mb_per_s={result.bytes_per_s / MIB:.2f}"
    )
    return f"{rates} {times} cpu_us_per_io={result.cpu_us_per_io:.2f}"


_HEAD = ("Small", "Large", "kind", "I/O per s", "MB/s", "mean us", "p50", "p90", "p99", "p99.9", "max")


def plan_text(options: Options, volume: Volume, matrix: LoadMatrix) -> str:
    """Return the description of the test, known before anything is measured."""
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
        f"Small Columns: {', '.join(map(str, matrix.smalls))}",
        f"Large Rows: {', '.join(map(str, matrix.larges))}",
        f"Total Data Points: {len(matrix.points)}",
        *(f"Name: {file.label}  Size: {file.size}" for file in volume.files),
        f"Used of each: {volume.size}",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def summary_text(plan: str, outcome: OrionResult, verdicts: Sequence[Verdict], notes: Sequence[str], ended: str) -> str:
    """Return the summary; ``ended`` is the reason why points are missing, empty for a complete test."""
    blocks = [
        f"openslob {__version__}, Orion's workloads on fio\n\nThis maps to this test:\n{plan}",
        *([f"{ended}: {len(outcome.points)} of {len(outcome.matrix.points)} points were measured.\n"] if ended else []),
        "".join(line + "\n" for line in _answers(outcome)),
        _table(outcome.points),
        "".join(f"{verdict.name}: {verdict.verdict}. {verdict.why}\n" for verdict in verdicts),
        "".join(f"Note: {note}.\n" for note in notes),
    ]
    return "\n".join(block for block in blocks if block)


def announcement(options: Options, matrix: LoadMatrix) -> str:
    """Return one line about what will be measured."""
    points, seconds = len(matrix.points), options.duration_s * len(matrix.points)
    smalls, larges = (", ".join(map(str, loads)) for loads in (matrix.smalls, matrix.larges))
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
    figures = ", ".join(f"{name.removesuffix('_us')}={_format_figure(small, name)} us" for name in FIGURES)
    return f"Small Latency: {figures} @ {at}"


def _table(points: Sequence[PointResult]) -> str:
    rows = [_HEAD, *(_cells(each, kind, part) for each in points for kind, part in each.parts.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(lines) + "\n"


def _cells(measured: PointResult, kind: str, part: JobResult) -> tuple[str, ...]:
    loads, rates = (measured.point.small, measured.point.large), (f"{part.iops:.1f}", f"{part.bytes_per_s / MIB:.2f}")
    return (*map(str, loads), kind, *rates, *(_format_figure(part, name) for name in FIGURES))


def _format_figure(part: JobResult, figure: str) -> str:
    value = latency_figure(part.latency, figure)
    return "" if value is None else f"{value:.1f}"
