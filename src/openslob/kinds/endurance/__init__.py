"""An endurance run: one load for hours or days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.core.units import format_duration
from openslob.kinds.contract import AS_IT_IS, DocumentKind, Row, Wanted, describe_load, list_failed
from openslob.record.kinds import Labels

if TYPE_CHECKING:
    from openslob.analyze.derive import Derived
    from openslob.kinds.endurance.record import EnduranceFolder, EnduranceRecord
    from openslob.record.model import RunRecord
    from openslob.report.document import Document


class EnduranceKind(DocumentKind["EnduranceRecord"]):
    """Endurance runs."""

    labels = Labels(
        "endurance run", "endurance", "slob endure", "segment", "; this is what was measured before", rank=3
    )
    files = ("endurance.json",)
    has_runs = True

    @property
    def folder(self) -> type[EnduranceFolder]:
        from openslob.kinds.endurance.record import EnduranceFolder

        return EnduranceFolder

    def row(self, record: EnduranceRecord) -> Row:
        return {
            **describe_load(record.workload),
            "ops_per_s": record.value("ops_per_s"),
            "p99_us": record.value("p99_us"),
            "measured_s": record.measured_s,
            "planned_s": record.planned_s,
            "failed_verdicts": list_failed(record.verdicts),
        }

    def answer(self, record: EnduranceRecord, runs: Sequence[RunRecord] = ()) -> str:
        return f"{super().answer(record, runs)}, {format_duration(record.measured_s)}"

    def contents(self, record: EnduranceRecord) -> str:
        gaps = f", {len(record.gaps)} gap{'s' if len(record.gaps) > 1 else ''}" if record.gaps else ""
        return f"{format_duration(record.measured_s)} of {format_duration(record.planned_s)}{gaps}"

    def read_as(self, path: Path, wanted: Wanted) -> EnduranceRecord:
        """Return the record, with the figures of segments whose driver was killed."""
        from openslob.kinds.endurance.segments import with_figures

        record = super().read_as(path, wanted)
        return with_figures(path if path.is_dir() else path.parent, record) if record.has_news else record

    def document(self, record: EnduranceRecord, folder: Path | None = None, _wanted: Wanted = AS_IT_IS) -> Document:
        from openslob.kinds.endurance.report import endurance_document

        return endurance_document(record, folder)

    def numbers(self, folder: Path) -> Iterator[Derived]:
        from openslob.kinds.again import compare_numbers
        from openslob.kinds.endurance.segments import with_figures

        record = self.read(folder)
        yield from compare_numbers(record, with_figures(folder, record), ("summary",))


KIND = EnduranceKind()
