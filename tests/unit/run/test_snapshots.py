"""Snapshots around the window: their files are attached; what goes wrong with them is noted, and the run goes on."""

from __future__ import annotations

import pytest

from openslob.engines.capabilities import Capability, require
from openslob.errors import SlobError
from openslob.run.window import snapshots_around

REPORTS = Capability("reports", True, "off", "there is no report", "turn it on", licence="Pack")


class Engine:
    """A server whose reports need a licence; takes snapshots that fail as told."""

    def __init__(self, failing=()):
        self.failing, self.log = failing, []

    def open_snapshots(self, consented):
        require([REPORTS], "reports", consented)
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


def bracketed(engine, consented=frozenset({"reports"})):
    files, notes = {}, []
    with snapshots_around(engine, consented, files.__setitem__, notes):
        engine.log.append("window")
    return files, notes


def test_the_window_is_bracketed_and_the_report_attached():
    engine = Engine()
    assert bracketed(engine) == ({"report.txt": "text", "report.bin": b"bytes"}, [])
    assert engine.log == ["begin", "window", "end", "close"]


@pytest.mark.parametrize(
    ("failing", "log", "note"),
    [
        ("begin", ["begin", "window", "close"], "the server took no snapshots: begin failed"),
        ("end", ["begin", "window", "end", "close"], "the server made no report: end failed"),
    ],
)
def test_a_snapshot_that_fails_is_noted(failing, log, note):
    engine = Engine((failing,))
    assert bracketed(engine) == ({}, [note])
    assert engine.log == log


def test_without_consent_nothing_licensed_is_touched():
    engine = Engine()
    files, (note,) = bracketed(engine, frozenset())
    assert (files, engine.log) == ({}, ["window"])
    assert "licence Pack" in note


def test_a_window_that_fails_takes_no_second_snapshot():
    engine = Engine()
    with pytest.raises(SlobError, match="lost"), snapshots_around(engine, frozenset({"reports"}), print, []):
        raise SlobError("a session was lost")
    assert engine.log == ["begin", "close"]
