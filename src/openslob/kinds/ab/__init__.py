"""A comparison in pairs: two settings, servers or states of one, run by turns until it is decided which is better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.analyze.outcome import count_noun
from openslob.kinds.contract import AS_IT_IS, DocumentKind, Row, Wanted, describe_load, list_failed
from openslob.record.kinds import Labels

if TYPE_CHECKING:
    from openslob.analyze.curves.points import ParameterValue
    from openslob.analyze.derive import Derived
    from openslob.kinds.ab.record import AbFolder, AbRecord
    from openslob.report.document import Document


class AbKind(DocumentKind["AbRecord"]):
    """Comparisons in pairs."""

    labels = Labels("comparison in pairs", "ab", "slob ab", so_far="; these are the pairs so far", rank=8)
    files = ("ab.json",)
    has_runs = True
    has_ratios = True
    chooses_runs = True

    @property
    def folder(self) -> type[AbFolder]:
        from openslob.kinds.ab.record import AbFolder

        return AbFolder

    def row(self, record: AbRecord) -> Row:
        look = record.last_look
        return {
            **describe_load(record.workload),
            "decision": record.decision,
            "pairs": look.pairs if look else 0,
            "ratio": look.ratio if look else None,
            "failed_verdicts": list_failed(record.verdicts),
        }

    def contents(self, record: AbRecord) -> str:
        pairs = count_noun(record.last_look.pairs if record.last_look else 0, "pair")
        return f"A {record.sides[0].text}, B {record.sides[1].text}: {record.decision} after {pairs}"

    def document(self, record: AbRecord, folder: Path | None = None, _wanted: Wanted = AS_IT_IS) -> Document:
        from openslob.kinds.ab.report import ab_document

        return ab_document(record, folder)

    def ratios(self, record: AbRecord) -> Sequence[Row]:
        """Return a row for each figure: the ratio of B to A with its interval."""
        a, b = (side.text for side in record.sides)
        return [
            {"ab": record.id, "a": a, "b": b, "figure": name, "decision": record.decision, **each.model_dump()}
            for name, each in record.ratios.items()
        ]

    def given(self, record: AbRecord, folder: Path) -> Mapping[Path, Mapping[str, ParameterValue]]:
        """Return the side of each run that counts."""
        return {folder / run.run: {"side": run.side} for run in record.runs if run.run and not run.made_again}

    def numbers(self, folder: Path) -> Iterator[Derived]:
        """Yield the looks and the ratios, and what is noted of each run."""
        from openslob.kinds.ab.figures import figures_of, renew_looks, with_results
        from openslob.kinds.again import compare_noted, compare_numbers, read_runs, renew_noted

        record, runs = self.read(folder), read_runs(folder)
        made = renew_noted(record.runs, runs, lambda _, run: figures_of(run, record.figure))
        again = made and with_results(renew_looks(record.model_copy(update={"runs": made})))
        yield from compare_numbers(record, again or None, ("looks", "ratios"))
        for number, each in enumerate(record.runs):
            run = runs.get(each.run)
            yield from compare_noted(f"runs.{number}", each.figures, figures_of(run, record.figure) if run else {})


KIND = AbKind()
