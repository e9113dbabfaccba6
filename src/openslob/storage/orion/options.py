"""Orion's options: choices, defaults, and the combinations that are refused.

Names, meanings and defaults are those of Orion's help text and manuals, versions 11.1 to 19c. Only the default
duration of a data point differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openslob.errors import UsageError
from openslob.units import KIB, MIB

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
