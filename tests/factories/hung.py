"""Servers that hang, as one does whose storage or virtual machine was stopped."""

from __future__ import annotations

import pytest

from openslob.engines import patience
from openslob.kinds.run import ending, runner, session_pool


def give_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a driver wait no longer than a test can, for answers, connections and ends."""
    monkeypatch.setattr(patience, "ANSWER_S", 1.0)
    monkeypatch.setattr(patience, "PROBE_EVERY_S", 0.3)
    monkeypatch.setattr(patience, "PROBE_S", 2)
    monkeypatch.setattr(session_pool, "CONNECT_PATIENCE_S", 1.0)
    monkeypatch.setattr(session_pool, "LATE_PATIENCE_S", 0.5)
    monkeypatch.setattr(ending, "CUT_AFTER_S", 0.5)
    monkeypatch.setattr(ending, "GRACE_S", 1.0)
    monkeypatch.setattr(runner, "CLOSING_S", 0.5)
