"""Documents as text: the whole report, and the short answer."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.record.model import Holds
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
    TitleOfSeveral,
    VerdictLine,
)
from openslob.report.format import (
    INDENT,
    WIDTH,
    fold_table,
    hanging,
    pairs,
    title_lines,
    warning_lines,
    without_controls,
    wrap,
)

_SIGNS = {Holds.FAILS: "✗ FAILS  ", Holds.UNKNOWN: "? unknown", Holds.HOLDS: "✓ holds  "}


def render_text(document: Document, columns: int | None = None) -> str:
    """Return the whole report. Tables are at most ``columns`` wide, or as wide as they need to be."""
    blocks = (block_lines(block, columns) for block in document.blocks)
    title = _title_lines(document.title) if document.titled else []
    return _join([title, *blocks, document.files]) + "\n"


def render_answer(document: Document) -> str:
    """Return the report in short: the result, how many verdicts hold, and those that fail."""
    short = [_part_lines(section.parts, None) for section in document.sections if section.short or section.short_only]
    judged = document.judgement.lines if document.judgement else ()
    return _join([wrap(document.headline), *short, _failing(judged)])


def render_blocks(blocks: Sequence[Block], columns: int | None = None) -> str:
    """Return a part of a report, such as a plan."""
    return _join([block_lines(block, columns) for block in blocks])


def _join(parts: Sequence[Sequence[str]]) -> str:
    return without_controls("\n\n".join("\n".join(lines) for lines in parts if lines))


def _title_lines(title: Title | TitleOfSeveral) -> list[str]:
    if isinstance(title, TitleOfSeveral):
        return [*wrap(title.heading), *wrap(title.introduction), *warning_lines(title.remarks)]
    lines = [*title_lines(title.id, f"{title.started}, openslob {title.version}"), *wrap(title.about)]
    lines += warning_lines(title.warnings)
    return lines + (hanging(f"!! {title.status.upper()}: ", title.incomplete) if title.incomplete else [])


def block_lines(block: Block, columns: int | None = None) -> list[str]:
    """Return a block as lines; none for one that has nothing to show."""
    if isinstance(block, Answer):
        return [] if block.page_only else wrap(block.sentences[0])
    if isinstance(block, Section):
        if block.page_only or block.short_only:
            return []
        lines = _part_lines(block.parts, columns)
        return [block.title.upper() + block.rest, *lines] if lines and block.title else lines
    return _verdict_lines(block.lines)


def _part_lines(parts: Sequence[Part], columns: int | None) -> list[str]:
    return [line for part in parts for line in _lines_of(part, columns)]


def _lines_of(part: Part, columns: int | None) -> list[str]:
    match part:
        case Paragraph(text, lead, plain=True, wide=wide):
            return _at_margin(text, lead, columns if wide else WIDTH)
        case Paragraph(text, lead):
            return hanging(lead, text)
        case ItemList(items):
            return [line for item in items for line in hanging(f"{INDENT}- ", item)]
        case LabelledTexts(rows, width, figures):
            return pairs(_at_one_end(rows) if figures else rows, least=width)
        case TextTable():
            return fold_table(part.head, part.rows[: part.few], columns, part.keys, part.texts)
        case _:
            return list(part.draw(columns))


def _at_margin(text: str, lead: str, columns: int | None) -> list[str]:
    return [f"{lead}{text}"] if columns is None else wrap(text, lead, " " * len(lead), columns)


def _at_one_end(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    width = max(len(text) for _, text in rows)
    return [(label, f"{text:>{width}}") for label, text in rows]


def _failing(lines: Sequence[VerdictLine]) -> list[str]:
    """Return how many verdicts hold, and those that fail."""
    fails = [line for line in lines if line.outcome is Holds.FAILS]
    return [_verdict_counts(lines), *_verdict_lines(fails)[1:]] if lines else []


def _verdict_lines(lines: Sequence[VerdictLine]) -> list[str]:
    if not lines:
        return []
    width = max(len(line.name) for line in lines)
    shown = [hanging(f"{_SIGNS[line.outcome]}  {line.name:<{width}}  ", line.why) for line in lines]
    return [_verdict_counts(lines), *(text for texts in shown for text in texts)]


def _verdict_counts(lines: Sequence[VerdictLine]) -> str:
    counts = {outcome: sum(line.outcome is outcome for line in lines) for outcome in _SIGNS}
    if counts[Holds.HOLDS] == len(lines):
        return f"VERDICTS: all {len(lines)} hold"
    fails = counts[Holds.FAILS]
    banner = f"!! {fails} FAIL{'S' if fails == 1 else ''}" if fails else "none fails"
    return f"VERDICTS: {banner}, {counts[Holds.UNKNOWN]} unknown, {counts[Holds.HOLDS]} hold"
