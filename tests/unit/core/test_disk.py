"""Files that are written: regular files are replaced whole, everything else is left what it is."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from factories import running
from factories.paths import ROOT
from openslob.core.disk import refuse_foreign, refuse_planted, remove_tree, scratch_folder, write_atomically
from openslob.core.errors import SlobError
from openslob.engines.managed.account import ServerAccount
from openslob.engines.managed.state import claim

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make devices and files of others")
OTHER_USER = 65534
FIXTURES = ROOT / "tests" / "fixtures"
RUN = FIXTURES / "records" / "v2" / "paced"


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """A directory where everybody may write, as in /tmp."""
    folder = tmp_path / "public"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _planted(link: Path, target: Path) -> Path:
    link.symlink_to(target)
    os.lchown(link, OTHER_USER, OTHER_USER)
    return link


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path):
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o604)
    before = path.stat()
    write_atomically(path, b"new")
    after = path.stat()
    assert (path.read_text(), stat.S_IMODE(after.st_mode)) == ("new", 0o604)
    assert (after.st_ino != before.st_ino, _names(tmp_path)) == (True, ["out"])


def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "out", "x")
        write_atomically(tmp_path / "secret", "x", mode=0o600)
    finally:
        os.umask(before)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {
        "out": 0o640,
        "secret": 0o600,
    }


def test_a_link_of_ones_own_is_followed(tmp_path: Path):
    follow_a_link(tmp_path)


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs a /dev/shm to write to")
def test_a_file_system_below_dev_is_as_good_as_any():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        follow_a_link(Path(folder))


def follow_a_link(folder: Path) -> None:
    target, link = folder / "target", folder / "link"
    link.symlink_to(target)
    for text in ("first", "second"):
        write_atomically(link, text)
        assert (link.is_symlink(), target.read_text()) == (True, text)


def test_a_planted_temporary_file_is_not_written_through(tmp_path: Path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in (".out.tmp", f".out-{os.getpid()}.tmp"):
        (tmp_path / name).symlink_to(victim)
    write_atomically(tmp_path / "out", "new")
    assert victim.read_text() == "precious"


def test_a_pipe_is_written_to(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_bytes)
        write_atomically(pipe, "through")
        assert read.result(timeout=60) == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("is_linked", [False, True], ids=["by its number", "as /dev/stdout"])
def test_an_open_file_is_written_to(tmp_path: Path, is_linked: bool):
    with (tmp_path / "out").open("w") as file:
        file.write("before ")
        file.flush()
        place = Path(f"/proc/self/fd/{file.fileno()}")
        if is_linked:
            (tmp_path / "stdout").symlink_to(place)
            place = tmp_path / "stdout"
        write_atomically(place, "after")
        assert os.path.samestat(os.fstat(file.fileno()), (tmp_path / "out").stat())
    assert (tmp_path / "out").read_text() == "before after"


def _device(path: Path, kind: int, number: int) -> Path:
    try:
        os.mknod(path, 0o666 | kind, number)
        with path.open("wb"):
            pass
    except OSError:
        pytest.skip("no devices can be made here")
    return path


@as_root
def test_a_device_stays_a_device_whichever_command_writes_to_it(tmp_path: Path):
    null = _device(tmp_path / "null.csv", stat.S_IFCHR, os.makedev(1, 3))
    awr = next((FIXTURES / "awr").rglob("*.txt"))
    for command in (("export", RUN), ("report", RUN), ("awr", awr)):
        done = running.slob(*command, "-o", null)
        assert (done.returncode, stat.S_ISCHR(null.stat().st_mode)) == (0, True), done.stderr
    assert _names(tmp_path) == ["null.csv"]


@as_root
def test_a_disk_is_not_written_to(tmp_path: Path):
    disk = tmp_path / "disk"
    os.mknod(disk, 0o600 | stat.S_IFBLK, os.makedev(7, 250))
    with pytest.raises(OSError, match="block device"):
        write_atomically(disk, "x")


def test_a_directory_is_one_line(tmp_path: Path):
    done = running.slob("export", RUN, "-f", "csv", "-o", tmp_path)
    said = f"slob: {tmp_path} can't be written: Is a directory; name another file\n"
    assert (done.returncode, done.stderr, _names(tmp_path)) == (1, said, [])


@as_root
def test_what_others_planted_where_everybody_may_write(public: Path, tmp_path: Path):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("precious")
    link = _planted(public / "report.html", victim / "file")
    folder = _planted(public / "results", victim)
    for path in (link, folder / "file", folder / "new" / "deep"):
        with pytest.raises(SlobError, match=r"is a link or a pipe of another user; name another place"):
            write_atomically(path, "x")
    assert [(victim / "file").read_text(), _names(victim)] == ["precious", ["file"]]
    refuse_planted(public / "results-of-mine" / "run.json")


@as_root
def test_a_file_of_others_is_replaced_by_one_of_ours(public: Path):
    path = public / "out"
    path.write_text("old")
    path.chmod(0o666)
    os.chown(path, OTHER_USER, OTHER_USER)
    write_atomically(path, "new")
    assert (path.stat().st_uid, path.read_text()) == (0, "new")
    assert not path.stat().st_mode & stat.S_IWOTH


@as_root
def test_a_directory_of_others_is_no_home(public: Path, monkeypatch: pytest.MonkeyPatch):
    home = public / "home"
    home.mkdir()
    refuse_foreign(home / "servers")
    os.chown(home, OTHER_USER, OTHER_USER)
    with pytest.raises(SlobError, match=r"home belongs to another user.*; name another directory"):
        refuse_foreign(home / "servers")
    monkeypatch.setenv("OPENSLOB_HOME", str(home))
    done = running.slob("server", "list")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "belongs to another user" in done.stderr


@as_root
def test_root_gives_nothing_away_through_a_link(tmp_path: Path):
    account = ServerAccount("nobody", OTHER_USER, OTHER_USER, switched=True)
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.mkdir(mode=0o755)
    link.symlink_to(victim)
    for action in (lambda: account.make_private(link), lambda: account.share(link, 0o666)):
        with pytest.raises(SlobError, match=r"link can't be used: .*; remove it if it is a link"):
            action()
    assert (victim.stat().st_uid, stat.S_IMODE(victim.stat().st_mode)) == (0, 0o755)
    account.make_private(tmp_path / "own")
    assert (tmp_path / "own").stat().st_uid == OTHER_USER


@as_root
def test_a_data_directory_that_another_user_made_is_refused(public: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENSLOB_HOME", str(public))
    place = public / "data"
    place.mkdir()
    os.chown(place, OTHER_USER, OTHER_USER)
    with pytest.raises(SlobError, match="belongs to another user"):
        claim(place, "x")
    assert _names(place) == []


def test_of_a_link_only_the_link_is_removed(tmp_path: Path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / "link").symlink_to(precious)
    remove_tree(tmp_path / "link")
    assert _names(tmp_path) == ["precious"]
    remove_tree(precious)
    assert _names(tmp_path) == []


def test_a_scratch_folder_takes_those_of_dead_processes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left, other = tmp_path / "slob-fio-left", tmp_path / "slob-pgbench-other"
    left.mkdir()
    (left / "iolog-1").touch()
    other.mkdir()
    planted = tmp_path / "slob-fio-link"
    planted.symlink_to(other)
    with scratch_folder("fio") as first, scratch_folder("fio") as second:
        assert first != second
        assert _names(tmp_path) == sorted([first.name, second.name, other.name, planted.name])
    assert _names(tmp_path) == sorted([other.name, planted.name])


def test_a_scratch_folder_lasts_as_long_as_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another process holds the lock; when it is killed, the folder is nobody's."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = (
        "from openslob.core.disk import scratch_folder\nwith scratch_folder('fio'): print('made', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"made\n"
        (theirs,) = tmp_path.iterdir()
        with scratch_folder("fio"):
            assert theirs.exists()
        process.kill()
        process.wait()
    with scratch_folder("fio") as folder:
        assert _names(tmp_path) == [folder.name]
