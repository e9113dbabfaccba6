"""The report of an endurance run: what it comes to, the level of each period, and what happened when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from openslob.analyze.causes import SLOW
from openslob.analyze.trace import COUNTED
from openslob.core.errors import SlobError
from openslob.core.units import format_duration
from openslob.core.workload import Workload
from openslob.kinds.endurance.record import ENDURANCE_FILE, EnduranceRecord
from openslob.kinds.endurance.screen import endurance_screen, key_figures
from openslob.kinds.endurance.segments import read_course
from openslob.metrics import Timed
from openslob.report.document import (
    Answer,
    Document,
    LabelledTexts,
    MadePictures,
    Paragraph,
    Section,
    TextPicture,
    TextTable,
    Verdicts,
    named_paragraphs,
    notes,
    title_of,
)
from openslob.report.format import MISSING, micros, number, percent, seconds, size
from openslob.report.record_view import why_incomplete
from openslob.report.text_plot import TextLine, text_plot

# Of more marks than this, only those of which every one matters are shown one by one.
MOST_MARKS = 12
# Fewer levels are seen better in the table.
_LEAST_PLOTTED = 5
# Kinds of which every one matters; of the others there are too many.
SINGLE = ("gap", "burst", "cap", "lower level", "write cliff", "lasting drop", "error")


def endurance_document(record: EnduranceRecord, folder: Path | None = None) -> Document:
    """Return the report; if ``folder`` is given, its last lines name the record's files, and its course is drawn."""
    about = f"Endurance run on {record.target}, {format_duration(record.planned_s)} planned"
    subject = f"{format_duration(record.measured_s)} on {record.target}"
    tables = record.tables
    return Document(
        title_of(record, "endurance run", subject, about, _end(record)),
        (
            Answer((endurance_headline(record),)),
            Verdicts(record.verdicts),
            _of_segments(tables.get("segment_verdicts", ())),
            _load(record),
            _levels(tables.get("levels", ()), Timed.of(record.workload)),
            _plot(tables.get("levels", ())),
            _shortfalls(tables.get("shortfalls", ())),
            *_slow_stretches(tables.get("episodes", ())),
            _occurrences(tables.get("occurrences", ())),
            _time_line(tables.get("marks", ())),
            _segments(record),
            notes(record.notes),
        ),
        _files(record, folder) if folder else (),
        lambda: _pictures(record, folder),
        screen=endurance_screen(record, folder),
        key_figures=key_figures(record),
    )


def _pictures(record: EnduranceRecord, folder: Path | None) -> MadePictures:
    from openslob.kinds.endurance.pictures import endurance_pictures  # noqa: PLC0415 - takes a second to import

    try:
        course = read_course(folder, record) if folder else None
    except SlobError as error:
        return (), f"Nothing is drawn over time: {error}"
    return endurance_pictures(course, record.tables.get("marks", ()), Timed.of(record.workload)) if course else (), ""


def endurance_headline(record: EnduranceRecord) -> str:
    """Return the result in a few sentences."""
    if record.value("ops_per_s") is None:
        return "Nothing was measured yet."
    first, last = record.value("first_level_per_s"), record.value("last_level_per_s")
    sentences = [
        f"{format_duration(record.measured_s)} under load: {number(record.value('ops_per_s'))} operations/s on "
        f"average, {Timed.of(record.workload).at('p99')} {micros(record.value('p99_us'))}."
    ]
    if first is not None and last is not None:
        period = record.tables["levels"][0]["end_s"] - record.tables["levels"][0]["begin_s"]
        sentences.append(
            f"The first {format_duration(period)} gave {number(first)}/s, the last {number(last)}/s "
            f"({record.value('last_to_first_pct'):+.1f} %)."
        )
    if (written := record.value("written_bytes")) is not None:
        sentences.append(f"{size(written)} were written.")
    return " ".join(sentences)


def _end(record: EnduranceRecord) -> str:
    """Return why an endurance run is not complete, and what to do."""
    ends = [each.why for each in record.segments if each.why]
    why = ends[-1] if ends else why_incomplete(record.status)
    return f"{why}; {format_duration(record.left_s)} are left: slob endure --resume {record.id}"


def _of_segments(rows: Sequence[Mapping[str, Any]]) -> Section:
    """Return the verdicts on the runs of the segments that fail: in which, and why in the first."""
    texts = []
    for name in dict.fromkeys(row["name"] for row in rows):
        of_name = [row for row in rows if row["name"] == name]
        numbers = ", ".join(str(row["segment"]) for row in of_name)
        where = f"segment{'s' if len(of_name) > 1 else ''} {numbers}"
        texts.append((name.replace("_", " "), f"{where}: {of_name[0]['why']}"))
    return Section("Verdicts on segments that fail", (LabelledTexts(tuple(texts)),) if texts else ())


def _load(record: EnduranceRecord) -> Section:
    load = Workload.model_validate(record.workload)
    parts = [(f"{part.name}: " if part.name else "", part.workload) for part in load.parts]
    rows = [("sessions", number(load.total_sessions))]
    for of, each in parts:
        rows += [(f"{of}updates", percent(each.update_pct)), (f"{of}work unit", f"{each.work_unit} blocks")]
    rows.append(("data", f"{load.active_tables} table{'s' if load.active_tables > 1 else ''} of {load.scale}"))
    rates = [(of, each.target_ops or each.target_iops) for of, each in parts if each.is_paced]
    rows += [(f"{of}rate", f"{number(rate)} wanted") for of, rate in rates]
    return Section("Load", (LabelledTexts(tuple(rows)),))


def moment(at_s: float) -> str:
    """Return a time of the run as hours, minutes and seconds, with days before them if there are any."""
    days, rest = divmod(round(at_s), 86_400)
    text = f"{rest // 3600}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"{days} d {text}" if days else text


def _levels(rows: Sequence[Mapping[str, Any]], timed: Timed) -> Section:
    if not rows:
        return Section("Levels", ())
    percentiles = map(timed.at, ("p50", "p99", "p99.9"))
    head = ("from", "ops/s", "5 % below", "5 % above", "reads/s", "commits/s", "written/s", *percentiles)
    cells = [
        (
            moment(row["begin_s"]), number(row["ops_per_s"]), number(row["low_per_s"]), number(row["high_per_s"]),
            number(row["reads_per_s"]), number(row["commits_per_s"]), size(row["written_per_s"]),
            micros(row["p50_us"]), micros(row["p99_us"]), micros(row["p999_us"]),
        )
        for row in rows
    ]  # fmt: skip
    period = format_duration(rows[0]["end_s"] - rows[0]["begin_s"])
    return Section("Levels", (TextTable(head, cells),), f", every {period} of the run")


def _plot(rows: Sequence[Mapping[str, Any]]) -> Section:
    return Section("", (TextPicture(partial(_draw_plot, rows), plot=True),) if len(rows) >= _LEAST_PLOTTED else ())


def _draw_plot(rows: Sequence[Mapping[str, Any]], columns: int | None) -> list[str]:
    unit_s, unit = (3600, "h") if rows[-1]["end_s"] >= 3 * 3600 else (60, "min")
    middle = [((row["begin_s"] + row["end_s"]) / 2 / unit_s, row) for row in rows]
    # Nothing is drawn across a gap.
    ends = {row["begin_s"] for row in rows} | {rows[-1]["end_s"]}
    lines = [
        TextLine(name, [each for at, row in middle for each in _end_line((at, row[column], ""), row["end_s"] in ends)])
        for name, column in (("5 % of the time below", "low_per_s"), ("mean", "ops_per_s"))
    ]
    return text_plot(lines, f"time ({unit})", "operations/s", min(columns or 80, 120), 10, number)


def _end_line(point: tuple[float, float, str], goes_on: bool) -> list[tuple[float, float, str] | None]:
    """Return a point, with the end of the line behind it unless the line goes on."""
    return [point] if goes_on else [point, None]


def _shortfalls(rows: Sequence[Mapping[str, Any]]) -> Section:
    lines = []
    for row in rows:
        longest = (
            f"; the longest stretch took {format_duration(row['longest_s'])}, from {moment(row['longest_begin_s'])} on"
            if row["longest_begin_s"] is not None
            else ""
        )
        name = f"below {percent(100 * row['share'])} of the median"
        lines.append((name, f"{percent(row['time_pct'])} of the time{longest}"))
    return Section("Shortfalls", (LabelledTexts(tuple(lines)),) if lines else ())


def _slow_stretches(rows: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    """Return the causes of slow stretches, what each cost, and of each the stretch that cost the most."""
    by_cause: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: -row["lost_ops"]):
        by_cause.setdefault(row["cause"], []).append(row)
    cells = [
        (
            cause, str(len(of_cause)), format_duration(sum(row["end_s"] - row["begin_s"] for row in of_cause)),
            number(round(sum(row["lost_ops"] for row in of_cause))), moment(of_cause[0]["begin_s"]),
            format_duration(of_cause[0]["end_s"] - of_cause[0]["begin_s"]),
        )
        for cause, of_cause in by_cause.items()
    ]  # fmt: skip
    head = ("cause", "stretches", "in all", "operations lost", "the worst", "lasted")
    worst = named_paragraphs(
        (cause, f"at {moment(of_cause[0]['begin_s'])}, {of_cause[0]['evidence']}")
        for cause, of_cause in by_cause.items()
    )
    return Section("Slow stretches", (TextTable(head, cells),) if rows else ()), Section("", worst)


def _occurrences(rows: Sequence[Mapping[str, Any]]) -> Section:
    head = ("what", "times", "every", "in all", "ops/s from it on", "otherwise", "difference")
    cells = [
        (
            row["kind"], number(row["count"]), seconds(row["every_s"]), _together(row["seconds"]),
            number(row["ops_inside"]), number(row["ops_outside"]), _difference(row),
        )
        for row in rows
    ]  # fmt: skip
    return Section("What happened", (TextTable(head, cells),) if rows else ())


def _together(seconds_in_all: float | None) -> str:
    return MISSING if seconds_in_all is None else format_duration(seconds_in_all)


def _difference(row: Mapping[str, Any]) -> str:
    inside, outside = row["ops_inside"], row["ops_outside"]
    return MISSING if inside is None or not outside else f"{100 * (inside - outside) / outside:+.1f} %"


def _time_line(rows: Sequence[Mapping[str, Any]]) -> Section:
    single = [row for row in rows if row["kind"] in SINGLE]
    shown = rows if len(rows) <= MOST_MARKS else single[:MOST_MARKS]
    lines = [Paragraph(mark_text(row), f"{moment(row['at_s']):>11}  ") for row in shown]
    if shown and (left_out := len(rows) - len(shown)):
        lines.append(Paragraph(f"and {left_out:,} more, which `slob show --json` has"))
    return Section("Time line", tuple(lines))


def mark_text(row: Mapping[str, Any]) -> str:
    """Return a mark in words."""
    lasted = row["until_s"] - row["at_s"]
    # The evidence of slow stretches has a section of its own.
    text = row["text"].partition(":")[0] if row["kind"] == SLOW else row["text"]
    parts = [
        row["kind"],
        f" of {format_duration(lasted)}" if lasted >= 1 and row["kind"] not in COUNTED else "",
        f": {text}" * bool(text),
    ]
    return "".join(parts)


def _segments(record: EnduranceRecord) -> Section:
    if len(record.segments) < 2 and not any(each.why for each in record.segments):
        return Section("Segments", ())
    first_s = next((each.begin_s for each in record.segments if each.begin_s is not None), 0.0)
    rows = [
        (
            str(each.number), MISSING if each.begin_s is None else moment(each.begin_s - first_s),
            MISSING if each.seconds is None else format_duration(each.seconds), each.run or MISSING,
            f"{each.state.value}{': ' * bool(each.why)}{each.why}",
        )
        for each in record.segments
    ]  # fmt: skip
    head = ("segment", "from", "measured", "record", "end")
    return Section("Segments", (TextTable.ending_in_text(head, rows),))


def _files(record: EnduranceRecord, folder: Path) -> tuple[str, ...]:
    drawn = [f"slob report {record.id} draws it"] if record.summary else []
    return (f"record: {folder / ENDURANCE_FILE}", *drawn)
