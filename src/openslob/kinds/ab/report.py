"""The report of a comparison in pairs: the decision, the figures of both sides, how it came about, and each run."""

from __future__ import annotations

from math import ceil
from pathlib import Path

from openslob.analyze.compare import unit_of
from openslob.analyze.load_kinds import loop_in_words, mix_in_words
from openslob.analyze.outcome import count_noun
from openslob.analyze.sequential import LEAST_PAIRS, Decision, pairs_needed
from openslob.core.units import format_duration
from openslob.core.workload import Workload
from openslob.kinds.ab.figures import DECIDED, is_invalid, values
from openslob.kinds.ab.record import AB_FILE, AbLook, AbRatio, AbRecord, AbRun, AbSide
from openslob.metrics import Timed
from openslob.report.comparison import figure_label, figure_text
from openslob.report.document import (
    Answer,
    Document,
    MadePictures,
    Screen,
    Section,
    TextTable,
    Verdicts,
    named_paragraphs,
    notes,
    plain_paragraphs,
    title_of,
)
from openslob.report.format import MISSING, number
from openslob.report.record_view import name_record

# From this ratio on, and below its inverse, "3.2 times" says more than "+220 %".
_TIMES = 2.0
_WORDS = {
    Decision.BETTER: "Better",
    Decision.WORSE: "Worse",
    Decision.SAME: "The same within {within:g} %",
    Decision.UNDECIDED: "Undecided",
}


def ab_document(record: AbRecord, folder: Path | None = None) -> Document:
    """Return the report; if ``folder`` is given, its last line names the record's file."""
    return Document(
        title_of(
            record, "comparison in pairs", f"{record.sides[0].text} and {record.sides[1].text}", subject_of(record),
            record.errors[0] if record.errors else "",
        ),
        (
            Answer(tuple(ab_answers(record))),
            Section("Both sides", (_figures(record),) if _known(record) else (), short=True),
            Section("", plain_paragraphs(_how(record))),
            Verdicts(record.verdicts),
            Section("Looks", (_looks(record),) if record.looks else ()),
            Section("Runs", (_runs(record),) if record.runs else ()),
            Section("Sides", named_paragraphs(zip("AB", map(_side, record.sides), strict=True))),
            notes(record.notes),
        ),
        (f"record: {folder / AB_FILE}",) if folder else (),
        lambda: _pictures(record),
        screen=_screen(record, folder),
    )  # fmt: skip


def _pictures(record: AbRecord) -> MadePictures:
    from openslob.kinds.ab.pictures import ab_picture  # noqa: PLC0415 - takes a second to import

    picture = ab_picture(record)
    return [picture] if picture else [], ""


def _screen(record: AbRecord, folder: Path | None) -> Screen:
    called = name_record(record.id, folder)
    first, *more = ab_answers(record)
    spoiled = [
        f"{count_noun(len(found), 'run')} {what}"
        for found, what in ((record.discarded, "discarded and made again"), (_failed(record), "failed"))
        if found
    ]
    not_counted = [f"{' and '.join(spoiled)}: not counted."] * bool(spoiled)
    needed = more_needed(record) if record.decision == Decision.UNDECIDED and not is_invalid(record) else None
    longer = ceil((needed or 0) * record.spent_s / max(1, record.looks[-1].pairs) / 60) if record.looks else 0
    again = [(f"slob ab … --for {longer}m", f"would tell ± {record.within_pct:g} %")] if needed else []
    shown = _known(record) and not is_invalid(record)
    return Screen(
        subject_of(record), (first, *more, *not_counted), (_figures(record),) if shown else (),
        (
            *again, (f"slob report {called}", "a page with the interval after each pair"),
            (f"slob show {called} --all", "each look and each run"),
        ), called, frozenset({DECIDED}),
    )  # fmt: skip


def subject_of(record: AbRecord) -> str:
    """Return what is compared, on what, under which load, in a line."""
    load = Workload.model_validate(record.workload)
    a, b = record.sides
    where = a.target if a.target == b.target else f"{a.target} and {b.target}"
    what = f"{record.product or 'A'} on {where}" if record.product else where
    sessions = count_noun(load.total_sessions, "session")
    return f"{what}: A {a.text}, B {b.text}; {sessions}{mix_in_words(record.workload)}{loop_in_words(record.workload)}"


def ab_answers(record: AbRecord) -> list[str]:
    """Return the decision in the first sentence, and what is to be known of it in others."""
    look = record.last_look
    if is_invalid(record):
        return ["Nothing is decided: runs did not measure what they say, so that none of the figures can be used."]
    if look is None or look.low is None:
        made = count_noun(look.pairs if look else 0, "pair")
        return [f"Undecided: {made} of runs, and {LEAST_PAIRS} are needed at least."]
    word = _WORDS[Decision(record.decision)].format(within=record.within_pct)
    sentences = [f"{word}: {_measured(record, look)}"]
    if record.decision == Decision.UNDECIDED and (needed := more_needed(record)):
        sentences.append(
            f"About {count_noun(needed, 'pair')} would tell ± {record.within_pct:g} %, which takes about "
            f"{format_duration(needed * record.spent_s / look.pairs)}."
        )
    return sentences


def more_needed(record: AbRecord) -> int | None:
    """Return how many pairs would tell the difference that does not matter; None if that is not known."""
    look = record.last_look
    if look is None or look.distance is None:
        return None
    return pairs_needed(values(record, record.figure), look.distance, record.within_pct)


def _measured(record: AbRecord, look: AbLook) -> str:
    """Return by how much B differs from A, in a sentence."""
    by = f"{count_noun(look.pairs, 'pair')} of runs in {format_duration(record.spent_s)}"
    label, ratio, low, high = called(record, record.figure), look.ratio or 1.0, look.low or 1.0, look.high or 1.0
    if low <= 1 <= high:
        what = f"{label} between {_pct(low):.1f} % lower and {_pct(high):.1f} % higher with B than with A"
    elif not 1 / _TIMES < ratio < _TIMES:
        what = f"{label} {number(ratio)} times as high with B as with A ({number(low)} to {number(high)})"
    else:
        near, far = sorted((_pct(low), _pct(high)))
        direction = "higher" if ratio > 1 else "lower"
        what = f"{label} {_pct(ratio):.1f} % {direction} with B than with A ({near:.1f} to {far:.1f} %)"
    return f"{what}, by {by}."


def _pct(ratio: float) -> float:
    return abs(100 * (ratio - 1))


def name_figure(record: AbRecord, figure: str) -> str:
    """Return a figure's label."""
    return figure_label(figure, physical=False, timed=Timed.of(record.workload))


def called(record: AbRecord, figure: str) -> str:
    """Return a figure's name within a sentence, with its unit if that is one of time."""
    label = name_figure(record, figure)
    unit = unit_of(figure)
    words = label if label.isupper() else label[:1].lower() + label[1:]
    return f"{words}/s" if unit == "1/s" else f"{words}, {unit}," if "/s" in unit else words


def _known(record: AbRecord) -> dict[str, AbRatio]:
    return {name: each for name, each in record.ratios.items() if each.pairs}


def _figures(record: AbRecord) -> TextTable:
    rows = [
        (name_figure(record, name), show(name, each.a), show(name, each.b), change_text(each), str(each.pairs))
        for name, each in _known(record).items()
    ]
    return TextTable(("", "A", "B", "B against A", "pairs"), rows)


def show(name: str, value: float | None) -> str:
    """Return a value of a figure; the unit of a rate, which its name has, is left out."""
    unit = unit_of(name)
    return figure_text(value, "1/s" if unit.endswith("/s") and unit != "s/s" else unit)


def change_text(each: AbLook | AbRatio) -> str:
    """Return by how much B differs, with the interval if there is one."""
    if each.ratio is None:
        return MISSING
    if each.low is None or each.high is None:
        return _signed(each.ratio)
    if not 1 / _TIMES < each.ratio < _TIMES:
        return f"× {number(each.ratio)} ({number(each.low)} to {number(each.high)})"
    return f"{_signed(each.ratio)} ({100 * (each.low - 1):+.1f} to {100 * (each.high - 1):+.1f})"


def _signed(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def _failed(record: AbRecord) -> list[AbRun]:
    return [each for each in record.runs if not each.figures]


def _how(record: AbRecord) -> list[str]:
    lost, failed = record.discarded, _failed(record)
    texts = [
        "The interval holds at 95 % over all looks together: one after each pair, until it was decided or time was up."
        if record.until_decided
        else "The interval holds at 95 %: it was looked at once, at the end."
    ]
    if lost:
        texts.append(f"{count_noun(len(lost), 'run')} discarded and made again: a busy host lost the window.")
    if failed:
        texts.append(f"{count_noun(len(failed), 'run')} failed, the first: {failed[0].why}.")
    return [*texts, *ab_answers(record)[1:]]


def _looks(record: AbRecord) -> TextTable:
    rows = [(str(each.pairs), f"{100 * each.share:.0f} %", change_text(each)) for each in record.looks]
    return TextTable(("pairs", "of the time", "B against A"), rows, texts=frozenset())


def _runs(record: AbRecord) -> TextTable:
    name = record.figure
    head = ("pair", "side", called(record, name), "run", "")
    rows = [
        (str(each.pair), each.side, show(name, each.figures.get(name)), each.run or MISSING, _note(each))
        for each in record.runs
    ]
    return TextTable(head, rows, keys=2, texts=frozenset({1, 3, 4}))


def _note(each: AbRun) -> str:
    return f"discarded and made again: {each.why}" if each.made_again else each.why


def _side(side: AbSide) -> str:
    return side.text if side.text == side.target else f"{side.text} on {side.target}"
