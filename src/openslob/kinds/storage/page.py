"""The page of several raw measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from openslob.kinds.storage.charts.several import pictures_of_storage
from openslob.kinds.storage.report import storage_document
from openslob.record.storage import StorageRecord
from openslob.report.document import Document, Paragraph, Section
from openslob.report.html.page import Page, in_short, verdicts_of_all


def storage_set_page(records: Sequence[StorageRecord]) -> Page:
    """Return the page of several raw measurements: the headline, verdicts, pictures and sections of each."""
    documents = [storage_document(record) for record in records]
    times = sorted(each.title.started for each in documents)
    return Page(
        title=f"{in_short([record.id for record in records])}: storage without a database",
        about=f"{len(records)} measurements from {times[0].removesuffix(' UTC')} to {times[-1]}.",
        banners=tuple(f"{each.title.id}: {each.title.banner}" for each in documents if each.title.banner),
        answers=tuple(f"{each.title.id}: {each.headline}" for each in documents),
        verdicts=verdicts_of_all([(record.id, record.verdicts) for record in records]),
        judged_each="measurement",
        pictures=pictures_of_storage(records),
        sections=tuple(section for each in documents for section in _sections_of(each)),
    )


def _sections_of(document: Document) -> Iterator[Section]:
    """Yield the sections of one of several reports: what it is on, and its sections under its name."""
    title = document.title
    yield Section(title.id, (Paragraph(f"{title.about}, openslob {title.version}, started {title.started}"),))
    for section in document.sections:
        yield replace(section, title=f"{title.id}: {section.title}" if section.title else "")
