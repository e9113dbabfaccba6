"""Which page suits what is to be reported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob.analyze.against import Against, compare_values
from openslob.analyze.compare import Comparison, compare
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
    against: Against | None = None,
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
        return several_page(name, runs, problems, _comparison(sides, runs, against), ceilings)
    except UsageError as error:
        return several_page(name, runs, (*problems, f"The two sides are not compared: {error}"), ceilings=ceilings)


def _comparison(sides: Sides, runs: Sequence[Run], against: Against | None) -> Comparison | None:
    if len(sides) == 2:
        (name_a, a), (name_b, b) = sides
        return compare(a, b, name_a, name_b)
    return compare_values(runs, against) if against and len(sides) == 1 else None
