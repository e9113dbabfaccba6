"""The report of a raw measurement: headline, verdicts, results, and every step with its purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from openslob.core.units import MIB
from openslob.kinds.storage.comparison.realism import ContenderKind, ContenderRow, RoundRange, best_raw
from openslob.kinds.storage.comparison.realism import rows as contender_rows
from openslob.kinds.storage.record import (
    CEILING,
    OWN_WORD,
    STORAGE_FILE,
    SYNCED,
    StorageLoad,
    StorageRecord,
    StorageStep,
    median_of,
)
from openslob.report.document import (
    Answer,
    Document,
    LabelledTexts,
    MadePictures,
    Paragraph,
    Part,
    Screen,
    Section,
    TextTable,
    Title,
    TitleOfSeveral,
    Verdicts,
    VerdictsOfSeveral,
    notes,
    shorten_names,
    title_of,
)
from openslob.report.format import MISSING, micros, number, percent, size
from openslob.report.record_view import name_record

# Tools that measure rates and latencies by the number of requests in flight.
CALIBRATIONS = ("calibrate", CEILING)
# Rows of the curves on the screen. Of more, the first ones and the last are shown.
_MOST_DEPTHS = 8
# What the note on the search of the most IOPS begins with.
_SEARCH = "max IOPS: "


def storage_headline(record: StorageRecord) -> str:
    """Return the result in one sentence; empty for a command that has no headline."""
    if not record.summary:
        return _so_far(record)
    headline = _HEADLINES.get(record.tool)
    return headline(record) if headline else ""


def _so_far(record: StorageRecord) -> str:
    """Return what is known of a measurement that has no result: its best reads."""
    reads = [step for step in record.steps if step.load and step.load.read_pct == READS_PCT]
    best = {
        block: max(of_block, key=lambda step: step.value("iops") or 0.0)
        for block in (record.asked.get("block_bytes"), MIB)
        if (of_block := [step for step in reads if step.load and step.load.block_bytes == block])
    }
    if not best:
        return "No step was measured to its end."
    texts = [
        f"{number(step.value('mb_per_s'))} MB/s in 1 MB reads"
        if block == MIB
        else f"{number(step.value('iops'))} random {size(block)} reads/s "
        f"({step.load.in_flight if step.load else MISSING} in flight, p99 {micros(step.value('p99_us'))})"
        for block, step in best.items()
    ]
    return f"There is no result: it ended after {len(record.steps)} steps. The best of them: {'; '.join(texts)}."


def _calibrate_headline(record: StorageRecord) -> str:
    limit, at = record.asked.get("latency_limit_us"), record.asked.get("at", "p99")
    limit_text = f" under a {at} of {micros(limit)}" if limit else ""
    blocks = size(record.asked.get("block_bytes"))
    if record.value("max_iops") is None:
        known = [_no_rate(record, blocks), f"{_number(record, 'max_mb_per_s')} MB/s in 1 MB reads"]
        return "; ".join([*known, *_written_parts(record)]) + "."
    parts = [
        f"{_number(record, 'max_iops')} random {blocks} reads/s{limit_text} "
        f"({_number(record, 'max_iops_in_flight')} in flight, mean {_micros(record, 'max_iops_mean_us')}, "
        f"{_micros(record, 'cpu_us_per_io')} of CPU per read)",
        f"{_number(record, 'max_mb_per_s')} MB/s in 1 MB reads",
        f"one read alone takes {_micros(record, 'latency_mean_us')} (p99 {_micros(record, 'latency_p99_us')})",
    ]
    if "verified_iops" in record.summary:
        verified, cpu = _number(record, "verified_iops"), _micros(record, "verified_cpu_us_per_io")
        parts.append(f"with contents verified, {verified} reads/s at {cpu} of CPU per read")
    return "; ".join([*parts, *_written_parts(record)]) + "."


def _written_parts(record: StorageRecord) -> list[str]:
    """Return what is known of writes and syncs; nothing if they were not measured."""
    if record.value("write_iops") is None:
        return []
    return [
        f"{_number(record, 'write_iops')} random writes/s ({_number(record, 'write_in_flight')} in flight, "
        f"p99 {_micros(record, 'write_p99_us')})",
        f"a sync alone takes {_micros(record, 'sync_mean_us')} (p99 {_micros(record, 'sync_p99_us')}), and at most "
        f"{_number(record, 'syncs_per_s')} syncs/s are made",
    ]


# Shares of reads in a step.
READS_PCT, WRITES_PCT = 100, 0
LARGE_READS = "1 MB reads"
# The curves of a calibration by requests in flight, and the figures that the table shows of each with their heads.
CURVES = {
    "reads": (("iops", "reads/s"), ("mean_us", "mean"), ("p99_us", "p99")),
    "writes": (("iops", "writes/s"), ("p99_us", "p99")),
    "syncs": (("iops", "syncs/s"), ("p99_us", "p99")),
    LARGE_READS: (("mb_per_s", "MB/s"),),
}


def calibration_curves(record: StorageRecord) -> dict[str, dict[int, list[StorageStep]]]:
    """Return the steps of each curve by requests in flight; of syncs, by the processes that make them."""
    curves: dict[str, dict[int, list[StorageStep]]] = {name: {} for name in CURVES}
    for step in record.steps:
        if step.load and (name := _curve_of(step.load, record.asked.get("block_bytes"))):
            curves[name].setdefault(step.load.in_flight, []).append(step)
    return {name: dict(sorted(curve.items())) for name, curve in curves.items() if curve}


def _curve_of(load: StorageLoad, block_bytes: object) -> str:
    if load.engine == SYNCED:
        return "syncs"
    if load.verified or load.pattern != "random":
        return ""
    if load.read_pct == WRITES_PCT:
        return "writes"
    return "reads" if load.block_bytes == block_bytes else LARGE_READS


def curves_table(record: StorageRecord) -> TextTable:
    """Return a row for each depth, the number of requests in flight, with the medians of its steps."""
    curves = calibration_curves(record)
    columns = [(curve, figure, head) for name, curve in curves.items() for figure, head in CURVES[name]]
    depths = sorted({depth for curve in curves.values() for depth in curve})
    rows = [
        (
            str(depth),
            *(
                (micros if figure.endswith("_us") else number)(median_of(curve.get(depth, ()), figure))
                for curve, figure, _ in columns
            ),
        )
        for depth in depths
    ]
    return TextTable(("depth", *(head for *_, head in columns)), rows)


def _curves_section(record: StorageRecord) -> Section:
    if record.tool not in CALIBRATIONS or not (table := curves_table(record)).rows:
        return Section("", ())
    return Section("By depth", (table,), ": medians by requests in flight; MB/s of 1 MB reads")


def _no_rate(record: StorageRecord, blocks: str) -> str:
    """Return what is known where no number in flight keeps the latency limit: what one read at a time does."""
    if record.asked.get("latency_limit_us") is None:
        return f"no rate of random {blocks} reads is known, because {record.why_unknown('max_iops')}"
    limit, at = micros(record.asked.get("latency_limit_us")), record.asked.get("at", "p99")
    rate = median_of(calibration_curves(record).get("reads", {}).get(1, ()), "iops")
    one = f"one random {blocks} read at a time has a {at} of {_micros(record, f'latency_{at}_us')}"
    does = f", {number(rate)} reads/s" if rate is not None else ""
    return f"No rate keeps a {at} of {limit}: {one}{does} (--latency-limit none finds the highest rate)"


def _dd_headline(record: StorageRecord) -> str:
    nowhere, looked = record.value("nowhere_cpu_us_per_mb"), record.value("looked_cpu_us_per_mb")
    text = (
        f"dd to /dev/null reads {_number(record, 'nowhere_mb_per_s')} MB/s; with every byte examined it reads "
        f"{_number(record, 'looked_mb_per_s')} MB/s ({percent(record.value('looked_share_pct'))}), at "
        f"{micros(looked)} of CPU per MB instead of {micros(nowhere)}"
    )
    if "verified_iops" in record.summary:
        text += (
            f"; random reads with contents verified: {_number(record, 'verified_iops')}/s, "
            f"{percent(record.value('verified_share_pct'))} of the {_number(record, 'random_iops')}/s without"
        )
    return text + "."


def _orion_headline(record: StorageRecord) -> str:
    blocks = [size(record.asked.get(name)) for name in ("size_small", "size_large")]
    parts = []
    if record.value("max_iops") is not None:
        p99 = _micros(record, "max_iops_p99_us")
        parts.append(f"at most {_number(record, 'max_iops')} requests/s of {blocks[0]} (p99 {p99})")
        parts.append(f"lowest mean latency {_micros(record, 'min_latency_us')}")
    if record.value("max_mb_per_s") is not None:
        parts.append(f"at most {_number(record, 'max_mb_per_s')} MB/s in requests of {blocks[1]}")
    return "; ".join(parts) + "." if parts else "No load point was measured."


def _ceiling_headline(record: StorageRecord) -> str:
    return (
        f"Storage alone gives up to {_number(record, 'max_iops')} random "
        f"{size(record.asked.get('block_bytes'))} reads/s "
        f"({_number(record, 'max_iops_in_flight')} in flight, p99 {_micros(record, 'max_iops_p99_us')})."
    )


def comparison_headline(record: StorageRecord) -> str:
    """Compare the reads per CPU second of storage alone and of each server, in one sentence."""
    contenders = contender_rows(record)
    raw = best_raw(contenders, lambda row: row.iops_per_cpu)
    if raw is None:
        return "Storage alone was not measured."
    parts = [f"storage alone {number(raw.iops_per_cpu.median)} ({raw.name})"]
    parts += [_share(row, raw) for row in contenders if row.kind is not ContenderKind.RAW and row.iops_per_cpu.median]
    return f"Reads of {number(record.asked['block_size'] / 1024)} KB per CPU second: {'; '.join(parts)}."


def range_text(of_rounds: RoundRange) -> str:
    """Return ``lowest–highest`` of the rounds, or a dash if there is only one value."""
    return MISSING if of_rounds.low == of_rounds.high else f"{number(of_rounds.low)}–{number(of_rounds.high)}"


def _share(row: ContenderRow, raw: ContenderRow) -> str:
    share = 100 * (row.iops_per_cpu.median or 0.0) / (raw.iops_per_cpu.median or 1.0)
    return f"{row.name} {number(row.iops_per_cpu.median)} ({percent(share)})"


_HEADLINES: Mapping[str, Callable[[StorageRecord], str]] = {
    "calibrate": _calibrate_headline,
    "ceiling": _ceiling_headline,
    "compare": comparison_headline,
    "dd": _dd_headline,
    "orion": _orion_headline,
}


def _number(record: StorageRecord, name: str) -> str:
    return number(record.value(name))


def _micros(record: StorageRecord, name: str) -> str:
    return micros(record.value(name))


# Figure of a step, heading of its column, format of its cells.
_Column = tuple[str, str, Callable[[float | None], str]]
_STEP_COLUMNS: tuple[_Column, ...] = (
    ("iops", "IOPS", number),
    ("mb_per_s", "MB/s", number),
    ("mean_us", "mean", micros),
    ("p99_us", "p99", micros),
    ("cpu_us_per_io", "CPU µs/IO", number),
    ("host_cpu_us_per_io", "host µs/IO", number),
    ("interval_pct", "± %", number),
)


def storage_document(record: StorageRecord, folder: Path | None = None) -> Document:
    """Return the report; if ``folder`` is given, its last line names the record's file."""
    return Document(
        storage_title(record),
        (
            Answer((storage_headline(record),)),
            Verdicts(record.verdicts),
            *_tables(record),
            _curves_section(record),
            _steps(record.steps),
            _place(record),
            notes(record.notes),
        ),
        (f"record: {folder / STORAGE_FILE}",) if folder else (),
        lambda: _pictures(record),
        screen=storage_screen(record, folder),
        key_figures=_key_figures(record),
    )


def storage_screen(record: StorageRecord, folder: Path | None) -> Screen:
    """Return the screen of a raw measurement."""
    called = name_record(record.id, folder)
    answer = (*_answer(record), *_own_words(record))
    return Screen(_subject(record), answer, tuple(_parts(record)), tuple(_next(record, called)), called)


def _subject(record: StorageRecord) -> str:
    place, device = record.place, (record.environment.get("data") or {}).get("device") or {}
    if not place:
        return what_it_is(record)[:1].upper() + what_it_is(record)[1:]
    host, on = record.environment.get("host"), device.get("name")
    how = f"{'direct' if place.get('direct') else 'buffered'} I/O by {place.get('engine')}"
    where = f"{place.get('label', MISSING)} of {size(place.get('size_bytes'))}{f' on {host}' if host else ''}"
    return f"{where}: {place.get('file_system')}{f' on {on}' if on else ''}, {how}"


def _answer(record: StorageRecord) -> Iterator[str]:
    """Yield the answer, what the small reads are limited by in its first sentence, and what writes and syncs do."""
    if record.tool != "calibrate" or record.value("max_iops") is None:
        yield storage_headline(record)
        return
    block, depth = size(record.asked.get("block_bytes")), number(record.value("max_iops_in_flight"))
    reads = f"{number(record.value('max_iops'))} random {block} reads/s at {micros(record.value('max_iops_mean_us'))}"
    limit = record.asked.get("latency_limit_us")
    under = f" under a {record.asked.get('at', 'p99')} of {micros(limit)}" if limit else ""
    large = f"In 1 MB reads: {number(record.value('max_mb_per_s'))} MB/s."
    yield f"{reads}{under}, {depth} in flight{_limit(record)}. {large}"
    if record.value("write_iops") is not None:
        yield (
            f"{number(record.value('write_iops'))} random writes/s; {number(record.value('syncs_per_s'))} syncs/s, "
            f"of which one alone takes {micros(record.value('sync_mean_us'))} "
            f"(p99 {micros(record.value('sync_p99_us'))})."
        )


def _own_words(record: StorageRecord) -> Iterator[str]:
    """Yield what a server said by a calibration of its own."""
    for said in record.tables.get(OWN_WORD, ()):
        by = next(iter(said.values()))
        rates = f"{number(said.get('max_iops'))} reads/s, {number(said.get('max_mb_per_s'))} MB/s in 1 MB reads"
        yield f"{by} says {rates}: the server's own word, which slob did not measure."


def _limit(record: StorageRecord) -> str:
    """Return what ended the search for the most reads, as the end of a sentence."""
    why = next((note.removeprefix(_SEARCH) for note in record.notes if note.startswith(_SEARCH)), "")
    reason = why.partition("; ")[0]
    if reason.startswith("saturated"):
        return ", limited by the storage: more in flight gain less than 5 %"
    return f"; {reason}" if reason else ""


def _parts(record: StorageRecord) -> Iterator[Part]:
    if record.tool == "compare":
        if measured := [row for row in contender_rows(record) if row.rounds]:
            yield _short_rates(measured)
    elif record.tool in CALIBRATIONS:
        table = curves_table(record)
        if len(table.rows) > _MOST_DEPTHS:
            yield TextTable(table.head, (*table.rows[: _MOST_DEPTHS - 1], table.rows[-1]))
        elif table.rows:
            yield table


def _key_figures(record: StorageRecord) -> tuple[tuple[str, str], ...]:
    """Return the main figures of a calibration; the other tools have none that stand for themselves."""
    if record.tool != "calibrate" or not record.summary:
        return ()
    last = (
        ("a sync alone", "sync_mean_us") if "sync_mean_us" in record.summary else ("p99 of a read", "max_iops_p99_us")
    )
    return (
        (f"random {size(record.asked.get('block_bytes'))} reads/s", _number(record, "max_iops")),
        ("one read alone", _micros(record, "latency_mean_us")),
        ("MB/s in 1 MB reads", _number(record, "max_mb_per_s")),
        (last[0], _micros(record, last[1])),
    )


def _short_rates(contenders: Sequence[ContenderRow]) -> TextTable:
    """Return the rates without their ranges."""
    head = ("", "IOPS", "of ceiling", "IOPS/CPU", "host CPU")
    cells = [
        (
            row.name, number(row.iops.median), percent(row.ceiling_pct), number(row.iops_per_cpu.median),
            percent(row.host_pct),
        )
        for row in contenders
    ]  # fmt: skip
    return TextTable(head, cells)


def _next(record: StorageRecord, called: str) -> Iterator[tuple[str, str]]:
    if record.tool == "calibrate" and record.value("max_iops") is not None:
        yield f"slob run --ceiling {called}", "what a database gets of it"
    yield f"slob report {called}", "pictures, tables, every step"


def storage_title(record: StorageRecord) -> Title:
    """Return the title of the report: what was measured, and where."""
    host = record.environment.get("host")
    what = what_it_is(record)
    return title_of(record, "measurement", what, f"{what}{f', on {host}' if host else ''}", "; ".join(record.errors))


def storage_set_document(records: Sequence[StorageRecord]) -> Document:
    """Return the report of several raw measurements: the headline, verdicts, pictures and sections of each."""
    titles = [storage_title(record) for record in records]
    times = sorted(title.started for title in titles)
    return Document(
        TitleOfSeveral(
            f"{shorten_names([record.id for record in records])}: storage without a database",
            f"{len(records)} measurements from {times[0].removesuffix(' UTC')} to {times[-1]}.",
            tuple(f"{title.id}: {title.banner}" for title in titles if title.banner),
        ),
        (
            Answer(tuple(f"{record.id}: {storage_document(record).headline}" for record in records)),
            VerdictsOfSeveral(tuple((record.id, record.verdicts) for record in records), "measurement"),
            *(section for record in records for section in _sections_of(record)),
        ),
        pictures=lambda: _pictures(*records),
    )


def _sections_of(record: StorageRecord) -> Iterator[Section]:
    """Yield the sections of one of several reports: what it is on, and its sections under its name."""
    title = storage_title(record)
    yield Section(title.id, (Paragraph(f"{title.about}, openslob {title.version}, started {title.started}"),))
    for section in storage_document(record).sections:
        yield replace(section, title=f"{title.id}: {section.title}" if section.title else "")


def _pictures(*records: StorageRecord) -> MadePictures:
    # The drawing library takes a second to import.
    from openslob.kinds.storage.pictures import pictures_of_storage  # noqa: PLC0415

    return pictures_of_storage(records), ""


def what_it_is(record: StorageRecord) -> str:
    """Describe what was measured, and name the command."""
    what = "storage alone, and databases on it" if record.tool == "compare" else "storage without a database"
    return f"{what}, slob raw {record.tool}"


def _tables(record: StorageRecord) -> Iterator[Section]:
    """Yield the tables of results; of a comparison nothing if no contender was measured."""
    if record.tool != "compare":
        yield from (Section("", (_table(rows),)) for rows in record.tables.values() if rows)
        return
    contenders = contender_rows(record)
    if measured := [row for row in contenders if row.rounds]:
        yield from (_rates(measured), _latencies(measured), _meanings(contenders))


def _rates(contenders: Sequence[ContenderRow]) -> Section:
    rounds = max(row.rounds for row in contenders)
    head = ("", "IOPS", "lowest–highest", "of ceiling", "IOPS/CPU", "lowest–highest", "CPUs", "host CPU")
    cells = [
        (
            row.name, number(row.iops.median), range_text(row.iops), percent(row.ceiling_pct),
            number(row.iops_per_cpu.median), range_text(row.iops_per_cpu), _two_decimals(row.cpus),
            percent(row.host_pct),
        )
        for row in contenders
    ]  # fmt: skip
    of = "one round" if rounds == 1 else f"medians of {rounds} rounds"
    return Section("Reads per second and per CPU second", (TextTable(head, cells),), f", {of}")


def _latencies(contenders: Sequence[ContenderRow]) -> Section:
    head = ("", "mean", "p50", "p99", "of one")
    cells = [(row.name, micros(row.mean_us), micros(row.p50_us), micros(row.p99_us), row.timed) for row in contenders]
    return Section("Latency", (TextTable.ending_in_text(head, cells),))


def _meanings(contenders: Sequence[ContenderRow]) -> Section:
    return Section("What each does", (LabelledTexts(tuple((row.name, row.does + _why(row)) for row in contenders)),))


def _why(row: ContenderRow) -> str:
    return f" ({'unknown' if row.rounds else 'left out'}: {row.why})" if row.why else ""


def _two_decimals(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}"


def _steps(steps: Sequence[StorageStep]) -> Section:
    head = ("step", *(title for _, title, _ in _STEP_COLUMNS), "why")
    rows = [
        (f"{step.number}. {step.name}", *(shown(step.value(name)) for name, _, shown in _STEP_COLUMNS), step.purpose)
        for step in steps
    ]
    return Section("Steps", (TextTable.ending_in_text(head, rows),) if rows else ())


def _table(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    heads = list(rows[0])
    return TextTable(
        tuple(head.replace("_", " ") for head in heads), [tuple(_cell(row.get(head)) for head in heads) for row in rows]
    )


def _cell(value: object) -> str:
    if isinstance(value, (int, float)):
        return number(value)
    return MISSING if value is None else str(value)


def _place(record: StorageRecord) -> Section:
    place, device = record.place, (record.environment.get("data") or {}).get("device") or {}
    rows = (
        ("measured", f"{place.get('label', MISSING)}, {size(place.get('size_bytes'))}"),
        ("file system", str(place.get("file_system", MISSING))),
        ("device", " ".join(str(part) for part in (device.get("name"), device.get("model")) if part) or MISSING),
        (
            "how",
            f"fio {place.get('fio')}, {place.get('engine')}, {'direct' if place.get('direct') else 'buffered'} I/O",
        ),
    )
    return Section("Place", (LabelledTexts(rows),) if place else ())
