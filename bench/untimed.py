"""The work loop without its timing: the same text without the lines that read clocks and fill histograms.

It is derived from the real `slice.sql`, so that both stay in step. Each piece to remove must occur exactly the expected
number of times, and no clock may remain in the loop. The remaining loop ends at its operation limit only. Without a
clock it does not check for a request to stop; those few microseconds in 20 ms count as cost of timing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from psycopg import sql

from openslob.core.histogram import bucket_expression
from openslob.core.workload import Workload
from openslob.engines.postgresql.names import PostgresNames
from openslob.engines.postgresql.slice_procedure import compose_slice

# Pieces of the loop and their number of occurrences: in select, update and scan, and at the end of a think time.
TIMING = {
    "t0 := clock_timestamp();": 3,
    "ended_at := clock_timestamp();": 4,
    "us := greatest(round(date_part('epoch', ended_at - t0) * 1e6::float8), 0);": 3,
    f"place := kind * buckets_a_kind + least({bucket_expression('us')}::int, last_bucket);": 1,
    "counts[place] := counts[place] + 1;": 1,
    "update_us := update_us + us;": 1,
    "select_us := select_us + us;": 1,
    "scan_us := scan_us + us;": 1,
    "IF us > slowest_update THEN\n                slowest_update := us;\n            END IF;": 1,
    "IF us > slowest_select THEN\n                    slowest_select := us;\n                END IF;": 1,
    "IF us > slowest_scan THEN\n                    slowest_scan := us;\n                END IF;": 1,
}


class DriftError(Exception):
    """slice.sql has changed, and `TIMING` must be updated."""


@dataclass(frozen=True)
class UntimedNames(PostgresNames):
    """The same tables, with another name for the procedure."""

    def procedure(self, number: int, part: int = 0) -> sql.Identifier:
        """Return the name of the work loop without timing."""
        return sql.Identifier(self.schema, f"slice_{number}_{part}_untimed" if part else f"slice_{number}_untimed")


def without_timing(text: str) -> str:
    """Return the procedure's text without timing. Raises DriftError if a piece is missing or unexpected."""
    head, loop, tail = _parts(text)
    for piece, times in TIMING.items():
        if loop.count(piece) != times:
            raise DriftError(f"{piece!r} occurs {loop.count(piece)} times in the loop of slice.sql, not {times}")
        loop = loop.replace(piece, "")
    if "clock_timestamp" in loop:
        raise DriftError("the loop of slice.sql reads an unexpected clock")
    if unknown := re.search(r"\b(us|t0|place|counts|\w+_us|slowest_\w+)\b", loop):
        raise DriftError(f"the loop of slice.sql uses {unknown[0]!r} in an unexpected way")
    return head + loop + tail


def untimed_slice(names: UntimedNames, schema: int, workload: Workload) -> bytes:
    """Return the statement that creates the procedure without timing, for one schema and workload."""
    return without_timing(compose_slice(names, schema, workload).as_string()).encode()


def _parts(text: str) -> tuple[str, str, str]:
    begin, end = text.find("    WHILE ended_at < until"), text.find("    END LOOP;")
    if not 0 < begin < end:
        raise DriftError("the loop of slice.sql was not found")
    return text[:begin], text[begin:end], text[end:]
