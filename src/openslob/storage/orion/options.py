"""What can be asked for in Orion's words: the choices, the defaults, and what does not go together.

The meaning of the words is Orion's (its help text and the product's manuals, versions 11.1 to 19c); its defaults too,
but for the duration of a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openslob.errors import UsageError
from openslob.units import KIB, MIB

# Long enough for some thousands of requests on any storage, short enough that a whole matrix is not a night.
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
    """Which points of the matrix of small loads (columns) by large loads (rows) are measured."""

    BASIC = "basic"
    DETAILED = "detailed"
    POINT = "point"
    COL = "col"
    ROW = "row"
    MAX = "max"


class LargeType(StrEnum):
    """Where large requests go."""

    RAND = "rand"
    SEQ = "seq"


class SimulatedArray(StrEnum):
    """How several LUNs make one volume: one after another, or striped."""

    CONCAT = "concat"
    RAID0 = "raid0"


# Which of the two loads a kind of matrix needs to be told; the other varies, or both do.
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
    """One test. ``num_disks`` None is the number of LUNs. Sizes are bytes, ``duration_s`` seconds a point.

    UsageError when options contradict each other.
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
            self._only_advanced()
        else:
            self._told_loads()
        if self.size_large < self.size_small:
            raise UsageError("--size-large is below --size-small", "swap them")

    @property
    def kind(self) -> MatrixKind:
        """The kind of matrix: that of the workload, or the one asked for."""
        return _MATRIX_OF.get(self.run) or self.matrix or MatrixKind.BASIC

    def _only_advanced(self) -> None:
        for name in ("matrix", "num_small", "num_large"):
            if getattr(self, name) is not None:
                raise UsageError(f"--{_flag(name)} needs --run advanced: --run {self.run} has a matrix of its own")

    def _told_loads(self) -> None:
        needed = _NEEDS[self.kind]
        for name in ("num_small", "num_large"):
            told = getattr(self, name) is not None
            if name in needed and not told:
                raise UsageError(f"--matrix {self.kind} needs --{_flag(name)}")
            if told and name not in needed:
                raise UsageError(f"--{_flag(name)} has no effect with --matrix {self.kind}", "leave it out")
        if self.kind in (MatrixKind.POINT, MatrixKind.MAX) and not self.num_small and not self.num_large:
            raise UsageError("--num-small 0 and --num-large 0 is no load at all")


def _flag(name: str) -> str:
    return name.replace("_", "-")
