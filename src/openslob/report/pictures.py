"""The pictures of records: of a run, of several runs or a sweep.

`charts.picture` draws them: ``chart`` for notebooks, ``svg`` and ``png``, ``save_all`` for files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from openslob.analyze.compare import Comparison
from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import (
    PHYSICAL,
    RESPONSE_LATENCY,
    PointSet,
)
from openslob.analyze.load_kinds import timed_of
from openslob.core.errors import SlobError
from openslob.core.measurement import Ceiling, StorageAlone
from openslob.record.model import RunRecord, all_reservations
from openslob.report import run_series
from openslob.report.charts.comparing import changes, tails
from openslob.report.charts.heat import engine_map, heat_map, response_map
from openslob.report.charts.over_sessions import class_rates, cpu, latency_percentiles
from openslob.report.charts.petals import petals
from openslob.report.charts.picture import Picture
from openslob.report.charts.run import changing_rate, latency_histogram, response_histogram, timeline
from openslob.report.charts.slowest import slowest_reads
from openslob.report.record_view import FigureNames
from openslob.report.set_summary import reads_are_physical
from openslob.report.several_runs import MOST_SIDE_BY_SIDE, keep_measured, names_for, point_sets

_MB_PER_S = "pio_read_mb_per_s"
# Rates whose ratio varies by less than this factor over the points are drawn once: nobody sees the difference.
_SAME_RATIO = 1.05


def pictures_of_run(record: RunRecord, folder: Path) -> tuple[tuple[Picture, ...], str]:
    """Return the pictures of the run in ``folder``, and what its damaged raw files prevent; empty if nothing."""
    raw, problem = _read_series(record, folder)
    drawn = (
        changing_rate(record, raw),
        timeline(record, raw, FigureNames(reads_are_physical([record]), timed=timed_of(record))),
        latency_histogram(record),
        response_histogram(record),
        heat_map(record, raw),
        response_map(record, raw),
        engine_map(record, raw),
        slowest_reads([record]),
    )
    return _add_reservations(drawn, [record]), problem


def pictures_of_runs(
    runs: Sequence[Run], comparison: Comparison | None = None, ceilings: Sequence[StorageAlone] = ()
) -> tuple[Picture, ...]:
    """Return the pictures of a sweep or of any several runs, those of a ``comparison`` first.

    ``ceilings`` are drawn beside physical reads, for each block size that they have in common with the runs.
    """
    records, sets = [run.record for run in runs], point_sets(keep_measured(runs))
    names = names_for(records)
    few = records if 1 < len(records) <= MOST_SIDE_BY_SIDE else []
    drawn = (
        *([changes(comparison, names)] if comparison else []),
        *(picture for points in sets for picture in _of_points(points, names, len(sets) > 1, ceilings)),
        slowest_reads(records),
        *([tails([(record.id, record) for record in few])] if few else []),
    )
    return _add_reservations(drawn, records)


def _read_series(record: RunRecord, folder: Path) -> tuple[run_series.RunSeries, str]:
    try:
        return run_series.read(folder, record), ""
    except SlobError as error:
        return run_series.RunSeries(), f"Nothing is drawn over time: {error}"


def _of_points(
    points: PointSet, names: FigureNames, is_one_of_two: bool, ceilings: Sequence[StorageAlone]
) -> list[Picture]:
    """Return the pictures of a set of points; of two sets, names and titles say which one."""
    reads = points.axes.throughput == PHYSICAL.throughput
    pictures = [
        petals(points, points.axes.throughput, names, _ceilings(points, ceilings)),
        *([petals(points, _MB_PER_S, names)] if reads and _differ(points, points.axes.throughput, _MB_PER_S) else []),
        class_rates(points),
        latency_percentiles(points),
        cpu(points, names),
    ]
    if not is_one_of_two:
        return pictures
    kind = ("reading" if reads else "cached") + ("-paced" if points.axes.latency == RESPONSE_LATENCY else "")
    return [replace(each, name=f"{each.name}-{kind}", title=f"{each.title}: {kind} runs") for each in pictures]


def _differ(points: PointSet, rate: str, other: str) -> bool:
    """Return whether two rates have different pictures: reads of one size have the same one in IOPS and in MB/s."""
    means = [(point.mean(rate), point.mean(other)) for point in points.points]
    ratios = [second / first for first, second in means if first and second]
    return bool(ratios) and max(ratios) > min(ratios) * _SAME_RATIO


def _ceilings(points: PointSet, alone: Sequence[StorageAlone]) -> list[Ceiling]:
    sizes = {size for point in points.points if isinstance(size := point.parameters.get("block_size"), int)}
    return [storage.ceiling(size) for size in sorted(sizes) for storage in alone]


def _add_reservations(pictures: Sequence[Picture | None], records: Sequence[RunRecord]) -> tuple[Picture, ...]:
    """Return the pictures that show something; each says what must be known of the records' servers."""
    notes = all_reservations(records)
    return tuple(replace(picture, notes=(*notes, *picture.notes)) for picture in _with_panels(pictures))


def _with_panels(pictures: Sequence[Picture | None]) -> tuple[Picture, ...]:
    return tuple(picture for picture in pictures if picture is not None and picture.panels)
