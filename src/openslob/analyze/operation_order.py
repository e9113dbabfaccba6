"""Whether sessions did the operations that the seed of a run says, in its order, by the counts of their slices.

What operation a session does next follows from its seed and the operation's number alone (`method`). By the end of each
slice, `share_done` says how many operations are of a kind for the place in the cycle where the session began. What is
kept is not the slices but which places they leave possible.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from openslob.analyze.session_sums import AMOUNTS, SessionSums, amounts_of, require_exact
from openslob.analyze.tables import Moments
from openslob.core.counts import SliceCounts
from openslob.core.method import phases_of
from openslob.core.workload import Workload
from openslob.record.cells import Cells
from openslob.record.model import RunRecord

_KINDS = ("update", "scan")
_COUNTED = [AMOUNTS.index(name) for name in ("ops", "updates", "scans")]
# Shares are in percent: a cycle has so many operations.
_CYCLE = 100


class OperationOrder:
    """The operations of a run, slice by slice in the order of its file. ``sessions`` are their sums.

    How many operations a warm-up had, no file says: then a session may have begun at any place in the cycle.
    """

    def __init__(self, record: RunRecord) -> None:
        self.workload = Workload.model_validate(record.spec)
        # Of each session, the shares of updates and of scans.
        loads = [part.workload for part in self.workload.parts for _ in part.numbers]
        self._shares: Moments = np.array([(load.update_pct, load.scan_pct) for load in loads], np.int64).T
        self.is_warm = record.window is None or record.window.warmup_s > 0
        self.sessions = SessionSums()
        # Of each kind, by session: the places in the cycle, times the share, from the first possible one to the end.
        self._possible: Moments = np.zeros((len(_KINDS), 2, 0), np.int64)
        self._last: Moments = np.zeros(0, np.int64)
        self._astray = set[int]()

    def take(self, columns: Sequence[str], cells: Cells) -> None:
        """Add the lines of `slices.csv` that follow. ValueError for what can't be."""
        amounts = amounts_of(columns, cells)
        sessions = cells.integers(columns.index("session"))
        by_session = np.argsort(sessions, kind="stable")
        numbers, starts = np.unique(sessions[by_session], return_index=True)
        rows = self.sessions.rows_of(numbers)
        done = np.cumsum(amounts[_COUNTED][:, by_session], axis=1)
        before = np.where(starts > 0, done[:, starts - 1], 0.0)
        known = self.sessions.amounts(rows)[_COUNTED]
        done += np.repeat(known - before, np.diff(np.append(starts, len(sessions))), axis=1)
        require_exact(done)
        ops, updates, scans = done.astype(np.int64)
        self._follow(cells.integers(columns.index("slice"))[by_session], numbers, rows, starts)
        more = len(self.sessions) - self._possible.shape[2]
        self._possible = np.pad(self._possible, ((0, 0), (0, 0), (0, more)))
        self._possible[:, 1, self._possible.shape[2] - more :] = _CYCLE
        update_pct, scan_pct = self._shares_of(sessions[by_session])
        self._narrow(0, rows, starts, *_limits(ops, updates, update_pct))
        self._narrow(1, rows, starts, *_limits(ops - updates, scans, scan_pct))
        self.sessions.take(columns, cells, amounts)

    def _shares_of(self, sessions: Moments) -> Moments:
        """Return the shares of updates and of scans of these sessions; a session that nobody asked for has the last."""
        found: Moments = self._shares[:, np.clip(sessions, 0, self._shares.shape[1] - 1)]
        return found

    def _follow(self, slices: Moments, numbers: Moments, rows: Moments, starts: Moments) -> None:
        """Note the sessions whose slices don't follow each other; of a long run, a line may stand for several."""
        self._last = np.pad(self._last, (0, len(self.sessions) - len(self._last)), constant_values=-1)
        before = np.concatenate([[-1], slices[:-1]])
        before[starts] = self._last[rows]
        self._astray.update(numbers[np.add.reduceat(slices <= before, starts) > 0].tolist())
        self._last[rows] = slices[np.append(starts[1:], len(slices)) - 1]

    def _narrow(self, kind: int, rows: Moments, starts: Moments, low: Moments, high: Moments) -> None:
        first, end = self._possible[kind]
        first[rows] = np.maximum(first[rows], np.maximum.reduceat(low, starts))
        end[rows] = np.minimum(end[rows], np.minimum.reduceat(high, starts))

    def faults(self) -> list[str]:
        """Return which sessions did other operations than the method has for the seed; none if all did these."""
        load = self.workload
        found = [f"the slices of session {each} do not follow each other" for each in sorted(self._astray)]
        for session in self.sessions.by_number():
            (row,) = self.sessions.rows_of(np.array([session]))
            phases = phases_of(load.seed, session, 0, 0, 0)
            shares = self._shares_of(np.array([session]))[:, 0].tolist()
            for number, (percent, phase) in enumerate(zip(shares, (phases.update, phases.scan), strict=True)):
                first, end = self._possible[number, :, row].tolist()
                begins = range(_CYCLE) if self.is_warm else (phase,)
                if not any(first <= begin * percent % _CYCLE < end for begin in begins):
                    found.append(f"session {session} did not {_KINDS[number]} when its seed says")
        return found


def _limits(number: Moments, done: Moments, percent: Moments) -> tuple[Moments, Moments]:
    """Return which begins are possible if ``done`` of the first ``number`` decisions were true, ``percent`` of all are.

    For a begin ``b`` with ``r = b * percent % 100``, `share_done` is ``(r + number * percent) // 100``: one more than
    without ``r`` if and only if ``r`` is large enough. The limits are those of ``r``, the second one exclusive.
    """
    whole, rest = np.divmod(number * percent, _CYCLE)
    more = done - whole
    low = np.where(more == 0, 0, np.where(more == 1, _CYCLE - rest, _CYCLE))
    return low, np.where(more == 0, _CYCLE - rest, _CYCLE)


def replay_faults(recorded: OperationOrder, replayed: OperationOrder) -> list[str]:
    """Return how a replay of a run did other operations than the run; none if both are the same as far as both go.

    Both are compared with the one order that the seed gives. Sessions that ended after so many operations (WORK_LOOP)
    must also have visited equally many rows: a session whose time was over before that, in one of both, did fewer. A
    warm-up shifts the order, and with it how many of these operations are of which kind, unless they are whole rounds.
    """
    faults = [f"in the record, {each}" for each in recorded.faults()]
    faults += [f"in the replay, {each}" for each in replayed.faults()]
    before, after = recorded.sessions.by_number(), replayed.sessions.by_number()
    if not after:
        return [*faults, "the replay did no operation"]
    if before.keys() != after.keys():
        faults.append(f"{len(before)} sessions worked in the record and {len(after)} in the replay")
    limit = recorded.workload.work_loop
    whole = all(_in_whole_rounds(part.workload, limit) for part in recorded.workload.parts)
    if limit and (not recorded.is_warm or whole):
        for session in sorted(before.keys() & after.keys()):
            first, second = before[session].counts, after[session].counts
            if first.ops == second.ops == limit and _in_words(first) != _in_words(second):
                what = f"{_in_words(first)} in the record and {_in_words(second)} in the replay"
                faults.append(f"session {session} did {what}")
    return faults


def _in_whole_rounds(workload: Workload, ops: int) -> bool:
    """Return whether so many operations are as many of each kind wherever they begin in the order."""
    updates, rest = divmod(ops * workload.update_pct, 100)
    return not rest and (ops - updates) * workload.scan_pct % 100 == 0


def _in_words(counts: SliceCounts) -> str:
    rows = counts.rows_visited
    return f"{counts.ops:,} operations ({counts.updates:,} updates, {counts.scans:,} scans) on {rows:,} rows"
