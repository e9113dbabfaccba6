"""A program beside the server, until the one that started it ends: `burn NICENESS` uses a CPU, `read FILE` the disk."""

from __future__ import annotations

import mmap
import os
import random
import sys
from pathlib import Path

BLOCK = 256 * 1024
AUTOGROUP = Path("/proc/self/autogroup")


def burn(niceness: int) -> None:
    os.nice(niceness)
    # Where Linux groups tasks by session, a nice value counts within one only: the session's own is for all of it.
    if niceness and AUTOGROUP.exists():
        os.setsid()
        AUTOGROUP.write_text(str(niceness))
    parent = os.getppid()
    while os.getppid() == parent:
        for _ in range(100_000):
            pass


def read(path: str) -> None:
    """Read blocks of a file at random, past the page cache."""
    parent, rng = os.getppid(), random.Random()
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    blocks, block = os.fstat(file).st_size // BLOCK, mmap.mmap(-1, BLOCK)
    while os.getppid() == parent:
        os.preadv(file, [block], rng.randrange(blocks) * BLOCK)


if __name__ == "__main__":
    burn(int(sys.argv[2])) if sys.argv[1] == "burn" else read(sys.argv[2])
