"""The energy that the processors of this host used: all their packages together, as RAPL counts it.

Linux shows a counter for each package in ``/sys/class/powercap/intel-rapl:<n>``, of processors of AMD as well, in µJ.
It wraps around at ``max_energy_range_uj``, after some minutes of full load. What is below a package (cores, memory) and
beside it (``psys``, ``intel-rapl-mmio``) is part of it, or counted twice, and left out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.host.model import FigureUnknownError, KeptFile, Sample, text_of

ENERGY = "energy"  # name of the source in readings
ENERGY_NAMES = ("package_energy_j",)
NO_RAPL = "this host shows no energy counters of its processors (RAPL), like most virtual machines"
# No package takes more. A counter that is read more rarely than it can wrap around has no meaning.
MOST_WATTS = 2000.0
_POWERCAP = Path("/sys/class/powercap")


@dataclass
class _Package:
    """One package: its file, the size of its counter, and what was read last."""

    name: str
    file: KeptFile
    range_uj: int
    last_uj: int


class EnergyReader:
    """Adds up the energy of all packages since the first reading, wrap-arounds included.

    If it is not read for so long that a counter may have wrapped around unseen, later samples have another epoch.
    """

    def __init__(self, powercap: Path = _POWERCAP) -> None:
        self._why = ""
        self._packages: Sequence[_Package] = ()
        self._used_uj = 0
        self._gaps = 0
        self._read_ns = 0
        try:
            self._packages = _packages(powercap)
        except FigureUnknownError as error:
            self._why = str(error)

    def read(self, now_ns: int | None = None) -> Sample:
        """Return the joules since the first reading; ``now_ns`` is the time by the monotonic clock."""
        if self._why:
            return Sample.missing(ENERGY_NAMES, self._why)
        now_ns = time.monotonic_ns() if now_ns is None else now_ns
        try:
            grown = [self._grown_uj(package) for package in self._packages]
        except (OSError, ValueError) as error:
            self.close()
            self._why = f"the energy counters can no longer be read: {getattr(error, 'strerror', error)}"
            return Sample.missing(ENERGY_NAMES, self._why)
        if self._read_ns and now_ns - self._read_ns > 1e3 * min(each.range_uj for each in self._packages) / MOST_WATTS:
            self._gaps += 1
        self._used_uj += sum(grown)
        self._read_ns = now_ns
        since = f", since they were not read for too long ({self._gaps} times)" if self._gaps else ""
        return Sample({ENERGY_NAMES[0]: self._used_uj / 1e6}, f"energy counters{since}")

    def _grown_uj(self, package: _Package) -> int:
        now_uj = int(package.file.read())
        # The counter goes up to its range and then on from 0.
        grown = (now_uj - package.last_uj) % (package.range_uj + 1)
        package.last_uj = now_uj
        return grown

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        for package in self._packages:
            package.file.close()


def _packages(powercap: Path) -> list[_Package]:
    """Return the packages. FigureUnknownError, with what to do, if there are none or one can't be read."""
    found = [
        (name, zone)
        for zone in sorted(powercap.glob("intel-rapl:*"))
        if (name := text_of(zone / "name") or "").startswith("package")
    ]
    if not found:
        raise FigureUnknownError(NO_RAPL)
    packages: list[_Package] = []
    try:
        for name, zone in found:
            file = KeptFile(zone / "energy_uj")
            packages.append(_Package(name, file, 0, 0))
            packages[-1].last_uj = int(file.read())
            packages[-1].range_uj = int(text_of(zone / "max_energy_range_uj") or "")
    except PermissionError:
        why = f"this user may not read {zone}/energy_uj, which since Linux 5.10 only root may"
    except (OSError, ValueError):
        why = f"{zone} has no energy counter that can be read"
    else:
        return packages
    for package in packages:
        package.file.close()
    raise FigureUnknownError(why)
