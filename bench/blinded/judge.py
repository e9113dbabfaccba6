"""The third program of the blind bench: compares what `slob` said of each run with what was done to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from blinded.answers import Answer, Family, Statement, read_answer
from blinded.delivered import (
    CONSTANT_SHAPES,
    MUCH_OUTSIDE,
    effect,
    outside_all_the_time,
    stretches,
    why_disturbed,
    why_not_as_said,
)
from blinded.inject import Truth
from blinded.measure import ANSWER, FACTS, FAILED, read_loads
from blinded.plan import CAPS, LATENCIES, QUOTAS, Kind, Load, Place, Shape
from blinded.raw import Course

WITHIN_S, LEVEL = 2.0, 0.03
# What costs less of a run's operations than this is what any machine does at any time.
LEAST_LOST = 0.02
# What is said of a time concerns a fault if they overlap, give or take the steps that they share.
BESIDE_S = 1.5
# Delays and neighbours that change the rate by less are not to be seen.
LEAST_EFFECT = 0.1
NOTHING, OTHER_CAP = "nothing", "I/O cap, other unit or way"
RIGHT: Mapping[Kind, Family] = {
    **dict.fromkeys(CAPS, Family.CAP),
    **dict.fromkeys(QUOTAS, Family.QUOTA),
    Kind.READ_LATENCY: Family.READS,
    Kind.SYNC_LATENCY: Family.SYNCS,
    Kind.PLAIN: Family.CPU,
    # Where they did not give way, as where Linux groups tasks by session. Else nothing is right.
    Kind.NICED: Family.CPU,
    Kind.ON_DISK: Family.DISK,
}
# What is true of a fault as well, and says less than what it is.
WEAKER: Mapping[Kind, frozenset[Family]] = {Kind.ON_DISK: frozenset({Family.READS, Family.WRITES, Family.SYNCS})}


class Outcome(StrEnum):
    """How the kind that was stated compares with the truth."""

    RIGHT = "right"
    EITHER = "either"
    UNSAID = "not said"
    WRONG = "wrong"


@dataclass(frozen=True)
class Judgement:
    """How what was said of one run compares with the truth; ``said`` is the column of the table that it is in.

    ``level`` and ``moment`` are whether those that were stated are right; None if there is none in truth.
    ``false_cap``: a cap on I/O was stated for certain where there was none. ``shape``: that of a cap was named; None
    without one that has a name. ``false_bucket``: a bucket was stated where none was filled again.
    """

    outcome: Outcome
    said: str
    why: str
    level: bool | None = None
    moment: bool | None = None
    false_cap: bool = False
    shape: bool | None = None
    false_bucket: bool = False


def judge(truth: Truth, answer: Answer, unseen: bool = False, busy: bool = False) -> Judgement:
    """Judge what was said of a run.

    ``unseen``: the fault changed nothing, so that nothing need be said of it. ``busy``: programs that are no part of
    the bench used the CPU all the time; that others did may be said then.
    """
    kind = truth.planned.kind
    right = None if kind is Kind.NICED and unseen else RIGHT.get(kind)
    said = [each for each in answer.statements if each.lost >= LEAST_LOST]
    if busy and right is not Family.CPU:
        said = [each for each in said if each.families != {Family.CPU}]
    false_cap = kind not in CAPS and any(each.families == {Family.CAP} for each in said)
    concerned = [each for each in said if right is None or _concerns(each, truth, answer.began)]
    if not concerned and (right is None or unseen):
        return Judgement(Outcome.RIGHT, NOTHING, "", false_cap=false_cap)
    shape = truth.planned.shape
    level, moment = _right_figures(concerned, truth, answer) if right else (None, None)
    return Judgement(
        *_compare(concerned, truth, right),
        level,
        moment,
        false_cap,
        shape in answer.shapes if kind in CAPS and shape is not Shape.LEVEL else None,
        not (kind in CAPS and shape is Shape.BUCKET) and any(each.bucket is not None for each in said),
    )


def _compare(concerned: Sequence[Statement], truth: Truth, right: Family | None) -> tuple[Outcome, str, str]:
    """Return how what was said of a fault compares with it, the column of the table, and the text that decides."""
    kind = truth.planned.kind
    wrong = next((each for each in concerned if not _may_be_true(each, truth, right)), None)
    if wrong:
        is_other_cap = kind in CAPS and wrong.families == {Family.CAP}
        return Outcome.WRONG, OTHER_CAP if is_other_cap else _column(wrong), wrong.text
    if not concerned:
        return Outcome.UNSAID, NOTHING, ""
    best = min(concerned, key=lambda each: (each.families != {right}, each.source != "level_sustained", -each.lost))
    if best.families == {right}:
        return Outcome.RIGHT, _column(best), best.text
    return Outcome.EITHER, str(Outcome.EITHER), best.text


def _column(statement: Statement) -> str:
    return str(next(iter(statement.families))) if len(statement.families) == 1 else str(Outcome.EITHER)


def _concerns(statement: Statement, truth: Truth, began: float) -> bool:
    """Return whether something was said of the time of the fault, or of no time at all."""
    if statement.source != "episode" or statement.at_s is None or truth.at is None:
        return True
    begin, end = began + statement.at_s, began + (statement.until_s or statement.at_s)
    return begin < (truth.ended or truth.until or end) + BESIDE_S and end > truth.at - BESIDE_S


def _may_be_true(statement: Statement, truth: Truth, right: Family | None) -> bool:
    """Return whether one of the causes that a statement names is that of the truth, with its direction and unit."""
    planned = truth.planned
    if right not in statement.families:
        # That a cap may have been it as well takes nothing from what is true.
        others = statement.families - {Family.CAP}
        return bool(others) and others <= WEAKER.get(planned.kind, frozenset())
    if planned.kind not in CAPS:
        return True
    ways = {"read"} if planned.kind in (Kind.READ_IOPS, Kind.READ_BYTES) else {"write", "log"}
    of_way = statement.direction in ("", "request", *ways)
    return of_way and (not statement.levels or planned.unit in {unit for unit, _ in statement.levels})


def _right_figures(statements: Sequence[Statement], truth: Truth, answer: Answer) -> tuple[bool | None, bool | None]:
    """Return whether one of the statements has a level that is right, and its moment; None where there is none."""
    planned = truth.planned
    if truth.at is None:
        return None, None
    unit = "cpu" if planned.kind in QUOTAS else planned.unit
    constant = (planned.kind in CAPS and planned.shape in CONSTANT_SHAPES) or planned.kind in QUOTAS
    levels = [(begin, level) for begin, _, level in stretches(truth)] if constant else []
    near = [
        begin
        for each in statements
        for begin, level in levels
        if any(named == unit and abs(said / level - 1) <= LEVEL for named, said in each.levels)
    ]
    moments = near or [begin for begin, _ in levels] or [truth.at]
    said = [answer.began + each.at_s for each in statements if each.at_s is not None]
    in_time = any(abs(at - moment) <= WITHIN_S for at in said for moment in moments)
    return (bool(near) if levels else None), in_time


@dataclass(frozen=True)
class Run:
    """One run with all that is known of it; ``failed`` says why there is no answer.

    ``again``: what the program of today says of its raw files is judged, and not what was said when it was made.
    """

    folder: Path
    load: Load
    facts: Mapping[str, Any]
    failed: str = ""
    again: bool = False

    @property
    def name(self) -> str:
        return f"{self.folder.name} {self.load.number}"

    @cached_property
    def truth(self) -> Truth:
        return Truth.read(self.folder / "truth" / f"{self.load.number:03}.json")

    @cached_property
    def course(self) -> Course:
        return Course.read(self.folder / "truth" / f"{self.load.number:03}.csv")

    @cached_property
    def not_scored(self) -> str:
        """Why it is not scored; empty if it is."""
        return self.failed or why_not_as_said(self.truth, self.course) or why_disturbed(self.truth, self.course)

    @cached_property
    def judgement(self) -> Judgement:
        unseen = self.truth.planned.kind in (*LATENCIES, Kind.NICED, Kind.PLAIN, Kind.ON_DISK)
        unseen = unseen and not effect(self.truth, self.course) >= LEAST_EFFECT
        answer = read_answer(self.folder / "runs" / f"{self.load.number:03}", self.again)
        return judge(self.truth, answer, unseen, self.outside > MUCH_OUTSIDE)

    @property
    def outside(self) -> float:
        """How many CPUs were used by what is no part of the bench, while the load lasted."""
        return outside_all_the_time(self.truth, self.course)

    @property
    def must_know(self) -> bool:
        """Whether a limit could be read, or a probe was allowed."""
        planned = self.truth.planned
        on_host = planned.kind is Kind.QUOTA or (planned.kind in CAPS and planned.place is Place.DEVICE)
        return (on_host and self.load.groups_visible) or self.facts.get("probe") == "on"


def read_runs(folders: Iterable[Path], again: bool = False) -> list[Run]:
    """Return all runs of these folders that were begun; to be judged ``again`` by the program of today, or not."""
    found = []
    for folder in folders:
        for load in read_loads(folder):
            path = folder / "runs" / f"{load.number:03}"
            if not (path / FACTS).exists():
                continue
            facts = json.loads((path / FACTS).read_text())
            failed = (path / FAILED).read_text().strip() if (path / FAILED).exists() else ""
            failed = failed or ("" if (path / ANSWER).exists() else "it was stopped")
            found.append(Run(folder, load, facts, failed, again))
    return found
