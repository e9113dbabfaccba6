"""What a row of the registry says of a published number."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    """Which way a figure improves; NEITHER for figures that only describe."""

    MORE = "more"
    LESS = "less"
    NEITHER = "neither"


@dataclass(frozen=True)
class Metric:
    """One published number: its name in the record, how it is headed, unit, direction and definition."""

    name: str
    label: str
    unit: str
    better: Better
    definition: str
