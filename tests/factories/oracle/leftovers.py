"""Sockets that the driver leaves to the garbage collector when a connection is reset while it is made, or broken."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from factories.running import eventually

# For tests whose connections end so; Python warns of each such socket when it is collected.
SOCKETS_LEFT_OVER = pytest.mark.filterwarnings("ignore:unclosed <s:ResourceWarning")


@contextmanager
def collected() -> Iterator[None]:
    """Collect them at the end, so that no later test is blamed for them."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        assert eventually(lambda: all(thread.name != "connect" for thread in threading.enumerate()))
        gc.collect()
