"""What the operating system lets this process have: open files and threads."""

from __future__ import annotations

import resource
from threading import Thread, active_count

from openslob.errors import SlobError


def allow_files(wanted: int) -> int:
    """Return how many files this process may open, after raising its soft limit to ``wanted`` as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def start(thread: Thread) -> None:
    """Start a thread.

    Raises:
        SlobError: The operating system lets this process have no more threads.

    """
    try:
        thread.start()
    except RuntimeError as error:
        raise SlobError(
            f"this process can't have more than {active_count()} threads, and each session needs one",
            "raise the limit of tasks (ulimit -u, TasksMax= of a service, pids.max of a container) or of memory, "
            "or use fewer sessions",
        ) from error
