"""The store: no partial records, no secrets, no lost measurements, and every record is found again."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from factories.paths import ROOT
from factories.records import failed, histogram, physical
from openslob.core.counts import COUNTERS, SliceCounts
from openslob.core.errors import SlobError
from openslob.core.measurement import EngineDelta
from openslob.core.method import OpKind
from openslob.record import store, versions
from openslob.record.model import RECORD_VERSION, RunRecord, Status
from openslob.record.raw_csv import COLUMNS, RawCsv, raw_table
from openslob.record.store import RunFolder

PASSWORD = "tr0ub4dor/&3"
FULL = os.strerror(errno.ENOSPC)


def _saved(results: Path, record: RunRecord) -> Path:
    with RunFolder.begin(results, record) as folder:
        folder.finish(record)
    return folder.path


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_a_record_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    for record in (physical(), failed()):
        path = _saved(tmp_path, record)
        assert path == tmp_path / record.id
        assert store.load(path) == store.load(path / "run.json") == record


def test_attachments_lie_in_the_folder_without_secrets(tmp_path: Path) -> None:
    with RunFolder.begin(tmp_path, physical()) as folder:
        assert not (folder.path / "attachments").exists()
        text = folder.attach("awr_1_2.txt", "host=h password=hunter2\n")
        blob = folder.attach("../report.bin", b"\x00\xff")
        folder.finish(physical())
    assert (text, blob) == ("attachments/awr_1_2.txt", "attachments/report.bin")
    assert "hunter2" not in (folder.path / text).read_text()
    assert (folder.path / blob).read_bytes() == b"\x00\xff"
    assert store.load(folder.path) == physical()


def test_a_folder_says_failed_until_it_is_finished(tmp_path: Path) -> None:
    with RunFolder.begin(tmp_path, physical()) as folder:
        begun = store.load(folder.path)
        assert begun.status is Status.FAILED
        assert begun.errors == (store.UNFINISHED,)
        folder.finish(physical())
    assert store.load(folder.path).status is Status.COMPLETE
    assert not (folder.path / store.MARKER_FILE).exists()


def test_leaving_without_finish_keeps_the_failure(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="mid-run"), RunFolder.begin(tmp_path, physical()):
        raise RuntimeError("mid-run")
    (found,) = store.find(tmp_path)
    assert found.record is not None
    assert (found.record.status, found.pid) == (Status.FAILED, None)


def test_a_killed_driver_leaves_a_record_that_says_so_and_what_it_measured(tmp_path: Path) -> None:
    script = f"""
        import sys, time
        sys.path.insert(0, {str(ROOT / "tests")!r})
        from pathlib import Path
        from factories.records import physical
        from openslob.record.store import RunFolder
        folder = RunFolder.begin(Path({str(tmp_path)!r}), physical())
        folder.raw.sample(1, "e", {{"reads": 7.0}})
        folder.raw.flush()
        print("measuring", flush=True)
        time.sleep(600)
    """
    driver = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    with driver, driver.stdout:
        assert driver.stdout.readline() == "measuring\n"
        (running,) = store.find(tmp_path)
        assert running.pid == driver.pid
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
    (found,) = store.find(tmp_path)
    assert found.record is not None
    assert (found.record.status, found.record.errors, found.pid) == (Status.FAILED, (store.UNFINISHED,), None)
    assert _rows(found.path / "samples.csv") == [{"server_ns": "1", "epoch": "e", "counter": "reads", "value": "7"}]


def test_a_taken_name_gets_a_number_and_the_record_that_id(tmp_path: Path) -> None:
    paths = [_saved(tmp_path, physical()) for _ in range(3)]
    assert [path.name for path in paths] == [physical().id + suffix for suffix in ("", "-2", "-3")]
    assert [store.load(path).id for path in paths] == [path.name for path in paths]


def test_id_is_the_time_and_a_name_fit_for_a_folder() -> None:
    assert store.record_id("8 sessions/../x", "2026-03-01T12:00:05Z") == "20260301-120005-8-sessions-..-x"
    assert store.record_id("//", "2026-03-01T12:00:05Z") == "20260301-120005-run"


def test_no_file_of_the_folder_holds_a_password(tmp_path: Path) -> None:
    urls = (f"postgresql://slob:{PASSWORD}@db9/bench", f"oracle://slob:{PASSWORD}@[::1]:1521/x?y=1")
    dsn = f"host=db9 password='{PASSWORD}' user=slob"
    record = physical().model_copy(
        update={
            "spec": {**physical().spec, "target": ",".join(urls)},
            "environment": {"targets": [*urls, dsn], "PGPASSWORD": PASSWORD, urls[0]: "key"},
            "errors": (f"connection to {urls[0]} failed",),
            "notes": (f"tried {dsn} (and {urls[1]})",),
        }
    )
    with RunFolder.begin(tmp_path, record) as folder:
        texts = [file.read_text(encoding="utf-8") for file in folder.path.iterdir()]
        folder.finish(record, f"target {urls[0]}, {dsn}")
    texts += [file.read_text(encoding="utf-8") for file in folder.path.iterdir()]
    assert not [text for text in texts if PASSWORD in text]
    assert "postgresql://slob:***@" in "".join(texts)
    assert "user=slob" in (folder.path / "report.txt").read_text(encoding="utf-8")


def test_what_is_no_secret_is_left_alone(tmp_path: Path) -> None:
    settings = {"password_encryption": "scram-sha-256", "url": "postgresql://slob@db9/bench", "mail": "a:b@c"}
    record = physical().model_copy(update={"environment": settings})
    assert store.load(_saved(tmp_path, record)).environment == settings


def _full(_descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_full_disk_at_the_end_keeps_the_first_record_and_the_raw_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunFolder.begin(tmp_path, physical()) as folder:
        folder.raw.sample(1, "e", {"reads": 7.5})
        monkeypatch.setattr("os.fsync", _full)
        with pytest.raises(SlobError, match=rf"^\S+run\.json can't be written: {FULL}; what was measured"):
            folder.finish(physical())
    assert store.load(folder.path).errors == (store.UNFINISHED,)
    assert _rows(folder.path / "samples.csv")[0]["value"] == "7.5"
    assert sorted(file.name for file in folder.path.iterdir()) == sorted([*COLUMNS, "run.json"])


def test_a_write_that_fails_mid_run_is_told_once_and_keeps_what_was_measured(tmp_path: Path) -> None:
    script = f"""
        import resource, sys
        sys.path.insert(0, {str(ROOT / "tests")!r})
        from pathlib import Path
        from factories.records import failed
        from openslob.record.store import RunFolder
        folder = RunFolder.begin(Path({str(tmp_path)!r}), failed())
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
        for number in range(20_000):
            folder.raw.sample(number, "e", {{"reads": 1}})
        print(folder.raw.error)
        folder.finish(failed())
        # A measurement of coverage writes its own file at the end.
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(rf"samples\.csv can't be written: {os.strerror(errno.EFBIG)}; free space", done.stdout)
    assert store.load(tmp_path / failed().id) == failed()
    assert len(_rows(tmp_path / failed().id / "samples.csv")) > 3_000


def test_a_folder_that_became_read_only_or_is_gone_is_released(tmp_path: Path) -> None:
    with RunFolder.begin(tmp_path, physical()) as folder:
        (folder.path / store.MARKER_FILE).unlink()
        (folder.path / store.MARKER_FILE).mkdir()
    assert store.running_pid(folder.path) is None


def test_a_full_disk_when_the_raw_files_are_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "slices.csv").symlink_to("/dev/full")
    with pytest.raises(SlobError, match=rf"slices\.csv can't be written: {FULL}"):
        RawCsv(tmp_path)


def test_a_results_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SlobError, match=os.strerror(errno.ENOTDIR)):
        RunFolder.begin(tmp_path / "file", physical())


def test_nothing_is_left_when_a_run_cannot_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, FULL)

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(SlobError, match=FULL):
        RunFolder.begin(tmp_path, physical())
    assert list(tmp_path.iterdir()) == []


def test_raw_files_in_long_format(tmp_path: Path) -> None:
    selects = histogram(10, 40, 0)
    with RawCsv(tmp_path) as raw:
        raw.slice(
            3, 0, start_ns=1, end_ns=9, first_op_ns=None, latency={OpKind.SELECT: selects},
            counts=SliceCounts(ops=10, selects=10, rows_read=640),
        )  # fmt: skip
        raw.os(5, {"cpu.user_s": 1.25, "device.reads": None})
        raw.engine(2, 5, EngineDelta(read_requests=12.0, log_bytes=0.5).amounts())
        raw.engine_latency(2, 5, {"IO:Read": {(256, 512): 7, (128, 256): 3}})
        raw.waits(6, {"IO:Read": 2, "CPU": 1})
        raw.waits(7, {})
        raw.latency(0, OpKind.SELECT, selects)
    (row,) = _rows(tmp_path / "slices.csv")
    assert {name: row[name] for name in ("first_op_ns", "ops", "selects", "updates", "busy_us", "max_us")} == {
        "first_op_ns": "", "ops": "10", "selects": "10", "updates": "0", "busy_us": "400", "max_us": "40",
    }  # fmt: skip
    assert [row["value"] for row in _rows(tmp_path / "os.csv")] == ["1.25", ""]
    assert [tuple(row.values()) for row in _rows(tmp_path / "engine.csv")] == [
        ("2", "5", "read_requests", "12"), ("2", "5", "log_bytes", "0.5"),
    ]  # fmt: skip
    durations = raw_table(tmp_path, "engine_latency.csv")[1]
    assert durations == [[2, 5, "IO:Read", 128, 256, 3], [2, 5, "IO:Read", 256, 512, 7]]
    assert [(row["event"], row["sessions"]) for row in _rows(tmp_path / "waits.csv")] == [
        ("IO:Read", "2"), ("CPU", "1"), ("", "0"),
    ]  # fmt: skip
    assert _rows(tmp_path / "latency.csv") == [{"second": "0", "kind": "select", "lower_edge_us": "40", "count": "10"}]


def test_slices_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    counts = SliceCounts(ops=12, selects=7, updates=2, scans=3, rows_read=640, rows_updated=5, rows_scanned=30)
    with RawCsv(tmp_path) as raw:
        raw.slice(4, 1, start_ns=100, end_ns=900, first_op_ns=101, counts=counts, latency={}, due_ns=950)
    columns, (row,) = raw_table(tmp_path, "slices.csv")
    found = dict(zip(columns, row, strict=True))
    assert [found[name] for name in ("session", "start_ns", "end_ns")] == [4, 100, 900]
    assert [found[name] for name in COUNTERS] == list(counts.values())


def test_columns_of_slices_csv_stay_as_they_are(tmp_path: Path) -> None:
    """Later counters may follow: readers of older and newer records know the columns by their position."""
    RawCsv(tmp_path).close()
    header = (tmp_path / "slices.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header.startswith(
        "session,slice,start_ns,end_ns,first_op_ns,ops,selects,updates,scans,rows_read,rows_updated,rows_scanned,"
        "busy_us,max_us,due_ns,conflicts"
    )


def test_rows_reach_the_disk_within_a_second_while_more_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr("openslob.record.raw_csv.time.monotonic_ns", lambda: now[0])
    with RawCsv(tmp_path) as raw:
        raw.waits(1, {"CPU": 1})
        assert _rows(tmp_path / "waits.csv") == []
        now[0] = 1_000_000_000
        raw.os(2, {"x": 1})
        assert len(_rows(tmp_path / "waits.csv")) == 1


def test_a_newer_record_and_a_damaged_one_say_so(tmp_path: Path) -> None:
    file = _saved(tmp_path, physical()) / "run.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    cases = {
        json.dumps({**document, "record_version": RECORD_VERSION + 1}): "this openslob reads up to",
        json.dumps({**document, "record_version": 0}): "never published",
        json.dumps({**document, "status": "fine"}): "damaged at 'status'",
        json.dumps([1]): "not a record",
        '{"half': "damaged",
    }
    for text, message in cases.items():
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SlobError, match=message):
            store.load(file)
        (found,) = store.find(tmp_path)
        assert found.record is None
        assert message in found.problem


def test_an_old_document_is_lifted_step_by_step() -> None:
    document = physical().model_dump(mode="json")
    old = {("title" if key == "name" else key): value for key, value in document.items()} | {"record_version": -1}
    steps = {
        -1: lambda doc: doc | {"headline": doc["title"]},
        0: lambda doc: (
            {key: value for key, value in doc.items() if key not in ("title", "headline")} | {"name": doc["headline"]}
        ),
    }
    lifted = replace(versions.RUN, steps={**versions.RUN.steps, **steps})
    assert lifted.parse(old, "old") == physical()


def test_find_goes_by_time_not_by_name_and_into_sweeps(tmp_path: Path) -> None:
    late = physical().model_copy(update={"started_at": "2026-03-02T00:00:00Z"})
    renamed = _saved(tmp_path, late).rename(tmp_path / "a-baseline")
    in_sweep = _saved(tmp_path / "sweep", physical())
    assert [found.path for found in store.find(tmp_path)] == [in_sweep, renamed]
    assert store.find(tmp_path / "nowhere") == []
