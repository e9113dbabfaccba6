"""What `slob` said of a run, as statements that can be compared with the truth; read from its JSON alone.

A run whose raw files are kept can be judged again by the program of today: see `judge_again`.

`FAMILIES` is the one place that knows the names of causes, those of older and of newer versions alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from blinded.plan import Shape
from openslob.analyze.rebuild import rebuild
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.kinds.endurance.record import EnduranceFolder
from openslob.kinds.endurance.segments import with_figures
from openslob.kinds.recounting import recount
from openslob.record import store
from openslob.record.model import RunRecord


class Family(StrEnum):
    """Causes that are the same for the judge."""

    CAP = "I/O cap"
    READS = "reads longer"
    WRITES = "writes longer"
    SYNCS = "log syncs longer"
    QUOTA = "CPU quota"
    CPU = "CPU of others"
    DISK = "I/O of others"
    OTHER = "another cause"


# A pattern of a cause's name, or of a limit's, and what it means; all that match count.
FAMILIES: Sequence[tuple[str, Family]] = (
    (r"\bcap\b", Family.CAP),
    (r"\breads?( that)? (took|take) longer|\bslow(er)? reads?|read latency", Family.READS),
    (r"\bwrites?( that)? (took|take) longer|\bslow(er)? writes?|write latency", Family.WRITES),
    (r"\bsyncs?( that)? (took|take) longer|\blog sync\b|\bslow(er)? (log )?syncs?|sync latency", Family.SYNCS),
    (r"CPU quota", Family.QUOTA),
    (r"CPU (taken by|that) others|others on the CPU|CPU of others|wait for (the )?CPU", Family.CPU),
    (r"I/O of others|others' I/O", Family.DISK),
    (r"server stopped|driver|stall|\block\b(?! sync)|memory|checkpoint|maintenance|write cliff", Family.OTHER),
)
# What says that no cause was found; any other name that is not known is that of another cause.
UNKNOWN = "unknown"
# Names that leave open what they mean: the evidence has the alternatives.
OPEN = re.compile(r"\beither\b|\bor\b", re.IGNORECASE)
OR_NOT = ", or not"
# An alternative to a cap in the text of a verdict.
OR_LONGER = re.compile(r"\bor\b[^.;]*\blonger\b", re.IGNORECASE)
OTHER_LEVEL = re.compile(r"\b(?:or|about|cap of) (?:of |about )?([\d,.]+) (IOPS|MB/s)")
OF_QUOTA = re.compile(r"quota of (?:about )?([\d.]+) CPUs")
UNITS = {"IOPS": ("iops", 1.0), "MB/s": ("bytes", float(MIB)), "CPUs": ("cpu", 1.0)}
SHAPES: Mapping[Shape, str] = {
    Shape.STAIRS: r"stair|in \w+ steps|\b(\d|two|three|several) levels",
    Shape.BUCKET: r"refill|\b(\d|three) times\b",
    Shape.FALL: r"slope|drift|fell slowly|falls slowly|slow fall|gradual",
    Shape.OSCILLATION: r"oscillat|\bperiod\b|swings",
}


@dataclass(frozen=True)
class Statement:
    """One thing that was said: the causes that it names, of which one is meant if they are several.

    ``at_s`` is when, in seconds of the load; ``until_s`` its end, if it was said; ``lost`` the share of all operations
    that it cost. ``levels`` has requests, or bytes, a second, or CPUs, with the unit: several if it leaves open which.
    """

    source: str
    families: frozenset[Family]
    text: str
    direction: str = ""
    levels: Sequence[tuple[str, float]] = ()
    at_s: float | None = None
    until_s: float | None = None
    lost: float = 1.0
    bucket: float | None = None

    @property
    def certain(self) -> bool:
        """Whether it names one cause."""
        return len(self.families) == 1


@dataclass(frozen=True)
class Answer:
    """All that was said of a run whose load began at ``began``, in seconds since the epoch."""

    began: float
    statements: Sequence[Statement]
    shapes: frozenset[Shape]


def families_of(name: str, evidence: str = "") -> frozenset[Family]:
    """Return what a cause's name means; with its evidence, if the name leaves it open."""
    if name.endswith(OR_NOT):
        return frozenset()
    found = [family for pattern, family in FAMILIES if re.search(pattern, name, re.IGNORECASE)]
    if not found and "either" in name.lower():
        return families_of(evidence)
    return frozenset(found if OPEN.search(name) else found[:1])


def judge_again(folder: Path) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Return an endurance record made again of its raw files by the program of today, and those of its runs."""
    again = with_figures(folder, EnduranceFolder.load(folder))
    runs = [_rebuild_run(run) for run in sorted(path.parent for path in folder.glob("*/run.json"))]
    return again.model_dump(mode="json"), [each.model_dump(mode="json") for each in runs]


def _rebuild_run(run: Path) -> RunRecord:
    """Return the record of a run made again; as it is if it is of a version that had no facts."""
    record, facts = store.load(run), store.load_facts(run)
    if facts is None or record.window is None:
        return record
    counted = recount(run, registry.counting(str(record.engine.get("name")), facts.counting), False).counted
    return rebuild(run, record.window.load_seconds, facts, counted).record


def _documents(run: Path, again: bool) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    if again:
        return judge_again(next(run.glob("results/*/endurance.json")).parent)
    runs = [json.loads(part.read_text()) for part in sorted(run.glob("results/*/*/run.json"))]
    return json.loads((run / "answer.json").read_text()), runs


def read_answer(run: Path, again: bool = False) -> Answer:
    """Read what `slob endure` said in a run's folder, or says ``again``, and what the record of its run says."""
    record, runs = _documents(run, again)
    total = sum(float(each["ops_per_s"]) * float(each["known_s"]) for each in record["tables"]["levels"])
    statements = [
        *of_level(_verdict(record, "level_sustained")),
        *(of_episode(each, total) for each in record["tables"]["episodes"]),
    ]
    for part in runs:
        statements += of_limit(_verdict(part, "limit_found"))
    texts = " ".join([str(_verdict(record, "level_sustained").get("why", "")), *(each.text for each in statements)])
    shapes = frozenset(shape for shape, pattern in SHAPES.items() if re.search(pattern, texts, re.IGNORECASE))
    began = float(record["segments"][0]["begin_s"])
    return Answer(began, [each for each in statements if each.families], shapes)


def _verdict(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next((each for each in record["verdicts"] if each["name"] == name), {})


def of_level(verdict: Mapping[str, Any]) -> Iterator[Statement]:
    """Yield what `level_sustained` says of a cap."""
    figures, why = verdict.get("figures", {}), str(verdict.get("why", ""))
    if figures.get("cap") is None:
        return
    kinds = {Family.QUOTA if figures.get("cap_kind") == "cpu" else Family.CAP}
    if alternative := OR_LONGER.search(why):
        kinds |= families_of(f"either {alternative[0]}") or {Family.READS}
    unit, of_one = UNITS[figures["cap_unit"]]
    levels = list(dict.fromkeys([(unit, float(figures["cap"]) * of_one), *_levels_in(why, OTHER_LEVEL)]))
    yield Statement(
        "level_sustained",
        frozenset(kinds),
        why,
        str(figures.get("cap_direction") or ""),
        levels,
        figures.get("dry_at_s"),
        figures.get("lifted_at_s"),
        bucket=figures.get("bucket"),
    )


def _levels_in(text: str, pattern: re.Pattern[str], unit: str = "") -> Iterator[tuple[str, float]]:
    """Yield the levels that a text names, each with its unit."""
    for found in pattern.finditer(text):
        amount, *named = found.groups()
        name, of_one = UNITS[named[0] if named else unit]
        yield name, float(amount.replace(",", "")) * of_one


def of_episode(row: Mapping[str, Any], total_ops: float) -> Statement:
    """Return what a slow stretch says; ``total_ops`` were done in the run."""
    cause, evidence = str(row["cause"]), str(row["evidence"])
    lost, other = float(row["lost_ops"]), frozenset({Family.OTHER} if cause != UNKNOWN else ())
    return Statement(
        "episode",
        families_of(cause, evidence) or other,
        f"{cause}: {evidence}",
        levels=[*_levels_in(evidence, OF_QUOTA, "CPUs"), *_levels_in(evidence, OTHER_LEVEL)],
        at_s=float(row["begin_s"]),
        until_s=float(row["end_s"]),
        lost=lost / (lost + total_ops) if lost + total_ops > 0 else 0.0,
    )


def of_limit(verdict: Mapping[str, Any]) -> Iterator[Statement]:
    """Yield what `limit_found` says, if it names one of our causes."""
    limit = str(verdict.get("figures", {}).get("limit") or "")
    # What a load waits for at any time is no fault.
    if families := families_of(limit, str(verdict.get("why", ""))) - {Family.OTHER}:
        yield Statement("limit_found", families, str(verdict["why"]))
