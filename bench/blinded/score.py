"""The score of the blind bench: counts over all runs, its bars, and the table of what was said for what there was."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from blinded.answers import Family
from blinded.delivered import in_words
from blinded.judge import NOTHING, OTHER_CAP, Judgement, Outcome, Run
from blinded.measure import commit
from blinded.plan import CAPS, Kind

LEAST_RIGHT, MOST_EITHER = 0.95, 0.2
TRUE = (Outcome.RIGHT, Outcome.EITHER)
# One cap may be stated where there is none, in so many runs.
FALSE_CAP_IN = 30
COLUMNS = (Family.CAP, OTHER_CAP, *list(Family)[1:], Outcome.EITHER, NOTHING)


@dataclass(frozen=True)
class Line:
    """A figure of the score: so many of so many, and whether that reaches its bar; None without one."""

    what: str
    count: int
    of: int
    bar: str = ""
    reached: bool | None = None

    def __str__(self) -> str:
        judged = "" if self.reached is None else f"   bar {self.bar}: {'reached' if self.reached else 'MISSED'}"
        share = f" ({100 * self.count / self.of:.0f} %)" if self.of else ""
        return f"  {self.what:<66} {self.count:>3} of {self.of:<3}{share}{judged}"


def lines(judged: Sequence[tuple[Kind, Judgement, bool]]) -> list[Line]:
    """Return the figures of runs: of each its kind, its judgement, and whether a limit was there to be known."""
    known = [each for _, each, must_know in judged if must_know]
    uncapped = [each for kind, each, _ in judged if kind not in CAPS]
    every = [each for _, each, _ in judged]
    found = [
        _at_least("kind right, or honestly either", [each.outcome in TRUE for each in every]),
        _at_most("either, where a limit could be read or a probe was allowed", known),
        Line(
            "caps stated in runs without one", sum(each.false_cap for each in uncapped), len(uncapped),
            f"≤ 1 in {FALSE_CAP_IN}",
            sum(each.false_cap for each in uncapped) <= max(1, len(uncapped) // FALSE_CAP_IN),
        ),
        _at_least("moment stated within 2 s", [each.moment for each in every if each.moment is not None]),
        _at_least("level stated within 3 %", [each.level for each in every if each.level is not None]),
    ]  # fmt: skip
    shapes = [each.shape for each in every if each.shape is not None]
    buckets = sum(each.false_bucket for each in every)
    return [
        *found,
        Line("shape of a cap named, of those that are no single level", sum(shapes), len(shapes)),
        Line("buckets stated that were never filled again", buckets, len(every)),
    ]


def _at_least(what: str, right: Sequence[bool]) -> Line:
    count = sum(right)
    return Line(what, count, len(right), f"≥ {100 * LEAST_RIGHT:g} %", count >= LEAST_RIGHT * len(right))


def _at_most(what: str, known: Sequence[Judgement]) -> Line:
    count = sum(each.outcome is Outcome.EITHER for each in known)
    return Line(what, count, len(known), f"≤ {100 * MOST_EITHER:g} %", count <= MOST_EITHER * len(known))


def table(judged: Sequence[tuple[Kind, Judgement, bool]]) -> str:
    """Return the table in Markdown: a row for each kind that there was, a column for each that was said."""
    counted = Counter((kind, each.said) for kind, each, _ in judged)
    columns = [column for column in COLUMNS if any(said == column for _, said in counted)]
    rows = [["there was", "runs", *columns], ["---"] * (2 + len(columns))]
    for kind in Kind:
        runs = sum(count for (of, _), count in counted.items() if of is kind)
        rows += [[kind, str(runs), *(str(counted[kind, column] or "") for column in columns)]] if runs else []
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def show_score(runs: Sequence[Run]) -> tuple[str, str, bool]:
    """Return the score as a text, its table, and whether a bar was missed."""
    scored = [each for each in runs if not each.not_scored]
    judged = [(each.truth.planned.kind, each.judgement, each.must_know) for each in scored]
    found = lines(judged)
    commits = ", ".join(sorted({each.facts["commit"] for each in scored}))
    commits += f", judged again by {commit()}" if any(each.again for each in scored) else ""
    engines = ", ".join(sorted({f"{each.facts['engine']} {each.facts['version']}" for each in scored}))
    busy = statistics.fmean(each.outside for each in scored) if scored else 0.0
    texts = [
        f"{len(scored)} runs scored, of {len(runs)}: {engines}, slob of {commits}",
        f"programs that are no part of it used {busy:.2f} CPUs",
        *map(str, found),
        "",
        table(judged),
    ]
    texts += [f"not scored: {each.name}: {each.not_scored}" for each in runs if each.not_scored]
    for each in scored:
        said = each.judgement
        wrong = [name for name, right in (("level", said.level), ("moment", said.moment)) if right is False]
        if said.outcome in (Outcome.WRONG, Outcome.UNSAID) or wrong:
            what = ", ".join([said.outcome, *wrong])
            texts.append(f"{each.name}: {what}: {in_words(each.truth, each.course)}\n    said: {said.why or 'nothing'}")
    return "\n".join(texts), table(judged), any(each.reached is False for each in found)


def show_raw(runs: Sequence[Run]) -> str:
    """Return what each fault did, by the injecting side's own counts."""
    texts = []
    for each in runs:
        done = each.failed or in_words(each.truth, each.course)
        texts.append(f"{each.name}: {done}{f'   NOT SCORED: {each.not_scored}' if each.not_scored else ''}")
    return "\n".join(texts)
