"""Small disks for tests: file systems in memory that can become smaller while something uses them."""

import os
import subprocess
from contextlib import contextmanager

import pytest

_SLACK = 1 << 20


@contextmanager
def small_disk(directory, size):
    """A file system of this size at ``directory``; the test is skipped where none can be mounted."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", directory], capture_output=True, check=False
    )
    if done.returncode:
        why = done.stderr.decode().partition("\n")[0].rpartition(": ")[2]
        pytest.skip(f"no small file system can be made here: {why}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", directory], check=True)


def resize(directory, size):
    """Make it larger or smaller, in bytes; returns whether that was possible: what is on it must fit."""
    command = ["mount", "-o", f"remount,size={size}", directory]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def fill_up(directory):
    """Make it so small that hardly anything more fits, whatever others write meanwhile."""
    for _ in range(100):
        found = os.statvfs(directory)
        if resize(directory, (found.f_blocks - found.f_bfree) * found.f_frsize + _SLACK):
            return
    raise AssertionError(f"{directory} grows faster than it can be made smaller")
