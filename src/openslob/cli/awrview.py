"""The picture of AWR reports: which of them have a point in it, and what a reader has to know."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.awr.batch import Result
from openslob.errors import SlobError

if TYPE_CHECKING:
    from openslob.analyze.outside import Found

TITLE = "Latency over IOPS and MB/s"
READ_LATENCY = "Single-block read latency"
NO_COUNTS = "No session counts in file names: the numbers at the points are the order of the files."


def check_picture(path: Path) -> None:
    """UsageError when the file's ending is of no picture."""
    # What draws takes a second to import, and pictures are seldom asked for.
    from openslob.report.petals import check_format  # noqa: PLC0415

    check_format(path)


def draw(path: Path, results: Sequence[Result], events: Sequence[str]) -> None:
    """Draw the reports that have a point; say which have none. SlobError when none has."""
    from openslob.report.petals import drawn  # noqa: PLC0415

    for result in results:
        if result.no_point:
            print(f"{result.path}: not in the picture: {result.no_point}", file=sys.stderr)
    found = list(_found(results))
    if not found:
        raise SlobError("no report has both IOPS and a latency", "nothing is drawn")
    notes = [NO_COUNTS] if any(result.point and result.point.sessions is None for result in results) else []
    latency = events[0].capitalize() if events else READ_LATENCY
    path.write_bytes(drawn(found, path.suffix.lower(), TITLE, notes, latency))
    print(f"{path}: {len(found)} reports drawn", file=sys.stderr)


def _found(results: Sequence[Result]) -> Iterator[Found]:
    from openslob.analyze.outside import Found  # noqa: PLC0415
    from openslob.analyze.points import ORDER, SESSIONS  # noqa: PLC0415
    from openslob.record.model import Holds, Verdict  # noqa: PLC0415

    for place, result in enumerate(results, start=1):
        if point := result.point:
            yield Found(
                series=point.series,
                sessions=place if point.sessions is None else point.sessions,
                along=ORDER if point.sessions is None else SESSIONS,
                figures={
                    "pio_read_per_s": point.iops,
                    "pio_read_mb_per_s": point.mb_per_s,
                    "engine_read_latency_us": point.latency_us,
                },
                source=point.file,
                verdicts=[
                    Verdict(name=each.name, verdict=Holds(each.verdict), why=each.why) for each in result.verdicts
                ],
            )
