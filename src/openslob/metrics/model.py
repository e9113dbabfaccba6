"""The rows of the registry: the description of each published number."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openslob.core.measurement import Observed
from openslob.metrics.computation import Computation
from openslob.metrics.quantity import Counted, Quantity

# Service time counts from the begin of an operation, response time from the moment when it was due at a given rate.
RESPONSE_PREFIX = "response_"


class Better(StrEnum):
    """Which way a figure improves; NEITHER for figures that only describe."""

    MORE = "more"
    LESS = "less"
    NEITHER = "neither"


class TimelinePanel(StrEnum):
    """A panel for rates in the picture of a run over time; the value is the panel's title."""

    REQUESTS = "requests/s"
    SIZES = "MB/s"


class ReportSection(StrEnum):
    """A section of the text report that lists figures; the value is its title."""

    LOAD_PROFILE = "Load profile"
    LOG = "Log"
    PACING = "Pacing"
    EFFICIENCY = "Efficiency"


@dataclass(frozen=True)
class Metric:
    """One published number: its name in the record, label, unit, direction and definition."""

    name: str
    label: str
    unit: str
    better: Better
    definition: str

    def label_of(self, physical: bool) -> str:
        """Return the label; it calls reads physical only if they are known to have reached a device."""
        return self.label if physical else self.label.replace("Physical", "Engine").replace("IOPS", "Engine reads")


@dataclass(frozen=True)
class RunMetric(Metric):
    """A figure of a run's summary, with how it is computed.

    ``panel`` is the panel in the picture of the run over time that draws the figure. Only rates of the engine's and of
    the device's counters can be drawn. ``section`` is the one of the text report that lists it, after those that stand
    there in an order of their own; the page of a report lists all figures.
    """

    computation: Computation
    panel: TimelinePanel | None = None
    section: ReportSection | None = None

    def of(self, measurement: Observed) -> Quantity:
        """Return the figure of a run, or why it is unknown."""
        return self.computation.of(measurement)

    def why_unknown(self, counted: Counted) -> str:
        """Return why a run will not know the figure, from what is counted before it; empty if it will be known."""
        reasons = (each.why_unknown(counted) for each in self.computation.inputs)
        return next(filter(None, reasons), "")
