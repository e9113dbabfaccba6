"""Orion's options, and the load matrix that they define.

Names, meanings and defaults of the options are those of Orion's help text and manuals, versions 11.1 to 19c. Only the
default duration of a data point differs.

A load is a number of requests in flight. Loads start at 1 and grow in about 20 even steps to a multiple of the number
of disks: with 8 disks, the small loads are 1, 2, 4, 6 … 40. Multiples and steps are derived from Orion's published
summaries (`docs/orion.md`). Orion includes the point without any load in its total; that point is not measured here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openslob.core.errors import UsageError
from openslob.core.units import KIB, MIB

# Long enough for some thousands of requests on any storage, short enough that a whole matrix does not take a night.
DURATION_S = 10.0
ORION_DURATION_S = 60.0


class OrionRun(StrEnum):
    """The five workloads."""

    SIMPLE = "simple"
    NORMAL = "normal"
    OLTP = "oltp"
    DSS = "dss"
    ADVANCED = "advanced"


class MatrixKind(StrEnum):
    """The points that are measured of the matrix of small loads (columns) by large loads (rows)."""

    BASIC = "basic"
    DETAILED = "detailed"
    POINT = "point"
    COL = "col"
    ROW = "row"
    MAX = "max"


class LargeType(StrEnum):
    """Access pattern of large requests: random or sequential streams."""

    RAND = "rand"
    SEQ = "seq"


class SimulatedArray(StrEnum):
    """How several LUNs form one volume: concatenated or striped."""

    CONCAT = "concat"
    RAID0 = "raid0"


# Options that each kind of matrix requires. The loads that no option fixes are varied.
_NEEDS = {
    MatrixKind.BASIC: (),
    MatrixKind.DETAILED: (),
    MatrixKind.POINT: ("num_small", "num_large"),
    MatrixKind.COL: ("num_small",),
    MatrixKind.ROW: ("num_large",),
    MatrixKind.MAX: ("num_small", "num_large"),
}
_MATRIX_OF = {
    OrionRun.SIMPLE: MatrixKind.BASIC,
    OrionRun.NORMAL: MatrixKind.DETAILED,
    OrionRun.OLTP: MatrixKind.ROW,
    OrionRun.DSS: MatrixKind.COL,
}


@dataclass(frozen=True)
class Options:
    """Options of one test.

    ``num_disks`` None stands for the number of LUNs. Sizes are in bytes, ``duration_s`` is in seconds per point.
    Raises UsageError if options contradict each other.
    """

    run: OrionRun
    testname: str = "orion"
    num_disks: int | None = None
    size_small: int = 8 * KIB
    size_large: int = 1024 * KIB
    large_type: LargeType = LargeType.RAND
    num_small: int | None = None
    num_large: int | None = None
    num_streamio: int = 4
    simulate: SimulatedArray = SimulatedArray.CONCAT
    stripe: int = MIB
    write_pct: int = 0
    cache_size: int = 0
    duration_s: float = DURATION_S
    matrix: MatrixKind | None = None

    def __post_init__(self) -> None:
        if self.run is not OrionRun.ADVANCED:
            self._reject_advanced_options()
        else:
            self._check_required_loads()
        if self.size_large < self.size_small:
            raise UsageError("--size-large is below --size-small", "swap the two values")

    @property
    def kind(self) -> MatrixKind:
        """The kind of matrix that the workload implies, or the requested one."""
        return _MATRIX_OF.get(self.run) or self.matrix or MatrixKind.BASIC

    def _reject_advanced_options(self) -> None:
        for name in ("matrix", "num_small", "num_large"):
            if getattr(self, name) is not None:
                raise UsageError(f"--{_flag(name)} needs --run advanced: --run {self.run} has a fixed matrix")

    def _check_required_loads(self) -> None:
        needed = _NEEDS[self.kind]
        for name in ("num_small", "num_large"):
            given = getattr(self, name) is not None
            if name in needed and not given:
                raise UsageError(f"--matrix {self.kind} needs --{_flag(name)}")
            if given and name not in needed:
                raise UsageError(f"--{_flag(name)} has no effect with --matrix {self.kind}", "leave it out")
        if self.kind in (MatrixKind.POINT, MatrixKind.MAX) and not self.num_small and not self.num_large:
            raise UsageError("--num-small 0 and --num-large 0 is no load at all", "give at least one above 0")


def _flag(name: str) -> str:
    return name.replace("_", "-")


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
