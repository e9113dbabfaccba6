"""A lab: what values of settings of the server gain and cost, run beside run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.analyze.outcome import count_noun
from openslob.core.workload import Workload
from openslob.kinds.contract import AS_IT_IS, DocumentKind, Row, Wanted, list_failed
from openslob.record.kinds import Labels

if TYPE_CHECKING:
    from openslob.analyze.curves.points import ParameterValue
    from openslob.analyze.derive import Derived
    from openslob.kinds.lab.record import LabFolder, LabRecord
    from openslob.record.model import RunRecord
    from openslob.report.document import Document


class LabKind(DocumentKind["LabRecord"]):
    """Labs."""

    labels = Labels("lab", "lab", "slob lab", so_far="; these are the pairs so far", rank=7)
    files = ("lab.json",)
    has_runs = True
    has_ratios = True
    chooses_runs = True

    @property
    def folder(self) -> type[LabFolder]:
        from openslob.kinds.lab.record import LabFolder

        return LabFolder

    def row(self, record: LabRecord) -> Row:
        sessions = sorted({Workload.model_validate(each.workload).total_sessions for each in record.loads})
        return {
            "sessions": sessions or None,
            "arms": len(record.arms),
            "settled": sum(result.settled for result in record.results),
            "failed_verdicts": list_failed(record.verdicts),
        }

    def answer(self, record: LabRecord, _runs: Sequence[RunRecord] = ()) -> str:
        wanted = sum(1 for _ in record.compared)
        return f"{sum(result.settled for result in record.results)} of {wanted} effects known"

    def contents(self, record: LabRecord) -> str:
        wanted = sum(1 for _ in record.compared)
        settled = sum(result.settled for result in record.results)
        values = "1 value of a setting" if len(record.arms) == 1 else f"{len(record.arms)} values of settings"
        return f"{values}: {settled} of {wanted} effects known after {count_noun(record.rounds, 'round')}"

    def document(self, record: LabRecord, folder: Path | None = None, _wanted: Wanted = AS_IT_IS) -> Document:
        from openslob.kinds.lab.report import lab_document

        return lab_document(record, folder)

    def ratios(self, record: LabRecord) -> Sequence[Row]:
        from openslob.kinds.lab.report import lab_rows

        return lab_rows(record)

    def given(self, record: LabRecord, folder: Path) -> Mapping[Path, Mapping[str, ParameterValue]]:
        """Return the value of its setting for each run."""
        return {folder / run.run: record.find_setting(run) for run in record.runs if run.run}

    def numbers(self, folder: Path) -> Iterator[Derived]:
        """Yield the results, and what is noted of each run."""
        from openslob.kinds.again import compare_noted, compare_numbers, read_runs, renew_noted
        from openslob.kinds.lab import figures as labs

        record, runs = self.read(folder), read_runs(folder)
        made = renew_noted(record.runs, runs, lambda each, run: labs.figures_of(run, record.load(each.load).rate))
        again = made and labs.with_results(record.model_copy(update={"runs": made}))
        yield from compare_numbers(record, again or None, ("results",))
        for number, each in enumerate(record.runs):
            run = runs.get(each.run)
            figures = labs.figures_of(run, record.load(each.load).rate) if run else {}
            yield from compare_noted(f"runs.{number}", each.figures, figures)


KIND = LabKind()
