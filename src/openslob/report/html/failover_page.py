"""The page of a test of failover."""

from __future__ import annotations

from pathlib import Path

from openslob.errors import SlobError
from openslob.record.failover import FailoverRecord
from openslob.record.model import Status
from openslob.report.charts.failover import failover_pictures
from openslob.report.failover import failover_headline, render_failover
from openslob.report.html.page import Page, PageSection, verdict_rows
from openslob.report.record_view import why_incomplete


def failover_page(record: FailoverRecord, folder: Path) -> Page:
    """Return the page of a test of failover: headline, verdicts, pictures and the text report."""
    try:
        pictures, problem = failover_pictures(record, folder), ""
    except (SlobError, ValueError, KeyError) as error:
        pictures, problem = (), f"The time lines can't be drawn, since a file of the record is damaged: {error}"
    why = "; ".join(record.errors) or why_incomplete(record.status)
    incomplete = "" if record.status is Status.COMPLETE else f"The test is {record.status.value}: {why}"
    return Page(
        title=f"{record.name}: failover of {record.servers.get('product', 'servers')}",
        about=f"Test {record.id}, started {record.started_at.replace('T', ' ').removesuffix('Z')} UTC.",
        banners=tuple(filter(None, (incomplete, problem))),
        answers=(failover_headline(record),),
        verdicts=verdict_rows(record.verdicts),
        pictures=pictures,
        sections=(PageSection("Report", text=render_failover(record)),),
    )
