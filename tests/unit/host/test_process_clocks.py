"""CPU by the clocks of processes: the same as their files say, but exact, and with what ended children have used."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from factories.running import eventually
from openslob.core.host import FigureUnknownError
from openslob.host.counters import TICKS_PER_S
from openslob.host.processes import ProcessClockSampler, ProcessTreeSampler, cpu_ns

# Starts a child that works for 0.2 s of CPU at each line that it reads, and lives on after its answer.
PARENT = """
import subprocess, sys
work = "import time\\nwhile time.process_time() < 0.2: pass\\nprint('done', flush=True); input()"
for line in sys.stdin:
    child = subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    print("worked", flush=True)
    sys.stdin.readline()
    child.communicate("end\\n")
    print("ended", flush=True)
"""


@pytest.fixture
def parent():
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    yield process
    process.communicate()


def go_on(parent):
    parent.stdin.write("\n")
    return parent.stdout.readline().strip()


def test_living_and_ended_children_count_once(parent):
    exact, by_files = ProcessClockSampler(parent.pid), ProcessTreeSampler(parent.pid)
    before = exact.read().ticks
    assert go_on(parent) == "worked"
    living = exact.read(full_scan=False)
    assert len(living.workers) == 1
    assert living.ticks - before >= 0.2 * TICKS_PER_S
    assert go_on(parent) == "ended"
    ended = exact.read(full_scan=False)
    assert ended.workers == []
    # The clock ticks of a file are rounded down, four values for each process.
    assert ended.ticks == pytest.approx(by_files.read().ticks, abs=8)
    assert ended.ticks >= living.ticks - 4
    exact.close()
    by_files.close()


def test_io_is_not_claimed_to_be_none(parent):
    sampler = ProcessClockSampler(parent.pid)
    sample = sampler.read().server()
    assert "server_read_bytes" not in sample.values
    assert "not read so often" in sample.unknown["server_read_bytes"]
    sampler.close()


def test_a_process_that_ended(parent):
    sampler = ProcessClockSampler(parent.pid)
    sampler.read()
    parent.communicate()
    with pytest.raises(FigureUnknownError, match="has ended"):
        sampler.read(full_scan=False)
    with pytest.raises(OSError):
        cpu_ns(parent.pid)
    sampler.close()


def test_the_clock_is_that_of_all_threads():
    begun = cpu_ns(os.getpid())
    assert eventually(lambda: cpu_ns(os.getpid()) > begun)
