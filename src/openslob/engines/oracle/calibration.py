"""The server's own calibration of its storage (CALIBRATE_IO): its word beside what slob measures, by consent alone."""

from __future__ import annotations

from collections.abc import Callable

from openslob.core.errors import SlobError
from openslob.engines.base import OwnCalibration
from openslob.engines.oracle.connection import Connection, execute_block, statement
from openslob.engines.oracle.errors import report_as
from openslob.engines.server_engine import ConnectionOwner

# The purpose of its connection, which is one as SYSDBA, and what the user consents to.
CALIBRATE = "calibrate_io"
_ANSWERS = ("max_iops", "max_mb_per_s", "latency_ms")
_WHAT_IT_DOES = (
    "CALIBRATE_IO loads the storage of the whole database for minutes, and its result replaces that of an earlier one, "
    "by which the server chooses how many processes share a query"
)


class OracleCalibrator(ConnectionOwner[Connection]):
    """Implements `openslob.engines.base.Calibrator` over a connection as SYSDBA; ``shown`` names the server."""

    def __init__(self, connection: Connection, shown: str) -> None:
        super().__init__(connection)
        self._shown = shown

    def calibrate(self, disks: int, most_ms: int) -> OwnCalibration:
        given = {"disks": disks, "most_ms": most_ms}
        with report_as("the server did not calibrate its storage"):
            found = execute_block(
                self._connection, statement("calibrate", "calibrate"), dict.fromkeys(_ANSWERS, int), given
            )
        return OwnCalibration(f"CALIBRATE_IO of {self._shown}", *(float(found[name] or 0) for name in _ANSWERS))


def open_calibrator(connect: Callable[[], Connection], shown: str, consented: frozenset[str]) -> OracleCalibrator:
    """Connect what calibrates. SlobError if it was not consented to, or this user is no SYSDBA."""
    if CALIBRATE not in consented:
        raise SlobError(f"{_WHAT_IT_DOES}; it was not consented to", f"--consent {CALIBRATE}")
    return OracleCalibrator(connect(), shown)
