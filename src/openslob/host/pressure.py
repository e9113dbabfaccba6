"""How long tasks had to wait for CPU, memory or I/O: the kernel's pressure stall information.

Each file has the time since boot for which at least one task waited (``some``), and for which no task could go on
(``full``). A control group of version 2 has files of its own, the host those in ``/proc/pressure``.
"""

from __future__ import annotations

from pathlib import Path

from openslob.host.model import KeptFile, Sample

PRESSURE = "pressure"
_KINDS = ("cpu", "io", "memory")
PRESSURE_NAMES = (*(f"{kind}_s" for kind in _KINDS), "io_full_s", "memory_full_s")


def parse_pressure(text: str, kind: str) -> dict[str, float]:
    """Return the seconds in a file of pressure: by ``KIND_s`` those of some task, by ``KIND_full_s`` those of all."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        total = next((word.removeprefix("total=") for word in words if word.startswith("total=")), None)
        name = {"some": f"{kind}_s", "full": f"{kind}_full_s"}.get(words[0] if words else "")
        if total is not None and name in PRESSURE_NAMES:
            found[str(name)] = int(total) / 1e6
    return found


class Pressure:
    """Reads the pressure on a control group, or on the whole host if ``folder`` is None or has no such files."""

    def __init__(self, folder: Path | None, proc: Path = Path("/proc")) -> None:
        self._files: dict[str, KeptFile] = {}
        self._why = "this kernel does not measure how long tasks wait (PSI)"
        self._of = "the host"
        own = {kind: folder / f"{kind}.pressure" for kind in _KINDS} if folder else {}
        for files, of in ((own, f"control group {folder}"), ({kind: proc / "pressure" / kind for kind in _KINDS}, "")):
            if files and not self._files:
                self._open(files)
                self._of = of or self._of if self._files else self._of

    def read(self) -> dict[str, Sample]:
        """Return the sample as source ``pressure``."""
        values: dict[str, float] = {}
        for kind, file in self._files.items():
            try:
                values |= parse_pressure(file.read(), kind)
            except OSError as error:  # EOPNOTSUPP: it is switched off
                self._why = f"this kernel does not tell how long tasks wait (PSI): {error.strerror}"
        unknown = {name: self._why for name in PRESSURE_NAMES if name not in values}
        return {PRESSURE: Sample(values, f"pressure on {self._of}", unknown)}

    def close(self) -> None:
        """Close all files; a second call does nothing."""
        for file in self._files.values():
            file.close()
        self._files = {}

    def _open(self, files: dict[str, Path]) -> None:
        for kind, path in files.items():
            try:
                file = KeptFile(path)
            except OSError:
                continue
            try:
                file.read()
            except OSError as error:
                self._why = f"this kernel does not tell how long tasks wait (PSI): {error.strerror}"
                file.close()
            else:
                self._files[kind] = file
