"""A guard ends the programs that this process has started when this process is gone, even killed (SIGKILL).

It is a shell beside them that waits for the end of a pipe of which only this process has the other end. The kernel's
PR_SET_PDEATHSIG would end a program and none of its children, and would do so when the thread that started it ends.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from openslob.core.errors import of_the_system

# First asked to end, as by Ctrl-C of a shell, so that they remove what is theirs: 5 s for that.
_SCRIPT = """
read -r _
kill -s TERM -- "-$0"
for _ in 1 2 3 4 5 6 7 8 9 10; do kill -s 0 -- "-$0" || exit; sleep 0.5; done
kill -s KILL -- "-$0"
"""


@contextmanager
def guard_group(group: int) -> Iterator[None]:
    """End the process group when this process dies in this block. SlobError when no guard can be started."""
    try:
        guard = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # what ends this process's group must not end it
        )
    except OSError as error:
        raise of_the_system(error) from error
    try:
        yield
    finally:
        # Before its pipe is closed: the group may be gone, and its number somebody else's.
        guard.kill()
        guard.communicate()
