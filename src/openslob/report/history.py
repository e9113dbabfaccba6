"""The history of a load on a server in words, as a table and as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from openslob.analyze.change_points import MOST_MORE
from openslob.analyze.history import LEAST_RUNS, DriftingFigure, EarlyChange, History, HistoryChange, HistoryRun
from openslob.analyze.outcome import count_noun
from openslob.core.units import format_duration
from openslob.report.comparison import figure_label, figure_text
from openslob.report.document import (
    Answer,
    Document,
    MadePictures,
    Paragraph,
    Screen,
    Section,
    TextTable,
    TitleOfSeveral,
    paragraphs,
    plain_paragraphs,
)
from openslob.report.format import shorten

# Runs in the table of a terminal; with more, those before the last ones are shown only where something changed.
MOST_RUNS = 40
# Of histories with few runs, so many have a line.
MOST_SHORT = 20
_MOST_NAMED = 3
# Of the runs on one screen, the last ones, and as many with which something changed.
_LAST_RUNS = 5
_MOST_LOADS = 8
_WIDEST_CHANGE, _WIDEST_LOAD = 28, 40
_NAMES = {
    "ops_per_s": "operations",
    "transactions_per_s": "transactions",
    "op_mean_us": "mean of {}",
    "op_p99_us": "p99 of {}",
}


def history_document(found: Sequence[History], whole: bool = False, again: str = "") -> Document:
    """Return the report on the histories; those too short for a change point have a line each, if others are not.

    ``whole``: these have their runs, too. ``again`` is the command that makes it.
    """
    shown = list(found) if whole else long_enough(found)
    short = [each for each in found if each not in shown]
    runs = sum(len(each.runs) for each in found)
    changes = tuple(change_sentence(change) for each in found for change in each.changes)
    unsure = tuple(sentence for each in found for sentence in open_questions(each))
    return Document(
        TitleOfSeveral(describe(found), f"All runs: {runs}, of {count_noun(len(found), 'load')}."),
        (
            Answer((*(changes or ("No figure has a change point.",)), *unsure), page_only=True),
            *(block for each in shown for block in _sections(each)),
            *([_list_short(short)] if short else []),
        ),
        pictures=lambda: _draw(found),
        titled=False,
        screen=_screen(found, again),
    )


def long_enough(found: Sequence[History]) -> list[History]:
    """Return the histories with runs enough for a change point; all of them if none has."""
    return [each for each in found if each.is_long] or list(found)


def _list_short(short: Sequence[History]) -> Section:
    """Return the latest of the histories with few runs, in a table of their own."""
    head = ("last run (UTC)", "runs", "server", "load")
    rows = [(when(each.runs[-1].started_at), str(len(each.runs)), each.server, each.words) for each in reversed(short)]
    left = len(rows) - MOST_SHORT
    more = [f"{left} more are not shown; name a server or a --load, or use --all"] if left > 0 else []
    return Section(
        f"Fewer than {LEAST_RUNS} runs",
        (TextTable(head, rows[:MOST_SHORT], texts=frozenset({0, 2, 3})), *paragraphs(more)),
        ", too few for a change point (--all shows each of them)",
    )


def describe(found: Sequence[History]) -> str:
    """Return what the histories that are shown are of."""
    shown = long_enough(found)
    runs = sum(len(each.runs) for each in shown)
    return headline(shown[-1]) if len(shown) == 1 else f"{runs} runs of {len(shown)} loads over time"


def headline(history: History) -> str:
    """Return whose history it is, and of which time."""
    days = [run.started_at[:10] for run in (history.runs[0], history.runs[-1])]
    count = f"{len(history.runs)} run{'' if len(history.runs) == 1 else 's'}"
    return f"{history.server} on {history.host}: {history.words}, {count}, {' to '.join(dict.fromkeys(days))}"


def _screen(found: Sequence[History], again: str) -> Screen:
    """Return the histories on one screen: what changed and when, and what needs more runs for that."""
    shown = long_enough(found)
    single = shown[0] if len(shown) == 1 else None
    return Screen(
        subject=headline(single) if single else describe(found),
        answer=(_answer(shown), *_needs_runs([each for each in found if not each.is_long], single)),
        parts=(_latest_runs(single) if single else _loads_table(shown),),
        next=((f"{again} --all", "every run"), (f"{again} --picture history.html", "a picture")) if again else (),
    )


def _answer(shown: Sequence[History]) -> str:
    """Return what changed last, or that nothing did."""
    long = [each for each in shown if each.is_long]
    if not long:
        return f"No change can be seen yet: no load has {LEAST_RUNS} runs."
    return _answer_of_one(long[0]) if len(long) == 1 else _answer_of_several(long)


def _answer_of_one(history: History) -> str:
    """Return the last changes, of the figures that changed with one run in a sentence, and what may be one."""
    together: dict[str, list[HistoryChange]] = {}
    for change in sorted(history.changes, key=lambda change: -change.at):
        together.setdefault(change.id, []).append(change)
    said = [_say_changes(history, changes) for changes in together.values()]
    unsure = [f"{sentence}." for sentence in open_questions(history)]
    more = len(said[_MOST_NAMED:]) + len(unsure[1:])
    said = said[:_MOST_NAMED] or _say_unchanged(history)
    return " ".join([*said, *unsure[:1], *([f"{more} more: --all."] if more else [])])


def _answer_of_several(shown: Sequence[History]) -> str:
    """Return how many loads changed, with the last change of one, for the worse if there is such a one."""
    runs = count_noun(sum(len(each.runs) for each in shown), "run")
    changed = [each for each in shown if each.changes]
    worse = [each for each in changed if any(change.worse for change in each.changes)]
    unsure = sum(len(each.early) + len(each.drifts) for each in shown)
    also = f" {count_noun(unsure, 'figure')} may be changing, or drift: --all." if unsure else ""
    if not changed:
        return f"No change in {runs} of {len(shown)} loads.{also}"
    judged = f", {len(worse)} for the worse" if worse else ""
    first = (worse or changed)[-1]
    last = max(first.changes, key=lambda change: change.at)
    sentence = _say_changes(first, [each for each in first.changes if each.id == last.id])
    of = f"{first.server}, {first.words}: {sentence[:1].lower()}{sentence[1:]}"
    return f"{len(changed)} of {len(shown)} loads changed{judged}. {of}{also}"


def _say_unchanged(history: History) -> list[str]:
    """Return within what the figures stayed, or of how few runs they are known."""
    known = {
        figure: [value for run in history.runs if (value := run.figures.get(figure)) is not None]
        for figure in history.figures
    }
    enough = next((figure for figure, values in known.items() if len(values) >= LEAST_RUNS), None)
    few = [
        f"{_name(history, figure).capitalize()} are known of {count_noun(len(values), 'run')}: too few to see a change."
        for figure, values in known.items()
        if len(values) < LEAST_RUNS
    ]
    if enough is None:
        return few
    unit, values = history.unit_of(enough), known[enough]
    span = f"{figure_text(min(values), unit)} to {figure_text(max(values), unit)}"
    return [f"No change in {count_noun(len(values), 'run')}: {_name(history, enough)} {span}.", *few]


def _say_changes(history: History, changes: Sequence[HistoryChange]) -> str:
    """Return the changes with one run in a sentence, and what else changed then."""
    judged = [{True: "worse", False: "better", None: ""}[change.worse] for change in changes]
    alike = len(set(judged)) == 1
    moves = []
    for change, word in zip(changes, judged, strict=True):
        unit = history.unit_of(change.figure)
        levels = f"{figure_text(change.before, unit)} to {figure_text(change.after, unit)}"
        way = "rose" if change.change_pct > 0 else "fell"
        own = f", {word}" if word and not alike else ""
        moves.append(f"{_name(history, change.figure)} {way} by {abs(change.change_pct):.1f} % ({levels}{own})")
    sentence = f"{' and '.join(moves)} from {when(changes[0].started_at)} on"
    also = f" With it changed: {_name_changes(changes[0].changed)}." if changes[0].changed else ""
    return f"{sentence[:1].upper()}{sentence[1:]}{f': {judged[0]}' if alike and judged[0] else ''}.{also}"


def _name(history: History, figure: str) -> str:
    label = _NAMES.get(figure) or figure_label(figure, physical=False, timed=history.timed)
    return label.format(history.timed.many())


def _needs_runs(short: Sequence[History], single: History | None) -> Iterator[str]:
    """Yield in one line which loads have too few runs for a change."""
    if not short:
        return
    nearest = max(short, key=lambda each: (len(each.runs), each.runs[-1].started_at))
    missing = count_noun(LEAST_RUNS - len(nearest.runs), "more run")
    if single is nearest:
        yield f"To see a change takes {LEAST_RUNS} runs: {missing}."
        return
    loads = f"{count_noun(len(short), 'load')} {'has' if len(short) == 1 else 'have'}"
    near = f"{nearest.words} on {nearest.server}"
    yield f"{loads} fewer than {LEAST_RUNS} runs, too few to see a change: {near} needs {missing}."


def _latest_runs(history: History) -> TextTable:
    """Return the runs with which something changed, and the last ones."""
    begins = {each.at for each in history.changes}
    count = len(history.runs)
    changed = [at for at in range(count - _LAST_RUNS) if at in begins or history.runs[at].changed]
    shown = [*changed[-_LAST_RUNS:], *range(max(0, count - _LAST_RUNS), count)]
    head = ("begun (UTC)", *(_name(history, figure) for figure in history.figures), "what changed")
    # The answer has what the figures did; what else changed has one line.
    rows = [_run_row(history, history.runs[at], steps=False) for at in shown]
    return TextTable.ending_in_text(head, [(*row[:-1], shorten(row[-1], _WIDEST_CHANGE)) for row in rows])


def _loads_table(shown: Sequence[History]) -> TextTable:
    """Return a row for each load, changed ones and then the latest first."""
    latest = sorted(shown, key=lambda each: each.runs[-1].started_at, reverse=True)
    servers = {each.server for each in shown}
    alone = next(iter(servers)) if len(servers) == 1 else ""
    rows = [_load_row(each, not alone) for each in sorted(latest, key=lambda each: not each.changes)]
    left = len(rows) - _MOST_LOADS
    more = [(f"{left} more: --all", *("",) * 4)] if left > 0 else []
    head = (f"load on {alone}" if alone else "server: load", "runs", "last (UTC)", "now", "change")
    return TextTable(head, [*rows[:_MOST_LOADS], *more], texts=frozenset({0}))


def _load_row(history: History, with_server: bool) -> tuple[str, ...]:
    figure, last = history.figures[0], history.runs[-1]
    change = next((each for each in reversed(history.changes) if each.figure == figure), None)
    now = figure_text(last.figures.get(figure), history.unit_of(figure))
    moved = f"{change.change_pct:+.1f} %" if change else ""
    load = f"{history.server}: {history.words}" if with_server else history.words
    return shorten(load, _WIDEST_LOAD), str(len(history.runs)), when(last.started_at)[:10], now, moved


def _draw(found: Sequence[History]) -> MadePictures:
    from openslob.report.charts.history import history_picture  # noqa: PLC0415 - takes a second to import

    return (history_picture(found),), ""


def change_sentence(change: HistoryChange) -> str:
    """Return a change point in words."""
    return f"{_say_step(change)} (run {change.id})"


def early_sentence(step: EarlyChange) -> str:
    """Return in words what may become a change point, and what that takes."""
    more = f"more than {MOST_MORE}" if step.more is None else str(step.more)
    runs = "run" if step.more == 1 else "runs"
    return f"{_say_step(step)}: too early to say; it takes {more} more {runs} like those since (run {step.id})"


def drift_sentence(history: History, drift: DriftingFigure) -> str:
    """Return in words that a change of a figure can't be distinguished from slow drift, and of which runs."""
    begin, end = history.runs[drift.begin], history.runs[drift.end - 1]
    return (
        f"{drift.figure} from {when(begin.started_at)} to {when(end.started_at)}: a change can't be distinguished from "
        f"slow drift, as neighbouring runs are alike (correlation {drift.correlation:.2f})"
    )


def open_questions(history: History) -> list[str]:
    """Return in words what may be a change of a figure, or not."""
    drifts = [drift_sentence(history, each) for each in history.drifts]
    return [*(early_sentence(each) for each in history.early), *drifts]


def _say_step(step: HistoryChange | EarlyChange) -> str:
    how = {True: ", worse", False: ", better", None: ""}[step.worse]
    return f"{step.figure} {step.change_pct:+.1f} % from {when(step.started_at)} on{how}"


def when(started_at: str) -> str:
    """Return a time of a record as tables show it, in UTC."""
    return started_at.replace("T", " ")[:16]


def _sections(history: History) -> Iterator[Section]:
    """Yield whose history it is, its change points, and its runs."""
    left_out = [f"{history.left_out} more failed or were interrupted, and are left out"] if history.left_out else []
    yield Section("", (Paragraph(headline(history), plain=True, wide=True), *plain_paragraphs(left_out)))
    yield _show_changes(history)
    shown = [run for at, run in enumerate(history.runs) if _is_shown(history, at, run)]
    left = len(history.runs) - len(shown)
    more = [f"{left} earlier runs without a change are not shown; -f csv has all"] if left else []
    head = ("begun (UTC)", *history.figures, "what changed")
    yield Section(
        "Runs", (TextTable.ending_in_text(head, [_run_row(history, run) for run in shown]), *paragraphs(more))
    )


def _show_changes(history: History) -> Section:
    unsure = plain_paragraphs(open_questions(history))
    if history.changes:
        head = ("from (UTC)", "figure", "before", "after", "change", "", "what else changed")
        rows = [_change_row(each, history.unit_of(each.figure)) for each in history.changes]
        return Section("Change points", (TextTable(head, rows, texts=frozenset({0, 1, 5, 6})), *unsure))
    few = len(history.runs) < LEAST_RUNS
    why = f"can be seen in fewer than {LEAST_RUNS} runs" if few else f"among {len(history.runs)} runs"
    return Section("", (Paragraph(f"no change point {why}", plain=True), *unsure))


def _is_shown(history: History, at: int, run: HistoryRun) -> bool:
    begins = {each.at for each in history.changes}
    return at >= len(history.runs) - MOST_RUNS or bool(run.changed or run.gap_s) or at in begins


def _change_row(change: HistoryChange, unit: str) -> tuple[str, ...]:
    judged = {True: "worse", False: "better", None: ""}[change.worse]
    return (
        when(change.started_at), change.figure, figure_text(change.before, unit), figure_text(change.after, unit),
        f"{change.change_pct:+.1f} %", judged, _name_changes(change.changed),
    )  # fmt: skip


def _run_row(history: History, run: HistoryRun, steps: bool = True) -> tuple[str, ...]:
    figures = [figure_text(run.figures.get(name), history.unit_of(name)) for name in history.figures]
    notes = [f"{format_duration(round(run.gap_s))} without a run"] if run.gap_s else []
    notes += [f"{each.figure} {each.change_pct:+.1f} %" for each in history.changes if steps and each.id == run.id]
    return when(run.started_at), *figures, "; ".join([*notes, *([_name_changes(run.changed)] if run.changed else [])])


def _name_changes(changed: Sequence[str]) -> str:
    more = f"; and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
    return f"{'; '.join(changed[:_MOST_NAMED])}{more}"


def history_json(history: History) -> dict[str, Any]:
    """Return a history as plain values."""
    return {
        "target": history.target,
        "server": history.server,
        "host": history.host,
        "load": history.load,
        "parameters": dict(history.parameters),
        "left_out": history.left_out,
        "currency": history.currency or None,
        "changes": [{**vars(each), "changed": list(each.changed)} for each in history.changes],
        "early": [vars(each) for each in history.early],
        "drifts": [vars(each) for each in history.drifts],
        "runs": [
            {
                "id": run.id, "started_at": run.started_at, "figures": dict(run.figures),
                "changed": list(run.changed), "gap_s": run.gap_s,
            }
            for run in history.runs
        ],
    }  # fmt: skip


def history_rows(found: Sequence[History]) -> tuple[list[str], list[list[Any]]]:
    """Return columns and rows of a table: a row for each run."""
    names = list(dict.fromkeys(name for each in found for name in each.figures))
    changes_of = [f"{name}_change_pct" for name in names]
    columns = ["target", "host", "load", "id", "started_at", *names, *changes_of, "currency", "gap_s", "changed"]
    rows = []
    for each in found:
        changes = {(change.figure, change.at): change.change_pct for change in each.changes}
        for at, run in enumerate(each.runs):
            rows.append([
                each.target, each.host, each.load, run.id, run.started_at, *(run.figures.get(n) for n in names),
                *(changes.get((n, at)) for n in names), each.currency or None, run.gap_s, "; ".join(run.changed),
            ])  # fmt: skip
    return columns, rows
