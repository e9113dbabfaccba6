"""The LUNs of a test, the volume that they form, and fio's jobs for each point.

Small requests are one job. Large requests are one job, or one job for each sequential stream. All jobs of a point run
at the same time. The simulated volume maps to fio as follows:

* Random requests: one job over all LUNs with the whole depth; each request goes to a LUN chosen at random.
* Sequential streams over a striped volume: each stream visits the LUNs in turn, one stripe on each, within its own
  extent of every LUN.
* Sequential streams over a concatenated volume: each stream stays within its own extent of one LUN.

A stream that reaches the end of its extent restarts at its beginning, so that no stream reads blocks that
another stream has read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from openslob.core.errors import UsageError
from openslob.core.units import format_bytes
from openslob.kinds.storage.fio import IoEngine, Job, Pattern
from openslob.kinds.storage.orion.options import LargeType, LoadPoint, Options, SimulatedArray
from openslob.kinds.storage.target import TestFile

SMALL, LARGE = "small", "large"
ALL = 100
_WARM_DEPTH = 8
_CHOOSING = {"file_service_type": "random"}


@dataclass(frozen=True)
class OrionSetup:
    """The settings that all points of a test share."""

    options: Options
    volume: Volume
    engine: IoEngine
    direct: bool = True
    seed: int = 1
    cpus: str | None = None


def jobs_of(setup: OrionSetup, point: LoadPoint, number: int) -> tuple[Job, ...]:
    """Return the jobs of point ``number`` (from 1).

    Each point has its own sequence of offsets, so that it does not re-read the blocks that another left in a cache.
    Raises UsageError if the volume is too small for the point.
    """
    options, seed = setup.options, setup.seed + 2 * number
    small = _random_job(setup, SMALL, options.size_small, point.small, seed) if point.small else ()
    if not point.large:
        return (*small,)
    if options.large_type is LargeType.SEQ:
        return (*small, *_stream_jobs(setup, point.large))
    return (*small, *_random_job(setup, LARGE, options.size_large, point.large, seed + 1))


def needs_cache_fill(options: Options, point: LoadPoint) -> bool:
    """Return whether the array's cache is filled before this point.

    As in Orion, it is filled before points with sequential streams, if its size is given.
    """
    return bool(options.cache_size and point.large and options.large_type is LargeType.SEQ)


def cache_fill_job(setup: OrionSetup, number: int) -> Job:
    """Return an unmeasured job that moves ``cache_size`` bytes of random blocks before point ``number``."""
    options = setup.options
    pattern = Pattern.RANDOM_WRITE if options.write_pct == ALL else Pattern.RANDOM_READ
    options_of_fio = {
        **_CHOOSING,
        "time_based": "0",
        "runtime": "0",
        "io_size": str(options.cache_size),
        "norandommap": "1",
    }
    return replace(
        _base_job(setup, "warm", options.size_large), pattern=pattern, seed=setup.seed + number, options=options_of_fio
    )


def _random_job(setup: OrionSetup, name: str, block_size: int, depth: int, seed: int) -> tuple[Job]:
    blocks = setup.volume.total // block_size
    if blocks < depth:
        raise UsageError(f"{depth} {name} requests in flight, but the volume has {blocks} blocks", "give larger LUNs")
    pattern = _pattern(setup.options.write_pct, Pattern.RANDOM_READ, Pattern.RANDOM_WRITE, Pattern.RANDOM_MIXED)
    return (replace(_base_job(setup, name, block_size), pattern=pattern, depth=depth, seed=seed, options=_CHOOSING),)


def _stream_jobs(setup: OrionSetup, streams: int) -> tuple[Job, ...]:
    options = setup.options
    patterns = Pattern.SEQUENTIAL_READ, Pattern.SEQUENTIAL_WRITE, Pattern.SEQUENTIAL_MIXED
    base = replace(
        _base_job(setup, LARGE, options.size_large),
        pattern=_pattern(options.write_pct, *patterns),
        depth=options.num_streamio,
    )
    return tuple(
        replace(
            base,
            name=f"{LARGE}-{number}",
            files=part.files,
            size=part.size,
            options={
                "offset": str(part.offset),
                "file_service_type": f"roundrobin:{options.stripe // base.block_size}",
            },
        )
        for number, part in enumerate(stream_extents(setup, streams), start=1)
    )


@dataclass(frozen=True)
class StreamExtent:
    """The blocks of one stream: ``size`` bytes from ``offset`` of each file."""

    files: tuple[Path, ...]
    offset: int
    size: int


def stream_extents(setup: OrionSetup, streams: int) -> list[StreamExtent]:
    """Return the extent of each stream; no two overlap. Raises UsageError if they would be too short."""
    options = setup.options
    files = tuple(file.path for file in setup.volume.files)
    striped = options.simulate is SimulatedArray.RAID0
    groups = [files] if striped else [(file,) for file in files]
    unit = options.stripe if striped and len(files) > 1 else options.size_large
    streams_by_group = Counter(stream * len(groups) // streams for stream in range(streams))
    extents = []
    for group, members in sorted(streams_by_group.items()):
        size = setup.volume.size // members // unit * unit
        if size * len(groups[group]) < options.size_large * options.num_streamio:
            raise UsageError(
                f"{streams} streams have no room in {format_bytes(setup.volume.total)}",
                "give larger LUNs or fewer streams",
            )
        extents += [StreamExtent(groups[group], member * size, size) for member in range(members)]
    return extents


def _pattern(write_pct: int, read: Pattern, write: Pattern, mixed: Pattern) -> Pattern:
    return {0: read, ALL: write}.get(write_pct, mixed)


def _base_job(setup: OrionSetup, name: str, block_size: int) -> Job:
    return Job(
        files=tuple(file.path for file in setup.volume.files),
        size=setup.volume.size,
        block_size=block_size,
        engine=setup.engine,
        seconds=setup.options.duration_s,
        name=name,
        depth=_WARM_DEPTH,
        direct=setup.direct,
        read_pct=ALL - setup.options.write_pct,
        cpus=setup.cpus,
    )


LUN_SUFFIX = ".lun"
# LUNs of one array differ by a few blocks. With a larger difference, an even choice of LUNs is not even over blocks.
_UNEVEN = 0.01


@dataclass(frozen=True)
class Volume:
    """The volume that requests go to: the first ``size`` bytes of each file."""

    files: tuple[TestFile, ...]
    size: int

    @property
    def total(self) -> int:
        """Size of the whole volume in bytes."""
        return self.size * len(self.files)


def paths_in(file: Path) -> tuple[Path, ...]:
    """Return the paths in a .lun file, one per line; blank lines are ignored.

    Raises UsageError if there is no path, or one twice.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from error
    paths = tuple(Path(line.strip()) for line in lines if line.strip())
    if not paths:
        raise UsageError(f"{file} has no LUN in it", "write the path of a file or device on each line")
    real = [path.resolve() for path in paths]
    for path, target in zip(paths, real, strict=True):
        if real.count(target) > 1:
            raise UsageError(f"{file} names {path} more than once", "name each LUN once")
    return paths


def volume(files: Sequence[TestFile], options: Options) -> Volume:
    """Return the volume that ``files`` form. Raises UsageError if their sizes or the stripe can't be simulated.

    A random request goes to a LUN chosen with equal probability, then to a random block of it. That is uniform over a
    striped volume, which uses the same number of bytes of each LUN. It is uniform over a concatenated volume only if
    all LUNs have the same size.
    """
    sizes = [file.size for file in files]
    smallest, largest = min(sizes), max(sizes)
    if options.simulate is SimulatedArray.CONCAT and smallest < largest * (1 - _UNEVEN):
        raise UsageError(
            f"LUNs of {format_bytes(smallest)} to {format_bytes(largest)} can't be concatenated: fio chooses LUNs with "
            "equal probability and would read blocks of the small ones more often",
            "give LUNs of the same size, or --simulate raid0, which uses the same number of bytes of each",
        )
    if options.simulate is SimulatedArray.RAID0 and len(files) > 1 and options.stripe % options.size_large:
        raise UsageError(
            f"the stripe of {format_bytes(options.stripe)} is not a multiple of the large requests of "
            f"{format_bytes(options.size_large)}: fio can't split a request over two LUNs",
            "change --stripe or --size-large",
        )
    unit = max(options.size_large, options.stripe if options.simulate is SimulatedArray.RAID0 else 0)
    if smallest < unit:
        raise UsageError(f"{files[sizes.index(smallest)].label} is below {format_bytes(unit)}", "use a larger LUN")
    return Volume(tuple(files), smallest // unit * unit)
