"""Records as small pieces of HTML for notebooks: answer, verdicts and main figures, in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from openslob.record.model import Holds, RunRecord, Status, Verdict
from openslob.report.document import Document
from openslob.report.format import MISSING, number
from openslob.report.headline import headline
from openslob.report.record_view import SIGNS, label, show_figure

# Figures of a run that are shown where they are known.
MAIN_FIGURES = (
    "sessions", "ops_per_s", "lio_per_s", "pio_read_per_s", "pio_read_mb_per_s", "engine_read_latency_us",
    "pio_write_per_s", "redo_mb_per_s", "commits_per_s", "db_cpu_per_s", "iops_per_db_cpu", "lio_per_db_cpu",
    "host_cpu_left_pct",
)  # fmt: skip
# A wide table scrolls in its cell.
_BOX = '<div style="overflow-x:auto">'

Cell = str | int | float | bool | None


def run_html(record: RunRecord) -> str:
    """Return a run: its headline, the verdicts that do not hold, the number of the others, and the main figures."""
    known = [name for name in MAIN_FIGURES if record.value(name)]
    figures = [(label(record, name), show_figure(record, name)) for name in known]
    ended = "" if record.status is Status.COMPLETE else f" ({record.status.value})"
    errors = [f"✗ {error}" for error in record.errors]
    return _block(
        f"{record.name}{ended}",
        [headline(record), *errors],
        [*_verdicts(record.verdicts), _table(("figure", "value"), figures)],
    )


def document_html(document: Document, head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a report with one table: its answers, the verdicts that do not hold, and the number of the others."""
    table = [_table(head, rows)] if rows else []
    return _block(document.title.in_short, document.answers, [*_verdicts(document.verdicts), *table])


def known_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Return a table without the columns in which nothing is known."""
    kept = [at for at in range(len(head)) if any(row[at] != MISSING for row in rows)]
    return [head[at] for at in kept], [[row[at] for at in kept] for row in rows]


def lines_html(title: str, lines: Sequence[str], head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a title, paragraphs and a table."""
    return _block(title, lines, [_table(head, rows)] if rows else [])


def table_html(head: Sequence[str], rows: Sequence[Sequence[Cell]], total: int) -> str:
    """Return the first rows of a table, and how many rows it has."""
    more = f"<p>{len(rows)} of {total:,} rows</p>" if len(rows) < total else ""
    return f"{_BOX}{_table(head, rows)}{more}</div>"


def _verdicts(verdicts: Sequence[Verdict]) -> list[str]:
    if not verdicts:
        return []
    bad = [verdict for outcome in (Holds.FAILS, Holds.UNKNOWN) for verdict in verdicts if verdict.verdict is outcome]
    rows = [(SIGNS[each.verdict][0], each.name.replace("_", " "), each.why) for each in bad]
    held = len(verdicts) - len(bad)
    return [
        *([_table(("", "verdict", "why"), rows)] if rows else []),
        f"<p>{SIGNS[Holds.HOLDS][0]} {held} of {len(verdicts)} verdicts hold.</p>",
    ]


def _block(title: str, lines: Sequence[str], parts: Sequence[str]) -> str:
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f"{_BOX}<p><b>{escape(title)}</b></p>{paragraphs}{''.join(parts)}</div>"


def _table(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    heading = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{heading}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(cell: Cell) -> str:
    if isinstance(cell, float):
        return f"<td>{number(cell)}</td>"
    text = "–" if cell is None else escape(str(cell))
    side = ' style="text-align:left"' if isinstance(cell, str) else ""
    return f"<td{side}>{text}</td>"
