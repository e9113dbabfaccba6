"""From points to fio's jobs: depth, sizes, patterns, seeds, and where the parts of a simulated volume lie."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from factories.tables import table
from openslob.core.errors import UsageError
from openslob.core.units import MIB
from openslob.kinds.storage.fio import IoEngine, Pattern
from openslob.kinds.storage.orion.jobs import (
    OrionSetup,
    cache_fill_job,
    jobs_of,
    needs_cache_fill,
    paths_in,
    stream_extents,
    volume,
)
from openslob.kinds.storage.orion.options import LargeType, LoadPoint, Options, OrionRun, SimulatedArray
from openslob.kinds.storage.target import TestFile

RAID0 = SimulatedArray.RAID0
SEQ = LargeType.SEQ


def luns(*mib: float) -> list[TestFile]:
    return [TestFile(Path(f"/dev/lun{at}"), f"lun{at}", int(size * MIB), ours=False) for at, size in enumerate(mib)]


def load(*mib: float, seed: int = 1, **options: object) -> OrionSetup:
    asked = Options(OrionRun.SIMPLE, **options)
    return OrionSetup(asked, volume(luns(*mib), asked), IoEngine.LIBAIO, seed=seed)


def test_a_mixed_point_is_one_job_for_small_and_one_for_large_requests():
    small, large = jobs_of(load(64, 64), LoadPoint(large=2, small=5), 1)
    assert (small.name, small.depth, small.block_size, small.pattern) == ("small", 5, 8192, Pattern.RANDOM_READ)
    assert (large.name, large.depth, large.block_size, large.pattern) == ("large", 2, MIB, Pattern.RANDOM_READ)
    assert small.files == large.files == (Path("/dev/lun0"), Path("/dev/lun1"))
    assert (small.size, small.options["file_service_type"]) == (64 * MIB, "random")
    assert small.direct and large.direct
    assert small.seed != large.seed


def test_every_job_is_confined_to_the_cpus():
    setup = replace(load(64, large_type=SEQ, cache_size=MIB), cpus="0-1")
    jobs = [*jobs_of(setup, LoadPoint(large=2, small=1), 1), cache_fill_job(setup, 1)]
    assert {job.cpus for job in jobs} == {"0-1"}
    assert {job.cpus for job in jobs_of(load(64), LoadPoint(1, 1), 1)} == {None}


def test_a_point_of_one_kind_is_one_job():
    assert [job.name for job in jobs_of(load(64), LoadPoint(0, 3), 1)] == ["small"]
    assert [job.name for job in jobs_of(load(64), LoadPoint(3, 0), 1)] == ["large"]


@table(
    ("write_pct", "random", "sequential"),
    [
        (0, Pattern.RANDOM_READ, Pattern.SEQUENTIAL_READ),
        (30, Pattern.RANDOM_MIXED, Pattern.SEQUENTIAL_MIXED),
        (100, Pattern.RANDOM_WRITE, Pattern.SEQUENTIAL_WRITE),
    ],
)
def test_the_share_of_writes_is_that_of_every_job(write_pct, random, sequential):
    small, large = jobs_of(load(64, large_type=SEQ, write_pct=write_pct), LoadPoint(1, 1), 1)
    assert (small.pattern, large.pattern) == (random, sequential)
    assert small.read_pct == large.read_pct == 100 - write_pct


def test_every_point_goes_to_places_of_its_own_and_a_seed_gives_the_same_again():
    seeds = [job.seed for number in range(1, 9) for job in jobs_of(load(64), LoadPoint(1, 1), number)]
    assert len(set(seeds)) == len(seeds)
    assert jobs_of(load(64), LoadPoint(1, 1), 3) == jobs_of(load(64), LoadPoint(1, 1), 3)
    assert jobs_of(load(64, seed=99), LoadPoint(1, 1), 3) != jobs_of(load(64), LoadPoint(1, 1), 3)


def test_streams_are_jobs_side_by_side_each_with_its_own_depth():
    jobs = jobs_of(load(64, large_type=SEQ, num_streamio=4), LoadPoint(large=3, small=0), 1)
    assert [job.name for job in jobs] == ["large-1", "large-2", "large-3"]
    assert {job.depth for job in jobs} == {4}
    assert [int(job.options["offset"]) // MIB for job in jobs] == [0, 21, 42]
    assert {job.size // MIB for job in jobs} == {21}


def test_streams_over_a_striped_volume_go_round_the_luns_a_stripe_on_each():
    jobs = jobs_of(load(64, 64, large_type=SEQ, simulate=RAID0, stripe=4 * MIB), LoadPoint(2, 0), 1)
    assert {job.files for job in jobs} == {(Path("/dev/lun0"), Path("/dev/lun1"))}
    assert [job.options["file_service_type"] for job in jobs] == ["roundrobin:4"] * 2
    assert [int(job.options["offset"]) // MIB for job in jobs] == [0, 32]


def test_streams_over_a_concatenated_volume_stay_in_a_lun_each():
    found = stream_extents(load(64, 64, large_type=SEQ), 3)
    assert [(part.files[0].name, part.offset // MIB, part.size // MIB) for part in found] == [
        ("lun0", 0, 32),
        ("lun0", 32, 32),
        ("lun1", 0, 64),
    ]


@given(
    sizes=st.lists(st.integers(64, 64), min_size=1, max_size=5),
    streams=st.integers(1, 40),
    stripe=st.integers(1, 4),
    simulate=st.sampled_from(SimulatedArray),
)
def test_no_two_streams_share_a_block_and_all_lie_in_the_volume(sizes, streams, stripe, simulate):
    made = load(*sizes, large_type=SEQ, num_streamio=1, simulate=simulate, stripe=stripe * MIB)
    try:
        found = stream_extents(made, streams)
    except UsageError:
        assume(False)
    assert len(found) == streams
    taken = [
        (file, block)
        for part in found
        for file in part.files
        for block in range(part.offset // MIB, (part.offset + part.size) // MIB)
    ]
    assert len(set(taken)) == len(taken)
    assert all(block < made.volume.size // MIB for _, block in taken)


def test_a_volume_too_small_for_the_load_is_refused():
    with pytest.raises(UsageError, match="3 large requests in flight, but the volume has 2 blocks"):
        jobs_of(load(2), LoadPoint(3, 0), 1)
    with pytest.raises(UsageError, match="4 streams have no room"):
        jobs_of(load(8, large_type=SEQ), LoadPoint(4, 0), 1)


def test_luns_of_unequal_size_are_no_concatenation_but_their_equal_parts_are_striped():
    with pytest.raises(UsageError, match="can't be concatenated"):
        load(64, 128)
    assert load(64, 128, simulate=RAID0).volume.size == 64 * MIB
    assert load(1000, 1005).volume.size == 1000 * MIB


def test_a_stripe_that_splits_requests_is_refused():
    with pytest.raises(UsageError, match="can't split a request over two LUNs"):
        load(64, 64, simulate=RAID0, stripe=MIB, size_large=2 * MIB)
    assert load(64, simulate=RAID0, stripe=MIB, size_large=2 * MIB).volume.total == 64 * MIB


def test_the_cache_is_filled_before_sequential_points_only():
    options = Options(OrionRun.SIMPLE, cache_size=256 * MIB, large_type=SEQ)
    assert needs_cache_fill(options, LoadPoint(1, 0))
    assert not needs_cache_fill(options, LoadPoint(0, 1))
    assert not needs_cache_fill(Options(OrionRun.SIMPLE, cache_size=256 * MIB), LoadPoint(1, 0))
    assert not needs_cache_fill(Options(OrionRun.SIMPLE, large_type=SEQ), LoadPoint(1, 0))
    job = cache_fill_job(load(64, cache_size=256 * MIB, large_type=SEQ), 1)
    assert job.options["io_size"] == str(256 * MIB)
    assert job.pattern is Pattern.RANDOM_READ
    assert cache_fill_job(load(64, cache_size=MIB, write_pct=100), 1).pattern is Pattern.RANDOM_WRITE


def test_a_lun_file_has_a_path_on_each_line(tmp_path):
    file = tmp_path / "mytest.lun"
    file.write_text("/dev/sdb\n\n  /dev/sdc \n")
    assert paths_in(file) == (Path("/dev/sdb"), Path("/dev/sdc"))
    file.write_text("\n")
    with pytest.raises(UsageError, match="has no LUN in it"):
        paths_in(file)
    file.write_text("/dev/sdb\n/dev/../dev/sdb\n")
    with pytest.raises(UsageError, match="more than once"):
        paths_in(file)
    with pytest.raises(UsageError, match="can't be read"):
        paths_in(tmp_path / "other.lun")
