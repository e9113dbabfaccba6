"""Servers that are not ours: ordinary roles, poolers, tunnels; on a real server with passwords on a TCP port."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from factories.foreign_postgresql import PASSWORD, ForeignServer, free_port, relay, started
from factories.paths import GOLDEN
from factories.running import DATA, ignore, judged, load, measured, slob
from openslob.analyze.load_kinds import load_kind
from openslob.core.errors import SlobError, UsageError
from openslob.core.secrets import Address
from openslob.core.workload import Workload
from openslob.engines.managed.account import server_account
from openslob.engines.postgresql import checks
from openslob.engines.registry import engine_for
from openslob.kinds.run.preflight import preflight
from openslob.metrics.run_metrics import NO_READS
from openslob.record.model import Holds

SMALL = {"schemas": 2, "scale": "1500", "scan_table_sz": "10"}
GOLDEN = GOLDEN / "check-ordinary.txt"
NEWER_SERVERS_ONLY = {"full_page_image_mb_per_s"}
# No PostgreSQL counts them.
NEVER = {"block_changes_per_s"}
# Some hosts show what their processors take, and virtual machines do not.
ENERGY = {"package_power_w", "joules_per_million_reads", "joules_per_million_commits"}
pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def foreign(slob_home):
    """A server on which the role app owns one schema, in a database where it may make none."""
    with started(ForeignServer()) as server:
        yield server


@pytest.fixture(scope="module")
def ordinary(foreign):
    """The URL of that role."""
    return foreign.url("app", "bench")


def small(**parameters):
    return Workload(**{**SMALL, "work_unit": 8, "run_time": 2, "warmup": 0, **parameters})


def load_small(engine):
    workload = small()
    with engine.exclusive("load"):
        return engine.data.load(workload.data(8192), 2, ignore, lambda: False)


def run_small(engine, results, **parameters):
    """A run on data as loaded."""
    load_small(engine)
    return measured(engine, results, **SMALL, work_unit=8, run_time=2, **parameters).record


def excused(why):
    """Whether a figure is missing because the host was too busy for an exact window."""
    return "time than the load" in why or "too busy" in why


def names_of(found):
    return {finding.name: finding for finding in found}


# --- an ordinary role


def test_an_ordinary_role_loads_runs_and_drops(ordinary, foreign, tmp_path):
    engine = engine_for(ordinary)
    assert load_small(engine).blocks == 2 * 1510
    record = run_small(engine, tmp_path, update_pct=20, sessions=4)
    assert record.errors == ()
    judged(record, "counts_agree")
    # A cached run has no reads to time, and a busy host no exact window; nothing else that it asks for may be missing.
    missing = {name: why for name in load_kind(record).figures(record) if (why := record.summary[name].why)}
    others = {name for name, why in missing.items() if why != NO_READS and not excused(why)}
    assert others <= NEWER_SERVERS_ONLY | NEVER | ENERGY | {"log_sync_latency_us", "log_wait_pct"}
    assert any("GRANT pg_checkpoint TO app" in note for note in record.notes)
    assert any("GRANT pg_monitor TO app" in note for note in record.notes)
    assert "no checkpoint" in record.engine["settled"][-1]
    removed = engine.data.drop()
    assert "slob.manifest" in removed
    assert "slob" not in removed  # it was given to the role, not made by a load
    assert foreign.ask("SELECT to_regnamespace('slob')", "bench") == [("slob",)]


def test_a_role_that_may_make_its_own_schema_does(foreign):
    foreign.add_role("maker")
    foreign.add_database("own")
    foreign.ask("GRANT CONNECT, CREATE ON DATABASE own TO maker")
    engine = engine_for(foreign.url("maker", "own"))
    load_small(engine)
    assert "slob" in engine.data.drop()


def test_a_role_with_a_schema_of_its_own_name_uses_that_one_if_it_is_empty(foreign, tmp_path):
    foreign.add_role('"Only-Own"')
    foreign.add_database("theirs")
    foreign.ask('GRANT CONNECT ON DATABASE theirs TO "Only-Own"')
    foreign.ask('CREATE SCHEMA AUTHORIZATION "Only-Own"', "theirs")
    url = foreign.url("Only-Own", "theirs")
    record = run_small(engine_for(url), tmp_path, update_pct=10)
    judged(record, "counts_agree")
    removed = engine_for(url).data.drop()
    assert "Only-Own.manifest" in removed
    assert "Only-Own" not in removed
    assert foreign.ask("SELECT count(*) FROM pg_namespace WHERE nspname = 'Only-Own'", "theirs") == [(1,)]
    foreign.ask('CREATE TABLE "Only-Own".manifest (theirs int)', "theirs")
    named = names_of(preflight(engine_for(url), small()).findings)
    assert named["rights"].blocking
    with pytest.raises(SlobError, match="load failed"):
        load_small(engine_for(url))
    assert foreign.ask('SELECT count(*) FROM "Only-Own".manifest', "theirs") == [(0,)]


def test_what_a_role_lacks_is_told_with_the_statement_that_gives_it(foreign):
    foreign.add_role('"odd one"', "CONNECTION LIMIT 3")
    foreign.add_database("closed")
    foreign.ask('GRANT CONNECT ON DATABASE closed TO "odd one"')
    engine = engine_for(foreign.url("odd%20one", "closed"))
    found = preflight(engine, small(sessions=4))
    named = names_of(found.findings)
    assert found.blocked
    assert [one.blocking for one in found.findings] == sorted((one.blocking for one in found.findings), reverse=True)
    for name in ("rights", "connections", "checkpoint", "monitor"):
        foreign.ask(named[name].remedy, "closed")
    found = preflight(engine, small(sessions=4))
    assert set(names_of(found.findings)) == {"data", "fsync", "track_wal_io_timing"}
    assert not found.blocked
    load_small(engine)
    assert "data" not in names_of(preflight(engine, small(sessions=4)).findings)


def test_free_connections_are_counted_though_others_sessions_are_hidden(foreign, ordinary):
    engine = engine_for(ordinary)
    before = engine.facts().free_connections
    with psycopg.connect(foreign.url()), psycopg.connect(foreign.url()):
        assert engine.facts().free_connections == before - 2


def test_sessions_of_another_database_are_left_alone(foreign, ordinary):
    with psycopg.connect(foreign.url(), application_name="slob/run/x.0") as other:
        assert engine_for(ordinary).sessions_left() == 0
        assert engine_for(foreign.url()).sessions_left() == 1
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_is_too_old_is_refused_in_one_line(ordinary, monkeypatch):
    monkeypatch.setattr(checks, "OLDEST", 990000)
    for use in (lambda engine: engine.facts(), lambda engine: engine.data.state(), lambda engine: engine.data.drop()):
        with pytest.raises(SlobError, match=r"the server is PostgreSQL \d+\.\d+.*; 99 or later is needed"):
            use(engine_for(ordinary))


def test_a_denied_load_names_the_statement_that_grants_the_right(foreign, ordinary):
    foreign.add_role("lacking")
    foreign.ask("GRANT CONNECT ON DATABASE bench TO lacking")
    denied = slob("load", "--target", foreign.url("lacking", "bench"), "--schemas", "1", "--scale", "8M")
    assert denied.returncode == 1
    assert "GRANT USAGE, CREATE ON SCHEMA slob TO lacking" in denied.stderr


# --- where the server is


def test_the_host_is_proved_by_tcp_and_by_socket(foreign, ordinary):
    pid = int((foreign.data / "postmaster.pid").read_text().splitlines()[0])
    for url in (ordinary, foreign.socket_url("app", "bench")):
        location = engine_for(url).location()
        assert (location.main_pid, location.data_directory) == (pid, foreign.data.resolve())


def test_a_tunnel_on_this_host_proves_nothing(foreign, ordinary, tmp_path):
    with relay(foreign.port) as port:
        engine = engine_for(foreign.url("app", "bench", port=port))
        location = engine.location()
        assert (location.main_pid, location.data_directory) == (None, None)
        assert "a proxy or a tunnel" in location.why_unknown
        found = preflight(engine, small())
        assert found.unknown["db_cpu_per_s"]
        assert found.unknown["dev_read_per_s"]
        record = run_small(engine, tmp_path)
    assert record.environment["local"] is False
    assert record.environment["server_cpu_s"] is None
    assert "a proxy or a tunnel" in record.environment["unknown"]["server_cpu_s"]
    assert {name for name, figure in record.summary.items() if figure.value is None} >= set(found.unknown)
    judged(record, "counts_agree")


def test_a_user_who_may_not_see_the_server_s_sockets_knows_its_process_by_the_port(foreign, ordinary, monkeypatch):
    def forbidden(*_):
        raise psutil.AccessDenied

    monkeypatch.setattr("psutil.Process.net_connections", forbidden)
    pid = int((foreign.data / "postmaster.pid").read_text().splitlines()[0])
    assert engine_for(ordinary).location().main_pid == pid
    with relay(foreign.port) as port:
        location = engine_for(foreign.url("app", "bench", port=port)).location()
    assert location.main_pid is None
    assert "this user may not see" in location.why_unknown
    assert "unix socket" in location.why_unknown


def test_a_process_that_the_user_names_is_measured_where_none_is_found(foreign, tmp_path):
    pid = int((foreign.data / "postmaster.pid").read_text().splitlines()[0])
    with relay(foreign.port) as port:
        engine = engine_for(foreign.url("app", "bench", port=port))
        engine.server_pid = pid
        record = run_small(engine, tmp_path)
        assert record.environment["local"] is True
        assert record.environment["server_cpu_s"]
        assert any(f"--server-pid {pid}" in note for note in record.notes)
        engine.server_pid = 2**22 + 1
        with pytest.raises(UsageError, match="this host has no such process"):
            engine.location()


# --- poolers


@contextmanager
def pgbouncer(foreign, mode):
    """A pool of the server's database ``bench`` in front of it; its port."""
    program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        pytest.skip("there is no pgbouncer")
    account, place, port = server_account(), Path(tempfile.mkdtemp(prefix="slob-b-")), free_port()
    place.chmod(0o755)
    (place / "users").write_text(f'"app" "{PASSWORD}"\n')
    (place / "ini").write_text(
        f"[databases]\nbench = host=127.0.0.1 port={foreign.port} dbname=bench\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = plain\n"
        f"auth_file = {place}/users\npool_mode = {mode}\ndefault_pool_size = 12\n"
        "ignore_startup_parameters = extra_float_digits\n"
    )
    switched = {"user": account.uid, "group": account.gid, "extra_groups": []} if account.switched else {}
    process = subprocess.Popen([program, "-q", place / "ini"], stderr=subprocess.DEVNULL, **switched)
    try:
        assert any(_answers(port) or time.sleep(0.05) for _ in range(1200))
        yield port
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(place)


def _answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_pool_that_shares_sessions_is_refused(foreign, ordinary, mode, tmp_path):
    with pgbouncer(foreign, mode) as port:
        engine = engine_for(foreign.url("app", "bench", port=port))
        blocking = [one for one in preflight(engine, small()).findings if one.blocking and one.name != "data"]
        assert [one.name for one in blocking] == ["pooler"]
        done = slob("load", "--target", foreign.url("app", "bench", port=port), "--scale", "64K", "--schemas", "1")
    assert done.returncode == 1
    assert "connection pooler in transaction or statement mode" in done.stderr


def test_a_pool_of_sessions_works_and_is_told(foreign, ordinary, tmp_path):
    with pgbouncer(foreign, "session") as port:
        engine = engine_for(foreign.url("app", "bench", port=port))
        record = run_small(engine, tmp_path, update_pct=10, sessions=3)
        assert engine.sessions_left() == 0
    assert record.errors == ()
    assert record.engine["connection"]["pooler"] == "session mode"
    assert any("connection pooler" in note for note in record.notes)
    assert not any("did not end by themselves" in note for note in record.notes)
    assert record.environment["local"] is False
    judged(record, "counts_agree")


@contextmanager
def plans_pinned(foreign):
    """What sessions behind a pooler can't set."""
    for setting in ("enable_bitmapscan", "enable_seqscan"):
        foreign.ask(f"ALTER ROLE app SET {setting} = off")
    try:
        yield
    finally:
        for setting in ("enable_bitmapscan", "enable_seqscan"):
            foreign.ask(f"ALTER ROLE app RESET {setting}")


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_the_client_loop_works_through_a_pool_that_shares_sessions(foreign, ordinary, mode, tmp_path):
    with plans_pinned(foreign), pgbouncer(foreign, mode) as port:
        engine = engine_for(foreign.url("app", "bench", port=port))
        engine.direct = Address.parse(ordinary)
        load_small(engine)
        parameters = {**SMALL, "update_pct": 10, "sessions": 16, "loop": "client", "run_time": 2}
        record = measured(engine, tmp_path, **parameters).record
        assert engine.sessions_left() == engine.release_sessions() == 0
        engine.direct = Address.parse(foreign.url("app", "postgres"))
        found = [one for one in engine.findings(small(loop="client")) if one.blocking]
        assert "direct" in [one.name for one in found]
    assert record.errors == ()
    assert record.engine["connection"]["pooler"] == "transaction or statement mode"
    assert "Index Scan" in record.engine["plans"]["update"]
    assert record.outcome("exact_mix") is Holds.HOLDS
    # What a process counted comes late.
    assert record.value("ops_total") > 0
    assert record.value("lio_per_s") is None
    why = record.why_unknown("lio_per_s")
    assert excused(why) or "behind a pooler" in why


# --- the command


def test_the_answer_as_text(foreign, ordinary):
    engine_for(ordinary).data.drop()
    done = slob(
        "check", "--target", ordinary, "--scale", "200M", "--schemas", "1", "--mode", "lio", "--sessions", "200"
    )
    assert done.returncode == 1
    text = done.stdout
    pid = (foreign.data / "postmaster.pid").read_text().splitlines()[0]
    for there, here in (
        (str(foreign.port), "PORT"),
        (pid, "PID"),
        (str(foreign.data.resolve()), "DATA"),
        (engine_for(ordinary).facts().version, "VERSION"),
    ):
        text = text.replace(there, here)
    text = re.sub(r"the page cache of its host.*?are\s+needed", "the page cache of its host …", text, flags=re.DOTALL)
    text = re.sub(r"  – this host shows no energy counters.*?per\s+1M\s+commits\n", "", text, flags=re.DOTALL)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_the_answer_as_json_and_the_exit_code(pg_server):
    load(pg_server)
    flags = [text for name, value in DATA.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    done = slob("check", "--target", pg_server.status().url, *flags, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["blocked"] is False
    assert [one["name"] for one in answer["findings"]] == []
    assert set(answer["unknown"]) - ENERGY == NEWER_SERVERS_ONLY | NEVER
    assert answer["unproved"] == {}
    assert answer["footprint"]["main_pid"] == str(pg_server.status().pid)
    assert answer["footprint"]["others"] == []


def test_physical_reads_of_cached_data_are_refused_before_the_run(pg_server, tmp_path):
    load(pg_server)
    engine = engine_for(pg_server.status().url)
    (finding,) = (one for one in preflight(engine, Workload(**{**DATA, "scale": "500"}, mode="pio")).findings)
    assert (finding.name, finding.blocking) == ("mode", True)
    assert "reads would be hits" in finding.why
    with pytest.raises(SlobError, match="reads would be hits"):
        measured(engine, tmp_path, scale="500", mode="pio")


REFUSED = {
    "nologin": ("NOLOGIN", "not permitted to log in; ALTER ROLE"),
    "expired": ("VALID UNTIL '2020-01-01'", "authentication failed.*has not expired"),
    "unwanted": ("CONNECTION LIMIT 0", "too many connections for role.*; end its other sessions, or ALTER ROLE"),
    "stranger": ("", "permission denied for database.*; GRANT CONNECT"),
}


def test_a_refused_connection_says_what_to_do(foreign):
    for role, (options, message) in REFUSED.items():
        foreign.add_role(role)
        foreign.ask(f"ALTER ROLE {role} {options}")
        if role != "stranger":
            foreign.ask(f"GRANT CONNECT ON DATABASE bench TO {role}")
        with pytest.raises(SlobError, match=message):
            engine_for(foreign.url(role, "bench")).facts()
    for url, message in (
        (
            foreign.url("app", "bench").replace(PASSWORD, "x"),
            "authentication failed.*; check role and password",
        ),
        (foreign.url("app", "nosuch"), "does not exist; create it, or name another one"),
        (foreign.url("app", "bench", port=1), "Connection refused; check that the server is running and where"),
        (foreign.url("app", "bench", sslmode="require"), "does not support SSL.*; take sslmode out"),
    ):
        with pytest.raises(SlobError, match=message) as refused:
            engine_for(url).facts()
        assert "connection to server" not in str(refused.value)


def test_a_role_whose_transactions_are_read_only_is_told_before_the_run(foreign):
    url = foreign.url("app", "bench", options="-c%20default_transaction_read_only%3Don")
    found = {finding.name: finding for finding in engine_for(url).findings(Workload(**SMALL))}
    assert "default_transaction_read_only" in found["read only"].why


# --- commands beside a run


def test_commands_run_beside_a_run_and_stay_with_its_record(ordinary, tmp_path):
    load_small(engine_for(ordinary))
    hooks = ("--hook", "before sh -c 'echo first'", "--hook", "during sleep 600", "--hook", "after false")
    data = ("--schemas", "2", "--scale", "1500", "--scan-table-sz", "10", "--work-unit", "8")
    times = ("--run-time", "2", "--warmup", "0", "--results", str(tmp_path), "--json")
    done = slob("run", "--target", ordinary, *data, *times, *hooks)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    kept = record["environment"]["hooks"]
    assert [(each["moment"], each["exit_code"]) for each in kept] == [("before", 0), ("during", None), ("after", 1)]
    assert (tmp_path / record["id"] / kept[0]["output"]).read_text() == "first\n"
    assert kept[1]["elapsed_s"] >= record["summary"]["elapsed_s"]["value"]
    assert any("false: failed with exit code 1" in note for note in record["notes"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_runs_no_command_beside_a_managed_server(pg_server, tmp_path):
    marker = tmp_path / "ran"
    done = slob("run", "--target", pg_server.status().url, "--hook", f"before touch {marker}")
    assert done.returncode == 2
    assert "no command runs as root" in done.stderr
    assert not marker.exists()
