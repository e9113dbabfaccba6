"""The sub-programs of slice.sql that MariaDB can't run, translated into Python line by line.

It proves that the arithmetic of `us_between`, `since_epoch`, `count_in` and `folded`, as written there, gives the
buckets of core/histogram.py, exact sums and maxima. It does not prove that Oracle's types and methods behave as they do
here: they are written below from Oracle's manuals. A line that is not known here is an error.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from openslob.core.workload import Workload
from openslob.engines.oracle.slice_procedure import compose_slice, parse_histogram

_DAY, _HOUR, _MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000
PLACES = 7
_SUBPROGRAM = r"    (?:FUNCTION|PROCEDURE) {name}\((.*?)\)(?: RETURN \w+)? AS\n(.*?)    BEGIN\n(.*?)    END {name};"


class Table(dict[int, int]):
    """An index-by table: FIRST, LAST and NEXT in the order of its keys, NULL when there is none."""

    FIRST = property(lambda self: min(self) if self else None)
    LAST = property(lambda self: max(self) if self else None)
    _order: Sequence[int] = ()

    def EXISTS(self, key):  # noqa: N802 - as PL/SQL has it
        return key in self

    def NEXT(self, key):  # noqa: N802 - as PL/SQL has it
        if len(self._order) != len(self):
            self._order = sorted(self)
        place = bisect_right(self._order, key)
        return self._order[place] if place < len(self._order) else None


def extract(field: str, us: int) -> float:
    """EXTRACT from an INTERVAL DAY TO SECOND; the fields of a negative one are negative."""
    sign, us = (-1, -us) if us < 0 else (1, us)
    seconds = us % _MINUTE / 1e6
    found = {"DAY": us // _DAY, "HOUR": us % _DAY // _HOUR, "MINUTE": us % _HOUR // _MINUTE, "SECOND": seconds}
    return sign * found[field]


def concat(*parts: object) -> str:
    """|| with NULL as the empty text."""
    return "".join("" if part is None else str(part) for part in parts)


def _expression(text: str) -> str:
    text = re.sub(r"EXTRACT\((\w+) FROM (\w+)\)", r"extract('\1', \2)", text)
    text = re.sub(r"tally\((\w+)\)\((\w+)\)", r"tally[\1][\2]", text)
    text = re.sub(r"tally\((\w+)\)", r"tally[\1]", text)
    text = re.sub(r"\b(\d+)D\b", r"\1.0", text)
    text = text.replace("<>", "!=").replace("IS NOT NULL", "is not None").replace(" AND ", " and ")
    text = re.sub(r"(?<![<>!:=])=(?![=])", "==", text)
    if "||" in text:
        text = f"concat({text.replace('||', ',')})"
    return re.sub(r"\bNULL\b", "None", text)


def _statement(line: str) -> tuple[int, str, int]:
    """Return (dedent before, Python, indent after)."""
    if found := re.fullmatch(r"IF (.*) THEN", line):
        return 0, f"if {_expression(found[1])}:", 1
    if found := re.fullmatch(r"WHILE (.*) LOOP", line):
        return 0, f"while {_expression(found[1])}:", 1
    if line == "ELSE":
        return 1, "else:", 1
    if line in ("END IF;", "END LOOP;"):
        return 1, "", 0
    if found := re.fullmatch(r"RETURN (.*);", line):
        return 0, f"return {_expression(found[1])}", 0
    if found := re.fullmatch(r"(.*?) := (.*);", line):
        return 0, f"{_expression(found[1])} = {_expression(found[2])}", 0
    raise ValueError(f"not known here: {line}")


def _python(oracle: str, name: str) -> str:
    """Return the Python of a nested sub-program."""
    found = re.search(_SUBPROGRAM.replace("{name}", name), oracle, re.DOTALL)
    assert found, f"{name} is not there"
    lines = [f"def {name}({', '.join(each.split()[0] for each in found[1].split(','))}):"]
    declared = re.findall(r"^ +(\w+) +(?:CONSTANT )?[^;:]+?(?: := (.*))?;(?: +--.*)?$", found[2], re.MULTILINE)
    lines += [f"    {variable} = {_expression(value or 'NULL')}" for variable, value in declared]
    depth = 1
    for line in re.sub(r"\n {15}\+", " +", found[3]).strip().splitlines():
        dedent, text, indent = _statement(line.strip())
        depth -= dedent
        if text:
            lines.append("    " * depth + text)
        depth += indent
    return "\n".join(lines)


def _constant(oracle: str, name: str) -> int:
    found = re.search(rf"^ +{name} +CONSTANT PLS_INTEGER := (\d+);", oracle, re.MULTILINE)
    assert found, f"{name} is not there"
    return int(found[1])


def translated(oracle: str) -> dict[str, Any]:
    """Return the sub-programs of a procedure, ready to be called; `tally` is theirs."""
    known: dict[str, Any] = {
        "extract": extract, "concat": concat, "LEAST": min, "GREATEST": max, "LN": math.log, "SQRT": math.sqrt,
        "FLOOR": math.floor, "ROUND": lambda value: math.floor(value + 0.5), "epoch": 0, "one_minute": _MINUTE,
        "longest_us": _constant(oracle, "longest_us"), "last_bucket": _constant(oracle, "last_bucket"),
        "tally": [Table() for _ in range(PLACES)],
    }  # fmt: skip
    for name in ("us_between", "since_epoch", "count_in", "folded"):
        exec(_python(oracle, name), known)
    return known


def a_procedure() -> str:
    """The work loop's procedure of some workload."""
    return compose_slice(1, Workload(), (19, 3), 128)


def buckets(latencies_us: Sequence[int]) -> list[int]:
    """Bucket numbers by the procedure's own expression."""
    known, found = translated(a_procedure()), []
    for us in latencies_us:
        known["tally"][0] = Table({us: 1})
        found += parse_histogram(known["folded"](0)).counts
    return found
