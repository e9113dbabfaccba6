"""What a shell may complete of options that only commands know: verdicts, figures, kinds, ready-made sweeps.

What a completion needs is imported when it is asked for.
"""

from __future__ import annotations

from contextlib import suppress

from openslob.analyze import verdict_registry
from openslob.completion import baselines, one_of, records, servers, tags
from openslob.core.errors import SlobError

__all__ = ["baselines", "figures", "kinds", "one_of", "ready_sweeps", "records", "servers", "tags", "verdicts"]


def verdicts(incomplete: str) -> list[str]:
    """Return what may be required: the questions, and the names of the verdicts."""
    return one_of((*verdict_registry.REQUIRABLE, *verdict_registry.NAMES))(incomplete)


def figures(incomplete: str) -> list[str]:
    """Return the names of the figures that a condition can be about, and of latencies of any operation."""
    from openslob.core.histogram import PERCENTILES  # noqa: PLC0415
    from openslob.metrics import METRICS  # noqa: PLC0415

    return one_of([*METRICS, *(f"op_{name}" for name in ("mean_us", *PERCENTILES))])(incomplete)


def kinds(incomplete: str) -> list[str]:
    """Return the kinds of records, as the list calls them."""
    from openslob.record.kinds import every  # noqa: PLC0415

    with suppress(SlobError):
        return one_of(["observation", *(kind.labels.listed for kind in every())])(incomplete)
    return []


def ready_sweeps(incomplete: str) -> list[str]:
    """Return the names of the ready-made sweeps."""
    from openslob.kinds.sweep.create import ready_names  # noqa: PLC0415
    from openslob.kinds.sweep.ready_settings import ready_settings  # noqa: PLC0415

    return one_of(["list", *ready_names(), *ready_settings()])(incomplete)
