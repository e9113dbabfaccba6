"""What a row of the registry says of a published number."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from openslob.measurement import Measurement
from openslob.metrics.computation import Computation
from openslob.metrics.quantity import Counted, Quantity


class Better(StrEnum):
    """Which way a figure improves; NEITHER for figures that only describe."""

    MORE = "more"
    LESS = "less"
    NEITHER = "neither"


class TimelinePanel(StrEnum):
    """A panel of the picture of a run over time that draws rates, by the name it has there."""

    REQUESTS = "requests/s"
    SIZES = "MB/s"


@dataclass(frozen=True)
class Metric:
    """One published number: its name in the record, how it is headed, unit, direction and definition."""

    name: str
    label: str
    unit: str
    better: Better
    definition: str


@dataclass(frozen=True)
class RunMetric(Metric):
    """A figure of a run's summary, with how it is computed.

    ``panel`` is where the picture of the run over time draws it, which can be done for rates of the engine's and the
    device's counters.
    """

    computation: Computation
    panel: TimelinePanel | None = None

    def of(self, measurement: Measurement) -> Quantity:
        """Return the figure of a run, or why it is unknown."""
        return self.computation.of(measurement)

    def why_unknown(self, counted: Counted) -> str:
        """Return why a run will not know the figure, from what is counted before it; empty when it will."""
        reasons = (each.why_unknown(counted) for each in self.computation.inputs)
        return next(filter(None, reasons), "")
