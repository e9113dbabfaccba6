"""What every part of a report asks of a record: a figure, why it is missing, and how sure the word "physical" is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openslob.metrics import METRICS, PACED
from openslob.record.model import Holds, RunRecord
from openslob.report.format import quantity

REACHED_DEVICE = "reads_reached_device"
RATE_REACHED = "rate_reached"
NOT_RECORDED = "not recorded"


def value(record: RunRecord, name: str) -> float | None:
    """A figure of the summary; None when it is not known."""
    figure = record.summary.get(name)
    return figure.value if figure else None


def is_paced(record: RunRecord) -> bool:
    """The run had a rate."""
    return any(record.spec.get(name) is not None for name in ("target_ops", "target_iops"))


def figures_of(record: RunRecord) -> list[str]:
    """Names of the figures of the registry that a run of its kind has, known or not."""
    return [name for name in METRICS if name not in PACED or is_paced(record)]


def reason(record: RunRecord, name: str) -> str:
    """Why a figure of the summary is not known."""
    figure = record.summary.get(name)
    return (figure.why if figure else None) or NOT_RECORDED


def shown(record: RunRecord, name: str) -> str:
    """A figure with its unit."""
    metric = METRICS[name]
    unit = "" if metric.unit == "1/s" else metric.unit
    if metric.unit.endswith("/s"):
        per_second = quantity(value(record, name), unit.removesuffix("/s"))
        return per_second if value(record, name) is None else f"{per_second}/s"
    return quantity(value(record, name), unit)


def outcome(record: RunRecord, name: str) -> Holds:
    """Outcome of a verdict; unknown when it was not given."""
    return next((verdict.verdict for verdict in record.verdicts if verdict.name == name), Holds.UNKNOWN)


def label(record: RunRecord, name: str) -> str:
    """A figure's heading. "Physical" is said only where the verdict says that the reads reached a device."""
    text = METRICS[name].label
    if outcome(record, REACHED_DEVICE) is Holds.HOLDS:
        return text
    return text.replace("Physical", "Engine").replace("IOPS", "Engine reads")


def gaps(facts: Mapping[str, Any]) -> Mapping[str, str]:
    """Facts that could not be told, and why."""
    unknown = facts.get("unknown")
    return unknown if isinstance(unknown, Mapping) else {}
