"""A program that is run: its output, its own CPU seconds, and that nothing of it stays when it is stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Event

import psutil
import pytest

from factories.running import eventually
from openslob.kinds.storage import process
from openslob.kinds.storage.process import MeasurementStoppedError, run

BURN = "import time\nwhile time.process_time() < {}: pass"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def alive(pid: int) -> bool:
    """Whether a process runs: one that ended may be there until init has waited for it."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_program_has_its_input_output_and_code():
    echo = "import sys; print(len(sys.stdin.read())); print('why', file=sys.stderr); sys.exit(3)"
    done = run(python(echo), Event(), text="x" * 300_000)
    assert (done.code, done.output, done.errors) == (3, "300000\n", "why\n")
    assert run(python("import os; os.kill(os.getpid(), 9)"), Event()).code == -9


def test_cpu_is_that_of_the_program_alone(tmp_path):
    pipe, others = tmp_path / "pipe", []
    os.mkfifo(pipe)

    def burn_beside() -> None:
        if not others:
            others.append(subprocess.run(python(BURN.format(0.5)), check=True))
            pipe.write_text("go on")

    done = run(
        python(f"import time; open({str(pipe)!r}).read(); print(time.process_time())"), Event(), sample=burn_beside
    )
    # By its own count, and what the interpreter takes to end.
    assert -0.02 < done.cpu_user_s + done.cpu_system_s - float(done.output) < 0.5
    done = run(python(BURN.format(0.3)), Event())
    assert done.cpu_user_s + done.cpu_system_s > 0.25


def test_a_stopped_program_is_gone():
    stop = Event()
    with pytest.raises(MeasurementStoppedError):
        run(python("import time; print(1, flush=True); time.sleep(600)"), stop, sample=stop.set)
    with pytest.raises(MeasurementStoppedError):
        run(python("pass"), stop)


@pytest.mark.parametrize("ends", [True, False], ids=["that ends", "that does not end"])
def test_jobs_in_sessions_of_their_own_are_gone(monkeypatch, tmp_path, ends):
    """A job that waits for a parent for ever holds its output open, as one of fio's does that is stopped as it starts.

    A parent that does not end either is killed, so that it can't end its jobs.
    """
    monkeypatch.setattr(process, "TERMINATION_TIMEOUT_S", 0.2)
    pid = tmp_path / "pid"
    deaf = "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    job = f"{deaf}; import os; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    fork = f"subprocess.Popen([sys.executable, '-c', {job!r}], start_new_session=True); time.sleep(600)"
    parent = python(f"import subprocess, sys, time; {fork}" if ends else f"{deaf}; {fork}")
    stop = Event()

    def stop_once_the_job_waits() -> None:
        if pid.exists() and pid.read_text():
            stop.set()

    with pytest.raises(MeasurementStoppedError):
        run(parent, stop, sample=stop_once_the_job_waits)
    assert eventually(lambda: not alive(int(pid.read_text())))
