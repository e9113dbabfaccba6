"""The functions of the package that read records, such as `openslob.read` and `openslob.compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob.analyze.history import History
from openslob.api.asking import Folder, find_results
from openslob.api.comparison import ComparisonResult, compare_sides
from openslob.api.reported import AbResult, EnduranceResult, LabResult, RepeatedResult, StorageResult
from openslob.api.results import Results
from openslob.api.run_result import RunResult
from openslob.core.disk import is_there
from openslob.kinds import runs
from openslob.kinds.ab import KIND as AB
from openslob.kinds.ab import record as ab
from openslob.kinds.endurance import KIND as ENDURANCE
from openslob.kinds.endurance import record as endurance
from openslob.kinds.endurance.segments import with_figures
from openslob.kinds.lab import KIND as LAB
from openslob.kinds.lab import record as lab
from openslob.kinds.repeated import KIND as REPEATED
from openslob.kinds.repeated import record as repeated
from openslob.kinds.storage import KIND as STORAGE
from openslob.kinds.storage import record as storage
from openslob.kinds.verification import Verification, open_record
from openslob.kinds.verification import verify as verify_record
from openslob.record import bundle as bundles
from openslob.record import finding
from openslob.record.kinds import AnyKind

Side = str | Results | RunResult


def read(record: Folder = "latest", *, results: Folder = None) -> Results:
    """Read records of runs and sweeps; no database is needed.

    Args:
        record: A path, the name of runs or of a sweep, an id, its beginning, or ``latest``. A name means all runs with
            that name: runs with the same name are repeats. Several, separated by commas, are read together.
        results: The folder of the records; by default that of the command line.

    Raises:
        SlobError: A record can't be read.
        UsageError: There is no such record.

    """
    folder = find_results(results)
    text = str(record)
    return Results.of(runs.find([text] if is_there(text) else text.split(","), folder))


def _one(record: Folder, results: Folder, kind: AnyKind) -> finding.Found:
    return finding.one(str(record), find_results(results), kinds={kind})


def read_storage(record: Folder = "latest", *, results: Folder = None) -> StorageResult:
    """Read the record of a measurement of storage without a database, as `slob raw` makes them.

    Args:
        record: A path, an id, a name, the beginning of either, or ``latest``.
        results: The folder of the records; by default that of the command line.

    Raises:
        SlobError: The record can't be read.
        UsageError: There is no such record.

    """
    found = _one(record, results, STORAGE)
    return StorageResult(storage.load(found.path), found.folder)


def read_endurance(record: Folder = "latest", *, results: Folder = None) -> EnduranceResult:
    """Read the record of a run of hours or days, as `slob endure` makes it.

    Args:
        record: A path, an id, a name, the beginning of either, or ``latest``.
        results: The folder of the records; by default that of the command line.

    Raises:
        SlobError: The record can't be read.
        UsageError: There is no such record.

    """
    found = _one(record, results, ENDURANCE)
    known = endurance.load(found.path)
    return EnduranceResult(with_figures(found.folder, known) if known.has_news else known, found.folder)


def read_repeated(record: Folder = "latest", *, results: Folder = None) -> RepeatedResult:
    """Read the record of the same run at fixed times, as `slob watch --every` makes it.

    Args:
        record: A path, an id, a name, the beginning of either, or ``latest``.
        results: The folder of the records; by default that of the command line.

    Raises:
        SlobError: The record can't be read.
        UsageError: There is no such record.

    """
    found = _one(record, results, REPEATED)
    return RepeatedResult(repeated.load(found.path), found.folder)


def read_lab(record: Folder = "latest", *, results: Folder = None) -> LabResult:
    """Read the record of a lab, as `slob lab` makes it.

    Args:
        record: A path, an id, a name, the beginning of either, or ``latest``.
        results: The folder of the records; by default that of the command line.

    Raises:
        SlobError: The record can't be read.
        UsageError: There is no such record.

    """
    found = _one(record, results, LAB)
    return LabResult(lab.load(found.path), found.folder)


def read_ab(record: Folder = "latest", *, results: Folder = None) -> AbResult:
    """Read the record of a comparison in pairs, as `slob ab` makes it.

    Args:
        record: A path, an id, a name, the beginning of either, or ``latest``.
        results: The folder of the records; by default that of the command line.

    Raises:
        SlobError: The record can't be read.
        UsageError: There is no such record.

    """
    found = _one(record, results, AB)
    return AbResult(ab.load(found.path), found.folder)


def compare(
    a: Side, b: Side, *, anyway: bool = False, spread: Side | None = None, see: float = 5.0, results: Folder = None
) -> ComparisonResult:
    """Return how B differs from A in every figure, with a 95 % interval, or why that is unknown.

    Args:
        a: Runs: an object, or what `read` takes.
        b: The runs to compare with them.
        anyway: Compare even if conditions differ, and list the differences.
        spread: Equal runs of several starts of the server, which show how much starts differ where A and B have one.
        see: The change in % for which the number of runs is given.
        results: The folder of the records; by default that of the command line.

    Raises:
        SlobError: The conditions differ.
        UsageError: There is no such record, a run is on both sides, or no point is.

    """
    given = (a, b) if spread is None else (a, b, spread)
    sides = [read(side, results=results) if isinstance(side, str) else side for side in given]
    return compare_sides(sides[0], sides[1], anyway, sides[2] if len(sides) > 2 else None, see)


def history(
    target: str | None = None, figures: Sequence[str] = (), *, results: Folder = None, labs: bool = False
) -> list[History]:
    """Return the runs of each load on a server over time, with their change points, as `slob history` does.

    Args:
        target: The name or URL of the server, or a part of it; by default all servers.
        figures: The figures to follow, such as ``["lio_per_s"]``.
        results: The folder of the records; by default that of the command line.
        labs: Also of the runs of labs, on servers that a lab makes and destroys.

    Raises:
        UsageError: There is no run of such a server, or a figure is unknown.

    """
    return runs.histories(target, figures, find_results(results), with_labs=labs)


def bundle(record: Folder = "latest", file: str | Path = "", *, results: Folder = None) -> str:
    """Write a record with its raw measurements as one file that `verify` checks, as `slob export --bundle` does.

    Args:
        record: A record of any kind: a path, an id, a name, the beginning of either, or ``latest``.
        file: The file to write, such as ``"figures.slob.zip"``; by default the id of the record with this ending, here.
        results: The folder of the records; by default that of the command line.

    Returns:
        The SHA-256 of the bundle, to be published beside the figures.

    Raises:
        SlobError: The record is in progress or can't be read, or the file can't be written.
        UsageError: There is no such record.

    """
    found = finding.one(str(record), find_results(results))
    return bundles.save(found, Path(file or f"{found.folder.name}.slob.zip"))


def verify(record: Folder = "latest", *, results: Folder = None) -> Verification:
    """Derive every figure of a record again, as `slob verify` does; ``faults`` of the result say what differs.

    Args:
        record: A bundle of `slob export --bundle`, or a record: a path, an id, a name, the beginning of either.
        results: The folder of the records; by default that of the command line.

    Raises:
        SlobError: The record can't be read.
        VerdictError: The bundle has no record that can be read.
        UsageError: There is no such record.

    """
    with open_record(str(record), find_results(results)) as (found, opened):
        return verify_record(found, opened)
