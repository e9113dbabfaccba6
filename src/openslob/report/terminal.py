"""Documents as text: the whole report, and the short answer."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.record.model import Holds, Verdict
from openslob.report.document import (
    Answer,
    Block,
    Document,
    ItemList,
    LabelledTexts,
    Paragraph,
    Part,
    Section,
    TextTable,
    Title,
)
from openslob.report.folding import folded
from openslob.report.format import INDENT, hanging, pairs, title_lines, warning_lines, without_controls, wrapped

_SIGNS = {Holds.FAILS: "✗ FAILS  ", Holds.UNKNOWN: "? unknown", Holds.HOLDS: "✓ holds  "}


def render_text(document: Document, columns: int | None = None) -> str:
    """Return the whole report. Tables are at most ``columns`` wide, or as wide as they need to be."""
    blocks = (block_lines(block, columns) for block in document.blocks)
    title = _title_lines(document.title) if document.titled else []
    return _joined([title, *blocks, document.files]) + "\n"


def render_answer(document: Document) -> str:
    """Return the report in short: the result, how many verdicts hold, and those that fail."""
    short = [_part_lines(section.parts, None) for section in document.sections if section.short or section.short_only]
    return _joined([wrapped(document.headline), *short, _failing(document.verdicts)])


def render_blocks(blocks: Sequence[Block], columns: int | None = None) -> str:
    """Return a part of a report, such as a plan."""
    return _joined([block_lines(block, columns) for block in blocks])


def _joined(parts: Sequence[Sequence[str]]) -> str:
    return without_controls("\n\n".join("\n".join(lines) for lines in parts if lines))


def _title_lines(title: Title) -> list[str]:
    lines = [*title_lines(title.id, f"{title.started}, openslob {title.version}"), *wrapped(title.about)]
    lines += warning_lines(title.warnings)
    return lines + (hanging(f"!! {title.status.upper()}: ", title.incomplete) if title.incomplete else [])


def block_lines(block: Block, columns: int | None = None) -> list[str]:
    """Return a block as lines; none for one that has nothing to show."""
    if isinstance(block, Answer):
        return wrapped(block.sentences[0])
    if isinstance(block, Section):
        if block.page_only or block.short_only:
            return []
        lines = _part_lines(block.parts, columns)
        return [block.title.upper() + block.rest, *lines] if lines and block.title else lines
    return _verdict_lines(block.judged)


def _part_lines(parts: Sequence[Part], columns: int | None) -> list[str]:
    return [line for part in parts for line in _lines_of(part, columns)]


def _lines_of(part: Part, columns: int | None) -> list[str]:
    match part:
        case Paragraph(text, lead, plain):
            return wrapped(text) if plain else hanging(lead, text)
        case ItemList(items):
            return [line for item in items for line in hanging(f"{INDENT}- ", item)]
        case LabelledTexts(rows, width, figures):
            return pairs(_at_one_end(rows) if figures else rows, least=width)
        case TextTable():
            return folded(part.head, part.rows[: part.few], columns, part.keys, part.texts)
        case _:
            return list(part.draw(columns))


def _at_one_end(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    width = max(len(text) for _, text in rows)
    return [(label, f"{text:>{width}}") for label, text in rows]


def _failing(judged: Sequence[Verdict]) -> list[str]:
    """Return how many verdicts hold, and those that fail."""
    fails = [verdict for verdict in judged if verdict.verdict is Holds.FAILS]
    return [_verdict_counts(judged), *_verdict_lines(fails)[1:]] if judged else []


def _verdict_lines(judged: Sequence[Verdict]) -> list[str]:
    """Return the verdicts as lines, failed ones first."""
    if not judged:
        return []
    order = list(_SIGNS)
    width = max(len(_name(verdict)) for verdict in judged)
    lines = [_verdict_counts(judged)]
    for verdict in sorted(judged, key=lambda verdict: order.index(verdict.verdict)):
        lines += hanging(f"{_SIGNS[verdict.verdict]}  {_name(verdict):<{width}}  ", verdict.why)
    return lines


def _verdict_counts(judged: Sequence[Verdict]) -> str:
    counts = {outcome: sum(verdict.verdict is outcome for verdict in judged) for outcome in _SIGNS}
    if counts[Holds.HOLDS] == len(judged):
        return f"VERDICTS: all {len(judged)} hold"
    names = [_name(verdict) for verdict in judged if verdict.verdict is Holds.FAILS]
    banner = f"!! {len(names)} FAIL{'S' if len(names) == 1 else ''}" if names else "none fails"
    return f"VERDICTS: {banner}, {counts[Holds.UNKNOWN]} unknown, {counts[Holds.HOLDS]} hold"


def _name(verdict: Verdict) -> str:
    return verdict.name.replace("_", " ")
