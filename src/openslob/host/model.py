"""Samples: cumulative counters with the epoch that they belong to, so that no difference spans a reset."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """The values of one source at one moment, by name; the name ends with the unit.

    ``epoch`` identifies what the counters belong to, such as a process and its start, or a device. Samples with
    different epochs have no difference. ``unknown`` has the reason for each name that is not in ``values``.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    epoch: str = ""
    unknown: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def missing(cls, names: tuple[str, ...], why: str) -> Sample:
        """Return a sample without values, with ``why`` as the reason for each name."""
        return cls(unknown=dict.fromkeys(names, why))


@dataclass(frozen=True)
class OsReading:
    """The samples of all sources at one moment, ``time_ns`` of the monotonic clock."""

    time_ns: int
    sources: Mapping[str, Sample]

    def rows(self) -> Iterator[tuple[int, str, str, float]]:
        """Yield the rows of ``os.csv``: time in ns, source, name, value. Unknown values have no row."""
        for source, sample in self.sources.items():
            for name, value in sample.values.items():
                yield self.time_ns, source, name, value


class KeptOpen:
    """A file or device that stays open for repeated reading. Raises OSError if it can't be opened."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Close it; a second call does nothing."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


class KeptFile(KeptOpen):
    """A file of /proc or /sys."""

    def read(self) -> str:
        """Return the current text of the file."""
        # The kernel generates the text at each read from offset 0. 1 MiB suffices for /proc/stat of 4,096 CPUs.
        return os.pread(self.handle, 1 << 20, 0).decode(errors="replace")


def text_of(path: Path) -> str | None:
    """Return the text of a small file without surrounding white space; None if it is absent, unreadable or empty."""
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None
