"""Reports of the server's own: asked for in vain, around the window; what goes wrong is noted, and the run goes on."""

from __future__ import annotations

import pytest

from factories.awr_reports import FIXTURES
from openslob.core.errors import SlobError
from openslob.core.workload import StatisticsType
from openslob.engines.capabilities import Capability, require
from openslob.engines.patience import Patience
from openslob.kinds.run.server_reports import ServerReports

AWR = Capability("awr", True, "off", "there is no report", "turn it on", licence="Pack")
ABSENT = Capability("statspack", False, "Statspack is not installed", "there is no report", "run spcreate.sql;")


class Engine:
    """A server whose reports need a licence; takes snapshots that fail as told."""

    def __init__(self, failing=()):
        self.failing, self.log = failing, []

    def capabilities(self):
        return [AWR, ABSENT]

    def open_snapshots(self, kind, consented):
        if kind is StatisticsType.NONE:
            return None
        require(self.capabilities(), kind, consented)
        return self

    def begin(self):
        self._step("begin")

    def end(self):
        self._step("end")
        return {"report.txt": "text", "report.bin": b"bytes"}

    def close(self):
        self.log.append("close")

    def _step(self, step):
        self.log.append(step)
        if step in self.failing:
            raise SlobError(f"{step} failed")


def bracketed(engine, consented=frozenset({"awr"}), kind=StatisticsType.AWR, cut_short=False):
    files, notes, patience = {}, [], Patience()
    patience.allow(1.0 if cut_short else None)
    reports = ServerReports(engine, kind, consented)
    notes += [f"{finding.why}; {finding.remedy}" for finding in reports.findings()]
    with reports.around(files.__setitem__, notes, lambda shown: engine.log.append(shown.phase), patience):
        engine.log.append("window")
    return files, notes


def test_the_window_is_bracketed_and_the_report_attached():
    engine = Engine()
    assert bracketed(engine) == ({"report.txt": "text", "report.bin": b"bytes"}, [])
    assert engine.log == ["snapshot", "begin", "window", "snapshot and report", "end", "close"]


@pytest.mark.parametrize(
    ("failing", "log", "note"),
    [
        ("begin", ["snapshot", "begin", "window", "close"], "the server took no snapshots: begin failed"),
        (
            "end",
            ["snapshot", "begin", "window", "snapshot and report", "end", "close"],
            "the server made no report: end failed",
        ),
    ],
)
def test_a_snapshot_that_fails_is_noted(failing, log, note):
    engine = Engine((failing,))
    assert bracketed(engine) == ({}, [note])
    assert engine.log == log


def test_nobody_waits_for_a_snapshot_after_a_run_that_was_cut_short():
    engine = Engine()
    files, (note,) = bracketed(engine, cut_short=True)
    assert (files, engine.log) == ({}, ["snapshot", "begin", "window", "close"])
    assert "cut short" in note


def test_nothing_is_asked_of_a_server_whose_reports_nobody_wants():
    engine = Engine()
    engine.capabilities = None
    assert bracketed(engine, kind=StatisticsType.NONE) == ({}, [])
    assert engine.log == ["window"]


@pytest.mark.parametrize(
    ("kind", "consented", "said"),
    [
        ("awr", (), "awr may be used only with the licence of the Pack, and its use was not consented to"),
        ("statspack", (), "Statspack is not installed: there is no report; run spcreate.sql; DATABASE"),
    ],
)
def test_without_them_a_run_goes_on_and_nothing_licensed_is_touched(kind, consented, said):
    engine = Engine()
    files, (note,) = bracketed(engine, frozenset(consented), StatisticsType(kind))
    assert (files, engine.log) == ({}, ["window"])
    assert said in note
    assert note.startswith(f"DATABASE_STATISTICS_TYPE={kind} is not possible: ")
    assert note.endswith("; DATABASE_STATISTICS_TYPE=none runs without")


def test_a_server_that_makes_no_such_report_is_told_apart():
    engine = Engine()
    engine.capabilities = lambda: [AWR]
    _, (note,) = bracketed(engine, kind=StatisticsType.STATSPACK)
    assert "makes no such report; " in note


@pytest.mark.parametrize(
    ("source", "blocks"),
    [
        ("flag", True),
        ("environment", True),
        ("./slob.toml:3", True),
        ("lab/slob.conf:12", False),
        ("", False),
    ],
)
def test_what_the_user_asks_for_here_prevents_the_run_if_it_cannot_be_had(source, blocks):
    (finding,) = ServerReports(Engine(), StatisticsType.STATSPACK, frozenset(), source).findings()
    assert finding.blocking is blocks


def test_a_window_that_fails_takes_no_second_snapshot():
    engine = Engine()
    reports = ServerReports(engine, StatisticsType.AWR, frozenset({"awr"}))
    with pytest.raises(SlobError, match="lost"), reports.around(print, [], lambda _: None, Patience()):
        raise SlobError("a session was lost")
    assert engine.log == ["begin", "close"]


def reading(files, instances=0):
    engine, notes = Engine(), []
    engine.end = lambda: files
    reports = ServerReports(engine, StatisticsType.AWR, frozenset({"awr"}))
    with reports.around(lambda *_: None, notes, lambda _: None, Patience()):
        pass
    return reports.read(instances, notes), notes


def test_the_report_is_read_for_a_comparison_with_our_counters():
    files = {
        "snapshots.txt": "snapshot 41: then",
        "awrrpt_1_41_42.txt": (FIXTURES / "awr_19c.txt").read_text(),
        "awrrpt_rac_41_42.txt": (FIXTURES / "awrg_11.2.txt").read_text(),
    }
    found, notes = reading(files)
    assert (found.name, found.seconds, notes) == ("awrrpt_1_41_42.txt", 600, [])
    assert found.totals["logical_reads"] == 6_600_000
    assert found.totals["commits"] == 600
    of_all, _ = reading(files, instances=2)
    assert of_all.name == "awrrpt_rac_41_42.txt"


def test_a_report_that_cannot_be_read_is_noted():
    found, (note,) = reading({"awrrpt_1_41_42.txt": "WORKLOAD REPOSITORY report for\n"})
    assert found is None
    assert "report can't be read: awrrpt_1_41_42.txt: " in note


def test_a_run_without_reports_reads_none():
    assert reading({"report.bin": b""}) == (None, [])
