"""The record of a raw measurement, `storage.json`: what storage did without a database, step by step.

The record has a folder of its own, ``results/<time>-<name>/``, and is replaced as a whole after every step, so that
completed steps survive any crash. Until its last replacement it says that the measurement failed.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from openslob.record.model import DocumentWithFigures, Figure, RecordModel, Status, Verdict, value_of
from openslob.record.parts import Asked, Environment, Facts, Latency
from openslob.record.store import UNFINISHED, DocumentFolder
from openslob.record.versions import Format

if TYPE_CHECKING:
    from openslob.core.measurement import StorageAlone

STORAGE_VERSION = 1
STORAGE_FILE = "storage.json"
# The tool of the measurement that a run or a sweep makes for itself.
CEILING = "ceiling"
# The table of what a server said by a calibration of its own.
OWN_WORD = "own_word"
# The kernel interface of writes that are each followed by a sync.
SYNCED = "pwrite and fdatasync"


class StorageLoad(RecordModel):
    """The requests of a step: ``in_flight`` requests of ``block_bytes`` at a time, made by ``processes`` processes.

    ``engine`` is the kernel interface (``io_uring``, ``libaio``, …, or `SYNCED`, of which IOPS and latency are those of
    the syncs), ``pattern`` is ``random`` or ``sequential``, ``seconds`` the requested duration, or None where all data
    are read once. ``verified`` says that the checksum of every block read was checked.
    """

    block_bytes: int
    in_flight: int
    processes: int = 1
    read_pct: int = 100
    pattern: str = "random"
    engine: str
    seconds: float | None = None
    verified: bool = False


class StorageStep(RecordModel):
    """One measured step, numbered from 1; ``purpose`` says what it is for.

    ``latency`` has the same form as in a run's record (count, mean, percentiles and maximum in µs, buckets), or is None
    when single requests were not timed. ``load`` is None for a step that is not a load of requests.
    """

    number: int
    name: str
    purpose: str
    load: StorageLoad | None = None
    figures: Mapping[str, Figure] = Field(default_factory=dict)
    latency: Latency | None = None

    def value(self, name: str) -> float | None:
        """Return a figure of the step; None when it is not known."""
        return value_of(self.figures, name)


class StorageRecord(DocumentWithFigures):
    """Everything about one raw measurement.

    ``tool`` is the command (``calibrate``, ``orion``, ``dd``, ``compare``) or ``ceiling``, which a run or a sweep
    measured for itself; ``asked`` is its parameters, ``environment`` the facts of `openslob.host.environment`.
    ``place`` describes what was measured: ``label``, ``size_bytes``, ``file_system``, ``fio`` (its version), ``ours``
    (whether the file was made for this measurement), and further facts
    of the tool. ``tables`` are further results by name, each a list of rows of plain values by column name.
    """

    storage_version: int = STORAGE_VERSION
    kind: str = "raw"
    tool: str
    id: str
    name: str
    status: Status
    started_at: str
    openslob_version: str
    asked: Asked
    environment: Environment
    place: Facts = Field(default_factory=dict)
    steps: tuple[StorageStep, ...] = ()
    summary: Mapping[str, Figure] = Field(default_factory=dict)
    tables: Mapping[str, tuple[Mapping[str, Any], ...]] = Field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class StorageFolder(DocumentFolder[StorageRecord]):
    """The folder of a raw measurement while it is in progress."""

    form = Format(StorageRecord, "the record of a raw measurement", "storage_version", STORAGE_VERSION)
    file_name = STORAGE_FILE
    unfinished: ClassVar = {"status": Status.FAILED, "errors": (UNFINISHED,)}

    def add(self, step: StorageStep) -> None:
        """Save the record with one more step."""
        self.update(steps=(*self.record.steps, step))

    def finish(self, status: Status, errors: tuple[str, ...] = (), **changes: object) -> StorageRecord:
        """Save the final status, in place of the failed one, and return the record."""
        self.update(status=status, errors=errors, **changes)
        return self.record


load, find = StorageFolder.load, StorageFolder.find


def storage_alone(record: StorageRecord) -> StorageAlone:
    """Return what runs on the same storage are compared with: its plain random reads, medians over all steps."""
    # A list of records needs neither.
    from openslob.analyze.curves.ceiling import host_and_device  # noqa: PLC0415
    from openslob.core.measurement import CeilingPoint, StorageAlone  # noqa: PLC0415

    steps: dict[int, dict[int, list[StorageStep]]] = defaultdict(lambda: defaultdict(list))
    for step in record.steps:
        load = step.load
        if load and (load.read_pct, load.pattern, load.verified) == (100, "random", False) and step.value("iops"):
            steps[load.block_bytes][load.in_flight].append(step)
    points = {
        size: tuple(
            CeilingPoint(number, median_of(group, "iops") or 0.0, median_of(group, "mean_us"))
            for number, group in sorted(by_number.items())
        )
        for size, by_number in steps.items()
    }
    buffered = record.place.get("direct") is False
    return StorageAlone(record.id, points, buffered, *host_and_device(record.environment))


def values_of(steps: Iterable[StorageStep], figure: str) -> list[float]:
    """Return a figure of those steps that have it."""
    return [value for step in steps if (value := step.value(figure)) is not None]


def median_of(steps: Iterable[StorageStep], figure: str) -> float | None:
    """Return the median of a figure over steps; None if no one has it."""
    values = values_of(steps, figure)
    return median(values) if values else None
