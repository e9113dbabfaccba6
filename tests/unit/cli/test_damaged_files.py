"""A damaged file is told in one line, with its path and what to do, and stops no command about anything else."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from factories.paths import FIXTURES
from factories.running import slob
from openslob.engines.managed import state
from openslob.kinds.sweep import record as sweep
from openslob.record import store

RECORDS = FIXTURES / "records"


def _linked(file: Path, target: str) -> None:
    file.unlink()
    file.symlink_to(target)


def _in_its_place(make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda file: (file.unlink(), make(file))


def _with(pattern: str, text: str) -> Callable[[Path], object]:
    return lambda file: file.write_text(re.sub(pattern, text, file.read_text(), count=3))


FAULTS: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda file: file.write_text(""),
    "truncated": lambda file: file.write_text(file.read_text()[:-40]),
    "not-json": lambda file: file.write_text("hello"),
    "a-list": lambda file: file.write_text("[]"),
    "no-keys": lambda file: file.write_text("{}"),
    "nan": _with(r": [0-9]+\.?[0-9]*,", ": NaN,"),
    "infinite": _with(r": [0-9]+\.[0-9]+,|: 134217728", ": 1e999,"),
    "deep": lambda file: file.write_text("[" * 200_000),
    "not-utf-8": lambda file: file.write_bytes(b'{"a": "\xe9"}'),
    "zeros": lambda file: file.write_bytes(bytes(4096)),
    "sparse": lambda file: os.truncate(file, 2**31),
    "a-folder": _in_its_place(Path.mkdir),
    "a-pipe": _in_its_place(os.mkfifo),
    "a-loop": lambda file: _linked(file, file.name),
    "newer": _with(r'(version": )\d+', r"\g<1>99"),
    "text-version": _with(r'(version": )\d+', r'\g<1>"one"'),
    "true-version": _with(r'(version": )\d+', r"\g<1>true"),
    "other-types": lambda file: file.write_text(
        re.sub(r'("(?:spec|points|asked|workload|loads)": )[{\[]', r"\1 7, [{", file.read_text())
    ),
}


def _lines(text: str) -> list[str]:
    assert "Traceback" not in text
    return text.strip().splitlines()


def _told(done: CompletedProcess[str], path: Path, code: int) -> None:
    """The command ended with one line that names the file and a remedy."""
    assert done.returncode == code, done.stderr
    (line,) = _lines(done.stderr)
    assert str(path) in line
    assert "; " in line


# --- records


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two whole runs and a whole sweep, and one of each kind for each fault, all of them newer."""
    place = tmp_path / "results"
    for name, source in {
        "20250101-000000-a": "v2/measured",
        "20250102-000000-b": "v2/measured",
        "20250103-000000-s": "sweep-v1/measured",
    }.items():
        shutil.copytree(RECORDS / source, place / name)
    # Copies of one run are that run, and not compared with each other.
    other = place / "20250102-000000-b" / "run.json"
    other.write_text(json.dumps({**json.loads(other.read_text()), "id": other.parent.name}))
    for kind, (source, file) in KINDS.items():
        for name, damage in FAULTS.items():
            folder = shutil.copytree(RECORDS / source, place / f"20270101-000000-{kind}-{name}")
            damage(folder / file)
    return place


KINDS = {
    "run": ("v2/measured", "run.json"),
    "sweep": ("sweep-v1/measured", "sweep.json"),
    "storage": ("storage-v1/dd", "storage.json"),
    "endurance": ("endurance-v1/measured", "endurance.json"),
    "repeated": ("repeated-v1/measured", "repeated.json"),
    "failover": ("failover-v1/measured", "failover.json"),
    "crash": ("crash-v1/measured", "crash.json"),
    "lab": ("lab-v1/measured", "lab.json"),
}


def test_damaged_records_stop_no_command_about_others(results: Path) -> None:
    # A sweep or a raw measurement without its document is none any more.
    told = [f"{kind}-{name}" for kind in KINDS for name in FAULTS if name != "missing" or kind == "run"]

    def run(*arguments: object) -> tuple[str, str]:
        done = slob(*arguments, "--results", results)
        assert done.returncode == 0, done.stderr
        return done.stdout, "\n".join(_lines(done.stderr))

    listed, _ = run("list", "--all")
    assert [name for name in told if f"{name}/{KINDS[name.split('-')[0]][1]} " not in listed] == []
    assert len(json.loads(run("list", "--json")[0])) > len(FAULTS)
    for arguments in (("show", "20250101"), ("compare", "20250101", "20250102"), ("export", "20250103")):
        assert run(*arguments)[1] == ""
    # A name may be that of a damaged record.
    exported, problems = run("export", _name_of(results / "20250101-000000-a"), "--per", "run")
    assert len(exported.splitlines()) == 1 + 2
    assert "run-truncated/run.json is damaged" in problems
    exported, problems = run("export", results, "--per", "run")
    assert len(exported.splitlines()) > 1 + 2
    assert "sweep-truncated/sweep.json is damaged" in problems
    shown, problems = run("show", "latest")
    assert "storage-zeros/storage.json is damaged" in problems
    assert shown
    planned, problems = run("sweep", "--resume", "latest", "--dry-run")
    assert "sweep-zeros/sweep.json is damaged" in problems
    assert planned
    assert "sweep-zeros/sweep.json is damaged" in run("sweep", "--sessions", "1,2", "--dry-run")[1]


def _name_of(folder: Path) -> str:
    return store.load(folder).name


def test_a_command_about_a_damaged_record_says_so_in_a_line(results: Path) -> None:
    for name in FAULTS:
        folder = results / f"20270101-000000-run-{name}"
        for arguments in (("show", folder), ("export", folder)):
            if (name, arguments[0]) != ("missing", "show"):
                _told(slob(*arguments), folder / "run.json", 1)
        if name != "missing":
            folder = results / f"20270101-000000-sweep-{name}"
            _told(slob("sweep", "--resume", folder, "--dry-run", "--results", folder.parent), folder / "sweep.json", 1)
            folder = results / f"20270101-000000-storage-{name}"
            _told(slob("show", folder), folder / "storage.json", 1)


@pytest.mark.parametrize("file", ["slices.csv", "latency.csv", "engine.csv"])
def test_a_damaged_raw_file_leaves_out_one_run_only(tmp_path: Path, file: str) -> None:
    good, bad = (shutil.copytree(RECORDS / "v2/measured", tmp_path / name) for name in ("good", "bad"))
    for name in ("not-utf-8", "a-pipe", "a-folder"):
        (bad / file).unlink()
        shutil.copy(good / file, bad / file)
        FAULTS[name](bad / file)
        _told(slob("export", bad), bad / file, 1)
        done = slob("export", tmp_path, "--per", "run")
        _told(done, bad / file, 0)
        assert len(done.stdout.splitlines()) == 1 + 1
        assert slob("show", bad).returncode == 0
        if (bad / file).is_dir():
            (bad / file).rmdir()
            (bad / file).touch()


def test_a_number_that_json_does_not_have_is_stored_as_unknown(tmp_path: Path) -> None:
    run = store.load(RECORDS / "v2/measured")
    odd = run.model_copy(update={"environment": {**run.environment, "load": float("nan"), "more": [float("inf")]}})
    with store.RunFolder.begin(tmp_path, odd) as folder:
        folder.finish(odd)
    found = store.load(folder.path).environment
    assert (found["load"], found["more"]) == (None, [None])


def test_an_empty_or_strange_marker_is_no_traceback(tmp_path: Path) -> None:
    folder = shutil.copytree(RECORDS / "v2/measured", tmp_path / "run")
    marker = folder / store.MARKER_FILE
    for text in ("", "x", "12"):
        marker.write_text(text)
        assert store.running_pid(folder) is None
        with marker.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            assert store.running_pid(folder) == (12 if text == "12" else 0)
            assert "still in progress" in slob("show", folder).stderr
    for fault in ("a-folder", "a-loop"):
        FAULTS[fault](marker)
        assert store.running_pid(folder) is None
        marker.rmdir() if marker.is_dir() else marker.unlink()
        marker.touch()


# --- points of a sweep


def test_a_point_that_lost_its_record_is_run_again(tmp_path: Path) -> None:
    folder = shutil.copytree(RECORDS / "sweep-v1/measured", tmp_path / "20260101-000000-s")
    first, second, third = (folder / str(point.run) for point in sweep.load_sweep(folder).points)
    before = sorted(folder.rglob("*"))

    def plan() -> CompletedProcess[str]:
        return slob("sweep", "--resume", folder, "--dry-run", "--results", tmp_path)

    assert plan().stderr == ""
    (first / "run.json").unlink()
    (second / "run.json").write_text((second / "run.json").read_text().replace('"complete"', '"interrupted"'))
    done = plan()
    (line,) = _lines(done.stderr)
    assert "2 points are run again: " in line
    assert f"{first}/run.json can't be read" in line
    assert f"{second} is interrupted" in line
    assert sorted([*folder.rglob("*"), first / "run.json"]) == before
    # Not lost: another program can read it.
    FAULTS["newer"](third / "run.json")
    _told(plan(), third / "run.json", 1)


# --- servers


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a server that is stopped, and one of each fault."""
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path))
    spec = {
        "version": "18", "bin_dir": None, "data_dir": None, "cache_bytes": 134217728, "log_bytes": 4294967296,
        "io": "direct", "cpus": None, "max_sessions": 320, "block_size": None, "huge_pages": False, "standby_of": None,
    }  # fmt: skip
    for name in ("good", *SERVER_FAULTS):
        place = tmp_path / "servers" / name
        (place / "data").mkdir(parents=True)
        document = {"version": 1, "engine": "postgresql", "spec": {"name": name, **spec}}
        (place / "server.json").write_text(json.dumps(document, indent=1))
        if name != "good":
            SERVER_FAULTS[name](place / "server.json")
    return tmp_path / "servers"


SERVER_FAULTS = {
    **FAULTS,
    "copied": lambda file: file.write_text((file.parent.parent / "good" / "server.json").read_text()),
    "wrong-type": _with("134217728", '"much"'),
}


def test_a_damaged_server_stops_no_command_about_others_and_can_be_destroyed(home: Path) -> None:
    listed = slob("server", "list")
    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["server", "good"]
    problems = _lines(listed.stderr)
    assert [name for name in SERVER_FAULTS if not any(f"{home / name}/server.json" in line for line in problems)] == []
    assert slob("server", "status", "good").returncode == 0
    assert "there is no server 'other'" in slob("run", "--target", "other").stderr
    assert [spec.name for spec in state.specifications()] == ["good"]
    for name in SERVER_FAULTS:
        _told(slob("server", "status", name), home / name / "server.json", 1)
        assert slob("server", "destroy", name).returncode == 0
        assert not (home / name).exists()
    assert (home / "good" / "data").is_dir()


def test_data_elsewhere_are_removed_with_a_damaged_server_only_if_they_are_its_own(home: Path, tmp_path: Path) -> None:
    for name in ("empty", "truncated"):
        elsewhere = tmp_path / name
        state.claim(elsewhere, "truncated")
        (elsewhere / "data").mkdir()
        (home / name / "server.json").write_text(f'{{"engine": "postgresql", "spec": {{"data_dir": "{elsewhere}"')
        assert slob("server", "destroy", name).returncode == 0
        assert elsewhere.exists() == (name == "empty")
