"""The report of a test of failover: headline, verdicts, every outage, what became of operations, lag of copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openslob.analyze.outcome import count_noun
from openslob.core.errors import SlobError
from openslob.kinds.failover.record import FAILOVER_FILE, TIMES, FailoverRecord, FollowStep
from openslob.report.document import (
    Answer,
    Document,
    LabelledTexts,
    MadePictures,
    Part,
    Screen,
    Section,
    TextTable,
    Verdicts,
    named_paragraphs,
    notes,
    title_of,
)
from openslob.report.format import MISSING, number, seconds, size
from openslob.report.record_view import name_record

_ACCOUNTS = (
    ("sent", "sent"), ("acked_there", "acked, there"), ("acked_lost", "acked, lost"),
    ("doubt_there", "in doubt, there"), ("doubt_gone", "in doubt, gone"), ("doubled", "doubled"),
    ("not_sent", "not sent"),
)  # fmt: skip
_ACCOUNTS_HEAD = ("", *(title for _, title in _ACCOUNTS))
# Rows of a table on the screen, and its times.
_FEW, _SHORT = 5, ("outage_s", "takeover_s", "reconnect_s", "back_s")
_LOST_SHOWN = 5


def failover_document(record: FailoverRecord, folder: Path | None = None) -> Document:
    """Return the report; if ``folder`` is given, its last line names the record's file, and time lines are drawn."""
    what = "the rate that copies follow" if record.asked.get("follow_limit_s") else "outages"
    subject = f"failover of {record.servers.get('product', 'servers')}"
    return Document(
        title_of(record, "test", subject, f"{what} of {_product(record)}, slob failover", "; ".join(record.errors)),
        (
            Answer((failover_headline(record),)),
            Verdicts(record.verdicts),
            _outages(record),
            _operations(record),
            _lost(record),
            _lag(record),
            Section("Steps", (_steps_table(record.follow),) if record.follow else ()),
            _test(record),
            notes(record.notes),
        ),
        (f"record: {folder / FAILOVER_FILE}",) if folder else (),
        lambda: _pictures(record, folder),
        screen=failover_screen(record, folder),
        key_figures=_key_figures(record),
    )


def _product(record: FailoverRecord) -> str:
    return f"{record.servers.get('product', 'servers')} {record.servers.get('version', '')}".strip()


def _pictures(record: FailoverRecord, folder: Path | None) -> MadePictures:
    from openslob.kinds.failover.pictures import failover_pictures  # noqa: PLC0415 - takes a second to import

    try:
        return failover_pictures(record, folder, failover_headline(record)) if folder else (), ""
    except (SlobError, ValueError, KeyError) as error:
        return (), f"The time lines can't be drawn, since a file of the record is damaged: {error}"


def failover_screen(record: FailoverRecord, folder: Path | None) -> Screen:
    """Return the screen of a test."""
    called = name_record(record.id, folder)
    sessions = count_noun(int(record.asked.get("sessions") or 0), "session")
    cause = str(record.roles.get("cause") or "")
    by = f", outages by {cause}" if cause and not record.asked.get("follow_limit_s") else ""
    return Screen(
        f"Failover of {_product(record)}: {sessions}{by}",
        (failover_headline(record), *_operations_in_words(record)),
        _parts(record),
        ((f"slob report {called}", "time lines of every outage"),),
        called,
    )


def _key_figures(record: FailoverRecord) -> tuple[tuple[str, str], ...]:
    if record.follow:
        return (
            ("commits/s that the copies follow", number(record.value("follows_per_s"))),
            ("they do not follow", number(record.value("follows_below_per_s"))),
            ("lag allowed", seconds(record.asked.get("follow_limit_s"))),
        )
    return (
        ("no session served (median)", seconds(record.value("outage_median_s"))),
        ("at most", seconds(record.value("outage_max_s"))),
        ("acknowledged and lost", number(record.value("acked_lost"))),
        ("outages", number(len(record.cycles))),
    )


def _parts(record: FailoverRecord) -> tuple[Part, ...]:
    if record.follow:
        return (_steps_table(record.follow[-_FEW:]),)
    return (_short_outages(record),) if record.cycles else ()


def failover_headline(record: FailoverRecord) -> str:
    """Return the result in a few sentences."""
    if record.follow:
        return _follow_headline(record)
    if not record.cycles:
        return "No cycle was measured to its end."
    median, most = record.value("outage_median_s"), record.value("outage_max_s")
    if median is None:
        return f"There was no outage in {number(len(record.cycles))} cycles: no session was lost, and none waited."
    outages = f"{len(record.cycles)} outages" if len(record.cycles) > 1 else "the outage"
    lasted = (
        f"No session was served for {seconds(median)} (median of {outages}; at most {seconds(most)})"
        if len(record.cycles) > 1
        else f"No session was served for {seconds(median)}"
    )
    lost, doubled = (record.value(name) or 0 for name in ("acked_lost", "doubled"))
    acked = lost + (record.value("acked_there") or 0)
    kept = f"of {number(acked)} acknowledged operations {number(lost) if lost else 'none'} {_is_or_are(lost)} lost"
    twice = f", and {number(doubled)} {_is_or_are(doubled)} there twice" if doubled else ""
    return f"{lasted}; by the servers' clocks {seconds(record.value('outage_server_median_s'))}; {kept}{twice}."


def _is_or_are(count: float) -> str:
    return "was" if count in (0, 1) else "were"


def _follow_headline(record: FailoverRecord) -> str:
    limit = seconds(record.asked.get("follow_limit_s"))
    low, high = record.value("follows_per_s"), record.value("follows_below_per_s")
    figure = record.summary.get("follows_per_s")
    if low is None:
        why = figure.why if figure and figure.why else "no rate was followed"
        return f"No rate is known that the copies follow with a lag below {limit}: {why}."
    if high is None:
        return (
            f"The copies follow with a lag below {limit} whatever {record.asked.get('sessions')} sessions commit: "
            f"{number(low)} commits/s."
        )
    return f"The copies follow {number(low)} commits/s with a lag below {limit}, and not {number(high)} commits/s."


def _outages(record: FailoverRecord) -> Section:
    head = ("cycle", *(title for _, title in TIMES), "clocks differ", "before", "after")
    rows = [
        (
            record.cycle_name(cycle),
            *(seconds(cycle.value(name)) for name, _ in TIMES),
            _ms(cycle.value("clocks_differ_ms")),
            *(f"{number(cycle.value(name))}/s" for name in ("level_before_per_s", "level_after_per_s")),
        )
        for cycle in record.cycles
    ]
    said = dict.fromkeys(text for cycle in record.cycles for text in cycle.said)
    parts: tuple[Part, ...] = (TextTable(head, rows), *named_paragraphs(("said", text) for text in said))
    return Section("Outages", parts if rows else ())


def _short_outages(record: FailoverRecord) -> TextTable:
    """Return the main times of the first outages."""
    rows = [(record.cycle_name(cycle), *(seconds(cycle.value(name)) for name in _SHORT)) for cycle in record.cycles]
    return TextTable(("cycle", *(dict(TIMES)[name] for name in _SHORT)), rows, few=_FEW)


def _ms(value: float | None) -> str:
    return MISSING if value is None else f"{value:+.1f} ms"


def _operations(record: FailoverRecord) -> Section:
    rows = [
        (f"cycle {cycle.number}", *(number(cycle.accounts.get(name)) for name, _ in _ACCOUNTS))
        for cycle in record.cycles
    ]
    if len(rows) > 1:
        rows.append(("all", *(number(record.value(name)) for name, _ in _ACCOUNTS)))
    table = TextTable(_ACCOUNTS_HEAD, rows)
    problems = ((f"! cycle {cycle.number}", text) for cycle in record.cycles for text in cycle.problems)
    return Section("Operations", (table, *named_paragraphs(problems)) if rows else ())


def _operations_in_words(record: FailoverRecord) -> tuple[str, ...]:
    """Return what became of the operations of all cycles together; nothing if there was no outage."""
    known = {name: record.value(name) for name, _ in _ACCOUNTS}
    if not record.cycles or known["sent"] is None:
        return ()
    texts = [f"{number(known[name])} {label}" for name, label in _ACCOUNTS[1:] if known[name]]
    return (f"Of {number(known['sent'])} operations that were sent: {'; '.join(texts)}.",)


def _lost(record: FailoverRecord) -> Section:
    lines = []
    for cycle in record.cycles:
        for each in cycle.lost[:_LOST_SHOWN]:
            before = seconds(each.get("acked_before_s"))
            text = f"operation {each.get('number')} of session {each.get('session')}"
            lines.append((f"cycle {cycle.number}", f"{text}, acknowledged {before} before the outage"))
        if (more := cycle.accounts.get("acked_lost", 0) - _LOST_SHOWN) > 0:
            lines.append((f"cycle {cycle.number}", f"and {number(more)} more"))
    return Section("Acknowledged and lost", named_paragraphs(lines))


def _lag(record: FailoverRecord) -> Section:
    head = ("copy", "bytes behind", "last", "heartbeat lag", "last", "reported lag", "why unknown")
    rows = [
        (f"{cycle.number}. {record.short_name(str(row.get('copy')))}", *_lag_cells(row))
        for cycle in record.cycles
        for row in cycle.copies
    ]
    parts: tuple[Part, ...] = (TextTable.ending_in_text(head, rows),) if rows else ()
    reasons = {row[-1] for row in rows}
    if len(reasons) == 1:
        why = named_paragraphs((MISSING, reason) for reason in reasons if reason)
        parts = (TextTable(head[:-1], [row[:-1] for row in rows]), *why)
    return Section("Lag of copies before the outage", parts, ": the highest, and the last")


def _lag_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        *(size(row.get(name)) for name in ("bytes_behind_max", "bytes_behind_last")),
        *(seconds(row.get(name)) for name in ("heartbeat_s_max", "heartbeat_s_last", "said_s_max")),
        str(row.get("why") or ""),
    )


def _steps_table(steps: Sequence[FollowStep]) -> TextTable:
    """Return a row for each rate that copies were to follow."""
    head = ("step", "asked", "commits/s", "lag", "bytes behind", "follows", "why")
    rows = [
        (
            f"{step.number}.",
            "as fast as they can" if step.asked_per_s is None else f"{number(step.asked_per_s)}/s",
            number(step.commits_per_s),
            seconds(step.lag_s),
            size(step.bytes_behind),
            MISSING if step.follows is None else "yes" if step.follows else "no",
            step.why,
        )
        for step in steps
    ]
    return TextTable.ending_in_text(head, rows)


def _test(record: FailoverRecord) -> Section:
    asked = record.asked
    rate = asked.get("per_s")
    pace = "as fast as they can" if rate is None else f"{number(rate)} commits/s together"
    rows = [("sessions", f"{asked.get('sessions')}, {pace}; operations in doubt: {asked.get('retry')}")]
    rows += [("" if at > 1 else "servers", f"#{at}: {target}") for at, target in enumerate(record.targets, 1)]
    rows += [
        (label, text)
        for role, label in (("cause", "outage by"), ("take_over", "ended by"))
        if (text := record.roles.get(role)) and not asked.get("follow_limit_s")
    ]
    if asked.get("synchronous"):
        rows.append(("commits", "wait for a copy until the outage; afterwards there is none to wait for"))
    return Section("Test", (LabelledTexts(tuple(rows), len("outage by")),))
