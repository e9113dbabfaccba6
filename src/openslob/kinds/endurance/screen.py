"""The answer of an endurance run on one screen: whether its level lasts, and its course in lines of characters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from openslob.analyze.load_kinds import loop_in_words, mix_in_words
from openslob.core.errors import SlobError
from openslob.core.measurement import Known
from openslob.core.units import format_duration
from openslob.core.workload import Workload
from openslob.kinds.endurance.figures import known_mean
from openslob.kinds.endurance.record import EnduranceRecord
from openslob.kinds.endurance.segments import read_course
from openslob.metrics import Timed
from openslob.record import store
from openslob.record.model import Holds, Verdict
from openslob.report.document import Part, Screen, TextPicture, TextTable, Verdicts
from openslob.report.format import as_float, micros, number, size
from openslob.report.record_view import name_record
from openslob.report.text_plot import bar_line

SUSTAINED, LASTED, _GROWTH = "level_sustained", "level_lasted", "data_in_place"
# Rows of the table of levels, and columns of a line of bars.
MOST_LEVELS, BARS = 4, 48
# In the verdict on the level: what stands between a cap and the evidence, and what it names under which a level was.
_WHICH = ": nothing that was measured tells which"
_UNDER = re.compile(r" under (a.+?)(?:, \d+ times, for .+)?(?:, until .+)?$")
_KNOWN_BY: Mapping[object, str] = {
    Known.LIMIT: "a limit that was read",
    Known.PROBE: "shown by the probe",
    Known.FLAT: "the rate is too even for a latency",
}
# Stretches of one cause that cost less of all operations are in the report alone.
_WORTH_TELLING = 0.001
# Fewer are seen better in the table.
_FEWEST_BARS = 5
_LEAST_SHARE = 0.01
# What is drawn: series of the course, and columns of the levels.
_DRAWN = {"operations/s": ("ops", "ops_per_s"), "reads/s": ("engine.read_requests", "reads_per_s")}


def endurance_screen(record: EnduranceRecord, folder: Path | None) -> Screen:
    """Return the screen; if ``folder`` is given, the course is drawn from the raw files."""
    called = name_record(record.id, folder)
    load = Workload.model_validate(record.workload)
    sessions = f"{load.total_sessions} session{'' if load.total_sessions == 1 else 's'}"
    measured, planned = format_duration(record.measured_s), format_duration(record.planned_s)
    lasted = measured if record.left_s < 1 else f"{measured} of {planned}"
    asked = f"{sessions}{mix_in_words(record.workload)}{loop_in_words(record.workload)}"
    subject = f"Endurance on {record.target}: {asked}, for {lasted}"
    if record.value("ops_per_s") is None:
        return Screen(subject, ("Nothing was measured yet.",), called=called)
    return Screen(
        subject,
        (_answer(record), *_slow(record)),
        _parts(record, folder),
        ((f"slob report {called}", "pictures over the whole time"),),
        called,
        frozenset({SUSTAINED, LASTED}),
        Verdicts((*record.verdicts, *_of_segments(record, folder, load))),
    )


def key_figures(record: EnduranceRecord) -> tuple[tuple[str, str], ...]:
    """Return the levels where it did not last, else the rates at first and at last, with the latency."""
    sustained = _verdict(record, SUSTAINED)
    figures = sustained.figures if sustained and sustained.verdict is Holds.FAILS else {}
    burst, under = (as_float(figures.get(f"{level}_ops_per_s")) for level in ("burst", "sustained"))
    then = "then, operations/s"
    if burst is None or under is None:
        burst, under, then = record.value("first_level_per_s"), record.value("last_level_per_s"), "operations/s at last"
    levels = (("operations/s at first", number(burst)), (then, number(under)))
    rest = (
        (Timed.of(record.workload).at("p99"), micros(record.value("p99_us"))),
        ("written", size(record.value("written_bytes"))),
    )
    if burst is None or under is None:
        return (("operations/s", number(record.value("ops_per_s"))), *rest)
    return (*levels, *rest)


def _verdict(record: EnduranceRecord, name: str) -> Verdict | None:
    return next((each for each in record.verdicts if each.name == name), None)


def _answer(record: EnduranceRecord) -> str:
    """Return whether the level lasts: the levels and what made them if it does not."""
    sustained, lasted = _verdict(record, SUSTAINED), _verdict(record, LASTED)
    if sustained and sustained.verdict is Holds.FAILS:
        return f"It does not last: {_levels(record, sustained)}"
    if lasted and lasted.verdict is Holds.FAILS:
        return f"It does not last: {_uncapitalized(lasted.why)}"
    p99 = f"{Timed.of(record.workload).at('p99')} {micros(record.value('p99_us'))}"
    rate = f"{number(record.value('ops_per_s'))} operations/s, {p99}"
    if lasted is None or lasted.verdict is Holds.HOLDS:
        return f"It lasts: {rate}{_change(record)}.{_cap_all_the_time(sustained)}"
    # A run that is too short for a lasting drop may have been long enough for a cap.
    short = f"{format_duration(record.measured_s)} are too short to tell whether it lasts longer"
    return f"{rate}{_change(record)}; {short}.{_cap_all_the_time(sustained)}"


def _change(record: EnduranceRecord) -> str:
    first, last = record.value("first_level_per_s"), record.value("last_level_per_s")
    if first is None or last is None:
        return ""
    return f" ({number(first)}/s at first, {number(last)}/s at last, {record.value('last_to_first_pct'):+.1f} %)"


def _cap_all_the_time(verdict: Verdict | None) -> str:
    return f" {verdict.why}" if verdict and "cap" in verdict.figures else ""


def _levels(record: EnduranceRecord, verdict: Verdict) -> str:
    """Return the levels of a load that did not keep one, what made them, and what shows it, as the verdict has it."""
    figures, (first, _, rest) = verdict.figures, verdict.why.partition(". ")
    if "sustained_ops_per_s" not in figures:
        return f"{_uncapitalized(first)}{f'. {rest}' if rest else ''}"
    burst, under = (number(as_float(figures.get(f"{level}_ops_per_s"))) for level in ("burst", "sustained"))
    dry, lifted = as_float(figures.get("dry_at_s")), as_float(figures.get("lifted_at_s"))
    times = as_float(figures.get("held_times")) or 1
    again = f", {number(times)} times" if times > 1 else ""
    if dry is None:
        levels = f"{under} operations/s at first, then {burst}/s"
    else:
        until = "until the end" if lifted is None else f"until {format_duration(lifted)}"
        levels = f"{burst} operations/s for {format_duration(dry)}, then {under}/s {until}{again}"
    if figures.get("cap_known") == Known.EITHER:
        what = _uncapitalized(rest.partition(_WHICH)[0])
        tells = "nothing that was measured tells which" if record.probe else "slob endure --probe on tells which"
        return f"{levels}: {what}; {tells}."
    cap = _UNDER.search(first)
    known = _KNOWN_BY.get(figures.get("cap_known"), "")
    return f"{levels}{f', {cap[1]}' if cap else ''}{f' ({known})' if cap and known else ''}. {rest}".rstrip()


def _uncapitalized(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _slow(record: EnduranceRecord) -> tuple[str, ...]:
    """Return what slow stretches cost by cause, the costliest first; nothing of those that cost hardly anything."""
    lost: dict[str, list[float]] = {}
    for row in record.tables.get("episodes", ()):
        lost.setdefault(row["cause"], []).append(row["lost_ops"])
    least = _WORTH_TELLING * (record.value("ops_per_s") or 0.0) * record.measured_s
    costly = {cause: each for cause, each in lost.items() if sum(each) >= least}
    if not costly:
        return ()
    causes = [
        f"{cause} ({len(each)}, {number(round(sum(each)))} operations lost)"
        for cause, each in sorted(costly.items(), key=lambda item: -sum(item[1]))
    ]
    more = f" and {len(causes) - 2} more causes" if len(causes) > 2 else ""
    return (f"Slow stretches: {'; '.join(causes[:2])}{more}.",)


def _of_segments(record: EnduranceRecord, folder: Path | None, load: Workload) -> list[Verdict]:
    """Return the verdicts on runs of segments that fail, each name once, with the figures that the run's record has.

    That updates make tables grow is part of what a long run measures, and its own course tells whether it is steady.
    """
    left_out = {"steady", *(each.name for each in record.verdicts), *([_GROWTH] if load.writes else [])}
    found: dict[str, Verdict] = {}
    for row in record.tables.get("segment_verdicts", ()):
        if row["name"] not in {*left_out, *found}:
            figures = _figures_of(record, folder, row["segment"], row["name"])
            why = f"Segment {row['segment']}: {row['why']}"
            found[row["name"]] = Verdict(name=row["name"], verdict=Holds.FAILS, why=why, figures=figures)
    return list(found.values())


def _figures_of(record: EnduranceRecord, folder: Path | None, number: int, name: str) -> Mapping[str, Any]:
    """Return the figures of a verdict on the run of a segment; none without its record."""
    run = next((each.run for each in record.segments if each.number == number), None)
    if folder is None or not run:
        return {}
    try:
        verdicts = store.load(folder / run).verdicts
    except SlobError:
        return {}
    return next((each.figures for each in verdicts if each.name == name), {})


def _parts(record: EnduranceRecord, folder: Path | None) -> tuple[Part, ...]:
    levels = record.tables.get("levels", ())
    return (
        (TextPicture(partial(_draw, record, folder), plot=True), _table(levels, Timed.of(record.workload)))
        if levels
        else ()
    )


def _draw(record: EnduranceRecord, folder: Path | None, columns: int | None) -> list[str]:
    """Return a line of bars for each rate that is not 0, with its lowest and highest bar, and a blank line.

    They are those of the raw files, or of the levels where there are no raw files.
    """
    width = min(BARS, max((columns or 80) - 36, 10))
    lines, least = [], 0.0
    for name, values in _rates(record, folder, width).items():
        known = [value for value in values if value is not None]
        if len(values) >= _FEWEST_BARS and max(known, default=0.0) > least:
            # A load that hardly reads has no course of reads.
            least = _LEAST_SHARE * max(known)
            ends = dict.fromkeys(number(round(value)) for value in (min(known), max(known)))
            lines.append(f"  {name:<12}  {bar_line(values)}  {' to '.join(ends)}")
    return [*lines, ""] if lines else []


def _rates(record: EnduranceRecord, folder: Path | None, width: int) -> dict[str, list[float | None]]:
    """Return what is drawn: means over so many parts of the course."""
    try:
        course = read_course(folder, record) if folder else None
    except SlobError:
        course = None
    if course is None:
        return {name: [row[column] for row in record.tables["levels"]] for name, (_, column) in _DRAWN.items()}
    series = {name: course.trace.get(each) for name, (each, _) in _DRAWN.items()}
    return {
        name: [known_mean(part) for part in np.array_split(values, min(width, len(values)))]
        for name, values in series.items()
    }


def _table(rows: Sequence[Mapping[str, Any]], timed: Timed) -> TextTable:
    """Return the levels of a few periods, evenly spaced, the first and the last among them."""
    count = min(len(rows), MOST_LEVELS)
    shown = [rows[round(at * (len(rows) - 1) / max(count - 1, 1))] for at in range(count)]
    period = format_duration(rows[0]["end_s"] - rows[0]["begin_s"])
    head = (f"{period} from", "operations/s", "reads/s", "commits/s", "written/s", timed.at("p50"), timed.at("p99"))
    return TextTable(
        head,
        [
            (
                format_duration(row["begin_s"]), number(row["ops_per_s"]), number(row["reads_per_s"]),
                number(row["commits_per_s"]), size(row["written_per_s"]), micros(row["p50_us"]), micros(row["p99_us"]),
            )
            for row in shown
        ],
    )  # fmt: skip
