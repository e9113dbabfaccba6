"""The highest rate of commits that copies follow: steps at paced rates, halving the distance between yes and no."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.units import NANOS
from openslob.kinds.failover.conduct import STOPPED, Crew, Request, begin, crew
from openslob.kinds.failover.cycle import commits_rows, lag_rows
from openslob.kinds.failover.lag import INTERVAL_S, LagSample, LagSampler
from openslob.kinds.failover.outage import acknowledged, level
from openslob.kinds.failover.record import (
    COMMITS,
    COMMITS_FILE,
    LAG,
    LAG_FILE,
    FailoverFolder,
    FailoverRecord,
    FollowStep,
)
from openslob.kinds.failover.servers import Servers
from openslob.record.model import Figure, Status

# The search ends when the rates that are followed and not are as near as this, or after so many steps.
_NEAR = 1.1
_MOST_STEPS = 10
# A step at less of the rate that was asked for does not tell whether copies follow that rate.
_REACHED = 0.95
# The begin of a step is no part of it: the lag of the step before it goes down first. Its share, and the longest wait.
_SETTLE, _CATCH_UP_S = 1 / 4, 120.0


def next_rate(steps: Sequence[FollowStep]) -> float | None:
    """Return the rate of the next step; None when the search is over. Nothing is asked for in the first step."""
    if not steps:
        return None
    low, high = bounds(steps)
    if high is None or len(steps) >= _MOST_STEPS or (low and high / low <= _NEAR):
        return None
    # Until a rate is followed, the next one is a quarter: there may be several orders of magnitude in between.
    return (low * high) ** 0.5 if low else high / 4


def bounds(steps: Sequence[FollowStep]) -> tuple[float | None, float | None]:
    """Return the highest rate that was followed, and the lowest above it that was not; by the rates measured."""
    refused = [step.commits_per_s for step in steps if step.follows is False]
    high = min(refused, default=None)
    followed = [step.commits_per_s for step in steps if step.follows and (high is None or step.commits_per_s < high)]
    return max(followed, default=None), high


def judge(number: int, asked: float | None, rate: float, samples: Sequence[LagSample], limit_s: float) -> FollowStep:
    """Return a step: whether all copies were behind by less than the limit in all samples."""
    unknown = next(
        (each.why or "no lag" for each in samples if each.heartbeat_s is None), "" if samples else "no sample"
    )
    lags = [each.heartbeat_s for each in samples if each.heartbeat_s is not None]
    behind = [each.bytes_behind for each in samples if each.bytes_behind is not None]
    lag = max(lags, default=None)
    follows: bool | None = None if lag is None else lag < limit_s
    why = ""
    if follows and unknown:
        follows, why = None, f"not all samples are known: {unknown}"
    elif follows and asked is not None and rate < _REACHED * asked:
        why = f"only {rate:.0f}/s of {asked:.0f}/s were reached"
    elif follows is None:
        why = unknown
    return FollowStep(
        number=number, asked_per_s=asked, commits_per_s=rate, lag_s=lag,
        bytes_behind=max(behind, default=None), follows=follows, why=why,
    )  # fmt: skip


def summary(steps: Sequence[FollowStep]) -> dict[str, Figure]:
    """Return the answer: between which rates the highest one lies."""
    low, high = bounds(steps)
    if low is None:
        why = (
            next((step.why for step in steps if step.follows is None), "") or "the lag was above the limit at each rate"
        )
    else:
        why = ""
    everything = None if high is not None else "the copies follow whatever the sessions commit"
    return {
        "follows_per_s": Figure(value=low, unit="1/s", why=why or None),
        "follows_below_per_s": Figure(value=high, unit="1/s", why=everything if low is not None else why or None),
    }


class FollowSearch:
    """Runs the steps and writes the record; the load goes on all the time, at each step's rate."""

    def __init__(
        self, request: Request, servers: Servers, interrupt: Interrupt, tell: Callable[[str], None], limit_s: float
    ) -> None:
        self._request, self._servers, self._interrupt, self._tell = request, servers, interrupt, tell
        self._limit_s = limit_s

    def run(self) -> tuple[FailoverRecord, Path]:
        """Run the search; return the record and its folder."""
        asked = {**self._request.asked(), "follow_limit_s": self._limit_s}
        with begin(self._request, self._servers, asked) as folder:
            status = Status.COMPLETE
            errors: tuple[str, ...] = ()
            try:
                with crew(self._request, self._servers, self._interrupt) as team:
                    self._search(folder, team)
            except SlobError as error:
                stopped = self._interrupt.requested
                status = Status.INTERRUPTED if stopped else Status.FAILED
                errors = (STOPPED if stopped else str(error),)
            steps = folder.record.follow
            folder.update(status=status, errors=errors, summary=summary(steps) if steps else {})
            return folder.record, folder.path

    def _search(self, folder: FailoverFolder, team: Crew) -> None:
        pairs = list(zip(team.engines, team.tables, strict=True))
        sampler = LagSampler(pairs[0], dict(list(enumerate(pairs))[1:]))
        sampler.start()
        steps: list[FollowStep] = []
        try:
            while True:
                rate = next_rate(steps)
                if steps and rate is None:
                    return
                self._catch_up(team, sampler)
                team.plan.per_s = rate
                self._tell(
                    f"step {len(steps) + 1}: " + (f"{rate:.0f} commits/s" if rate else "as fast as sessions can")
                )
                steps.append(self._step(len(steps) + 1, rate, team, sampler))
                folder.update(follow=tuple(steps))
        finally:
            end_ns = time.monotonic_ns()
            team.stop()
            sampler.stop()
            journals = [client.journal for client in team.clients]
            folder.add_rows(COMMITS_FILE, COMMITS, commits_rows(journals, team.began_ns, end_ns, 1))
            folder.add_rows(LAG_FILE, LAG, lag_rows(sampler.samples, team.began_ns, 1, team.names))

    def _catch_up(self, team: Crew, sampler: LagSampler) -> None:
        """Let copies apply what they lack, at a low rate. SlobError if they do not."""
        team.plan.per_s = 1.0
        deadline = time.monotonic() + _CATCH_UP_S
        while time.monotonic() < deadline:
            self._wait(2 * INTERVAL_S)
            recent = sampler.since(time.monotonic_ns() - int(4 * INTERVAL_S * NANOS))
            if recent and all(each.heartbeat_s is not None and each.heartbeat_s < self._limit_s / 2 for each in recent):
                return
        raise SlobError(
            f"a copy did not catch up within {_CATCH_UP_S:.0f} s, almost without load",
            "see whether its replication goes on",
        )

    def _step(self, number: int, rate: float | None, team: Crew, sampler: LagSampler) -> FollowStep:
        self._wait(self._request.before_s * _SETTLE)
        begin_ns = time.monotonic_ns()
        self._wait(self._request.before_s * (1 - _SETTLE))
        end_ns = time.monotonic_ns()
        acked = acknowledged([client.journal for client in team.clients])
        reached = level(acked, begin_ns, end_ns) or 0.0
        return judge(number, rate, reached, sampler.since(begin_ns), self._limit_s)

    def _wait(self, seconds: float) -> None:
        if self._interrupt.stop.wait(seconds):
            raise SlobError(STOPPED)
