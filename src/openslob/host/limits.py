"""What holds a server back: limits of its control group, the pressure on it, and those of a cloud's volume."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob.core.process_selector import ProcessSelector, ProcessTree
from openslob.host.cgroup import CGROUP, GROUP_NAMES, ServerGroup
from openslob.host.device import whole_disk
from openslob.host.model import FigureUnknownError, Sample, text_of
from openslob.host.nvme import EXCEEDED_NAMES, INSTANCE, VOLUME, EbsVolume
from openslob.host.pressure import Pressure

_SEVERAL = "the data are on several devices"


class LimitsReader:
    """Reads all limits of the servers with these processes, whose data are on the devices with these folders in /sys.

    ``why_unknown`` is the reason if either is empty. Several servers are read as one if they share a control group.
    """

    def __init__(self, servers: Sequence[ProcessSelector], devices: Sequence[Path], why_unknown: str) -> None:
        self._why_no_group = self._why_no_volume = why_unknown
        self._group: ServerGroup | None = None
        self._volume: EbsVolume | None = None
        self._pressure = Pressure(None)
        disks = list(dict.fromkeys(whole_disk(folder) for folder in devices))
        number = text_of(disks[0] / "dev") if len(disks) == 1 else None
        try:
            pid = _process_of(servers) if servers else None
            self._group = ServerGroup(pid, number, _SEVERAL if disks else why_unknown) if pid is not None else None
        except (FigureUnknownError, OSError) as error:
            self._why_no_group = str(error)
        try:
            self._volume = EbsVolume(disks[0]) if len(disks) == 1 else None
        except FigureUnknownError as error:
            self._why_no_volume = str(error)
        if len(disks) > 1:
            self._why_no_volume = _SEVERAL

    def read(self) -> dict[str, Sample]:
        """Return the samples ``cgroup``, ``pressure``, ``volume`` and ``instance``."""
        missing = {source: Sample.missing(EXCEEDED_NAMES, self._why_no_volume) for source in (VOLUME, INSTANCE)}
        volume = self._volume.read() if self._volume else missing
        if self._group:
            return {**self._group.read(), **volume}
        return {CGROUP: Sample.missing(GROUP_NAMES, self._why_no_group), **self._pressure.read(), **volume}

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        for part in (self._group, self._volume, self._pressure):
            if part:
                part.close()


def _process_of(servers: Sequence[ProcessSelector], proc: Path = Path("/proc")) -> int | None:
    """Return a process of the servers' control group. Raises FigureUnknownError if they have different ones."""
    pids = [server.main_pid if isinstance(server, ProcessTree) else min(server.find(), default=0) for server in servers]
    if len({text_of(proc / f"{pid}/cgroup") for pid in pids}) > 1:
        raise FigureUnknownError("the servers are in different control groups")
    return pids[0] or None
