"""A raw measurement: what storage gives without a database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.kinds.contract import AS_IT_IS, DocumentKind, Row, Wanted, list_failed
from openslob.record.kinds import Labels
from openslob.report.format import micros, number

if TYPE_CHECKING:
    from openslob.kinds.storage.record import StorageFolder, StorageRecord
    from openslob.record.model import RunRecord
    from openslob.report.document import Document


# Of measurements that look for no highest rate, the figures that are their answer, and what each is.
_RATES = {"looked_mb_per_s": "MB/s, each byte examined", "max_mb_per_s": "MB/s", "random_iops": "IOPS"}


class StorageKind(DocumentKind["StorageRecord"]):
    """Raw measurements."""

    labels = Labels("raw measurement", "raw", "slob raw calibrate", so_far="; these are the steps so far", rank=2)
    files = ("storage.json",)
    says_nothing_before_the_end = True
    pages_show_several = True
    is_ceiling = True
    why_not_derived = "fio's own numbers are all that there is of a raw measurement"

    @property
    def folder(self) -> type[StorageFolder]:
        from openslob.kinds.storage.record import StorageFolder

        return StorageFolder

    def is_by_the_way(self, record: StorageRecord) -> bool:
        """Return whether a run or a sweep made it for itself: the ceiling that it measured first."""
        from openslob.kinds.storage.record import CEILING

        return record.tool == CEILING

    def row(self, record: StorageRecord) -> Row:
        return {
            "tool": record.tool,
            "pio_read_per_s": record.value("max_iops"),
            "p99_us": record.value("max_iops_p99_us"),
            "failed_verdicts": list_failed(record.verdicts),
        }

    def listed_as(self, record: StorageRecord) -> str:
        """Return the command that made it."""
        return f"raw {record.tool}"

    def server(self, record: StorageRecord) -> str:
        """Return the storage: it is of no server."""
        return str(record.place.get("label", ""))

    def answer(self, record: StorageRecord, _runs: Sequence[RunRecord] = ()) -> str:
        if (most := record.value("max_iops")) is not None:
            p99 = record.value("max_iops_p99_us")
            return f"{number(most)} IOPS" + ("" if p99 is None else f"  p99 {micros(p99)}")
        rates = ((record.value(name), words) for name, words in _RATES.items())
        return next((f"{number(rate)} {words}" for rate, words in rates if rate is not None), "")

    def document(self, record: StorageRecord, folder: Path | None = None, _wanted: Wanted = AS_IT_IS) -> Document:
        from openslob.kinds.storage.report import storage_document

        return storage_document(record, folder)

    def document_of_several(self, records: Sequence[StorageRecord]) -> Document:
        from openslob.kinds.storage.report import storage_set_document

        return storage_set_document(records)


KIND = StorageKind()
