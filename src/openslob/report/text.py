"""Text report of one run: the headline, the verdicts on it, then the figures and circumstances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob.record.model import RunRecord, Status, Verdict
from openslob.report import terminal
from openslob.report.context import files, host, remarks, server, test, unknown
from openslob.report.drivers import drivers
from openslob.report.episodes import slow_stretches
from openslob.report.figures import (
    cost,
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
from openslob.report.format import (
    hanging,
    title_lines,
    warning_lines,
    without_controls,
    wrapped,
)
from openslob.report.headline import headline
from openslob.report.record_view import why_incomplete
from openslob.report.slowest import slowest_section
from openslob.report.terminal import verdicts


def render(record: RunRecord, folder: Path | None = None, columns: int | None = None) -> str:
    """Return the report. If ``folder`` is given, the last section names it as the place of the record's files.

    Running text is wrapped at `WIDTH` columns. Tables are at most ``columns`` wide, or as wide as they need to be.
    """
    sections = (
        title(record),
        wrapped(headline(record)),
        verdicts(record.verdicts),
        test(record),
        load_profile(record, columns),
        log(record),
        pacing(record),
        instances(record, columns),
        drivers(record, columns),
        efficiency(record),
        cost(record),
        timed_events(record),
        latencies(record, columns),
        responses(record, columns),
        slowest_section([record], columns),
        slow_stretches(record),
        object_io(record, columns),
        host(record),
        server(record),
        unknown(record),
        remarks(record),
        files(record, folder),
    )
    return without_controls("\n\n".join("\n".join(lines) for lines in sections if lines) + "\n")


def answer(record: RunRecord) -> str:
    """Return the report in short: the headline, how many verdicts hold, and those that fail."""
    return without_controls("\n".join([*wrapped(headline(record)), *failing(record.verdicts)]))


def failing(judged: Sequence[Verdict]) -> list[str]:
    """Return how many verdicts hold, and those that fail."""
    return ["", *terminal.failing(judged)] if judged else []


def title(record: RunRecord) -> list[str]:
    """Return the title: record, start, server and host, and the status of a run that is not complete."""
    started = record.started_at.replace("T", " ").removesuffix("Z")
    right = f"{started} UTC, openslob {record.openslob_version}"
    lines = [*title_lines(record.id, right), *wrapped(_server_and_host(record))]
    lines += warning_lines(record.reservations)
    if record.status is not Status.COMPLETE:
        lines += hanging(f"!! {record.status.upper()}: ", _why(record))
    return lines


def _server_and_host(record: RunRecord) -> str:
    engine, environment = record.engine, record.environment
    product = f"{engine.get('product', 'unknown server')} {engine.get('version', '')}".rstrip()
    where = "driven from" if environment.get("local") is False else "on"
    host_name = environment.get("host")
    return ", ".join(
        [product, engine.get("target", "unknown target"), *([f"{where} {host_name}"] if host_name else [])]
    )


def _why(record: RunRecord) -> str:
    if not record.errors:
        return why_incomplete(record.status)
    first = record.errors[0]
    return f"{first} (and {len(record.errors) - 1} more, below)" if len(record.errors) > 1 else first
