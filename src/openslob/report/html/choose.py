"""Which page suits what is to be reported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob.analyze.compare import compare
from openslob.analyze.points import Run
from openslob.errors import UsageError
from openslob.record.storage import StorageRecord
from openslob.report.html.one import run_page
from openslob.report.html.page import Page
from openslob.report.html.several import several_page

# Each side of a comparison: what the user called it, and its runs.
Sides = Sequence[tuple[str, Sequence[Run]]]


def page_for(
    sides: Sides,
    runs: Sequence[Run],
    folders: Sequence[Path],
    problems: Sequence[str],
    ceiling: StorageRecord | None = None,
) -> Page:
    """The page of the only run, else that of ``runs``, all that the sides hold; two sides are compared as well.

    ``folders`` are those of the runs. Two sides without a point in common are not compared, and the page says so.
    ``ceiling``: storage alone is drawn beside physical reads.
    """
    if len(runs) == 1:
        return run_page(runs[0].record, folders[0])
    name = ", ".join(Path(side).name or side for side, _ in sides)
    if len(sides) != 2:
        return several_page(name, runs, problems, ceiling=ceiling)
    (name_a, a), (name_b, b) = sides
    try:
        return several_page(name, runs, problems, compare(a, b, name_a, name_b), ceiling)
    except UsageError as error:
        return several_page(name, runs, (*problems, f"The two sides are not compared: {error}"), ceiling=ceiling)
