"""Pictures of one run: its timeline, and the distribution of its latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from openslob.analyze.load_kinds import timed_of
from openslob.analyze.timeline import OBSERVED_STEP_S
from openslob.analyze.verdicts.environment import MIN_BEYOND
from openslob.core.histogram import Histogram, bucket_of
from openslob.metrics import METRICS
from openslob.metrics.model import TimelinePanel
from openslob.record.model import Holds, RecordKind, RunRecord
from openslob.report.charts import over_time, time_panels
from openslob.report.charts.colours import GROUND, WARNING
from openslob.report.charts.heat import slice_notes
from openslob.report.charts.picture import Panel, Picture, layer_charts
from openslob.report.charts.theme import Tip, inline, with_tips
from openslob.report.charts.time_panels import BAND_COLOURS, BAND_ENDS, PANEL_HEIGHT, Y_AXIS
from openslob.report.document import TextTable
from openslob.report.figures import stage_table
from openslob.report.format import micros, number, seconds
from openslob.report.record_view import ALONE, FigureNames
from openslob.report.run_series import RunSeries

Row = dict[str, Any]
_LINE_HEIGHT = 13
MARKED = {"p50_us": "p50", "p90_us": "p90", "p99_us": "p99", "p999_us": "p99.9"}
_BAR_TIPS = (Tip("from_us", "from (µs)"), Tip("to_us", "below (µs)"), Tip("count", "operations"))


def timeline(record: RunRecord, raw: RunSeries, names: FigureNames | None = None) -> Picture:
    """Return requests, MB/s, latency percentiles, wait events and CPU over the time of the load."""
    timed = timed_of(record)
    names, length = names or FigureNames(), record.window.load_seconds if record.window else 0.0
    engine = over_time.evenly_counted(raw.engine, raw.even_s)
    requests, sizes = (
        [*_keep_own_rates(record, over_time.engine_rates(engine, panel)), *over_time.device_rates(raw.host, panel)]
        for panel in (TimelinePanel.REQUESTS, TimelinePanel.SIZES)
    )
    panels = {
        TimelinePanel.REQUESTS: _rates("picked_rate", requests, "per second", names, length) if requests else None,
        TimelinePanel.SIZES: _rates("picked_size", sizes, "MB/s", names, length) if sizes else None,
        **{
            f"latency of {timed.many(kind)}": _bands(timed.one(kind), over_time.latency_bands(of_kind, length), length)
            for kind, of_kind in raw.latency.items()
        },
        "sessions waiting": _waits(over_time.wait_rows(raw.waits, length), length) if raw.waits else None,
        "CPU": _cpu(record, over_time.cpu_shares(raw.host), length) if raw.host else None,
    }
    slow = [row.model_dump(include={"begin_s", "end_s", "cause", "evidence"}) for row in record.episodes or ()]
    shown = {name: time_panels.shade(panel, slow, (0, length)) for name, panel in panels.items() if panel is not None}
    # A panel can be empty although the engine's counters were recorded: they are not drawn at both ends of the load.
    missing = [
        name for name, panel in panels.items() if panel is None and not (raw.engine and name in tuple(TimelinePanel))
    ]
    return Picture(
        name="timeline",
        title=f"The {record.kind} over time",
        description=f"Over {time_panels.length_text(length)} of load: {', '.join(shown)}. {_read_range(requests)}",
        panels=tuple(shown.values()),
        notes=(
            *_NOTES[record.kind](raw),
            *_steps_note([*requests, *sizes]),
            *(("Shaded: stretches in which the load was slow, with their causes.",) if slow else ()),
            *((f"Not recorded over time: {', '.join(missing)}.",) if missing else ()),
            *slice_notes(raw),
        ),
        heights=dict.fromkeys(range(len(shown)), PANEL_HEIGHT),
    )


def changing_rate(record: RunRecord, raw: RunSeries) -> Picture | None:
    """Return the rate asked and done, and response times, over the time of a load whose rate changes; else None."""
    if not record.stages or record.window is None:
        return None
    length, stages, together = record.window.load_seconds, record.stages, merge_kinds(raw.response)
    bands = over_time.latency_bands(together, length)
    done = [
        {
            "series": "done",
            "middle_s": (row["from_s"] + row["to_s"]) / 2,
            "value": row["count"] / (row["to_s"] - row["from_s"]),
        }
        for row in bands
    ]
    ends = [(row.begin_s, row.first_per_s) for row in stages], [(row.end_s, row.last_per_s) for row in stages]
    asked = [
        {"series": "asked", "middle_s": at, "value": rate} for pair in zip(*ends, strict=True) for at, rate in pair
    ]
    recovering = [
        {"begin_s": row.begin_s, "end_s": row.end_s if row.why else row.begin_s + (row.recovery_s or 0.0),
         "cause": "recovering", "evidence": row.why or f"recovered in {seconds(row.recovery_s or 0.0)}"}
        for row in stages
        if row.why or row.recovery_s
    ]  # fmt: skip
    panels = [
        time_panels.rates("picked_asked", inline([*asked, *done]), ["asked", "done"], "operations/s", (0, length))
    ]
    panels += [_bands("response", bands, length)] if bands else []
    marks = [{"at_s": row.begin_s} for row in stages[1:]]
    shown = [
        time_panels.mark(time_panels.shade(panel, recovering, (0, length)), marks, (0, length)) for panel in panels
    ]
    return Picture(
        name="changing-rate",
        title="A rate that changes: operations and response time",
        description="; ".join(" ".join(cells) for cells in stage_table(record).rows),
        panels=tuple(shown),
        notes=("Dashed: the rate changes. Shaded: until the response time was back, or to the end of the stage.",),
        table=stage_table(record),
        heights=dict.fromkeys(range(len(shown)), PANEL_HEIGHT),
    )


def merge_kinds(response: Mapping[str, Mapping[int, Histogram]]) -> dict[int, Histogram]:
    """Return the latencies of all kinds of operations together, by step."""
    found: dict[int, Histogram] = {}
    for steps in response.values():
        for begin_s, histogram in steps.items():
            found.setdefault(begin_s, Histogram()).merge(histogram)
    return dict(sorted(found.items()))


def _steps_note(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return what a point of a rate is, where it stands for more than one reading."""
    longest = max((row["to_s"] - row["from_s"] for row in rows if "low" in row), default=None)
    if longest is None:
        return ()
    return (f"Rates are means of up to {seconds(longest)}; bands: from the lowest to the highest rate within.",)


def _notes_of_run(raw: RunSeries) -> tuple[str, ...]:
    percentiles = f"Percentiles are drawn where at least {MIN_BEYOND} operations of the step lie beyond them."
    ends = "Not drawn: the engine's counters at both ends, because a slice is counted when it ends."
    return (percentiles, *((ends,) if raw.engine else ()))


def _notes_of_observation(_raw: RunSeries) -> tuple[str, ...]:
    step = f"{OBSERVED_STEP_S:g} s"
    return (f"The engine's counters are drawn over {step} or more: sessions may publish them a second late.",)


_NOTES = {RecordKind.RUN: _notes_of_run, RecordKind.OBSERVATION: _notes_of_observation}


def latency_histogram(record: RunRecord) -> Picture | None:
    """Return histograms of service times by kind of operation, with percentiles marked; None without operations."""
    timed = timed_of(record)
    by_kind = {timed.one(kind): figures for kind, figures in record.latency.items()}
    return _histograms("latency", f"Latency of {timed.many()}", by_kind)


def response_histogram(record: RunRecord) -> Picture | None:
    """Return histograms of response times, measured from when operations were due; None without a target rate."""
    return _histograms("response", "Response time of operations, from when they were due", record.response)


def _histograms(name: str, title: str, latency: Mapping[str, Mapping[str, Any]]) -> Picture | None:
    kinds = {kind: figures for kind, figures in latency.items() if figures.get("count")}
    if not kinds:
        return None
    summaries = [f"{kind}: {_percentiles(figures)}" for kind, figures in kinds.items()]
    return Picture(
        name=name,
        title=title,
        description=f"Histogram of latencies. {'; '.join(summaries)}.",
        panels=tuple(_histogram(kind, figures) for kind, figures in kinds.items()),
        table=TextTable(
            ("operation", "count", "mean", *MARKED.values(), "max"),
            tuple(_latency_cells(kind, figures) for kind, figures in kinds.items()),
        ),
        heights=dict.fromkeys(range(len(kinds)), PANEL_HEIGHT),
    )


def _keep_own_rates(record: RunRecord, rows: list[Row]) -> list[Row]:
    """Return the rates of figures that are the run's own: beside other sessions' load some are the whole server's."""
    if record.outcome(ALONE) is not Holds.FAILS:
        return rows
    return [row for row in rows if record.value(row["figure"]) is not None]


def _histogram(kind: str, figures: Mapping[str, Any]) -> Panel:
    bars = over_time.histogram_bars({bucket_of(edge): count for edge, count in figures["buckets"]})
    axis = alt.Scale(type="log", domain=[bars[0]["from_us"], bars[-1]["to_us"]], nice=False)
    x = alt.X("from_us:Q", title=f"{kind} latency (µs)", scale=axis)
    drawn = (
        alt.Chart(inline(bars))
        .mark_bar(color=BAND_COLOURS["p50 to p90"], stroke=GROUND, strokeWidth=0.3)
        .encode(
            x=x,
            x2=alt.X2("to_us:Q"),
            y=alt.Y("share_pct:Q", title="operations (%)", stack=None, axis=Y_AXIS),
            y2=alt.Y2Datum(0),
        )
    )
    drawn = with_tips(drawn, *_BAR_TIPS, Tip("share_pct", "% of them"))
    marks = [
        {"us": us, "name": name, "row": at}
        for at, (field, name) in enumerate(MARKED.items())
        if (us := figures.get(field)) is not None
    ]
    marked = alt.Chart(inline(marks)).encode(x=alt.X("us:Q", scale=axis))
    rules = with_tips(
        marked.mark_rule(strokeDash=[4, 3], color=WARNING, strokeWidth=1.2), Tip("name", "percentile"), Tip("us", "µs")
    )
    # One below the other, because percentiles of a narrow distribution lie side by side.
    labels = (
        marked.transform_filter(alt.datum.row == mark["row"])
        .mark_text(align="left", dx=3, dy=8 + _LINE_HEIGHT * mark["row"], color=WARNING)
        .encode(y=alt.YValue(0), text=alt.Text("name:N"))  # type: ignore[no-untyped-call]
        for mark in marks
    )
    return layer_charts(drawn, rules, *labels)


def _rates(pick_name: str, rows: list[Row], title: str, names: FigureNames, length: float) -> Panel:
    drawn = time_panels.rate_rows(rows, names)
    series = list(dict.fromkeys(row["series"] for row in drawn))
    spread = any("low" in row for row in drawn)
    return time_panels.rates(pick_name, inline(drawn), series, title, (0, length), spread)


def _bands(kind: str, rows: list[Row], length: float) -> Panel:
    values = [row[name] for row in rows for name in BAND_ENDS.values() if row[name] is not None]
    scale = time_panels.log_scale(min(values) * 0.85, max(values) * 1.15) if values else alt.Scale()
    return time_panels.bands(kind, inline(rows), time_panels.bands_known(rows), scale, (0, length))


def _waits(rows: list[Row], length: float) -> Panel:
    events = list(dict.fromkeys(row["event"] for row in rows))
    events.sort(key=lambda event: event == over_time.OTHERS)
    return time_panels.waits(inline(rows), events, (0, length))


def _cpu(record: RunRecord, rows: list[Row], length: float) -> Panel:
    # Of a server elsewhere, this is the other end's.
    whose = "driver's host" if record.environment.get("local") is False else "host"
    kinds = [kind for kind in (*over_time.CPU_KINDS, over_time.SERVER) if any(row["kind"] == kind for row in rows)]
    return time_panels.cpu(inline(rows), whose, kinds, (0, length))


def _read_range(requests: Sequence[Row]) -> str:
    reads = [row["value"] for row in requests if row["figure"] == "pio_read_per_s"]
    if not reads:
        return ""
    return f"{METRICS['pio_read_per_s'].label}: from {number(min(reads))} to {number(max(reads))} a second."


def _percentiles(figures: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {micros(figures.get(field))}" for field, name in MARKED.items())


def _latency_cells(kind: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    times = (micros(figures.get(field)) for field in ("mean_us", *MARKED, "max_us"))
    return (kind, number(figures["count"]), *times)
