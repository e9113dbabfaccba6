"""The verdict on what rows that come and go leave behind: whether vacuum or purge removes it as it comes."""

from __future__ import annotations

from openslob.analyze.outcome import Shown, count, count_noun, holds_or_fails, unknown, unknown_because
from openslob.core.measurement import Measurement
from openslob.core.units import MIB
from openslob.metrics.quantity import NO_LOAD, engine, rate, total
from openslob.record.model import Verdict

# What cleans up begins late, by a share of the table or by a minute, and is cut off by the window's end: over windows
# that are long for that it is far above this, and where nothing is cleaned up near 0.
MIN_CLEANED_PCT = 50.0


def cleanup_keeps_up(measurement: Measurement) -> Verdict | None:
    """Judge, with MODE=churn, whether most of what deleted rows left behind was removed within the window.

    An engine has dead rows, which vacuums remove, or old row versions of transactions, which are purged. Each operation
    leaves one of them. None for other modes.
    """
    if not measurement.workload.churns:
        return None
    name, deleted = "cleanup_keeps_up", total(measurement, "rows_deleted")
    if not deleted:
        return unknown(name, f"Can't be determined: {NO_LOAD}.")
    dead, lag = engine(measurement, "dead_rows"), engine(measurement, "purge_lag")
    left = lag if dead.value is None else dead
    if left.value is None:
        return unknown_because(name, dead, lag)
    cleaned = 100 * min(1.0, max(0.0, 1 - left.value / deleted))
    vacuums, sizes = engine(measurement, "vacuums"), _growth_by_minute(measurement)
    figures: dict[str, Shown] = {
        "cleaned_pct": cleaned, "rows_deleted": deleted, "dead_rows": dead.value, "purge_lag": lag.value,
        "vacuums": vacuums.value, **{f"{what}_mb_per_min": size for what, size in sizes.items()},
    }  # fmt: skip
    what = "the purge lag" if dead.value is None else "dead rows"
    moved = f"{what} {'rose' if left.value > 0 else 'fell'} by {count(abs(left.value))}"
    if vacuums.value is not None:
        moved += f", and {count_noun(vacuums.value, 'vacuum') if vacuums.value else 'no vacuum'} ended"
    grew = "".join(f" The {each} grew by {size:,.1f} MB a minute." for each, size in sizes.items())
    why = (
        f"{count_noun(deleted, 'row')} were deleted; {moved}: {cleaned:.0f} % of what they left behind was removed, "
        f"{MIN_CLEANED_PCT:g} % is required.{grew}"
    )
    return holds_or_fails(name, cleaned >= MIN_CLEANED_PCT, why, **figures)


def _growth_by_minute(measurement: Measurement) -> dict[str, float]:
    """Return the growth of tables and indexes in MB a minute, as far as it is known."""
    fields = {"tables": "table_bytes", "indexes": "index_bytes"}
    grown = {what: rate(measurement, engine(measurement, field).times(60 / MIB)) for what, field in fields.items()}
    return {what: each.value for what, each in grown.items() if each.value is not None}
