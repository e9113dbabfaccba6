"""What `slob` said of a run, as statements that can be compared with the truth; read from its JSON alone.

`FAMILIES` is the one place that knows the names of causes, those of older and of newer versions alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from blinded.plan import Shape
from openslob.core.units import MIB


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
OTHER_LEVEL = re.compile(r"\bor ([\d,.]+) (IOPS|MB/s)")
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
    that it cost. ``levels`` has requests, or bytes, a second, or CPUs, by unit: several if it leaves open which.
    """

    source: str
    families: frozenset[Family]
    text: str
    direction: str = ""
    levels: Mapping[str, float] = field(default_factory=dict)
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


def read_answer(run: Path) -> Answer:
    """Read what `slob endure` said in a run's folder, and what the record of its run says of the limit."""
    record = json.loads((run / "answer.json").read_text())
    total = sum(float(each["ops_per_s"]) * float(each["known_s"]) for each in record["tables"]["levels"])
    statements = [
        *of_level(_verdict(record, "level_sustained")),
        *(of_episode(each, total) for each in record["tables"]["episodes"]),
    ]
    for part in sorted(run.glob("results/*/*/run.json")):
        statements += of_limit(_verdict(json.loads(part.read_text()), "limit_found"))
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
    levels = {unit: float(figures["cap"]) * of_one}
    for amount, name in OTHER_LEVEL.findall(why):
        unit, of_one = UNITS[name]
        levels[unit] = float(amount.replace(",", "")) * of_one
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


def of_episode(row: Mapping[str, Any], total_ops: float) -> Statement:
    """Return what a slow stretch says; ``total_ops`` were done in the run."""
    cause, evidence = str(row["cause"]), str(row["evidence"])
    lost, other = float(row["lost_ops"]), frozenset({Family.OTHER} if cause != UNKNOWN else ())
    return Statement(
        "episode",
        families_of(cause, evidence) or other,
        f"{cause}: {evidence}",
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
