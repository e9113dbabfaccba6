"""The report of one run: the headline, the verdicts on it, then the figures and circumstances."""

from __future__ import annotations

from pathlib import Path

from openslob.record.model import RunRecord
from openslob.report.context import drivers, files, host, remarks, server, test, unknown
from openslob.report.document import Answer, Document, MadePictures, Title, Verdicts, title_of
from openslob.report.figures import (
    churn,
    classes,
    cost,
    definitions,
    efficiency,
    every_figure,
    instances,
    latencies,
    load_profile,
    log,
    object_io,
    pacing,
    responses,
    stages,
    timed_events,
)
from openslob.report.headline import headline
from openslob.report.run_screen import key_figures, run_screen
from openslob.report.slowest import slow_stretches, slowest_section
from openslob.report.terminal import render_text


def run_document(record: RunRecord, folder: Path | None = None) -> Document:
    """Return the report; if ``folder`` is given, its last line names it, and the run is drawn over time."""
    return Document(
        title(record),
        (
            Answer((headline(record),)),
            Verdicts(record.verdicts),
            every_figure(record),
            test(record),
            load_profile(record),
            log(record),
            churn(record),
            pacing(record),
            stages(record),
            classes(record),
            instances(record),
            drivers(record),
            efficiency(record),
            cost(record),
            timed_events(record),
            latencies(record),
            responses(record),
            slowest_section([record]),
            slow_stretches(record),
            object_io(record),
            host(record),
            server(record),
            unknown(record),
            remarks(record),
            definitions(),
        ),
        files(record, folder),
        lambda: _pictures(record, folder or Path(record.id)),
        screen=run_screen(record, folder),
        key_figures=key_figures(record),
    )


def render(record: RunRecord, folder: Path | None = None) -> str:
    """Return the report as text. Tables are as wide as they need to be."""
    return render_text(run_document(record, folder))


def title(record: RunRecord) -> Title:
    """Return the title: record, start, server and host, and the status of a run that is not complete."""
    engine, environment = record.engine, record.environment
    product = f"{engine.get('product', 'unknown server')} {engine.get('version', '')}".rstrip()
    host_name = environment.get("host")
    where = f"{'driven from' if environment.get('local') is False else 'on'} {host_name}" if host_name else ""
    about = ", ".join(filter(None, (product, engine.get("target", "unknown target"), where)))
    return title_of(record, record.kind, f"{product} {where}".rstrip(), about, _why(record), record.reservations)


def _pictures(record: RunRecord, folder: Path) -> MadePictures:
    from openslob.report.pictures import pictures_of_run  # noqa: PLC0415 - takes a second to import

    return pictures_of_run(record, folder)


def _why(record: RunRecord) -> str:
    more = f" (and {len(record.errors) - 1} more, below)" if len(record.errors) > 1 else ""
    return f"{record.errors[0]}{more}" if record.errors else ""
