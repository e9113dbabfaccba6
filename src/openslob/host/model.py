"""What the samplers return: raw cumulative values with what they belong to, so that no difference spans a reset."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


class FigureUnknownError(Exception):
    """A figure can't be read on this host; the text is the reason that goes into the record."""


@dataclass(frozen=True)
class Sample:
    """What one source says at one moment: ``values`` by name, the unit at the name's end.

    ``epoch`` names what the counters belong to (a process and its start, a device): two samples with different
    epochs have no difference. ``unknown`` gives the reason for each name that is not in ``values``.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    epoch: str = ""
    unknown: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def missing(cls, names: tuple[str, ...], why: str) -> Sample:
        """A sample without values: ``why`` for each of ``names``."""
        return cls(unknown=dict.fromkeys(names, why))


@dataclass(frozen=True)
class OsReading:
    """All sources at one moment of this process's monotonic clock (ns)."""

    time_ns: int
    sources: Mapping[str, Sample]

    def rows(self) -> Iterator[tuple[int, str, str, float]]:
        """Rows of ``os.csv``: time in ns, source, name, value; what is not known has no row."""
        for source, sample in self.sources.items():
            for name, value in sample.values.items():
                yield self.time_ns, source, name, value


class KeptFile:
    """A file of /proc or /sys that is opened once and read again and again; OSError when it can't be opened."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> str:
        """The whole text as it is now."""
        # Such files are made anew by each read from the start; one read takes all of it, /proc/stat of 4,096 CPUs too.
        return os.pread(self._handle, 1 << 20, 0).decode(errors="replace")

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def text_of(path: Path) -> str | None:
    """The text of a small file, white space trimmed; None when it is not there, not readable or empty."""
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None
