"""The published numbers: one row for each, with its name, label, unit, direction, definition and computation.

`METRICS` are the figures of a run's summary, `STORAGE_METRICS` those of measurements of storage (``slob raw``).
"""

from openslob.metrics.model import Better, Metric, RunMetric
from openslob.metrics.run_metrics import (
    CHANGING,
    CHURNING,
    CONNECTING,
    METRICS,
    OBSERVED,
    OF_OWN_LOAD,
    OF_ROW_BYTES,
    PACED,
    PRICED,
    add_costs,
    summary,
)
from openslob.metrics.storage_metrics import STORAGE_METRICS, storage_figure
from openslob.metrics.timed import Timed

__all__ = [
    "CHANGING",
    "CHURNING",
    "CONNECTING",
    "METRICS",
    "OBSERVED",
    "OF_OWN_LOAD",
    "OF_ROW_BYTES",
    "PACED",
    "PRICED",
    "STORAGE_METRICS",
    "Better",
    "Metric",
    "RunMetric",
    "Timed",
    "add_costs",
    "storage_figure",
    "summary",
]
