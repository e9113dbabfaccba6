"""What is shown while sessions connect; events of a run: each is in the file at once, once, with its time."""

from __future__ import annotations

from pathlib import Path

from openslob.kinds.run import progress
from openslob.kinds.run.progress import Connecting, ProgressLog, RunProgress
from openslob.record.raw_csv import RawCsv, raw_table


def test_sessions_that_are_connected_are_shown_once_a_second(monkeypatch):
    now, seen = [100.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = Connecting(seen.append, sessions=1000)
    for at_s, count in ((0.5, 90), (1.0, 200), (1.9, 390), (2.0, 400)):
        now[0] = 100 + at_s
        shown.ready(count)
    counts = [RunProgress("connect", done=count, total=1000, unit="sessions") for count in (200, 400)]
    assert seen == [RunProgress("connect"), *counts]


def test_sessions_that_load_their_own_tables_show_the_blocks(monkeypatch):
    now, seen = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = Connecting(seen.append, sessions=2, blocks=30)
    for blocks in (10, 20):
        shown.show_loaded(blocks)
        now[0] += 2
        shown.ready(1)
    assert [(each.phase, each.done, each.total) for each in seen[1:]] == [
        (progress.OWN_TABLES, 10, 30),
        (progress.OWN_TABLES, 30, 30),
    ]


def _events(folder: Path) -> list[tuple[str, str]]:
    return [(str(kind), str(text)) for _, kind, text in raw_table(folder, "events.csv")[1]]


def test_phases_before_the_record_keep_their_time_and_every_event_is_on_disk_at_once(tmp_path: Path) -> None:
    shown: list[str] = []
    notes = ["settings differ"]
    log = ProgressLog(lambda progress: shown.append(progress.phase), notes)
    log(RunProgress("check"))
    with RawCsv(tmp_path) as raw:
        log.begin(raw)
        assert _events(tmp_path) == [("phase", "check"), ("note", "settings differ")]
        errors: list[str] = []
        log.include(errors)
        log(RunProgress("connect"))
        log(RunProgress("connect", 1.0))
        log.window(5_000, 60.0, 1_000)
        notes.append("one more,\nwith a comma")
        errors.insert(0, "a session was lost: postgres://me:secret@host/db")
        log(RunProgress("window", 1.0))
        log(RunProgress("read-out"))
        log(RunProgress("window", 2.0))
    rows = raw_table(tmp_path, "events.csv")[1]
    assert _events(tmp_path)[2:] == [
        ("phase", "connect"),
        ("clock_offset_ns", "1000"),
        ("planned_s", "60"),
        ("begin_ns", "5000"),
        ("phase", "window"),
        ("note", "one more, with a comma"),
        ("error", "a session was lost: postgres://me:***@host/db"),
        ("phase", "read-out"),
    ]
    assert next(at for at, _, text in rows if text == "window") == 4_000
    assert shown == ["check", "connect", "connect", "window", "read-out", "window"]
