"""The files that Orion's users know, as texts: CSV matrices, histograms, the trace.

A matrix has the small loads as columns and the large ones as rows, under the heading ``Large/Small``; what was not
measured is empty, and empty cells at the end of a row are left out. MB are 1,048,576 bytes, latencies µs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from openslob.histogram import LINEAR_US, PERCENTILES, Histogram, bucket_of, lower_edge_us
from openslob.storage.orion.matrix import LoadMatrix
from openslob.storage.orion.measured import OrionResult, PointResult
from openslob.storage.results import JobResult, Transfers
from openslob.units import MIB

CORNER = "Large/Small"
_CELL = 7
# Up to the first of these a bucket is a microsecond; above, so many are taken together: 5.7 % wide.
_FIRST_WIDE = bucket_of(LINEAR_US)
_TOGETHER = 4

# The figures of a latency, as a histogram's summary names them.
FIGURES = ("mean_us", *PERCENTILES, "max_us")

Value = Callable[[PointResult], float | None]


def files_of(outcome: OrionResult) -> Mapping[str, str]:
    """Text by the end of the file's name. The summary is not among them."""
    return {
        "iops.csv": matrix(outcome, small_iops, ".0f", of_small=True),
        "mbps.csv": matrix(outcome, large_mb_per_s, ".2f", of_small=False),
        **{
            f"{name}.csv": matrix(outcome, small_latency(figure), ".2f", of_small=True)
            for name, figure in LATENCIES.items()
        },
        "hist.txt": histograms(outcome),
        "trace.txt": trace(outcome),
    }


# Orion's own file has means; the others are ours.
LATENCIES = {"lat": "mean_us", "lat_p50": "p50_us", "lat_p99": "p99_us", "lat_p999": "p999_us", "lat_max": "max_us"}


def small_iops(measured: PointResult) -> float | None:
    """Small requests per second."""
    return measured.small.iops if measured.small else None


def large_mb_per_s(measured: PointResult) -> float | None:
    """MB/s of large requests."""
    return measured.large.bytes_per_s / MIB if measured.large else None


def small_latency(figure: str) -> Value:
    """A function that gives one figure of the small requests' latency."""

    def value(measured: PointResult) -> float | None:
        return latency_figure(measured.small.latency, figure) if measured.small else None

    return value


def latency_figure(histogram: Histogram, figure: str) -> float | None:
    """``mean_us``, ``p99_us``, ``max_us`` … of a histogram."""
    found = histogram.summary()[figure]
    return float(found) if isinstance(found, int | float) else None


def matrix(outcome: OrionResult, value: Value, form: str, *, of_small: bool) -> str:
    """One figure of every point. ``of_small``: a figure of small requests, so there is no column for none of them."""
    smalls, larges = _heads(outcome.grid, of_small)
    known = {each.point: value(each) for each in outcome.points}
    by_cell = {(point.large, point.small): known[point] for point in known}
    rows = [_row(CORNER, [str(small) for small in smalls])]
    for large in larges:
        cells = [by_cell.get((large, small)) for small in smalls]
        rows.append(_row(f"{large:>{len(CORNER)}}", ["" if cell is None else format(cell, form) for cell in cells]))
    return "\n".join(rows) + "\n"


def _heads(grid: LoadMatrix, of_small: bool) -> tuple[Sequence[int], Sequence[int]]:
    if of_small:
        return [small for small in grid.smalls if small], grid.larges
    return grid.smalls, [large for large in grid.larges if large]


def _row(head: str, cells: Sequence[str]) -> str:
    filled = list(cells)
    while filled and not filled[-1]:
        filled.pop()
    return ",".join([head, *(f"{cell:>{_CELL}}" for cell in filled)])


def histograms(outcome: OrionResult) -> str:
    """The distribution of latencies at every point, reads and writes apart; empty buckets are left out."""
    parts = [
        f"{title} @ {measured.point}\n{histogram(transfers)}"
        for measured in outcome.points
        for title, transfers in _kinds(measured)
    ]
    return "\n".join(parts) or "No point was measured.\n"


def _kinds(measured: PointResult) -> Iterator[tuple[str, Transfers]]:
    for size, result in (("Small", measured.small), ("Large", measured.large)):
        for direction, transfers in (("Read", result and result.read), ("Write", result and result.write)):
            if transfers:
                yield f"{size} {direction} Latency Histogram", transfers


def histogram(transfers: Transfers) -> str:
    """A line for each bucket: from, to below (µs), requests, and the share that took no longer."""
    lines, seen = [], 0
    for low, high, count in buckets(transfers.latency):
        seen += count
        lines.append(f"{low:>9} - {high:<9} us: {count:>12} ({100 * seen / transfers.latency.count:6.2f}%)")
    return "\n".join(lines) + "\n"


def buckets(latencies: Histogram) -> list[tuple[int, int, int]]:
    """From, to below (µs) and count of the buckets that are not empty."""
    counts: dict[int, int] = {}
    for bucket, count in latencies.counts.items():
        counts[_first(bucket)] = counts.get(_first(bucket), 0) + count
    return [(lower_edge_us(first), lower_edge_us(_next(first)), counts[first]) for first in sorted(counts)]


def _first(bucket: int) -> int:
    return bucket if bucket < _FIRST_WIDE else bucket - (bucket - _FIRST_WIDE) % _TOGETHER


def _next(first: int) -> int:
    following = first + (1 if first < _FIRST_WIDE else _TOGETHER)
    # Buckets below a microsecond share an edge: the next one is where the edge moves on.
    while lower_edge_us(following) == lower_edge_us(first):
        following += 1
    return following


def trace(outcome: OrionResult) -> str:
    """Every point as it was measured, one line for each load: counts, rates, latencies, CPU, devices."""
    lines = [
        f"{measured.started_at} {measured.point} {result.name}: {_traced(result)}"
        for measured in outcome.points
        for result in measured.parts
    ]
    return "\n".join(lines) + "\n"


def _traced(result: JobResult) -> str:
    summary = result.latency.summary()
    times = " ".join(f"{name}={summary[name]:.1f}" for name in FIGURES)
    rates = (
        f"ios={result.ios} seconds={result.seconds:.3f} iops={result.iops:.1f} mb_per_s={result.bytes_per_s / MIB:.2f}"
    )
    return f"{rates} {times} cpu_us_per_io={result.cpu_us_per_io:.2f}"
