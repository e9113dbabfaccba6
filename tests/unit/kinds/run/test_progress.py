"""What is shown while sessions connect."""

from __future__ import annotations

from openslob.kinds.run import progress
from openslob.kinds.run.progress import Connecting, Progress


def test_sessions_that_are_connected_are_shown_once_a_second(monkeypatch):
    now, seen = [100.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = Connecting(seen.append, sessions=1000)
    for at_s, count in ((0.5, 90), (1.0, 200), (1.9, 390), (2.0, 400)):
        now[0] = 100 + at_s
        shown.ready(count)
    counts = [Progress("connect", done=count, total=1000, unit="sessions") for count in (200, 400)]
    assert seen == [Progress("connect"), *counts]


def test_sessions_that_load_their_own_tables_show_the_blocks(monkeypatch):
    now, seen = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = Connecting(seen.append, sessions=2, blocks=30)
    for blocks in (10, 20):
        shown.loaded(blocks)
        now[0] += 2
        shown.ready(1)
    assert [(each.phase, each.done, each.total) for each in seen[1:]] == [
        ("sessions load their own tables", 10, 30),
        ("sessions load their own tables", 30, 30),
    ]
