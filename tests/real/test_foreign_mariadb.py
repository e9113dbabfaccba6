"""MariaDB servers that are not ours: an ordinary user, TLS, tunnels and proxies; by TCP, with passwords."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from factories.certificates import make_certificates
from factories.foreign_mariadb import ForeignMariaDb
from factories.foreign_postgresql import PASSWORD, relay
from factories.programs import need_mariadb
from factories.running import ignore, measured, slob, too_busy, verdicts_of
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines.mysql.slice_procedure import compose_slice
from openslob.engines.registry import engine_for
from openslob.kinds.run.plan import session_plans
from openslob.kinds.run.preflight import preflight

SMALL = {"schemas": 1, "scale": "1000", "scan_table_sz": "10"}
pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def secure(slob_home):
    """A server that takes TLS only, on which the user app owns the database bench; and the CA's certificate."""
    need_mariadb()
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates")
    place = Path(tempfile.mkdtemp(prefix="slob-ca-"))
    server = ForeignMariaDb(tls=place)
    try:
        ca = make_certificates(place, "IP:127.0.0.1")
        server.start()
        server.add_user("app", "bench")
        yield server, ca
    finally:
        server.stop()
        shutil.rmtree(place)


def verified(secure, user="app", database="bench", **place):
    """Its URL, with a demand that its certificate is right."""
    server, ca = secure
    return server.url(user, database, ssl_ca=str(ca), ssl_verify_cert="yes", ssl_verify_identity="yes", **place)


def small(**parameters):
    return Workload(**{**SMALL, "sessions": 2, "work_unit": 8, "run_time": 2, "warmup": 0, **parameters})


def names_of(found):
    return {finding.name: finding for finding in found}


def test_an_ordinary_user_is_measured_through_tls(secure, tmp_path):
    engine = engine_for(verified(secure))
    with engine.exclusive("load"):
        engine.data.load(small().data(engine.facts().block_size), 1, ignore, lambda: False)
    record = measured(engine, tmp_path, **SMALL, sessions=2, work_unit=8, run_time=2, update_pct=20).record
    assert record.errors == ()
    assert record.engine["connection"]["transport"].startswith("TLSv1.3, TLS_")
    assert PASSWORD not in record.model_dump_json()
    assert record.environment["local"] is True
    # userstat is off here, and this user may not read performance_schema.
    assert too_busy(record) or "userstat" in verdicts_of(record)["counts_agree"].why
    assert any("GRANT SUPER ON *.* TO 'app'@'127.0.0.1'" in note for note in record.notes)
    assert "may not set" in record.engine["settled"][-1]
    removed = engine.data.drop()
    assert "bench.manifest" in removed
    assert "bench" not in removed  # it was there before


def test_a_certificate_of_another_name_or_no_tls_is_refused(secure):
    server, _ = secure
    for url in (verified(secure, host="localhost"), server.url("app", "bench", ssl_disabled="yes")):
        with pytest.raises(SlobError, match="can't connect"):
            engine_for(url).facts()


def test_what_a_user_lacks_is_told_with_the_statement_that_gives_it(secure):
    server, _ = secure
    server.add_user("lacking", "closed", rights="SELECT, CREATE")
    server.ask("ALTER USER lacking@'127.0.0.1' WITH MAX_USER_CONNECTIONS 4")
    engine = engine_for(verified(secure, "lacking", "closed"))
    before = preflight(engine, small()).findings
    named = names_of(before)
    assert named["rights"].blocking
    assert "SELECT" not in named["rights"].remedy
    assert "CREATE ROUTINE" in named["rights"].remedy
    assert {"connections", "checkpoint", "monitor"} <= set(named)
    for one in before:
        if one.remedy.startswith(("GRANT", "ALTER")):
            server.ask(one.remedy)
    after = preflight(engine, small())
    assert not {"rights", "connections", "checkpoint", "monitor"} & set(names_of(after.findings))
    assert not after.blocked
    with engine.exclusive("load"):
        engine.data.load(small().data(engine.facts().block_size), 1, ignore, lambda: False)
    assert engine.data.state().verified


def test_a_check_tries_the_statements_and_leaves_nothing(secure, monkeypatch):
    server, _ = secure
    server.add_user("third", "empty")
    engine = engine_for(verified(secure, "third", "empty"))
    plan = session_plans(small(update_pct=20), engine.facts().block_size, "check")[0]
    assert list(engine.try_statements(plan)) == []

    def misspelt(*args):
        return compose_slice(*args).replace("DO SLEEP(", "DOO SLEEP(")

    monkeypatch.setattr("openslob.engines.mysql.checks.compose_slice", misspelt)
    (finding,) = engine.try_statements(plan)
    assert finding.blocking
    assert "(the work loop): You have an error in your SQL syntax" in finding.why
    assert server.ask("SELECT table_name FROM information_schema.tables WHERE table_schema = 'empty'") == ()
    assert server.ask("SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'empty'") == ()


def test_the_host_is_proved_by_tcp_and_by_socket(secure):
    server, _ = secure
    by_socket = f"mariadb://app:{PASSWORD}@localhost/bench?unix_socket={server.socket}"
    server.ask(f"CREATE USER app@localhost IDENTIFIED BY '{PASSWORD}'")
    assert engine_for(f"{by_socket}&ssl_disabled=yes").facts().connection == {"transport": "unix socket"}
    assert engine_for(by_socket).facts().connection["transport"].startswith("unix socket, TLSv1.3, ")
    for url in (verified(secure), by_socket):
        location = engine_for(url).location()
        assert (location.main_pid, location.data_directory) == (server.pid, server.data.resolve())


def with_a_number_of_its_own(greeting):
    """The server's greeting with another connection number, as a proxy gives: it follows the version's text."""
    place = greeting.index(b"\0", 5) + 1
    return (
        greeting[:place]
        + (int.from_bytes(greeting[place : place + 4], "little") + 7).to_bytes(4, "little")
        + (greeting[place + 4 :])
    )


def test_a_tunnel_proves_nothing_and_a_proxy_is_refused(secure):
    server, _ = secure
    with relay(server.port) as port:
        engine = engine_for(verified(secure, port=port))
        location = engine.location()
        assert (location.main_pid, location.data_directory) == (None, None)
        assert "a proxy or a tunnel" in location.why_unknown
        assert "pooler" not in names_of(engine.findings(small()))
    with relay(server.port, with_a_number_of_its_own) as port:
        engine = engine_for(verified(secure, port=port))
        assert engine.facts().connection["pooler"] == "a proxy"
        assert names_of(engine.findings(small()))["pooler"].blocking
        with pytest.raises(SlobError, match="is a proxy"), engine.exclusive("test"):
            pass


def test_the_answer_of_the_command(secure):
    done = slob("check", "--target", verified(secure), "--scale", "64M", "--schemas", "1", "--mode", "lio")
    assert done.returncode == 0, done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.count("page cache") <= 1
    for told in ("TLSv1.3", "GRANT SUPER ON *.* TO 'app'@'127.0.0.1'", "WILL NOT BE KNOWN"):
        assert told in done.stdout


def test_a_refused_connection_says_what_to_do(secure):
    server, _ = secure
    for user, options, message in (
        ("locked", "ACCOUNT LOCK", "locked; ALTER USER .* ACCOUNT UNLOCK"),
        ("expired", "PASSWORD EXPIRE", "SET PASSWORD.*; ALTER USER"),
        ("hourly", "WITH MAX_CONNECTIONS_PER_HOUR 1", "max_connections_per_hour.*; raise the limit"),
        ("certified", "REQUIRE SUBJECT '/CN=x'", "Access denied.*REQUIRE SSL"),
    ):
        server.ask(f"CREATE USER {user}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}' {options}")
        server.ask(f"GRANT ALL ON bench.* TO {user}@'127.0.0.1'")
        with pytest.raises(SlobError, match=message):
            [engine_for(verified(secure, user)).facts() for _ in range(2)]
    server.ask(f"CREATE USER powerless@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
    engine = engine_for(verified(secure, "powerless", ""))
    assert engine.release_sessions() == 0  # a run asks for them before it checks the rights
    assert "lacks privileges" in names_of(engine.findings(small()))["rights"].why
