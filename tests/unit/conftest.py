"""What unit tests share."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nothing that is written here is to outlive a loss of power: a sync waits for all that the host writes."""
    with patch("os.fsync", lambda _: None):
        yield
