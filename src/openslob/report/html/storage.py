"""The page of a raw measurement: what storage did without a database."""

from __future__ import annotations

from openslob.record.model import Status
from openslob.record.storage import StorageRecord
from openslob.report.charts import orion, realism
from openslob.report.html.page import Page, Part, verdict_rows
from openslob.report.storage import render_storage, storage_headline, what_it_is

_PICTURES = {"orion": orion.pictures, "compare": realism.pictures}


def storage_page(record: StorageRecord) -> Page:
    """Answer, verdicts, the pictures that its tool has, and the text report with every step."""
    return Page(
        title=f"{record.name}: {what_it_is(record)}",
        about=f"Measurement {record.id}, started {record.started_at.replace('T', ' ').removesuffix('Z')} UTC.",
        banners=_banners(record),
        answers=tuple(filter(None, (storage_headline(record),))),
        verdicts=verdict_rows(record.verdicts),
        pictures=_PICTURES[record.tool](record) if record.tool in _PICTURES else (),
        parts=(Part("Report", text=render_storage(record)),),
    )


def _banners(record: StorageRecord) -> tuple[str, ...]:
    if record.status is Status.COMPLETE:
        return ()
    why = record.errors[0] if record.errors else "the record does not say why"
    return (f"This measurement is {record.status.value}: {why}",)
