"""A program that is run: its output, its own CPU seconds, and that nothing of it stays when it is stopped."""

from __future__ import annotations

import subprocess
import sys
from threading import Event

import pytest

from openslob.storage.process import MeasurementStoppedError, run

BURN = "import time\nwhile time.process_time() < {}: pass"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_program_has_its_input_output_and_code():
    echo = "import sys; print(len(sys.stdin.read())); print('why', file=sys.stderr); sys.exit(3)"
    done = run(python(echo), Event(), text="x" * 300_000)
    assert (done.code, done.output, done.errors) == (3, "300000\n", "why\n")
    assert run(python("import os; os.kill(os.getpid(), 9)"), Event()).code == -9


def test_cpu_is_that_of_the_program_alone():
    others = []

    def burn_beside() -> None:
        if not others:
            others.append(subprocess.run(python(BURN.format(0.5)), check=True))

    done = run(python("import time; time.sleep(0.3)"), Event(), sample=burn_beside)
    assert others
    assert done.cpu_user_s + done.cpu_system_s < 0.3
    done = run(python(BURN.format(0.3)), Event())
    assert done.cpu_user_s + done.cpu_system_s > 0.25


def test_a_stopped_program_is_gone():
    stop = Event()
    with pytest.raises(MeasurementStoppedError):
        run(python("import time; print(1, flush=True); time.sleep(60)"), stop, sample=stop.set)
    with pytest.raises(MeasurementStoppedError):
        run(python("pass"), stop)
