"""Text report of a test of failover: headline, verdicts, every outage, what became of operations, lag of copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openslob.record.failover import FAILOVER_FILE, FailoverCycle, FailoverRecord, FollowStep
from openslob.record.model import Status
from openslob.report.format import MISSING, hanging, number, seconds, size, table, title_lines, wrapped
from openslob.report.record_view import why_incomplete
from openslob.report.text import failing, verdicts

TIMES = (
    ("outage_s", "outage"), ("outage_server_s", "servers' clocks"), ("session_outage_s", "a session"),
    ("takeover_s", "takeover"), ("reconnect_s", "reconnect"), ("back_s", "level back"),
)  # fmt: skip
_ACCOUNTS = (
    ("sent", "sent"), ("acked_there", "acked, there"), ("acked_lost", "acked, lost"),
    ("doubt_there", "in doubt, there"), ("doubt_gone", "in doubt, gone"), ("doubled", "doubled"),
    ("not_sent", "not sent"),
)  # fmt: skip
_LOST_SHOWN = 5


def render_failover(record: FailoverRecord, folder: Path | None = None, columns: int | None = None) -> str:
    """Return the report; if ``folder`` is given, its last line names the record's file.

    Tables are at most ``columns`` wide, or as wide as they need to be.
    """
    sections = (
        _title(record),
        wrapped(failover_headline(record)),
        verdicts(record.verdicts),
        _outages(record, columns),
        _operations(record, columns),
        _lost(record),
        _lag(record, columns),
        _steps(record.follow, columns),
        _test(record),
        ["NOTES", *(line for note in record.notes for line in hanging("", note))] if record.notes else [],
        [f"record: {folder / FAILOVER_FILE}"] if folder else [],
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def failover_answer(record: FailoverRecord) -> str:
    """Return the report in short: the result, how many verdicts hold, and those that fail."""
    return "\n".join([*wrapped(failover_headline(record)), *failing(record.verdicts)])


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


def cycle_name(record: FailoverRecord, cycle: FailoverCycle) -> str:
    """Return a cycle's number, and which server took over from which."""
    return f"{cycle.number}. {short_name(record, cycle.before)} → {short_name(record, cycle.after)}"


def short_name(record: FailoverRecord, name: str) -> str:
    """Return the name of a managed server; the number of another one in the list of all, whose address is long."""
    return f"#{record.targets.index(name) + 1}" if name in record.targets else name


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


def _title(record: FailoverRecord) -> list[str]:
    started = record.started_at.replace("T", " ").removesuffix("Z")
    lines = title_lines(record.id, f"{started} UTC, openslob {record.openslob_version}")
    product = f"{record.servers.get('product', 'servers')} {record.servers.get('version', '')}".strip()
    what = "the rate that copies follow" if record.asked.get("follow_limit_s") else "outages"
    lines += wrapped(f"{what} of {product}, slob failover")
    if record.status is not Status.COMPLETE:
        lines += hanging(f"!! {record.status.upper()}: ", "; ".join(record.errors) or why_incomplete(record.status))
    return lines


def _outages(record: FailoverRecord, columns: int | None) -> list[str]:
    if not record.cycles:
        return []
    head = ("cycle", *(title for _, title in TIMES), "clocks differ", "before", "after")
    rows = [
        (
            cycle_name(record, cycle),
            *(seconds(cycle.value(name)) for name, _ in TIMES),
            _ms(cycle.value("clocks_differ_ms")),
            *(f"{number(cycle.value(name))}/s" for name in ("level_before_per_s", "level_after_per_s")),
        )
        for cycle in record.cycles
    ]
    said = dict.fromkeys(text for cycle in record.cycles for text in cycle.said)
    return [
        "OUTAGES",
        *table(head, rows, columns=columns),
        *(line for text in said for line in hanging("said: ", text)),
    ]


def _ms(value: float | None) -> str:
    return MISSING if value is None else f"{value:+.1f} ms"


def _operations(record: FailoverRecord, columns: int | None) -> list[str]:
    if not record.cycles:
        return []
    rows = [
        (f"cycle {cycle.number}", *(number(cycle.accounts.get(name)) for name, _ in _ACCOUNTS))
        for cycle in record.cycles
    ]
    if len(rows) > 1:
        rows.append(("all", *(number(record.value(name)) for name, _ in _ACCOUNTS)))
    problems = [
        line
        for cycle in record.cycles
        for text in cycle.problems
        for line in hanging(f"! cycle {cycle.number}: ", text)
    ]
    return ["OPERATIONS", *table(("", *(title for _, title in _ACCOUNTS)), rows, columns=columns), *problems]


def _lost(record: FailoverRecord) -> list[str]:
    lines = []
    for cycle in record.cycles:
        for each in cycle.lost[:_LOST_SHOWN]:
            before = seconds(each.get("acked_before_s"))
            text = f"operation {each.get('number')} of session {each.get('session')}"
            lines += hanging(f"cycle {cycle.number}: ", f"{text}, acknowledged {before} before the outage")
        if (more := cycle.accounts.get("acked_lost", 0) - _LOST_SHOWN) > 0:
            lines += hanging(f"cycle {cycle.number}: ", f"and {number(more)} more")
    return ["ACKNOWLEDGED AND LOST", *lines] if lines else []


def _lag(record: FailoverRecord, columns: int | None) -> list[str]:
    head = ("copy", "most bytes", "last", "heartbeat, most", "last", "it says, most", "why unknown")
    rows = [
        (f"{cycle.number}. {short_name(record, str(row.get('copy')))}", *_lag_cells(row))
        for cycle in record.cycles
        for row in cycle.copies
    ]
    if not rows:
        return []
    title, reasons = "LAG OF COPIES BEFORE THE OUTAGE", {row[-1] for row in rows}
    if len(reasons) > 1:
        return [title, *table(head, rows, ends_in_text=True, columns=columns)]
    shorter = table(head[:-1], [row[:-1] for row in rows], columns=columns)
    return [title, *shorter, *(line for reason in reasons if reason for line in hanging(f"{MISSING}: ", reason))]


def _lag_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        *(size(row.get(name)) for name in ("bytes_behind_max", "bytes_behind_last")),
        *(seconds(row.get(name)) for name in ("heartbeat_s_max", "heartbeat_s_last", "said_s_max")),
        str(row.get("why") or ""),
    )


def _steps(steps: Sequence[FollowStep], columns: int | None) -> list[str]:
    if not steps:
        return []
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
    return ["STEPS", *table(head, rows, ends_in_text=True, columns=columns)]


def _test(record: FailoverRecord) -> list[str]:
    asked = record.asked
    rate = asked.get("per_s")
    pace = "as fast as they can" if rate is None else f"{number(rate)} commits/s together"
    lines = hanging("sessions   ", f"{asked.get('sessions')}, {pace}; operations in doubt: {asked.get('retry')}")
    for each, target in enumerate(record.targets, 1):
        lines += hanging("servers    " if each == 1 else " " * 11, f"#{each}: {target}")
    for role, label in (("cause", "outage by  "), ("take_over", "ended by   ")):
        if (text := record.roles.get(role)) and not asked.get("follow_limit_s"):
            lines += hanging(label, text)
    if asked.get("synchronous"):
        lines += hanging("commits    ", "wait for a copy until the outage; afterwards there is none to wait for")
    return ["TEST", *lines]
