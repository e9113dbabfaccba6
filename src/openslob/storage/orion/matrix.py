"""The load matrix of a test: which points are measured, in which order. Pure arithmetic.

A load is a number of requests in flight. Loads start at 1 and grow in about 20 even steps to a multiple of the number
of disks: with 8 disks, the small loads are 1, 2, 4, 6 … 40. Multiples and steps are derived from Orion's published
summaries (`docs/orion.md`). Orion includes the point without any load in its total; that point is not measured here.
"""

from __future__ import annotations

from dataclasses import dataclass

from openslob.storage.orion.options import MatrixKind, Options, OrionRun

# Highest loads per disk, by workload: (small, large).
_TOPS = {OrionRun.OLTP: (20, 0), OrionRun.DSS: (0, 15)}
_USUAL_TOPS = (5, 2)
_STEPS = 20


@dataclass(frozen=True, order=True)
class LoadPoint:
    """A number of small requests in flight and a number of large ones (or of sequential streams), at the same time."""

    large: int
    small: int

    def __str__(self) -> str:
        return f"Small={self.small} and Large={self.large}"


@dataclass(frozen=True)
class LoadMatrix:
    """The loads of the columns (``smalls``) and rows (``larges``), and the points in the order of measurement.

    A load of 0 is listed where the matrix has such a row or column.
    """

    smalls: tuple[int, ...]
    larges: tuple[int, ...]
    points: tuple[LoadPoint, ...]


def levels(top: int) -> tuple[int, ...]:
    """Return the loads from 1 to ``top`` in even steps, both included; empty if ``top`` is 0."""
    step = max(-(-top // _STEPS), 1)
    return tuple(sorted({1, *range(step, top + 1, step), top})) if top else ()


def load_matrix(options: Options, disks: int) -> LoadMatrix:
    """Return the matrix for this number of disks, row by row.

    A basic matrix has only the points with one kind of load: first the small loads, then the large ones.
    """
    smalls, larges = _loads(options, disks)
    cells = [LoadPoint(large, small) for large in larges for small in smalls if small or large]
    if options.kind is MatrixKind.BASIC:
        cells = [cell for cell in cells if not cell.small or not cell.large]
    return LoadMatrix(smalls, larges, tuple(cells))


def _loads(options: Options, disks: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    small_top, large_top = (per_disk * disks for per_disk in _TOPS.get(options.run, _USUAL_TOPS))
    small, large = options.num_small or 0, options.num_large or 0
    varied_small, varied_large = (0, *levels(small_top)), (0, *levels(large_top))
    match options.kind:
        case MatrixKind.POINT:
            return (small,), (large,)
        case MatrixKind.COL:
            return (small,), varied_large
        case MatrixKind.ROW:
            return varied_small, (large,)
        case MatrixKind.MAX:
            return (0, *levels(small)), (0, *levels(large))
    return varied_small, varied_large
