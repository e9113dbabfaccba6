"""A guard: what is started in its block ends with this process, even when that is killed, and never without need."""

import os
import signal
import subprocess
import sys

import psutil

from factories.running import eventually
from openslob.core.guard import guard_group

# Starts a shell with a child, and prints the numbers of all three.
PARENT = """
import subprocess, time
from openslob.core.guard import guard_group
words = ["/bin/sh", "-c", "sleep 600 & echo $!; wait"]
process = subprocess.Popen(words, process_group=0, stdout=subprocess.PIPE, text=True)
with guard_group(process.pid):
    print(process.pid, process.stdout.readline().strip(), flush=True)
    time.sleep(600)
"""


def is_gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_what_was_started_ends_with_its_children_when_this_process_is_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        shell, child = map(int, parent.stdout.readline().split())
        guards = [each.pid for each in psutil.Process(parent.pid).children() if each.pid != shell]
        assert len(guards) == 1
        parent.send_signal(signal.SIGKILL)
    assert eventually(lambda: all(map(is_gone, (shell, child, *guards))))


def test_what_outlives_the_block_goes_on():
    with subprocess.Popen(["/bin/sh", "-c", "read line"], stdin=subprocess.PIPE, process_group=0) as process:
        with guard_group(process.pid):
            pass
        assert not psutil.Process(os.getpid()).children()[1:]
        assert process.poll() is None
        process.communicate(b"\n")
    assert process.returncode == 0
