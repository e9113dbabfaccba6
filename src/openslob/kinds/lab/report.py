"""The report of a lab: what each setting does under each load, as sentences and as ratios with their intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from openslob.analyze.outcome import count_noun
from openslob.core.units import format_bytes, format_duration
from openslob.core.workload import Workload
from openslob.kinds.lab.figures import CPU_SECONDS, P99, RATE, differing, per_cpu_of
from openslob.kinds.lab.record import LAB_FILE, LabArm, LabLoad, LabRatio, LabRecord
from openslob.kinds.lab.screen import TIMES, by_change, by_percent, key_figures, lab_screen, ratio_number
from openslob.report.document import (
    Answer,
    Document,
    ItemList,
    MadePictures,
    Paragraph,
    Section,
    TextTable,
    Verdicts,
    named_paragraphs,
    notes,
    plain_paragraphs,
    title_of,
)
from openslob.report.format import MISSING, number
from openslob.report.record_view import why_incomplete


def lab_document(record: LabRecord, folder: Path | None = None) -> Document:
    """Return the report; if ``folder`` is given, its last lines name the record's files and what draws them."""
    why = record.errors[0] if record.errors else why_incomplete(record.status)
    return Document(
        title_of(
            record, "lab", f"what settings cost on {record.product or record.target}",
            why=f"{why}; slob lab --resume {record.id} goes on",
        ),
        (
            Section("", (Paragraph(_what_it_is(record), plain=True),)),
            Answer(lab_answers(record)),
            Section("What each setting does", tuple(_findings(record)), short=True),
            _ratios(record, "Ratio to the value here, with 95 % interval", control=False),
            _ratios(record, "Controls, which must show nothing, with 95 % interval", control=True),
            _together(record),
            Verdicts(record.verdicts),
            _left_out(record),
            _loads(record),
            notes(record.notes),
        ),
        (f"record: {folder / LAB_FILE}", f"slob report {record.id} draws it") if folder else (),
        lambda: _pictures(record),
        screen=lab_screen(record, folder),
        key_figures=key_figures(record),
    )  # fmt: skip


def _pictures(record: LabRecord) -> MadePictures:
    from openslob.kinds.lab.pictures import lab_pictures  # noqa: PLC0415 - takes a second to import

    return lab_pictures(record), ""


def lab_plan(record: LabRecord, round_s: float, pairs: int, needed_s: float) -> tuple[Section, ...]:
    """Return what a lab would compare. A round takes about ``round_s``, so many ``pairs`` of all about ``needed_s``."""
    head = ("setting", "value here", "takes", "loads", "must show nothing")
    rows = [
        (arm.label, arm.here, arm.effect, ", ".join(arm.loads) or MISSING, ", ".join(arm.controls) or MISSING)
        for arm in record.arms
    ]
    enough = "" if needed_s <= record.limit_s else ", which is too short"
    how_long = (
        f"A round of all takes about {format_duration(round_s)}, and {count_noun(pairs, 'pair')} of each about "
        f"{format_duration(needed_s)}; --for is {format_duration(record.limit_s)}{enough}. A rate is settled when six "
        f"pairs or more know it to ± {record.precision_pct:g} %; the time then goes to the others."
    )
    return (
        Section("", (TextTable(head, rows, texts=frozenset(range(len(head)))),)),
        Section("", (Paragraph(how_long, plain=True),)),
        _left_out(record),
        _loads(record),
    )


def lab_answers(record: LabRecord) -> tuple[str, ...]:
    """Return the result in sentences, one for each value of a setting."""
    return (lab_headline(record), *(f"{arm.label}{_here(arm)}: {_sentence(record, arm)}." for arm in record.arms))


def lab_headline(record: LabRecord) -> str:
    """Return which values change a rate beyond doubt."""
    if not record.results:
        return "No pair of runs was made yet."
    if not any(each.rate.together is not None for each in record.results):
        return "There are too few pairs yet to say what a setting does."
    changing = {arm.label: changes for arm in record.arms if (changes := list(_beyond_doubt(record, arm)))}
    values = sum(1 for arm in record.arms if arm.loads)
    if not changing:
        return f"None of {count_noun(values, 'value')} changes a rate beyond doubt."
    listed = "; ".join(f"{label} ({', '.join(changes)})" for label, changes in changing.items())
    return f"What changes a rate beyond doubt: {listed}."


def _beyond_doubt(record: LabRecord, arm: LabArm) -> Iterator[str]:
    """Yield by how much a value changes the rate of each load, where it does so beyond doubt."""
    for load in arm.loads:
        result = record.result(arm, load)
        if result and result.rate.together and result.rate.ratio is not None:
            yield f"{load} {by_change(result.rate.ratio)}"


def lab_rows(record: LabRecord) -> list[dict[str, str | int | float | bool | None]]:
    """Return a row for each value of a setting, load and figure: the ratio to the value here, with its interval."""
    here = {(arm.setting, arm.value): arm.here for arm in record.arms}
    return [
        {
            "lab": record.id, "setting": each.setting, "value": each.value, "here": here[each.setting, each.value],
            "load": each.load, "control": each.control, "figure": name, "pairs": ratio.pairs, "ratio": ratio.ratio,
            "low": ratio.low, "high": ratio.high, "differs": ratio.differs, "differs_together": ratio.together,
            "settled": each.settled, "why": ratio.why or None, "joint_low": ratio.joint_low,
            "joint_high": ratio.joint_high,
        }
        for each in record.results
        for name, ratio in each.figures.items()
    ]  # fmt: skip


def _what_it_is(record: LabRecord) -> str:
    made = sum(1 for each in record.runs if each.figures)
    cache = format_bytes(int(record.server["cache_bytes"]))
    return (
        f"What settings cost on {record.product or record.target}, with a cache of {cache}: each value against the "
        f"value that the server has, {count_noun(made, 'run')} in {count_noun(record.rounds, 'round')}, "
        f"{format_duration(record.spent_s)}."
    )


def _here(arm: LabArm) -> str:
    return f" (here: {arm.here})" if arm.here else ""


def _findings(record: LabRecord) -> Iterator[Paragraph | ItemList]:
    for arm in record.arms:
        yield Paragraph(f"{arm.label}{_here(arm)}")
        yield ItemList(tuple(_under(record, arm, record.load(load)) for load in arm.every_load))


def _sentence(record: LabRecord, arm: LabArm) -> str:
    return "; ".join(_under(record, arm, record.load(load)) for load in arm.every_load)


def _under(record: LabRecord, arm: LabArm, load: LabLoad) -> str:
    """Return what an arm does under a load: in its rate, and in what else differs beyond doubt."""
    result = record.result(arm, load.name)
    control = ", which must show nothing" if load.name in arm.controls else ""
    if result is None:
        return f"{load.name}{control}: no pair of runs"
    rate = result.rate
    parts = [_change(rate, load.unit)]
    per_cpu = per_cpu_of(record)
    of_cpu = f"{load.unit.removesuffix('/s')} per {CPU_SECONDS[per_cpu]}"
    parts += [_change(result.figures[per_cpu], of_cpu)] * _beyond(result.figures.get(per_cpu))
    parts += [_change(result.figures[P99], "p99")] * _beyond(result.figures.get(P99))
    if not result.settled and rate.half_pct is not None:
        parts.append(f"known only to ± {rate.half_pct:.1f} %, from {count_noun(rate.pairs, 'pair')}")
    return f"{load.name}{control}: {', '.join(parts)}"


def _beyond(ratio: LabRatio | None) -> bool:
    return bool(ratio and ratio.together)


def _change(ratio: LabRatio, of_what: str) -> str:
    if ratio.ratio is None:
        return f"{of_what} not known: {ratio.why}"
    if ratio.joint is None:
        return f"{by_percent(ratio.ratio)} {of_what} in {count_noun(ratio.pairs, 'pair')}, and {ratio.why}"
    low, high = ratio.joint
    if low <= 1 <= high:
        return f"no difference seen in {of_what} (any is smaller than {100 * max(high - 1, 1 - low):.1f} %)"
    chance = "" if ratio.together else ", may be chance"
    if not 1 / TIMES < ratio.ratio < TIMES:
        times = f"{ratio_number(ratio.ratio)} times the {of_what}"
        return f"{times} ({ratio_number(low)} to {ratio_number(high)}{chance})"
    return f"{by_percent(ratio.ratio)} {of_what} ({by_percent(low)} to {by_percent(high)}{chance})"


def _ratios(record: LabRecord, title: str, *, control: bool) -> Section:
    rows = list(_rows(record, control))
    table = TextTable(head_of(per_cpu_of(record)), rows, keys=2, texts=frozenset({0, 1}))
    return Section(title, (table,) if rows else ())


def head_of(per_cpu: str) -> tuple[str, ...]:
    """Return the headings of the ratios, for a rate per CPU second with this name."""
    return ("setting", "load", "rate", f"per {CPU_SECONDS[per_cpu].removesuffix('econd')}", "p99", "pairs")


def _rows(record: LabRecord, control: bool) -> Iterator[tuple[str, ...]]:
    """Yield the rows of what is compared, or of what must show nothing."""
    for arm in record.arms:
        for load in arm.controls if control else arm.loads:
            result = record.result(arm, load)
            if result is not None:
                ratios = [ratio_text(result.figures.get(name)) for name in (RATE, per_cpu_of(record), P99)]
                yield arm.label, load, *ratios, str(result.rate.pairs)


def _together(record: LabRecord) -> Section:
    """Return what chance does to so many comparisons, and what the values of a setting have in common."""
    compared, apart, together = differing(record)
    text = (
        f"These are {count_noun(compared, 'comparison')} of rates, without those that must show nothing. At 95 % each, "
        f"about {number(round(0.05 * compared, 1))} would differ by chance alone if no setting did anything; {apart} "
        f"do, and {together} also with all comparisons taken together (Bonferroni), marked by a star."
    )
    return Section("", plain_paragraphs([*([text] if compared else []), *_what_is_shared(record)]))


def _what_is_shared(record: LabRecord) -> Iterator[str]:
    """Yield what the values of settings have in common, and how far their intervals take it into account."""
    known = [each for each in record.results if each.rate.joint is not None]
    counts = Counter((each.setting, each.load) for each in known)
    shared = [each for each in known if counts[each.setting, each.load] > 1]
    if shared:
        names = ", ".join(dict.fromkeys(each.setting for each in shared))
        joint = all(each.rate.joint_low is not None for each in shared)
        hold = "hold at 95 % for all values of a setting together" if joint else "are those of each value alone"
        yield (
            f"The values of {names} are compared with the same runs of the value here: what is off in those is off for "
            f"all of them. Their intervals {hold}."
        )


def _left_out(record: LabRecord) -> Section:
    return Section("Not compared", named_paragraphs((each.what, each.why) for each in record.left_out))


def _loads(record: LabRecord) -> Section:
    return Section("Loads", named_paragraphs((load.name, _about(load)) for load in record.loads))


def _about(load: LabLoad) -> str:
    workload = Workload.model_validate(load.workload)
    return (
        f"{load.about}, {count_noun(workload.total_sessions, 'session')}, {workload.run_time:g} s after a warm-up of "
        f"{workload.warmup:g} s"
    )


def ratio_text(ratio: LabRatio | None) -> str:
    """Return a ratio with its interval; a star marks one that differs with all comparisons taken together."""
    if ratio is None or ratio.ratio is None:
        return MISSING
    if ratio.joint is None:
        return ratio_number(ratio.ratio)
    interval = "–".join(map(ratio_number, ratio.joint))
    return f"{ratio_number(ratio.ratio)} ({interval}){'*' if ratio.together else ' '}"
