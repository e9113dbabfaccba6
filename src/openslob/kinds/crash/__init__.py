"""A proof of durability: a server that crashes again and again, and what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.kinds.contract import AS_IT_IS, DocumentKind, Row, Wanted, list_failed
from openslob.record.kinds import Labels
from openslob.report.format import number

if TYPE_CHECKING:
    from openslob.kinds.crash.record import CrashFolder, CrashRecord
    from openslob.record.model import RunRecord
    from openslob.report.document import Document


class CrashKind(DocumentKind["CrashRecord"]):
    """Proofs of durability."""

    labels = Labels("proof of durability", "crash", "slob crash", so_far="; these are the crashes so far", rank=6)
    files = ("crash.json",)
    says_nothing_before_the_end = True
    why_not_derived = "the driver's ledgers are not kept"

    @property
    def folder(self) -> type[CrashFolder]:
        from openslob.kinds.crash.record import CrashFolder

        return CrashFolder

    def row(self, record: CrashRecord) -> Row:
        return {
            "sessions": record.asked.get("sessions"),
            "update_pct": 100,
            "ops_per_s": record.value("acked_per_s"),
            "cycles": len(record.cycles),
            "acked_commits": record.value("acked_commits"),
            "lost_commits": record.value("lost_commits"),
            "control": record.control.name if record.control else None,
            "fault": record.asked.get("fault"),
            "failed_verdicts": list_failed(record.verdicts),
        }

    def server(self, record: CrashRecord) -> str:
        return str(record.server.get("name", ""))

    def answer(self, record: CrashRecord, _runs: Sequence[RunRecord] = ()) -> str:
        lost, acked = (record.value(name) for name in ("lost_commits", "acked_commits"))
        if lost is None or not acked:
            return self.contents(record)
        return f"{number(lost)} of {number(acked)} commits lost"

    def contents(self, record: CrashRecord) -> str:
        unsafe = [record.asked.get("fault"), record.control.name if record.control else None]
        named = " and ".join(filter(None, unsafe))
        return f"{len(record.cycles)} of {record.asked.get('cycles')} crashes{f' with {named}' if named else ''}"

    def document(self, record: CrashRecord, folder: Path | None = None, _wanted: Wanted = AS_IT_IS) -> Document:
        from openslob.kinds.crash.report import crash_document

        return crash_document(record, folder)


KIND = CrashKind()
