"""Events of a run: each is in the file at once, once, with the time at which it happened."""

from __future__ import annotations

from pathlib import Path

from openslob.kinds.run.course import Course
from openslob.kinds.run.progress import Progress
from openslob.record.raw_csv import RawCsv, raw_table


def _events(folder: Path) -> list[tuple[str, str]]:
    return [(str(kind), str(text)) for _, kind, text in raw_table(folder, "events.csv")[1]]


def test_phases_before_the_record_keep_their_time_and_every_event_is_on_disk_at_once(tmp_path: Path) -> None:
    shown: list[str] = []
    notes = ["settings differ"]
    course = Course(lambda progress: shown.append(progress.phase), notes)
    course(Progress("check"))
    with RawCsv(tmp_path) as raw:
        course.begin(raw)
        assert _events(tmp_path) == [("phase", "check"), ("note", "settings differ")]
        errors: list[str] = []
        course.include(errors)
        course(Progress("connect"))
        course(Progress("connect", 1.0))
        course.window(5_000, 60.0, 1_000)
        notes.append("one more,\nwith a comma")
        errors.insert(0, "a session was lost: postgres://me:secret@host/db")
        course(Progress("window", 1.0))
        course(Progress("read-out"))
        course(Progress("window", 2.0))
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
