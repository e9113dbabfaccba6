"""What a measurement is made with: the host of a record that is gone on with, and one whose reader was lost."""

from __future__ import annotations

import pytest

from factories.contexts import Unseen, context_in
from factories.records import Made, physical
from openslob.core.host import FigureUnknownError
from openslob.core.workload import Workload
from openslob.host import remote
from openslob.kinds.run import runner
from openslob.kinds.run.runner import FinishedRun, RunRequest
from openslob.record.model import READER


class Host:
    """Another host; ``error`` is why nobody answers."""

    def __init__(self, error=""):
        self.error, self.reopened = error, 0

    def reopen(self):
        self.reopened += 1
        if self.error:
            raise FigureUnknownError(self.error)


def write_run(folder, number, reader):
    record = physical(Made())
    facts = {**record.environment, **({READER: {"address": reader}} if reader else {})}
    own = folder / f"20260101-00000{number}-run"
    own.mkdir()
    (own / "run.json").write_text(record.model_copy(update={"id": own.name, "environment": facts}).model_dump_json())


def test_who_goes_on_with_a_record_reads_the_host_of_its_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "find_host", lambda address: f"host at {address}")
    assert context_in().at("embedded", tmp_path).host is None
    for number, reader in enumerate(("ssh://old", "ssh://db1", "")):
        write_run(tmp_path, number, reader)
    shown = Unseen()
    assert context_in(display=shown).at("embedded", tmp_path).host == "host at ssh://db1"
    assert "ssh://db1" in shown.told[-1]
    assert context_in(host="the given one").at("embedded", tmp_path).host == "the given one"


@pytest.mark.parametrize("error", ["", "ssh://db1 can't be read any more"])
def test_a_host_that_was_lost_is_reached_again_before_each_run_or_done_without(tmp_path, monkeypatch, error):
    record = physical(Made())
    monkeypatch.setattr(runner, "run", lambda *_: FinishedRun(record, tmp_path))
    host, shown = Host(error), Unseen()
    context = context_in(host=host, display=shown)
    for _ in range(2):
        assert context.run(None, RunRequest(Workload(), "x", tmp_path)).record == record
    assert host.reopened == 2
    said = [f"{error}: the figures of that host are unknown"] if error else []
    assert [each for each in shown.told if "that host" in each] == 2 * said
