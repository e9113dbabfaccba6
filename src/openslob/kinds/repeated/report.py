"""The report of a repeated run: how far its runs differ, when they changed, and what became of each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from statistics import median

from openslob.analyze.verdict_registry import Severity, row_of
from openslob.core.units import format_duration
from openslob.kinds.repeated.record import REPEATED_FILE, RepeatedRecord, RepeatedTime, TimeState
from openslob.metrics import METRICS, Timed
from openslob.report.document import (
    Answer,
    Document,
    LabelledTexts,
    MadePictures,
    Screen,
    Section,
    TextTable,
    Verdicts,
    notes,
    title_of,
)
from openslob.report.format import MISSING, local_moment, micros, number, percent
from openslob.report.record_view import name_record, why_incomplete

# Of more runs, those of each day, and those that were not made, are shown.
MOST_RUNS = 40
# From so many runs on there is one below the rate that 5 % are below.
_MANY = 20
_SHOWN = {"ops_per_s": ("operations/s", number), "p99_us": ("p99", micros)}


def repeated_document(record: RepeatedRecord, folder: Path | None = None) -> Document:
    """Return the report; if ``folder`` is given, its last lines name the record's files and what draws them."""
    what = f"the same run every {format_duration(record.every_s)} on {record.target}"
    of = f", {record.planned} planned" if record.planned else ""
    about = f"The same run on {record.target} every {format_duration(record.every_s)}{of}"
    why = f"{why_incomplete(record.status)}; slob watch --resume {record.id} goes on"
    return Document(
        title_of(record, "repeated run", what, about, why),
        (
            Answer((repeated_headline(record),)),
            Verdicts(record.verdicts),
            _spread(record),
            _changes(record),
            _days(record),
            _times(record),
            notes(record.notes),
        ),
        (f"record: {folder / REPEATED_FILE}", f"slob report {record.id} draws it") if folder else (),
        lambda: _pictures(record),
        screen=_screen(record, folder),
    )


def _screen(record: RepeatedRecord, folder: Path | None) -> Screen:
    """Return the answer with how far the runs differ; what fails in the runs is a line for each severity."""
    called = name_record(record.id, folder)
    made = f"{len(record.done)} of {record.planned or len(record.times)} made"
    failing = [(_label(severity), names) for severity in Severity if (names := _failing(record, severity))]
    return Screen(
        f"The same run on {record.target} every {format_duration(record.every_s)}: {made}",
        tuple(filter(None, (_sentence(_result(record)), _steady_words(record)))),
        (*_spread(record).parts, *_changes(record).parts, *([LabelledTexts(failing)] if failing else [])),
        ((f"slob report {called}", "the runs over time"), (f"slob show {called} --all", "every run")),
        called,
        frozenset({"predictable"} if record.changes else ()),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _label(severity: Severity) -> str:
    return severity.upper() if severity is Severity.INVALID else severity.value


def _failing(record: RepeatedRecord, severity: Severity) -> str:
    """Return the verdicts on runs of this severity that fail, with the number of runs."""
    counts = Counter(name for each in record.done for name in each.failed_verdicts)
    return ", ".join(
        f"{name.replace('_', ' ')} in {count} of {len(record.done)}"
        for name, count in counts.most_common()
        if row_of(name).severity is severity
    )


def _pictures(record: RepeatedRecord) -> MadePictures:
    from openslob.kinds.repeated.pictures import repeated_picture  # noqa: PLC0415 - takes a second to import

    picture = repeated_picture(record)
    return [picture] if picture else [], ""


def repeated_headline(record: RepeatedRecord) -> str:
    """Return the result in a few sentences."""
    runs, every = len(record.done), format_duration(record.every_s)
    if not runs:
        return _result(record)
    sentences = [f"{runs} run{'s' if runs > 1 else ''}, every {every}: {_result(record)}"]
    failing = Counter(name for each in record.done for name in each.failed_verdicts)
    if failing:
        often = ", ".join(f"{name.replace('_', ' ')} ({count})" for name, count in failing.most_common())
        sentences.append(f"Verdicts that fail, with the number of runs: {often}.")
    return " ".join(filter(None, (*sentences, _steady_words(record))))


def _result(record: RepeatedRecord) -> str:
    """Return what the runs did in the median."""
    if not record.done:
        return f"No run was made yet; one is due every {format_duration(record.every_s)}."
    rate = record.value("ops_per_s")
    median_rate = "no rate is known" if rate is None else f"{number(rate)} operations/s in the median"
    return f"{median_rate}, {_called(record, 'p99_us')} {micros(record.value('p99_us'))}."


def _steady_words(record: RepeatedRecord) -> str:
    """Return how far the rates of the runs differ, and when they changed."""
    sentences, spread = [], record.value("ops_per_s_spread_pct")
    if spread is not None:
        rates = sorted(rate for each in record.done if (rate := each.figures.get("ops_per_s")) is not None)
        many = len(rates) >= _MANY
        low = record.value("ops_per_s_low") if many else rates[0]
        high = record.value("ops_per_s_high") if many else rates[-1]
        sentences.append(
            f"{'9 of 10 runs' if many else 'They'} gave {number(low)} to {number(high)}/s; they spread by "
            f"{percent(round(spread, 1))}."
        )
    for change in record.changes[:3]:
        sentences.append(
            f"{_sentence(_name(record, change['figure']))} changed by {change['change_pct']:+.1f} % from run "
            f"{change['number']} on ({local_moment(change['due_s'])})."
        )
    return " ".join(sentences)


def time_line(each: RepeatedTime) -> str:
    """Return what became of a time in one line."""
    head = f"{local_moment(each.due_s)}  run {each.number}"
    if each.state is not TimeState.DONE:
        return f"{head}: {each.state.value}: {each.why}"
    rates = f"{number(each.figures.get('ops_per_s'))} operations/s, p99 {micros(each.figures.get('p99_us'))}"
    return f"{head}: {'; '.join(filter(None, (rates, _fails(each))))}"


def _fails(each: RepeatedTime) -> str:
    """Return the verdicts on a run that fail."""
    names = ", ".join(name.replace("_", " ") for name in each.failed_verdicts)
    return f"fails: {names}" if names else ""


def _name(record: RepeatedRecord, figure: str) -> str:
    return METRICS[figure].label if figure in METRICS else _called(record, figure)


def _called(record: RepeatedRecord, figure: str) -> str:
    label = _SHOWN[figure][0]
    return label if figure in METRICS else Timed.of(record.workload).at(label)


def _spread(record: RepeatedRecord) -> Section:
    rows = [
        (
            _called(record, name), shown(record.value(name)), shown(record.value(f"{name}_low")),
            shown(record.value(f"{name}_high")),
            percent(record.value(f"{name}_spread_pct")),
        )
        for name, (_, shown) in _SHOWN.items()
    ]  # fmt: skip
    table = TextTable(("", "median", "5 % below", "5 % above", "spread"), rows)
    return Section("Spread between runs", (table,) if len(record.done) > 1 else ())


def _changes(record: RepeatedRecord) -> Section:
    rows = [
        (
            local_moment(each["due_s"]), f"{each['number']}", _called(record, each["figure"]),
            _SHOWN[each["figure"]][1](each["before"]), _SHOWN[each["figure"]][1](each["after"]),
            f"{each['change_pct']:+.1f} %", f"{each['p']:.2g}",
        )
        for each in record.changes
    ]  # fmt: skip
    table = TextTable(("from", "run", "figure", "before", "after", "change", "p"), rows)
    return Section("Change points", (table,) if rows else ())


def _days(record: RepeatedRecord) -> Section:
    """Return the median of each day, if there are several days."""
    days: dict[str, list[RepeatedTime]] = {}
    for each in record.done:
        days.setdefault(f"{datetime.fromtimestamp(each.due_s).astimezone():%a %Y-%m-%d}", []).append(each)
    rows = [
        (day, str(len(of_day)), *(shown(_median(of_day, name)) for name, (_, shown) in _SHOWN.items()))
        for day, of_day in days.items()
    ]
    head = ("day", "runs", *(_called(record, name) for name in _SHOWN))
    return Section("Days", (TextTable(head, rows),) if len(days) > 1 else ())


def _median(done: Sequence[RepeatedTime], name: str) -> float | None:
    known = [value for each in done if (value := each.figures.get(name)) is not None]
    return median(known) if known else None


def _times(record: RepeatedRecord) -> Section:
    times = record.times
    shown = times if len(times) <= MOST_RUNS else [each for each in times if each.state is not TimeState.DONE]
    rows = [
        (
            local_moment(each.due_s), str(each.number), number(each.figures.get("ops_per_s")),
            micros(each.figures.get("p99_us")), each.run or MISSING,
            _fails(each) if each.state is TimeState.DONE else f"{each.state.value}: {each.why}",
        )
        for each in shown[:MOST_RUNS]
    ]  # fmt: skip
    title = "Runs" if len(times) <= MOST_RUNS else "Runs that were not made"
    table = TextTable.ending_in_text(("due", "run", *(_called(record, name) for name in _SHOWN), "record", ""), rows)
    return Section(title, (table,) if rows else ())
