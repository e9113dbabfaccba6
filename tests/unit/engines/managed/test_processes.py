"""Which signals end the processes of a managed server, shown on a shell that stands in for the server's program."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from openslob.engines.managed import processes
from openslob.engines.managed.processes import ServerProcesses
from openslob.engines.patience import wait

# It freezes only when it is told to stop, so it never is frozen at the moment when the signal is sent. Not by SIGINT,
# which a shell that waits for a program forgets on a busy host.
_FREEZES = "trap 'kill -STOP $$' TERM; echo $$ >pid; while :; do sleep 0.05; done"


@pytest.fixture
def freezing(tmp_path: Path) -> Iterator[ServerProcesses]:
    with subprocess.Popen(["bash", "-c", _FREEZES], cwd=tmp_path) as shell:
        try:
            assert wait(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", 60)
            yield ServerProcesses(tmp_path, frozenset({"bash"}), "pid", signal.SIGTERM, signal.SIGKILL)
        finally:
            shell.kill()


def test_a_process_that_freezes_while_it_is_waited_for(freezing: ServerProcesses, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(processes, "FROZEN_S", 0.1)
    # Without a look at the process while it waits, it would wait this long.
    monkeypatch.setattr(processes, "CLEAN_STOP_S", 3600.0)
    assert "was killed" in freezing.stop(at_once=False)
    assert freezing.main_pid() is None


def test_a_process_that_has_not_written_its_pid_file_yet_is_there_and_is_killed(
    freezing: ServerProcesses, tmp_path: Path
):
    (tmp_path / "pid").unlink()
    assert freezing.main_pid() is None
    assert freezing.is_there()
    standing: list[bool] = []
    freezing.kill(lambda: standing.append(freezing.is_there()))
    assert standing == [True]
    assert not freezing.is_there()
