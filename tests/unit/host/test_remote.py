"""A host behind a shell: here one of this host, as a stand-in for ssh."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.running import eventually
from factories.tables import table
from openslob.core.errors import UsageError
from openslob.core.host import FigureUnknownError
from openslob.core.process_selector import ProcessTree
from openslob.engines.peer_process import locate_elsewhere
from openslob.host.copies import Copies
from openslob.host.environment import environment
from openslob.host.remote import RemoteHost
from openslob.host.remote_files import RemoteProc, fetch, find_present, parse_allowed, parse_lines
from openslob.host.remote_shell import RemoteShell, ssh_command
from openslob.host.sampler import OsReader, difference

LONG_S = 30.0


@pytest.fixture
def shell():
    found = RemoteShell(["sh"], "ssh://there", LONG_S)
    yield found
    found.close()


@table(
    ("address", "words"),
    [
        ("ssh://db1", ["--", "db1"]),
        ("ssh://me@db1", ["-l", "me", "--", "db1"]),
        ("ssh://me@db1:2222", ["-p", "2222", "-l", "me", "--", "db1"]),
        ("ssh://[::1]:2222", ["-p", "2222", "--", "::1"]),
    ],
)
def test_an_address_becomes_the_words_of_ssh_which_asks_for_no_password(address, words):
    command = ssh_command(address)
    assert command[-1 - len(words) : -1] == words
    assert "-oBatchMode=yes" in command


@table(
    "address",
    ["db1", "http://db1", "ssh://", "ssh://me@", "ssh://-oProxyCommand=x", "ssh://db1/path", "ssh://db1:99999",
     "ssh://a b", "ssh://me@-x", "ssh://db1:x", "ssh://me:secret@db1"],
)  # fmt: skip
def test_what_is_no_address_or_would_be_an_option_of_ssh_is_refused(address):
    with pytest.raises(UsageError) as error:
        ssh_command(address)
    assert "secret" not in str(error.value)


def test_files_come_as_they_are_and_what_is_not_there_is_left_out(shell, tmp_path):
    texts = {"a": b"one\ntwo\n", "b:c": b"x:y\n", "d e": b"\xff\xfe\n", "f'g": b"\n\nlast\n", "h$(touch i)": b"z\n"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    (tmp_path / "empty").touch()
    paths = [str(tmp_path / name) for name in (*texts, "empty", "nothing")]
    assert fetch(shell, paths) == {str(tmp_path / name): text for name, text in texts.items()}
    assert find_present(shell, paths) == set(paths[:-1])
    assert not (tmp_path / "i").exists()


def test_the_answer_dates_what_was_read_first(shell, tmp_path):
    (tmp_path / "a").write_text("one\n")
    os.mkfifo(tmp_path / "b")

    def write():
        time.sleep(0.3)
        (tmp_path / "b").write_text("two\n")

    writer = threading.Thread(target=write)
    writer.start()
    found = fetch(shell, [str(tmp_path / "a")], [str(tmp_path / "b")])
    assert list(found.values()) == [b"one\n", b"two\n"]
    writer.join()
    begun_ns = time.monotonic_ns()
    assert shell.ask("echo 1; sleep 0.3; echo 2") == b"1\n2\n"
    assert begun_ns < shell.first_ns <= time.monotonic_ns() - 200_000_000


@given(st.dictionaries(st.text("abcz:/", min_size=1, max_size=6), st.lists(st.binary(max_size=5), max_size=3)))
def test_lines_belong_to_their_files_in_the_order_in_which_they_were_asked_for(files):
    wanted = {path: [line.replace(b"\n", b"") for line in lines] for path, lines in files.items()}
    said = b"".join(path.encode() + b":" + line + b"\n" for path, lines in wanted.items() for line in lines)
    found = parse_lines(said, list(wanted))
    # A line of one file may look like one of the next file, if its name is a part of that: no file of a kernel does.
    if not any(a != b and f"{a}:".startswith(f"{b}:") for a in wanted for b in wanted):
        assert found == {path: b"".join(each + b"\n" for each in lines) for path, lines in wanted.items() if lines}


def test_a_command_that_is_given_again_is_sent_by_its_name(shell):
    assert [shell.ask("echo 1"), shell.ask("echo 2"), shell.ask("echo 1")] == [b"1\n", b"2\n", b"1\n"]
    for number in range(40):
        assert shell.ask(f"echo {number}") == f"{number}\n".encode()


def test_what_is_long_is_sent_and_received_whole(shell):
    words = " ".join(f"{number:07d}" for number in range(50_000))
    assert shell.ask(f"echo {words}").decode().split() == words.split()


@table(("command", "why"), [("exit 3", "can't be read any more"), ("kill -STOP $$", "was silent for")])
def test_a_shell_that_is_gone_or_silent_is_lost_for_good(command, why):
    shell = RemoteShell(["sh"], "ssh://there", 0.5)
    try:
        for _ in range(2):
            with pytest.raises(FigureUnknownError, match=f"ssh://there {why}"):
                shell.ask(command)
    finally:
        shell.close()


def test_what_ssh_complains_of_is_the_reason():
    with pytest.raises(FigureUnknownError, match="no route to there"):
        RemoteShell(["sh", "-c", "echo 'no route to there' >&2; exit 255"], "ssh://there")
    with pytest.raises(FigureUnknownError, match="can't be started"):
        RemoteShell(["/nonexistent/ssh"], "ssh://there")


def test_what_an_account_prints_when_it_is_entered_is_no_answer():
    shell = RemoteShell(["sh", "-c", "echo Welcome; echo; exec sh"], "ssh://there")
    assert shell.ask("echo 1") == b"1\n"
    shell.close()


def test_a_file_of_a_process_that_this_user_may_not_read_is_refused(shell, tmp_path, monkeypatch):
    files = RemoteProc(shell)
    monkeypatch.setattr("openslob.host.remote_files.fetch", lambda *_: {})
    with pytest.raises(PermissionError):
        files.read(f"{os.getpid()}/io")
    assert files.read("999999999/io") is None


def test_what_a_reading_wanted_comes_ahead_of_the_next_one(shell, monkeypatch):
    """A refusal is remembered, and a file that may be empty is, if its process is there."""
    files = RemoteProc(shell)
    remote_files = "openslob.host.remote_files"
    monkeypatch.setattr(f"{remote_files}.fetch", lambda _, paths: {each: b"x" for each in paths if each[-4:] == "stat"})
    monkeypatch.setattr(f"{remote_files}.find_present", lambda _, paths: set(paths))
    names = ["7/stat", "7/io", "7/task/7/children", "7/task/8/stat", "9/stat"]
    files.keep(["7"])
    files.want(names)
    with pytest.raises(PermissionError):
        files.read("7/io")
    assert files.list_again() == ["/proc/7/stat", "/proc/7/task/7/children"]
    files.begin({"/proc/7/stat": b"y"})
    monkeypatch.setattr(f"{remote_files}.fetch", lambda *_: pytest.fail("it came ahead"))
    assert (files.read("7/stat"), files.read("7/task/7/children")) == (b"y", b"")
    with pytest.raises(PermissionError):
        files.read("7/io")
    files.begin({})
    monkeypatch.undo()
    assert files.read("7/no file") is None


@table(
    ("text", "cpus"),
    [(b"Name: x\nCpus_allowed_list:\t0-2,5\n", {0, 1, 2, 5}), (b"Cpus_allowed_list:\t7\n", {7}), (b"Name: x\n", None)],
)
def test_the_cpus_of_a_process(text, cpus):
    assert parse_allowed(text) == (None if cpus is None else frozenset(cpus))


@pytest.fixture
def host(shell):
    found = RemoteHost(shell)
    yield found
    found.close()


@pytest.fixture
def worker():
    """A process with two threads and a child."""
    code = (
        "import subprocess, sys, threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
        "subprocess.Popen(['sleep', '600'])\n"
        "print('ready', flush=True)\n"
        "while True: sum(range(10_000)); time.sleep(0.001)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    yield process
    os.killpg(process.pid, 9)
    process.communicate()


def test_it_has_the_counters_that_are_read_here(host, worker, tmp_path):
    """Each lies between what is read here before and after it."""
    here, there = (OsReader([ProcessTree(worker.pid)], [tmp_path], list, **more) for more in ({}, {"host": host}))
    first, found, last = here.read(), there.read(), here.read()
    assert {source: set(sample.values) for source, sample in found.sources.items()} == {
        source: set(sample.values) for source, sample in first.sources.items()
    }
    for source in ("host", "server", "device", "cpus"):
        for name, value in found.sources[source].values.items():
            assert first.sources[source].values[name] <= value <= last.sources[source].values[name], (source, name)
    assert there.tasks().keys() == here.tasks().keys()
    assert len(there.tasks()) == 3
    here.close()


def test_a_reading_like_the_last_one_takes_three_commands(host, worker, tmp_path, monkeypatch):
    """One for all files, one for the threads, one for what proves that no process ended meanwhile."""
    reader = OsReader([ProcessTree(worker.pid)], [tmp_path], list, host=host)
    reader.read()
    reader.read(full_scan=False)
    asked, ask = [], host.shell.ask
    monkeypatch.setattr(host.shell, "ask", lambda *words: asked.append(words) or ask(*words))
    before, after = reader.read(full_scan=False), reader.read(full_scan=False)
    assert len(asked) == 6
    assert difference(before, after).server_cpu_s is not None
    assert before.sources["server"].values.keys() >= {"server_cpu_s", "server_read_bytes", "server_runqueue_s"}


def test_where_the_cpu_alone_is_asked_for_no_other_file_is_read(host, worker, tmp_path):
    reader = OsReader([ProcessTree(worker.pid)], [tmp_path], list, cpu_alone=True, host=host)
    found = reader.read().sources["server"]
    assert found.values["server_cpu_s"] >= 0
    assert set(found.unknown) == {"server_read_bytes", "server_write_bytes", "server_runqueue_s"}


def test_a_process_without_children_is_read_again(host, tmp_path):
    process = subprocess.Popen(["sleep", "600"])
    reader = OsReader([ProcessTree(process.pid)], [tmp_path], list, host=host)
    readings = [reader.read(), *(reader.read(full_scan=False) for _ in range(3))]
    process.kill()
    process.wait()
    assert all("server_cpu_s" in each.sources["server"].values for each in readings)
    assert "has ended" in reader.read(full_scan=False).sources["server"].unknown["server_cpu_s"]


def test_no_name_that_a_host_shows_leads_out_of_the_copies(tmp_path):
    copies = Copies()
    with pytest.raises(FigureUnknownError, match="not a file that another host"):
        copies.write(f"/../../..{tmp_path}/x", b"")
    copies.write("/a/b", b"x")
    assert copies.find("/a/b").read_bytes() == b"x"
    copies.remove("/a/b")
    copies.remove("/a/b")
    assert not copies.find("/a/b").exists()
    copies.close()


def test_a_lost_shell_is_opened_again(host, worker, tmp_path):
    host.shell.close()
    with pytest.raises(FigureUnknownError):
        host.refresh()
    host.reopen()
    shell = host.shell
    assert OsReader([ProcessTree(worker.pid)], [tmp_path], list, host=host).read().sources["server"].values
    host.reopen()
    assert host.shell is shell


def test_a_reading_that_was_in_vain_is_of_when_it_was_asked_for(host, monkeypatch):
    reader = OsReader([], [], list, host=host)

    def be_silent(again=False):
        time.sleep(0.3)
        raise FigureUnknownError(f"silent, {again}")

    monkeypatch.setattr(host, "refresh", be_silent)
    assert reader.read().time_ns <= time.monotonic_ns() - 300_000_000


def test_it_is_described_as_it_is_here(host, tmp_path):
    assert environment(tmp_path, host) == environment(tmp_path)
    assert environment(None, host)["data"] is None


def test_a_process_is_found_by_its_program_and_title(host, worker):
    assert worker.pid in host.find_programs({Path(f"/proc/{worker.pid}/comm").read_text().strip()})
    assert "sum(range" in host.read_title(worker.pid)
    assert host.find_directory(worker.pid) == Path.cwd()
    assert host.find_programs({"no such program"}) == []
    assert (host.read_title(2**22 + 1), host.find_directory(2**22 + 1)) == ("", None)


def test_figures_are_unknown_for_its_reason_once_it_is_silent(host, worker, tmp_path):
    reader = OsReader([ProcessTree(worker.pid)], [tmp_path], list, host=host)
    before = reader.read()
    host.shell.close()
    after = reader.read()
    assert reader.tasks() == {}
    assert environment(tmp_path, host)["data"]["directory"] == str(tmp_path)
    assert locate_elsewhere(host, lambda: worker.pid, worker.pid, str).why_unknown == "ssh://there is closed"
    assert reader.price() == (0.0, 0.0)
    changed = difference(before, after)
    assert (changed.cpu, changed.server_cpu_s, changed.device) == (None, None, None)
    assert {changed.unknown[name] for name in ("cpu", "server_cpu_s", "group")} == {"ssh://there is closed"}
    assert changed.driver_cpu_s is not None


def test_readings_are_as_far_apart_as_their_cost_demands(host, worker, tmp_path):
    reader = OsReader([ProcessTree(worker.pid)], [tmp_path], list, host=host)
    begun_s = host.cpu_s()
    assert eventually(lambda: reader.read() and host.cpu_s() > begun_s)
    took_s, apart_s = reader.price()
    assert took_s > 0
    assert apart_s >= 0
    assert OsReader([], [], list).price() == (0.0, 0.0)


def test_its_clock_is_that_of_its_boot_and_the_copies_are_removed(host):
    assert host.refresh() <= time.monotonic_ns()
    # This host's monotonic clock does not run while it sleeps.
    assert host.describe_reading()["clock_offset_s"] >= -host.describe_reading()["clock_error_s"] - 0.01
    assert (host.root / "proc/stat").exists()
    host.close()
    assert not host.root.exists()
