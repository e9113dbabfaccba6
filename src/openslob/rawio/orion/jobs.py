"""From a point to fio's jobs: small requests as one job, large ones as one, or as one for each sequential stream.

All jobs of a point run at the same time. How the simulated volume maps:

* random requests: one job over all LUNs with the whole depth, each request to a LUN chosen at random;
* sequential streams over a striped volume: each stream goes round the LUNs, a stripe on each, side by side in its own
  part of every LUN;
* sequential streams over a concatenated volume: each has its own part of the volume, and stays in one LUN.

A stream that reaches the end of its part begins again there, so that no stream ever reads what another has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openslob.errors import UsageError
from openslob.rawio.job import IoEngine, Job, Pattern
from openslob.rawio.orion.luns import Volume
from openslob.rawio.orion.matrix import Point
from openslob.rawio.orion.words import LargeType, Options, Simulate
from openslob.units import format_bytes

SMALL, LARGE = "small", "large"
_WARM_DEPTH = 8


@dataclass(frozen=True)
class Load:
    """What all points of a test have in common."""

    options: Options
    volume: Volume
    engine: IoEngine
    seed: int = 1


def jobs_of(load: Load, point: Point, number: int) -> tuple[Job, ...]:
    """The jobs of point ``number`` (from 1). Each point has offsets of its own: none re-reads what another left cached.

    UsageError when the volume is too small for the point.
    """
    return (*_small(load, point, number), *_large(load, point, number))


def warming(load: Load, number: int) -> Job:
    """A job, not measured, that fills a cache of ``cache_size`` bytes with blocks of no use to point ``number``."""
    options = load.options
    pattern = Pattern.RANDOM_WRITE if options.write_pct == 100 else Pattern.RANDOM_READ
    moved = {"time_based": "0", "runtime": "0", "io_size": str(options.cache_size), "norandommap": "1"}
    return _job(load, "warm", pattern, options.size_large, _WARM_DEPTH, -number, moved)


def is_warmed(options: Options, point: Point) -> bool:
    """Whether the cache is filled before this point: before sequential ones, as Orion does, if a size is given."""
    return bool(options.cache_size and point.large and options.large_type is LargeType.SEQ)


def _small(load: Load, point: Point, number: int) -> Iterator[Job]:
    if point.small:
        _require(load, point.small, load.options.size_small, SMALL)
        yield _job(load, SMALL, _random(load.options), load.options.size_small, point.small, 2 * number)


def _large(load: Load, point: Point, number: int) -> Iterator[Job]:
    options = load.options
    if not point.large:
        return
    if options.large_type is LargeType.RAND:
        _require(load, point.large, options.size_large, LARGE)
        yield _job(load, LARGE, _random(options), options.size_large, point.large, 2 * number + 1)
        return
    for stream, (files, offset, size) in enumerate(_parts(load, point.large)):
        placed = {"offset": str(offset), **_around(options, files)}
        yield _job(
            load, f"{LARGE}-{stream + 1}", _sequential(options), options.size_large, options.num_streamio, 2 * number + 1,
            placed, files, size,
        )  # fmt: skip


def _job(
    load: Load,
    name: str,
    pattern: Pattern,
    block_size: int,
    depth: int,
    seed: int,
    options: dict[str, str],
    files: tuple[Path, ...] | None = None,
    size: int | None = None,
) -> Job:
    files = files or tuple(file.path for file in load.volume.files)
    return Job(
        files=files,
        size=size or load.volume.size,
        block_size=block_size,
        engine=load.engine,
        seconds=load.options.duration_s,
        name=name,
        pattern=pattern,
        depth=depth,
        read_pct=100 - load.options.write_pct,
        seed=load.seed + seed,
        options=options,
    )
