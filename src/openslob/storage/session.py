"""A raw measurement from its first check to its record: the place checked, the file there, host and device watched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openslob.errors import SlobError
from openslob.storage import preflight, testfile
from openslob.storage.fio import Fio
from openslob.storage.job import IoEngine
from openslob.storage.preflight import StorageLocation
from openslob.storage.recording import Notify, StepRunner, recorded
from openslob.storage.testfile import TestFile
from openslob.storage.watch import HostUsageMonitor
from openslob.units import MIB, format_bytes


@dataclass(frozen=True)
class StorageTarget:
    """What to measure: a directory, in which a file of ``size`` bytes is made for the time, or a file or device."""

    path: Path
    size: int
    engine: IoEngine
    direct: bool = True

    @property
    def directory(self) -> Path:
        """The directory itself, or the one of the file."""
        return self.path if self.path.is_dir() else self.path.absolute().parent


@dataclass(frozen=True)
class StorageRequest:
    """Which tool measures, what to call it, where the record goes, and the parameters that go into it."""

    tool: str
    name: str
    results: Path
    asked: Mapping[str, Any]


@contextmanager
def session(
    fio: Fio, request: StorageRequest, where: StorageTarget, notify: Notify
) -> Iterator[tuple[StepRunner, TestFile]]:
    """Everything a measurement needs; gone at the block's end, the file too.

    SlobError before anything is begun when the place does not allow it.
    """
    found, given = _checked(fio, where)
    with (
        recorded(request.results, request.tool, request.name, request.asked, where.directory) as folder,
        closing(HostUsageMonitor(where.path)) as watch,
    ):
        if given is None:
            notify(f"writing a test file of {format_bytes(where.size)} in {where.directory}")
        with nullcontext(given) if given else testfile.made(fio, where.path, where.size, direct=where.direct) as file:
            folder.update(place=_described(fio, where, found, file), notes=(*found.notes, *_holes(file)))
            yield StepRunner(fio, watch, folder, notify), file


def _checked(fio: Fio, where: StorageTarget) -> tuple[StorageLocation, TestFile | None]:
    if not where.path.exists():
        raise SlobError(f"{where.path} is not there", "give a directory, or a file or device that is only read")
    if where.path.is_dir():
        testfile.require_room(where.path, where.size)
        return preflight.check(fio, where.path, where.engine, direct=where.direct), None
    given = testfile.given(where.path, MIB)
    return preflight.check_file(fio, where.path, where.engine, direct=where.direct), given


def _described(fio: Fio, where: StorageTarget, found: StorageLocation, file: TestFile) -> dict[str, Any]:
    return {
        "label": file.label,
        "size_bytes": file.size,
        "ours": file.ours,
        "file_system": found.file_system,
        "direct": where.direct,
        "engine": where.engine.value,
        "fio": ".".join(map(str, fio.version)),
    }


def _holes(file: TestFile) -> list[str]:
    if not testfile.has_holes(file.path, file.size):
        return []
    return [f"fewer bytes are allocated to {file.label} than it is long: some reads may not reach the device"]
