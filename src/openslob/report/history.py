"""The history of a load on a server in words, as a table and as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from openslob.analyze.change_points import MOST_MORE
from openslob.analyze.history import LEAST_RUNS, DriftingFigure, EarlyChange, History, HistoryChange, HistoryRun
from openslob.analyze.outcome import count_noun
from openslob.core.units import format_duration
from openslob.report.document import (
    Answer,
    Document,
    MadePictures,
    Paragraph,
    Section,
    TextTable,
    TitleOfSeveral,
    paragraphs,
    plain_paragraphs,
)
from openslob.report.format import quantity

# Runs in the table of a terminal; with more, those before the last ones are shown only where something changed.
MOST_RUNS = 40
# Of histories with few runs, so many have a line.
MOST_SHORT = 20
_MOST_NAMED = 3


def history_document(found: Sequence[History], whole: bool = False) -> Document:
    """Return the report on the histories; those too short for a change point have a line each, if others are not.

    ``whole``: these have their runs, too.
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
        when(change.started_at), change.figure, quantity(change.before, unit), quantity(change.after, unit),
        f"{change.change_pct:+.1f} %", judged, _name_changes(change.changed),
    )  # fmt: skip


def _run_row(history: History, run: HistoryRun) -> tuple[str, ...]:
    figures = [quantity(run.figures.get(name), history.unit_of(name)) for name in history.figures]
    notes = [f"{format_duration(round(run.gap_s))} without a run"] if run.gap_s else []
    notes += [f"{each.figure} {each.change_pct:+.1f} %" for each in history.changes if each.id == run.id]
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
