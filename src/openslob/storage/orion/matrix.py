"""The points of a test: which loads are measured, in which order. Pure arithmetic.

A load is a number of requests in flight. The loads grow to a multiple of the number of disks, in about 20 even steps
and from 1 on: 8 disks give small loads 1, 2, 4, 6 … 40. Multiples and steps are derived from Orion's published
summaries (`docs/orion.md`); Orion counts the point without any load in its total, which here is not measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from openslob.storage.orion.options import MatrixKind, Options, OrionRun

# Highest loads per disk: (small, large).
_TOPS = {OrionRun.OLTP: (20, 0), OrionRun.DSS: (0, 15)}
_USUAL_TOPS = (5, 2)
_STEPS = 20


@dataclass(frozen=True, order=True)
class LoadPoint:
    """``small`` small requests in flight together with ``large`` large ones (sequential: that many streams)."""

    large: int
    small: int

    def __str__(self) -> str:
        return f"Small={self.small} and Large={self.large}"


@dataclass(frozen=True)
class LoadMatrix:
    """All loads of the matrix, 0 among them where it is one, and the points that are measured, in their order."""

    smalls: tuple[int, ...]
    larges: tuple[int, ...]
    points: tuple[LoadPoint, ...]


def levels(top: int) -> tuple[int, ...]:
    """Loads from 1 to ``top``: 1, then even steps, ``top`` the last. Empty for 0."""
    step = max(-(-top // _STEPS), 1)
    return tuple(sorted({1, *range(step, top + 1, step), top})) if top else ()


def grid(options: Options, disks: int) -> LoadMatrix:
    """The matrix for ``disks`` disks. Small loads grow fastest; `basic` has the row of small ones, then the column."""
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
