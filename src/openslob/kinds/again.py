"""What a record's own document says, derived again from the records of its runs and compared number by number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from openslob.analyze.derive import Derived
from openslob.record import store
from openslob.record.facts import leaves
from openslob.record.model import DocumentModel, RunRecord

_NO_RUN = "the record of its run is not there, or does not have it"
Figures = Mapping[str, float | None]


class _Noted(Protocol):
    """What a document notes of a run."""

    @property
    def run(self) -> str | None: ...

    @property
    def figures(self) -> Figures: ...

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self: ...


OfRun = TypeVar("OfRun", bound=_Noted)


def read_runs(folder: Path) -> dict[str | None, RunRecord]:
    """Return the records of the runs in a record's folder that can be read, by the names of their folders."""
    return {entry.id: entry.record for entry in store.find(folder) if entry.record}


def renew_noted(
    noted: Sequence[OfRun], runs: Mapping[str | None, RunRecord], figures_of: Callable[[OfRun, RunRecord], Figures]
) -> tuple[OfRun, ...] | None:
    """Return what a document notes of its runs, with the figures of their records; None if one of these is not there.

    What a document comes to must follow from its runs, and not from what it notes of them.
    """
    found: list[OfRun] = []
    for each in noted:
        run = runs.get(each.run)
        if each.figures and run is None:
            return None
        found.append(each.model_copy(update={"figures": figures_of(each, run)}) if each.figures and run else each)
    return tuple(found)


def compare_noted(name: str, figures: Figures, again: Figures) -> Iterator[Derived]:
    """Yield the figures of a run that a document notes, beside those in the record of the run."""
    for figure, value in figures.items():
        if value is not None:
            found = again.get(figure)
            yield Derived(f"{name}.{figure}", value, found, "" if found is not None else _NO_RUN)


def compare_numbers(record: DocumentModel, again: DocumentModel | None, parts: tuple[str, ...]) -> Iterator[Derived]:
    """Yield each number in these parts of a document beside that of the document that was made again, if it was."""
    before, after = (_numbers_in(each, parts) if each else {} for each in (record, again))
    why = "the raw files do not say it any more" if again else "the record of one of its runs is not there"
    for name, value in before.items():
        yield Derived(name, value, after.get(name), "" if name in after else why)


def _numbers_in(record: DocumentModel, parts: tuple[str, ...]) -> dict[str, float]:
    every = leaves(record.model_dump(mode="json", include=set(parts)))
    return {".".join(map(str, path)): float(value) for path, value in every if type(value) in (int, float)}
