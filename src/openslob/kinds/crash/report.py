"""The report of a proof of durability: headline, verdicts, the crashes by kind, and every cycle with a loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from openslob.analyze.outcome import count_noun
from openslob.kinds.crash.figures import what_is_wrong
from openslob.kinds.crash.record import (
    CRASH_FILE,
    CrashCycle,
    CrashMethod,
    CrashRecord,
    CycleFault,
    ServerDid,
    keep_distinct,
)
from openslob.report.document import (
    Answer,
    Document,
    LabelledTexts,
    MadePictures,
    Paragraph,
    Screen,
    Section,
    TextTable,
    Verdicts,
    notes,
    title_of,
)
from openslob.report.format import MISSING, number, seconds
from openslob.report.record_view import name_record

_HEAD = (
    "crash", "cycles", "clean", "acknowledged", "commits/s", "in doubt", "of these there", "lost", "recovery median",
    "max",
)  # fmt: skip
_SHORT = ("crash", "cycles", "clean", "acknowledged", "lost", "recovery median", "max")
_HIT_HEAD = ("crash", "cycles", "in a checkpoint", "again in recovery", "with torn pages", "torn pages median", "max")
_KINDS = {CrashMethod.KILL: "all processes killed", CrashMethod.CUT: "storage cut off, too"}
_FAULT_HEAD = (
    "fault on", "cycles", "met", "went on", "errors", "restarted", "ended", "hung", "refused", "commits again", "max",
)  # fmt: skip
_DID = {
    ServerDid.GOES_ON: "went on, and no client saw an error",
    ServerDid.REPORTS: "reported errors to clients, and went on",
    ServerDid.RESTARTS: "restarted all of its processes but the main one",
    ServerDid.ENDS: "ended",
    ServerDid.HANGS: "hung",
    ServerDid.REFUSES: "acknowledged no commit any more, and reported errors",
}
_MOST_CYCLES = 10
_MOST_TEXTS = 6


def crash_document(record: CrashRecord, folder: Path | None = None) -> Document:
    """Return the report; if ``folder`` is given, its last line names the record's file."""
    host = record.environment.get("host")
    about = f"proof of durability, slob crash{f', on {host}' if host else ''}"
    return Document(
        title_of(record, "proof", "proof of durability", about, "; ".join(record.errors)),
        (
            Answer((crash_headline(record),)),
            Verdicts(record.verdicts),
            _what_it_did(record),
            _crashes(record),
            _what_was_hit(record),
            _not_clean(record),
            _what_was_done(record),
            notes(record.notes),
        ),
        (f"record: {folder / CRASH_FILE}",) if folder else (),
        lambda: _pictures(record),
        screen=crash_screen(record, folder),
        key_figures=_key_figures(record),
    )


def _pictures(record: CrashRecord) -> MadePictures:
    from openslob.kinds.crash.pictures import crash_pictures  # noqa: PLC0415 - takes a second to import

    return crash_pictures(record), ""


def crash_screen(record: CrashRecord, folder: Path | None) -> Screen:
    """Return the screen of a proof."""
    called = name_record(record.id, folder)
    sessions = count_noun(int(record.asked.get("sessions") or 0), "session")
    return Screen(
        f"{_server(record)}: {sessions} that commit, {crashes_of(len(record.cycles))}",
        (crash_headline(record).removeprefix(f"{_server(record)}: "),),
        (_short_table(record),) if record.cycles else (),
        _next(record, called),
        called,
    )


def _next(record: CrashRecord, called: str) -> tuple[tuple[str, str], ...]:
    more_than_kills = record.control or any(cycle.fault or cycle.kind is CrashMethod.CUT for cycle in record.cycles)
    more = () if more_than_kills else (("slob crash --kind cut", "what a power failure leaves"),)
    return (*more, (f"slob report {called}", "pictures, every cycle"))


def _key_figures(record: CrashRecord) -> tuple[tuple[str, str], ...]:
    return (
        ("crashes", number(len(record.cycles))),
        ("acknowledged commits", number(record.value("acked_commits"))),
        ("of them lost", number(record.value("lost_commits"))),
        ("until the first query (median)", seconds(record.value("recovery_median_s"))),
    )


def _short_table(record: CrashRecord) -> TextTable:
    """Return the table of crashes without the figures that few ask for."""
    columns = [_HEAD.index(name) for name in _SHORT]
    return TextTable(_SHORT, [tuple(row[at] for at in columns) for row in _rows(record)])


def _server(record: CrashRecord) -> str:
    unsafe = f", made unsafe on purpose ({record.control.name})" if record.control else ""
    return f"{server_of(record)}{unsafe}"


def crash_headline(record: CrashRecord) -> str:
    """Return the result in one sentence."""
    if not record.cycles:
        return "No crash was completed."
    cycles, acked, lost = len(record.cycles), record.value("acked_commits"), record.value("lost_commits")
    kept = "all of them are there" if not lost else f"{number(lost)} of them are not there"
    down = sum(not cycle.compared for cycle in record.cycles)
    if down:
        kept += f" as far as the server's data can be read, which is not so after {crashes_of(down)}"
    return (
        f"{_server(record)}: {_tell_fault(record)}{number(acked)} commits were acknowledged before "
        f"{crashes_of(cycles)}, and {kept}. Time to the first query after a crash: "
        f"{seconds(record.value('recovery_median_s'))} (median), {seconds(record.value('recovery_max_s'))} at most."
    )


def _tell_fault(record: CrashRecord) -> str:
    """Return how often the fault met the server and what that did then, in sentences; empty without a fault."""
    trials = _trials(record)
    if not trials:
        return ""
    met = [trial for trial in trials if trial.met]
    name, of = trials[0].name, f"{len(met)} of {count_noun(len(trials), 'cycle')}"
    if not met:
        return f"{name} was not tested: it met no request in {count_noun(len(trials), 'cycle')}. "
    did = [f"in {count} it {_DID[what]}" for what, count in Counter(trial.did for trial in met).most_common()]
    return f"{name} met the server in {of}: {'; '.join(did)}. "


def _trials(record: CrashRecord) -> list[CycleFault]:
    return [cycle.fault for cycle in record.cycles if cycle.fault]


def _what_it_did(record: CrashRecord) -> Section:
    """Return what the server did under the fault: a row for each set of files, and what was said of it."""
    trials = _trials(record)
    every_files = dict.fromkeys(trial.files for trial in trials)
    rows = [_fault_row(files, [trial for trial in trials if trial.files == files]) for files in every_files]
    met = [trial for trial in trials if trial.met]
    texts = {
        "first request: ": [trial.first for trial in met],
        "clients: ": [text for trial in met for text in trial.said],
        "checkpoint under it: ": [trial.checkpoint for trial in met if trial.checkpoint],
        "checkpoint after it: ": [trial.checkpoint_after for trial in met if trial.checkpoint_after],
        "server's log: ": [text for trial in met for text in trial.log],
    }
    said = [Paragraph(text, lead) for lead, found in texts.items() for text in keep_distinct(found, _MOST_TEXTS)]
    return Section("What the server did", (TextTable(_FAULT_HEAD, rows), *said) if trials else ())


def _fault_row(files: str, trials: Sequence[CycleFault]) -> tuple[str, ...]:
    met = [trial for trial in trials if trial.met]
    answered = [trial.answered_s for trial in met if trial.answered_s is not None]
    return (
        files,
        number(len(trials)),
        number(len(met)),
        *(number(sum(trial.did is did for trial in met)) for did in _DID),
        seconds(median(answered) if answered else None),
        seconds(max(answered, default=None)),
    )


def crashes_of(count: int) -> str:
    """Return a number of crashes in words."""
    return f"{count:,} crash{'' if count == 1 else 'es'}"


def server_of(record: CrashRecord) -> str:
    """Return product and version."""
    return f"{record.server.get('product', 'The server')} {record.server.get('version', '')}".rstrip()


def cycle_line(cycle: CrashCycle) -> str:
    """Return one cycle in a line, as the progress shows it."""
    if not cycle.is_clean:
        return what_is_wrong(cycle).partition(": ")[2]
    fault = cycle.fault
    did = "" if fault is None else f"{fault.name} on {fault.files}: it {_DID[fault.did]}; "
    if fault and not fault.met:
        did = f"{fault.name} on {fault.files}: not tested, it met no request; "
    there = f", {cycle.in_doubt} in doubt of which {cycle.doubtful_there} are there" if cycle.in_doubt else ""
    return (
        f"{did}{cycle.kind.value} after {cycle.load_s:.1f} s: {cycle.acked:,} acknowledged{there}, none lost; "
        f"recovered in {seconds(cycle.recovery_s)}"
    )


def _crashes(record: CrashRecord) -> Section:
    """Return a row for each kind of crash that happened."""
    rows = _rows(record)
    return Section("Crashes", (TextTable(_HEAD, rows),) if rows else ())


def _rows(record: CrashRecord) -> list[tuple[str, ...]]:
    return [_row(_KINDS[kind], cycles) for kind, cycles in _by_kind(record.cycles).items() if cycles]


def _by_kind(cycles: Sequence[CrashCycle]) -> Mapping[CrashMethod, list[CrashCycle]]:
    return {kind: [cycle for cycle in cycles if cycle.kind is kind] for kind in CrashMethod}


def _what_was_hit(record: CrashRecord) -> Section:
    """Return for each kind of crash what the server did, and the pages that were torn; older records don't say."""
    known = [cycle for cycle in record.cycles if cycle.in_checkpoint is not None]
    rows = [_hit_row(_KINDS[kind], cycles) for kind, cycles in _by_kind(known).items() if cycles]
    return Section("What the crashes hit", (TextTable(_HIT_HEAD, rows),) if rows else ())


def _hit_row(name: str, cycles: Sequence[CrashCycle]) -> tuple[str, ...]:
    torn = [cycle.torn_pages for cycle in cycles if cycle.torn_pages is not None]
    return (
        name,
        number(len(cycles)),
        number(sum(bool(cycle.in_checkpoint) for cycle in cycles)),
        number(sum(cycle.recovery_crashes or 0 for cycle in cycles)),
        number(sum(each > 0 for each in torn) if torn else None),
        number(median(torn) if torn else None),
        number(max(torn, default=None)),
    )


def _row(name: str, cycles: Sequence[CrashCycle]) -> tuple[str, ...]:
    recovered = [cycle.recovery_s for cycle in cycles if cycle.recovery_s is not None]
    loaded_s, acked = sum(cycle.load_s for cycle in cycles), sum(cycle.acked for cycle in cycles)
    return (
        name,
        number(len(cycles)),
        number(sum(cycle.is_clean for cycle in cycles)),
        f"{acked:,}",
        number(acked / loaded_s if loaded_s else None),
        number(sum(cycle.in_doubt for cycle in cycles)),
        number(sum(cycle.doubtful_there for cycle in cycles)),
        number(sum(cycle.lost for cycle in cycles)),
        seconds(median(recovered) if recovered else None),
        seconds(max(recovered, default=None)),
    )


def _not_clean(record: CrashRecord) -> Section:
    """Return the cycles with a loss or damage, the first of them with what is known of each."""
    bad = [cycle for cycle in record.cycles if not cycle.is_clean]
    parts: list[Paragraph] = []
    for cycle in bad[:_MOST_CYCLES]:
        parts.append(Paragraph(what_is_wrong(cycle)))
        more = [*cycle.faults, *cycle.damage] if not record.control else []
        parts += [Paragraph(text, "  ") for text in more[:_MOST_CYCLES]]
        parts += [Paragraph(cycle.ledger, "ledger: ")] if cycle.ledger else []
    if len(bad) > _MOST_CYCLES:
        parts.append(Paragraph(f"and {len(bad) - _MOST_CYCLES} more cycles: see --json", plain=True))
    return Section("Cycles that were not clean", tuple(parts))


def _what_was_done(record: CrashRecord) -> Section:
    asked, server, control = record.asked, record.server, record.control
    settings = ", ".join(f"{name} = {value}" for name, value in server.get("settings", {}).items())
    rows = (
        ("server", f"{server.get('name', MISSING)}{', made for the proof' if server.get('made_for_this') else ''}"),
        ("load", f"{asked.get('sessions')} sessions, each with {asked.get('rows')} rows, one commit after another"),
        ("settings", settings or MISSING),
        ("unsafe by", (", ".join(control.settings.splitlines()) or control.name) if control else ""),
        ("storage", record.storage),
        ("damage", "; ".join(record.guards) or MISSING),
    )
    return Section("What was done", (LabelledTexts(tuple((label, text) for label, text in rows if text)),))
