"""Options that several commands share, and what those options mean: sizes, CPU lists, ceilings, required verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from openslob import places, rehearsal
from openslob.cli.completion import records, verdicts
from openslob.cli.console import notify
from openslob.engines.base import Engine
from openslob.errors import UsageError, VerdictError
from openslob.interrupt import Interrupt
from openslob.record import finding, storage
from openslob.record.model import Holds, Verdict
from openslob.record.storage import StorageRecord
from openslob.storage.fio import Fio
from openslob.storage.job import IoEngine
from openslob.units import MIB, parse_bytes, parse_duration
from openslob.versus.ceiling import Ceilings

MEASURE = "measure"
# Smallest unit of direct I/O, in bytes.
SECTOR = 512
# Metavar of options that take seconds or a duration.
DURATION = "DURATION"
# Where records were written by default before they had one home, below the working directory.
FORMER_RESULTS = Path("results")


def parse_size(text: str) -> int:
    """Return the size in bytes that an option's text means. BadParameter for any other text."""
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def parse_amount(text: str) -> int:
    """Return the bytes that an option's text means for data and files; fewer in a rehearsal."""
    return rehearsal.amount(parse_size(text), 64 * MIB)


def parse_cache(text: str) -> int:
    """Return the bytes that an option's text means for a cache; fewer in a rehearsal."""
    return rehearsal.amount(parse_size(text), rehearsal.LEAST_CACHE)


def at_least(least_s: float) -> Callable[[str], float]:
    """Return the parser of a duration of at least so many seconds."""

    def parse(text: str) -> float:
        try:
            seconds = parse_duration(str(text))
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        if seconds < least_s:
            raise typer.BadParameter(f"{text} is below {least_s:g} s")
        return rehearsal.seconds(seconds, least_s)

    return parse


def parse_block_size(text: str) -> int:
    """Return the block size in bytes that an option's text means. BadParameter unless it is a multiple of `SECTOR`."""
    size = parse_size(text)
    if not size or size % SECTOR:
        raise typer.BadParameter(f"{text} is not a multiple of {SECTOR} bytes")
    return size


def default_results() -> Path:
    """Return the folder of the records unless --results or SLOB_RESULTS name another.

    A message says how to see the records of `FORMER_RESULTS`, if there are any.
    """
    place = places.results()
    if FORMER_RESULTS.absolute() != place and finding.has_records(FORMER_RESULTS):
        notify(
            f"records are in {place} now; there are some in ./{FORMER_RESULTS} too: --results {FORMER_RESULTS} "
            f"(or SLOB_RESULTS={FORMER_RESULTS}) uses those"
        )
    return place


RESULTS = Annotated[
    Path,
    typer.Option(
        envvar="SLOB_RESULTS", metavar="DIR", help="Folder of the records.",
        default_factory=default_results, show_default="the user's data directory",
    ),
]  # fmt: skip
REPORT_INTERVAL = Annotated[
    float | None,
    typer.Option(
        parser=at_least(1), metavar=DURATION,
        help="Print a line of rates so often instead of a bar: time, reads, visits and commits per second, p99.",
    ),
]  # fmt: skip
RECORD_JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the record as JSON.")]
REQUIRE = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VERDICT", autocompletion=verdicts, help="Exit with 3 if this verdict does not hold; repeatable."
    ),
]
BLOCK_SIZE = Annotated[int, typer.Option(parser=parse_block_size, metavar="SIZE", help="Size of the random reads.")]
IO_ENGINE = Annotated[IoEngine, typer.Option(help="How requests reach the kernel; there is no fallback to another.")]
CPUS = Annotated[str | None, typer.Option(metavar="CPUS", help="CPUs of the driver, such as 0 or 0-3 (default: all).")]
MEASUREMENT_NAME = Annotated[
    str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the measurement.")
]

_CEILING_HELP = "A raw measurement of the same storage (a path, an id, latest) to compare the figures with"
CEILING = Annotated[str | None, typer.Option(metavar="RECORD", autocompletion=records, help=f"{_CEILING_HELP}.")]
CEILING_OR_MEASURE = Annotated[
    str | None, typer.Option(metavar=f"RECORD|{MEASURE}", help=f"{_CEILING_HELP}, or measure it first.")
]


def load_ceiling(name: str, results: Path) -> StorageRecord:
    """Read the raw measurement that --ceiling names.

    Raises:
        UsageError: No record has that name, or a measurement was asked for where none can be made.

    """
    if name == MEASURE:
        raise UsageError(
            f"only `slob run` and `slob sweep` accept --ceiling {MEASURE}", "give the record of a raw measurement"
        )
    return storage.load(finding.one(name, results, notify, {finding.Kind.STORAGE}).path)


def ceiling_source(
    name: str | None, results: Path, sessions: int, interrupt: Interrupt
) -> Callable[[Engine], StorageRecord | None]:
    """Return a function from an engine to its ceiling: the named record, a new measurement, or None."""
    if name == MEASURE:
        return Ceilings(sessions, Fio.find(interrupt.stop), results, notify)
    record = load_ceiling(name, results) if name else None
    return lambda _: record


def require_known(required: Sequence[str], known: Sequence[str]) -> None:
    """Raise UsageError for a name that is not a verdict. Call it before the run, which would be lost otherwise."""
    for name in required:
        if name not in known:
            raise UsageError(f"--require {name}: there is no such verdict", f"there are {', '.join(known)}")


def require_verdicts(verdicts: Sequence[Verdict], required: Sequence[str]) -> None:
    """Raise VerdictError (exit code 3) unless every required verdict holds; UsageError for an unknown one."""
    by_name = {verdict.name: verdict for verdict in verdicts}
    require_known(required, list(by_name))
    for name in required:
        if by_name[name].verdict is not Holds.HOLDS:
            raise VerdictError(f"verdict {name} {by_name[name].verdict}: {by_name[name].why}")
