"""`slob raw`: measurements of the storage without a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from openslob.analyze.curves.series import parse_latency_us
from openslob.cli.common_options import (
    ALL,
    BLOCK_SIZE,
    CPUS,
    DURATION,
    MEASUREMENT_NAME,
    RECORD_JSON,
    REQUIRE,
    RESULTS,
    at_least,
    parse_amount,
)
from openslob.cli.console import notify, stoppable
from openslob.cli.options import CONSENT, REPORTS
from openslob.cli.raw_compare import IO_ENGINE, compare, show
from openslob.cli.raw_orion import OrionCommand, orion
from openslob.config.configuration import names
from openslob.core import rehearsal
from openslob.core.errors import UsageError
from openslob.core.secrets import Address
from openslob.core.workload import StatisticsType
from openslob.engines.managed.resources import usable_cpus
from openslob.kinds.storage import calibrate as calibration
from openslob.kinds.storage import dd as demonstration
from openslob.kinds.storage.fio import IoEngine
from openslob.kinds.storage.own_word import OwnRequest

NO_LIMIT = "none"


def parse_limit(text: str) -> float:
    """Return the µs that ``500us``, ``2ms`` or ``none`` (infinite) mean. BadParameter for other texts."""
    try:
        return float("inf") if text.strip() == NO_LIMIT else parse_latency_us(text)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error


PATH = Annotated[
    Path, typer.Argument(metavar="[PATH]", help="A directory for a test file, or a file or device to read.")
]
SIZE = Annotated[
    int,
    typer.Option(
        parser=parse_amount, metavar="SIZE", help="Size of the test file; make it larger than any cache of the storage."
    ),
]
LIMIT = Annotated[
    float,
    typer.Option(parser=parse_limit, metavar="TIME", help="Highest latency of the reads: 500us, none."),
]
AT = Annotated[str, typer.Option(metavar="p99|mean", help="Which latency the limit applies to.")]
BUFFERED = Annotated[
    bool, typer.Option("--buffered", metavar="", help="Read through the page cache. It is then part of the result.")
]
VERIFY = Annotated[
    bool, typer.Option("--verify", metavar="", help="Also measure with the checksum of every block verified.")
]
READS_ONLY = Annotated[
    bool, typer.Option("--reads-only", metavar="", help="Leave out writes and syncs, which take half of the time.")
]
REPEATS = Annotated[
    int,
    typer.Option(
        metavar="N", min=1, max=1000, callback=rehearsal.repeats, help="How often results are measured again."
    ),
]
RUN_TIME = Annotated[
    float,
    typer.Option(
        parser=at_least(0.5), metavar=DURATION, help="Length of each step. A ramp of a quarter of it comes first."
    ),
]
WITH = Annotated[
    str | None,
    typer.Option(
        "--with",
        metavar="URL",
        help="A database that calibrates its storage itself afterwards (CALIBRATE_IO), with --consent calibrate_io.",
    ),
]
DISKS = Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="About how many disks the database has.")]
IN_FLIGHT = Annotated[int, typer.Option(metavar="N", min=1, max=65_536, help="Random requests in flight.")]


def calibrate(
    path: PATH = Path(),
    size: SIZE = "1G",  # type: ignore[assignment]
    block_size: BLOCK_SIZE = "8k",  # type: ignore[assignment]
    latency_limit: LIMIT = "20ms",  # type: ignore[assignment]
    at: AT = "p99",
    repeats: REPEATS = 3,
    run_time: RUN_TIME = 2.0,
    verify: VERIFY = False,
    reads_only: READS_ONLY = False,
    io_engine: IO_ENGINE = IoEngine.IO_URING,
    buffered: BUFFERED = False,
    cpus: CPUS = None,
    server: WITH = None,
    disks: DISKS = 1,
    reports: REPORTS = StatisticsType.NONE,
    consent: CONSENT = None,
    name: MEASUREMENT_NAME = "calibrate",
    *,
    results: RESULTS,
    require: REQUIRE = None,
    whole: ALL = False,
    json: RECORD_JSON = False,
) -> None:
    """Measure the maximum of the storage: IOPS under a latency limit, MB/s, latency, CPU per read, writes and syncs.

    Example: slob raw calibrate /data --size 4G --latency-limit 500us
    """
    limit_us = None if latency_limit == float("inf") else latency_limit
    plan = calibration.CalibrationPlan(
        io_engine, block_size, run_time, len(usable_cpus(cpus)), repeats, limit_us, at, not buffered, verify, cpus,
        not reads_only,
    )  # fmt: skip
    own = OwnRequest(Address.parse(server).reveal(), disks, reports, names(consent)) if server else None
    request = calibration.CalibrationRequest(plan, path, size, name, results, own)
    with stoppable() as interrupt:
        record, folder = calibration.execute(request, interrupt, notify)
    show(record, folder, require, json, whole)


def dd(
    path: PATH = Path(),
    size: SIZE = "1G",  # type: ignore[assignment]
    block_size: BLOCK_SIZE = "8k",  # type: ignore[assignment]
    in_flight: IN_FLIGHT = 8,
    repeats: REPEATS = 3,
    run_time: RUN_TIME = 2.0,
    io_engine: IO_ENGINE = IoEngine.IO_URING,
    buffered: BUFFERED = False,
    cpus: CPUS = None,
    name: MEASUREMENT_NAME = "dd",
    *,
    results: RESULTS,
    whole: ALL = False,
    json: RECORD_JSON = False,
) -> None:
    """Read the same data with and without examining each byte: dd in 1 MB pieces, fio in random blocks.

    Example: slob raw dd /data --size 2G --cpus 0
    """
    plan = demonstration.DdPlan(io_engine, block_size, in_flight, run_time, repeats, not buffered, cpus)
    request = demonstration.DdRequest(plan, path, size, name, results)
    with stoppable() as interrupt:
        record, folder = demonstration.execute(request, interrupt, notify)
    show(record, folder, None, json, whole)


def register(app: typer.Typer) -> None:
    """Add the group with its commands."""
    group = typer.Typer(help="Measure the storage without a database.", no_args_is_help=True)
    group.command("orion", cls=OrionCommand)(orion)
    group.command()(calibrate)
    group.command()(dd)
    group.command()(compare)
    app.add_typer(group, name="raw")
