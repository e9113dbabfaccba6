"""A finished load as an object."""

from __future__ import annotations

from collections.abc import Mapping

from openslob.core.units import format_bytes
from openslob.engines.facts import LoadResult
from openslob.report.notebook import lines_html


class LoadSummary:
    """Loaded and verified data, as `Target.load` returns it.

    Attributes:
        seconds: How long the load took.
        blocks: The number of blocks of the tables.
        bytes: Their size.
        reused: Whether the data were there already, and were only verified.
        checks: The figure of each check by its name.
        parameters: What was loaded: schemas, blocks of each table, and how rows are filled.

    """

    def __init__(self, result: LoadResult) -> None:
        self.seconds = result.seconds
        self.blocks = result.blocks
        self.bytes = result.bytes
        self.reused = result.reused
        self.checks: Mapping[str, str] = result.checks
        self.parameters: Mapping[str, object] = result.spec.to_record()

    def __str__(self) -> str:
        """Return the load in one line."""
        data = f"{self.parameters['schemas']} schemas of {self.parameters['scale_blocks']:,} blocks"
        if self.reused:
            return f"{data}: already there and verified"
        rate = f", {format_bytes(self.bytes / self.seconds)}/s" if self.seconds > 0 else ""
        return f"{data}: loaded and verified in {self.seconds:.1f} s, {format_bytes(self.bytes)}{rate}"

    def __repr__(self) -> str:
        """Return the load in one line."""
        return f"<Load of {self}>"

    def _repr_html_(self) -> str:
        """Return the load and its checks for a notebook."""
        return lines_html("Load", [str(self)], ("check", "figure"), list(self.checks.items()))
