"""What the engine counted, taken again from the readings that a recorder wrote."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from openslob.core.errors import SlobError
from openslob.core.measurement import EVERY_FIGURE, EngineDelta, TimedWait, WaitClass
from openslob.core.units import NANOS
from openslob.engines import registry
from openslob.engines.base import CounterReading, Counting
from openslob.engines.cluster.instances import ClusterCounting
from openslob.engines.mysql.counters import Counting as MysqlCounting
from openslob.engines.oracle.delta import Counting as OracleCounting
from openslob.engines.postgresql.counters import Counting as PostgresCounting
from openslob.host.model import OsReading
from openslob.kinds.recounting import Recount, recount
from openslob.kinds.run.recorder import ReadingsRecorder
from openslob.kinds.run.samplers import SystemReading
from openslob.record.raw_csv import RawCsv


@dataclass(frozen=True)
class Plain:
    """An engine whose counters are the figures, and one a wait that it counts by duration."""

    def difference(self, before: CounterReading, after: CounterReading) -> EngineDelta:
        if before.epoch != after.epoch:
            return EngineDelta(unknown={EVERY_FIGURE: "reset"})
        grown = {name: value - before.values.get(name, 0) for name, value in after.values.items()}
        waits = [TimedWait("IO:Read", WaitClass.DATA_IO, 1.0, 1.0, {(8, 16): int(grown.pop("waits"))})]
        return EngineDelta(**grown, timed_waits=waits)


READINGS = [
    (0, {"read_requests": 100, "waits": 1}, "a"),
    (1, {"read_requests": 250, "waits": 1, "commits": 3.5}, "a"),
    (2, {"read_requests": 251, "waits": 4, "commits": 3.5}, "a"),
    # A counter that is gone, as of a session that ended.
    (3, {"read_requests": 300, "waits": 9}, "a"),
    # The closing reading, at once after the last one.
    (3.2, {"read_requests": 310, "waits": 9}, "a"),
]


def recorded(folder: Path, readings=READINGS, counting: Counting | None = None) -> Path:
    """The raw files that a recorder writes of these readings."""
    folder.mkdir()
    with RawCsv(folder) as raw:
        recorder = ReadingsRecorder(
            raw, lambda before, after: (counting or Plain()).difference(before.counters, after.counters)
        )
        for at_s, values, epoch in readings:
            counters = CounterReading(round(at_s * NANOS), values, epoch)
            recorder.add_reading(SystemReading(counters, OsReading(0, {}), 0))
        recorder.finish()
    return folder


def recounted(folder: Path, thinned: bool = False) -> Recount:
    return recount(folder, Plain(), thinned)


def test_a_reading_in_which_nothing_moved_is_a_reading(tmp_path: Path) -> None:
    """A busy server publishes nothing for a second."""
    still = (1.5, *READINGS[1][1:])
    found = recounted(recorded(tmp_path / "r", [*READINGS[:2], still, *READINGS[2:]]))
    assert (found.faults, found.intervals) == ([], 5)


def test_every_interval_and_the_whole_follow_from_the_readings(tmp_path: Path) -> None:
    found = recounted(recorded(tmp_path / "r"))
    assert found.faults == []
    # That of the closing reading takes the place of the last one.
    assert found.intervals == 4
    assert found.counted == Plain().difference(*(CounterReading(0, READINGS[at][1], "") for at in (0, -1)))
    assert found.counted is not None
    assert found.counted.commits is None


def test_a_reset_is_no_fault(tmp_path: Path) -> None:
    readings = [*READINGS[:2], (2, {"read_requests": 5, "waits": 0}, "b"), (3, {"read_requests": 9, "waits": 0}, "b")]
    found = recounted(recorded(tmp_path / "r", readings))
    assert found.faults == []
    assert found.intervals == 2
    assert found.counted is not None
    assert found.counted.read_requests is None


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("engine.csv", "read_requests,150", "read_requests,151", "read_requests from 0 to 1000000000 is 151.0"),
        ("engine.csv", "0,1000000000,read_requests,150\n", "", "read_requests from 0 to 1000000000 is None"),
        ("engine.csv", "read_requests,49", "log_syncs,49", "log_syncs from 2000000000 to 3000000000 is 49.0"),
        ("engine_latency.csv", ",3\n", ",2\n", "IO:Read 8 16 from 1000000000 to 2000000000 is 2.0"),
        ("samples.csv", "read_requests,251", "read_requests,252", "samples.csv says"),
        ("samples.csv", "2000000000,a,read_requests", "2000000001,a,read_requests", "2000000001"),
        ("samples.csv", "2000000000,a,read_requests", "2000000000,b,read_requests", "samples.csv says"),
    ],
)
def test_what_was_changed_is_named(tmp_path: Path, file: str, old: str, new: str, says: str) -> None:
    folder = recorded(tmp_path / "r")
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    assert any(says in fault for fault in recounted(folder).faults), recounted(folder).faults


def test_of_a_thinned_record_readings_and_intervals_need_not_meet(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "r")
    lines = (folder / "samples.csv").read_text().splitlines(keepends=True)
    (folder / "samples.csv").write_text("".join(line for line in lines if not line.startswith("2000000000")))
    assert recounted(folder).faults != []
    found = recounted(folder, thinned=True)
    assert found.faults == []
    assert found.counted is not None
    assert found.counted.read_requests == 210


@pytest.mark.parametrize(
    ("engine", "counting"),
    [
        ("postgresql", PostgresCounting(True, 8192)),
        ("postgresql", PostgresCounting(False, 16384, whole_server=True)),
        ("mariadb", MysqlCounting(whole_server=True)),
        ("mysql", MysqlCounting()),
        ("oracle", OracleCounting({"sql": "why"}, True, False)),
        ("mariadb", ClusterCounting([MysqlCounting(), MysqlCounting()], ["a", "b"])),
    ],
)
def test_how_an_engine_counts_is_known_from_plain_values(engine: str, counting: Counting) -> None:
    assert registry.counting(engine, asdict(counting)) == counting
    assert registry.counting("no such engine", {}) is None


@pytest.mark.parametrize(
    "facts",
    [
        {}, [], "x", {"prompt": True}, {"prompt": True, "block_size": "x"},
        {"prompt": True, "block_size": 1, "more": 2},
        {"parts": 3}, {"parts": [{}], "targets": ["a"]}, {"parts": [], "targets": ["a"]},
    ],
)  # fmt: skip
def test_how_an_engine_counts_can_be_damaged(facts: object) -> None:
    with pytest.raises(SlobError, match="damaged"):
        registry.counting("postgresql", facts)


def test_a_cluster_counts_as_its_instances_do(tmp_path: Path) -> None:
    part, values = MysqlCounting(), {"status.INNODB_DATA_READS": 5.0, "status.INNODB_LOG_WRITES": 2.0}
    whole = {f"{number}.{name}": value * (number + 1) for number in range(2) for name, value in values.items()}
    counted = ClusterCounting([part, part], ["a", "b"]).difference(
        CounterReading(0, {}, "0:a 1:b"), CounterReading(9, {**whole, "spread_ns": 3, "0.ahead_ns": 1}, "0:a 1:b")
    )
    alone = part.difference(CounterReading(0, {}, ""), CounterReading(9, values, ""))
    assert alone.read_requests
    assert counted.read_requests == 3 * alone.read_requests
    assert len(counted.by_instance) == 2
