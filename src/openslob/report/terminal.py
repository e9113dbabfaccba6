"""Documents as text: the whole report, the answer on one screen, and the answer alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, takewhile

from openslob.analyze.verdict_registry import Severity, VerdictGroup
from openslob.record.model import Holds
from openslob.report.checks import Check, gravest_first
from openslob.report.document import (
    Answer,
    Block,
    Document,
    ItemList,
    Judgement,
    LabelledTexts,
    Paragraph,
    Part,
    Screen,
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
    shorten,
    title_lines,
    warning_lines,
    without_controls,
    wrap,
)

# The lines of the smallest terminal in use, of which the prompt takes one.
LINES = 24
# A screen says so much of why something is wrong, each after a sign of so many letters.
_MOST_LINES, _SIGN = 3, 9
# Running text wider than this is hard to read.
WIDEST = 120
_QUESTIONS = {
    VerdictGroup.VALID: "are the figures what they claim to be?",
    VerdictGroup.READ: "what was read, and from where?",
    VerdictGroup.UNDISTURBED: "did anything else have a part in it?",
    VerdictGroup.LIMIT: "what limits the rate?",
}
_SIGNS = {Holds.FAILS: "✗ FAILS  ", Holds.UNKNOWN: "? unknown", Holds.HOLDS: "✓ holds  "}


def render_text(document: Document, columns: int | None = None) -> str:
    """Return the whole report. Tables are at most ``columns`` wide, or as wide as they need to be."""
    blocks = (block_lines(block, columns) for block in document.blocks)
    title = _title_lines(document.title) if document.titled else []
    return _join([title, *blocks, document.files]) + "\n"


def render_screen(document: Document, columns: int | None = None) -> str:
    """Return the answer on one screen, whose text is as wide as the terminal up to `WIDEST`.

    What makes figures invalid comes first; what fails besides is shown as far as there is room, and else counted.
    """
    screen, width = document.screen, min(columns or WIDTH, WIDEST)
    assert screen is not None, "only a document with a screen has one"
    checks, needing_time = _checks_of(document)
    failing = gravest_first(checks)
    invalid = [each for each in failing if each.severity is Severity.INVALID]
    slight = [each for each in failing if each not in invalid and each.name not in screen.said]
    above = [
        wrap(screen.subject, columns=width),
        _remark_lines(document.title, width),
        [line for each in invalid for line in _check_lines(each, width)],
        [line for text in screen.answer for line in wrap(text, columns=width)],
        _part_lines(screen.parts, columns or WIDTH),
    ]
    below = _next_lines(screen.next, width)
    command = _show_checks(document, screen)
    tally = _tally_lines(checks, needing_time, command, width)
    room = LINES - sum(len(lines) + 1 for lines in (*above, tally, below) if lines)
    if room < bool(slight):
        # What invalidates the figures, and the answer, leave no line: what else fails is counted.
        return _join([*above, [*_count_in_one(checks, slight, len(needing_time), command, width), *below]]) + "\n"
    return _join([*above, [*_slight_lines(slight, room, width), *tally], below]) + "\n"


def render_checks(document: Document, columns: int | None = None) -> str:
    """Return every verdict by the question that it helps to answer, with its name and what follows if it fails."""
    judged = _judgement_of(document)
    lines = judged.lines if judged else ()
    width = min(columns or WIDTH, WIDEST)
    groups = ((group, [line for line in lines if line.group is group]) for group in VerdictGroup)
    parts = [
        [f"{group.upper()}: {_QUESTIONS[group]}", *_lines_in_group(those, width)] for group, those in groups if those
    ]
    return _join(parts or [["There is nothing to check in this record."]]) + "\n"


def render_answer(document: Document) -> str:
    """Return the report in short: the result, how many verdicts hold, and those that fail."""
    if document.screen:
        return _answer_and_failing(document, document.screen)
    short = [_part_lines(section.parts, None) for section in document.sections if section.short or section.short_only]
    judged = document.judgement.lines if document.judgement else ()
    return _join([wrap(document.headline), *short, _failing(judged)])


def _answer_and_failing(document: Document, screen: Screen) -> str:
    checks = gravest_first(_checks_of(document)[0])
    answer = [line for text in screen.answer for line in wrap(text)]
    failing = [line for each in checks for line in _check_lines(each, WIDTH)]
    return _join([_remark_lines(document.title, WIDTH), answer, failing])


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


def _judgement_of(document: Document) -> Judgement | None:
    return (document.screen and document.screen.judged) or document.judgement


def _checks_of(document: Document) -> tuple[list[Check], list[str]]:
    """Return the checks, and what the load was too short for: what is said of it is said once."""
    judged = _judgement_of(document)
    needing_time = judged.needing_time if judged else {}
    checks = [each for each in judged.checks if each.fails or each.name not in needing_time] if judged else []
    return checks, list(needing_time.values())


def _remark_lines(title: Title | TitleOfSeveral, columns: int) -> list[str]:
    """Return what must be read first: that a record is not complete, what its server is."""
    if isinstance(title, TitleOfSeveral):
        return warning_lines(title.remarks, columns)
    lines = warning_lines(title.warnings, columns)
    text = shorten(title.incomplete, _MOST_LINES * columns - 2 * _SIGN)
    return lines + (hanging(f"!! {title.status.upper()}: ", text, columns) if text else [])


def _check_lines(check: Check, columns: int, advised: bool = True) -> list[str]:
    """Return a verdict that fails with what to do; a note, which is only good to know, without."""
    if check.severity is Severity.INVALID:
        text = shorten(check.why, _MOST_LINES * columns - 2 * _SIGN - len(check.remedy))
        return wrap(f"{text} {check.remedy}", f"{'INVALID':<{_SIGN}}", " " * _SIGN, columns)
    remedy = check.remedy if advised and check.severity is Severity.CAUTION else ""
    return hanging(f"{check.severity.value:<{_SIGN}}", f"{check.why} {remedy}".rstrip(), columns)


def _slight_lines(checks: Sequence[Check], room: int, columns: int) -> list[str]:
    """Return these checks with what to do; without it, or only the first, where there is no room for all."""
    if not checks:
        return []
    for advised in (True, False):
        each = [_check_lines(check, columns, advised) for check in checks]
        if sum(map(len, each)) <= room:
            return [line for lines in each for line in lines]
    # How many are left takes a line, too.
    fits = list(takewhile(lambda used: used < room, accumulate(map(len, each))))
    left = len(each) - len(fits)
    more = f"{left}{' more' if fits else ''} {'check fails' if left == 1 else 'checks fail'}"
    return [*(line for lines in each[: len(fits)] for line in lines), f"{INDENT}{more}"]


def _tally_lines(checks: Sequence[Check], needing_time: Sequence[str], command: str, columns: int) -> list[str]:
    """Return how many checks hold, how many can't tell, and what the load was too short for."""
    if not checks:
        return []
    hold, unknown = _count_outcomes(checks)
    also = f", {unknown} can't tell" if unknown else ""
    counts = f"{hold} check{' holds' if hold == 1 else 's hold'}{also}"
    short = hanging("note     ", f"Too short to tell {' and '.join(needing_time)}.", columns) if needing_time else []
    return [*short, *_before_command(counts, command, columns)]


def _count_in_one(
    checks: Sequence[Check], failing: Sequence[Check], needing_time: int, command: str, columns: int
) -> list[str]:
    """Return how many checks besides the invalid ones fail, how many hold, and how many can't tell."""
    if not checks:
        return []
    hold, unknown = _count_outcomes(checks)
    fails = f"{len(failing)} more {'fails' if len(failing) == 1 else 'fail'}, " if failing else ""
    unknown += needing_time
    also = f", {unknown} unknown" if unknown else ""
    return _before_command(f"{fails}{hold} {'holds' if hold == 1 else 'hold'}{also}", command, columns)


def _count_outcomes(checks: Sequence[Check]) -> tuple[int, int]:
    """Return how many checks hold, and how many can't tell."""
    outcomes = Counter(each.outcome for each in checks)
    return outcomes[Holds.HOLDS], outcomes[Holds.UNKNOWN]


def _before_command(counts: str, command: str, columns: int) -> list[str]:
    in_one = f"{INDENT}{counts}: {command}"
    return [in_one] if len(in_one) <= columns else [f"{INDENT}{counts}:", f"{INDENT * 2}{command}"]


def _show_checks(document: Document, screen: Screen) -> str:
    called = screen.called or (document.title.id if isinstance(document.title, Title) else "")
    return f"slob show {called} --checks" if called else "slob show --checks"


def _next_lines(commands: Sequence[tuple[str, str]], columns: int) -> list[str]:
    """Return commands, each with why beside it where that fits; a command stays in one line."""
    room = columns - len(INDENT) * 3
    width = max((len(command) for command, why in commands if why and len(command) + len(why) <= room), default=0)
    lines = []
    for command, why in commands:
        is_beside = max(width, len(command)) + len(why) <= room
        lines += [f"{INDENT}{command:<{width}}{INDENT * 2}{why}".rstrip()] if is_beside else [f"{INDENT}{command}"]
        lines += [] if is_beside else [f"{INDENT * 3}{why}"]
    return lines


def _lines_in_group(lines: Sequence[VerdictLine], columns: int) -> list[str]:
    width = max(len(line.name) for line in lines)
    return [
        text
        for line in lines
        for text in hanging(f"{_outcome(line):<13}{line.name.replace(' ', '_'):<{width}}  ", line.why, columns)
    ]


def _outcome(line: VerdictLine) -> str:
    """Return the outcome of a verdict, with what follows if it fails."""
    return f"{line.sign} {line.word.upper() if line.word == Severity.INVALID.value else line.word}"
