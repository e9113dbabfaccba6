"""One function finds records for all commands: by path, id, name, the beginning of either, and latest."""

import re
from pathlib import Path

import pytest

import openslob
from factories.records import physical
from openslob.core.errors import SlobError, UsageError
from openslob.kinds.run import KIND as RUN
from openslob.kinds.storage import KIND as STORAGE
from openslob.kinds.storage.record import CEILING, StorageFolder, StorageRecord
from openslob.kinds.sweep import KIND as SWEEP
from openslob.kinds.sweep.record import PointState, SweepFolder, SweepPoint, SweepRecord
from openslob.record import finding
from openslob.record.kinds import of_runs
from openslob.record.model import Status
from openslob.record.store import RunFolder


def run(place, name, minute, **changes):
    """A run, ended; its folder."""
    began = {"id": f"20260301-12{minute:02}00-{name}", "name": name, "started_at": f"2026-03-01T12:{minute:02}:00Z"}
    with RunFolder.begin(place, physical().model_copy(update={**began, **changes})) as folder:
        folder.finish(physical().model_copy(update={**began, **changes}))
    return folder.path


def sweep(place, name, minute):
    """A sweep with one point; its folder and that of the point's run."""
    began = f"2026-03-01T12:{minute:02}:00Z"
    record = SweepRecord(
        id=f"20260301-12{minute:02}00-{name}", name=name, status=Status.COMPLETE, started_at=began,
        openslob_version="1", target="t", workload={}, grid={"sessions": (1,)}, seed=1,
    )  # fmt: skip
    with SweepFolder.begin(place, record) as folder:
        point = run(folder.path, "sessions-1-r1", minute + 1)
        done = SweepPoint(number=1, values={"sessions": 1}, state=PointState.DONE, run=point.name)
        folder.save(folder.record.model_copy(update={"points": (done,)}))
    return folder.path, point


def raw(place, name, minute, tool="calibrate"):
    """A raw measurement; its folder."""
    record = StorageRecord(
        tool=tool, id=f"20260301-12{minute:02}00-{name}", name=name, status=Status.COMPLETE,
        started_at=f"2026-03-01T12:{minute:02}:00Z", openslob_version="1", asked={}, environment={},
    )  # fmt: skip
    with StorageFolder.begin(place, record) as folder:
        folder.finish(Status.COMPLETE)
    return folder.path


class Messages(list):
    __call__ = list.append


def test_every_way_to_name_a_record(tmp_path):
    first, second = run(tmp_path, "before", 0), run(tmp_path, "after", 1)
    renamed = first.rename(tmp_path / "baseline")
    for wanted, path in {
        str(renamed): renamed,
        str(renamed / "run.json"): renamed / "run.json",
        "baseline": renamed,
        "20260301-120000-before": renamed,
        "before": renamed,
        "bef": renamed,
        "base": renamed,
        "20260301-1201": second,
        "after": second,
        "latest": second,
        "last": second,
    }.items():
        found = finding.one(wanted, tmp_path)
        assert (found.kind, found.path, found.folder) == (RUN, path, path if path.is_dir() else path.parent)
        assert [each.folder for each in finding.several(wanted, tmp_path)] == [found.folder]


def test_latest_is_the_newest_whole_thing(tmp_path):
    run(tmp_path, "before", 0)
    swept, point = sweep(tmp_path, "petals", 1)
    assert finding.one("latest", tmp_path) == finding.Found(SWEEP, swept)
    assert [found.path for found in finding.several("latest", tmp_path)] == [swept]
    # Its point is newer, and is found by its own id.
    assert finding.one(point.name, tmp_path).path == point
    assert finding.one(f"{swept.name}/{point.name}", tmp_path).path == point
    assert finding.one("petals", tmp_path).path == finding.one("20260301-1201", tmp_path).path == swept


def test_latest_of_what_a_command_takes(tmp_path):
    swept, _ = sweep(tmp_path, "petals", 1)
    measured = raw(tmp_path, "disk", 5)
    messages = Messages()
    assert finding.one("latest", tmp_path, messages).path == measured
    assert messages == []
    assert [found.path for found in finding.several("latest", tmp_path, messages)] == [swept]
    (message,) = messages
    assert measured.name in message
    assert STORAGE.labels.name in message
    run(tmp_path, "after", 9)
    assert finding.one("latest", tmp_path, pytest.fail, {STORAGE}).path == measured


def test_latest_of_runs_passes_over_a_record_whose_runs_all_failed_before_they_began(tmp_path):
    swept, _ = sweep(tmp_path, "petals", 1)
    (tmp_path / "20260301-120500-ab").mkdir()
    file = next((Path(__file__).parents[2] / "fixtures" / "records").glob("ab-v1/*/ab.json"))
    began = re.sub(r'"started_at": "[^"]+"', '"started_at": "2026-03-01T12:05:00Z"', file.read_text(), count=1)
    (tmp_path / "20260301-120500-ab" / "ab.json").write_text(began)
    assert finding.one("latest", tmp_path).path.name == "20260301-120500-ab"
    messages = Messages()
    assert [found.path for found in finding.several("latest", tmp_path, messages)] == [swept]
    (message,) = messages
    assert message.endswith("is newer, but has no runs")
    assert [run.folder.parent for run in openslob.read("latest", results=tmp_path)] == [swept]


def test_several_sweeps_of_one_name_are_said_to_be_taken_together(tmp_path):
    swept = [sweep(tmp_path, "demo", minute)[0] for minute in (1, 5)]
    messages = Messages()
    assert [found.path for found in finding.several("demo", tmp_path, messages)] == swept
    (message,) = messages
    assert message.startswith(f"2 records are named demo, and are taken together: {swept[0].name}, {swept[1].name};")
    assert finding.several(swept[0].name, tmp_path, pytest.fail)[0].path == swept[0]
    run(tmp_path, "before", 7)
    run(tmp_path, "before", 8)
    assert len(finding.several("before", tmp_path, pytest.fail)) == 2


def test_the_ceiling_that_a_sweep_measured_for_itself_is_no_latest(tmp_path):
    only = raw(tmp_path, "ceiling", 0, CEILING)
    assert finding.one("latest", tmp_path).path == only
    asked_for = raw(tmp_path, "disk", 1)
    swept, _ = sweep(tmp_path, "petals", 2)
    own = raw(tmp_path, "ceiling", 3, CEILING)
    assert finding.one("latest", tmp_path, pytest.fail).path == swept
    assert [found.path for found in finding.several("latest", tmp_path, pytest.fail)] == [swept]
    assert finding.latest(finding.whole(finding.every(tmp_path))).entry.path == swept
    # `--ceiling latest` means it, and so do its name and its id.
    assert finding.one("latest", tmp_path, pytest.fail, {STORAGE}).path == own
    assert finding.one("ceiling", tmp_path).path == finding.one(own.name, tmp_path).path == own
    assert finding.one("disk", tmp_path).path == asked_for


def test_a_run_in_progress_is_no_latest(tmp_path):
    done = run(tmp_path, "before", 0)
    later = physical().model_copy(update={"id": "20260301-130000-now", "name": "now", "started_at": "2026-03-01T13:00"})
    with RunFolder.begin(tmp_path, later) as folder:
        messages = Messages()
        assert finding.one("latest", tmp_path, messages).path == done
        assert "20260301-130000-now" in messages[0]
        assert finding.one("now", tmp_path).path == folder.path
        with pytest.raises(SlobError, match="now is still in progress"):
            finding.several("now", tmp_path)


def test_a_name_means_all_its_runs_where_several_are_taken_and_the_newest_where_one_is(tmp_path):
    runs = [run(tmp_path, "before", minute) for minute in range(3)]
    for wanted in ("before", "befor"):
        assert [found.path for found in finding.several(wanted, tmp_path)] == runs
        messages = Messages()
        assert finding.one(wanted, tmp_path, messages).path == runs[-1]
        (message,) = messages
        assert re.findall(r"\d{8}-\S+?(?=[,) ])", message) == [runs[at].name for at in (2, 0, 1)]


def test_an_exact_id_wins_over_longer_ones_that_begin_so(tmp_path):
    first, second = run(tmp_path, "before", 0), run(tmp_path, "before", 0)
    assert second.name == f"{first.name}-2"
    assert finding.one(first.name, tmp_path).path == first


@pytest.mark.parametrize("find", [finding.one, finding.several])
def test_what_is_ambiguous_is_an_error_with_the_candidates(tmp_path: Path, find):
    run(tmp_path, "before", 0)
    run(tmp_path, "behind", 1)
    for wanted in ("2026", "be"):
        with pytest.raises(UsageError, match=rf"2 records begin with '{wanted}': 20260301-120000-before, 2026"):
            find(wanted, tmp_path)
    with pytest.raises(UsageError, match=r"there is no .* 'nothing-so' in .*: no id or name begins with it; see `"):
        find("nothing-so", tmp_path)
    with pytest.raises(UsageError, match="name of the record is empty"):
        find("", tmp_path)
    with pytest.raises(SlobError, match=r"there are no records in .*; `slob run` or `slob sweep` makes one"):
        find("latest", tmp_path / "empty")


def test_a_record_of_another_kind_is_named_as_such(tmp_path):
    one, measured = run(tmp_path, "before", 0), raw(tmp_path, "disk", 1)
    for wanted in ("disk", str(measured), measured.name):
        with pytest.raises(UsageError, match=r"disk is a raw measurement, not a record of runs; `slob show"):
            finding.several(wanted, tmp_path)
    with pytest.raises(UsageError, match="before is a run, not a raw measurement"):
        finding.one("before", tmp_path, kinds={STORAGE})
    # Where the kind decides, the beginning of an id need not.
    assert finding.one("2026", tmp_path, kinds={STORAGE}).path == measured
    assert finding.one("2026", tmp_path, kinds=of_runs()).path == one
