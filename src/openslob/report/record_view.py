"""Access to a record's figures for all reports: value, reason for a missing value, label and formatted text."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openslob.core import places
from openslob.core.errors import SlobError
from openslob.core.session_classes import split_kind
from openslob.core.units import Price
from openslob.metrics import METRICS, Timed
from openslob.metrics.cost import CURRENCY
from openslob.metrics.model import RESPONSE_PREFIX
from openslob.metrics.timed import SINGLE
from openslob.record import finding
from openslob.record.model import Holds, RunRecord, Status
from openslob.report.format import per_second, quantity

REACHED_DEVICE = "reads_reached_device"
RATE_REACHED = "rate_reached"
NO_STALLS = "no_stalls"
ALONE = "alone_on_server"
# Sign and word of each outcome of a verdict, the gravest first.
SIGNS = {Holds.FAILS: ("✗", "fails"), Holds.UNKNOWN: ("?", "unknown"), Holds.HOLDS: ("✓", "holds")}
# What a result must add where one of these verdicts fails, so that it claims no more than is so.
_CAVEATS = {
    "real_server": "computed by a stand-in and not measured",
    "quiet_machine": "on a noisy machine",
    "steady": "at a rate that was not steady",
    ALONE: "while other sessions loaded the server",
    "single_block": "with blocks read ahead of the work loop",
    "cache_size_kept": "while the server resized its cache",
    "not_throttled": "with sessions held back by the server's resource manager",
}

_LATENCIES = {
    "mean_us": "mean latency",
    "p50_us": "p50 latency",
    "p90_us": "p90 latency",
    "p99_us": "p99 latency",
    "p999_us": "p99.9 latency",
    "max_us": "longest",
}
_LATENCIES |= {RESPONSE_PREFIX + name: f"response time, {text}" for name, text in _LATENCIES.items()}
_KINDS = {"op": "operation", "select": "select", "update": "update", "scan": "scan"}


@dataclass(frozen=True)
class FigureNames:
    """Names of figures in tables and pictures.

    ``physical`` is True if every read is known to have reached a device; otherwise reads are called "engine reads".
    ``instead`` has names that replace those of the registry, for figures from other tools' reports. ``timed`` is what
    latencies of operations are the time of.
    """

    physical: bool = True
    instead: Mapping[str, str] = field(default_factory=dict)
    timed: Timed = SINGLE

    def label(self, figure: str) -> str:
        """Return the name of a figure of the registry, or of a latency such as ``select_p99_us``."""
        if figure in self.instead:
            return self.instead[figure]
        if figure not in METRICS:
            kind, _, percentile = figure.partition("_")
            name = self.timed.one(_KINDS[kind])
            return f"{name[:1].upper()}{name[1:]}: {_LATENCIES[percentile]}"
        return METRICS[figure].label_of(self.physical)

    def axis(self, figure: str) -> str:
        """Return the name of a figure with its unit."""
        unit = unit_of(figure)
        return f"{self.label(figure)} ({unit})" if unit else self.label(figure)


def unit_of(figure: str) -> str:
    """Return the unit of a figure or latency, which may be one of a class of sessions."""
    _, base = split_kind(figure)
    return METRICS[base].unit if base in METRICS else "µs"


def caveats(failed: Collection[str]) -> str:
    """Return what a result must add if these verdicts fail; empty if it holds without any."""
    return ", ".join(text for name, text in _CAVEATS.items() if name in failed)


def show_figure(record: RunRecord, name: str) -> str:
    """Return a figure as text with its unit."""
    figure = record.summary.get(name)
    return figure_text(name, figure.value if figure else None, figure.unit if figure else "")


def figure_text(name: str, known: float | None, currency: str = "") -> str:
    """Return the value of a figure of the registry as text with its unit, which of a cost is a ``currency``."""
    unit = METRICS[name].unit
    if unit == CURRENCY:
        return quantity(known, currency)
    return per_second(known, unit) if unit.endswith("/s") else quantity(known, unit)


def costs_in_words(figure: Callable[[str], float | None], price: Price | None, logical: bool) -> str:
    """Return what a million reads and a million commits cost; ``logical``: the reads are those from the cache.

    ``figure`` returns a figure by its name. The text is empty without a price.
    """
    reads = "cost_per_million_logical_reads" if logical else "cost_per_million_reads"
    named = {reads: "logical reads" if logical else "reads", "cost_per_million_commits": "commits"}
    known = [(amount, what) for name, what in named.items() if price and (amount := figure(name)) is not None]
    return " and ".join(f"{quantity(amount, price.currency)} per million {what}" for amount, what in known if price)


def label(record: RunRecord, name: str) -> str:
    """Return a figure's label. It says "physical" only if the verdict that reads reached a device holds."""
    return METRICS[name].label_of(physical=record.outcome(REACHED_DEVICE) is Holds.HOLDS)


def name_record(record_id: str, folder: Path | None) -> str:
    """Return what a command calls a record: the shortest word for it, or its folder if no command would look there."""
    if folder is None:
        return record_id
    try:
        home = Path(os.environ.get("SLOB_RESULTS") or places.results()).absolute()
    except SlobError:
        return str(folder)
    if folder.parent.absolute() == home:
        return finding.shortest(folder)
    return record_id if folder.parent.parent.absolute() == home and finding.at(folder.parent) else str(folder)


def why_incomplete(status: Status) -> str:
    """Return why a record without an error is not complete."""
    stopped = status is Status.INTERRUPTED
    return "it was stopped before its end (Ctrl-C, or a signal)" if stopped else "the record does not say why"


def gaps(facts: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the facts that are unknown, with reasons."""
    unknown = facts.get("unknown")
    return unknown if isinstance(unknown, Mapping) else {}
