"""A repeated run: the same run at fixed times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.core.units import format_duration
from openslob.kinds.contract import AS_IT_IS, DocumentKind, Row, Wanted, describe_load, list_failed
from openslob.record.kinds import Labels

if TYPE_CHECKING:
    from openslob.analyze.derive import Derived
    from openslob.kinds.repeated.record import RepeatedFolder, RepeatedRecord
    from openslob.record.model import RunRecord
    from openslob.report.document import Document


class RepeatedKind(DocumentKind["RepeatedRecord"]):
    """Repeated runs."""

    labels = Labels("repeated run", "repeated", "slob watch --every", so_far="; these are the runs so far", rank=4)
    files = ("repeated.json",)
    has_runs = True

    @property
    def folder(self) -> type[RepeatedFolder]:
        from openslob.kinds.repeated.record import RepeatedFolder

        return RepeatedFolder

    def row(self, record: RepeatedRecord) -> Row:
        return {
            **describe_load(record.workload),
            "ops_per_s": record.value("ops_per_s"),
            "p99_us": record.value("p99_us"),
            "times": dict(Counter(each.state.value for each in record.times)),
            "failed_verdicts": list_failed(record.verdicts),
        }

    def answer(self, record: RepeatedRecord, runs: Sequence[RunRecord] = ()) -> str:
        rate = record.value("ops_per_s")
        every = "" if rate is None else f", every {format_duration(record.every_s)}"
        return f"{super().answer(record, runs)}{every}"

    def contents(self, record: RepeatedRecord) -> str:
        counts = Counter(each.state.value for each in record.times)
        states = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no run yet"
        return f"every {format_duration(record.every_s)}: {states}"

    def document(self, record: RepeatedRecord, folder: Path | None = None, _wanted: Wanted = AS_IT_IS) -> Document:
        from openslob.kinds.repeated.report import repeated_document

        return repeated_document(record, folder)

    def numbers(self, folder: Path) -> Iterator[Derived]:
        """Yield the spread, the change points, and what is noted of each run."""
        from openslob.kinds.again import compare_noted, compare_numbers, read_runs, renew_noted
        from openslob.kinds.repeated import figures as repeats

        record, runs = self.read(folder), read_runs(folder)
        times = renew_noted(record.times, runs, lambda _, run: repeats.figures_of(run))
        again = times and repeats.with_findings(record.model_copy(update={"times": times}))
        yield from compare_numbers(record, again or None, ("summary", "changes"))
        for each in record.times:
            run = runs.get(each.run)
            yield from compare_noted(f"times.{each.number}", each.figures, repeats.figures_of(run) if run else {})


KIND = RepeatedKind()
