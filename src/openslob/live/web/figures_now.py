"""The figures of this moment for Prometheus, from a view."""

from __future__ import annotations

from openslob.analyze.curves.points import SERVICE
from openslob.export.openmetrics import Now
from openslob.live.view import RecordState, View


def figures_now(view: View) -> Now:
    """Return the figures of the run, or of the one in progress of a sweep."""
    run = view.current or view
    return Now(
        # A name may have half a character, which nothing can show.
        labels={"id": run.head.id, "name": run.head.name.encode(errors="replace").decode()},
        running=view.head.progress is RecordState.RUNNING,
        figures=run.now,
        latency=_latency(run),
        verdicts=run.verdicts,
    )


def _latency(run: View) -> dict[str, dict[str, float]]:
    """Return the latencies of the last second that has any, by kind of operation."""
    known: dict[str, dict[str, float]] = {}
    end_s = run.head.elapsed_s
    for name in run.names:
        _, _, rest = name.partition("latency.")
        kind, _, statistic = rest.partition(".")
        if statistic in SERVICE:
            series = run.series(name, max(end_s - 5, 0), end_s, 5)
            values = [value for value in series.mean if value is not None]
            known.setdefault(kind, {}).update({statistic: values[-1]} if values else {})
    return known
