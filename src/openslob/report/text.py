"""The text report of one run: the answer first, then whether to believe it, then everything that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob.record.model import Holds, RunRecord, Status, Verdict
from openslob.report.context import files, host, remarks, server, test, unknown
from openslob.report.figures import (
    efficiency,
    instances,
    latencies,
    load_profile,
    log,
    object_io,
    pacing,
    responses,
    timed_events,
)
from openslob.report.format import INDENT, WIDTH, hanging, wrapped
from openslob.report.headline import headline

_SIGNS = {Holds.FAILS: "✗ FAILS  ", Holds.UNKNOWN: "? unknown", Holds.HOLDS: "✓ holds  "}


def render(record: RunRecord, folder: Path | None = None) -> str:
    """The report, at most 100 columns wide; ``folder`` is where the record lies, if that is to be told."""
    sections = (
        title(record),
        wrapped(headline(record)),
        verdicts(record.verdicts),
        test(record),
        load_profile(record),
        log(record),
        pacing(record),
        instances(record),
        efficiency(record),
        timed_events(record),
        latencies(record),
        responses(record),
        object_io(record),
        host(record),
        server(record),
        unknown(record),
        remarks(record),
        files(record, folder),
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def title(record: RunRecord) -> list[str]:
    """What is reported, from when, and how it ended if not well."""
    started = record.started_at.replace("T", " ").removesuffix("Z")
    right = f"{started} UTC, openslob {record.openslob_version}"
    lines = [f"{record.id}{INDENT}{right:>{max(WIDTH - len(record.id) - len(INDENT), 0)}}"]
    lines += wrapped(_on_what(record))
    if record.status is not Status.COMPLETE:
        lines += hanging(f"!! {record.status.upper()}: ", _why(record))
    return lines


def verdicts(all_of_them: Sequence[Verdict]) -> list[str]:
    """The verdicts, the failing ones on top."""
    if not all_of_them:
        return []
    order = list(_SIGNS)
    width = max(len(_name(verdict)) for verdict in all_of_them)
    lines = [_tally(all_of_them)]
    for verdict in sorted(all_of_them, key=lambda verdict: order.index(verdict.verdict)):
        lines += hanging(f"{_SIGNS[verdict.verdict]}  {_name(verdict):<{width}}  ", verdict.why)
    return lines


def _on_what(record: RunRecord) -> str:
    engine, environment = record.engine, record.environment
    product = f"{engine.get('product', 'unknown server')} {engine.get('version', '')}".rstrip()
    where = "driven from" if environment.get("local") is False else "on"
    host_name = environment.get("host")
    return ", ".join(
        [product, engine.get("target", "unknown target"), *([f"{where} {host_name}"] if host_name else [])]
    )


def _why(record: RunRecord) -> str:
    first = record.errors[0] if record.errors else "the record does not say why"
    return f"{first} (and {len(record.errors) - 1} more, below)" if len(record.errors) > 1 else first


def _tally(all_of_them: Sequence[Verdict]) -> str:
    counts = {outcome: sum(verdict.verdict is outcome for verdict in all_of_them) for outcome in _SIGNS}
    if counts[Holds.HOLDS] == len(all_of_them):
        return f"VERDICTS: all {len(all_of_them)} hold"
    failing = [_name(verdict) for verdict in all_of_them if verdict.verdict is Holds.FAILS]
    banner = f"!! {len(failing)} FAIL{'S' if len(failing) == 1 else ''}" if failing else "none fails"
    return f"VERDICTS: {banner}, {counts[Holds.UNKNOWN]} unknown, {counts[Holds.HOLDS]} hold"


def _name(verdict: Verdict) -> str:
    return verdict.name.replace("_", " ")
