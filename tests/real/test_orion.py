"""`slob raw orion` with real fio: whole tests on files and on loop devices, what is refused, and what Ctrl-C leaves."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from factories.running import COMMAND, slob
from openslob.core.disk import supports_direct_io
from openslob.core.units import MIB
from openslob.kinds.storage.fio import Fio, IoEngine
from openslob.kinds.storage.orion.jobs import OrionSetup, jobs_of, volume
from openslob.kinds.storage.orion.options import LargeType, LoadPoint, Options, OrionRun, SimulatedArray
from openslob.kinds.storage.record import StorageRecord, load
from openslob.kinds.storage.target import existing_file
from openslob.record.model import Holds, Status

# libaio is allowed where containers forbid io_uring.
COMMON = ("--io-engine", "libaio", "--duration", "0.5", "--size", "64M")
LONG_S = 120

pytestmark = [
    pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio"),
    pytest.mark.skipif(not supports_direct_io(Path("/tmp")), reason="needs direct I/O in /tmp"),
]


def orion(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return slob(*command(folder), *options)


def command(folder: Path) -> list[str]:
    return ["raw", "orion", "--testname", str(folder / "mytest"), "--results", str(folder / "results"), *COMMON]


def record_in(folder: Path) -> StorageRecord:
    (path,) = (folder / "results").iterdir()
    return load(path)


def matrix(folder: Path, name: str) -> dict[tuple[int, int], float]:
    """Values by small and large load in one of Orion's CSV files."""
    (path,) = (folder / "results").glob(f"*/mytest_*_{name}.csv")
    with path.open() as file:
        head, *rows = [[cell.strip() for cell in row] for row in csv.reader(file)]
    assert head[0] == "Large/Small"
    # Empty cells at a row's end are left out, so a row may be shorter than the head.
    return {
        (int(small), int(row[0])): float(cell)
        for row in rows
        for small, cell in zip(head[1:], row[1:], strict=False)
        if cell
    }


def verdicts(record: StorageRecord) -> dict[str, Holds]:
    return {verdict.name: verdict.verdict for verdict in record.verdicts}


def test_simple_in_orions_own_spelling(tmp_path):
    done = orion(tmp_path, "-run", "simple", "-num_disks", "1", "-hugenotneeded", "-verbose")
    assert done.returncode == 0, done.stderr
    smalls, larges = {(small, 0) for small in range(1, 6)}, {(0, 1), (0, 2)}
    assert set(matrix(tmp_path, "iops")) == set(matrix(tmp_path, "lat")) == smalls
    assert set(matrix(tmp_path, "mbps")) == larges
    record = record_in(tmp_path)
    assert (record.tool, record.status, len(record.steps)) == ("orion", Status.COMPLETE, 7)
    assert verdicts(record) == dict.fromkeys(("small_coverage", "large_coverage", "reached_device"), Holds.HOLDS)
    assert record.value("max_iops") == pytest.approx(max(matrix(tmp_path, "iops").values()), abs=1)
    assert f"@ {'Small=0'}" in done.stdout and "Maximum Small IOPS=" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_fio_runs_on_one_core_and_the_summary_says_so(tmp_path):
    core = min(os.sched_getaffinity(0))
    done = orion(tmp_path, *POINT, "--cpus", str(core))
    assert done.returncode == 0, done.stderr
    record = record_in(tmp_path)
    assert record.asked["cpus"] == str(core)
    assert f"Note: fio was confined to CPUs {core}." in done.stdout
    refused = orion(tmp_path, "--run", "simple", "--cpus", "9999")
    assert refused.returncode == 2
    assert "which is not available" in refused.stderr


def test_a_whole_matrix_of_mixed_requests_over_two_luns(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(os.urandom(32 * MIB))
    (tmp_path / "mytest.lun").write_text("a\nb\n")
    before = (tmp_path / "a").read_bytes()
    loads = ("--matrix", "max", "--num-small", "2", "--num-large", "1")
    shape = ("--type", "seq", "--simulate", "RAID0", "--stripe", "2", "--cache-size", "8")
    done = orion(tmp_path, "--run", "advanced", *loads, *shape, "--json")
    assert done.returncode == 0, done.stderr
    record = record_in(tmp_path)
    assert json.loads(done.stdout)["id"] == record.id
    assert set(matrix(tmp_path, "iops")) == {(small, large) for small in (1, 2) for large in (0, 1)}
    assert set(matrix(tmp_path, "mbps")) == {(small, 1) for small in (0, 1, 2)}
    assert record.place["ours"] is False
    assert [lun["label"] for lun in record.place["luns"]] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert verdicts(record)["small_coverage"] is Holds.HOLDS
    assert (tmp_path / "a").read_bytes() == before


def test_a_striped_stream_is_where_it_should_be(tmp_path):
    """Logged by fio itself: two requests of 1 MB on one LUN, two on the next, and so through the stream's part."""
    luns = []
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(os.urandom(16 * MIB))
        luns.append(existing_file(tmp_path / name, MIB))
    options = Options(
        OrionRun.SIMPLE,
        large_type=LargeType.SEQ,
        simulate=SimulatedArray.RAID0,
        stripe=2 * MIB,
        num_streamio=1,
        duration_s=1,
    )
    striped = OrionSetup(options, volume(luns, options), IoEngine.LIBAIO)
    first, second = jobs_of(striped, LoadPoint(large=2, small=0), 1)
    found = Fio.find(Event()).offsets(second, 8)
    assert [offset // MIB for offset in found[str(tmp_path / "a")]] == [8, 9, 10, 11]
    assert [offset // MIB for offset in found[str(tmp_path / "b")]] == [8, 9, 10, 11]
    assert (first.size, first.options["offset"]) == (8 * MIB, "0")


def test_a_seed_leads_to_the_same_places_again_whatever_the_depth(tmp_path):
    """What the proof of coverage rests on: the second pass goes where the measured one went."""
    luns = []
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(os.urandom(4 * MIB))
        luns.append(existing_file(tmp_path / name, MIB))
    options = Options(OrionRun.SIMPLE, duration_s=5)
    both = OrionSetup(options, volume(luns, options), IoEngine.LIBAIO)
    fio = Fio.find(Event())
    (deep,) = jobs_of(both, LoadPoint(large=0, small=8), 3)
    (other,) = jobs_of(both, LoadPoint(large=0, small=8), 4)
    first = fio.offsets(deep, 300)
    assert {name: set(offsets) for name, offsets in first.items()} == {
        name: set(offsets) for name, offsets in fio.offsets(replace(deep, depth=1), 300).items()
    }
    assert first != fio.offsets(other, 300)


def test_ctrl_c_keeps_the_points_and_leaves_nothing_else(tmp_path):
    with subprocess.Popen([*COMMAND, *command(tmp_path), "--run", "oltp"], stderr=subprocess.PIPE, text=True) as driver:
        for line in driver.stderr:
            if "Small=2" in line:
                break
        wait_for(lambda: any(Path(each.partition("\0")[0]).name == "fio" for each in holding(tmp_path)))
        driver.send_signal(signal.SIGINT)
        rest = driver.stderr.read()
        assert driver.wait(LONG_S) == 1
    assert "the record is marked as interrupted" in rest
    record = record_in(tmp_path)
    assert record.status is Status.INTERRUPTED
    assert 2 <= len(record.steps) < 20
    assert len(matrix(tmp_path, "iops")) == len(record.steps)
    (summary,) = (tmp_path / "results").glob("*/*_summary.txt")
    assert f"Stopped: {len(record.steps)} of 20 points were measured." in summary.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert holding(tmp_path) == []


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def holding(folder: Path) -> list[str]:
    """Programs that have a file open in ``folder``, one without a name included."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = [str(link.readlink()) for link in (process / "fd").iterdir()]
            found += [(process / "cmdline").read_text() for link in links if link.startswith(f"{folder}/")]
        except OSError:  # gone meanwhile
            continue
    return found


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--run", "simple", "--write", "10"), "--allow-destructive"),
        (("--run", "simple", "--matrix", "col"), "--matrix needs --run advanced"),
        (("--run", "dss", "--num-disks", "100"), "requests in flight, but the volume has 64 blocks"),
        (("--run", "advanced", "--type", "seq", "--num-disks", "40"), "streams have no room"),
        (("--run", "simple", "--size", "much"), "--size"),
    ],
)
def test_what_can_not_be_is_told_before_anything_is_begun(tmp_path, options, told):
    done = orion(tmp_path, *options)
    assert done.returncode == 2
    assert told in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_slob_did_not_make_is_not_written_to(tmp_path):
    data = tmp_path / "data.dbf"
    data.write_bytes(os.urandom(8 * MIB))
    before = data.read_bytes()
    (tmp_path / "mytest.lun").write_text("data.dbf\n")
    done = orion(tmp_path, "--run", "simple", "--write", "100", "--allow-destructive")
    assert done.returncode == 2
    assert "is a file that slob did not make" in done.stderr
    assert data.read_bytes() == before


def test_writing_to_a_test_file_of_its_own(tmp_path):
    point = ("--run", "advanced", "--matrix", "point", "--num-small", "2", "--num-large", "1", "--write", "50")
    done = orion(tmp_path, *point, "--allow-destructive")
    assert done.returncode == 0, done.stderr
    for step in record_in(tmp_path).steps:
        assert step.value("read_ios")
        assert step.value("write_ios")
        assert step.load.read_pct == 50


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Path]:
    """A blank loop device of 32 MB."""
    if os.geteuid() or shutil.which("losetup") is None:
        pytest.skip("loop devices need root and losetup")
    image = tmp_path / "image"
    image.write_bytes(bytes(32 * MIB))
    made = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    device = Path(made.stdout.strip())
    yield device
    subprocess.run(["losetup", "--detach", device], check=True)


POINT = ("--run", "advanced", "--matrix", "point", "--num-small", "2", "--num-large", "0")


def test_a_blank_device_is_written_to_only_if_told(tmp_path, loop):
    (tmp_path / "mytest.lun").write_text(f"{loop}\n")
    refused = orion(tmp_path, *POINT, "--write", "100")
    assert refused.returncode == 2
    assert f"--write would overwrite {loop} (32 MB); --allow-destructive" in refused.stderr
    done = orion(tmp_path, *POINT, "--write", "100", "--allow-destructive")
    assert done.returncode == 0, done.stderr
    assert f"overwrite the contents of {loop} (32 MB)" in done.stderr
    (step,) = record_in(tmp_path).steps
    assert step.value("write_ios") and not step.value("read_ios")


def test_a_mounted_device_and_one_with_a_file_system_are_never_written_to(tmp_path, loop):
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("needs mkfs.ext4")
    subprocess.run(["mkfs.ext4", "-q", loop], check=True)
    (tmp_path / "mytest.lun").write_text(f"{loop}\n")
    done = orion(tmp_path, *POINT, "--write", "100", "--allow-destructive")
    assert (done.returncode, "it contains ext4" in done.stderr) == (2, True), done.stderr
    point = tmp_path / "mounted"
    point.mkdir()
    if subprocess.run(["mount", loop, point], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        done = orion(tmp_path, *POINT, "--write", "100", "--allow-destructive")
        assert (done.returncode, f"{loop} is mounted at {point}" in done.stderr) == (2, True), done.stderr
    finally:
        subprocess.run(["umount", point], check=True)
    assert not (tmp_path / "results").exists()
