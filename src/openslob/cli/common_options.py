"""Options that several commands share, and what those options mean: sizes, CPU lists, ceilings, required verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openslob.analyze.verdict_registry import REQUIRABLE
from openslob.cli.completion import verdicts
from openslob.cli.console import notify
from openslob.core import places, rehearsal
from openslob.core.errors import UndecidedError, UsageError, VerdictError
from openslob.core.units import MIB, format_duration, parse_bytes, parse_duration

if TYPE_CHECKING:
    from openslob.record.model import Verdict

# Smallest unit of direct I/O, in bytes.
SECTOR = 512
# Metavar of options that take seconds or a duration.
DURATION = "DURATION"
# Nothing that is waited for lasts longer.
MOST_S = 366 * 86_400.0
# Where records were written by default before they had one home, below the working directory.
FORMER_RESULTS = Path("results")


def parse_size(text: str) -> int:
    """Return the size in bytes that an option's text means. BadParameter for any other text."""
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def parse_percent(text: str) -> float:
    """Return the share in % that an option's text means, such as ``5%``. BadParameter unless it is above 0."""
    try:
        value = float(str(text).strip().removesuffix("%"))
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise typer.BadParameter(f"{text!r} is not a share above 0, such as 5%")
    return value


def parse_amount(text: str) -> int:
    """Return the bytes that an option's text means for data and files; fewer in a rehearsal."""
    return rehearsal.amount(parse_size(text), 64 * MIB)


def parse_cache(text: str) -> int:
    """Return the bytes that an option's text means for a cache; fewer in a rehearsal."""
    return rehearsal.amount(parse_size(text), rehearsal.LEAST_CACHE)


def at_least(least_s: float, most_s: float = MOST_S) -> Callable[[str], float]:
    """Return the parser of a duration of at least, and at most, so many seconds."""

    def parse(text: str) -> float:
        try:
            seconds = parse_duration(str(text))
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        if seconds < least_s:
            raise typer.BadParameter(f"{text} is below {least_s:g} s")
        if seconds > most_s:
            raise typer.BadParameter(f"{text} is above {format_duration(most_s)}")
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
    from openslob.record.finding import has_records  # noqa: PLC0415 - not every command with these options has records

    place = places.results()
    if FORMER_RESULTS.absolute() != place and has_records(FORMER_RESULTS):
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
# For commands that read records.
PRICE = Annotated[
    str | None,
    typer.Option(metavar="AMOUNT/month", help="What the server costs, such as 123.45 EUR/month, instead of its own."),
]
REPORT_INTERVAL = Annotated[
    float | None,
    typer.Option(
        parser=at_least(1), metavar=DURATION,
        help="Print a line at this interval instead of a bar: time, reads, visits and commits per second, p99.",
    ),
]  # fmt: skip
RETRIES = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, max=100,
        help="How often a run is made again whose counters a busy host read too late for a rate.",
    ),
]  # fmt: skip
RECORD_JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the record as JSON.")]
ALL = Annotated[bool, typer.Option("--all", metavar="", help="Print the whole report: every figure and fact.")]
REQUIRE = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VERDICT",
        autocompletion=verdicts,
        help="Exit with 3 if this verdict fails. Exit with 4 if it is unknown; valid, read and undisturbed are all of "
        "their group; repeatable.",
    ),
]
BLOCK_SIZE = Annotated[int, typer.Option(parser=parse_block_size, metavar="SIZE", help="Size of the random reads.")]
CPUS = Annotated[str | None, typer.Option(metavar="CPUS", help="CPUs of the driver, such as 0 or 0-3 (default: all).")]
MEASUREMENT_NAME = Annotated[
    str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of the measurement.")
]


def require_known(required: Sequence[str], known: Sequence[str]) -> None:
    """Raise UsageError for what is neither a verdict nor a question. Call it before the run, which would be lost."""
    for name in required:
        if name not in known and name not in REQUIRABLE:
            there = f"there are {', '.join(REQUIRABLE)}, and {', '.join(known)}"
            raise UsageError(f"--require {name}: there is no such verdict", there)


def require_verdicts(verdicts: Sequence[Verdict], required: Sequence[str]) -> None:
    """Raise the error with the exit code unless all that is required holds: 3 if something fails, 4 if it is unknown.

    UsageError for a name that none of the verdicts has. A name may have several: all of them count.
    """
    from openslob.analyze.required import list_unanswered, list_unmet, say_unmet  # noqa: PLC0415 - as above
    from openslob.record.model import Holds  # noqa: PLC0415 - as above

    require_known(required, list(dict.fromkeys(verdict.name for verdict in verdicts)))
    if unmet := list_unmet(verdicts, required):
        name, verdict = unmet[0]
        raise (VerdictError if verdict.verdict is Holds.FAILS else UndecidedError)(say_unmet(name, verdict))
    if unanswered := list_unanswered(verdicts, required):
        raise UndecidedError(f"not known to be {unanswered[0]}: no verdict is about that")
