"""Runs with the server's own reports, on the stand-in: AWR by consent, its text, its verdict; Statspack's numbers."""

from __future__ import annotations

import json

import pytest

from factories.oracle.standin import StandInServer
from factories.oracle.standin_world import World
from factories.running import ignore, slob
from openslob.awr.parse import read
from openslob.core.errors import SlobError
from openslob.core.interrupt import Interrupt
from openslob.core.workload import StatisticsType, Workload
from openslob.engines.registry import engine_for
from openslob.kinds.run import loading, runner
from openslob.kinds.storage.own_word import OwnRequest, open_own_word
from openslob.kinds.storage.report import storage_screen
from openslob.kinds.storage.session import begin_record
from openslob.record.model import Holds, Status
from openslob.report.text import render

DATA = {"schemas": 1, "scale": "1000", "scan_table_sz": "8", "sessions": 4, "update_pct": 100, "work_unit": 4}


@pytest.fixture(scope="module")
def engine():
    world = World(
        packages=("DBMS_WORKLOAD_REPOSITORY", "STATSPACK", "DBMS_RESOURCE_MANAGER"),
        parameters={"control_management_pack_access": "DIAGNOSTIC+TUNING"},
    )
    standin = StandInServer(world)
    with standin.server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ORACLE_PASSWORD", "slob")
        engine = engine_for(standin.server.url)
        loading.load(engine, None, Workload(**DATA), ignore, lambda: False, ignore)
        yield engine


def run(engine, results, kind, *consented):
    workload = Workload(**DATA, run_time=1, warmup=0, database_statistics_type=kind)
    request = runner.RunRequest(workload, "test", results, consented=frozenset(consented))
    return runner.run(engine, request, Interrupt(), ignore, render)


def test_awr_is_in_the_record_and_has_what_we_counted(engine, tmp_path):
    finished = run(engine, tmp_path, "awr", "awr")
    text, facts = finished.record.engine["attachments"]
    report = read(finished.folder / text)
    assert report.header.end_snap == report.header.begin_snap + 1
    assert report.activity["user commits"].total.value >= finished.record.latency["update"]["count"]
    assert "The window lies within" in (finished.folder / facts).read_text()
    (verdict,) = (each for each in finished.record.verdicts if each.name == "awr_agrees")
    assert verdict.verdict in (Holds.HOLDS, Holds.UNKNOWN), verdict.why


def test_statspack_is_named_for_the_user_to_report_on(engine, tmp_path):
    finished = run(engine, tmp_path, "statspack")
    assert finished.record.engine["attachments"] == ["attachments/snapshots.txt"]
    assert "spreport.sql" in (finished.folder / "attachments/snapshots.txt").read_text()
    assert all(each.name != "awr_agrees" for each in finished.record.verdicts)


def test_an_observation_has_the_report_of_its_time(engine, tmp_path):
    asked = ("observe", "--target", engine.address.reveal(), "--for", "1s", "--results", str(tmp_path), "--json")
    done = slob(*asked, "--database-statistics-type", "awr", "--consent", "awr")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    text, facts = record["engine"]["attachments"]
    report = read(tmp_path / record["id"] / text)
    assert report.header.end_snap == report.header.begin_snap + 1
    assert "snapshot" in (tmp_path / record["id"] / facts).read_text()
    refused = slob(*asked, "--database-statistics-type", "awr")
    assert refused.returncode == 1
    assert "its use was not consented to" in refused.stderr


def said_by(asked, results, limit_us=None):
    """The record of a calibration to which the server's own word was added."""
    with begin_record(results, "calibrate", "n", {}, results) as folder:
        folder.finish(Status.COMPLETE)
        with open_own_word(asked, limit_us, Interrupt()) as own:
            return own.add_to(folder, ignore), folder.path


def test_the_server_s_own_calibration_is_its_word_and_lies_between_snapshots(engine, tmp_path):
    url = engine.address.reveal()
    with pytest.raises(SlobError, match="was not consented to"):
        said_by(OwnRequest(url), tmp_path)
    asked = OwnRequest(url, 4, StatisticsType.AWR, frozenset({"calibrate_io", "awr"}))
    record, folder = said_by(asked, tmp_path, limit_us=30_000.0)
    (row,) = record.tables["own_word"]
    assert (row["max_iops"], row["max_mb_per_s"], row["latency_ms"], row["disks"]) == (4000, 300, 0, 4)
    assert "not measured by slob" in next(iter(row))
    assert any("the server's own word" in line for line in storage_screen(record, None).answer)
    assert read(next((folder / "attachments").glob("awrrpt_*"))).header.end_snap
    # Less than the server takes: its default.
    assert said_by(asked, tmp_path, limit_us=500.0)[0].tables["own_word"][0]["allowed_ms"] == 20


def test_a_server_that_does_not_calibrate_leaves_what_slob_measured_and_says_why(monkeypatch, tmp_path):
    monkeypatch.setenv("ORACLE_PASSWORD", "slob")
    with StandInServer(World()).server as server:
        record, _ = said_by(OwnRequest(server.url, consented=frozenset({"calibrate_io"})), tmp_path)
    assert record.status is Status.COMPLETE
    assert record.tables == {}
    assert any("asynchronous i/o" in note for note in record.notes)


def test_without_consent_a_run_goes_on_and_says_so(engine, tmp_path):
    finished = run(engine, tmp_path, "awr")
    assert "attachments" not in finished.record.engine
    assert any("its use was not consented to" in note for note in finished.record.notes)
