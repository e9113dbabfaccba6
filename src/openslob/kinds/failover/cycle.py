"""The figures of one outage, from what the sessions did and saw. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from openslob.core.units import NANOS
from openslob.engines.ledger import LedgerContents
from openslob.kinds.failover.accounting import NOTHING, Account, account, surviving
from openslob.kinds.failover.journal import IN_DOUBT, Journal
from openslob.kinds.failover.lag import LagSample
from openslob.kinds.failover.outage import (
    LEVEL_SHARE,
    MEAN_OVER_S,
    Gap,
    Offset,
    Times,
    acknowledged,
    all_back_ns,
    back_ns,
    kept,
    level,
    longest_gap,
)
from openslob.kinds.failover.record import FailoverCycle
from openslob.record.model import Figure

# What sessions do in their first second (they connect, the cache is cold) is no part of the level.
WARM_S = 1.0
# Of a time line, and of the operations that were lost.
BUCKET_S = 0.1
_MOST_LOST = 20
NO_OUTAGE = "no session was lost, and none waited"


@dataclass(frozen=True)
class Observed:
    """All that was observed of a cycle. Times are ns of the driver's monotonic clock; ``wall_ns`` is the wall clock
    minus it. ``cause_ns`` is when the outage was made, None if somebody else made it; ``taken_over_ns`` when the
    promotion or the user's command was done.
    """  # noqa: D205

    journals: Sequence[Journal]
    contents: LedgerContents
    rows: int
    offsets: Mapping[int, Offset]
    begin_ns: int
    end_ns: int
    cause_ns: int | None
    taken_over_ns: int | None
    wall_ns: int


@dataclass(frozen=True)
class Outage:
    """The outage by both clocks, of all sessions together and of the session that waited longest.

    ``kept`` is by the driver's clock, too, between the acknowledgements of operations that are there in the end.
    """

    acked: Times
    driver: Gap | None
    kept: Gap | None
    server: Gap | None
    session: Gap | None
    session_server: Gap | None


def figures_of(
    seen: Observed, number: int, before: str, after: str, copies: Sequence[Mapping[str, object]]
) -> FailoverCycle:
    """Return the record of a cycle."""
    found = account(seen.journals, seen.contents, seen.rows)
    outage = outage_of(seen)
    begin = outage.driver.begin_ns if outage.driver else seen.end_ns
    first_lost = sorted(found.lost, key=lambda each: each.acked_ns)[:_MOST_LOST]
    return FailoverCycle(
        number=number,
        before=before,
        after=after,
        figures={**_durations(seen, outage), **_levels(seen, outage), **_losses(found, begin)},
        accounts=_accounts(seen, found),
        lost=tuple(
            {"session": each.session, "number": each.number, "acked_before_s": (begin - each.acked_ns) / NANOS}
            for each in first_lost
        ),
        problems=tuple(found.problems),
        said=dict(
            Counter(
                loss.why.partition(": ")[2] or loss.why for journal in seen.journals for loss in journal.losses
            ).most_common(5)
        ),
        copies=tuple(copies),
    )


def outage_of(seen: Observed) -> Outage:
    """Return the longest times without an acknowledgement, and without a commit that is there in the end."""
    acked = acknowledged(seen.journals)
    if seen.cause_ns is None and not any(journal.losses for journal in seen.journals):
        return Outage(acked, None, None, None, None, None)
    there = [surviving(each, seen.contents.sessions.get(each.session, NOTHING))[0] for each in seen.journals]
    alone = [
        (longest, _gap(seen, kept([journal], [indexes], seen.offsets, seen.wall_ns)[1]))
        for journal, indexes in zip(seen.journals, there, strict=True)
        if (longest := _gap(seen, acknowledged([journal])))
    ]
    kept_acked, kept_done = kept(seen.journals, there, seen.offsets, seen.wall_ns)
    session, session_server = max(alone, key=lambda pair: pair[0].seconds, default=(None, None))
    return Outage(acked, _gap(seen, acked), _gap(seen, kept_acked), _gap(seen, kept_done), session, session_server)


def _gap(seen: Observed, events: Times) -> Gap | None:
    from_ns = seen.cause_ns or seen.begin_ns + int(WARM_S * NANOS)
    return longest_gap(events, from_ns, all_back_ns(seen.journals, seen.end_ns))


def _durations(seen: Observed, outage: Outage) -> dict[str, Figure]:
    driver, kept_gap, server, cause_ns, done_ns = (
        outage.driver, outage.kept, outage.server, seen.cause_ns, seen.taken_over_ns
    )  # fmt: skip
    both = (kept_gap, server) if kept_gap and server else None
    took = None if cause_ns is None or done_ns is None else (done_ns - cause_ns) / NANOS
    again = None if driver is None or done_ns is None else (driver.end_ns - done_ns) / NANOS
    return {
        "outage_s": _length(driver),
        "outage_kept_s": _length(kept_gap),
        "outage_server_s": _length(server),
        "session_outage_s": _length(outage.session),
        "session_outage_server_s": _length(outage.session_server),
        "clocks_differ_ms": _ms((both[1].seconds - both[0].seconds) * 1e3 if both else None),
        # From the commit in the server to the acknowledgement, of the last before the outage and of the first after it.
        "before_ms": _ms((both[0].begin_ns - both[1].begin_ns) / 1e6 if both else None),
        "after_ms": _ms((both[0].end_ns - both[1].end_ns) / 1e6 if both else None),
        "takeover_s": _seconds(took, "the outage was not made by this test"),
        "reconnect_s": _seconds(again, "it is not known when the other server took over"),
    }


def _levels(seen: Observed, outage: Outage) -> dict[str, Figure]:
    driver = outage.driver
    if driver is None:
        rate = level(outage.acked, seen.begin_ns + int(WARM_S * NANOS), seen.end_ns)
        return {"level_before_per_s": _rate(rate), "back_s": _seconds(None, NO_OUTAGE)}
    before = level(outage.acked, seen.begin_ns + int(WARM_S * NANOS), driver.begin_ns)
    back = back_ns(outage.acked, driver, before, seen.end_ns) if before else None
    share = f"{LEVEL_SHARE:.0%} of the level before, as a mean over {MEAN_OVER_S:g} s,".replace("%", " %")
    waited = (seen.end_ns - driver.end_ns) / NANOS
    after = level(outage.acked, back, seen.end_ns) if back else None
    return {
        "level_before_per_s": _rate(before),
        "level_after_per_s": _rate(after),
        "back_s": _seconds(
            (back - driver.begin_ns) / NANOS if back else None,
            f"{share} was not reached in the {waited:.0f} s after the outage",
        ),
    }


def _losses(found: Account, begin_ns: int) -> dict[str, Figure]:
    lost = [each.acked_ns for each in found.lost]
    span = (begin_ns - min(lost)) / NANOS if lost else 0.0
    return {"lost_over_s": Figure(value=span, unit="s")}


def _accounts(seen: Observed, found: Account) -> dict[str, int]:
    return {
        "sent": found.sent,
        "acked_there": found.acked_there,
        "acked_lost": len(found.lost),
        "doubt_there": found.doubt_there,
        "doubt_gone": found.doubt_gone,
        "doubled": found.doubled,
        "not_sent": sum(journal.skipped for journal in seen.journals),
        "sessions_lost": sum(IN_DOUBT in journal.acked_ns for journal in seen.journals),
    }


def commits_rows(journals: Sequence[Journal], begin_ns: int, end_ns: int, number: int) -> list[tuple[int, float, int]]:
    """Return the time line: how many operations were acknowledged in each step of `BUCKET_S`."""
    acked = acknowledged(journals)
    steps = max(1, round((end_ns - begin_ns) / NANOS / BUCKET_S))
    edges = begin_ns + (np.arange(steps + 1) * BUCKET_S * NANOS).astype(np.int64)
    counts = np.diff(np.searchsorted(acked, edges))
    return [(number, round(step * BUCKET_S, 3), int(count)) for step, count in enumerate(counts)]


def lag_rows(
    samples: Sequence[LagSample], begin_ns: int, number: int, names: Sequence[str]
) -> list[tuple[object, ...]]:
    """Return the samples of the lag as rows of `lag.csv`; an unknown value is empty."""
    return [
        (
            number, round((each.at_ns - begin_ns) / NANOS, 3), names[each.copy],
            each.bytes_behind, each.not_received, _rounded(each.heartbeat_s), _rounded(each.said_s),
        )
        for each in samples
    ]  # fmt: skip


def lag_of_copies(samples: Sequence[LagSample], names: Sequence[str]) -> list[dict[str, object]]:
    """Return for each copy how far it was behind: the most, and at the end, in bytes and by the heartbeat."""
    rows = []
    for copy in sorted({each.copy for each in samples}):
        own = [each for each in samples if each.copy == copy]
        behind = [each.bytes_behind for each in own if each.bytes_behind is not None]
        beats = [each.heartbeat_s for each in own if each.heartbeat_s is not None]
        said = [each.said_s for each in own if each.said_s is not None]
        rows.append(
            {
                "copy": names[copy],
                "samples": len(own),
                "bytes_behind_max": max(behind, default=None),
                "bytes_behind_last": behind[-1] if behind else None,
                "heartbeat_s_max": _rounded(max(beats, default=None)),
                "heartbeat_s_last": _rounded(beats[-1] if beats else None),
                "said_s_max": _rounded(max(said, default=None)),
                "why": next((each.why for each in own if each.why), ""),
            }
        )
    return rows


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _length(gap: Gap | None) -> Figure:
    return _seconds(gap.seconds if gap else None, NO_OUTAGE)


def _seconds(value: float | None, why: str) -> Figure:
    return Figure.of(value, "s", why)


def _ms(value: float | None) -> Figure:
    return Figure.of(value, "ms", NO_OUTAGE)


def _rate(value: float | None) -> Figure:
    return Figure.of(value, "1/s", "nothing was measured")
