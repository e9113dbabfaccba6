"""Which line of a server's log tells why it ended, and what is said when the log tells nothing."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

from factories.tables import table
from openslob.host.server_log import ServerLog, cause_in, complaints_in

POSTGRESQL = "2026-11-22 02:27:03.958 UTC [11595] "
MARIADB = "2026-11-22  2:27:38 23 "
REQUEST = 'ERROR:  duplicate key value violates unique constraint "of_others"'
PANIC = 'PANIC:  could not write to file "pg_wal/xlogtemp.1": No space left on device'
KILLED = "LOG:  client backend (PID 7) was terminated by signal 9: Killed"
FULL = "[ERROR] InnoDB: preallocating 79691776 bytes for file ./ibdata1 failed with error 28"


@table(
    "lines, expected",
    [
        ([], ""),
        ([f"{POSTGRESQL}{REQUEST}", f"{POSTGRESQL}LOG:  checkpoint complete: wrote 28 buffers"], ""),
        ([f"{POSTGRESQL}{REQUEST}", f"{POSTGRESQL}{KILLED}", f"{POSTGRESQL}FATAL:  in recovery mode"], KILLED),
        ([f"{POSTGRESQL}{KILLED.replace('9: Killed', '6: Aborted')}", f"{POSTGRESQL}{PANIC}"], PANIC),
        ([f"{MARIADB}{FULL}", f"{MARIADB}[ERROR] mariadbd: The table 'cf1_2' is full"], FULL),
        # The parallel worker of a statement that was cancelled.
        ([f'{POSTGRESQL}LOG:  background worker "parallel worker" (PID 7) exited with exit code 1'], ""),
        ([f"{POSTGRESQL}LOG:  received fast shutdown request"], "LOG:  received fast shutdown request"),
        ([f"{MARIADB}[Note] (initiated by: root) Normal shutdown"], "[Note] (initiated by: root) Normal shutdown"),
    ],
)
def test_the_line_that_tells_the_cause(lines, expected):
    assert cause_in(lines) == expected


def test_lines_that_complain_are_those_of_both_formats_and_statements_are_not_among_them():
    said = [REQUEST, "STATEMENT:  UPDATE t SET a = 1", "LOG:  checkpoint starting: force", PANIC, KILLED]
    ours = [f"{POSTGRESQL}{line}" for line in said] + [f"{MARIADB}{FULL}", f"{MARIADB}[Note] ready for connections"]
    assert list(complaints_in(ours)) == [REQUEST, PANIC, KILLED, FULL]


@contextmanager
def logging(to):
    """A process that logs to a file, and says so when it runs."""
    code = "import sys; print('up', flush=True); sys.stdin.read()"
    command = [sys.executable, "-S", "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=to) as process:
        process.stdout.readline()
        yield process
        process.kill()


def test_only_what_was_logged_since_the_begin_counts_and_what_is_known_is_not_repeated(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(f"{POSTGRESQL}{PANIC}\n")
    with path.open("a") as file, logging(file) as process:
        log = ServerLog.of(process.pid)
        assert log.finding("lost") == ""
        file.write(f"{POSTGRESQL}{PANIC}\n")
        file.flush()
        assert log.finding("lost") == f"the server's log, {path}: {PANIC}"
        known = f"lost: {PANIC.partition('  ')[2]}"
        assert log.finding(known) == f"the server's log, {path}, reports it as PANIC"
        path.write_text("rotated\n")
        assert log.finding(known) == ""
        process.kill()
        process.wait()
        assert log.finding("lost").startswith(f"process {process.pid} of the server is gone; its log, {path}, does not")


@pytest.mark.parametrize("to", [subprocess.PIPE, subprocess.DEVNULL])
def test_a_server_that_logs_elsewhere_has_no_log_here(to):
    with logging(to) as process:
        assert ServerLog.of(process.pid) is None
    assert ServerLog.of(process.pid) is None
