"""From a point to fio's jobs: small requests as one job, large ones as one, or as one for each sequential stream.

All jobs of a point run at the same time. How the simulated volume maps:

* random requests: one job over all LUNs with the whole depth, each request to a LUN chosen at random;
* sequential streams over a striped volume: each stream goes round the LUNs, a stripe on each, side by side in its own
  part of every LUN;
* sequential streams over a concatenated volume: each has its own part of the volume, and stays in one LUN.

A stream that reaches the end of its part begins again there, so that no stream ever reads what another has read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from openslob.errors import UsageError
from openslob.storage.job import IoEngine, Job, Pattern
from openslob.storage.orion.matrix import LoadPoint
from openslob.storage.orion.options import LargeType, Options, SimulatedArray
from openslob.storage.testfile import TestFile
from openslob.units import format_bytes

SMALL, LARGE = "small", "large"
ALL = 100
_WARM_DEPTH = 8
_CHOOSING = {"file_service_type": "random"}


@dataclass(frozen=True)
class OrionSetup:
    """What all points of a test have in common."""

    options: Options
    volume: Volume
    engine: IoEngine
    direct: bool = True
    seed: int = 1


def jobs_of(load: OrionSetup, point: LoadPoint, number: int) -> tuple[Job, ...]:
    """The jobs of point ``number`` (from 1). Each point has offsets of its own: none re-reads what another left cached.

    UsageError when the volume is too small for the point.
    """
    options, seed = load.options, load.seed + 2 * number
    small = _random(load, SMALL, options.size_small, point.small, seed) if point.small else ()
    if not point.large:
        return (*small,)
    if options.large_type is LargeType.SEQ:
        return (*small, *_streams(load, point.large))
    return (*small, *_random(load, LARGE, options.size_large, point.large, seed + 1))


def is_warmed(options: Options, point: LoadPoint) -> bool:
    """Whether a cache is filled before this point: before sequential ones, as Orion does, if its size is given."""
    return bool(options.cache_size and point.large and options.large_type is LargeType.SEQ)


def warming(load: OrionSetup, number: int) -> Job:
    """A job, not measured, that fills a cache of ``cache_size`` bytes with blocks of no use to point ``number``."""
    options = load.options
    pattern = Pattern.RANDOM_WRITE if options.write_pct == ALL else Pattern.RANDOM_READ
    moved = {**_CHOOSING, "time_based": "0", "runtime": "0", "io_size": str(options.cache_size), "norandommap": "1"}
    return replace(_base(load, "warm", options.size_large), pattern=pattern, seed=load.seed + number, options=moved)


def _random(load: OrionSetup, name: str, block_size: int, depth: int, seed: int) -> tuple[Job]:
    blocks = load.volume.total // block_size
    if blocks < depth:
        raise UsageError(f"{depth} {name} requests in flight, but the volume has {blocks} blocks", "give larger LUNs")
    pattern = _pattern(load.options.write_pct, Pattern.RANDOM_READ, Pattern.RANDOM_WRITE, Pattern.RANDOM_MIXED)
    return (replace(_base(load, name, block_size), pattern=pattern, depth=depth, seed=seed, options=_CHOOSING),)


def _streams(load: OrionSetup, streams: int) -> tuple[Job, ...]:
    options = load.options
    patterns = Pattern.SEQUENTIAL_READ, Pattern.SEQUENTIAL_WRITE, Pattern.SEQUENTIAL_MIXED
    base = replace(
        _base(load, LARGE, options.size_large),
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
        for number, part in enumerate(parts(load, streams), start=1)
    )


@dataclass(frozen=True)
class StreamExtent:
    """What one stream goes through: ``size`` bytes of each of ``files`` from ``offset`` on."""

    files: tuple[Path, ...]
    offset: int
    size: int


def parts(load: OrionSetup, streams: int) -> list[StreamExtent]:
    """The parts of the volume that belong to the streams; no two overlap. UsageError when they would be too short."""
    options = load.options
    files = tuple(file.path for file in load.volume.files)
    striped = options.simulate is SimulatedArray.RAID0
    groups = [files] if striped else [(file,) for file in files]
    unit = options.stripe if striped and len(files) > 1 else options.size_large
    of_groups = Counter(stream * len(groups) // streams for stream in range(streams))
    found = []
    for group, members in sorted(of_groups.items()):
        size = load.volume.size // members // unit * unit
        if size * len(groups[group]) < options.size_large * options.num_streamio:
            raise UsageError(
                f"{streams} streams have no room in {format_bytes(load.volume.total)}",
                "give larger LUNs or fewer streams",
            )
        found += [StreamExtent(groups[group], member * size, size) for member in range(members)]
    return found


def _pattern(write_pct: int, read: Pattern, write: Pattern, mixed: Pattern) -> Pattern:
    return {0: read, ALL: write}.get(write_pct, mixed)


def _base(load: OrionSetup, name: str, block_size: int) -> Job:
    return Job(
        files=tuple(file.path for file in load.volume.files),
        size=load.volume.size,
        block_size=block_size,
        engine=load.engine,
        seconds=load.options.duration_s,
        name=name,
        depth=_WARM_DEPTH,
        direct=load.direct,
        read_pct=ALL - load.options.write_pct,
    )


LUN_SUFFIX = ".lun"
# LUNs of one array differ by some blocks; more than this, and an even choice of LUNs is no longer one of blocks.
_UNEVEN = 0.01


@dataclass(frozen=True)
class Volume:
    """``files`` together, ``size`` bytes of each: what the requests go to."""

    files: tuple[TestFile, ...]
    size: int

    @property
    def total(self) -> int:
        """Bytes of the whole volume."""
        return self.size * len(self.files)


def paths_in(file: Path) -> tuple[Path, ...]:
    """The paths in a .lun file, one per line, blank lines left out. UsageError when there are none or one twice."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from error
    paths = tuple(Path(line.strip()) for line in lines if line.strip())
    if not paths:
        raise UsageError(f"{file} names no LUN", "it has the path of a file or device on each line")
    real = [path.resolve() for path in paths]
    for path, target in zip(paths, real, strict=True):
        if real.count(target) > 1:
            raise UsageError(f"{file} names {path} more than once")
    return paths


def volume(files: Sequence[TestFile], options: Options) -> Volume:
    """The volume that ``files`` make. UsageError when their sizes, or a stripe, can't be simulated.

    A random request chooses a LUN, each as likely as any other, then a block of it. That is even over a striped
    volume, which uses the same part of each LUN; over a concatenated one only if all LUNs are equally long.
    """
    sizes = [file.size for file in files]
    smallest, largest = min(sizes), max(sizes)
    if options.simulate is SimulatedArray.CONCAT and smallest < largest * (1 - _UNEVEN):
        raise UsageError(
            f"LUNs of {format_bytes(smallest)} to {format_bytes(largest)} can't be simulated one after another: fio "
            "chooses LUNs evenly, and would read the small ones more often",
            "give LUNs of one size, or --simulate raid0, which uses the same part of each",
        )
    if options.simulate is SimulatedArray.RAID0 and len(files) > 1 and options.stripe % options.size_large:
        raise UsageError(
            f"a stripe of {format_bytes(options.stripe)} is not a multiple of large requests of "
            f"{format_bytes(options.size_large)}: fio can't split a request over two LUNs",
            "give --stripe or --size-large so that it is",
        )
    unit = max(options.size_large, options.stripe if options.simulate is SimulatedArray.RAID0 else 0)
    if smallest < unit:
        raise UsageError(f"{files[sizes.index(smallest)].label} is shorter than {format_bytes(unit)}")
    return Volume(tuple(files), smallest // unit * unit)
