"""Which page suits what is to be reported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob.analyze.compare import ComparedValues, Comparison, compare, compare_values
from openslob.analyze.curves.points import Run
from openslob.errors import UsageError
from openslob.record.model import Status
from openslob.record.storage import StorageRecord
from openslob.report.charts import orion, realism
from openslob.report.html.page import Page, PageSection, verdict_rows
from openslob.report.html.run_page import run_page
from openslob.report.html.set_page import set_page
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
        sections=(PageSection("Report", text=render_storage(record)),),
    )


def _banners(record: StorageRecord) -> tuple[str, ...]:
    if record.status is Status.COMPLETE:
        return ()
    why = record.errors[0] if record.errors else "the record does not say why"
    return (f"This measurement is {record.status.value}: {why}",)


# Each side of a comparison: what the user called it, and its runs.
Sides = Sequence[tuple[str, Sequence[Run]]]


def page_for(
    sides: Sides,
    runs: Sequence[Run],
    folders: Sequence[Path],
    problems: Sequence[str],
    against: ComparedValues | None = None,
    ceilings: Sequence[StorageRecord] = (),
) -> Page:
    """The page of the only run, else that of ``runs``, all that the sides hold; two sides are compared as well.

    ``folders`` are those of the runs. With one side, ``against`` are the values in it that are compared. What has no
    point in common is not compared, and the page says so. ``ceilings``: storage alone is drawn beside physical reads.
    """
    if len(runs) == 1:
        return run_page(runs[0].record, folders[0])
    name = ", ".join(Path(side).name or side for side, _ in sides)
    try:
        return set_page(name, runs, problems, _comparison(sides, runs, against), ceilings)
    except UsageError as error:
        return set_page(name, runs, (*problems, f"The two sides are not compared: {error}"), ceilings=ceilings)


def _comparison(sides: Sides, runs: Sequence[Run], against: ComparedValues | None) -> Comparison | None:
    if len(sides) == 2:
        (name_a, a), (name_b, b) = sides
        return compare(a, b, name_a, name_b)
    return compare_values(runs, against) if against and len(sides) == 1 else None
