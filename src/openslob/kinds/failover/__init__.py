"""A test of failover: how long a server is away when its primary fails, and what of its commits is lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.core.places import server_of
from openslob.kinds.contract import AS_IT_IS, DocumentKind, Row, Wanted, list_failed
from openslob.record.kinds import Labels
from openslob.report.format import number, seconds

if TYPE_CHECKING:
    from openslob.kinds.failover.record import FailoverFolder, FailoverRecord
    from openslob.record.model import RunRecord
    from openslob.report.document import Document


class FailoverKind(DocumentKind["FailoverRecord"]):
    """Tests of failover."""

    labels = Labels("test of failover", "failover", "slob failover", so_far="; these are the outages so far", rank=5)
    files = ("failover.json",)
    why_not_derived = "the sessions' single operations are not kept"

    @property
    def folder(self) -> type[FailoverFolder]:
        from openslob.kinds.failover.record import FailoverFolder

        return FailoverFolder

    def row(self, record: FailoverRecord) -> Row:
        before = next((each.value("level_before_per_s") for each in record.cycles), None)
        return {
            "sessions": record.asked.get("sessions"),
            "update_pct": 100,
            "ops_per_s": record.value("follows_per_s") or before,
            "outages": len(record.cycles),
            "outage_max_s": record.value("outage_max_s"),
            "acked_lost": record.value("acked_lost"),
            "failed_verdicts": list_failed(record.verdicts),
        }

    def server(self, record: FailoverRecord) -> str:
        return server_of(record.targets[0]) if record.targets else ""

    def answer(self, record: FailoverRecord, _runs: Sequence[RunRecord] = ()) -> str:
        longest, lost = record.value("outage_max_s"), record.value("acked_lost")
        if longest is None or lost is None:
            return self.contents(record)
        return f"outage {seconds(longest)}, {number(lost)} commits lost"

    def contents(self, record: FailoverRecord) -> str:
        """Return how many outages there were, or what the copies keep up with."""
        if "follow_limit_s" in record.asked:
            return f"copies follow {number(record.value('follows_per_s'))} commits/s"
        longest = record.value("outage_max_s")
        most = "" if longest is None else f", at most {seconds(longest)}"
        return f"{len(record.cycles)} of {record.asked.get('cycles')} outages{most}"

    def document(self, record: FailoverRecord, folder: Path | None = None, _wanted: Wanted = AS_IT_IS) -> Document:
        from openslob.kinds.failover.report import failover_document

        return failover_document(record, folder)


KIND = FailoverKind()
