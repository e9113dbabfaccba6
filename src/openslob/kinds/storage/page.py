"""The report of several raw measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from openslob.kinds.storage.report import storage_document, storage_title
from openslob.record.storage import StorageRecord
from openslob.report.document import (
    Answer,
    Document,
    MadePictures,
    Paragraph,
    Section,
    TitleOfSeveral,
    VerdictsOfSeveral,
    shorten_names,
)


def storage_set_document(records: Sequence[StorageRecord]) -> Document:
    """Return the report of several raw measurements: the headline, verdicts, pictures and sections of each."""
    titles = [storage_title(record) for record in records]
    times = sorted(title.started for title in titles)
    return Document(
        TitleOfSeveral(
            f"{shorten_names([record.id for record in records])}: storage without a database",
            f"{len(records)} measurements from {times[0].removesuffix(' UTC')} to {times[-1]}.",
            tuple(f"{title.id}: {title.banner}" for title in titles if title.banner),
        ),
        (
            Answer(tuple(f"{record.id}: {storage_document(record).headline}" for record in records)),
            VerdictsOfSeveral(tuple((record.id, record.verdicts) for record in records), "measurement"),
            *(section for record in records for section in _sections_of(record)),
        ),
        pictures=lambda: _draw(records),
    )


def _draw(records: Sequence[StorageRecord]) -> MadePictures:
    from openslob.kinds.storage.charts.several import pictures_of_storage  # noqa: PLC0415 - takes a second to import

    return pictures_of_storage(records), ""


def _sections_of(record: StorageRecord) -> Iterator[Section]:
    """Yield the sections of one of several reports: what it is on, and its sections under its name."""
    title = storage_title(record)
    yield Section(title.id, (Paragraph(f"{title.about}, openslob {title.version}, started {title.started}"),))
    for section in storage_document(record).sections:
        yield replace(section, title=f"{title.id}: {section.title}" if section.title else "")
