"""The answer of a lab on one screen: a row for each value and load with one word, the largest effects first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from openslob.analyze.intervals import LEAST_STARTS
from openslob.analyze.outcome import count_noun
from openslob.core.units import format_bytes, format_duration
from openslob.kinds.lab.record import ArmResult, LabArm, LabRecord
from openslob.report.document import Paragraph, Part, Screen, TextTable
from openslob.report.format import number
from openslob.report.record_view import name_record

FASTER, SLOWER, NO_EFFECT, UNKNOWN = WORDS = ("faster", "slower", "no effect", "unknown")
# More rows than this do not fit on a screen; the largest effects come first.
MOST_ROWS, _KEY_FIGURES = 10, 4
# From this ratio on, and below its inverse, "3.2 times" says more than "+220 %".
TIMES = 2.0
# Ratios below this are shown with three decimals.
_FINE = 2.0
# A lab that would take longer than this is not proposed.
_LONGEST_S = 24 * 3600.0


@dataclass(frozen=True)
class Effect:
    """What a value of a setting does to the rate of a load, in one word; ``result`` is None before there is a pair."""

    arm: LabArm
    load: str
    result: ArmResult | None

    @property
    def word(self) -> str:
        """Faster or slower beyond doubt, all comparisons of the lab taken together; no effect if that is settled."""
        if self.result is None or self.result.rate.ratio is None or self.result.rate.joint is None:
            return UNKNOWN
        rate, (low, high) = self.result.rate, self.result.rate.joint
        if rate.together and rate.ratio is not None:
            return FASTER if rate.ratio > 1 else SLOWER
        return NO_EFFECT if self.result.settled and low <= 1 <= high else UNKNOWN

    @property
    def size(self) -> float:
        """How far the ratio is from 1, on a scale on which half and twice are as far."""
        ratio = self.result.rate.ratio if self.result else None
        return abs(math.log(ratio)) if ratio else 0.0

    @property
    def by(self) -> str:
        """By how much the rate changes; empty unless it does so beyond doubt."""
        ratio = self.result.rate.ratio if self.result else None
        return by_change(ratio) if ratio is not None and self.word in (FASTER, SLOWER) else ""

    @property
    def details(self) -> str:
        """The interval of the effect; what a smaller one would not have shown; or why it is unknown."""
        if self.result is None or self.result.rate.joint is None:
            return count_noun(self.result.rate.pairs if self.result else 0, "pair")
        rate, (low, high) = self.result.rate, self.result.rate.joint
        if self.word == NO_EFFECT:
            return f"any is below {100 * max(high - 1, 1 - low):.1f} %"
        interval = f"{by_change(low)} to {by_change(high)}"
        return f"{interval}, {count_noun(rate.pairs, 'pair')}" if self.word == UNKNOWN else interval


def effects(record: LabRecord) -> list[Effect]:
    """Return the effects under the loads where they can matter: by word, and the largest first."""
    found = [Effect(arm, load, record.result(arm, load)) for arm in record.arms for load in arm.loads]
    return sorted(found, key=lambda each: (WORDS.index(each.word), -each.size))


def lab_screen(record: LabRecord, folder: Path | None) -> Screen:
    """Return the screen of a lab."""
    called, found = name_record(record.id, folder), effects(record)
    made = sum(1 for each in record.runs if each.figures)
    subject = (
        f"{record.product or record.target}, cache {format_bytes(int(record.server['cache_bytes']))}: each value "
        f"against the server's own, {count_noun(made, 'run')} in {count_noun(record.rounds, 'round')}, "
        f"{format_duration(record.spent_s)}"
    )
    return Screen(subject, (_answer(found),), _parts(found, called), tuple(_next(record, found, called)), called)


def key_figures(record: LabRecord) -> tuple[tuple[str, str], ...]:
    """Return the largest effects; how many values have which, if there is none."""
    found = effects(record)
    changing = sorted((each for each in found if each.by), key=lambda each: -each.size)
    counts = {word: sum(each.word == word for each in found) for word in (NO_EFFECT, UNKNOWN)}
    return (
        *((f"{each.arm.label}, {each.load}", each.by) for each in changing[: _KEY_FIGURES - len(counts)]),
        *((word, f"{count} of {len(found)}") for word, count in counts.items()),
    )


def _answer(found: Sequence[Effect]) -> str:
    """Return what makes the server faster or slower, and how many values have no effect or an unknown one."""
    if all(each.word == UNKNOWN for each in found):
        if not any(each.result for each in found):
            return "No pair of runs was made yet."
        pairs = max((each.result.rate.pairs for each in found if each.result), default=0)
        few = f": {count_noun(pairs, 'pair')} at most, and {LEAST_STARTS} are needed" if pairs < LEAST_STARTS else ""
        why = next((each.result.rate.why for each in found if each.result and each.result.rate.ratio is None), "")
        return f"What the settings do is unknown{few}{f'; {why}' if why else ''}."
    changing = [
        f"{word[:1].upper()}{word[1:]}: {listed}"
        for word in (FASTER, SLOWER)
        if (listed := ", ".join(f"{each.arm.label} ({each.load} {each.by})" for each in found if each.word == word))
    ]
    count = sum(each.word == UNKNOWN for each in found)
    none = [] if changing else ["No setting changes a rate beyond doubt"]
    return f"{'. '.join([*changing, *none, *([f'{count} of {len(found)} are unknown'] if count else [])])}."


def by_change(ratio: float) -> str:
    """Return a ratio as a change in per cent, or as a factor where that says more."""
    return by_percent(ratio) if 1 / TIMES < ratio < TIMES else f"× {ratio_number(ratio)}"


def _parts(found: Sequence[Effect], called: str) -> tuple[Part, ...]:
    head = ("setting", "load", "rate", "by", "95 % interval")
    rows = [(each.arm.label, each.load, each.word, each.by, each.details) for each in found[:MOST_ROWS]]
    left = len(found) - len(rows)
    more = (Paragraph(f"and {left} more: slob show {called} --all"),) if left else ()
    return (TextTable(head, rows, keys=2, texts=frozenset({0, 1, 2, 4})), *more) if rows else ()


def _next(record: LabRecord, found: Sequence[Effect], called: str) -> Iterator[tuple[str, str]]:
    more_s = settling_s(record, [each for each in found if each.word == UNKNOWN])
    if 0 < more_s <= _LONGEST_S:
        yield f"slob lab --resume {called} --for {math.ceil(more_s / 60)}m", "may settle what is unknown"
    yield f"slob report {called}", "forest plot, p99 and CPU"


def settling_s(record: LabRecord, unknown: Sequence[Effect]) -> float:
    """Return about how many seconds it takes until these effects are settled; 0 without any, or before a round.

    The width of an interval falls with the square root of the number of its pairs. A round takes what those that were
    made took, for as many of the comparisons as are still open.
    """
    if not unknown or not record.rounds:
        return 0.0
    open_ = {each.arm.setting for each in unknown}
    loads = {arm.setting: 0 for arm in record.arms}
    for arm in record.arms:
        loads[arm.setting] += len(arm.every_load)
    share = sum(count for setting, count in loads.items() if setting in open_) / sum(loads.values())
    return max(_pairs_left(record, each) for each in unknown) * share * record.spent_s / record.rounds


def _pairs_left(record: LabRecord, effect: Effect) -> float:
    rate = effect.result.rate if effect.result else None
    if rate is None or rate.half_pct is None:
        return LEAST_STARTS
    wanted = rate.pairs * (rate.half_pct / record.precision_pct) ** 2
    return max(wanted - rate.pairs, LEAST_STARTS - rate.pairs, 1)


def by_percent(ratio: float) -> str:
    """Return a ratio as the change in %."""
    return f"{100 * (ratio - 1):+.1f} %"


def ratio_number(ratio: float) -> str:
    """Return a ratio as text; an interval of ± 3 % needs three decimals."""
    return f"{ratio:.3f}" if ratio < _FINE else number(ratio)
