"""The work loop with its timing taken out: the same text less the lines that read clocks and fill histograms.

It is derived from the real `slice.sql`, so that it can't fall behind it: each piece to be removed must stand in the
text exactly as often as it is known to, and no clock may be left in the loop. What is left ends by its operation limit
only; without a clock it no longer looks for a request to stop, some microseconds in 20 ms that count as timing's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from psycopg import sql

from openslob.engines.postgresql.names import Names
from openslob.engines.postgresql.slice_procedure import compose_slice
from openslob.histogram import bucket_expression
from openslob.workload import Workload

# piece of the loop -> how often it stands there: select, update and scan, and the end of a think time.
TIMING = {
    "t0 := clock_timestamp();": 3,
    "ended_at := clock_timestamp();": 4,
    "us := greatest(round(date_part('epoch', ended_at - t0) * 1e6::float8), 0);": 1,
    f"place := kind * buckets_a_kind + least({bucket_expression('us')}::int, last_bucket);": 1,
    "counts[place] := counts[place] + 1;": 1,
    "sum_us[kind + 1] := sum_us[kind + 1] + us;": 1,
    "IF us > max_us[kind + 1] THEN\n            max_us[kind + 1] := us;\n        END IF;": 1,
}


class DriftError(Exception):
    """slice.sql is no longer what this module knows: `TIMING` must be brought up to date."""


@dataclass(frozen=True)
class UntimedNames(Names):
    """The same tables, with a procedure of another name."""

    def procedure(self, number: int) -> sql.Identifier:
        """The work loop without timing."""
        return sql.Identifier(self.schema, f"slice_{number}_untimed")


def without_timing(text: str) -> str:
    """The procedure's text less its timing. DriftError when a piece of it is not where it should be."""
    head, loop, tail = _parts(text)
    for piece, times in TIMING.items():
        if loop.count(piece) != times:
            raise DriftError(f"{piece!r} stands {loop.count(piece)} times in the loop of slice.sql, not {times}")
        loop = loop.replace(piece, "")
    if "clock_timestamp" in loop:
        raise DriftError("the loop of slice.sql reads a clock that is not known here")
    if unknown := re.search(r"\b(us|t0|place|counts|sum_us|max_us)\b", loop):
        raise DriftError(f"the loop of slice.sql uses {unknown[0]!r} in a way that is not known here")
    return head + loop + tail


def untimed_slice(names: UntimedNames, schema: int, workload: Workload) -> bytes:
    """The statement that creates the procedure without timing, for one schema and workload."""
    return without_timing(compose_slice(names, schema, workload).as_string()).encode()


def _parts(text: str) -> tuple[str, str, str]:
    begin, end = text.find("    WHILE ended_at < until"), text.find("    END LOOP;")
    if not 0 < begin < end:
        raise DriftError("the loop of slice.sql is not where it was")
    return text[:begin], text[begin:end], text[end:]
