"""`slob observe` on real servers: what it counts is what the client counts, and a command that fails is told."""

import re
import shutil
import subprocess

import psycopg
import pytest

from factories.running import COMMAND, complaint, eventually, rows_of, slob
from openslob.engines import registry
from openslob.engines.managed.state import ServerState, spec_from
from openslob.engines.postgresql.providers import find_installation
from openslob.record import store
from openslob.record.model import RecordKind, Status

pytestmark = pytest.mark.server
# The catalogue's look-ups of new connections, and transactions that end while the counters are read.
MORE = 12


def observed(server, results, *arguments):
    """The only record of what was observed, with its folder and the finished command line."""
    done = slob("observe", "--target", server.name, "--results", results, "--quiet", *arguments)
    (entry,) = store.find(results)
    return store.load(entry.path), entry.path, done


def counted(record):
    """Transactions in the window."""
    return record.summary["transactions_per_s"].value * record.window.load_seconds


def ask(url, statement):
    """The first value of a statement's result, if it has one."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None


def pgbench(server):
    return find_installation(spec_from(ServerState(server.name).read())).program("pgbench")


def test_transactions_are_those_that_pgbench_counts_on_its_ready_made_tables(pg_server, tmp_path):
    record, folder, done = observed(
        pg_server, tmp_path, "--workload", "tpcb-select", "--scale", "1", "--clients", "2", "--for", "2s"
    )
    assert done.returncode == 0, done.stderr
    output = (folder / "attachments" / "stdout.txt").read_text()
    processed = int(re.search(r"actually processed: (\d+)", output)[1])
    assert counted(record) == pytest.approx(processed, rel=0.01, abs=MORE)
    assert (record.kind, record.status) == (RecordKind.OBSERVATION, Status.COMPLETE)
    assert record.spec["workload"]["name"] == "tpcb-select"
    assert record.environment["command"]["exit_code"] == 0
    cpu = record.summary["client_cpu_per_s"]
    assert cpu.value or "the host counters span" in cpu.why  # the host was too busy to be read in time
    assert {row["figure"] for row in rows_of(folder, "engine.csv")} >= {"transactions", "logical_reads"}
    with psycopg.connect(registry.find(pg_server.name).status().url) as connection:
        found = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'slob_workload'").fetchone()
    assert found == (0,)


def test_a_command_finds_the_target_by_the_variables_of_its_client_library(pg_server, tmp_path):
    script = tmp_path / "select.sql"
    script.write_text("SELECT 1;\n")
    record, folder, done = observed(
        pg_server, tmp_path / "results", "--", pgbench(pg_server), "-n", "-f", script, "-t", "300"
    )
    assert done.returncode == 0, done.stderr
    assert counted(record) == pytest.approx(300, abs=MORE)
    assert "300/300" in (folder / "attachments" / "stdout.txt").read_text()


def test_a_failing_command_gives_its_exit_code_and_a_failed_record_with_its_output(pg_server, tmp_path):
    script = "echo told; echo postgresql://me:geheim@host/db >&2; exit 7"
    record, folder, done = observed(pg_server, tmp_path, "--", "sh", "-c", script)
    assert done.returncode == 7
    assert done.stderr.splitlines()[-1] == "slob: the command ended with exit code 7; its record says failed"
    assert (record.status, record.errors) == (Status.FAILED, ("the command ended with exit code 7",))
    assert (folder / "attachments" / "stdout.txt").read_text() == "told\n"
    assert (folder / "attachments" / "stderr.txt").read_text() == "postgresql://me:***@host/db\n"
    assert done.stdout.startswith("told\n")
    assert "geheim" not in (folder / "run.json").read_text()


def test_a_command_that_is_not_there_leaves_no_record(pg_server, tmp_path):
    done = slob("observe", "--target", pg_server.name, "--results", tmp_path, "--", "no-such-program")
    assert done.returncode == 127
    assert done.stderr.splitlines() == [
        "slob: the command no-such-program is not found; nothing was observed, and there is no record"
    ]
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_transactions_are_those_that_sysbench_counts_in_a_database_of_its_own(maria_server, tmp_path):
    record, folder, done = observed(
        maria_server, tmp_path, "--workload", "oltp-point-select", "--scale", "1", "--clients", "2", "--for", "1s"
    )
    assert done.returncode == 0, done.stderr
    processed = int(re.search(r"transactions: +(\d+)", (folder / "attachments" / "stdout.txt").read_text())[1])
    assert counted(record) == pytest.approx(processed, rel=0.01, abs=MORE)
    missing = slob("observe", "--target", maria_server.name, "--results", tmp_path, "--workload", "tpcb")
    assert missing.returncode == 2
    assert "there is no such workload on this server" in missing.stderr


def test_an_observation_for_a_time_needs_no_data_of_ours(maria_server, tmp_path):
    record, _, done = observed(maria_server, tmp_path, "--for", "1s", "--json")
    assert done.returncode == 0, done.stderr
    assert record.window.load_seconds == pytest.approx(1, abs=0.9)
    assert record.summary["lio_per_s"].value is not None
    assert eventually(lambda: store.running_pid(store.find(tmp_path)[0].path) is None)


def test_how_far_an_observation_is_is_shown_from_its_begin_on(pg_server, tmp_path):
    done = slob("observe", "--target", pg_server.name, "--results", tmp_path, "--for", "1s")
    assert "observing 0 of 1 s" in done.stderr.splitlines()


def test_a_workload_ends_with_its_observation_that_is_killed_and_the_next_one_leaves_nothing(pg_server, tmp_path):
    url = registry.find(pg_server.name).status().url
    asked = ["--workload", "tpcb", "--scale", "1", "--clients", "4", "--for"]
    command = [*COMMAND, "observe", "--target", pg_server.name, "--results", tmp_path / "killed", *asked, "600s"]

    def clients():
        return ask(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'")

    with subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        try:
            # The tables are made over one connection.
            assert eventually(lambda: clients() == 4)
        finally:
            killed.kill()
    assert eventually(lambda: clients() == 0)
    record, _, done = observed(pg_server, tmp_path / "next", *asked, "1s")
    assert done.returncode == 0, done.stderr
    assert record.status is Status.COMPLETE
    assert ask(url, "SELECT count(*) FROM pg_namespace WHERE nspname = 'slob_workload'") == 0


def test_a_workload_whose_tables_are_in_use_is_refused_in_one_line(pg_server, tmp_path):
    url = registry.find(pg_server.name).status().url
    ask(url, "CREATE SCHEMA slob_workload")
    ask(url, "CREATE TABLE slob_workload.pgbench_tellers (tid int)")
    try:
        with psycopg.connect(url) as other:
            other.execute("SELECT * FROM slob_workload.pgbench_tellers")
            done = slob(
                "observe", "--target", pg_server.name, "--results", tmp_path, "--workload", "tpcb", "--for", "1s"
            )
    finally:
        ask(url, "DROP SCHEMA slob_workload CASCADE")
    assert "slob_workload is in use by server process" in complaint(done.returncode, done.stderr)
