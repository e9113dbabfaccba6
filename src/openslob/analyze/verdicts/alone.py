"""The verdict on who else worked on the server."""

from __future__ import annotations

from openslob.analyze.other_sessions import BESIDE, MAX_AT_WORK, MAX_SHARE_PCT, at_work, worked
from openslob.analyze.outcome import Shown, counted, fails, holds, unknown
from openslob.metrics.measurement import Measurement, OtherSessions
from openslob.record.model import Verdict


def alone_on_server(measurement: Measurement) -> Verdict:
    """Judge whether no session but the test's did noticeable work on the server.

    It fails for sessions that the samples saw at work, and for work that the engine counted apart from the test's. It
    holds only if nearly all samples could see all sessions: a long statement is counted when it ends.
    """
    name, others = "alone_on_server", measurement.others
    mean, so = at_work(others), worked(others)
    figures: dict[str, Shown] = {
        "sessions_at_work": mean,
        "who": _most_seen(others),
        **{f"others_{field}_pct": share for field, share in others.shares_pct.items()},
    }
    if so:
        return fails(name, f"{BESIDE.capitalize()}: {_evidence(others)}.", **figures)
    if so is None:
        why = "this user may not see what other sessions do, or they were not sampled"
        return unknown(name, f"Can't be determined: {why}.", **figures)
    if not mean:
        return holds(
            name, f"No other session was at work in {counted(others.samples - others.hidden, 'sample')}.", **figures
        )
    return holds(
        name,
        f"Other sessions hardly worked: {_evidence(others)}; {MAX_AT_WORK:g} and {MAX_SHARE_PCT:g} % are allowed.",
        **figures,
    )


def _most_seen(others: OtherSessions) -> str | None:
    return max(others.seen, key=lambda who: (others.seen or {})[who], default=None) if others.seen else None


def _evidence(others: OtherSessions) -> str:
    mean, who = at_work(others), _most_seen(others)
    seen = "" if not mean else f"{mean:.2f} of them were at work on average, most often {who}"
    shares = (f"{share:.1f} % of all {_LABELS.get(field, field)}" for field, share in others.shares_pct.items())
    did = ", ".join(shares)
    return "; ".join(filter(None, (seen, f"they did {did}" if did else "")))


_LABELS = {
    "logical_reads": "logical reads",
    "read_requests": "physical reads",
    "write_requests": "physical writes",
    "rows_read": "rows read",
    "rows_updated": "rows changed",
    "commits": "commits",
    "log_syncs": "log syncs",
}
