"""The storage ceiling: from raw steps, interpolated, never extrapolated; its verdict, its text, its line in charts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from factories import measurements
from factories.records import Made, physical
from factories.sweeps import points_of, sweep
from openslob.analyze.curves.ceiling import other_storage, rate_at
from openslob.analyze.curves.points import Run
from openslob.analyze.verdicts import judge
from openslob.cli.report import ceilings
from openslob.core.errors import SlobError
from openslob.core.measurement import StorageAlone
from openslob.kinds.listing import Shown, overview, render_list
from openslob.kinds.storage import ceiling as measured_ceiling
from openslob.kinds.storage import record as storage
from openslob.kinds.storage.record import StorageFolder, StorageLoad, StorageRecord, StorageStep, storage_alone
from openslob.kinds.storage.report import storage_document
from openslob.record import finding
from openslob.record.model import Figure, Holds, Status, Verdict
from openslob.report.charts.petals import petals
from openslob.report.charts.picture import page_specs
from openslob.report.several_runs import set_document
from openslob.report.terminal import render_text


def step(number, in_flight, iops, block=8192, mean=100.0, **load):
    return StorageStep(
        number=number,
        name="random reads",
        purpose="a test",
        load=StorageLoad(block_bytes=block, in_flight=in_flight, engine="psync", seconds=1, **load),
        figures={"iops": Figure(value=iops, unit="1/s"), "mean_us": Figure(value=mean, unit="µs")},
    )


def record(*steps, **overrides):
    plain = {
        "tool": "calibrate", "id": "20260301-120000-raw", "name": "raw", "status": Status.COMPLETE,
        "started_at": "2026-03-01T12:00:00Z", "openslob_version": "0", "asked": {}, "environment": {}, "steps": steps,
    }  # fmt: skip
    return StorageRecord(**{**plain, **overrides})


DOUBLING = record(step(1, 1, 10_000.0), step(2, 4, 40_000.0), step(3, 16, 64_000.0), step(4, 16, 60_000.0))


def test_between_measured_numbers_the_rate_is_read_off_logarithmic_axes():
    ceiling = storage_alone(DOUBLING).ceiling(8192)
    assert rate_at(ceiling, 4).value == 40_000
    assert rate_at(ceiling, 2).value == pytest.approx(20_000)
    assert rate_at(ceiling, 16).value == 62_000  # the median of two
    assert rate_at(ceiling, 8).value == pytest.approx((40_000 * 62_000) ** 0.5)


def test_a_ceiling_whose_latencies_are_not_known_has_rates_all_the_same():
    (point,) = storage_alone(record(step(1, 4, 40_000.0, mean=None))).ceiling(8192).points
    assert (point.iops, point.mean_us) == (40_000, None)


def test_beyond_what_was_measured_it_is_unknown():
    beyond = rate_at(storage_alone(DOUBLING).ceiling(8192), 32)
    assert beyond.value is None
    assert "measured 1 to 16 reads of 8 KB in flight, not 32" in beyond.why
    assert rate_at(storage_alone(DOUBLING).ceiling(4096), 4).value is None


def test_only_plain_random_reads_of_the_block_size_count():
    others = record(
        step(1, 4, 1.0, block=4096), step(2, 4, 1.0, read_pct=50), step(3, 4, 1.0, pattern="sequential"),
        step(4, 4, 1.0, verified=True),
    )  # fmt: skip
    assert storage_alone(others).ceiling(8192).points == ()


def verdict(ceiling, **overrides):
    read_only = measurements.engine(write_requests=0.0)
    measured = measurements.measurement(engine=read_only)
    beside = ceiling and storage_alone(ceiling).ceiling(measured.block_size)
    found = judge(replace(measured, **{"ceiling": beside, **overrides}))
    return next((each for each in found if each.name == "within_ceiling"), None)


RATE = measurements.READ_REQUESTS / measurements.SECONDS


def test_the_share_of_the_ceiling_is_told():
    found = verdict(record(step(1, measurements.SESSIONS, RATE / 0.94)))
    assert found.verdict is Holds.HOLDS
    assert found.figures["share_pct"] == pytest.approx(94)
    assert "94 % of the" in found.why


def test_more_than_storage_gives_fails_and_what_is_not_comparable_is_unknown():
    assert verdict(record(step(1, measurements.SESSIONS, RATE / 1.5))).verdict is Holds.FAILS
    assert verdict(record(step(1, 1, RATE))).verdict is Holds.UNKNOWN
    assert (
        verdict(record(step(1, measurements.SESSIONS, RATE)), engine=measurements.engine(write_requests=2e5)).verdict
        is Holds.UNKNOWN
    )
    assert verdict(None) is None


def place(host, device):
    return {"local": True, "host": host, "data": {"device": device and {"name": device}}}


def test_a_ceiling_of_other_storage_is_none():
    raw = record(step(1, measurements.SESSIONS, RATE), environment=place("db1", "nvme0n1"))
    alone = storage_alone(raw)
    assert other_storage(alone, place("db1", "nvme0n1")) == ""
    other = other_storage(alone, place("db1", "sda"))
    assert re.findall(r"nvme\w+|sd\w|db1", other) == ["nvme0n1", "db1", "sda", "db1"]
    assert re.findall(r"unknown|db2", other_storage(alone, place("db2", None))) == ["unknown", "db2"]
    # Of a server elsewhere nothing is known, and a raw file's device may not be either.
    assert other_storage(alone, {**place("laptop", None), "local": False}) == ""
    assert other_storage(storage_alone(record(environment=place("db1", None))), place("db1", "sda")) == ""
    assert "page cache" in other_storage(storage_alone(record(place={"direct": False})), place("db1", "sda"))
    found = verdict(raw, other_storage="it is another")
    assert found.verdict is Holds.UNKNOWN
    assert "it is another" in found.why
    assert "share_pct" not in found.figures


def test_the_page_says_when_storage_alone_is_other_storage():
    runs = [Run.of(each) for each in sweep(counts=(2, 8), update_pcts=(0,))]
    host = runs[0].record.environment["host"]
    here = {"local": True, "host": host}
    runs = [Run.of(run.record.model_copy(update={"environment": here})) for run in runs]
    ceilings = [StorageAlone("raw", host=each) for each in (host, "other")]
    told = [set_document("x", runs, (), ceilings=[each]).title.remarks for each in ceilings]
    assert told[0] == ()
    assert len(told[1]) == 1
    assert told[1][0].startswith("The raw measurement is not of the runs' storage")


def test_reads_of_several_blocks_are_not_held_against_single_ones():
    found = verdict(
        record(step(1, measurements.SESSIONS, RATE)), engine=measurements.engine(write_requests=0.0, read_bytes=1e12)
    )
    assert found.verdict is Holds.UNKNOWN
    assert "on average" in found.why


def test_the_petals_have_a_line_of_what_storage_gives_alone():
    points = points_of(sweep())
    block = points.points[0].parameters["block_size"]
    ceiling = storage_alone(record(step(1, 1, 5000.0, block), step(2, 4, 20_000.0, block))).ceiling(block)
    drawn = petals(points, "pio_read_per_s", ceilings=[ceiling])
    chart = json.dumps(page_specs(drawn))
    assert '"ceiling": "20260301-120000-raw"' in chart
    assert any("storage alone" in note for note in drawn.notes)
    without = petals(points, "pio_read_per_s")
    assert '"ceiling"' not in json.dumps(page_specs(without))


def test_ceilings_of_two_block_sizes_are_two_lines():
    points = points_of(sweep())
    both = record(step(1, 1, 5000.0, 8192), step(2, 1, 4000.0, 16384))
    chart = petals(points, "pio_read_per_s", ceilings=[storage_alone(both).ceiling(size) for size in (8192, 16384)])
    text = json.dumps(page_specs(chart))
    assert '"block": "8 KB"' in text
    assert '"block": "16 KB"' in text


class Server:
    """An engine that only knows its storage."""

    def __init__(self, directory, block_size):
        self.directory, self.block_size = directory, block_size

    def location(self):
        return SimpleNamespace(data_directory=self.directory, host="")

    def facts(self):
        return SimpleNamespace(block_size=self.block_size)


def test_a_ceiling_is_measured_once_for_each_file_system_and_block_size(tmp_path, monkeypatch):
    measured = []

    def measure(engine, *_):
        measured.append(engine)
        return record(id=str(len(measured)))

    monkeypatch.setattr(measured_ceiling, "measure_ceiling", measure)
    (tmp_path / "other").mkdir()
    servers = [
        Server(tmp_path, 8192),
        Server(tmp_path / "other", 8192),
        Server(tmp_path, 16384),
        Server(tmp_path, 8192),
    ]
    beside = measured_ceiling.Ceilings(8, None, tmp_path, lambda _: None)
    assert [beside(server).id for server in servers] == ["1", "1", "2", "1"]
    with pytest.raises(SlobError, match="not known to be on this host"):
        beside(Server(None, 8192))


def held_to(raw):
    held = Verdict(name="within_ceiling", verdict=Holds.HOLDS, why="It is so.", figures={"record": raw})
    return physical(Made()).model_copy(update={"verdicts": (held,)})


def test_a_report_draws_what_its_runs_were_held_against_and_tells_what_is_lost(tmp_path):
    with StorageFolder.begin(tmp_path, DOUBLING) as folder:
        folder.finish(Status.COMPLETE)
    drawn, lost = ceilings(None, [held_to(DOUBLING.id), held_to("gone"), held_to(DOUBLING.id)], tmp_path)
    assert [each.id for each in drawn] == [DOUBLING.id]
    assert lost == [f"The curve of the storage alone is not drawn: gone is not in {tmp_path}."]
    assert ceilings(None, [physical(Made())], tmp_path) == ([], [])


# --- the record


def test_a_raw_record_says_failed_until_its_end_and_keeps_its_steps(tmp_path):
    with StorageFolder.begin(tmp_path, record()) as folder:
        folder.add(step(1, 1, 10_000.0))
        begun = storage.load(folder.path)
        assert begun.status is Status.FAILED
        assert [each.number for each in begun.steps] == [1]
        assert overview(finding.every(tmp_path)[0])["status"] == "running"
        folder.finish(Status.COMPLETE, summary={"max_iops": Figure(value=10_000, unit="1/s")})
    ended = storage.load(folder.path)
    assert (ended.status, ended.errors, ended.value("max_iops")) == (Status.COMPLETE, (), 10_000)
    assert finding.one("latest", tmp_path).path == folder.path
    assert finding.one(str(folder.path), tmp_path).path == folder.path
    assert "10,000 IOPS" in render_list(Shown({}, {}), finding.every(tmp_path))


def test_a_second_measurement_of_the_same_second_has_a_folder_of_its_own(tmp_path):
    with StorageFolder.begin(tmp_path, record()) as first, StorageFolder.begin(tmp_path, record()) as second:
        assert second.record.id == f"{first.record.id}-2"


@pytest.mark.parametrize("text", ["{", "{}", '{"storage_version": 99}', '{"storage_version": 1}'])
def test_what_is_no_raw_record_is_told(tmp_path, text):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "storage.json").write_text(text)
    with pytest.raises(SlobError):
        storage.load(tmp_path / "a")
    assert storage.find(tmp_path)[0].problem


def test_the_report_has_every_step_with_its_reason_and_no_0_for_what_is_missing():
    text = render_text(
        storage_document(DOUBLING.model_copy(update={"summary": {"max_iops": Figure(value=None, unit="1/s", why="z")}}))
    )
    assert "no rate of random – reads is known, because z" in text
    assert text.count("a test") == 4
    assert " 0 " not in text.partition("STEPS")[2]


def test_a_record_that_did_not_end_well_says_so():
    text = render_text(storage_document(record(status=Status.INTERRUPTED, errors=("stopped before its end",))))
    assert "INTERRUPTED: stopped before its end" in text
